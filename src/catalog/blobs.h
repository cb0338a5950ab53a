#pragma once
// The bytes of packages, by their digest. They never change. Any thread, many processes.
//
// A digest is asked for only where something that is kept names it, so all errors, NotFound too, are a
// StorageFault (base/storage_fault.h).

#include <cstdint>
#include <string>

#include "base/fs.h"
#include "base/result.h"
#include "crypto/digest.h"

namespace mist::catalog {

class Blobs {
 public:
  virtual ~Blobs() = default;

  /// Kept before this returns. Bytes that are there already are left alone.
  virtual Result<crypto::Digest> put(const std::string& bytes) = 0;
  /// NotFound; Invalid: they were changed.
  virtual Result<std::string> get(const crypto::Digest& digest) const = 0;
  /// How many bytes they are; none is read. NotFound.
  virtual Result<std::uint64_t> size(const crypto::Digest& digest) const = 0;
};

/// Each in a file: <directory>/<first two digits>/<64 digits>.
class FileBlobs final : public Blobs {
 public:
  FileBlobs(FileSystem& files, Path directory) : files_(files), directory_(std::move(directory)) {}

  Result<crypto::Digest> put(const std::string& bytes) override;
  Result<std::string> get(const crypto::Digest& digest) const override;
  Result<std::uint64_t> size(const crypto::Digest& digest) const override;
  Path place_of(const crypto::Digest& digest) const;

 private:
  FileSystem& files_;
  Path directory_;
};

}  // namespace mist::catalog
