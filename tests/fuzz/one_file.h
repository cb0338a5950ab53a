#pragma once
// A file system of one file, for readers that open theirs themselves. Any thread.

#include <string>
#include <string_view>

#include "base/fs.h"

namespace mist::fuzz {

class OneFile final : public FileSystem {
 public:
  OneFile(Path path, std::string_view bytes) : path_(std::move(path)), bytes_(bytes) {}

  Result<std::string> read(const Path& path, std::uint64_t) const override {
    if (path == path_) return bytes_;
    return error(ErrorKind::NotFound, "there is no {}", path.string());
  }
  Result<std::uint64_t> size(const Path& path) const override {
    if (path == path_) return bytes_.size();
    return error(ErrorKind::NotFound, "there is no {}", path.string());
  }
  Status write(const Path& path, std::string_view bytes, const WriteOptions&) override {
    if (path != path_) return refused();
    bytes_ = bytes;
    return {};
  }
  Result<std::vector<DirectoryEntry>> list(const Path&) const override { return refused(); }
  Status make_directories(const Path&, unsigned) override { return {}; }
  Status remove(const Path&) override { return refused(); }
  Status remove_all(const Path&) override { return refused(); }
  Status rename(const Path&, const Path&) override { return refused(); }
  bool exists(const Path& path) const override { return path == path_; }
  bool is_directory(const Path&) const override { return false; }

 private:
  static Error refused() { return error(ErrorKind::Forbidden, "there is one file only"); }

  const Path path_;
  std::string bytes_;
};

}  // namespace mist::fuzz
