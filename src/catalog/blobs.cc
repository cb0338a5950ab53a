#include "catalog/blobs.h"

#include "base/storage_fault.h"
#include "registry/package_files.h"

namespace mist::catalog {

Path FileBlobs::place_of(const crypto::Digest& digest) const {
  const std::string name = digest.hex();
  return directory_ / name.substr(0, 2) / name;
}

Result<crypto::Digest> FileBlobs::put(const std::string& bytes) {
  const crypto::Digest digest = crypto::sha256(bytes);
  const Path place = place_of(digest);
  if (files_.exists(place)) return digest;
  MIST_TRY_VOID(of_storage(files_.make_directories(place.parent_path(), 0700)));
  MIST_TRY_VOID(of_storage(files_.write(place, bytes, {.mode = 0600})));
  return digest;
}

Result<std::string> FileBlobs::get(const crypto::Digest& digest) const {
  MIST_TRY(std::string bytes, of_storage(files_.read(place_of(digest), 2 * registry::kMaxPackageBytes)));
  if (crypto::sha256(bytes) == digest) return bytes;
  return error(ErrorKind::Invalid, "{} doesn't hold what its name says", place_of(digest).string())
      .with_hint("restore it from a backup")
      .with_detail(StorageFault());
}

Result<std::uint64_t> FileBlobs::size(const crypto::Digest& digest) const {
  return of_storage(files_.size(place_of(digest)));
}

}  // namespace mist::catalog
