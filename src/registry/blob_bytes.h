#pragma once
// The bytes of a blob that is sent: in memory, or a part of a file, of which no more than is asked for is
// read. Nobody held them against a digest. Plain values; any thread.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/file_parts.h"
#include "base/fs.h"
#include "base/result.h"

namespace mist::registry {

/// A part of a file of this machine.
struct FilePart {
  Path path;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  /// At most `size` bytes from `from` on, which counts from the beginning of the part; fewer where it ends.
  Result<std::string> read(std::uint64_t from, std::size_t wanted) const {
    const std::uint64_t left = from < size ? size - from : 0;
    return read_file_part(path, offset + from,
                          static_cast<std::size_t>(std::min<std::uint64_t>(wanted, left)));
  }
};

class BlobBytes {
 public:
  /// `bytes` outlives this.
  explicit BlobBytes(std::string_view bytes) : bytes_(bytes) {}
  explicit BlobBytes(FilePart part) : bytes_(std::move(part)) {}

  std::size_t size() const {
    if (const auto* const part = std::get_if<FilePart>(&bytes_)) return static_cast<std::size_t>(part->size);
    return std::get<std::string_view>(bytes_).size();
  }
  /// Exactly these. Errors: of FileSystem::read; Conflict: the file is shorter than it was.
  Result<std::string> read(std::size_t from, std::size_t wanted) const {
    const auto* const part = std::get_if<FilePart>(&bytes_);
    if (part == nullptr) return std::string(std::get<std::string_view>(bytes_).substr(from, wanted));
    MIST_TRY(std::string bytes, part->read(from, wanted));
    if (bytes.size() == wanted) return bytes;
    return error(ErrorKind::Conflict, "{} became shorter while it was read", part->path.string());
  }

 private:
  std::variant<std::string_view, FilePart> bytes_;
};

}  // namespace mist::registry
