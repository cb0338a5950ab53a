#include "registry/package_blob.h"

#include "wasm/binary.h"

namespace mist::registry {

Result<std::string> blob_of(const PackageContent& content) {
  if (const auto* const tree = std::get_if<PackageTree>(&content)) return tree->encode();
  MIST_TRY(const auto bytes, std::get<PackageModule>(content).bytes());
  return *bytes;
}

Result<PackageContent> content_of_blob(std::string bytes) {
  if (bytes.starts_with(wasm::kEmptyModule.substr(0, 4))) {
    if (bytes.size() > kMaxPackageBytes)
      return error(ErrorKind::Invalid, "a module has {} bytes, and a package at most {} MiB", bytes.size(),
                   kMaxPackageBytes >> 20);
    return PackageContent(PackageModule(std::move(bytes)));
  }
  MIST_TRY(PackageTree tree, PackageTree::decode(bytes));
  return PackageContent(std::move(tree));
}

}  // namespace mist::registry
