#include "registry/local_source.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "registry/helm_ignore.h"
#include "registry/reference.h"

namespace mist::registry {
namespace {

constexpr std::array<std::string_view, 3> kManifestEndings{".yaml", ".yml", ".json"};

Error system_error(std::string_view verb, const Path& path, const std::error_code& code) {
  return errno_error(verb, path, code.value());
}

Result<Path> real_path(const Path& path) {
  std::error_code failed;
  Path real = std::filesystem::canonical(path, failed);
  if (failed) return system_error("read", path, failed);
  return real;
}

bool is_inside(const Path& root, const Path& path) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

std::string shown(const Path& path) { return escape_controls(path.string()); }

/// Walks one directory. The real root is resolved once; every entry's real place is compared with it.
class Walk {
 public:
  Walk(const FileSystem& files, Path root, const HelmIgnore& ignore, TreeBuilder& builder)
      : files_(files), root_(std::move(root)), ignore_(ignore), builder_(builder) {}

  Status directory(const Path& real, const std::string& prefix, std::size_t depth) {
    if (depth > kMaxTreeDepth)
      return error(ErrorKind::Invalid, "{} is nested more than {} directories deep", shown(real),
                   kMaxTreeDepth)
          .with_hint("does a link lead back into the directory?");
    // Links to links double at each level, and what has no files reaches no other bound.
    if (++directories_ > kMaxPackageFiles)
      return error(ErrorKind::Invalid,
                   "{} has more than {} directories, each counted as often as links lead there", shown(root_),
                   kMaxPackageFiles)
          .with_hint("remove the links");
    MIST_TRY(const std::vector<DirectoryEntry> entries, files_.list(real));
    for (const DirectoryEntry& entry : entries) {
      if (is_bookkeeping(entry.name)) continue;
      MIST_TRY_VOID(one(real, prefix + entry.name, entry, depth));
    }
    return {};
  }

 private:
  Status one(const Path& parent, const std::string& name, const DirectoryEntry& entry, std::size_t depth) {
    const Path path = parent / entry.name;
    const bool is_directory = entry.is_directory || (entry.is_symlink && files_.is_directory(path));
    if (ignore_.leaves_out(name, is_directory)) return {};
    if (entry.is_directory) return directory(path, name + '/', depth + 1);
    Path real = path;
    if (entry.is_symlink) {
      MIST_TRY(real, real_path(path));
      if (!is_inside(root_, real))
        return error(ErrorKind::Invalid, "{} is a link that leads out of the package, to {}", shown(path),
                     shown(real))
            .with_hint("copy what it leads to into the package");
      if (is_inside(real, parent))
        return error(ErrorKind::Invalid, "{} is a link that leads to a directory above it", shown(path))
            .with_hint("remove the link");
      if (is_directory) return directory(real, name + '/', depth + 1);
    }
    std::error_code failed;
    if (!std::filesystem::is_regular_file(real, failed))
      return error(ErrorKind::Invalid, "{} is neither a file nor a directory", shown(path))
          .with_hint("a package holds regular files only; remove it");
    MIST_TRY(std::string bytes, files_.read(real, builder_.room()));
    return builder_.add(name, std::move(bytes));
  }

  const FileSystem& files_;
  Path root_;
  const HelmIgnore& ignore_;
  TreeBuilder& builder_;
  std::size_t directories_ = 0;
};

// Of a directory that is a chart.
HelmIgnore ignored_in(const FileSystem& files, const Path& root) {
  if (!files.exists(root / "Chart.yaml")) return {};
  const auto rules = read_inside(files, root, root / ".helmignore", std::uint64_t{1} << 20);
  return HelmIgnore::parse(rules.ok() ? *rules : std::string());
}

}  // namespace

Result<PackageTree> read_directory_tree(const FileSystem& files, const Path& directory) {
  MIST_TRY(Path root, real_path(directory));
  TreeBuilder builder(shown(directory));
  const HelmIgnore ignore = ignored_in(files, root);
  MIST_TRY_VOID(Walk(files, root, ignore, builder).directory(root, "", 0));
  return std::move(builder).finish();
}

Path working_directory() {
  std::error_code failed;
  Path here = std::filesystem::current_path(failed);
  return failed ? Path("/") : here;
}

Result<Path> real_path_inside(const Path& root, const Path& path) {
  MIST_TRY(const Path real_root, real_path(root));
  MIST_TRY(Path real, real_path(path));
  if (!is_inside(real_root, real))
    return error(ErrorKind::Invalid, "{} leads out of {}, to {}", shown(path), shown(root), shown(real))
        .with_hint("remove the link, or copy what it leads to");
  return real;
}

Result<std::string> read_inside(const FileSystem& files, const Path& root, const Path& path,
                                std::uint64_t limit) {
  MIST_TRY(const Path real, real_path_inside(root, path));
  std::error_code failed;
  if (!std::filesystem::is_regular_file(real, failed))
    return error(ErrorKind::Invalid, "{} is not a regular file", shown(path)).with_hint("name a file");
  return files.read(real, limit);
}

Result<PackageContent> read_local(const FileSystem& files, const wasm::ModuleFiles& modules,
                                  const Path& path) {
  if (files.is_directory(path)) {
    MIST_TRY(PackageTree tree, read_directory_tree(files, path));
    return PackageContent(std::move(tree));
  }
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status))
    return error(ErrorKind::NotFound, "there is no file or directory {}", shown(path))
        .with_hint("check the path; a package of a registry is written <registry>/<path>:<version>");
  if (!std::filesystem::is_regular_file(status))
    return error(ErrorKind::Invalid, "{} is neither a file nor a directory", shown(path))
        .with_hint("name a .wasm file, a YAML or JSON file, or a directory");
  const std::string name = path.filename().string();
  const bool is_file_of_a_tree =
      name.ends_with(".tgz") ||
      std::ranges::any_of(kManifestEndings, [&](std::string_view end) { return name.ends_with(end); });
  if (!is_file_of_a_tree && !name.ends_with(".wasm"))
    return error(ErrorKind::Invalid, "{} is not a kind of package that mistctl knows", shown(path))
        .with_hint(
            "name a .wasm file, a packed chart (.tgz), a YAML or JSON file (.yaml, .yml, .json), or a "
            "directory");
  if (!is_file_of_a_tree) {
    MIST_TRY(PackageModule module, modules.open(path, kMaxPackageBytes));
    return PackageContent(std::move(module));
  }
  MIST_TRY(std::string bytes, files.read(path, kMaxPackageBytes));
  TreeBuilder builder(shown(path));
  MIST_TRY_VOID(builder.add(name, std::move(bytes)));
  MIST_TRY(PackageTree tree, std::move(builder).finish());
  return PackageContent(std::move(tree));
}

}  // namespace mist::registry
