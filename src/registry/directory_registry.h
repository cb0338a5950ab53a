#pragma once
// A registry that is a directory on this machine, in either layout (layout.h). Read again each time; links
// that lead out of it are refused. Any thread.

#include <optional>
#include <string>

#include "base/fs.h"
#include "base/result.h"
#include "registry/layout.h"
#include "registry/package_files.h"

namespace mist::registry {

class DirectoryRegistry {
 public:
  DirectoryRegistry(const FileSystem& files, Path root);

  /// Walks the whole directory. Errors: NotFound (no such directory), Invalid (too many files), of
  /// FileSystem.
  Result<PackageIndex> index() const;
  /// Looks at the two possible places only. Errors: NotFound (as PackageIndex::find), Invalid (links that
  /// lead out, too large), of FileSystem.
  Result<PackageContent> read(const RegistryRef& reference) const;
  /// A file beside the packages; nothing: there is none. Errors: Invalid (a link that leads out, too large).
  Result<std::optional<std::string>> read_file(const std::string& path) const;
  /// The path that `read` takes, for people.
  std::string origin(const RegistryRef& reference) const;

 private:
  const FileSystem& files_;
  Path root_;
};

}  // namespace mist::registry
