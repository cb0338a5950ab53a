#include "render/dependencies.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/once_map.h"
#include "base/parallel.h"
#include "base/text.h"
#include "http/public_address.h"
#include "oci/reference.h"
#include "oci/tags.h"
#include "registry/git_url.h"
#include "registry/reference.h"
#include "resolve/solver.h"

namespace mist::render {
namespace {

using package::Dependency;
using package::ResolvedPackage;
using package::Source;
using resolve::Version;
using resolve::VersionRange;

constexpr std::string_view kArrowBetween = " → ";
constexpr std::size_t kAtOnce = 16;           // packages that are read ahead
constexpr std::size_t kMostReadAhead = 2000;  // packages, of one resolution

bool is_path(std::string_view reference) {
  return reference.starts_with("./") || reference.starts_with("../") || reference.starts_with('/') ||
         reference == "." || reference == "..";
}

// Where the paths begin that a package declares; empty: it isn't on this machine.
std::string directory_of(const std::string& id, const Source& source) {
  if (!is_path(id)) return {};
  const bool is_module = std::holds_alternative<wasm::ModuleBytes>(source.content);
  return is_module ? Path(id).parent_path().string() : id;
}

// A directory says its version itself, or has none.
Version version_of(const Source& source) {
  auto version = Version::parse_lenient(source.version);
  return version.ok() ? *std::move(version) : Version{};
}

// Of a package in an OCI registry; empty: it is elsewhere.
std::string host_of(std::string_view reference) {
  if (!reference.starts_with(oci::kScheme)) return {};
  const auto parsed = oci::Reference::parse_destination(reference);
  return parsed.ok() ? parsed->repository.host_name() : std::string();
}

// Of the server that a package came from, a git server too; empty: none that its address names.
std::string server_of(const std::string& reference) {
  const auto parsed = registry::PackageRef::parse(reference);
  const auto* const git = parsed.ok() ? std::get_if<registry::GitRef>(&parsed->form()) : nullptr;
  if (git == nullptr) return host_of(reference);
  const auto url = registry::GitUrl::parse(git->url, "/");
  return url.ok() ? lower_case(url->host()) : std::string();
}

// A package from elsewhere chooses no server of this machine's networks, other than those that the user
// trusts, and of this machine itself only the one that it came from.
Status refuse_reach(const std::string& wanted, const std::string& declaring,
                    const std::set<std::string>& trusted) {
  if (wanted.find("://") == std::string::npos && wanted.find("::") == std::string::npos &&
      wanted.find('@') == std::string::npos)
    return {};
  const std::string host = host_of(wanted);
  const bool is_this_machine = host.empty() || http::may_be_this_machine(host);
  const bool may_be_trusted = !is_this_machine && trusted.contains(host);
  if (!host.empty() && (host == server_of(declaring) || may_be_trusted || http::may_be_public_host(host)))
    return {};
  Error failure =
      error(ErrorKind::Forbidden, "{} depends on {}, and packages from elsewhere may not reach that",
            declaring, escape_controls(wanted));
  failure.hint = "its author has to name a package of a registry, or oci:// at a public host";
  if (!is_this_machine)
    failure.hint += fmt::format("; if you trust {}: mistctl registry add NAME --oci {}", host,
                                shell_word(wanted.substr(0, wanted.find('/', oci::kScheme.size()))));
  return failure;
}

// Addresses that aren't oci:// have no versions to choose from.
Status refuse_unversioned(const Dependency& dependency, const std::string& declaring) {
  const std::string& wanted = dependency.package;
  if (wanted.find("://") == std::string::npos || wanted.starts_with(oci::kScheme)) return {};
  // An address that can't be read may hold credentials.
  const auto address = registry::PackageRef::parse(wanted);
  Error failure = error(ErrorKind::Invalid, "the dependency {} of {} is {}, not a package of a registry",
                        escape_controls(dependency.name), declaring,
                        address.ok() ? escape_controls(address->display()) : "an address");
  failure.because = "a dependency is resolved to one of a package's versions, and an address has none";
  failure.hint =
      wanted.starts_with("git+")
          ? "add the repository as a registry: mistctl registry add NAME -g URL; then name NAME/PATH"
          : "name a package of a registry, as in mistletoe/databases/mariadb, or oci://HOST/PATH";
  return failure;
}

// The id of a dependency, the same in every version. `directory`: of the package that declares it; empty: it
// isn't on this machine.
Result<std::string> id_of(const Dependency& dependency, const std::string& declaring,
                          const std::string& directory) {
  if (dependency.name.empty() || dependency.package.empty())
    return error(ErrorKind::Invalid, "{} declares a dependency without a name or package", declaring)
        .with_hint("each entry of spec.dependencies has name, package and version");
  if (!is_path(dependency.package)) {
    MIST_TRY_VOID(refuse_unversioned(dependency, declaring));
    return dependency.package;
  }
  if (directory.empty())
    return error(ErrorKind::Invalid, "{} declares the path {}, but is not on this machine itself", declaring,
                 dependency.package)
        .with_hint("name a package of a registry: mistletoe/databases/mariadb");
  std::string path = (Path(directory) / dependency.package).lexically_normal().string();
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// "1.0.0" of "team/db:1.0.0" and of "oci://host/db:1.0.0@sha256:…".
std::string version_text(const std::string& reference) {
  if (const auto parsed = oci::Reference::parse(reference); parsed.ok())
    return oci::version_of_tag(parsed->tag);
  return reference.substr(std::min(reference.rfind(':'), reference.size() - 1) + 1);
}

bool is_whole(const std::string& version) { return oci::is_fixed_version(oci::tag_of_version(version)); }

// Keeps all that it reads, and the errors of what can't be read. Any thread, except for only(), know(),
// know_recorded() and keep().
class Finder final : public resolve::Provider {
 public:
  Finder(PackageFinder& packages, const Context& context) : packages_(packages), context_(context) {}

  /// Of these packages, no other versions are known from here on; empty: of all, every version again.
  void only(std::map<std::string, std::string> versions) { only_ = std::move(versions); }

  /// A version that need not be listed, and where it was read.
  void know(const resolve::LockedPackage& locked) {
    const std::string text = version_text(locked.origin.source);
    const auto written = Version::parse_lenient(text);
    if (written.ok() && *written == locked.version) note(locked.name, locked.version, text);
    locked_.emplace(std::pair(locked.name, locked.version), locked.origin);
  }

  /// The bytes of a version, as the release's record has them.
  void know_recorded(const std::string& id, const Version& version, const std::string& digest) {
    recorded_.emplace(std::pair(id, version), digest);
  }

  /// Its locked version is kept where it fits, so no newer one is looked for.
  void keep(const std::string& id) { kept_.insert(id); }

  /// Of a version that is known, the bytes that it has now are wanted.
  void forget_bytes(const resolve::LockedPackage& locked) {
    locked_.erase(std::pair(locked.name, locked.version));
    moved_.emplace(locked.name, locked.version);
  }

  Result<std::vector<resolve::Requirement>> requirements(const Source& source, const std::string& directory) {
    MIST_TRY(const std::vector<Dependency> declared, package::declared_dependencies(source));
    std::vector<resolve::Requirement> wanted;
    for (const Dependency& each : declared) {
      if (directory.empty() && !is_path(each.package))
        MIST_TRY_VOID(refuse_reach(each.package, source.reference, trusted_));
      MIST_TRY(std::string id, id_of(each, source.reference, directory));
      MIST_TRY(VersionRange range,
               VersionRange::parse(each.version.empty() ? "*" : each.version)
                   .in(fmt::format("while reading the dependency {} of {}", each.name, source.reference)));
      wanted.push_back({std::move(id), std::move(range)});
    }
    return wanted;
  }

  /// Of the release's package, before those of all others. The user chose its server, or else those that
  /// packages of this machine name.
  Result<std::vector<resolve::Requirement>> requirements_of_root(const Source& source,
                                                                 const std::string& directory) {
    if (directory.empty()) trusted_ = packages_.trust_only({server_of(source.reference)});
    MIST_TRY(std::vector<resolve::Requirement> wanted, requirements(source, directory));
    if (!directory.empty()) trusted_ = packages_.trust_only(servers_named(wanted));
    return wanted;
  }

  Result<std::vector<resolve::Candidate>> versions(const std::string& id) override {
    if (is_path(id)) {
      MIST_TRY(const Source* const source, found(id, {}));
      return std::vector{resolve::Candidate{version_of(*source)}};
    }
    if (const auto pinned = only_.find(id); pinned != only_.end()) {
      if (auto version = Version::parse_lenient(pinned->second); version.ok()) {
        note(id, *version, pinned->second);
        return std::vector{resolve::Candidate{*std::move(version)}};
      }
    }
    MIST_TRY(const std::vector<resolve::Candidate>* const all, listed_.get(id, [&] { return list(id); }));
    return *all;
  }

  Result<std::vector<resolve::Requirement>> dependencies(const std::string& id,
                                                         const Version& version) override {
    MIST_TRY(const Source* const source, found(id, version));
    return requirements(*source, directory_of(id, *source));
  }

  Result<const Source*> found(const std::string& id, const Version& version) {
    const std::string reference = is_path(id) ? id : fmt::format("{}:{}", id, text_of(id, version));
    return sources_.get(reference, [&]() -> Result<Source> {
      const std::pair named(id, version);
      if (const auto locked = locked_.find(named); locked != locked_.end())
        return packages_.find_locked(reference, locked->second, context_);
      if (const auto recorded = recorded_.find(named); recorded != recorded_.end())
        return packages_.find_locked(reference, {.source = {}, .digest = recorded->second}, context_);
      return moved_.contains(named) ? packages_.find_moved(reference, context_)
                                    : packages_.find(reference, context_);
    });
  }

  /// Reads what the solver will most likely ask for, many packages at once: round trips to registries are
  /// most of the time of a resolution. A wrong guess costs its reading; what fails is told when it is asked
  /// for.
  void read_ahead(const resolve::Request& request) {
    std::map<std::string, VersionRange> ranges;  // by id; as far as they are known
    std::vector<resolve::Requirement> wanted = request.requirements;
    while (!wanted.empty() && ranges.size() < kMostReadAhead) {
      std::vector<std::string> ids;
      for (const resolve::Requirement& each : wanted) {
        const auto [range, is_new] = ranges.emplace(each.package, each.range);
        if (!is_new) range->second = range->second & each.range;
        if (is_new) ids.push_back(each.package);
        if (ranges.size() == kMostReadAhead) break;
      }
      std::vector<std::vector<resolve::Requirement>> theirs(ids.size());
      const Status read = parallel_for(ids.size(), kAtOnce, [&](std::size_t i) -> Status {
        if (const auto version = likely(ids[i], ranges.at(ids[i]), request)) {
          auto needs = dependencies(ids[i], *version);
          if (needs.ok()) theirs[i] = *std::move(needs);
        }
        return context_.check();
      });
      if (!read) return;
      wanted.clear();
      for (std::vector<resolve::Requirement>& each : theirs)
        std::ranges::move(each, std::back_inserter(wanted));
    }
  }

 private:
  // By packages of this machine: these, and those that they call. They are read before all others, so that no
  // order of reading decides who named a server.
  std::set<std::string> servers_named(const std::vector<resolve::Requirement>& wanted) {
    std::set<std::string> hosts, ids;
    std::vector<std::string> open;
    const auto open_all = [&](const std::vector<resolve::Requirement>& all) {
      for (const resolve::Requirement& each : all)
        if (ids.insert(each.package).second) open.push_back(each.package);
    };
    open_all(wanted);
    while (!open.empty()) {
      const std::string id = std::move(open.back());
      open.pop_back();
      if (!is_path(id)) {
        hosts.insert(host_of(id));
        continue;
      }
      // The solver reports a package that can't be read.
      if (const auto needs = dependencies(id, {}); needs.ok()) open_all(*needs);
    }
    return hosts;
  }

  // The locked version, else the newest that fits. Nothing: none does, or they can't be listed.
  std::optional<Version> likely(const std::string& id, const VersionRange& range,
                                const resolve::Request& request) {
    const auto locked = request.locked.find(id);
    if (locked != request.locked.end() && !request.update.contains(id) && range.contains(locked->second))
      return locked->second;
    const auto all = versions(id);
    std::optional<Version> newest;
    if (!all.ok()) return newest;
    for (const resolve::Candidate& each : *all)
      if (range.contains(each.version) && (!newest || *newest < each.version)) newest = each.version;
    return newest;
  }

  Result<std::vector<resolve::Candidate>> list(const std::string& id) {
    const auto slash = id.find('/');
    if (slash == std::string::npos)
      return error(ErrorKind::Invalid, "the dependency \"{}\" names no package of a registry",
                   escape_controls(id))
          .with_hint("as in mistletoe/databases/mariadb; a path on this machine begins with ./ or ../");
    auto texts =
        kept_.contains(id) ? packages_.versions(id, context_) : packages_.newest_versions(id, context_);
    if (!texts.ok() && texts.error().kind != ErrorKind::NotFound) return std::move(texts).error();
    std::vector<resolve::Candidate> candidates =
        texts.ok() ? std::vector<resolve::Candidate>() : locked_of(id);
    if (!texts.ok() && candidates.empty()) return std::move(texts).error();
    for (const std::string& text : std::move(texts).value_or({})) {
      auto version = Version::parse_lenient(text);
      if (!version.ok()) continue;  // no range can mean it
      note(id, *version, text);
      candidates.push_back({*std::move(version)});
    }
    if (candidates.empty()) candidates = locked_of(id);
    if (candidates.empty())
      return error(ErrorKind::NotFound, "there is no package {}", escape_controls(id))
          .with_hint(id.starts_with(oci::kScheme)
                         ? "none of its tags is a version"
                         : fmt::format("mistctl registry list {} prints what there is", id.substr(0, slash)));
    return candidates;
  }

  // Where its registry has none any more.
  std::vector<resolve::Candidate> locked_of(const std::string& id) const {
    std::vector<resolve::Candidate> candidates;
    for (const auto& [named, origin] : locked_)
      if (named.first == id) candidates.push_back({named.second});
    return candidates;
  }

  // Where a registry has "1.4" and "1.4.0", the first may move; a lock's text stays.
  void note(const std::string& id, const Version& version, const std::string& text) {
    const std::pair named(id, version);
    const std::lock_guard guard(mutex_);
    const auto [written, is_new] = written_.emplace(named, text);
    if (!is_new && !locked_.contains(named) && !is_whole(written->second) && is_whole(text))
      written->second = text;
  }

  // As its registry writes it: "1.2" is not "1.2.0" there.
  std::string text_of(const std::string& id, const Version& version) const {
    const std::lock_guard guard(mutex_);
    const auto written = written_.find(std::pair(id, version));
    return written == written_.end() ? version.to_string() : written->second;
  }

  PackageFinder& packages_;
  const Context& context_;
  std::set<std::string> trusted_;         // hosts that packages from elsewhere may name
  OnceMap<std::string, Source> sources_;  // by reference
  OnceMap<std::string, std::vector<resolve::Candidate>> listed_;  // by id
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, Version>, std::string> written_;  // guarded by mutex_
  std::set<std::string> kept_;                                      // ids
  std::map<std::string, std::string> only_;                         // id → version
  std::map<std::pair<std::string, Version>, resolve::Origin> locked_;
  std::map<std::pair<std::string, Version>, std::string> recorded_;  // digests
  std::set<std::pair<std::string, Version>> moved_;
};

void collect(const Source& source, std::map<std::string, release::CalledPackage>& calls) {
  for (const auto& [name, package] : source.dependencies) {
    const auto [entry, is_new] = calls.try_emplace(package->id);
    if (!is_new) continue;
    entry->second = {package->id, package->source.version, package->source.digest};
    collect(package->source, calls);
  }
}

// A version of a registry never changes; a path may have other content every day.
Status refuse_changed_bytes(const Source& source, const std::vector<release::CalledPackage>& recorded) {
  for (const release::CalledPackage& now : called_packages(source)) {
    const auto then = std::ranges::find(recorded, now.id, &release::CalledPackage::id);
    if (then == recorded.end() || then->version != now.version || then->digest == now.digest) continue;
    // The ids of packages of this machine are paths relative to their caller's.
    if (now.version.empty() || is_path(now.id)) continue;
    Error failure =
        error(ErrorKind::Conflict, "{}:{} is not what the release was made from", now.id, now.version);
    failure.because = fmt::format("its digest is {}, it was {}", now.digest, then->digest);
    failure.hint =
        fmt::format("{} calls it; if the new bytes are wanted, name that package with -p", source.reference);
    return failure;
  }
  return {};
}

// Each on a line: what the lock has, and what it should have.
std::string lock_differences(const resolve::LockFile& lock, const resolve::LockFile& wanted) {
  std::vector<std::string> lines;
  for (const resolve::LockedPackage& each : wanted.packages()) {
    const resolve::LockedPackage* const locked = lock.find(each.name);
    if (locked == nullptr)
      lines.push_back(fmt::format("{} {} is not in it", each.name, each.version.to_string()));
    else if (locked->version.to_string() != each.version.to_string())
      lines.push_back(fmt::format("{} is {} in it, and {} is needed", each.name, locked->version.to_string(),
                                  each.version.to_string()));
  }
  for (const resolve::LockedPackage& each : lock.packages()) {
    if (wanted.find(each.name) == nullptr)
      lines.push_back(
          fmt::format("{} {} is in it, and nothing asks for it", each.name, each.version.to_string()));
  }
  return join(lines, "\n");
}

// One resolution from rules to a solution and what it says.
class Resolver {
 public:
  Resolver(const Source& source, const DependencyRules& rules, Finder& finder, const Context& context)
      : source_(source), rules_(rules), finder_(finder), context_(context) {}

  Result<Resolution> resolve(std::vector<resolve::Requirement> requirements) {
    MIST_TRY_VOID(read_lock());
    resolve::Request request{.root = source_.name, .requirements = std::move(requirements)};
    request.update = rules_.update;
    Resolution resolution;
    if (rules_.recorded != nullptr) {
      MIST_TRY(resolution.solution, solve_as_recorded(std::move(request)));
    } else {
      if (lock_) {
        for (const resolve::LockedPackage& each : lock_->packages()) {
          if (!rules_.as_without_lock) request.locked.emplace(each.name, each.version);
          finder_.know(each);
          const bool is_updated = rules_.update.contains(each.name);
          if (is_updated) finder_.forget_bytes(each);
          if (!is_updated && !rules_.as_without_lock) finder_.keep(each.name);
        }
      }
      MIST_TRY(resolution.solution, solve(request));
    }
    for (const resolve::Selected& each : resolution.solution.packages) {
      MIST_TRY(const Source* const found, finder_.found(each.package, each.version));
      resolution.sources.emplace(each.package, *found);
    }
    resolution.lock = lock_for(resolution);
    if (!rules_.as_without_lock) MIST_TRY_VOID(compare_with_lock(resolution));
    return resolution;
  }

 private:
  Status read_lock() {
    lock_ = rules_.lock;
    if (lock_) return {};
    MIST_TRY(const std::optional<std::string> text, package::lock_text(source_));
    if (!text) return {};
    MIST_TRY(lock_, resolve::LockFile::parse(*text, std::string(resolve::kLockFileName))
                        .in(fmt::format("while resolving the dependencies of {}", source_.reference)));
    return {};
  }

  Result<resolve::Solution> solve(const resolve::Request& request) {
    finder_.read_ahead(request);
    return resolve::solve(request, finder_, context_)
        .in(fmt::format("while resolving the dependencies of {}", source_.reference));
  }

  // As the release has them, asking for nothing else; if the package wants others now, as near to them as it
  // can be.
  Result<resolve::Solution> solve_as_recorded(resolve::Request request) {
    std::map<std::string, std::string> only;
    for (const release::CalledPackage& each : *rules_.recorded) {
      auto version = Version::parse_lenient(each.version);
      if (!version.ok() || is_path(each.id)) continue;
      only.emplace(each.id, each.version);
      finder_.know_recorded(each.id, *version, each.digest);
      request.locked.emplace(each.id, *std::move(version));
    }
    finder_.only(std::move(only));
    auto solution = solve(request);
    if (solution.ok() || solution.error().kind != ErrorKind::Conflict) return solution;
    finder_.only({});
    return solve(request);
  }

  static resolve::LockFile lock_for(const Resolution& resolution) {
    resolve::Solution of_registries = resolution.solution;
    std::erase_if(of_registries.packages,
                  [](const resolve::Selected& each) { return is_path(each.package); });
    return resolve::LockFile::of(of_registries, [&](const std::string& id, const Version&) {
      const Source& source = resolution.sources.at(id);
      return resolve::Origin{source.reference, source.digest};
    });
  }

  Status compare_with_lock(const Resolution& resolution) const {
    const resolve::LockFile none;
    const resolve::LockFile& lock = lock_ ? *lock_ : none;
    for (const resolve::LockedPackage& now : resolution.lock.packages()) {
      const resolve::LockedPackage* const then = lock.find(now.name);
      if (then == nullptr || then->version.to_string() != now.version.to_string() ||
          then->origin.digest == now.origin.digest || rules_.update.contains(now.name))
        continue;
      return other_bytes(*then, now);
    }
    if (!rules_.locked) return {};
    if (!lock_ && !resolution.lock.packages().empty())
      return error(ErrorKind::Conflict, "{} has no {}, and --locked asks for exactly what it says",
                   source_.reference, resolve::kLockFileName)
          .with_hint(lock_hint("", "writes it"));
    const std::string differences = lock_differences(lock, resolution.lock);
    if (differences.empty()) return {};
    return error(ErrorKind::Conflict,
                 "{} of {} is not up to date, and --locked asks for exactly what it says",
                 resolve::kLockFileName, source_.reference)
        .with_because(differences)
        .with_hint(lock_hint("", "brings it up to date"));
  }

  Error other_bytes(const resolve::LockedPackage& then, const resolve::LockedPackage& now) const {
    Error failure = error(ErrorKind::Conflict, "{}:{} is not what {} of {} has", now.name,
                          now.version.to_string(), resolve::kLockFileName, source_.reference);
    failure.because =
        fmt::format("its digest is {}, in the lock it is {}", now.origin.digest, then.origin.digest);
    const std::string update = lock_hint(" --update " + shell_word(now.name), "takes them");
    const std::string before = place_of(then.origin.source);
    const std::string place = place_of(now.origin.source);
    if (before == place) {
      failure.hint = "a published version never changes; if the new bytes are wanted: " + update;
      return failure;
    }
    failure.because =
        fmt::format("it is read from {}, and the lock has it from {}; {}", place, before, failure.because);
    failure.hint = fmt::format(
        "copy the package's manifest to its new place as it is, or correct the registry's address; "
        "if the new bytes are wanted: {}",
        update);
    return failure;
  }

  // Without the version and what follows it.
  static std::string place_of(const std::string& reference) {
    if (const auto parsed = oci::Reference::parse(reference); parsed.ok()) return parsed->repository.str();
    return reference.substr(0, reference.rfind(':'));
  }

  // A lock is written beside sources; that of a package from elsewhere is its author's.
  std::string lock_hint(std::string_view flags, std::string_view does) const {
    if (!is_path(source_.reference)) return fmt::format("ask the author of {}", source_.name);
    return fmt::format("mistctl package lock {}{} {}", shell_word(source_.reference), flags, does);
  }

  const Source& source_;
  const DependencyRules& rules_;
  Finder& finder_;
  const Context& context_;
  std::optional<resolve::LockFile> lock_;
};

// From the versions that were chosen to packages that know what they may call.
class Tree {
 public:
  /// `sources`: by id. `root`: the directory of the release's package; empty: it isn't on this machine.
  Tree(const std::map<std::string, Source>& sources, std::string root, DependencyPlace where = {})
      : sources_(sources), root_(std::move(root)), where_(std::move(where)) {}

  Status complete(Source& source, const std::string& directory, std::vector<std::string> path) {
    path.push_back(source.name);
    const bool is_root = path.size() == 1;
    MIST_TRY(const std::vector<Dependency> declared, package::declared_dependencies(source));
    for (const Dependency& each : declared) {
      Status added = add(source, each, directory, path);
      if (added) continue;
      const auto place = is_root && where_ ? where_(each) : std::nullopt;
      return place ? std::move(added).error().at(*place) : std::move(added).error();
    }
    return {};
  }

 private:
  Status add(Source& source, const Dependency& declared, const std::string& directory,
             const std::vector<std::string>& path) {
    MIST_TRY(const std::string id, id_of(declared, source.reference, directory));
    if (source.dependencies.contains(declared.name))
      return error(ErrorKind::Invalid, "{} declares two dependencies called {}", source.reference,
                   escape_controls(declared.name))
          .with_hint("give one of them another name: packages are called by it");
    MIST_TRY(auto resolved, package_of(id, path));
    source.dependencies.emplace(declared.name, std::move(resolved));
    return {};
  }

  Result<std::shared_ptr<const ResolvedPackage>> package_of(const std::string& id,
                                                            const std::vector<std::string>& path) {
    if (const auto done = done_.find(id); done != done_.end()) return done->second;
    if (std::ranges::find(open_, id) != open_.end()) {
      std::vector<std::string> cycle = path;
      cycle.push_back(id.substr(id.rfind('/') + 1));
      return error(ErrorKind::Invalid, "packages call one another in a cycle: {}", join(cycle, kArrowBetween))
          .with_hint("remove one of these dependencies");
    }
    open_.push_back(id);
    const auto found = sources_.find(id);
    MIST_CHECK(found != sources_.end());
    // Secrets derive from the id: the same sources elsewhere on a machine have the same.
    ResolvedPackage package{is_path(id) ? Path(id).lexically_relative(root_).string() : id, found->second};
    MIST_TRY_VOID(complete(package.source, directory_of(id, package.source), path));
    open_.pop_back();
    return done_.emplace(id, std::make_shared<const ResolvedPackage>(std::move(package))).first->second;
  }

  const std::map<std::string, Source>& sources_;
  std::string root_;
  DependencyPlace where_;
  std::map<std::string, std::shared_ptr<const ResolvedPackage>> done_;
  std::vector<std::string> open_;
};

}  // namespace

std::vector<release::CalledPackage> called_packages(const Source& source) {
  std::map<std::string, release::CalledPackage> by_id;
  collect(source, by_id);
  std::vector<release::CalledPackage> calls;
  for (auto& [id, call] : by_id) calls.push_back(std::move(call));
  return calls;
}

Result<Resolution> solve_dependencies(const Source& source, const std::string& directory,
                                      const DependencyRules& rules, PackageFinder& packages,
                                      const Context& context) {
  Finder finder(packages, context);
  MIST_TRY(std::vector<resolve::Requirement> requirements, finder.requirements_of_root(source, directory));
  return Resolver(source, rules, finder, context).resolve(std::move(requirements));
}

Status check_calls(const Source& source, const std::string& directory, const Resolution& resolution,
                   const DependencyPlace& where) {
  Source copy = source;
  return Tree(resolution.sources, directory, where).complete(copy, directory, {});
}

Status resolve_dependencies(Source& source, const std::string& directory, const DependencyRules& rules,
                            PackageFinder& packages, const Context& context) {
  MIST_TRY(const std::vector<Dependency> declared, package::declared_dependencies(source));
  if (declared.empty() && !rules.locked) return {};
  Finder finder(packages, context);
  MIST_TRY(std::vector<resolve::Requirement> requirements, finder.requirements_of_root(source, directory));
  MIST_TRY(const Resolution resolution,
           Resolver(source, rules, finder, context).resolve(std::move(requirements)));
  MIST_TRY_VOID(Tree(resolution.sources, directory).complete(source, directory, {}));
  return rules.recorded == nullptr ? Status() : refuse_changed_bytes(source, *rules.recorded);
}

}  // namespace mist::render
