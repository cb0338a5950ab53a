#include "registry/blob_bytes.h"

#include <span>

#include "base/text.h"

namespace mist::registry {
namespace {

class MemoryBody final : public http::BodySource {
 public:
  explicit MemoryBody(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t size() const override { return bytes_.size(); }
  Status read(std::uint64_t offset, std::span<char> to) const override {
    bytes_.copy(to.data(), to.size(), static_cast<std::size_t>(offset));
    return {};
  }

 private:
  std::string_view bytes_;
};

class FileBody final : public http::BodySource {
 public:
  FileBody(std::shared_ptr<const OpenFile> file, std::uint64_t offset, std::uint64_t size)
      : file_(std::move(file)), offset_(offset), size_(size) {}

  std::uint64_t size() const override { return size_; }
  Status read(std::uint64_t offset, std::span<char> to) const override {
    MIST_TRY(const std::size_t got, file_->read(offset_ + offset, to));
    if (got == to.size()) return {};
    return error(ErrorKind::Conflict, "{} became shorter while it was read",
                 escape_controls(file_->path().string()));
  }

 private:
  std::shared_ptr<const OpenFile> file_;
  std::uint64_t offset_;
  std::uint64_t size_;
};

}  // namespace

Result<BlobBytes> BlobBytes::open(const FilePart& part) {
  MIST_TRY(OpenFile file, OpenFile::open(part.path));
  return BlobBytes(std::move(file), part);
}

std::shared_ptr<const http::BodySource> BlobBytes::some(std::size_t from, std::size_t wanted) const {
  if (file_) return std::make_shared<FileBody>(file_, offset_ + from, wanted);
  return std::make_shared<MemoryBody>(bytes_.substr(from, wanted));
}

}  // namespace mist::registry
