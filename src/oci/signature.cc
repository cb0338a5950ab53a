#include "oci/signature.h"

#include <algorithm>

#include "base/text.h"
#include "encoding/json.h"
#include "oci/annotation.h"
#include "oci/attestation.h"
#include "oci/claim.h"

namespace mist::oci {
namespace {

using encoding::Value;

constexpr std::string_view kSignatureAnnotation = "dev.cosignproject.cosign/signature";
constexpr std::string_view kImageConfig = "application/vnd.oci.image.config.v1+json";
constexpr std::string_view kClaimType = "cosign container image signature";
constexpr std::string_view kCreator = "creator";

// "host/path:tag@digest" to "host/path". Other tools write the tag too.
std::string repository_in(std::string_view reference) {
  reference = reference.substr(0, reference.find('@'));
  const auto slash = reference.rfind('/');
  const auto colon = reference.rfind(':');
  if (colon != std::string_view::npos && slash != std::string_view::npos && colon > slash)
    reference = reference.substr(0, colon);
  const Result<Repository> parsed = Repository::parse(fmt::format("{}{}", kScheme, reference));
  return parsed ? parsed->identity().substr(kScheme.size()) : std::string(reference);
}

}  // namespace

std::string_view to_string(SignatureForm form) {
  switch (form) {
    case SignatureForm::Cosign:
      return "cosign";
    case SignatureForm::Bundle:
      return "bundle";
    case SignatureForm::Minisign:
      return "minisign";
    case SignatureForm::Helm:
      return "helm";
  }
  return "";
}

std::string signature_tag(const crypto::Digest& manifest) { return attached_tag(manifest, kSignatureSuffix); }
std::string attached_tag(const crypto::Digest& manifest, std::string_view suffix) {
  return fmt::format("sha256-{}{}", manifest.hex(), suffix);
}
std::string referrers_tag(const crypto::Digest& manifest) { return fmt::format("sha256-{}", manifest.hex()); }

std::optional<crypto::Digest> subject_of_tag(std::string_view tag) {
  constexpr std::string_view kBegin = "sha256-";
  constexpr std::size_t kDigits = 64;
  if (!tag.starts_with(kBegin)) return std::nullopt;
  const std::string_view digits = tag.substr(kBegin.size(), kDigits);
  const std::string_view suffix = tag.substr(kBegin.size() + digits.size());
  const bool is_known =
      suffix.empty() || suffix == kSignatureSuffix || suffix == kAttestationSuffix || suffix == kSbomSuffix;
  Result<crypto::Digest> digest = crypto::Digest::parse(fmt::format("sha256:{}", digits));
  return is_known && digest ? std::optional(*digest) : std::nullopt;
}

std::string SigningPayload::to_json() const {
  Value optional;
  const auto add = [&](std::string_view key, Value value) {
    if (optional.is_null()) optional = Value::object();
    optional.set(key, std::move(value));
  };
  for (const auto& [key, text] : annotations) add(key, text);
  if (signed_at) {
    add(kCreator, "mistctl");
    add(kTimestamp, std::chrono::duration_cast<std::chrono::seconds>(signed_at->time_since_epoch()).count());
  }
  const std::string reference = fmt::format("{}/{}", repository.host, repository.path);
  return encoding::to_json(Value::object(
      {{"critical", Value::object({{"identity", Value::object({{"docker-reference", reference}})},
                                   {"image", Value::object({{"docker-manifest-digest", digest.str()}})},
                                   {"type", kClaimType}})},
       {"optional", std::move(optional)}}));
}

SignatureClaim simple_signing_claim(const Descriptor& layer, std::string_view payload) {
  SignatureClaim claim;
  claim.form = SignatureForm::Cosign;
  claim.message = payload;
  claim.keyless = keyless_in(layer.annotations);
  claim.key_pem = annotation(layer.annotations, kKeyAnnotation);
  const std::string_view signature = annotation(layer.annotations, kSignatureAnnotation);
  if (!base64_decode(trim(signature), claim.signature) || claim.signature.empty())
    return damaged_claim(std::move(claim), "it has no signature in base64");
  const Result<Value> document = parse_claim(payload);
  if (!document || !document->is_object())
    return damaged_claim(std::move(claim), "its payload is not a JSON object");
  const Value* const critical = document->find("critical");
  if (critical == nullptr || critical->string_at("type") != kClaimType)
    return damaged_claim(std::move(claim), fmt::format("its payload is no \"{}\"", kClaimType));
  const Result<crypto::Digest> digest =
      crypto::Digest::parse(critical->string_at({"image", "docker-manifest-digest"}));
  if (!digest) return damaged_claim(std::move(claim), "its payload names no SHA-256 digest");
  claim.digest = *digest;
  claim.repository = repository_in(critical->string_at({"identity", "docker-reference"}));
  if (const Value* const optional = document->find("optional")) read_signed_annotations(*optional, claim);
  return claim;
}

SignatureClaim bundle_claim(std::string_view bundle) {
  Attestation read = read_bundle(bundle);
  const std::string& predicate = read.predicate;
  if (predicate != kSignPredicate && (read.claim.damage.empty() || !predicate.empty()))
    read.claim.damage = fmt::format("it is no signature but an attestation of type {}",
                                    escape_controls(std::string_view(predicate).substr(0, 200)));
  return std::move(read.claim);
}

std::vector<Descriptor> signature_layers(const Manifest& manifest) {
  std::vector<Descriptor> layers;
  std::ranges::copy_if(manifest.layers, std::back_inserter(layers),
                       [](const Descriptor& layer) { return layer.media_type == kSimpleSigningType; });
  return layers;
}

namespace {

// With an image's configuration, which cosign reads: it lists the layers' digests. It is the only blob.
Artifact artifact_of_layers(std::vector<Descriptor> layers, Annotations annotations) {
  Value digests{Value::Array{}};
  for (const Descriptor& each : layers) digests.push_back(each.digest.str());
  std::string config = encoding::to_json(
      Value::object({{"architecture", ""},
                     {"created", "0001-01-01T00:00:00Z"},
                     {"os", ""},
                     {"rootfs", Value::object({{"type", "layers"}, {"diff_ids", std::move(digests)}})},
                     {"config", Value::object()}}));
  Blob first{descriptor_of(kImageConfig, config), std::move(config)};
  const Manifest manifest{.artifact_type = {},
                          .config = first.descriptor,
                          .layers = std::move(layers),
                          .annotations = std::move(annotations)};
  std::string text = manifest.to_json();
  const crypto::Digest digest = crypto::sha256(text);
  return Artifact{{std::move(first)}, std::move(text), digest};
}

}  // namespace

Artifact signature_artifact(const std::optional<Manifest>& there, std::string payload,
                            std::string_view signature, std::string_view key_pem) {
  Blob layer{descriptor_of(kSimpleSigningType, payload), std::move(payload)};
  layer.descriptor.annotations.emplace(kSignatureAnnotation, base64_encode(signature));
  layer.descriptor.annotations.emplace(kKeyAnnotation, key_pem);
  std::vector<Descriptor> layers = there ? there->layers : std::vector<Descriptor>();
  layers.push_back(layer.descriptor);
  Artifact artifact = artifact_of_layers(std::move(layers), there ? there->annotations : Annotations());
  artifact.blobs.push_back(std::move(layer));
  return artifact;
}

std::optional<Artifact> merged_signatures(const Manifest& there, const Manifest& more) {
  std::vector<Descriptor> layers = there.layers;
  for (const Descriptor& layer : more.layers)
    if (std::ranges::find(layers, layer) == layers.end()) layers.push_back(layer);
  if (layers.size() == there.layers.size()) return std::nullopt;
  return artifact_of_layers(std::move(layers), there.annotations);
}

}  // namespace mist::oci
