#include "registry/oci_copy.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "encoding/json.h"
#include "oci/signature.h"
#include "registry/blob_transfers.h"
#include "registry/oci_documents.h"

namespace mist::registry {
namespace {

constexpr int kMaxDepth = 4;  // of indexes in indexes, and of referrers of referrers
constexpr int kListAttempts = 3;

// The role of a manifest in the copy that is made.
enum class Role : std::uint8_t {
  Wanted,    // the artifact itself, or a part of it
  Referrer,  // says by its `subject` what it refers to
  Attached,  // under one of cosign's tags, to which nothing else refers
};

// Whether a manifest is still to be sent, or was at the target before.
enum class State : bool { Missing, There };

class Copier {
 public:
  Copier(OciSource& source, OciTarget& target, const oci::Repository& from, const oci::Repository& to,
         const CopyOptions& options, CopyReport& report, const Context& context)
      : source_(source),
        target_(target),
        from_(from),
        to_(to),
        options_(options),
        report_(report),
        context_(context) {}

  // `tag`: also a digest's text.
  Status copy(const RawManifest& raw, const std::string& tag, Role role, State state, int depth) {
    const std::string name = fmt::format("{}@{}", from_.str(), raw.digest.str());
    MIST_TRY(const oci::Document document, oci::parse_document(raw.bytes, raw.content_type, name));
    if (const auto* index = std::get_if<oci::Index>(&document)) {
      if (depth == kMaxDepth) return error(ErrorKind::Invalid, "{} is an index of too many indexes", name);
      for (const oci::Descriptor& each : index->manifests) MIST_TRY_VOID(child(each, role, state, depth));
    } else if (state == State::Missing || !target_.is_complete()) {
      MIST_TRY_VOID(blobs_of(std::get<oci::Manifest>(document)));
    }
    MIST_TRY(const std::string media_type, media_type_of(raw, name));
    MIST_TRY(const Attachments attachments, attachments_of(raw.digest, role));
    if (state == State::Missing && !attachments.empty() && tag != raw.digest.str())
      MIST_TRY_VOID(put(raw.digest.str(), raw.bytes, media_type));
    MIST_TRY_VOID(copy_attachments(raw.digest, attachments, depth));
    if (state == State::There) return {};
    MIST_TRY_VOID(is_named(tag, raw, role) ? put_name(tag, raw, media_type)
                                           : put(tag, raw.bytes, media_type));
    ++(role == Role::Wanted ? report_.manifests : report_.referrers);
    return {};
  }

 private:
  struct Attachments {
    std::vector<oci::Descriptor> referrers;
    std::vector<std::pair<std::string_view, RawManifest>> tagged;  // by cosign's suffix
    bool empty() const { return referrers.empty() && tagged.empty(); }
  };

  Status put(const std::string& tag, const std::string& bytes, std::string_view media_type) {
    if (options_.dry_run) return {};
    MIST_TRY(const bool listed, target_.put_manifest(to_, tag, bytes, media_type, context_));
    lists_referrers_ = lists_referrers_ || listed;
    return {};
  }

  // Whether the copy gets its tag by this, which others may write too.
  static bool is_named(const std::string& tag, const RawManifest& raw, Role role) {
    return role == Role::Wanted && tag != raw.digest.str();
  }

  Status put_name(const std::string& tag, const RawManifest& raw, std::string_view media_type) {
    if (options_.dry_run) return {};
    MIST_TRY(const TagPut done,
             put_tag(target_, to_, {tag, raw.bytes, raw.digest, media_type}, options_.overwrite, context_));
    lists_referrers_ = lists_referrers_ || done.lists_referrers;
    report_.after = done.after;
    return {};
  }

  // False: it was done before.
  Result<bool> begin(const crypto::Digest& manifest) {
    if (!done_.insert(manifest.str()).second) return false;
    if (++begun_ > kMaxCopiedManifests)
      return error(ErrorKind::Invalid, "{} lists more than {} manifests", from_.str(), kMaxCopiedManifests);
    return true;
  }

  Status child(const oci::Descriptor& descriptor, Role role, State state, int depth) {
    MIST_TRY(const bool is_new, begin(descriptor.digest));
    if (!is_new) return {};
    const std::string digest = descriptor.digest.str();
    MIST_TRY(const RawManifest raw, source_.manifest(from_, digest, context_));
    if (state == State::There && !target_.is_complete()) {
      MIST_TRY(const std::optional<crypto::Digest> there, target_.find_digest(to_, digest, context_));
      if (!there) state = State::Missing;
    }
    return copy(raw, digest, role, state, depth + 1);
  }

  Status blobs_of(const oci::Manifest& manifest) {
    std::vector<oci::Descriptor> wanted{manifest.config};
    wanted.insert(wanted.end(), manifest.layers.begin(), manifest.layers.end());
    return blobs(std::move(wanted));
  }

  Result<Moved> move(const oci::Descriptor& descriptor, const Context& context) {
    if (!options_.dry_run) return target_.take_blob(source_, from_, to_, descriptor, kMaxCopiedBlob, context);
    MIST_TRY(const bool there, target_.has_blob(to_, descriptor, context));
    return there ? Moved::WasThere : Moved::Sent;
  }

  // Several at once; those that were done before are left out.
  Status blobs(std::vector<oci::Descriptor> wanted) {
    std::erase_if(wanted,
                  [&](const oci::Descriptor& each) { return !done_.insert(each.digest.str()).second; });
    std::vector<std::uint64_t> sizes;
    for (const oci::Descriptor& each : wanted) sizes.push_back(each.size);
    std::vector<Moved> moved(wanted.size(), Moved::WasThere);
    MIST_TRY_VOID(transfer_blobs(sizes, context_, [&](std::size_t i, const Context& context) -> Status {
      MIST_TRY(moved[i], move(wanted[i], context));
      return {};
    }));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      report_.mounted += moved[i] == Moved::Mounted;
      if (moved[i] != Moved::Sent) continue;
      ++report_.blobs;
      report_.bytes += wanted[i].size;
    }
    return {};
  }

  Result<Attachments> attachments_of(const crypto::Digest& manifest, Role role) {
    Attachments found;
    if (options_.referrers == Referrers::No || role == Role::Attached) return found;
    MIST_TRY(found.referrers, source_.referrers(from_, manifest, {}, context_));
    for (const std::string_view suffix : {oci::kSignatureSuffix, oci::kAttestationSuffix, oci::kSbomSuffix}) {
      MIST_TRY(std::optional<RawManifest> raw,
               source_.find_manifest(from_, oci::attached_tag(manifest, suffix), context_));
      if (raw) found.tagged.emplace_back(suffix, *std::move(raw));
    }
    return found;
  }

  Status copy_attachments(const crypto::Digest& manifest, const Attachments& attachments, int depth) {
    std::vector<oci::Descriptor> copied;
    for (const oci::Descriptor& each : attachments.referrers) {
      MIST_TRY(std::optional<oci::Descriptor> one, referrer(manifest, each, depth));
      if (one) copied.push_back(*std::move(one));
    }
    MIST_TRY_VOID(list_referrers(manifest, std::move(copied)));
    for (const auto& [suffix, raw] : attachments.tagged)
      MIST_TRY_VOID(attached(manifest, suffix, raw, depth));
    return {};
  }

  // As a list of referrers describes it. Nothing: the list is wrong about it, or it was done before.
  Result<std::optional<oci::Descriptor>> referrer(const crypto::Digest& subject,
                                                  const oci::Descriptor& descriptor, int depth) {
    const std::string digest = descriptor.digest.str();
    if (depth == kMaxDepth) return std::optional<oci::Descriptor>();
    MIST_TRY(const bool is_new, begin(descriptor.digest));
    if (!is_new) return std::optional<oci::Descriptor>();
    MIST_TRY(const std::optional<RawManifest> raw, source_.find_manifest(from_, digest, context_));
    if (!raw) return std::optional<oci::Descriptor>();
    MIST_TRY(const oci::Document document,
             oci::parse_document(raw->bytes, raw->content_type, fmt::format("{}@{}", from_.str(), digest)));
    const auto* const manifest = std::get_if<oci::Manifest>(&document);
    const bool refers = manifest != nullptr && manifest->subject && manifest->subject->digest == subject;
    if (!refers) return std::optional<oci::Descriptor>();
    MIST_TRY(const std::optional<crypto::Digest> there, target_.find_digest(to_, digest, context_));
    MIST_TRY_VOID(copy(*raw, digest, Role::Referrer, there ? State::There : State::Missing, depth + 1));
    MIST_TRY(const std::string media_type, media_type_of(*raw, digest));
    return std::optional(oci::referrer_descriptor(*manifest, media_type, raw->bytes));
  }

  // Where the target has no referrers API, the client keeps the list.
  Status list_referrers(const crypto::Digest& subject, std::vector<oci::Descriptor> copied) {
    if (copied.empty() || lists_referrers_ || options_.dry_run) return {};
    MIST_TRY(const std::vector<oci::Descriptor> listed, listed_referrers(subject));
    std::erase_if(copied, [&](const oci::Descriptor& each) {
      return std::ranges::find(listed, each.digest, &oci::Descriptor::digest) != listed.end();
    });
    return add_to_referrers_tag(target_, to_, subject, std::move(copied), context_);
  }

  // The target's manifest under that tag. A damaged one counts as missing, so that it is replaced.
  Result<std::optional<RawManifest>> find_intact(const std::string& tag) {
    Result<std::optional<RawManifest>> raw = target_.find_manifest(to_, tag, context_);
    if (!raw && raw.error().kind == ErrorKind::Conflict) return std::optional<RawManifest>();
    return raw;
  }

  Result<std::vector<oci::Descriptor>> listed_referrers(const crypto::Digest& subject) {
    Result<std::vector<oci::Descriptor>> listed = target_.referrers(to_, subject, {}, context_);
    if (!listed && listed.error().kind == ErrorKind::Conflict) return std::vector<oci::Descriptor>();
    return listed;
  }

  // Under one of cosign's tags. The target's own signatures and attestations stay beside those of the
  // source.
  Status attached(const crypto::Digest& subject, std::string_view suffix, const RawManifest& raw, int depth) {
    if (depth == kMaxDepth) return {};
    const std::string tag = oci::attached_tag(subject, suffix);
    const Role role = suffix == oci::kSbomSuffix ? Role::Referrer : Role::Attached;
    const std::optional<oci::Manifest> ours = manifest_in(raw);
    const bool may_merge = ours && role == Role::Attached;
    // Somebody else may write the tag at the same time, but for a layout, which one process writes.
    const bool looks_again = may_merge && target_.is_complete() && !options_.dry_run;
    TagHistory history;
    for (int attempt = 0;; ++attempt) {
      MIST_TRY(const std::optional<RawManifest> there, find_intact(tag));
      history.read(there ? there->digest.str() : std::string());
      if (there && there->digest == raw.digest)
        return target_.is_complete() ? Status() : copy(raw, tag, role, State::There, depth + 1);
      const std::optional<oci::Manifest> theirs = there && may_merge ? manifest_in(*there) : std::nullopt;
      if (there && !theirs && options_.overwrite == Overwrite::No) return {};
      const bool replaces = !theirs || !oci::merged_signatures(*ours, *theirs);
      const std::optional<oci::Artifact> merged =
          replaces ? std::nullopt : oci::merged_signatures(*theirs, *ours);
      if (!replaces && !merged) return {};
      if (attempt == kListAttempts) return did_not_stay(subject, tag, history);
      if (merged)
        MIST_TRY_VOID(put_merged(tag, *ours, *merged));
      else
        MIST_TRY_VOID(copy(raw, tag, role, State::Missing, depth + 1));
      if (!looks_again) return {};
    }
  }

  Error did_not_stay(const crypto::Digest& subject, const std::string& tag, const TagHistory& history) const {
    return history.failure(fmt::format("the signatures of {}@{} did not stay", to_.str(), subject.str()), tag,
                           "copy it again, which adds what is missing");
  }

  Status put_merged(const std::string& tag, const oci::Manifest& ours, const oci::Artifact& merged) {
    MIST_TRY_VOID(blobs(ours.layers));
    if (!options_.dry_run)
      for (const oci::Blob& each : merged.blobs) MIST_TRY_VOID(target_.push_blob(to_, each, context_));
    MIST_TRY_VOID(put(tag, merged.manifest, oci::kManifestType));
    ++report_.referrers;
    return {};
  }

  // Nothing: it is an index, or can't be read.
  static std::optional<oci::Manifest> manifest_in(const RawManifest& raw) {
    Result<oci::Document> document = oci::parse_document(raw.bytes, raw.content_type, "a signature");
    auto* const manifest = document ? std::get_if<oci::Manifest>(&*document) : nullptr;
    return manifest != nullptr ? std::optional(std::move(*manifest)) : std::nullopt;
  }

  OciSource& source_;
  OciTarget& target_;
  const oci::Repository& from_;
  const oci::Repository& to_;
  const CopyOptions& options_;
  CopyReport& report_;
  const Context& context_;
  std::set<std::string> done_;    // digests of blobs and manifests
  std::size_t begun_ = 0;         // manifests
  bool lists_referrers_ = false;  // the target does, by itself
};

}  // namespace

Result<std::string> media_type_of(const RawManifest& raw, std::string_view name) {
  MIST_TRY(const encoding::Value document,
           encoding::parse_json(raw.bytes).in(fmt::format("while reading {}", name)));
  if (const std::string_view declared = document.string_at("mediaType"); !declared.empty())
    return std::string(declared);
  const std::string_view sent =
      trim(std::string_view(raw.content_type).substr(0, raw.content_type.find(';')));
  if (!sent.empty()) return std::string(sent);
  return std::string(document.find("manifests") != nullptr ? oci::kIndexType : oci::kManifestType);
}

Result<CopyReport> copy_artifact(OciSource& source, OciTarget& target, const oci::Reference& from,
                                 const oci::Reference& to, const CopyOptions& options,
                                 const Context& context) {
  MIST_TRY(const RawManifest raw,
           source.manifest(from.repository, from.digest ? from.digest->str() : from.tag, context));
  CopyReport report{.from = from, .to = to};
  report.from.digest = report.to.digest = raw.digest;
  if (report.to.tag.empty()) report.to.tag = from.tag;
  const std::string tag = report.to.tag.empty() ? raw.digest.str() : report.to.tag;
  MIST_TRY(report.was_there,
           is_published(target, to.repository, tag, raw.digest, options.overwrite, context));
  if (report.was_there && options.referrers == Referrers::No) return report;
  Copier copier(source, target, from.repository, to.repository, options, report, context);
  MIST_TRY_VOID(copier.copy(raw, tag, Role::Wanted, report.was_there ? State::There : State::Missing, 0)
                    .in(fmt::format("while copying {} to {}", report.from.str(), report.to.str())));
  return report;
}

}  // namespace mist::registry
