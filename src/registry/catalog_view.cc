#include "registry/catalog_view.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/redact.h"
#include "encoding/json.h"
#include "encoding/semver.h"
#include "http/over_limit.h"
#include "http/url.h"
#include "oci/reference.h"
#include "oci/tags.h"
#include "registry/index_shards.h"
#include "registry/index_text.h"
#include "registry/kept_index.h"
#include "registry/package_blob.h"
#include "registry/remote_file.h"

namespace mist::registry {
namespace {

using encoding::Value;

constexpr std::uint64_t kMostIndex = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostAnswer = std::uint64_t{16} << 20;
constexpr std::uint64_t kMostBlob = 2 * kMaxPackageBytes;  // with its paths and lengths
constexpr int kMostPages = 100;                            // of 100 versions

constexpr std::string_view kIndexVersion = "mistletoe.dev/v1alpha1";
constexpr std::string_view kIndexKind = "PackageIndex";

// By its first line: without it any text would be an index of no packages. `place`: of the index, for
// people. Errors: Invalid.
Status check_is_index(std::string_view text, const std::string& place) {
  const Result<Value> first = encoding::parse_json(text.substr(0, text.find('\n')));
  if (!first || first->string_at("kind") != kIndexKind)
    return error(ErrorKind::Invalid, "{} is not an index of packages", place)
        .with_because(text.empty() ? "it is empty" : "its first line doesn't say so")
        .with_hint("check the address: it is that of a mistletoe-catalog, as its pages name it");
  const std::string_view version = first->string_at("apiVersion");
  if (version == kIndexVersion) return {};
  return error(ErrorKind::Invalid, "{} is an index of version {}", place,
               escape_controls(version.substr(0, 100)))
      .with_because(fmt::format("this mistctl reads {}", kIndexVersion))
      .with_hint("a newer mistctl reads it");
}

// The words of an error that a catalog answered with.
std::string said(const http::Response& response) {
  constexpr std::size_t kLongest = 600;
  const auto answer = encoding::parse_json(response.body);
  if (!answer.ok()) return {};
  const std::string_view what = answer->string_at({"error", "message"});
  const std::string_view why = answer->string_at({"error", "because"});
  return escape_controls(
      fmt::format("{}{}{}", what.substr(0, kLongest), why.empty() ? "" : ": ", why.substr(0, kLongest)));
}

class CatalogView final : public RegistryView {
 public:
  CatalogView(std::string name, std::string url, Path directory, FileSystem& files, EventSink& events,
              std::unique_ptr<http::Transport> transport, PlainHttp plain)
      : name_(std::move(name)),
        url_(std::move(url)),
        directory_(std::move(directory)),
        files_(files),
        events_(events),
        transport_(std::move(transport)),
        plain_(plain) {}

  bool is_remote() const override { return true; }

  // A whole version is what it says; of a range the newest version counts that passed and isn't yanked. The
  // index has only the newest versions, so the catalog is asked for all.
  Result<RegistryRef> exact(const RegistryRef& reference, const Context& context,
                            const Accept& accept) override {
    if (encoding::SemVer::parse(reference.version)) return reference;
    MIST_TRY(const encoding::SemVerRange range, encoding::SemVerRange::parse(reference.version));
    Result<std::vector<std::string>> versions = published(reference, context);
    if (!versions && versions.error().kind == ErrorKind::Retryable && kept_index()) {
      warn_of_last_index(versions.error());
      return RegistryView::exact(reference, context, accept);
    }
    if (!versions) return std::move(versions).error();
    const std::optional<std::string> newest = oci::newest_in(range, *versions);
    if (!newest) return version_not_found(reference, {{reference.path, *versions}});
    RegistryRef exact = reference;
    exact.version = *newest;
    return exact;
  }

  Result<ReadPackage> read(const RegistryRef& reference, const Context& context,
                           const Accept& /*accept*/) override {
    return read_now(reference, context);
  }

  Result<PackageIndex> index(const Context& context, const Accept& accept) override {
    MIST_TRY(const KeptIndex kept, some_index(context, accept));
    return packages_in(kept.text);
  }

  Result<RegistryFile> file(const std::string& path, const std::string& known, const Context& context,
                            const Accept& accept) override {
    MIST_TRY(KeptIndex kept, some_index(context, accept));
    RegistryFile file{.state = kept.state, .is_known = kept.state == known, .bytes = std::nullopt};
    // There are no others.
    if (path == kPackagesIndex && !file.is_known) file.bytes = std::move(kept.text);
    return file;
  }

  // The index that is kept has the newest twenty.
  Result<std::vector<std::string>> newest_versions(const std::string& registry, const std::string& path,
                                                   const Context& context, const Accept& accept) override {
    Result<std::vector<std::string>> all =
        published({.registry = registry, .path = path, .version = {}, .digest = {}}, context);
    if (all) std::ranges::reverse(*all);
    if (all || all.error().kind != ErrorKind::Retryable || !kept_index()) return all;
    warn_of_last_index(all.error());
    return versions(registry, path, context, accept);
  }

  PackageIndex known() const override {
    const std::optional<KeptIndex> kept = kept_index();
    return packages_in(kept ? kept->text : std::string());
  }

  Result<Moved> update(const Context& context, const Accept& accept) override {
    const std::optional<KeptIndex> before = kept_index();
    MIST_TRY(const KeptIndex after, fetch(context, accept));
    return Moved{before ? before->state : std::string(), after.state};
  }

 private:
  class State final : public RegistryState {
   public:
    State(const CatalogView& view, PackageIndex index, const Context& context)
        : view_(view), index_(std::move(index)), context_(context) {}

    // Of older versions the index says nothing. Their bytes are held against their pins when they are read.
    Result<std::string> object_of(const RegistryRef& reference) const override {
      MIST_TRY(const Located located, index_.find(reference));
      if (!located.entries.front().object.empty()) return located.entries.front().object;
      return error(ErrorKind::NotFound, "the index has no digest of it");
    }
    Result<ReadPackage> read(const RegistryRef& reference) const override {
      return view_.read_now(reference, context_);
    }

   private:
    const CatalogView& view_;
    PackageIndex index_;
    const Context& context_;
  };

  void warn_of_last_index(const Error& why) {
    events_.warn(fmt::format("{}; the versions in {} are taken as they were when they were last read",
                             escape_controls(why.to_line()), name_));
  }

  std::optional<KeptIndex> kept_index() const {
    std::optional<KeptIndex> kept = read_kept_index(files_, directory_);
    if (kept && !check_is_index(kept->text, shown())) kept.reset();
    return kept;
  }

  Result<KeptIndex> some_index(const Context& context, const Accept& accept) {
    std::optional<KeptIndex> kept = kept_index();
    if (kept) return *std::move(kept);
    return fetch(context, accept);
  }

  Result<KeptIndex> fetch(const Context& context, const Accept& accept) {
    Activity activity(events_, fmt::format("reading the index of {}", name_));
    Result<KeptIndex> fetched = fetch_quietly(context, accept);
    if (!fetched) activity.fail();
    return fetched;
  }

  // Fetches the changed parts of the index, when there is one here already: first the list of its shards,
  // then the new ones. nullopt: it has to be fetched as a whole, for the catalog has no shards, or most have
  // changed, or it changed while they were read, or together they are more than an index may be.
  Result<std::optional<KeptIndex>> fetch_shards(const KeptIndex& kept, const Context& context) {
    constexpr std::size_t kMostChanged = kIndexShards / 2;
    constexpr std::uint64_t kMostList = 64 << 10;
    const auto nothing = [] { return std::optional<KeptIndex>(); };
    const FileReach reach{.plain = plain_, .repository = url_};
    MIST_TRY(CheckedFile answer,
             fetch_changed_file(*transport_, http::join_url(url_, std::string(kIndexShardsPath)),
                                kept.validators, context, reach, kMostList));
    if (answer.unchanged) return std::optional(kept);
    if (!answer.content) return nothing();
    const Result<ShardList> list = ShardList::parse(*answer.content);
    if (!list.ok()) return nothing();
    std::vector<std::string> shards = index_shards(kept.text);
    std::vector<std::size_t> changed;
    for (std::size_t i = 0; i < shards.size(); ++i)
      if (crypto::sha256(shards[i]).str() != list->shards[i]) changed.push_back(i);
    if (changed.size() > kMostChanged) return nothing();
    std::uint64_t room = kMostIndex;
    for (std::size_t i = 0; i < shards.size(); ++i)
      if (std::ranges::find(changed, i) == changed.end())
        room -= std::min<std::uint64_t>(room, shards[i].size());
    for (const std::size_t i : changed) {
      const std::string url = http::join_url(url_, fmt::format("{}{}", kIndexShardPath, list->shards[i]));
      Result<CheckedFile> shard = fetch_changed_file(*transport_, url, {}, context, reach, room);
      if (!shard && http::is_over_limit(shard.error())) return nothing();
      if (!shard) return std::move(shard).error();
      if (!shard->content || crypto::sha256(*shard->content).str() != list->shards[i]) return nothing();
      shards[i] = *std::move(shard->content);
      room -= shards[i].size();
    }
    Result<std::string> whole = joined_index(shards);
    if (!whole.ok() || crypto::sha256(*whole).str() != list->digest) return nothing();
    return std::optional(
        KeptIndex({.etag = std::move(answer.validators.etag), .last_modified = {}}, *std::move(whole)));
  }

  Result<KeptIndex> fetch_quietly(const Context& context, const Accept& accept) {
    std::optional<KeptIndex> kept = kept_index();
    if (kept && !kept->validators.etag.empty()) {
      MIST_TRY(std::optional<KeptIndex> fetched, fetch_shards(*kept, context));
      if (fetched && fetched->state == kept->state) return *std::move(kept);
      if (fetched) return take(*std::move(fetched), context, accept);
    }
    const std::string url = http::join_url(url_, fmt::format("/{}", kPackagesIndex));
    const FileValidators known = kept ? kept->validators : FileValidators();
    MIST_TRY(CheckedFile file, fetch_changed_file(*transport_, url, known, context,
                                                  {.plain = plain_, .repository = url_}, kMostIndex));
    if (file.unchanged && kept) return *std::move(kept);
    if (!file.content)
      return error(ErrorKind::NotFound, "{} has no {}", shown(), kPackagesIndex)
          .with_hint("check the address: it is that of a mistletoe-catalog, as its pages name it");
    KeptIndex fetched({.etag = std::move(file.validators.etag), .last_modified = {}},
                      *std::move(file.content));
    MIST_TRY_VOID(check_is_index(fetched.text, escape_controls(config::redact_urls(url))));
    return take(std::move(fetched), context, accept);
  }

  Result<KeptIndex> take(KeptIndex fetched, const Context& context, const Accept& accept) {
    MIST_TRY_VOID(accept(State(*this, packages_in(fetched.text), context)));
    MIST_TRY_VOID(keep_index(files_, directory_, fetched));
    return fetched;
  }

  std::string shown() const { return escape_controls(config::redact_urls(url_)); }

  Result<http::Response> ask(const std::string& path, std::uint64_t limit, const Context& context) const {
    MIST_TRY(http::Response response, transport_->send({.method = "GET",
                                                        .url = http::join_url(url_, path),
                                                        .headers = {{"Accept", "*/*"}},
                                                        .repeat = http::Repeat::Safe,
                                                        .response_limit = limit},
                                                       context));
    const int status = response.status;
    if (status == 200 || status == 404 || status == 410) return response;
    const ErrorKind kind = status == 429 || status >= 500   ? ErrorKind::Retryable
                           : status == 401 || status == 403 ? ErrorKind::Forbidden
                                                            : ErrorKind::Invalid;
    return error(kind, "{} answered with status {}", escape_controls(http::join_url(url_, path)), status)
        .with_because(said(response));
  }

  // Moderators hid it, and say why.
  Error taken_back(const RegistryRef& reference, const http::Response& response) const {
    return error(ErrorKind::NotFound, "{} doesn't deliver {}", shown(), PackageRef(reference).display())
        .with_because(said(response))
        .with_hint(fmt::format("mistctl search {} shows what it has", reference.name()));
  }

  // Of a package, newest first: those that passed and aren't yanked or hidden.
  Result<std::vector<std::string>> published(const RegistryRef& reference, const Context& context) const {
    std::vector<std::string> versions;
    std::string after;
    for (int page = 0; page < kMostPages; ++page) {
      const std::string path = fmt::format("/api/v1/packages/{}?limit=100&after={}",
                                           http::escape_segment(reference.path), http::escape_query(after));
      MIST_TRY(const http::Response response, ask(path, kMostAnswer, context));
      if (response.status == 404) return version_not_found(reference, known().packages());
      if (response.status == 410) return taken_back(reference, response);
      MIST_TRY(const Value answer, encoding::parse_json(response.body));
      const Value* const items = answer.find("items");
      if (items == nullptr || !items->is_array()) return no_catalog();
      for (const Value& each : items->as_array()) {
        after = each.string_at("version");
        const Value* const yanked = each.find("yanked");
        const bool is_yanked = yanked != nullptr && !yanked->is_null();
        if (each.string_at("state") == "passed" && !is_yanked && !after.empty()) versions.push_back(after);
      }
      if (answer.string_at("next").empty() || items->empty()) break;
    }
    return versions;
  }

  Error no_catalog() const {
    return error(ErrorKind::Invalid, "{} is not a catalog", shown())
        .with_hint("check the address: mistctl registry list");
  }

  Result<std::string> digest_of_version(const RegistryRef& reference, const Context& context) const {
    const std::string path =
        fmt::format("/api/v1/packages/{}/versions/{}", http::escape_segment(reference.path),
                    http::escape_segment(reference.version));
    MIST_TRY(const http::Response response, ask(path, kMostAnswer, context));
    if (response.status == 404) return version_not_found(reference, known().packages());
    if (response.status == 410) return taken_back(reference, response);
    MIST_TRY(const Value answer, encoding::parse_json(response.body));
    const std::string_view state = answer.string_at("state");
    if (state.empty()) return no_catalog();
    if (state != "passed")
      return error(ErrorKind::NotFound, "{} isn't published yet", PackageRef(reference).display())
          .with_because(fmt::format("its state at {} is {}", shown(), escape_controls(state.substr(0, 100))))
          .with_hint(
              fmt::format("{}/packages/{}/{}/test shows why", shown(), reference.path, reference.version));
    if (const Value* const why = answer.find("yanked"); why != nullptr && why->is_string())
      events_.warn(fmt::format("{} was yanked{}{}", PackageRef(reference).display(),
                               why->as_string().empty() ? "" : ": ",
                               escape_controls(why->as_string().substr(0, 500))));
    return std::string(answer.string_at("digest"));
  }

  Result<ReadPackage> read_now(const RegistryRef& reference, const Context& context) const {
    MIST_TRY(const std::string text, digest_of_version(reference, context));
    MIST_TRY(const crypto::Digest digest, crypto::Digest::parse(text));
    const std::string path = fmt::format("/api/v1/blobs/{}", digest.str());
    MIST_TRY(http::Response response, ask(path, kMostBlob, context));
    if (response.status != 200) return taken_back(reference, response);
    const crypto::Digest got = crypto::sha256(response.body);
    if (got != digest)
      return error(ErrorKind::Invalid, "{} sent other bytes for {} than it promised", shown(),
                   PackageRef(reference).display())
          .with_because(fmt::format("it promised {}, the bytes have {}", digest.str(), got.str()))
          .with_hint("try again; if that doesn't help, tell whoever runs the catalog");
    MIST_TRY(PackageContent content, content_of_blob(std::move(response.body)));
    return ReadPackage{.content = std::move(content),
                       .object = digest.str(),
                       .origin = escape_controls(http::join_url(url_, path))};
  }

  std::string name_;
  std::string url_;
  Path directory_;
  FileSystem& files_;
  EventSink& events_;
  std::unique_ptr<http::Transport> transport_;
  PlainHttp plain_;
};

}  // namespace

Result<std::unique_ptr<RegistryView>> open_catalog_view(std::string name, const std::string& url,
                                                        Path directory, FileSystem& files, EventSink& events,
                                                        const OciAccess& web) {
  if (!web.transport) return error(ErrorKind::Invalid, "catalogs can't be reached from here");
  MIST_TRY(std::string address, parse_catalog_url(url));
  return std::unique_ptr<RegistryView>(std::make_unique<CatalogView>(
      std::move(name), std::move(address), std::move(directory), files, events, web.transport(),
      web.plain_http ? PlainHttp::Everywhere : PlainHttp::ThisMachine));
}

Result<std::string> parse_catalog_url(std::string_view text) {
  const auto bad = [&](std::string_view why, std::string hint) {
    return error(ErrorKind::Invalid, "{} is not the address of a catalog: {}",
                 escape_controls(config::redact_urls(text)), why)
        .with_hint(std::move(hint));
  };
  while (text.ends_with('/')) text.remove_suffix(1);
  const Result<http::Url> url = http::Url::parse(text);
  if (!url) return bad("it can't be read", "write it as its pages do: https://catalog.example.com");
  if (!url->user.empty()) return bad("it holds credentials", "a catalog needs none; leave them out");
  if (!url->query.empty()) return bad("it holds a query", "leave it out");
  if (url->scheme != "https" && !oci::is_loopback_host(url->authority()))
    return bad("it isn't https", "http is possible to this machine alone");
  return std::string(text);
}

}  // namespace mist::registry
