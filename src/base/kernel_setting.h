#pragma once
// Files of the kernel that are settings or tell of them, as below /sys/fs/cgroup: they are written in place,
// and say a size of 0. Any thread.

#include <cstdint>
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
/// Of a file with lines of a name and a number, as memory.events. 0: it isn't there, or has no such name.
std::uint64_t kernel_count(const Path& file, std::string_view name);
/// Waits a moment for processes that were killed. One that still runs keeps its group.
void remove_control_group(const Path& directory);

}  // namespace mist
