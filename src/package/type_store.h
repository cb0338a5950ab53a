#pragma once
// The types of Kubernetes that came with this mistctl (tools/kube-schemas):
// `<directory>/kubernetes-1.36.json.gz`, with digests that were compiled into the program. Any thread.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "apimachinery/kube_types.h"
#include "base/fs.h"
#include "base/result.h"

namespace mist::package {

struct KubeTypesDigest {
  int minor = 0;
  std::string_view sha256;  ///< hexadecimal
};

class TypeStore {
 public:
  /// None at all.
  TypeStore() = default;
  /// `digests`, from the oldest minor to the newest, outlives this.
  TypeStore(Path directory, std::span<const KubeTypesDigest> digests)
      : directory_(std::move(directory)), digests_(digests) {}

  bool has(apimachinery::KubeMinor minor) const;
  /// For people: "1.35, 1.36, 1.37".
  std::string minors() const;
  /// NotFound: there is no table of that minor, or its file isn't there; Invalid: it isn't the one that came
  /// along.
  Result<std::shared_ptr<const apimachinery::KubeTypes>> types(const FileSystem& files,
                                                               apimachinery::KubeMinor minor) const;

 private:
  Path directory_;
  std::span<const KubeTypesDigest> digests_;
};

}  // namespace mist::package
