#pragma once
// A directory for a piece of work, which is removed with what it holds when the work is over, however it
// ends. Any thread.

#include <utility>

#include "base/fs.h"

namespace mist {

class ScratchDirectory {
 public:
  /// Makes nothing: whoever fills it does. `files` outlives this.
  ScratchDirectory(FileSystem& files, Path path) : files_(files), path_(std::move(path)) {}
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() { (void)files_.remove_all(path_); }

  const Path& path() const { return path_; }

 private:
  FileSystem& files_;
  Path path_;
};

}  // namespace mist
