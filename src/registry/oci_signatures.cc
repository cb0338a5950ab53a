#include "registry/oci_signatures.h"

#include <algorithm>

#include "base/text.h"
#include "oci/annotation.h"
#include "oci/attestation.h"
#include "oci/document.h"
#include "registry/oci_packages.h"

namespace mist::registry {
namespace {

constexpr int kSignAttempts = 3;

Error too_many(const oci::Repository& repository, const crypto::Digest& manifest, std::size_t count) {
  return error(ErrorKind::Invalid, "{}@{} has {} signatures; {} are allowed", repository.str(),
               manifest.str(), count, oci::kMaxSignatures)
      .with_hint("somebody who may push to the repository added them: remove those that nobody needs");
}

// The manifest under the tag of signatures; nothing: there is none.
Result<std::optional<oci::Manifest>> signature_manifest(OciSource& client, const oci::Repository& repository,
                                                        const crypto::Digest& manifest,
                                                        const Context& context) {
  const std::string tag = oci::signature_tag(manifest);
  MIST_TRY(const std::optional<RawManifest> raw, client.find_manifest(repository, tag, context));
  if (!raw) return std::optional<oci::Manifest>();
  const std::string name = fmt::format("{}:{}", repository.str(), tag);
  const auto read = [&]() -> Result<std::optional<oci::Manifest>> {
    MIST_TRY(oci::Document document, oci::parse_document(raw->bytes, raw->content_type, name));
    auto* const found = std::get_if<oci::Manifest>(&document);
    if (found == nullptr)
      return error(ErrorKind::Invalid, "{} holds no signatures", name)
          .with_because("it is an index")
          .with_hint("remove that tag; signatures are in a manifest");
    return std::optional(std::move(*found));
  };
  return naming_mirror(read(), *raw, name);
}

oci::SignatureClaim unreadable(oci::SignatureForm form, std::string why) {
  oci::SignatureClaim claim;
  claim.form = form;
  claim.damage = std::move(why);
  return claim;
}

// Damage to one signature is reported for that one; the others may do. A registry that can't be reached is
// another matter.
template <typename Read>
Result<oci::SignatureClaim> claim_or_damage(oci::SignatureForm form, const Read& read) {
  Result<oci::SignatureClaim> claim = read();
  if (claim) return claim;
  const ErrorKind kind = claim.error().kind;
  if (kind == ErrorKind::Invalid || kind == ErrorKind::Conflict || kind == ErrorKind::NotFound)
    return unreadable(form, escape_controls(claim.error().message));
  return claim;
}

Result<oci::SignatureClaim> read_cosign(OciSource& client, const oci::Repository& repository,
                                        const oci::Descriptor& layer, const Context& context) {
  MIST_TRY(const std::string payload, client.blob(repository, layer, oci::kMaxPayloadBytes, context));
  return oci::simple_signing_claim(layer, payload);
}

Result<oci::SignatureClaim> read_bundle(OciSource& client, const oci::Repository& repository,
                                        const oci::Descriptor& referrer, const Context& context) {
  const std::string name = fmt::format("{}@{}", repository.str(), referrer.digest.str());
  MIST_TRY(const RawManifest raw, client.manifest(repository, referrer.digest.str(), context));
  MIST_TRY(const oci::Document document, oci::parse_document(raw.bytes, raw.content_type, name));
  const auto* const manifest = std::get_if<oci::Manifest>(&document);
  if (manifest == nullptr || manifest->layers.size() != 1 ||
      manifest->layers.front().media_type != oci::kBundleType)
    return unreadable(oci::SignatureForm::Bundle, "its manifest has not exactly one bundle");
  MIST_TRY(const std::string bundle,
           client.blob(repository, manifest->layers.front(), oci::kMaxBundleBytes, context));
  return oci::bundle_claim(bundle);
}

// Registries differ in what they say of a referrer (go-containerregistry's: the type of its config).
bool may_be_bundle(const oci::Descriptor& referrer) {
  constexpr std::string_view kEmptyConfig = "application/vnd.oci.empty.v1+json";
  return referrer.artifact_type == oci::kBundleType || referrer.artifact_type.empty() ||
         referrer.artifact_type == kEmptyConfig;
}

// A bundle's predicate is told by its manifest's annotation; SBOMs and provenance are no signatures.
bool says_other_predicate(const oci::Descriptor& referrer) {
  const auto predicate = referrer.annotations.find(std::string(oci::kPredicateAnnotation));
  return predicate != referrer.annotations.end() && predicate->second != oci::kSignPredicate;
}

Result<std::vector<oci::Descriptor>> signature_referrers(OciSource& client, const oci::Repository& repository,
                                                         const crypto::Digest& manifest,
                                                         const Context& context) {
  MIST_TRY(std::vector<oci::Descriptor> referrers,
           client.referrers(repository, manifest, oci::kBundleType, context));
  std::erase_if(referrers, [](const oci::Descriptor& each) {
    return !may_be_bundle(each) || says_other_predicate(each);
  });
  return referrers;
}

bool is_by(const oci::SignatureClaim& claim, const crypto::Digest& manifest, const crypto::PublicKey& key) {
  return claim.damage.empty() && claim.digest == manifest && key.verify(claim.message, claim.signature);
}

}  // namespace

Result<std::vector<oci::SignatureClaim>> read_signatures(OciSource& client, const oci::Repository& repository,
                                                         const crypto::Digest& manifest,
                                                         const Context& context) {
  std::vector<oci::SignatureClaim> claims;
  MIST_TRY(const std::optional<oci::Manifest> signatures,
           signature_manifest(client, repository, manifest, context));
  const std::vector<oci::Descriptor> layers =
      signatures ? oci::signature_layers(*signatures) : std::vector<oci::Descriptor>();
  if (layers.size() > oci::kMaxSignatures) return too_many(repository, manifest, layers.size());
  for (const oci::Descriptor& layer : layers) {
    MIST_TRY(oci::SignatureClaim claim, claim_or_damage(oci::SignatureForm::Cosign, [&] {
               return read_cosign(client, repository, layer, context);
             }));
    claims.push_back(std::move(claim));
  }
  MIST_TRY(const std::vector<oci::Descriptor> referrers,
           signature_referrers(client, repository, manifest, context));
  if (layers.size() + referrers.size() > oci::kMaxSignatures)
    return too_many(repository, manifest, layers.size() + referrers.size());
  for (const oci::Descriptor& referrer : referrers) {
    MIST_TRY(oci::SignatureClaim claim, claim_or_damage(oci::SignatureForm::Bundle, [&] {
               return read_bundle(client, repository, referrer, context);
             }));
    // That of another type is no damaged signature.
    if (!claim.damage.empty() && referrer.artifact_type != oci::kBundleType) continue;
    claims.push_back(std::move(claim));
  }
  return claims;
}

namespace {

Result<bool> is_signed_by(OciSource& client, const oci::Repository& repository,
                          const crypto::Digest& manifest, const std::optional<oci::Manifest>& there,
                          const crypto::PublicKey& key, const Context& context) {
  if (!there) return false;
  const std::vector<oci::Descriptor> layers = oci::signature_layers(*there);
  if (layers.size() > oci::kMaxSignatures) return too_many(repository, manifest, layers.size());
  for (const oci::Descriptor& layer : layers) {
    MIST_TRY(const oci::SignatureClaim claim, claim_or_damage(oci::SignatureForm::Cosign, [&] {
               return read_cosign(client, repository, layer, context);
             }));
    if (is_by(claim, manifest, key)) return true;
  }
  return false;
}

}  // namespace

Result<SignReport> sign_artifact(OciClient& client, const oci::Reference& reference,
                                 const crypto::PrivateKey& key, const SignOptions& options,
                                 const Context& context) {
  const oci::Repository& repository = reference.repository;
  MIST_TRY(const RawManifest raw,
           client.manifest(repository, reference.digest ? reference.digest->str() : reference.tag, context));
  const crypto::Digest& digest = raw.digest;
  SignReport report{.signed_reference = reference,
                    .tag = oci::signature_tag(digest),
                    .key = key.public_key().fingerprint().str()};
  report.signed_reference.digest = digest;
  std::string payload = oci::SigningPayload{.repository = repository,
                                            .digest = digest,
                                            .signed_at = options.now,
                                            .annotations = options.annotations}
                            .to_json();
  const std::string signature = key.sign(payload);
  // A registry knows no "replace only what I read": whoever signs at the same time may win, so look again.
  TagHistory history;
  for (int attempt = 0; attempt <= kSignAttempts; ++attempt) {
    MIST_TRY(const std::optional<oci::Manifest> there,
             signature_manifest(client, repository, digest, context));
    history.read(there ? there->to_json() : std::string());
    MIST_TRY(const bool is_signed,
             is_signed_by(client, repository, digest, there, key.public_key(), context));
    if (is_signed) {
      report.was_there = attempt == 0;
      return report;
    }
    if (attempt == kSignAttempts) break;
    const oci::Artifact artifact = oci::signature_artifact(there, payload, signature, key.public_key().pem());
    MIST_TRY_VOID(push_blobs(client, repository, artifact, context));
    MIST_TRY_VOID(client.push_manifest(repository, report.tag, artifact.manifest, context));
  }
  return history.failure(fmt::format("the signature of {}@{} did not stay", repository.str(), digest.str()),
                         report.tag, "sign it again");
}

StatementSigner key_signer(const crypto::PrivateKey& key) {
  return {.sign = [key](std::string_view statement, const Context&) -> Result<std::string> {
            return oci::signed_bundle(statement, key);
          },
          .made =
              [key = key.public_key()](const oci::SignatureClaim& claim) {
                return claim.damage.empty() && key.verify(claim.message, claim.signature);
              },
          .key = key.public_key().fingerprint().str(),
          .annotations = {{std::string(oci::kKeyAnnotation), key.public_key().pem()}}};
}

namespace {

// The manifest that holds a signature of the same by that signer; nothing: there is none.
Result<std::optional<crypto::Digest>> bundle_of(OciSource& client, const oci::Repository& repository,
                                                const crypto::Digest& manifest, const std::string& message,
                                                const StatementSigner& signer, const Context& context) {
  MIST_TRY(const std::vector<oci::Descriptor> referrers,
           signature_referrers(client, repository, manifest, context));
  if (referrers.size() > oci::kMaxSignatures) return too_many(repository, manifest, referrers.size());
  for (const oci::Descriptor& referrer : referrers) {
    MIST_TRY(const oci::SignatureClaim claim, claim_or_damage(oci::SignatureForm::Bundle, [&] {
               return read_bundle(client, repository, referrer, context);
             }));
    const bool is_same = message == claim.message;
    if (is_same && signer.made(claim)) return std::optional(referrer.digest);
  }
  return std::optional<crypto::Digest>();
}

}  // namespace

Result<SignatureBundle> sign_as_bundle(OciSource& client, const oci::Repository& repository,
                                       const oci::Descriptor& subject, const StatementSigner& signer,
                                       const BundleOptions& options, const Context& context) {
  std::map<std::string, std::string> annotations = options.annotations;
  annotations.insert_or_assign(std::string(oci::kRepositoryAnnotation),
                               repository.identity().substr(oci::kScheme.size()));
  const std::string statement = oci::signature_statement(subject.digest, annotations);
  if (!options.is_new) {
    MIST_TRY(
        const std::optional<crypto::Digest> there,
        bundle_of(client, repository, subject.digest, oci::statement_message(statement), signer, context));
    if (there) return SignatureBundle{.manifest = *there};
  }
  MIST_TRY(std::string bundle, signer.sign(statement, context));
  oci::Artifact artifact =
      oci::document_artifact(subject, oci::kBundleType, std::move(bundle),
                             oci::bundle_annotations(oci::kSignPredicate, signer.annotations));
  return SignatureBundle{.manifest = artifact.digest, .artifact = std::move(artifact)};
}

}  // namespace mist::registry
