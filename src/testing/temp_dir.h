#pragma once
// A directory that lives as long as the object, for tests that must touch a real file system.

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/fs.h"

namespace mist::testing {

class TempDir {
 public:
  TempDir() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = fmt::format("{}/mist-test-XXXXXX", base != nullptr ? base : "/tmp");
    MIST_CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const Path& path() const { return path_; }

 private:
  Path path_;
};

}  // namespace mist::testing
