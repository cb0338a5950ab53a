#pragma once
// The bytes of a blob that is sent: in memory, or a part of a file, which is read while it is sent. Nobody
// held them against a digest. Plain values; any thread.

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/file_parts.h"
#include "base/fs.h"
#include "base/result.h"
#include "http/body_source.h"

namespace mist::registry {

/// A part of a file of this machine.
struct FilePart {
  Path path;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

class BlobBytes {
 public:
  /// `bytes` outlives this, and all requests that have some of them.
  explicit BlobBytes(std::string_view bytes) : bytes_(bytes), size_(bytes.size()) {}
  /// Errors: of OpenFile::open.
  static Result<BlobBytes> open(const FilePart& part);

  std::size_t size() const { return size_; }
  /// `wanted` of them from `from` on, for a request. Errors of reading them: of OpenFile::read; Conflict: the
  /// file is shorter than it was.
  std::shared_ptr<const http::BodySource> some(std::size_t from, std::size_t wanted) const;
  /// Whether all that was read of a file, by anybody, since it was opened is of the same bytes. Errors: of
  /// OpenFile::check_unchanged.
  Status check_unchanged() const { return file_ ? file_->check_unchanged() : Status(); }

 private:
  BlobBytes(OpenFile file, const FilePart& part)
      : file_(std::make_shared<OpenFile>(std::move(file))),
        offset_(part.offset),
        size_(static_cast<std::size_t>(part.size)) {}

  std::string_view bytes_;                // where file_ is null
  std::shared_ptr<const OpenFile> file_;  // null: in memory
  std::uint64_t offset_ = 0;              // in the file
  std::size_t size_;
};

}  // namespace mist::registry
