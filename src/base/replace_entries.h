#pragma once
// Changes several files of a directory at once: whoever looks sees the old directory or the new one, never a
// mixture, and a process that is killed in between leaves one of them. For what others read as a whole, as a
// chart's charts/. Any thread; processes that do it in the same place wait for one another.

#include <span>
#include <string>

#include "base/fs.h"
#include "base/tree.h"

namespace mist {

/// Writes `written`, files directly in `directory`, and removes the entries `removed`; everything else there
/// stays. A directory that isn't there is made, in a parent that is. Errors: Invalid (a name that is no
/// single visible part of a path, something there that is not a directory), of the file system; then nothing
/// has changed.
Status replace_entries(FileSystem& files, const Path& directory, std::span<const TreeFile> written,
                       std::span<const std::string> removed);

}  // namespace mist
