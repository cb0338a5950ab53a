#pragma once
// PinStore: which bytes an exact version had when it was first read, so that they can't change unnoticed. One
// small file for each version under the state directory (not the cache: it must survive a cleaning), written
// once by an exclusive create, with a checksum of itself. Any thread, many processes.
//
//   <directory>/<registry>/<sha256 of the reference>.json
//   {"apiVersion":"mistletoe.dev/v1alpha1","kind":"RegistryPin","reference":…,"digest":…,"tree":…,
//    "object":…,"origin":…,"mirror":… (if there is one),"seal":<sha256 of the text before>}

#include <optional>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "crypto/digest.h"

namespace mist::registry {

struct Pin {
  std::string reference;  ///< PackageRef::display without digest
  crypto::Digest digest;
  bool is_tree = false;
  std::string object;       ///< Located::object when it was read; empty in a directory registry
  std::string origin;       ///< Fetched::origin
  std::string mirror = {};  ///< whose word alone these bytes are (RawManifest::mirror); empty: not a mirror's
  friend bool operator==(const Pin&, const Pin&) = default;
};

class PinStore {
 public:
  PinStore(FileSystem& files, Path directory);

  /// Errors: Conflict when the file was altered; of FileSystem::read.
  Result<std::optional<Pin>> find(const std::string& registry, const std::string& reference) const;
  /// Every pin of a registry, in no order. Same errors.
  Result<std::vector<Pin>> all(const std::string& registry) const;
  /// First come, first served: Conflict if there is one already.
  Status add(const std::string& registry, const Pin& pin) const;
  Status replace(const std::string& registry, const Pin& pin) const;
  /// Forgets all pins of a registry, damaged ones too.
  Status forget(const std::string& registry) const;

 private:
  Path path_of(const std::string& registry, const std::string& reference) const;

  FileSystem& files_;
  Path directory_;
};

}  // namespace mist::registry
