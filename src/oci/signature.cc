#include "oci/signature.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::oci {
namespace {

using encoding::Value;

constexpr std::string_view kSignatureAnnotation = "dev.cosignproject.cosign/signature";
constexpr std::string_view kKeyAnnotation = "dev.mistletoe/public-key";
constexpr std::string_view kImageConfig = "application/vnd.oci.image.config.v1+json";
constexpr std::string_view kClaimType = "cosign container image signature";
constexpr std::string_view kStatementType = "application/vnd.in-toto+json";
constexpr std::string_view kSignPredicate = "https://sigstore.dev/cosign/sign/v1";
// As in containers/image ("atomic container signature"): seconds since 1970.
constexpr std::string_view kTimestamp = "timestamp";
constexpr std::string_view kCreator = "creator";
constexpr int kClaimDepth = 32;
constexpr std::size_t kMaxClaimValues = 20'000;
constexpr std::int64_t kLastSecond = 253'402'300'799;  // of the year 9999

SignatureClaim damaged(SignatureClaim claim, std::string why) {
  claim.damage = std::move(why);
  return claim;
}

std::optional<WallTime> time_in(const Value& value) {
  std::int64_t seconds = 0;
  if (value.is_int()) {
    seconds = value.as_int();
  } else if (value.is_string()) {
    // `cosign sign -a timestamp=1700000000`
    const std::string& text = value.as_string();
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (problem != std::errc() || end != text.data() + text.size()) return parse_time(text);
  } else {
    return std::nullopt;
  }
  if (seconds < 0 || seconds > kLastSecond) return std::nullopt;
  return WallTime(std::chrono::seconds(seconds));
}

void read_annotations(const Value& optional, SignatureClaim& claim) {
  if (!optional.is_object()) return;
  for (const Value::Member& member : optional.as_object()) {
    if (member.key == kTimestamp) claim.signed_at = time_in(member.value);
    if (member.value.is_string()) claim.annotations.emplace(member.key, member.value.as_string());
  }
}

Result<Value> parsed(std::string_view text) {
  return encoding::parse_json(text,
                              {.strict = true, .max_depth = kClaimDepth, .max_values = kMaxClaimValues});
}

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

// DSSE, "Pre-Authentication Encoding".
std::string authenticated(std::string_view type, std::string_view body) {
  return fmt::format("DSSEv1 {} {} {} {}", type.size(), type, body.size(), body);
}

// The statement of in-toto that an envelope holds.
void read_statement(const Value& statement, SignatureClaim& claim) {
  if (!statement.is_object()) {
    claim.damage = "its statement is not an object";
    return;
  }
  if (statement.string_at("predicateType") != kSignPredicate) {
    claim.damage = fmt::format("it is no signature but an attestation of type {}",
                               escape_controls(statement.string_at("predicateType").substr(0, 200)));
    return;
  }
  const Value* const subjects = statement.find("subject");
  if (subjects == nullptr || !subjects->is_array() || subjects->size() != 1) {
    claim.damage = "its statement is not about exactly one artifact";
    return;
  }
  const Value& subject = subjects->as_array().front();
  const Result<crypto::Digest> digest =
      crypto::Digest::parse(fmt::format("sha256:{}", subject.string_at({"digest", "sha256"})));
  if (!digest) {
    claim.damage = "its statement names no SHA-256 digest";
    return;
  }
  claim.digest = *digest;
  if (const Value* const annotations = subject.find("annotations")) read_annotations(*annotations, claim);
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
  if (const auto key = layer.annotations.find(std::string(kKeyAnnotation)); key != layer.annotations.end())
    claim.key_pem = key->second;
  const auto signature = layer.annotations.find(std::string(kSignatureAnnotation));
  if (signature == layer.annotations.end() || !base64_decode(trim(signature->second), claim.signature) ||
      claim.signature.empty())
    return damaged(std::move(claim), "it has no signature in base64");
  const Result<Value> document = parsed(payload);
  if (!document || !document->is_object())
    return damaged(std::move(claim), "its payload is not a JSON object");
  const Value* const critical = document->find("critical");
  if (critical == nullptr || critical->string_at("type") != kClaimType)
    return damaged(std::move(claim), fmt::format("its payload is no \"{}\"", kClaimType));
  const Result<crypto::Digest> digest =
      crypto::Digest::parse(critical->string_at({"image", "docker-manifest-digest"}));
  if (!digest) return damaged(std::move(claim), "its payload names no SHA-256 digest");
  claim.digest = *digest;
  claim.repository = repository_in(critical->string_at({"identity", "docker-reference"}));
  if (const Value* const optional = document->find("optional")) read_annotations(*optional, claim);
  return claim;
}

SignatureClaim bundle_claim(std::string_view bundle) {
  SignatureClaim claim;
  claim.form = SignatureForm::Bundle;
  const Result<Value> document = parsed(bundle);
  if (!document || !document->is_object())
    return damaged(std::move(claim), "the bundle is not a JSON object");
  const Value* const material = document->find("verificationMaterial");
  if (material == nullptr || !material->is_object())
    return damaged(std::move(claim), "the bundle has no verificationMaterial");
  claim.keyless = keyless_in(*material);
  std::string hint;
  if (base64_decode(material->string_at({"publicKey", "hint"}), hint) &&
      hint.size() == crypto::Digest::kSize) {
    crypto::Digest::Bytes bytes{};
    std::ranges::copy(crypto::as_bytes(hint), bytes.begin());
    claim.key_hint = crypto::Digest(bytes);
  }
  const Value* const envelope = document->find("dsseEnvelope");
  if (envelope == nullptr || !envelope->is_object())
    return damaged(std::move(claim), "the bundle has no dsseEnvelope");
  if (envelope->string_at("payloadType") != kStatementType)
    return damaged(std::move(claim), fmt::format("the bundle's payload is not {}", kStatementType));
  std::string statement;
  if (!base64_decode(envelope->string_at("payload"), statement))
    return damaged(std::move(claim), "the bundle's payload is not base64");
  claim.message = authenticated(kStatementType, statement);
  const Value* const signatures = envelope->find("signatures");
  // Sigstore's bundle specification: exactly one.
  if (signatures == nullptr || !signatures->is_array() || signatures->size() != 1 ||
      !base64_decode(signatures->as_array().front().string_at("sig"), claim.signature) ||
      claim.signature.empty())
    return damaged(std::move(claim), "the bundle has not exactly one signature in base64");
  claim.payload = std::move(statement);
  const Result<Value> inner = parsed(claim.payload);
  if (!inner) return damaged(std::move(claim), "the bundle's statement is not JSON");
  read_statement(*inner, claim);
  return claim;
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
