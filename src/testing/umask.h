#pragma once
// The umask of the test's process, for as long as this lives. Tests that use it have one thread.

#include <sys/stat.h>

#include "base/fs.h"

namespace mist::testing {

class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;
  ~Umask() { ::umask(before_); }

 private:
  mode_t before_;
};

/// The permission bits of a file or directory; 0 if it isn't there.
inline unsigned mode_of(const Path& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 0777U : 0U;
}

}  // namespace mist::testing
