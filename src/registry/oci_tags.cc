#include "registry/oci_tags.h"

#include <set>

#include "base/text.h"
#include "oci/tags.h"
#include "registry/oci_copy.h"

namespace mist::registry {

Result<std::vector<Tag>> list_tags(OciClient& client, const oci::Repository& repository,
                                   const std::string& range, const Context& context) {
  MIST_TRY(const std::vector<std::string> all, client.tags(repository, context));
  std::vector<std::string> sorted;
  if (range.empty()) {
    sorted = oci::newest_first(all);
    std::set<std::string> others(all.begin(), all.end());
    for (const std::string& version : sorted) others.erase(version);
    sorted.insert(sorted.end(), others.begin(), others.end());
  } else {
    MIST_TRY(const encoding::SemVerRange allowed, encoding::SemVerRange::parse(range));
    sorted = oci::all_in(allowed, oci::fixed_versions(all));
  }
  std::vector<Tag> tags;
  for (std::string& name : sorted) {
    std::optional<std::string> version;
    if (oci::is_fixed_version(name)) version = oci::version_of_tag(name);
    tags.push_back({std::move(name), std::move(version)});
  }
  return tags;
}

Result<std::string> parse_tag(std::string_view text) {
  std::string tag = oci::tag_of_version(text);
  if (oci::is_tag(tag)) return tag;
  return error(ErrorKind::Invalid, "\"{}\" is not a tag", escape_controls(text))
      .with_hint("a tag has letters, digits, \".\", \"_\" and \"-\", at most 128 of them");
}

Result<TagReport> tag_artifact(OciClient& client, const oci::Reference& reference, const std::string& tag,
                               Overwrite overwrite, const Context& context) {
  const oci::Repository& repository = reference.repository;
  MIST_TRY(const RawManifest raw,
           client.manifest(repository, reference.digest ? reference.digest->str() : reference.tag, context));
  TagReport report{.tagged = {.repository = repository, .tag = tag, .range = {}, .digest = raw.digest}};
  MIST_TRY(report.before, client.digest_of(repository, tag, context));
  report.was_there = report.before == raw.digest;
  if (report.was_there) return report;
  MIST_TRY_VOID(may_move(repository, tag, report.before, raw.digest, overwrite));
  MIST_TRY(const std::string media_type, media_type_of(raw, report.tagged.str()));
  MIST_TRY_VOID(client.push_manifest(repository, tag, raw.bytes, context, media_type));
  MIST_TRY(report.after, check_tag_stayed(client, repository, tag, raw.digest, overwrite, context));
  return report;
}

Result<oci::Reference> find_to_delete(OciClient& client, const oci::Reference& reference,
                                      const Context& context) {
  if (reference.tag.empty()) return reference;
  oci::Reference found = reference;
  MIST_TRY(found.digest, client.digest_of(reference.repository, reference.tag, context, oci::Access::Delete));
  return found;
}

Status delete_artifact(OciClient& client, const oci::Reference& reference, const oci::Reference& found,
                       const Context& context) {
  const bool whole = reference.tag.empty();
  Status deleted =
      client.delete_manifest(reference.repository, whole ? reference.digest->str() : reference.tag, context);
  if (deleted.ok() || deleted.error().kind != ErrorKind::Invalid || whole || !found.digest) return deleted;
  return std::move(deleted).error().with_hint(
      fmt::format("delete the manifest by its digest, which removes all of its tags: mistctl registry delete "
                  "{}@{}",
                  reference.repository.str(), found.digest->str()));
}

}  // namespace mist::registry
