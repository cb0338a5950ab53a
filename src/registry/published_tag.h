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
#include "base/event.h"
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

/// How a tag that was written looks when it is read again.
struct TagAfter {
  std::optional<crypto::Digest> replaced_by = {};  ///< it points to that instead: a tag that may move
  bool is_hidden = false;  ///< the manifest is there, the tag isn't: some registries show a new one late
};
/// After `tag` was written, to point to `digest`. One request; two if it isn't there. Errors: Conflict
/// (somebody else wrote it too, and it is a version that `overwrite` doesn't let move), Retryable (the
/// manifest isn't there either), of OciTarget.
Result<TagAfter> check_tag_stayed(OciTarget& target, const oci::Repository& repository,
                                  const std::string& tag, const crypto::Digest& digest, Overwrite overwrite,
                                  const Context& context);
/// Warns of a tag that did not stay, or doesn't show. `written`: with the tag, and the digest that it was
/// given.
void warn_of_tag(EventSink& events, const oci::Reference& written, const TagAfter& after);

/// Finds out why a list under a tag, which is read, added to and written again, doesn't keep what was added:
/// others write it, or the registry loses it. One thread.
class TagHistory {
 public:
  /// Each time that the list was read, before it is written. `text`: of the list; empty: there is none.
  void read(std::string text);
  /// After the last time. Its kind: Conflict (others wrote), Retryable (the registry lost what it took).
  Error failure(std::string message, const std::string& tag, std::string hint) const;

 private:
  std::optional<std::string> before_ = {};
  bool others_wrote_ = false;
};

/// A manifest, as it is sent.
struct TaggedManifest {
  const std::string& tag;
  const std::string& bytes;
  const crypto::Digest& digest;  ///< of the bytes
  std::string_view media_type;
};
/// A tag that was written.
struct TagPut {
  bool lists_referrers = false;  ///< as OciTarget::put_manifest
  TagAfter after = {};           ///< of check_tag_stayed()
};
/// Writes a tag whose blobs are all there; a version that somebody else published meanwhile is not replaced,
/// unless `overwrite`. Two requests more than the write; one where the tag may move. Errors: of
/// is_published() and check_tag_stayed().
Result<TagPut> put_tag(OciTarget& target, const oci::Repository& repository, const TaggedManifest& manifest,
                       Overwrite overwrite, const Context& context);

}  // namespace mist::registry
