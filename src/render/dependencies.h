#pragma once
// Resolves the packages that a package may call (spec.dependencies), and those that they may call, to bytes:
// one version of each package in a release, the newest that everybody's ranges allow (src/resolve). Reads
// registries; writes nothing but their caches. One thread.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "package/renderer.h"
#include "release/record.h"
#include "resolve/lock_file.h"
#include "resolve/solver.h"

namespace mist::render {

/// Where packages are found: render::Packages, or a test's own. Any thread: many packages are read at once.
class PackageFinder {
 public:
  virtual ~PackageFinder() = default;
  /// From here on, packages at other OCI hosts than these and those of the configuration are named by
  /// packages from elsewhere: only public addresses may be asked for them. Before anything at one is looked
  /// for. Returns all of these hosts.
  virtual std::set<std::string> trust_only(std::set<std::string> hosts) { return hosts; }
  /// The package without its dependencies. Errors: those of Registries.
  virtual Result<package::Source> find(const std::string& reference, const Context& context) = 0;
  /// The same, of the bytes that a lock has, or a release's record, which has no origin's source: where that
  /// names a manifest, the version's tag may have moved, or be gone. Other bytes may be given out too, but
  /// are not remembered.
  virtual Result<package::Source> find_locked(const std::string& reference, const resolve::Origin& /*locked*/,
                                              const Context& context) {
    return find(reference, context);
  }
  /// The same, of a version that may have other bytes than this machine knows.
  virtual Result<package::Source> find_moved(const std::string& reference, const Context& context) {
    return find(reference, context);
  }
  /// The versions of a package of a registry, in any order: "mistletoe/databases/mariadb",
  /// "oci://host/databases/mariadb". Errors: those of Registries.
  virtual Result<std::vector<std::string>> versions(const std::string& package, const Context& context) = 0;
  /// The same, to choose a new version among: Registries::newest_versions.
  virtual Result<std::vector<std::string>> newest_versions(const std::string& package,
                                                           const Context& context) {
    return versions(package, context);
  }
};

/// The packages that a source was resolved to, and that those may call, each once; sorted by id.
std::vector<release::CalledPackage> called_packages(const package::Source& source);

/// The rules for choosing between versions that fit. The newest are chosen by default, except for those that
/// the package's own mistletoe.lock has (package::lock_text); locks of called packages mean nothing.
struct DependencyRules {
  /// The packages that a release was made from. Their versions are kept, and no others are looked for, unless
  /// the package now asks for others. Null: no release.
  const std::vector<release::CalledPackage>* recorded = nullptr;
  /// Instead of the package's own lock.
  std::optional<resolve::LockFile> lock = {};
  /// Exactly the package's lock, or an error: --locked.
  bool locked = false;
  /// Ids whose locked versions are forgotten. Where the same version is chosen again, its bytes may be
  /// others.
  std::set<std::string> update = {};
  /// Versions are chosen as if there were no lock. One that it has is read as it was locked.
  bool as_without_lock = false;
};

/// Which versions a package's dependencies get.
struct Resolution {
  resolve::Solution solution;
  std::map<std::string, package::Source> sources;  ///< by id
  /// The package's lock as it should be: packages of registries. Those on this machine are as they are.
  resolve::LockFile lock;
};

/// Whether the packages can be put together. Errors: Invalid (a cycle, with its path; two dependencies of one
/// name), at the place of the dependency of `source` that leads there, if `where` knows it.
using DependencyPlace = std::function<std::optional<SourceLocation>(const package::Dependency&)>;
Status check_calls(const package::Source& source, const std::string& directory, const Resolution& resolution,
                   const DependencyPlace& where);

/// Errors: Conflict (no versions fit together; the proof is in `because`; with `locked`, the lock is missing
/// or isn't what this resolution would be; a locked version has other bytes now), Invalid (a reference or
/// range that can't be read; a path in a package that isn't local; the lock), and those of the finder.
Result<Resolution> solve_dependencies(const package::Source& source, const std::string& directory,
                                      const DependencyRules& rules, PackageFinder& finder,
                                      const Context& context);

/// Fills source.dependencies. A dependency names a package of a configured or OCI registry without its
/// version
/// ("mistletoe/databases/mariadb", "oci://host/databases/mariadb"), or, where `source` itself is on this
/// machine, a path relative to `directory` (its directory). Errors: as
/// solve_dependencies; Conflict (a recorded version has other bytes now), Invalid (a cycle, with its path).
Status resolve_dependencies(package::Source& source, const std::string& directory,
                            const DependencyRules& rules, PackageFinder& finder, const Context& context);

}  // namespace mist::render
