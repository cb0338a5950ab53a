#pragma once
// mistletoe.lock for authors: writing it, what is newer than it, and who asks for a package. Versions come
// from registries through render::Packages. One thread.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "action/authoring/package_changes.h"
#include "base/context.h"
#include "base/fs.h"
#include "render/packages.h"

namespace mist::action {

/// The subject of an author's command: a package's sources or its module, as far as its dependencies go.
struct LockedSource {
  package::Source source;
  Path directory;                              ///< of paths among its dependencies
  Path lock_file;                              ///< which need not exist
  std::optional<resolve::LockFile> lock = {};  ///< its content; nullopt: there is none
  bool is_directory = false;
  /// Where mistletoe.yaml declares each dependency, by name; empty of a module.
  std::map<std::string, SourceLocation> declared = {};
};

/// Of a directory its mistletoe.yaml: a MistPackage document, or as the Rust SDK takes it; a Kustomize
/// directory needs none. Of a module what is in it; its lock is the file beside it, else its own section.
/// Errors: of files, NotFound (neither a mistletoe.yaml nor a kustomization), Invalid (also two dependencies
/// of one name).
Result<LockedSource> read_locked_source(FileSystem& files, const Path& path);

/// Whether the directory itself has a kustomization, so that Kustomize renders it.
bool has_kustomization(const FileSystem& files, const Path& directory);

struct LockChoices {
  std::set<std::string> update = {};  ///< ids and names of remotes of which what is locked is forgotten
  bool update_all = false;
  bool locked = false;  ///< an error if anything would change
};
struct LockReport {
  resolve::LockFile lock;
  std::vector<PackageChange> changes;  ///< from the lock that there was; commits and digests of remotes too
};
/// Resolves again; versions that still fit are kept, and so are commits of what a kustomization names
/// elsewhere, but for those that are to be updated. Errors: as render::solve_dependencies,
/// render::check_calls and Packages::remotes; NotFound: what is to be updated isn't in the lock.
Result<LockReport> resolve_lock(const LockedSource& source, const LockChoices& choices,
                                render::Packages& packages, const Context& context);

struct OutdatedPackage {
  std::string package;  ///< its id
  std::string locked;   ///< empty: it isn't in the lock
  std::string fits;     ///< the version that a resolution without a lock takes
  std::string newest;   ///< of all, prereleases only if there is nothing else
  /// Of the locked version.
  render::Packages::Tag tag = render::Packages::Tag::AsLocked;
  /// The registry in git whose local copy says what is newest; empty: its server does.
  std::string local_copy = {};
  bool outdated() const { return locked != fits || fits != newest; }
};
/// All packages of registries that it calls, and that those call, sorted by id.
Result<std::vector<OutdatedPackage>> outdated_packages(const LockedSource& source, render::Packages& packages,
                                                       const Context& context);

/// A base, file or chart that a kustomization names elsewhere, as the lock has it and as it is now: the first
/// digits of the commit of a repository, of the digest of anything else.
struct OutdatedRemote {
  std::string name;  ///< as the lock has it
  std::string locked;
  std::string now;  ///< empty: nothing names it any more
  bool outdated() const { return locked != now; }
};
/// All that is locked, sorted by name; none of a module. Fetches them. Errors: of render::Packages::remotes.
Result<std::vector<OutdatedRemote>> outdated_remotes(const LockedSource& source, render::Packages& packages,
                                                     const Context& context);

/// A package that asks for another, and the range that it asks for.
struct PackageAsker {
  std::vector<std::string> path;  ///< from the package itself to the asker: "platform", "m/web 0.1.0"
  std::string range;
};
struct PackageReasons {
  std::string package;
  std::string version;
  std::vector<PackageAsker> askers;
};
/// With a shortest way to each asker. `root`: the name of the package itself. NotFound: nobody asks for it;
/// the nearest name is the hint. Pure.
Result<PackageReasons> why_package(const resolve::Solution& solution, std::string_view root,
                                   std::string_view package);
/// The same of what the lock, and else the newest versions, give.
Result<PackageReasons> why_package(const LockedSource& source, std::string_view package,
                                   render::Packages& packages, const Context& context);

}  // namespace mist::action
