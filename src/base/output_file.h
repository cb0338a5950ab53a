#pragma once
// Files that the user names for a result: -o FILE. Unlike the files of caches and state, they may be there
// already as something else than a file, which a rename would destroy. Not for names that follow from a
// directory, as Chart.lock or NAME.golden.yaml do: whoever made the directory may have put a link there, to a
// file of the user. FileSystem::write() replaces such a link. Any thread.

#include <sys/stat.h>
#include <sys/types.h>

#include <string_view>

#include "base/fs.h"
#include "base/result.h"

namespace mist {

/// Whether `entry` of `directory` may be a trap for `user`: another user put it into a directory that several
/// write to, as /tmp. The rule of Linux' fs.protected_symlinks and fs.protected_fifos.
bool is_planted(const struct stat& entry, const struct stat& directory, uid_t user);

/// Where a write to `path` has to go: the end of a chain of links, whether anything is there or not; of
/// /dev/stdout and the like, that itself. Invalid: the links lead in a cycle. Forbidden: one is_planted().
Result<Path> link_target(const Path& path);

/// Whether write_output() to `path` writes where standard output leads: /dev/stdout, another descriptor of
/// the same file, the terminal's or pipe's own name. Text printed there would stand within the file.
bool is_standard_output(const Path& path);

/// Writes `bytes` where the user said. A device, a pipe or a descriptor of this process (/dev/stdout,
/// /dev/fd/3) gets them as they are, and stays what it is; of a link the target is written. A file is
/// replaced as FileSystem::write() does it. Invalid: a directory, no name. Forbidden: a link or a pipe
/// is_planted(). Waits for the reader of a named pipe.
Status write_output(FileSystem& files, const Path& path, std::string_view bytes,
                    const WriteOptions& options = kUsersFile);

}  // namespace mist
