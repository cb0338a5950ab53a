#pragma once
// Checks of tags, and the facts that the files at a tag state. Pure; any thread.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/model.h"
#include "encoding/semver.h"
#include "package/engine.h"
#include "registry/package_files.h"

namespace mist::catalog {

/// The version that a tag names: "1.2.3", "v1.2.3", "etcd-1.2.3", "etcd-v1.2.3", "etcd/v1.2.3" for the
/// package etcd; nullopt: it is no version of it.
std::optional<encoding::SemVer> version_of_tag(std::string_view tag, std::string_view package);

struct RemoteTag {
  std::string name;
  std::string commit;
};
/// Reads what `git ls-remote --tags` prints. Tags that no package could have are left out.
std::vector<RemoteTag> parse_remote_tags(std::string_view text);

struct Admitted {
  PackageFacts facts;
  std::string readme;
};

/// Errors: Invalid, with file and line: no package, another name or version than the project and the tag say.
Result<Admitted> admit(const registry::PackageTree& tree, const std::string& package,
                       const encoding::SemVer& version);

/// The paths, in the repository, at which the module of a version is looked for in a directory, in order.
std::vector<std::string> module_places(const std::string& directory, const std::string& package,
                                       const encoding::SemVer& version);

/// The files in the directory of a module that say something of it.
inline constexpr std::array<std::string_view, 5> kNamesBesideModules{"K3.yaml", "README.md", "readme.md",
                                                                     "README", "README.txt"};

/// A package that is a module.
struct SubmittedModule {
  registry::PackageModule module;
  std::string path = {};       ///< in the repository
  package::Files beside = {};  ///< kNamesBesideModules, as far as they are there
};
/// Reads the module's own metadata; nothing of it is run or compiled. Errors as of admit: Invalid too for a
/// module without metadata, and one that no compiler here would take (wasm::check_shape).
Result<Admitted> admit_module(const SubmittedModule& submitted, const std::string& package,
                              const encoding::SemVer& version);

}  // namespace mist::catalog
