#include "registry/published_tag.h"

#include "base/text.h"
#include "oci/tags.h"

namespace mist::registry {
namespace {

bool must_stay(const std::string& tag, Overwrite overwrite) {
  return overwrite == Overwrite::No && oci::is_fixed_version(tag);
}

}  // namespace

Status may_move(const oci::Repository& repository, const std::string& tag,
                const std::optional<crypto::Digest>& there, const crypto::Digest& digest,
                Overwrite overwrite) {
  if (there && *there != digest && must_stay(tag, overwrite))
    return error(ErrorKind::Conflict, "{}:{} is published already, with other content", repository.str(), tag)
        .with_because(fmt::format("it is {}, this would be {}", there->str(), digest.str()))
        .with_hint("a published version doesn't change: push another version, or say --overwrite");
  return {};
}

Result<bool> is_published(OciTarget& target, const oci::Repository& repository, const std::string& tag,
                          const crypto::Digest& digest, Overwrite overwrite, const Context& context) {
  MIST_TRY(const std::optional<crypto::Digest> there, target.find_digest(repository, tag, context));
  MIST_TRY_VOID(may_move(repository, tag, there, digest, overwrite));
  return there == digest;
}

// A tag that isn't there at all is no other content: some registries show a new one late.
Result<std::optional<crypto::Digest>> check_tag_stayed(OciTarget& target, const oci::Repository& repository,
                                                       const std::string& tag, const crypto::Digest& digest,
                                                       Overwrite overwrite, const Context& context) {
  MIST_TRY(const std::optional<crypto::Digest> there,
           target.find_digest(repository, tag, context)
               .in(fmt::format("while checking {}:{}, which was written", repository.str(), tag)));
  if (!there || *there == digest) return std::optional<crypto::Digest>();
  if (!must_stay(tag, overwrite)) return there;
  return error(ErrorKind::Conflict,
               "{}:{} was published by somebody else at the same time, with other content", repository.str(),
               tag)
      .with_because(
          fmt::format("it is {} now, and was {} after this command wrote it", there->str(), digest.str()))
      .with_hint(fmt::format("push yours as another version; until then it is {}@{}, as long as the registry "
                             "keeps manifests without a tag",
                             repository.str(), digest.str()));
}

std::string moved_again_text(const oci::Reference& written, const crypto::Digest& replaced_by) {
  return fmt::format("{}:{} is {} now, not {}: somebody else moved it at the same time",
                     written.repository.str(), written.tag, replaced_by.str(), written.digest->str());
}

Result<TagPut> put_tag(OciTarget& target, const oci::Repository& repository, const TaggedManifest& manifest,
                       Overwrite overwrite, const Context& context) {
  if (must_stay(manifest.tag, overwrite)) {
    MIST_TRY(const bool is_there,
             is_published(target, repository, manifest.tag, manifest.digest, overwrite, context));
    if (is_there) return TagPut{};
  }
  TagPut put;
  MIST_TRY(put.lists_referrers,
           target.put_manifest(repository, manifest.tag, manifest.bytes, manifest.media_type, context));
  MIST_TRY(put.replaced_by,
           check_tag_stayed(target, repository, manifest.tag, manifest.digest, overwrite, context));
  return put;
}

}  // namespace mist::registry
