#pragma once
// One artifact of an OCI layout on disk, as a source of copies: what skopeo, podman or a container build left
// there, or a mirror.
//
//   oci-layout:DIR[:NAME]     oci-archive:FILE[:NAME]
//
// As in skopeo the first ':' ends the path. NAME is the entry's in index.json
// (org.opencontainers.image.ref.name); without it there must be one. Any thread.

#include <memory>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"
#include "oci/reference.h"
#include "registry/oci_layout_store.h"

namespace mist::registry {

struct LayoutArtifact {
  std::unique_ptr<LayoutReader> layout;
  oci::Reference reference;  ///< for which `layout` has it: with a tag, a digest, or both
};

/// An entry that names no repository counts as one of that of `destination`; if that has no tag, it gets the
/// entry's. Errors: Invalid (no layout; several artifacts, and no NAME; another digest than the entry's),
/// NotFound.
Result<LayoutArtifact> open_layout_artifact(const FileSystem& files, std::string_view text,
                                            oci::Reference& destination);

}  // namespace mist::registry
