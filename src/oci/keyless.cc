#include "oci/keyless.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/text.h"
#include "crypto/signing_certificate.h"
#include "encoding/json.h"
#include "oci/annotation.h"

namespace mist::oci {
namespace {

using encoding::Value;

constexpr std::string_view kLayerCertificate = "dev.sigstore.cosign/certificate";
constexpr std::string_view kLayerChain = "dev.sigstore.cosign/chain";
constexpr std::string_view kLayerLogEntry = "dev.sigstore.cosign/bundle";
constexpr std::string_view kLayerTimestamp = "dev.sigstore.cosign/rfc3161timestamp";
constexpr std::size_t kHashBytes = 32;
constexpr std::int64_t kLastTime = 9'000'000'000;  // of the year 2255; WallTime ends in 2262
constexpr int kDepth = 16;
constexpr std::size_t kMostValues = 2'000;

// Collects what can't be read: the first counts.
class Reader {
 public:
  explicit Reader(std::string& damage) : damage_(damage) {}

  void fail(std::string_view what) {
    if (damage_.empty()) damage_ = what;
  }

  std::string bytes(std::string_view encoded, std::string_view what) {
    std::string decoded;
    if (!base64_decode(encoded, decoded)) fail(fmt::format("{} is not base64", what));
    return decoded;
  }

  // As protobuf writes a number of 64 bits: as a text, left out where it is 0.
  std::int64_t number(const Value& object, std::string_view key) {
    const Value* const value = object.find(key);
    if (value == nullptr || value->is_null()) return 0;
    std::int64_t result = -1;
    if (value->is_int()) {
      result = value->as_int();
    } else if (value->is_string()) {
      const std::string& text = value->as_string();
      const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), result);
      if (problem != std::errc() || end != text.data() + text.size()) result = -1;
    }
    if (result < 0) fail(fmt::format("{} of its log entry is no number", key));
    return result;
  }

  std::int64_t time(const Value& object, std::string_view key) {
    const std::int64_t seconds = number(object, key);
    if (seconds > kLastTime) fail(fmt::format("{} of its log entry is no time", key));
    return std::min(seconds, kLastTime);
  }

  // The items of a list that may be missing; too many are damage.
  const Value::Array& list(const Value& object, std::string_view key, std::size_t most) {
    static const Value::Array none;
    const Value* const value = object.find(key);
    if (value == nullptr || value->is_null()) return none;
    if (!value->is_array() || value->size() > most) {
      fail(fmt::format("{} is not a list of at most {}", key, most));
      return none;
    }
    return value->as_array();
  }

  InclusionProof inclusion(const Value& proof) {
    InclusionProof result{.index = number(proof, "logIndex"),
                          .tree_size = number(proof, "treeSize"),
                          .hashes = {},
                          .root = bytes(proof.string_at("rootHash"), "the root hash of its log entry"),
                          .checkpoint = std::string(proof.string_at({"checkpoint", "envelope"}))};
    for (const Value& each : list(proof, "hashes", kMaxInclusionHashes)) {
      result.hashes.push_back(
          bytes(each.is_string() ? each.as_string() : "", "a hash of its inclusion proof"));
      if (result.hashes.back().size() != kHashBytes) fail("a hash of its inclusion proof has not 32 bytes");
    }
    return result;
  }

  LogEntry entry(const Value& value) {
    LogEntry entry{
        .body = bytes(value.string_at("canonicalizedBody"), "the body of its log entry"),
        .integrated_time = time(value, "integratedTime"),
        .index = number(value, "logIndex"),
        .log_id = bytes(value.string_at({"logId", "keyId"}), "the log's id"),
        .promise = bytes(value.string_at({"inclusionPromise", "signedEntryTimestamp"}), "the log's promise"),
        .inclusion = {}};
    if (const Value* const proof = value.find("inclusionProof"); proof != nullptr && proof->is_object())
      entry.inclusion = inclusion(*proof);
    return entry;
  }

  // Cosign's own form: the log's answer as it was.
  LogEntry layer_entry(const Value& value) {
    const Value* const payload = value.find("Payload");
    if (payload == nullptr || !payload->is_object()) {
      fail("its log entry has no Payload");
      return {};
    }
    LogEntry entry{.body = bytes(payload->string_at("body"), "the body of its log entry"),
                   .integrated_time = time(*payload, "integratedTime"),
                   .index = number(*payload, "logIndex"),
                   .log_id = {},
                   .promise = bytes(value.string_at("SignedEntryTimestamp"), "the log's promise"),
                   .inclusion = {}};
    const std::string_view id = payload->string_at("logID");
    const Result<crypto::Digest> digest = crypto::Digest::parse(fmt::format("sha256:{}", id));
    if (digest)
      entry.log_id = digest->raw();
    else
      fail("its log entry names no log");
    return entry;
  }

  Value document(std::string_view text, std::string_view what) {
    Result<Value> parsed =
        encoding::parse_json(text, {.strict = true, .max_depth = kDepth, .max_values = kMostValues});
    if (parsed && parsed->is_object()) return *std::move(parsed);
    fail(fmt::format("{} is not a JSON object", what));
    return Value::object();
  }

 private:
  std::string& damage_;
};

}  // namespace

std::optional<KeylessClaim> keyless_in(const Annotations& annotations) {
  const std::string_view certificate = annotation(annotations, kLayerCertificate);
  if (certificate.empty()) return std::nullopt;
  KeylessClaim claim;
  Reader reader(claim.damage);
  std::vector<std::string> blocks = crypto::certificate_blocks(certificate);
  if (blocks.size() == 1)
    claim.certificate = std::move(blocks.front());
  else
    reader.fail("its certificate is not one PEM block");
  claim.chain = crypto::certificate_blocks(annotation(annotations, kLayerChain));
  if (const std::string_view entry = annotation(annotations, kLayerLogEntry); !entry.empty())
    claim.entries.push_back(reader.layer_entry(reader.document(entry, "its log entry")));
  if (const std::string_view timestamp = annotation(annotations, kLayerTimestamp); !timestamp.empty())
    claim.timestamps.push_back(reader.bytes(
        reader.document(timestamp, "its timestamp").string_at("SignedRFC3161Timestamp"), "its timestamp"));
  return claim;
}

std::optional<KeylessClaim> keyless_in(const encoding::Value& material) {
  const Value* const certificate = material.find("certificate");
  const Value* const certificates = material.find("x509CertificateChain");
  if (certificate == nullptr && certificates == nullptr) return std::nullopt;
  KeylessClaim claim;
  Reader reader(claim.damage);
  if (certificate != nullptr) {
    claim.certificate = reader.bytes(certificate->string_at("rawBytes"), "its certificate");
  } else {
    // Bundles before 0.3: the one that signed comes first.
    for (const Value& each : reader.list(*certificates, "certificates", kMaxLogEntries)) {
      std::string der = reader.bytes(each.string_at("rawBytes"), "its certificate");
      if (claim.certificate.empty())
        claim.certificate = std::move(der);
      else
        claim.chain.push_back(std::move(der));
    }
  }
  if (claim.certificate.empty()) reader.fail("its certificate is empty");
  for (const Value& each : reader.list(material, "tlogEntries", kMaxLogEntries))
    claim.entries.push_back(reader.entry(each));
  if (const Value* const data = material.find("timestampVerificationData"))
    for (const Value& each : reader.list(*data, "rfc3161Timestamps", kMaxLogEntries))
      claim.timestamps.push_back(reader.bytes(each.string_at("signedTimestamp"), "its timestamp"));
  return claim;
}

}  // namespace mist::oci
