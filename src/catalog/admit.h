#pragma once
// Checks of tags, and the facts that the files at a tag state. Pure; any thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/model.h"
#include "encoding/semver.h"
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

}  // namespace mist::catalog
