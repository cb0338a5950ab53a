#pragma once
// How packages lie in a registry, as pure functions over its list of files.
//
//   <path>/<name>-<version>.mist-pack.wasm   the original's layout; <name> is the last segment of <path>
//   packages/<name>/<version>/…              archive layout: a directory of files; the reference's path is
//   <name>
//
// Any thread.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "registry/reference.h"

namespace mist::registry {

enum class EntryType { File, Symlink, Submodule };

/// One file of a registry.
struct TreeEntry {
  EntryType type = EntryType::File;
  std::string object;  ///< git's id of its content; empty in a directory registry
  std::string path;
};

/// Reads `git ls-tree -r -z`. Errors: Internal when it isn't that.
Result<std::vector<TreeEntry>> parse_tree_listing(std::string_view listing);

/// Where one version of a package is.
struct Located {
  bool is_tree = false;
  std::string path;                ///< of the module, or of the directory
  std::vector<TreeEntry> entries;  ///< the module, or every file below the directory
  std::string object;              ///< names the content: changes exactly when an entry does
  bool chosen = false;             ///< entries were named one by one, so all of them count
};

class PackageIndex {
 public:
  /// `entries` in any order. Names that couldn't stand in a reference are left out.
  explicit PackageIndex(std::vector<TreeEntry> entries);

  /// path → versions, ascending.
  const std::map<std::string, std::vector<std::string>, std::less<>>& packages() const { return packages_; }
  std::size_t version_count() const;

  /// Errors: NotFound, with the versions there are, or the nearest package; Invalid where a link or submodule
  /// stands in the way.
  Result<Located> find(const RegistryRef& reference) const;

  /// Any file or directory, for git+https references. An empty path is the root. Errors as find.
  Result<Located> find_path(std::string_view path) const;

  /// Null if there is no file of that path.
  const TreeEntry* entry_at(std::string_view path) const;
  /// Those at any depth, by path; `object` is the commit.
  std::vector<const TreeEntry*> submodules() const;
  /// Every directory below the root that has a file of that name, ascending.
  std::vector<std::string> directories_with(std::string_view file) const;
  /// True if a file lies below it.
  bool is_directory(std::string_view path) const;

 private:
  Located located_tree(std::string_view directory) const;
  Status refuse_links_above(std::string_view path) const;

  std::vector<TreeEntry> entries_;  // ascending by path
  std::map<std::string, std::vector<std::string>, std::less<>> packages_;
};

/// The places of `reference` in the order in which they are tried.
std::string module_path(const RegistryRef& reference);
std::string directory_path(const RegistryRef& reference);  ///< empty: its path has more than one segment

/// The error for a version or package that isn't there: NotFound.
Error version_not_found(const RegistryRef& reference,
                        const std::map<std::string, std::vector<std::string>, std::less<>>& packages);

}  // namespace mist::registry
