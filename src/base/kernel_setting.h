#pragma once
// Files of the kernel that are settings or tell of them, as below /sys/fs/cgroup: they are written in place,
// and say a size of 0. Any thread.

#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"

namespace mist {

/// A short write is an error. Errors: of the file system.
Status write_kernel_setting(const Path& file, std::string_view value);
/// Errors: of the file system.
Result<std::string> read_kernel_setting(const Path& file);
/// Of a list with spaces between its words, and perhaps a line's end.
bool has_word(std::string_view list, std::string_view word);

}  // namespace mist
