#pragma once
// PackageCache: package contents by digest, under the cache directory. A file is trusted without hashing when
// its stamp (device, inode, size, times) is the one recorded after it was hashed; else it is hashed again,
// and removed with a warning when it isn't what its name says. Files are opened without following links and
// must be ours and not writable by others. Nothing here can fail an operation: a full disk, a lost file, a
// changed one mean "not here". Any thread, many processes.

#include <optional>

#include "base/event.h"
#include "base/fs.h"
#include "crypto/digest.h"
#include "registry/package_files.h"

namespace mist::registry {

class PackageCache {
 public:
  PackageCache(FileSystem& files, EventSink& events, Path directory);

  std::optional<PackageContent> get(const crypto::Digest& digest, bool is_tree) const;
  void put(const crypto::Digest& digest, const PackageContent& content) const;
  /// Removes what was used longest ago, until the rest is not larger than `limit` bytes; `keep` stays. Also
  /// what killed processes left: files half written, stamps without their files.
  void bound(std::uint64_t limit, const crypto::Digest& keep) const;

 private:
  Path path_of(const crypto::Digest& digest) const;

  FileSystem& files_;
  EventSink& events_;
  Path directory_;
};

}  // namespace mist::registry
