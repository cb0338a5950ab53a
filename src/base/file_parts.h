#pragma once
// Files that don't fit into memory, part by part. Of the host's file system, as HostFileSystem (fs.h), whose
// errors these have. Any thread.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"

namespace mist {

/// Invalid for a pipe, a socket or a device: opening or reading one may wait without end. A path that doesn't
/// exist or can't be examined passes.
Status refuse_special_file(const Path& path);

/// At most `size` bytes from `offset` on; fewer where the file ends.
Result<std::string> read_file_part(const Path& path, std::uint64_t offset, std::size_t size);

/// Takes bytes as they come.
using ByteSink = std::function<Status(std::string_view)>;

/// `produce` hands the content on piece by piece. Invalid: refuse_special_file(). Atomic and flushed, mode
/// 0644: when anything fails, the file stays as it was.
Status write_file_in_parts(const Path& path, const std::function<Status(const ByteSink&)>& produce);

}  // namespace mist
