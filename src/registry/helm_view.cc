#include "registry/helm_view.h"

#include <optional>

#include "base/text.h"
#include "config/redact.h"
#include "encoding/semver.h"
#include "http/url.h"
#include "oci/reference.h"
#include "registry/chart_repository.h"
#include "registry/helm_repositories.h"
#include "registry/index_text.h"
#include "registry/kept_index.h"
#include "trust/chart_address.h"

namespace mist::registry {
namespace {

struct ReadIndex {
  KeptIndex kept;
  ChartIndex charts;
};

// The fault of the archive says more than that the index can't be asked for again; unless the version may be
// in the newer one, or that contradicts what was used before.
Error without_newer(Error read, Error newer, const Context& context) {
  if (read.kind == ErrorKind::NotFound || newer.kind == ErrorKind::Conflict || !context.check()) return newer;
  read.because += fmt::format("{}its index can't be read again: {}", read.because.empty() ? "" : "; ",
                              escape_controls(newer.to_line()));
  return read;
}

class HelmView final : public RegistryView {
 public:
  HelmView(std::string name, ChartServer server, Path directory, FileSystem& files, EventSink& events,
           std::unique_ptr<http::Transport> transport, RepositoryHealth& health)
      : name_(std::move(name)),
        server_(std::move(server)),
        directory_(std::move(directory)),
        files_(files),
        events_(events),
        transport_(std::move(transport)),
        health_(health) {}

  bool is_remote() const override { return true; }

  std::string_view chart_repository() const override { return server_.url; }

  Result<ProvenanceFile> provenance(const RegistryRef& reference, const Context& context,
                                    const Accept& accept) override {
    MIST_TRY(const ReadIndex index, some_index(context, accept));
    MIST_TRY(const ChartVersion found, find_in(index.charts, reference));
    return read_provenance(*transport_, server_, found, context);
  }

  // A whole version is what it says; anything else may be a range, of which the newest counts.
  Result<RegistryRef> exact(const RegistryRef& reference, const Context& context,
                            const Accept& accept) override {
    if (encoding::SemVer::parse(reference.version)) return reference;
    MIST_TRY(const ReadIndex index, newest_index(context, accept));
    MIST_TRY(const ChartVersion found, index.charts.find(reference.path, reference.version));
    RegistryRef exact = reference;
    exact.version = found.version;
    return exact;
  }

  Result<ReadPackage> read(const RegistryRef& reference, const Context& context,
                           const Accept& accept) override {
    MIST_TRY(const ReadIndex index, some_index(context, accept));
    Result<ReadPackage> read = read_in(index.charts, reference, context);
    // A version that came later, or an index that has been repaired since.
    using enum ErrorKind;
    if (read || (read.error().kind != NotFound && read.error().kind != Invalid)) return read;
    std::optional<Error> failure = health_.last_failure(server_.url);
    const Result<ReadIndex> newer = failure ? Result<ReadIndex>(*std::move(failure)) : fetch(context, accept);
    if (!newer) return without_newer(std::move(read).error(), newer.error(), context);
    return newer->kept.text == index.kept.text ? std::move(read) : read_in(newer->charts, reference, context);
  }

  Result<PackageIndex> index(const Context& context, const Accept& accept) override {
    MIST_TRY(const ReadIndex index, some_index(context, accept));
    return packages_in(index.charts);
  }

  // Once in a command: it may depend on many charts of one repository.
  Result<std::vector<std::string>> newest_versions(const std::string& registry, const std::string& path,
                                                   const Context& context, const Accept& accept) override {
    if (!health_.has_answered(server_.url)) MIST_TRY_VOID(newest_index(context, accept));
    return versions(registry, path, context, accept);
  }

  // There are none but the index, which isn't parsed for its state: a search asks for that each time.
  Result<RegistryFile> file(const std::string& path, const std::string& known, const Context& context,
                            const Accept& accept) override {
    std::optional<KeptIndex> kept = kept_index();
    if (!kept || kept->doubted) {
      MIST_TRY(ReadIndex newest, newest_index(context, accept));
      kept = std::move(newest.kept);
    }
    RegistryFile file;
    file.state = kept->state;
    file.is_known = file.state == known;
    if (path == kChartsIndex && !file.is_known) file.bytes = std::move(kept->text);
    return file;
  }

  PackageIndex known() const override {
    const std::optional<ReadIndex> index = readable_index();
    return index ? packages_in(index->charts) : PackageIndex(std::vector<TreeEntry>());
  }

  void doubt_state() override {
    std::optional<KeptIndex> kept = kept_index();
    if (!kept || kept->doubted) return;
    kept->validators = {};
    kept->doubted = true;
    if (!keep_index(files_, directory_, *kept)) forget_kept_index(files_, directory_);
  }

  Result<Moved> update(const Context& context, const Accept& accept) override {
    const std::optional<KeptIndex> before = kept_index();
    MIST_TRY(const ReadIndex after, fetch(context, accept));
    return Moved{before ? before->state : std::string(), after.kept.state};
  }

 private:
  class State final : public RegistryState {
   public:
    State(HelmView& view, const ChartIndex& index, const Context& context)
        : view_(view), index_(index), context_(context) {}

    Result<std::string> object_of(const RegistryRef& reference) const override {
      MIST_TRY(const ChartVersion found, view_.find_in(index_, reference));
      return found.digest;
    }
    Result<ReadPackage> read(const RegistryRef& reference) const override {
      return view_.read_in(index_, reference, context_);
    }

   private:
    HelmView& view_;
    const ChartIndex& index_;
    const Context& context_;
  };

  std::optional<KeptIndex> kept_index() const { return read_kept_index(files_, directory_); }

  // One that can't be read, as another version of this program may have kept it, is none.
  std::optional<ReadIndex> readable_index() const {
    std::optional<KeptIndex> kept = kept_index();
    if (!kept) return std::nullopt;
    Result<ChartIndex> charts = ChartIndex::parse(kept->text, server_);
    if (!charts) return std::nullopt;
    return ReadIndex{*std::move(kept), *std::move(charts)};
  }

  Result<ReadIndex> some_index(const Context& context, const Accept& accept) {
    std::optional<ReadIndex> known = readable_index();
    if (known && !known->kept.doubted) return *std::move(known);
    return newest_index(context, accept);
  }

  // The kept index will do while the repository is away, which is waited for once.
  Result<ReadIndex> newest_index(const Context& context, const Accept& accept) {
    std::optional<Error> failure = health_.last_failure(server_.url);
    std::optional<ReadIndex> known = failure ? readable_index() : std::nullopt;
    if (!known) {
      Result<ReadIndex> fetched = fetch(context, accept);
      if (fetched || fetched.error().kind != ErrorKind::Retryable) return fetched;
      known = readable_index();
      if (!known) return fetched;
      failure = std::move(fetched).error();
    }
    events_.warn(fmt::format("{}; the index of {} is taken as it was when it was last read",
                             escape_controls(failure->to_line()), name_));
    return *std::move(known);
  }

  Result<ReadIndex> fetch(const Context& context, const Accept& accept) {
    Activity activity(events_, fmt::format("reading the index of {}", name_));
    Result<ReadIndex> fetched = fetch_quietly(context, accept);
    if (!fetched) activity.fail();
    if (fetched)
      health_.note_answer(server_.url);
    else if (fetched.error().kind == ErrorKind::Retryable)
      health_.note_failure(server_.url, fetched.error());
    return fetched;
  }

  Result<ReadIndex> fetch_quietly(const Context& context, const Accept& accept) {
    std::optional<ReadIndex> known = readable_index();
    const FileValidators validators = known ? known->kept.validators : FileValidators{};
    MIST_TRY(CheckedFile file, fetch_chart_index(*transport_, server_, validators, context));
    if (file.unchanged && known) return *std::move(known);
    KeptIndex kept(std::move(file.validators), file.content.value_or(""));
    MIST_TRY(ChartIndex charts, ChartIndex::parse(kept.text, server_));
    MIST_TRY_VOID(accept(State(*this, charts, context)));
    MIST_TRY_VOID(keep_index(files_, directory_, kept));
    return ReadIndex{std::move(kept), std::move(charts)};
  }

  // Only the version as it is written.
  Result<ChartVersion> find_in(const ChartIndex& index, const RegistryRef& reference) const {
    MIST_TRY(ChartVersion found, index.find(reference.path, reference.version));
    if (found.version == reference.version) return found;
    return error(ErrorKind::NotFound, "there is no version {} of {} in {}", reference.version, reference.path,
                 name_)
        .with_hint(fmt::format("the nearest there: {}", escape_controls(found.version)));
  }

  Result<ReadPackage> read_in(const ChartIndex& index, const RegistryRef& reference, const Context& context) {
    MIST_TRY(const ChartVersion found, find_in(index, reference));
    const std::string place = escape_controls(config::redact_urls(found.url));
    if (found.url.starts_with(oci::kScheme))
      return error(ErrorKind::Invalid, "{} {} is in an OCI registry", reference.path, reference.version)
          .with_because(fmt::format("the index of {} leads to {}", name_, place))
          .with_hint(fmt::format("name it there: -p {}", place));
    MIST_TRY(DownloadedChart chart, index.download(*transport_, found, context));
    MIST_TRY_VOID(chart.check_is_it(name_));
    std::string archive = std::move(chart).unchecked();
    std::string digest = crypto::sha256(archive).hex();
    MIST_TRY(PackageContent content, packed_chart(reference.name(), std::move(archive), place));
    return ReadPackage{std::move(content), std::move(digest), place};
  }

  std::string name_;
  ChartServer server_;
  Path directory_;
  FileSystem& files_;
  EventSink& events_;
  std::unique_ptr<http::Transport> transport_;
  RepositoryHealth& health_;
};

}  // namespace

Result<std::unique_ptr<RegistryView>> open_helm_view(std::string name, const std::string& url, Path directory,
                                                     FileSystem& files, EventSink& events,
                                                     const OciAccess& web, RepositoryHealth& health) {
  if (!web.transport) return error(ErrorKind::Invalid, "chart repositories can't be reached from here");
  MIST_TRY_VOID(check_repository_address(url));
  MIST_TRY(const std::vector<HelmRepository> known,
           read_helm_repositories(files, helm_repositories_file(web.environment)));
  MIST_TRY(ChartServer server,
           server_of(url, known, web.plain_http ? PlainHttp::Everywhere : PlainHttp::ThisMachine));
  return std::unique_ptr<RegistryView>(std::make_unique<HelmView>(
      std::move(name), std::move(server), std::move(directory), files, events, web.transport(), health));
}

Result<std::string> parse_helm_url(std::string_view text) {
  const std::string shown = escape_controls(config::redact_urls(text));
  const auto bad = [&](std::string_view why, std::string hint) {
    return error(ErrorKind::Invalid, "{} is not the address of a chart repository: {}", shown, why)
        .with_hint(std::move(hint));
  };
  if (text.starts_with(oci::kScheme))
    return bad("it is an OCI registry", fmt::format("mistctl registry add NAME --oci {}", shown));
  while (text.ends_with('/')) text.remove_suffix(1);
  if (const std::string why = trust::objection_to_chart_address(text); !why.empty())
    return bad(why, "write the path that it stands for");
  const Result<http::Url> url = http::Url::parse(text);
  if (!url) return bad("it can't be read", "write it as for `helm repo add`: https://charts.example.com");
  if (!url->user.empty())
    return bad("it holds credentials",
               "leave them out, and let `helm repo add NAME URL --username NAME --password-stdin` keep them: "
               "they are read from Helm's repositories.yaml");
  if (url->scheme != "https" && !oci::is_loopback_host(url->authority()))
    return bad("it isn't https", "http is possible to this machine alone");
  return std::string(text);
}

}  // namespace mist::registry
