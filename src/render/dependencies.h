#pragma once
// What a package may call (spec.dependencies), and what those may call in turn, resolved to bytes: one
// version of each package in a release, the newest that everybody's ranges allow (src/resolve). Reads
// registries; writes nothing but their caches. One thread.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "package/renderer.h"
#include "release/record.h"

namespace mist::render {

/// Where packages are found: render::Packages, or a test's own.
class PackageFinder {
 public:
  virtual ~PackageFinder() = default;
  /// The package without its dependencies. Errors: those of Registries.
  virtual Result<package::Source> find(const std::string& reference, const Context& context) = 0;
  /// The versions of a package of a registry, in any order: "mistletoe/databases/mariadb",
  /// "oci://host/databases/mariadb". Errors: those of Registries.
  virtual Result<std::vector<std::string>> versions(const std::string& package, const Context& context) = 0;
};

/// The packages that a source was resolved to, and that those may call, each once; sorted by id.
std::vector<release::CalledPackage> called_packages(const package::Source& source);

/// Fills source.dependencies. `recorded`: what a release was made from. It keeps those versions, of which
/// only themselves are asked for, unless the package now asks for others; null: the newest that fit. A
/// dependency names a package of a configured or OCI registry without its version
/// ("mistletoe/databases/mariadb", "oci://host/databases/mariadb"), or, where `source` itself is on this
/// machine, a path relative to `directory` (its directory). Errors: Conflict (no versions fit together; the
/// proof is in `because`), a recorded version has other bytes now), Invalid (a cycle, with its path; a
/// reference or range that can't be read; a path in a package that isn't local), and those of the finder, all
/// naming the path of packages.
Status resolve_dependencies(package::Source& source, const std::string& directory,
                            const std::vector<release::CalledPackage>* recorded, PackageFinder& finder,
                            const Context& context);

}  // namespace mist::render
