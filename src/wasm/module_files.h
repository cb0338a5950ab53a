#pragma once
// Modules that are named by their file. A large one is read and hashed once: what a run with compiled code
// needs of it is kept beside that code, for as long as the file is what it was. An entry counts only if it is
// a file of ours, in a directory of ours, that nobody else can write, for it says which compiled code runs;
// and only if the module's file has the device, inode, size, mtime and ctime of the one that was hashed. A
// file that was written less than kSettled before it was read isn't recorded: a second write within one tick
// of the file system's clock would stay unseen.
//
//   <device>-<inode>.module   mistletoe-module-v2 <SHA-256 of all that follows>
//                             <device inode size mtime ctime> <digest of the module> <module or component,
//                             and
//                             "+" if it has the section>
//                             the section kPackageSection
//
// Nothing here fails its caller: without an entry the file is read. Any thread, any number of processes.

#include <chrono>
#include <cstdint>

#include "base/clock.h"
#include "base/fs.h"
#include "base/result.h"
#include "wasm/module_bytes.h"

namespace mist::wasm {

class ModuleFiles {
 public:
  /// Smaller files are read faster than their entries.
  static constexpr std::uint64_t kSmallest = std::uint64_t{256} << 10;
  /// Coarser than the clock of any file system.
  static constexpr std::chrono::seconds kSettled{3};
  /// Of all entries together.
  static constexpr std::uint64_t kAllEntries = std::uint64_t{16} << 20;

  /// `directory` is the one of compiled code, which is made on first use (mode 0700); empty: no entries.
  /// `files` outlives what is opened, `clock` outlives this.
  ModuleFiles(Path directory, FileSystem& files, const Clock& clock)
      : directory_(std::move(directory)), files_(files), clock_(clock) {}

  /// The file's bytes, perhaps not read yet; reading them then is Retryable if the file has others by now.
  /// Errors of FileSystem::read.
  Result<ModuleBytes> open(const Path& path, std::uint64_t limit) const;

 private:
  Path directory_;
  FileSystem& files_;
  const Clock& clock_;
};

}  // namespace mist::wasm
