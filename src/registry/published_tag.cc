#include "registry/published_tag.h"

#include "base/text.h"
#include "oci/tags.h"

namespace mist::registry {
namespace {

bool must_stay(const std::string& tag, Overwrite overwrite) {
  return overwrite == Overwrite::No && oci::is_fixed_version(tag);
}

// The tag isn't there. Some registries show a new one late; without the manifest nothing was stored.
Result<TagAfter> check_hidden(OciTarget& target, const oci::Repository& repository, const std::string& tag,
                              const crypto::Digest& digest, const Context& context) {
  MIST_TRY(const std::optional<crypto::Digest> there, target.find_digest(repository, digest.str(), context));
  if (there) return TagAfter{.is_hidden = true};
  return error(ErrorKind::Retryable, "{} doesn't have {}:{}, which it took", repository.host,
               repository.str(), tag)
      .with_because(
          fmt::format("it answered 201 to the upload, and 404 to the question for {}", digest.str()))
      .with_hint("try again; if it stays so, ask whoever runs the registry");
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

Result<TagAfter> check_tag_stayed(OciTarget& target, const oci::Repository& repository,
                                  const std::string& tag, const crypto::Digest& digest, Overwrite overwrite,
                                  const Context& context) {
  const std::string frame = fmt::format("while checking {}:{}, which was written", repository.str(), tag);
  MIST_TRY(const std::optional<crypto::Digest> there, target.find_digest(repository, tag, context).in(frame));
  if (!there) return check_hidden(target, repository, tag, digest, context).in(frame);
  if (*there == digest) return TagAfter{};
  if (!must_stay(tag, overwrite)) return TagAfter{.replaced_by = there};
  return error(ErrorKind::Conflict,
               "{}:{} was published by somebody else at the same time, with other content", repository.str(),
               tag)
      .with_because(
          fmt::format("it is {} now, and was {} after this command wrote it", there->str(), digest.str()))
      .with_hint(fmt::format("push yours as another version; until then it is {}@{}, as long as the registry "
                             "keeps manifests without a tag",
                             repository.str(), digest.str()));
}

void warn_of_tag(EventSink& events, const oci::Reference& written, const TagAfter& after) {
  if (after.replaced_by)
    events.warn(fmt::format("{}:{} is {} now, not {}: somebody else moved it at the same time",
                            written.repository.str(), written.tag, after.replaced_by->str(),
                            written.digest->str()));
  if (after.is_hidden)
    events.warn(
        fmt::format("{} has {}, but doesn't show it under the tag {} yet; some registries show a new "
                    "tag late",
                    written.repository.str(), written.digest->str(), written.tag));
}

void TagHistory::read(std::string text) {
  others_wrote_ = others_wrote_ || (before_ && !text.empty() && text != *before_);
  before_ = std::move(text);
}

Error TagHistory::failure(std::string message, const std::string& tag, std::string hint) const {
  if (others_wrote_)
    return error(ErrorKind::Conflict, "{}", message)
        .with_because(fmt::format("others wrote {} at the same time", tag))
        .with_hint(std::move(hint));
  return error(ErrorKind::Retryable, "{}", message)
      .with_because(fmt::format("the registry took {}, and doesn't have it", tag))
      .with_hint(hint + "; if it stays so, ask whoever runs the registry");
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
  MIST_TRY(put.after,
           check_tag_stayed(target, repository, manifest.tag, manifest.digest, overwrite, context));
  return put;
}

}  // namespace mist::registry
