#pragma once
// Is a file still what it was when somebody looked at all of it? Pure; any thread.

#include <string>

struct stat;

namespace mist {

/// Device, inode, size, mtime and ctime to the nanosecond. A file that was replaced or written to has another
/// text, whoever set its mtime back: nobody can set the ctime. Only a second write within the tick of the
/// file system's clock stays unseen, so whoever records it waits until the last one is a while ago.
std::string identity_of(const struct stat& info);

/// A regular file of the user of this process that nobody else may write.
bool is_own_file(const struct stat& info);

/// A directory of the user of this process that nobody else may write to.
bool is_own_directory(const struct stat& info);

/// A file or directory as an installation shares it with everybody: of root or of the user of this process,
/// and nobody else may write to it.
bool is_of_installation(const struct stat& info);

}  // namespace mist
