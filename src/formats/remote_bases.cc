#include "formats/remote_bases.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/url.h"
#include "config/redact.h"
#include "crypto/digest.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "formats/trusted_servers.h"
#include "http/over_limit.h"
#include "registry/chart_repository.h"
#include "registry/chart_trust.h"
#include "registry/git_url.h"
#include "registry/kustomization.h"
#include "registry/mirrored_chart.h"
#include "registry/package_files.h"
#include "registry/remote_file.h"

namespace mist::formats {
namespace {

using encoding::Value;

// Bases of bases of bases: each level may take two rounds, as its addresses may be files' or repositories'.
constexpr int kMaxRounds = 40;
constexpr std::ptrdiff_t kMaxRemotes = 200;
constexpr std::string_view kBuiltin = "builtin";  // the apiVersion of kustomize's own plugins

// Everything that is fetched is put below it.
constexpr std::string_view kFetched = ".mistletoe/remote/";

// Of the engine's options, those that a package may bring along (engines/kustomize/README.md). Not `remotes`
// and `charts`: bytes of its own would be rendered in the place of those that were fetched, and checked
// against the lock. The engine ignores the case of names, so no others are left.
constexpr std::string_view kOwnOptions[] = {
    "root",           "print",       "inspect",     "reorder",
    "loadRestrictor", "kubeVersion", "apiVersions", "enableManagedbyLabel"};

package::Files& files_of(package::Source& source) { return std::get<package::Files>(source.content); }

// Texts that kustomize could take for an address: a scheme, user@host:path, or GitHub's name alone. A plugin
// that is written in place may hold one.
bool may_be_remote(std::string_view text) {
  if (text.find("://") != std::string_view::npos) return true;
  if (text.find('\n') != std::string_view::npos) return false;
  const std::string lower = lower_case(text.substr(0, 4096));
  if (lower.find("github.com") != std::string::npos) return true;
  const auto name = lower.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-");
  return name != std::string::npos && name > 0 && lower[name] == '@' && lower.find(':') != std::string::npos;
}

bool names_remote(const Value& value) {
  if (value.is_string()) return may_be_remote(value.as_string());
  if (value.is_array()) return std::ranges::any_of(value.as_array(), names_remote);
  return value.is_object() && std::ranges::any_of(value.as_object(), [](const auto& member) {
           return names_remote(member.value);
         });
}

std::string shown(const Value& need) {
  if (const std::string_view chart = need.string_at("chart"); !chart.empty())
    return escape_controls(
        fmt::format("the chart {} of {}", chart, config::redact_urls(need.string_at("repo"))));
  const std::string_view url = need.string_at("url");
  if (!url.empty()) return config::redact_urls(url);
  std::string text = config::redact_urls(need.string_at("repo"));
  if (const std::string_view path = need.string_at("path"); !path.empty()) text += fmt::format("//{}", path);
  if (const std::string_view ref = need.string_at("ref"); !ref.empty()) text += fmt::format("?ref={}", ref);
  return escape_controls(text);
}

// As a lock has it: the address as it is written, without credentials.
std::string locked_name(const Value& need) {
  const std::string_view chart = need.string_at("chart");
  if (chart.empty()) return shown(need);
  std::string name = fmt::format("{}//{}", config::redact_urls(need.string_at("repo")), chart);
  if (const std::string_view version = need.string_at("version"); !version.empty())
    name += fmt::format("?version={}", version);
  return escape_controls(name);
}

// Where it is, of an address or of a lock's name: host and path, as kustomize's way to write the address of a
// repository may differ from that of the file ("http://me@github.com/o/r" is "me@github.com:o/r"). `//`
// counts as `/`. Half of these texts are no URLs.
std::string place_of(std::string_view address) {
  address = address.substr(0, address.find('?'));
  const auto scheme = address.find("://");
  const bool has_scheme = scheme != std::string_view::npos;
  if (has_scheme) address.remove_prefix(scheme + 3);
  const std::string_view server = address.substr(0, address.find_first_of(has_scheme ? "/" : "/:"));
  address.remove_prefix(std::min(server.size() + 1, address.size()));
  std::string place = lower_case(server.substr(server.rfind('@') + 1)) + '/';
  for (const char each : address)
    if (each != '/' || !place.ends_with('/')) place += each;
  while (place.ends_with('/')) place.pop_back();
  return place;
}

// Whether it is the repository's or of a path in it.
bool is_place_in(std::string_view place, std::string_view repository) {
  return place.starts_with(repository) &&
         (place.size() == repository.size() || place[repository.size()] == '/');
}

// Whether a file's address has one of kustomize's marks for a repository. With two it isn't asked for as a
// file (namesRepository in engines/kustomize/engine/remotes.go).
bool is_marked(std::string_view url) {
  const std::string_view path = url.substr(0, url.find('?'));
  const std::string_view query = url.substr(path.size());
  const auto has = [&](std::string_view name) {
    return query.contains(fmt::format("?{}=", name)) || query.contains(fmt::format("&{}=", name));
  };
  return has("ref") || has("version") || path.contains(".git/") ||
         path.find("//", path.find("://") + 3) != std::string_view::npos;
}

std::string_view address_of(const Value& need) {
  const std::string_view url = need.string_at("url");
  return url.empty() ? need.string_at("repo") : url;
}

// A file that could not be had.
struct Refused {
  std::string place;
  Error error;
};

class Completion {
 public:
  Completion(const RemoteDependencies& dependencies, package::Source& source, const Context& context)
      : dependencies_(dependencies), source_(source), context_(context), room_(source.reference) {
    if (!dependencies.is_local && is_url(dependencies.origin)) trusted_.add(dependencies.origin);
  }

  Result<std::vector<resolve::LockedRemote>> run() {
    MIST_TRY_VOID(begin());
    for (int round = 0; round < kMaxRounds; ++round) {
      MIST_TRY(const Value missing, dependencies_.missing(source_, context_));
      if (!missing.is_array() || missing.as_array().empty()) {
        MIST_TRY_VOID(check_refused());
        MIST_TRY_VOID(finish());
        return std::move(fetched_);
      }
      // Content from elsewhere may not lead back to this machine.
      const bool local = dependencies_.is_local && only_local_;
      for (const Value& need : missing.as_array()) {
        if (is_full()) return endless();
        MIST_TRY_VOID(fetch(need, local).in(fmt::format("while fetching what {} names", source_.reference)));
      }
      options_.set("remotes", Value(remotes_));
      write_options();
    }
    return endless();
  }

 private:
  Status begin() {
    const auto is_fetched = [](const auto& file) { return file.first.starts_with(kFetched); };
    is_changed_ = std::erase_if(files_of(source_), is_fetched) > 0;
    MIST_TRY_VOID(read_options());
    for (const auto& [path, bytes] : files_of(source_)) MIST_TRY_VOID(room_.take(bytes.size()));
    return {};
  }

  Status read_options() {
    options_ = Value::object();
    const auto found = files_of(source_).find(std::string(registry::kKustomizeOptions));
    if (found == files_of(source_).end()) return {};
    MIST_TRY(const Value brought, encoding::parse_json(found->second));
    if (!brought.is_object()) return {};
    for (const std::string_view name : kOwnOptions)
      if (const Value* const option = brought.find(name)) options_.set(name, *option);
    if (options_ != brought) write_options();
    return {};
  }

  void write_options() {
    files_of(source_)[std::string(registry::kKustomizeOptions)] = encoding::to_json(options_) + "\n";
    is_changed_ = true;
  }

  // Each file is charged when it is fetched: hundreds may be named, each of them as large as a package.
  Status put(std::string path, std::string bytes) {
    MIST_TRY_VOID(room_.take(bytes.size()));
    files_of(source_).emplace(std::move(path), std::move(bytes));
    return {};
  }

  std::ptrdiff_t fetched() const {
    return std::ranges::count_if(remotes_, [](const Value& each) { return each.find("absent") == nullptr; });
  }

  // A repository that was asked for as a file is one remote, though it has two entries. Addresses of nothing
  // cost a request each, so they have a bound too.
  bool is_full() const { return fetched() >= kMaxRemotes || std::ssize(remotes_) >= 2 * kMaxRemotes; }

  Error endless() const {
    return error(ErrorKind::Invalid, "{} names remote bases without end", source_.reference)
        .with_because(fmt::format("{} were fetched, in {} rounds at most", fetched(), kMaxRounds))
        .with_hint("do two repositories name each other?");
  }

  // Content from elsewhere may name public servers, and those that the user named: in the reference, or in
  // the files of a package on this machine. Redirects, indexes and submodules may lead to the same.
  Status fetch(const Value& need, bool local) {
    if (dependencies_.allowed == RemoteBases::None)
      return error(ErrorKind::Forbidden, "{} names {}, which is elsewhere", source_.reference, shown(need))
          .with_hint("leave out --no-remote-bases to have it fetched");
    if (local) trusted_.add(address_of(need));
    return fetch_allowed(need, local);
  }

  Status fetch_allowed(const Value& need, bool local) {
    Value remote = need;
    const std::string at = fmt::format("{}{}", kFetched, remotes_.size());
    if (const std::string url(need.string_at("url")); !url.empty()) {
      MIST_TRY(std::optional<std::string> content, fetch_file(need, url));
      if (content) {
        MIST_TRY_VOID(lock_digest(need, crypto::sha256(*content).str()));
        MIST_TRY_VOID(keep_file(need, url, *content));
        MIST_TRY_VOID(put(at, *std::move(content)));
      } else {
        MIST_TRY_VOID(refuse_lost_file(need));
        remote.set("absent", true);
      }
    } else if (need.find("chart") != nullptr) {
      MIST_TRY_VOID(fetch_chart(need, at));
    } else {
      MIST_TRY_VOID(fetch_base(need, at, local));
    }
    if (remote.find("absent") == nullptr) remote.set("at", at);
    remotes_.push_back(std::move(remote));
    return {};
  }

  // Nothing: it is taken for a repository. No file takes the place of a repository that is locked, whatever
  // its server has by now.
  Result<std::optional<std::string>> fetch_file(const Value& need, const std::string& url) {
    const resolve::LockedRemote* const known = find_locked(need);
    const bool is_repository = known != nullptr && !known->commit.empty();
    if (is_repository) return std::optional<std::string>();
    MIST_TRY(const CopiedFile copied, file_in_mirrors(url));
    if (copied.bytes || (copied.mirrors_only && known == nullptr)) return copied.bytes;
    if (copied.mirrors_only) return registry::not_in_mirrors(shown(need), *registry::AddressName::of(url));
    auto content = registry::fetch_remote_file(web(), url, context_);
    if (content || known != nullptr || !may_be_repository(url, content.error())) return content;
    refused_.push_back({place_of(shown(need)), std::move(content).error()});
    return std::optional<std::string>();
  }

  struct CopiedFile {
    std::optional<std::string> bytes;
    bool mirrors_only = false;  // its server may not be asked
  };
  Result<CopiedFile> file_in_mirrors(const std::string& url) const {
    const std::optional<registry::AddressName> name = registry::AddressName::of(url);
    if (!name) return CopiedFile{};
    const registry::AddressCopies& copies = dependencies_.registries.copies();
    MIST_TRY(const registry::AddressCopies::Places places, copies.places(*name));
    if (places == registry::AddressCopies::Places::Original) return CopiedFile{};
    CopiedFile file{.bytes = {}, .mirrors_only = places == registry::AddressCopies::Places::MirrorsOnly};
    MIST_TRY(const std::optional<registry::FoundCopy> copy,
             copies.find(*name, registry::tag_of_file(url), context_));
    if (!copy) return file;
    MIST_TRY(file.bytes, copies.bytes(*name, *copy, context_));
    return file;
  }

  // For mirrors.
  Status keep_file(const Value& need, const std::string& url, const std::string& bytes) const {
    if (!dependencies_.copied) return {};
    std::optional<registry::AddressName> name = registry::AddressName::of(url);
    if (!name) return {};
    MIST_TRY(registry::AddressCopy copy,
             registry::copy_of_file(*std::move(name), registry::tag_of_file(url), bytes));
    dependencies_.copied(locked_name(need), std::move(copy));
    return {};
  }

  Status keep_chart(const Value& need, const registry::DownloadedChart& chart) {
    if (!dependencies_.copied) return {};
    std::optional<registry::AddressName> name =
        registry::AddressName::of(registry::chart_address(chart.server().url), chart.version().chart);
    std::optional<registry::AddressCopy> copy;
    if (name) {
      MIST_TRY(registry::ProvenanceFile provenance,
               registry::read_provenance(web(), chart.server(), chart.version(), context_));
      MIST_TRY(copy, registry::copy_of_chart(*std::move(name), chart.version().version, chart.unchecked(),
                                             {.provenance = std::move(provenance.text).value_or("")}));
    }
    dependencies_.copied(locked_name(need), std::move(copy));
    return {};
  }

  // Without a lock it is asked for by its ref, with one by its commit.
  Status keep_base(const Value& need, const registry::BaseReference& asked,
                   const registry::FetchedBase& base) const {
    if (!dependencies_.copied) return {};
    std::optional<registry::AddressName> name = registry::AddressName::of(asked.url, asked.path);
    std::optional<registry::AddressCopy> copy;
    if (name) {
      const registry::CopyOf what = asked.submodules ? registry::CopyOf::Base : registry::CopyOf::BareBase;
      std::vector<std::string> tags{registry::tag_of_ref(what, base.commit)};
      if (std::string tag = registry::tag_of_ref(what, need.string_at("ref")); tag != tags.front())
        tags.push_back(std::move(tag));
      MIST_TRY(copy, registry::copy_of_package(*std::move(name), std::move(tags),
                                               registry::PackageContent(base.tree), {.commit = base.commit}));
    }
    dependencies_.copied(locked_name(need), std::move(copy));
    return {};
  }

  // A server gives no file out to those that don't log in; for a repository, git has credentials. A marked
  // address is as likely a repository's: only git may reach its server (with its own certificates and
  // addresses), or have its commit, while the web server is away.
  //
  // So an outage could have something else rendered where a file was, but only if its address leads into a
  // repository too, which has a kustomization at exactly the path of the file. Nobody has that by accident,
  // and an author who arranges it can change the file as well. The lock refuses both.
  static bool may_be_repository(const std::string& url, const Error& failure) {
    if (failure.detail<registry::FileRefused>() != nullptr) return true;
    const bool is_over = failure.kind == ErrorKind::Cancelled || failure.kind == ErrorKind::Timeout;
    return is_marked(url) && !is_over && !http::is_over_limit(failure);
  }

  static bool leads_into(const Refused& file, std::string_view repository) {
    return is_place_in(file.place, place_of(config::redact_urls(repository)));
  }

  // The engine's complaint would be that it can't be a repository.
  Status check_refused() const {
    for (const Refused& each : refused_)
      if (std::ranges::none_of(remotes_, [&](const Value& remote) {
            const std::string_view repository = remote.string_at("repo");
            return remote.find("chart") == nullptr && !repository.empty() && leads_into(each, repository);
          }))
        return Error(each.error).with_frame(fmt::format("while fetching what {} names", source_.reference));
    return {};
  }

  http::Transport& web() {
    only_local_ = false;
    if (transport_) return *transport_;
    transport_ = dependencies_.transport();
    if (dependencies_.allowed != RemoteBases::Anywhere)
      transport_ = std::make_unique<LimitedTransport>(std::move(transport_), trusted_, std::string(hint()));
    return *transport_;
  }

  std::string_view hint() const {
    return dependencies_.is_local
               ? "addresses that a package names may lead on to public https servers, and to servers that "
                 "the package itself names; if you trust them, --allow-private-bases lets them lead anywhere"
               : "a package that isn't on this machine may name public https servers only; if you trust it, "
                 "--allow-private-bases lets it name any";
  }

  Status fetch_chart(const Value& need, const std::string& at) {
    const registry::ChartReference wanted{std::string(need.string_at("repo")),
                                          std::string(need.string_at("chart")),
                                          std::string(need.string_at("version")), need.is_true_at("devel")};
    const auto read = [&]() -> Result<registry::DownloadedChart> {
      MIST_TRY(
          std::optional<registry::DownloadedChart> copy,
          registry::find_chart_copy(
              dependencies_.registries.copies(),
              {.url = wanted.repository, .redirects = registry::RedirectScope::Anywhere}, wanted, context_));
      return copy ? *std::move(copy) : registry::fetch_chart(web(), wanted, context_);
    };
    auto chart = read();
    if (!chart) return std::move(chart).error().with_frame(fmt::format("while fetching {}", shown(need)));
    MIST_TRY_VOID(lock_digest(need, chart->digest().str()));
    MIST_TRY_VOID(keep_chart(need, *chart));
    MIST_TRY(std::string archive,
             dependencies_.registries.checked_archive(*std::move(chart), web(), nullptr, context_));
    return put(at, std::move(archive));
  }

  const resolve::LockedRemote* find_locked(const Value& need) const {
    if (dependencies_.lock == nullptr) return nullptr;
    const std::string name = locked_name(need);
    const resolve::LockedRemote* const found = dependencies_.lock->find_remote(name);
    return found != nullptr || need.string_at("url").empty() ? found : find_locked_repository(name);
  }

  // By an address that may be a file's, a repository is asked for in other words.
  const resolve::LockedRemote* find_locked_repository(const std::string& file) const {
    const auto found =
        std::ranges::find_if(dependencies_.lock->remotes(), [&](const resolve::LockedRemote& each) {
          return !each.commit.empty() && place_of(each.name) == place_of(file);
        });
    return found == dependencies_.lock->remotes().end() ? nullptr : &*found;
  }

  // The lock's entry for it; null: none. Conflict: there must be one.
  Result<const resolve::LockedRemote*> locked(const Value& need) const {
    const resolve::LockedRemote* const found = find_locked(need);
    if (found == nullptr && dependencies_.locked)
      return error(ErrorKind::Conflict, "mistletoe.lock of {} lacks {}", source_.reference, shown(need))
          .with_hint(fmt::format("write it with mistctl package lock {}", source_.reference));
    return found;
  }

  Status lock_digest(const Value& need, const std::string& digest) {
    MIST_TRY(const resolve::LockedRemote* const known, locked(need));
    const bool is_repository = known != nullptr && !known->commit.empty();
    if (known != nullptr && (is_repository || known->digest != digest))
      return error(ErrorKind::Conflict, "{} is not what mistletoe.lock of {} has", shown(need),
                   source_.reference)
          .with_because(fmt::format("its digest is {}, it was {}", digest,
                                    is_repository ? "a repository" : known->digest))
          .with_hint(fmt::format("if the new bytes are wanted: mistctl package lock {} --update-all",
                                 source_.reference));
    fetched_.push_back({.name = locked_name(need), .commit = {}, .digest = digest});
    return {};
  }

  // Where there is no file any more, the engine looks for a repository at the same address: a server could
  // choose that way around the digest.
  Status refuse_lost_file(const Value& need) const {
    const resolve::LockedRemote* const known = find_locked(need);
    return known == nullptr || !known->commit.empty() ? Status() : no_longer_a_file(need, *known);
  }

  Error no_longer_a_file(const Value& need, const resolve::LockedRemote& known) const {
    return error(ErrorKind::Conflict, "{} is not what mistletoe.lock of {} has", shown(need),
                 source_.reference)
        .with_because(fmt::format(
            "it was a file with the digest {}, and its server has no such file any more", known.digest))
        .with_hint(fmt::format("if a repository is wanted there: mistctl package lock {} --update-all",
                               source_.reference));
  }

  Status fetch_base(const Value& need, const std::string& at, bool local) {
    const std::string repository(need.string_at("repo"));
    MIST_TRY(const registry::GitUrl address,
             registry::GitUrl::parse(repository, "/").in(fmt::format("while fetching {}", shown(need))));
    if (address.transport() == registry::GitUrl::Transport::File && !local)
      return error(ErrorKind::Forbidden, "{} names {}, a repository on this machine", source_.reference,
                   shown(need))
          .with_hint("only a package on this machine may, and bases of it that are on this machine too");
    const Value* const timeout = need.find("timeoutMs");
    const Context context = timeout != nullptr && timeout->is_int()
                                ? context_.with_timeout(std::chrono::milliseconds(timeout->as_int()))
                                : context_;
    MIST_TRY(const resolve::LockedRemote* const known, locked(need));
    const bool pinned = known != nullptr;
    if (pinned && known->commit.empty()) return no_longer_a_file(need, *known);
    std::optional<crypto::Digest> digest;
    if (pinned && !known->digest.empty()) {
      MIST_TRY(digest, crypto::Digest::parse(known->digest));
    }
    const registry::BaseReference wanted{address.text(),
                                         pinned ? known->commit : std::string(need.string_at("ref")),
                                         std::string(need.string_at("path")),
                                         need.find("noSubmodules") == nullptr,
                                         digest,
                                         judge()};
    auto base = dependencies_.registries.fetch_base(wanted, context);
    if (!base) return not_fetched(std::move(base).error(), need);
    if (pinned && base->commit != known->commit)
      return error(ErrorKind::Conflict, "{} is not at the commit that mistletoe.lock of {} has", shown(need),
                   source_.reference);
    fetched_.push_back({.name = locked_name(need), .commit = base->commit, .digest = base->digest.str()});
    MIST_TRY_VOID(keep_base(need, wanted, *base));
    only_local_ = only_local_ && base->on_this_machine;
    for (registry::PackageFile& file : base->tree.files)
      MIST_TRY_VOID(put(fmt::format("{}/{}", at, file.path), std::move(file.bytes)));
    return {};
  }

  // If a file was wanted whose server is away for now, there may never have been a repository: the file may
  // be there the next time.
  Error not_fetched(Error failure, const Value& need) const {
    const auto file = std::ranges::find_if(
        refused_, [&](const Refused& each) { return leads_into(each, need.string_at("repo")); });
    if (file == refused_.end())
      return std::move(failure).with_frame(fmt::format("while fetching {}", shown(need)));
    const bool is_over = failure.kind == ErrorKind::Cancelled || failure.kind == ErrorKind::Timeout;
    if (file->error.kind == ErrorKind::Retryable && !is_over) failure.kind = ErrorKind::Retryable;
    return std::move(failure).with_frame(fmt::format(
        "while fetching {} as a repository, since the file failed: {}", shown(need), file->error.message));
  }

  // Files of this machine were judged before.
  registry::BaseReference::Judge judge() const {
    if (dependencies_.allowed == RemoteBases::Anywhere) return {};
    return {[this](const registry::GitUrl& address) {
              return address.transport() == registry::GitUrl::Transport::File ||
                     trusted_.contains(address.text());
            },
            std::string(hint())};
  }

  // The digest is of everything that is rendered now; bounds are those of any package.
  Status finish() {
    if (dependencies_.locked && dependencies_.lock != nullptr)
      for (const resolve::LockedRemote& each : dependencies_.lock->remotes())
        if (std::ranges::find(fetched_, each.name, &resolve::LockedRemote::name) == fetched_.end())
          return error(ErrorKind::Conflict, "mistletoe.lock of {} has {}, which nothing names any more",
                       source_.reference, escape_controls(each.name))
              .with_hint(fmt::format("write it with mistctl package lock {}", source_.reference));
    if (!is_changed_) return {};
    registry::TreeBuilder builder(source_.reference);
    for (const auto& [path, bytes] : files_of(source_)) MIST_TRY_VOID(builder.add(path, bytes));
    MIST_TRY(registry::PackageTree tree, std::move(builder).finish());
    source_.digest = registry::digest_of(registry::PackageContent(std::move(tree))).str();
    return {};
  }

  const RemoteDependencies& dependencies_;
  package::Source& source_;
  const Context& context_;
  registry::PackageRoom room_;
  Value options_;
  Value::Array remotes_;
  std::vector<resolve::LockedRemote> fetched_;
  std::vector<Refused> refused_;  // taken for repositories
  TrustedServers trusted_;
  std::unique_ptr<http::Transport> transport_;
  bool only_local_ = true;   // nothing was fetched from elsewhere yet
  bool is_changed_ = false;  // the source is no longer what its digest says
};

}  // namespace

bool may_have_remote_bases(const package::Source& source) {
  const auto* files = std::get_if<package::Files>(&source.content);
  if (files == nullptr || !(source.engine.empty() || source.engine == package::kKustomizeEngine))
    return false;
  return std::ranges::any_of(*files, [](const auto& file) {
    const std::string_view path = file.first;
    const bool is_kustomization = registry::is_kustomization_file(path.substr(path.rfind('/') + 1));
    // A generator or transformer may be configured in a file of any name.
    if (!is_kustomization && file.second.find(kBuiltin) == std::string::npos) return false;
    const auto documents = encoding::parse_yaml_documents(file.second);
    return documents.ok() && std::ranges::any_of(*documents, [&](const Value& document) {
             return (is_kustomization || document.string_at("apiVersion") == kBuiltin) &&
                    names_remote(document);
           });
  });
}

Result<std::vector<resolve::LockedRemote>> fetch_remote_bases(const RemoteDependencies& dependencies,
                                                              package::Source& source,
                                                              const Context& context) {
  return Completion(dependencies, source, context).run();
}

}  // namespace mist::formats
