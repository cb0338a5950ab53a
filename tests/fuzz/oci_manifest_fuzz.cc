// Manifests and indexes of OCI registries: a content type on the first line, the document after it.
#include "oci/manifest.h"

#include "oci/layout.h"
#include "targets.h"

namespace mist::fuzz {

void oci_manifest(std::string_view bytes) {
  using namespace oci;
  Input input(bytes);
  const std::string_view type = input.line();
  const auto document = parse_document(input.rest(), type, "fuzz");
  if (!document.ok()) return check_error(document.error());
  if (const auto* const index = std::get_if<Index>(&*document)) {
    if (index->manifests.size() > kMaxDescriptors) fail("more than the limit", "");
    if (const auto package = package_in(*index, "fuzz"); !package.ok()) check_error(package.error());
    return;
  }
  const auto& manifest = std::get<Manifest>(*document);
  if (manifest.layers.size() > kMaxDescriptors) fail("more than the limit", "");
  if (const auto content = content_of(manifest, "fuzz"); !content.ok()) check_error(content.error());
  const auto again = parse_document(manifest.to_json(), kManifestType, "written");
  if (!again.ok()) fail("what was written can't be read", again.error().to_line());
  const auto* const same = std::get_if<Manifest>(&*again);
  if (same == nullptr || same->layers != manifest.layers || same->config != manifest.config)
    fail("it is written as something else", manifest.to_json());
}

}  // namespace mist::fuzz
