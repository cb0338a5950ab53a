#include "oci/attestation.h"

#include <algorithm>

#include "base/text.h"
#include "encoding/json.h"
#include "oci/annotation.h"
#include "oci/claim.h"
#include "oci/keyless.h"

namespace mist::oci {
namespace {

using encoding::Value;

// The statement of in-toto that an envelope holds.
void read_statement(const Value& statement, Attestation& read) {
  if (!statement.is_object()) {
    read.claim.damage = "its statement is not an object";
    return;
  }
  read.predicate = statement.string_at("predicateType");
  const Value* const subjects = statement.find("subject");
  if (subjects == nullptr || !subjects->is_array() || subjects->size() != 1) {
    read.claim.damage = "its statement is not about exactly one artifact";
    return;
  }
  const Value& subject = subjects->as_array().front();
  const Result<crypto::Digest> digest =
      crypto::Digest::parse(fmt::format("sha256:{}", subject.string_at({"digest", "sha256"})));
  if (!digest) {
    read.claim.damage = "its statement names no SHA-256 digest";
    return;
  }
  read.claim.digest = *digest;
  if (const Value* const annotations = subject.find("annotations"))
    read_signed_annotations(*annotations, read.claim);
  read.claim.repository = annotation(read.claim.annotations, kRepositoryAnnotation);
}

// Of a bundle, without what is in its envelope.
void read_material(const Value& material, SignatureClaim& claim) {
  claim.keyless = keyless_in(material);
  std::string hint;
  if (!base64_decode(material.string_at({"publicKey", "hint"}), hint) || hint.size() != crypto::Digest::kSize)
    return;
  crypto::Digest::Bytes bytes{};
  std::ranges::copy(crypto::as_bytes(hint), bytes.begin());
  claim.key_hint = crypto::Digest(bytes);
}

Attestation damaged_attestation(Attestation read, std::string why) {
  read.claim.damage = std::move(why);
  return read;
}

// `holder`: what the envelope is, or is in, for messages.
Attestation in_envelope(Attestation read, const Value& envelope, std::string_view holder) {
  if (envelope.string_at("payloadType") != kStatementType)
    return damaged_attestation(std::move(read),
                               fmt::format("the {}'s payload is not {}", holder, kStatementType));
  std::string statement;
  if (!base64_decode(envelope.string_at("payload"), statement))
    return damaged_attestation(std::move(read), fmt::format("the {}'s payload is not base64", holder));
  read.claim.message = statement_message(statement);
  const Value* const signatures = envelope.find("signatures");
  // Sigstore's bundle specification: exactly one.
  if (signatures == nullptr || !signatures->is_array() || signatures->size() != 1 ||
      !base64_decode(signatures->as_array().front().string_at("sig"), read.claim.signature) ||
      read.claim.signature.empty())
    return damaged_attestation(std::move(read),
                               fmt::format("the {} has not exactly one signature in base64", holder));
  read.claim.payload = std::move(statement);
  const Result<Value> inner = parse_claim(read.claim.payload);
  if (!inner)
    return damaged_attestation(std::move(read), fmt::format("the {}'s statement is not JSON", holder));
  read_statement(*inner, read);
  return read;
}

Attestation in_bundle(const Value& document) {
  Attestation read;
  read.claim.form = SignatureForm::Bundle;
  const Value* const material = document.find("verificationMaterial");
  if (material == nullptr || !material->is_object())
    return damaged_attestation(std::move(read), "the bundle has no verificationMaterial");
  read_material(*material, read.claim);
  const Value* const envelope = document.find("dsseEnvelope");
  if (envelope == nullptr || !envelope->is_object())
    return damaged_attestation(std::move(read), "the bundle has no dsseEnvelope");
  return in_envelope(std::move(read), *envelope, "bundle");
}

}  // namespace

Attestation read_bundle(std::string_view bundle) {
  const Result<Value> document = parse_claim(bundle);
  if (document && document->is_object()) return in_bundle(*document);
  Attestation read;
  read.claim.form = SignatureForm::Bundle;
  return damaged_attestation(std::move(read), "the bundle is not a JSON object");
}

Attestation read_attestation(std::string_view document) {
  Attestation read;
  read.claim.form = SignatureForm::Bundle;
  const Result<Value> value = parse_claim(document);
  if (!value || !value->is_object())
    return damaged_attestation(std::move(read), "it is no JSON object that can be read");
  if (value->find("verificationMaterial") != nullptr || value->find("dsseEnvelope") != nullptr)
    return in_bundle(*value);
  if (value->find("payloadType") != nullptr) return in_envelope(std::move(read), *value, "envelope");
  read_statement(*value, read);
  return read;
}

Annotations bundle_annotations(std::string_view predicate, Annotations more) {
  more.emplace("dev.sigstore.bundle.content", "dsse-envelope");
  more.emplace(kPredicateAnnotation, predicate);
  return more;
}

std::string signature_statement(const crypto::Digest& manifest,
                                const std::map<std::string, std::string>& annotations) {
  Value subject = Value::object({{"digest", Value::object({{"sha256", manifest.hex()}})}});
  if (!annotations.empty()) {
    Value texts = Value::object();
    for (const auto& [key, text] : annotations) texts.set(key, text);
    subject.set("annotations", std::move(texts));
  }
  return encoding::to_json(Value::object({{"_type", "https://in-toto.io/Statement/v1"},
                                          {"subject", Value::array({std::move(subject)})},
                                          {"predicateType", kSignPredicate},
                                          {"predicate", Value::object()}}));
}

std::string statement_message(std::string_view statement) {
  return fmt::format("DSSEv1 {} {} {} {}", kStatementType.size(), kStatementType, statement.size(),
                     statement);
}

Value statement_envelope(std::string_view statement, std::string_view signature) {
  return Value::object({{"payload", base64_encode(statement)},
                        {"payloadType", kStatementType},
                        {"signatures", Value::array({Value::object({{"sig", base64_encode(signature)}})})}});
}

std::string signed_bundle(std::string_view statement, const crypto::PrivateKey& key) {
  const crypto::Digest::Bytes fingerprint = key.public_key().fingerprint().bytes();
  std::string hint;
  for (const std::byte each : fingerprint) hint.push_back(static_cast<char>(each));
  return encoding::to_json(Value::object(
      {{"mediaType", kBundleType},
       {"verificationMaterial",
        Value::object({{"publicKey", Value::object({{"hint", base64_encode(hint)}})}})},
       {"dsseEnvelope", statement_envelope(statement, key.sign(statement_message(statement)))}}));
}

std::string keyless_bundle(std::string_view statement, std::string_view signature,
                           const KeylessMaterial& material) {
  Value timestamps{Value::Array{}};
  for (const std::string& each : material.timestamps)
    timestamps.push_back(Value::object({{"signedTimestamp", base64_encode(each)}}));
  return encoding::to_json(Value::object(
      {{"mediaType", kBundleType},
       {"verificationMaterial",
        Value::object(
            {{"certificate", Value::object({{"rawBytes", base64_encode(material.certificate)}})},
             {"tlogEntries", Value(material.entries)},
             {"timestampVerificationData", Value::object({{"rfc3161Timestamps", std::move(timestamps)}})}})},
       {"dsseEnvelope", statement_envelope(statement, signature)}}));
}

}  // namespace mist::oci
