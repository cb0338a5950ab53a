#include "base/tree.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace mist {
namespace {

// Of file systems that don't tell cases apart, too.
bool is_git(std::string_view name) {
  return name.size() == 4 && std::ranges::equal(name, std::string_view(".git"),
                                                [](char a, char b) { return (a | 0x20) == (b | 0x20); });
}

// Files that git takes for the HEAD of a repository (is_git_directory in its setup.c): "config" beside one
// names programs to run. Not by its neighbours, which may come from another tree or be named in "commondir".
bool is_git_head(const TreeFile& file) {
  const std::string name = Path(file.path).filename().string();
  const bool is_head = name.size() == 4 && std::ranges::equal(name, std::string_view("head"),
                                                              [](char a, char b) { return (a | 0x20) == b; });
  if (!is_head) return false;
  const auto is_hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  const std::string_view start = file.bytes.substr(0, 40);
  return file.bytes.starts_with("ref:") || (start.size() == 40 && std::ranges::all_of(start, is_hex));
}

Error refused(std::string_view path, std::string_view why) {
  return error(ErrorKind::Invalid, "the file {} {}", escape_controls(path), why);
}

Status check_path(std::string_view path, const TreeRules& rules) {
  const Path relative(path);
  if (relative.empty() || relative.is_absolute() || path.ends_with('/'))
    return refused(path, "has no path below the directory that it is written to");
  for (const Path& part : relative) {
    const std::string name = part.string();
    if (name.empty() || name == "." || name == "..")
      return refused(path, "would be outside of the directory that it is written to");
    if (is_git(name)) return refused(path, "would configure git, which may run commands");
    if (name.starts_with('.') && !rules.hidden)
      return refused(path, "begins with a dot in one of its parts, where programs look for configuration");
  }
  return {};
}

// Each existing part of the way to a file must be a directory, and no link to elsewhere.
Status check_way(const FileSystem& files, const Path& directory, std::string_view path) {
  Path at = directory;
  const Path relative(path);
  for (auto part = relative.begin(); part != relative.end() && files.is_directory(at); ++part) {
    MIST_TRY(const std::vector<DirectoryEntry> entries, files.list(at));
    const auto there = std::ranges::find(entries, part->string(), &DirectoryEntry::name);
    if (there == entries.end()) return {};
    at /= *part;
    if (there->is_symlink) return refused(path, fmt::format("can't be written: {} is a link", at.string()));
    const bool last = std::next(part) == relative.end();
    if (last == there->is_directory)
      return refused(path, fmt::format("can't be written: {} is {}", at.string(),
                                       last ? "a directory" : "no directory"));
  }
  return {};
}

Status write_all(FileSystem& files, const Path& directory, std::span<const TreeFile> tree,
                 const TreeRules& rules) {
  WriteOptions options = rules.permissions == Permissions::Users ? kUsersFile : WriteOptions();
  options.durable = rules.durable;
  for (const TreeFile& file : tree)
    MIST_TRY_VOID(files.write(directory / Path(file.path), file.bytes, options));
  return {};
}

// Beside, then renamed.
Status write_new(FileSystem& files, const Path& directory, std::span<const TreeFile> tree,
                 const TreeRules& rules) {
  const Path target = directory.has_filename() ? directory : directory.parent_path();
  Path beside = target;
  beside += fmt::format(".incoming-{}", ::getpid());
  MIST_TRY_VOID(files.remove_all(beside));
  Status written = files.make_directories(beside);
  if (written.ok()) written = write_all(files, beside, tree, rules);
  if (written.ok()) written = files.rename(beside, target);
  if (!written.ok()) (void)files.remove_all(beside);
  return written;
}

}  // namespace

std::optional<std::pair<std::string_view, std::string_view>> file_as_directory(
    std::span<const std::string_view> paths) {
  const std::set<std::string_view> files(paths.begin(), paths.end());
  for (const std::string_view path : paths)
    for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1))
      if (const auto file = files.find(path.substr(0, slash)); file != files.end())
        return std::pair(*file, path);
  return std::nullopt;
}

bool is_hidden_path(std::string_view path) {
  return std::ranges::any_of(
      split(path, '/'), [](std::string_view part) { return part.starts_with('.') && part != ".helmignore"; });
}

Status write_tree(FileSystem& files, const Path& directory, std::span<const TreeFile> tree,
                  const TreeRules& rules) {
  for (const TreeFile& file : tree) {
    MIST_TRY_VOID(check_path(file.path, rules));
    if (is_git_head(file))
      return refused(file.path, "would make its directory a git repository, which may run commands");
  }
  std::vector<std::string_view> paths;
  for (const TreeFile& file : tree) paths.push_back(file.path);
  if (const auto both = file_as_directory(paths))
    return refused(both->second,
                   fmt::format("can't be written: there is also a file {}", escape_controls(both->first)));
  if (!files.exists(directory)) return write_new(files, directory, tree, rules);
  if (!files.is_directory(directory))
    return error(ErrorKind::Invalid, "{} is not a directory", directory.string());
  MIST_TRY(const std::vector<DirectoryEntry> entries, files.list(directory));
  if (!entries.empty() && !rules.existing)
    return error(ErrorKind::Conflict, "the directory {} isn't empty", directory.string());
  for (const TreeFile& file : tree) MIST_TRY_VOID(check_way(files, directory, file.path));
  Status written = write_all(files, directory, tree, rules);
  if (!written.ok() && entries.empty())
    for (const TreeFile& file : tree) (void)files.remove_all(directory / *Path(file.path).begin());
  return written;
}

}  // namespace mist
