#pragma once
// What writing a file takes on the host, for fs.cc and file_parts.cc alone. Errors: of errno. Any thread.

#include <string_view>

#include "base/fs.h"
#include "base/result.h"

namespace mist {

/// All of it, however often the system takes a part. `path` stands in messages.
Status write_all(int fd, std::string_view bytes, const Path& path);

/// Flushes the names in a directory: a file that was renamed into it is there after a crash too.
Status sync_directory(const Path& path);

}  // namespace mist
