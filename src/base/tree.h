#pragma once
// Writes files that somebody else named: a package's own output, a package out of an archive. Nothing gets
// outside of the directory, through a link or through `..`; nothing becomes a program's configuration that
// runs commands (`.git/config`, `.envrc`, the HEAD of a bare repository); and a new directory is there whole
// or not at all. Any thread.

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/fs.h"

namespace mist {

struct TreeFile {
  std::string_view path;  ///< relative, with slashes
  std::string_view bytes;
};

struct TreeRules {
  bool hidden = false;    ///< names that begin with a dot may stand in it, but for .git
  bool existing = false;  ///< into a directory that isn't empty, over files that are there
  bool durable = true;
  Permissions permissions = Permissions::Fixed;  ///< Users: of a tree that the user asked for
};

/// Two of the paths of which one is a file in a directory that the other one is as a file: "a", "a/b".
std::optional<std::pair<std::string_view, std::string_view>> file_as_directory(
    std::span<const std::string_view> paths);

/// Whether a part of it begins with a dot, where programs look for configuration; `.helmignore` is a chart's
/// own.
bool is_hidden_path(std::string_view path);

/// Invalid: a path is absolute, leaves the directory, has a part that the rules forbid, or names a file that
/// another one has as directory (file_as_directory); or something on the way is a link or no directory.
/// Conflict: `directory` isn't empty, without `existing`. Other errors: of the file system. A directory that
/// was empty or not there is so again after an error; of an existing one each file is the old or the new one.
Status write_tree(FileSystem& files, const Path& directory, std::span<const TreeFile> tree,
                  const TreeRules& rules);

}  // namespace mist
