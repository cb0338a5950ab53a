#pragma once
// A manifest gets its tag. A tag that is a whole version means what was published once; other tags may move.
//
// OCI registries have no "write the tag unless somebody else did" (distribution specification, "Pushing
// Manifests"). So the tag is read again right before it is written, when all blobs are there, and once more
// after it. Of two clients that publish one version at the same time, the one whose manifest the tag loses
// finds that out, unless both its write and its last read come between the last read and the write of the
// other, which are one request apart. Any thread.

#include <optional>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "oci/reference.h"
#include "registry/oci_store.h"

namespace mist::registry {

enum class Overwrite : bool { No, Yes };

/// Whether `tag`, which points to `there`, may point to `digest` from now on. Errors: Conflict.
Status may_move(const oci::Repository& repository, const std::string& tag,
                const std::optional<crypto::Digest>& there, const crypto::Digest& digest,
                Overwrite overwrite);
/// Whether `tag` points to that manifest already: one request. Errors: Conflict (it is a version, published
/// with other bytes, and `overwrite` doesn't allow that), of OciTarget.
Result<bool> is_published(OciTarget& target, const oci::Repository& repository, const std::string& tag,
                          const crypto::Digest& digest, Overwrite overwrite, const Context& context);

/// After `tag` was written: what it points to instead of `digest`; nothing: it stayed. One request. Errors:
/// Conflict (somebody else wrote it too, and it is a version that `overwrite` doesn't let move), of
/// OciTarget.
Result<std::optional<crypto::Digest>> check_tag_stayed(OciTarget& target, const oci::Repository& repository,
                                                       const std::string& tag, const crypto::Digest& digest,
                                                       Overwrite overwrite, const Context& context);
/// The warning about a tag that may move and did not stay. `written`: with the tag, and the digest that it
/// was given.
std::string moved_again_text(const oci::Reference& written, const crypto::Digest& replaced_by);

/// A manifest, as it is sent.
struct TaggedManifest {
  const std::string& tag;
  const std::string& bytes;
  const crypto::Digest& digest;  ///< of the bytes
  std::string_view media_type;
};
/// A tag that was written.
struct TagPut {
  bool lists_referrers = false;                    ///< as OciTarget::put_manifest
  std::optional<crypto::Digest> replaced_by = {};  ///< of check_tag_stayed()
};
/// Writes a tag whose blobs are all there; a version that somebody else published meanwhile is not replaced,
/// unless `overwrite`. Two requests more than the write; one where the tag may move. Errors: Conflict, of
/// OciTarget.
Result<TagPut> put_tag(OciTarget& target, const oci::Repository& repository, const TaggedManifest& manifest,
                       Overwrite overwrite, const Context& context);

}  // namespace mist::registry
