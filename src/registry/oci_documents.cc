#include "registry/oci_documents.h"

#include <algorithm>

#include "base/text.h"
#include "oci/annotation.h"
#include "oci/attestation.h"
#include "registry/oci_packages.h"

namespace mist::registry {
namespace {

constexpr int kIndexAttempts = 3;

// Of one thing that hangs on a manifest; a registry that can't be reached is another matter.
bool is_damage(const Error& failure) {
  return failure.kind == ErrorKind::Invalid || failure.kind == ErrorKind::Conflict ||
         failure.kind == ErrorKind::NotFound;
}

class DocumentReader {
 public:
  DocumentReader(OciSource& source, const oci::Repository& repository, const crypto::Digest& subject,
                 const Context& context)
      : source_(source), repository_(repository), subject_(subject), context_(context) {}

  Result<std::vector<AttachedDocument>> read() {
    MIST_TRY(std::vector<oci::Descriptor> referrers, source_.referrers(repository_, subject_, {}, context_));
    std::erase_if(referrers, [](const oci::Descriptor& each) { return !may_be_document(each); });
    if (referrers.size() > oci::kMaxSignatures) return too_many(referrers.size());
    std::ranges::sort(referrers, {}, &oci::Descriptor::digest);
    for (const oci::Descriptor& each : referrers) MIST_TRY_VOID(manifest(each.digest.str(), {}));
    for (const std::string_view suffix : {oci::kAttestationSuffix, oci::kSbomSuffix})
      MIST_TRY_VOID(manifest({}, oci::attached_tag(subject_, suffix)));
    std::ranges::stable_sort(found_, {}, &AttachedDocument::kind);
    return std::move(found_);
  }

 private:
  Error too_many(std::size_t count) const {
    return error(ErrorKind::Invalid, "{} documents hang on {}@{}; {} are allowed", count, repository_.str(),
                 subject_.str(), oci::kMaxSignatures)
        .with_hint("somebody who may push to the repository added them: remove those that nobody needs");
  }

  // Registries differ in what they say of a referrer (go-containerregistry's: the type of its config).
  static bool may_be_document(const oci::Descriptor& referrer) {
    const std::string& type = referrer.artifact_type;
    return type.empty() || type == oci::kEmptyConfigType ||
           oci::document_kind(type, oci::annotation(referrer.annotations, oci::kPredicateAnnotation));
  }

  // A referrer by its digest, or what one of cosign's tags leads to.
  Status manifest(const std::string& digest, const std::string& tag) {
    MIST_TRY(const std::optional<RawManifest> raw,
             source_.find_manifest(repository_, tag.empty() ? digest : tag, context_));
    if (!raw) return {};
    const Result<oci::Document> document =
        oci::parse_document(raw->bytes, raw->content_type, fmt::format("{}@{}", repository_.str(), digest));
    const auto* const manifest = document ? std::get_if<oci::Manifest>(&*document) : nullptr;
    if (manifest == nullptr) return {};
    const bool refers = manifest->subject && manifest->subject->digest == subject_;
    if (tag.empty() && !refers) return {};
    for (const oci::Descriptor& layer : manifest->layers)
      MIST_TRY_VOID(add_layer(layer, *manifest, raw->digest, tag));
    return {};
  }

  Status add_layer(const oci::Descriptor& layer, const oci::Manifest& manifest, const crypto::Digest& digest,
                   const std::string& tag) {
    std::string type = layer.media_type;
    // `oras attach --artifact-type T FILE` gives its layer a type of its own.
    if (!oci::document_kind(type, {}) && manifest.layers.size() == 1) type = manifest.artifact_type;
    if (!oci::document_kind(type, {})) return {};
    if (found_.size() == oci::kMaxSignatures) return too_many(found_.size() + 1);
    AttachedDocument one{.kind = oci::DocumentKind::Sbom,
                         .document = layer,
                         .manifest = digest,
                         .tag = tag,
                         .predicate = {},
                         .claim = {}};
    one.document.media_type = type;
    if (oci::is_statement(type)) {
      MIST_TRY(oci::Attestation read, statement(layer));
      read.claim.key_pem = oci::annotation(manifest.annotations, oci::kKeyAnnotation);
      one.predicate = std::move(read.predicate);
      one.claim = std::move(read.claim);
    }
    const std::optional<oci::DocumentKind> kind = oci::document_kind(type, one.predicate);
    if (!kind) return {};
    one.kind = *kind;
    found_.push_back(std::move(one));
    return {};
  }

  Result<oci::Attestation> statement(const oci::Descriptor& layer) {
    const Result<std::string> text = source_.blob(repository_, layer, oci::kMaxBundleBytes, context_);
    if (text) return oci::read_attestation(*text);
    if (!is_damage(text.error())) return text.error();
    oci::Attestation unreadable;
    unreadable.claim.form = oci::SignatureForm::Bundle;
    unreadable.claim.damage = escape_controls(text.error().message);
    return unreadable;
  }

  OciSource& source_;
  const oci::Repository& repository_;
  const crypto::Digest& subject_;
  const Context& context_;
  std::vector<AttachedDocument> found_;
};

// The target's manifest under that tag. A damaged one counts as missing, so that it is replaced.
Result<oci::Index> referrers_index(OciTarget& target, const oci::Repository& repository,
                                   const std::string& tag, const Context& context) {
  const Result<std::optional<RawManifest>> raw = target.find_manifest(repository, tag, context);
  if (!raw && raw.error().kind != ErrorKind::Conflict) return raw.error();
  if (!raw || !*raw) return oci::Index{};
  const std::string name = fmt::format("{}:{}", repository.str(), tag);
  MIST_TRY(oci::Document document, oci::parse_document((*raw)->bytes, (*raw)->content_type, name));
  if (auto* const index = std::get_if<oci::Index>(&document)) return std::move(*index);
  return error(ErrorKind::Invalid, "{} is not a list of referrers", name)
      .with_because("that tag stands for what refers to a manifest, and it is a manifest itself")
      .with_hint("remove that tag; mistctl registry copy --referrers=false needs no such list");
}

}  // namespace

Result<std::vector<AttachedDocument>> list_documents(OciSource& source, const oci::Repository& repository,
                                                     const crypto::Digest& manifest, const Context& context) {
  return DocumentReader(source, repository, manifest, context).read();
}

Status add_to_referrers_tag(OciTarget& target, const oci::Repository& repository,
                            const crypto::Digest& subject, std::vector<oci::Descriptor> added,
                            const Context& context) {
  std::ranges::sort(added, {}, [](const oci::Descriptor& each) { return each.digest.str(); });
  const std::string tag = oci::referrers_tag(subject);
  // A registry knows no "replace only what I read": others may write the list at the same time, so look
  // again.
  TagHistory history;
  for (int attempt = 0; !added.empty(); ++attempt) {
    MIST_TRY(oci::Index index, referrers_index(target, repository, tag, context));
    history.read(index.manifests.empty() ? std::string() : index.to_json());
    const std::size_t before = index.manifests.size();
    for (const oci::Descriptor& each : added)
      if (std::ranges::find(index.manifests, each.digest, &oci::Descriptor::digest) == index.manifests.end())
        index.manifests.push_back(each);
    if (index.manifests.size() == before) return {};
    if (attempt == kIndexAttempts)
      return history.failure(
          fmt::format("the list of what refers to {}@{} did not stay", repository.str(), subject.str()), tag,
          "run the same command again, which adds what is missing");
    MIST_TRY([[maybe_unused]] const bool listed,
             target.put_manifest(repository, tag, index.to_json(), oci::kIndexType, context));
  }
  return {};
}

Result<bool> attach_document(OciTarget& target, const oci::Repository& repository,
                             const crypto::Digest& subject, const oci::Artifact& artifact,
                             const Context& context) {
  const std::string digest = artifact.digest.str();
  MIST_TRY(const std::vector<oci::Descriptor> there, target.referrers(repository, subject, {}, context));
  if (std::ranges::find(there, artifact.digest, &oci::Descriptor::digest) != there.end()) {
    MIST_TRY(const std::optional<crypto::Digest> found, target.find_digest(repository, digest, context));
    if (found) return true;
  }
  MIST_TRY_VOID(push_blobs(target, repository, artifact, context));
  MIST_TRY(const bool listed,
           target.put_manifest(repository, digest, artifact.manifest, oci::kManifestType, context));
  if (listed) return false;
  MIST_TRY(const oci::Document document,
           oci::parse_document(artifact.manifest, oci::kManifestType, "the manifest of a document"));
  MIST_TRY_VOID(add_to_referrers_tag(
      target, repository, subject,
      {oci::referrer_descriptor(std::get<oci::Manifest>(document), oci::kManifestType, artifact.manifest)},
      context));
  return false;
}

}  // namespace mist::registry
