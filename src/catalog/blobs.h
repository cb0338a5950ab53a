#pragma once
// The bytes of packages, each in a file that is named by its digest and never changes:
// <directory>/<first two digits>/<64 digits>. Any thread, many processes.

#include <string>

#include "base/fs.h"
#include "base/result.h"
#include "crypto/digest.h"

namespace mist::catalog {

class Blobs {
 public:
  Blobs(FileSystem& files, Path directory) : files_(files), directory_(std::move(directory)) {}

  /// Kept before this returns. Bytes that are there already are left alone.
  Result<crypto::Digest> put(const std::string& bytes);
  /// NotFound; Invalid: the file was changed.
  Result<std::string> get(const crypto::Digest& digest) const;
  Path place_of(const crypto::Digest& digest) const;

 private:
  FileSystem& files_;
  Path directory_;
};

}  // namespace mist::catalog
