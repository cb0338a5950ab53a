#pragma once
// Files that don't fit into memory, part by part. Of the host's file system, as HostFileSystem (fs.h), whose
// errors these have. Any thread.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/fs.h"
#include "base/handle.h"
#include "base/result.h"

namespace mist {

/// Invalid for a pipe, a socket or a device: opening or reading one may wait without end. A path that doesn't
/// exist or can't be examined passes.
Status refuse_special_file(const Path& path);

/// A file that is open for reading, whatever becomes of its name.
class OpenFile {
 public:
  /// Invalid: refuse_special_file().
  static Result<OpenFile> open(const Path& path);

  /// How many bytes of `to` are filled with those from `offset` on: fewer than there is room for where the
  /// file ends.
  Result<std::size_t> read(std::uint64_t offset, std::span<char> to) const;
  /// Whether the path still leads to the file that was opened, and nothing was written to it since
  /// (file_identity.h). Errors: Conflict (it was changed or replaced).
  Status check_unchanged() const;
  const Path& path() const { return path_; }

 private:
  OpenFile(Path path, UniqueFd fd, std::string identity)
      : path_(std::move(path)), fd_(std::move(fd)), identity_(std::move(identity)) {}

  Path path_;
  UniqueFd fd_;
  std::string identity_;
};

/// At most `size` bytes from `offset` on; fewer where the file ends.
Result<std::string> read_file_part(const Path& path, std::uint64_t offset, std::size_t size);

/// Takes bytes as they come.
using ByteSink = std::function<Status(std::string_view)>;

/// `produce` hands the content on piece by piece. Invalid: refuse_special_file(). Atomic and flushed, mode
/// 0644: when anything fails, the file stays as it was.
Status write_file_in_parts(const Path& path, const std::function<Status(const ByteSink&)>& produce);

}  // namespace mist
