#pragma once
// Helpers for writing files on the host; only fs.cc and file_parts.cc use them. Errors: of errno. Any thread.

#include <string_view>

#include "base/fs.h"
#include "base/result.h"

namespace mist {

/// Writes all bytes, repeating short writes. `path` is for messages.
Status write_all(int fd, std::string_view bytes, const Path& path);

/// Flushes the names in a directory: a file that was renamed into it is there after a crash too.
Status sync_directory(const Path& path);

}  // namespace mist
