#include "registry/directory_registry.h"

#include "base/text.h"
#include "registry/local_source.h"

namespace mist::registry {
namespace {

constexpr std::size_t kMaxRegistryFiles = 500'000;

Status collect(const FileSystem& files, const Path& directory, const std::string& prefix, std::size_t depth,
               std::vector<TreeEntry>& entries) {
  if (depth > kMaxTreeDepth || entries.size() > kMaxRegistryFiles)
    return error(ErrorKind::Invalid, "{} has too many files or directories for a registry",
                 escape_controls(directory.string()))
        .with_hint("is this the right directory? See mistctl registry list");
  MIST_TRY(const std::vector<DirectoryEntry> found, files.list(directory));
  for (const DirectoryEntry& entry : found) {
    if (entry.name.starts_with('.')) continue;
    const std::string path = prefix + entry.name;
    if (entry.is_directory)
      MIST_TRY_VOID(collect(files, directory / entry.name, path + '/', depth + 1, entries));
    else
      entries.push_back({entry.is_symlink ? EntryType::Symlink : EntryType::File, {}, path});
  }
  return {};
}

}  // namespace

DirectoryRegistry::DirectoryRegistry(const FileSystem& files, Path root)
    : files_(files), root_(std::move(root)) {}

Result<PackageIndex> DirectoryRegistry::index() const {
  if (!files_.is_directory(root_))
    return error(ErrorKind::NotFound, "the directory of the registry, {}, isn't there",
                 escape_controls(root_.string()))
        .with_hint("check the path: mistctl registry list");
  std::vector<TreeEntry> entries;
  MIST_TRY_VOID(collect(files_, root_, "", 0, entries));
  return PackageIndex(std::move(entries));
}

std::string DirectoryRegistry::origin(const RegistryRef& reference) const {
  const Path module = root_ / module_path(reference);
  return (files_.exists(module) ? module : root_ / directory_path(reference)).string();
}

Result<std::optional<std::string>> DirectoryRegistry::read_file(const std::string& path) const {
  if (!files_.exists(root_ / path)) return std::optional<std::string>();
  MIST_TRY(std::string bytes, read_inside(files_, root_, root_ / path, kMaxPackageBytes));
  return std::optional(std::move(bytes));
}

Result<PackageContent> DirectoryRegistry::read(const RegistryRef& reference) const {
  const Path module = root_ / module_path(reference);
  if (files_.exists(module)) {
    MIST_TRY(std::string bytes, read_inside(files_, root_, module, kMaxPackageBytes));
    return PackageContent(PackageModule{std::move(bytes)});
  }
  const std::string below = directory_path(reference);
  if (!below.empty() && files_.is_directory(root_ / below)) {
    // The walk takes the real place of its root as given, so that place is checked first.
    MIST_TRY(const Path real, real_path_inside(root_, root_ / below));
    MIST_TRY(PackageTree tree, read_directory_tree(files_, real));
    return PackageContent(std::move(tree));
  }
  MIST_TRY(const PackageIndex known, index());
  return version_not_found(reference, known.packages());
}

}  // namespace mist::registry
