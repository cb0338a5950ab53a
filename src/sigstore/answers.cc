#include "sigstore/answers.h"

#include <algorithm>
#include <utility>

#include "base/hex.h"
#include "base/text.h"
#include "crypto/signing_certificate.h"
#include "encoding/json.h"
#include "oci/keyless.h"

namespace mist::sigstore {
namespace {

using encoding::Value;

constexpr int kAnswerDepth = 32;
constexpr std::size_t kMostValues = 10'000;
constexpr std::size_t kMostWords = 400;
constexpr std::size_t kMostChain = 10;

Error unreadable(std::string_view what, std::string because) {
  return error(ErrorKind::Invalid, "{} can't be read", what)
      .with_because(std::move(because))
      .with_hint("see whether the signing configuration names the right address and majorApiVersion");
}

Result<Value> object_in(std::string_view body, std::string_view what) {
  Result<Value> document =
      encoding::parse_json(body, {.strict = true, .max_depth = kAnswerDepth, .max_values = kMostValues});
  if (document && document->is_object()) return document;
  return unreadable(what, "it is not a JSON object");
}

// Hexadecimal to base64; empty: it is no such text.
std::string base64_of_hex(std::string_view text) { return base64_encode(bytes_of_hex(text).value_or("")); }

// The kind and version that the body of an entry states of itself.
Result<Value> kind_version(std::string_view encoded, std::string_view what) {
  std::string body;
  if (!base64_decode(encoded, body) || body.empty()) return unreadable(what, "its body is not base64");
  MIST_TRY(const Value entry, object_in(body, what));
  if (entry.string_at("kind").empty() || entry.string_at("apiVersion").empty())
    return unreadable(what, "its body names no kind and apiVersion");
  return Value::object({{"kind", entry.string_at("kind")}, {"version", entry.string_at("apiVersion")}});
}

// A number of 64 bits, which protobuf writes as text; empty: it is none.
std::string number_at(const Value& object, std::string_view key) {
  constexpr std::size_t kMostDigits = 18;
  const Value* const value = object.find(key);
  if (value == nullptr || value->is_null()) return "0";
  std::string text;
  if (value->is_int()) text = std::to_string(value->as_int());
  if (value->is_string()) text = value->as_string();
  const bool is_number = !text.empty() && text.size() <= kMostDigits &&
                         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? text : std::string();
}

}  // namespace

ErrorKind kind_of_status(int status) {
  constexpr int kUnauthorized = 401, kForbidden = 403, kTimeout = 408, kTooMany = 429, kServer = 500;
  if (status == kUnauthorized || status == kForbidden) return ErrorKind::Forbidden;
  if (status == kTimeout || status == kTooMany || status >= kServer) return ErrorKind::Retryable;
  return ErrorKind::Invalid;
}

std::string words_of_refusal(std::string_view body, const HideSecrets& hide) {
  const Result<Value> document = encoding::parse_json(body, {.max_depth = kAnswerDepth});
  std::string words;
  if (document && document->is_object())
    words = document->string_at("message");
  else if (!trim(body).starts_with('<'))
    words = trim(body.substr(0, body.find('\n')));
  if (hide) words = hide(std::move(words));
  return escape_controls(std::string_view(words).substr(0, kMostWords));
}

Result<IssuedChain> parse_issued(std::string_view body) {
  constexpr std::string_view kWhat = "the certificate authority's answer";
  MIST_TRY(const Value answer, object_in(body, kWhat));
  IssuedChain issued;
  const Value* chain = answer.at_path({"signedCertificateEmbeddedSct", "chain", "certificates"});
  if (chain == nullptr) {
    issued.has_promise_inside = false;
    chain = answer.at_path({"signedCertificateDetachedSct", "chain", "certificates"});
  }
  if (chain == nullptr || !chain->is_array() || chain->empty() || chain->size() > kMostChain)
    return unreadable(kWhat, fmt::format("it has no chain of 1 to {} certificates", kMostChain));
  for (const Value& each : chain->as_array()) {
    std::vector<std::string> blocks =
        crypto::certificate_blocks(each.is_string() ? each.as_string() : std::string());
    if (blocks.size() != 1) return unreadable(kWhat, "a certificate of its chain is not one PEM block");
    if (issued.certificate.empty())
      issued.certificate = std::move(blocks.front());
    else
      issued.between.push_back(std::move(blocks.front()));
  }
  return issued;
}

Result<Value> parse_rekor1_entry(std::string_view body) {
  constexpr std::string_view kWhat = "the transparency log's answer";
  MIST_TRY(const Value answer, object_in(body, kWhat));
  if (answer.size() != 1 || !answer.as_object().front().value.is_object())
    return unreadable(kWhat, "it has not exactly one entry");
  const Value& entry = answer.as_object().front().value;
  const std::string_view logged = entry.string_at("body");
  MIST_TRY(Value kind, kind_version(logged, kWhat));
  const std::string log = base64_of_hex(entry.string_at("logID"));
  const std::string index = number_at(entry, "logIndex"), time = number_at(entry, "integratedTime");
  if (log.empty() || index.empty() || time.empty())
    return unreadable(kWhat, "its logID, logIndex or integratedTime is missing or invalid");
  Value result = Value::object({{"logIndex", index},
                                {"logId", Value::object({{"keyId", log}})},
                                {"kindVersion", std::move(kind)},
                                {"integratedTime", time}});
  const Value* const verification = entry.find("verification");
  if (verification == nullptr || !verification->is_object())
    return unreadable(kWhat, "it has no verification");
  if (const std::string_view promise = verification->string_at("signedEntryTimestamp"); !promise.empty())
    result.set("inclusionPromise", Value::object({{"signedEntryTimestamp", promise}}));
  if (const Value* const proof = verification->find("inclusionProof");
      proof != nullptr && proof->is_object()) {
    Value hashes{Value::Array{}};
    for (const std::string& each : proof->texts_at("hashes")) hashes.push_back(base64_of_hex(each));
    if (hashes.size() > oci::kMaxInclusionHashes) return unreadable(kWhat, "its inclusion proof is too long");
    const std::string at = number_at(*proof, "logIndex"), size = number_at(*proof, "treeSize");
    const std::string root = base64_of_hex(proof->string_at("rootHash"));
    if (at.empty() || size.empty() || root.empty())
      return unreadable(kWhat, "its inclusion proof is missing or incomplete");
    result.set(
        "inclusionProof",
        Value::object({{"logIndex", at},
                       {"rootHash", root},
                       {"treeSize", size},
                       {"hashes", std::move(hashes)},
                       {"checkpoint", Value::object({{"envelope", proof->string_at("checkpoint")}})}}));
  }
  result.set("canonicalizedBody", logged);
  return result;
}

Result<Value> parse_rekor2_entry(std::string_view body) {
  constexpr std::string_view kWhat = "the transparency log's answer";
  MIST_TRY(const Value answer, object_in(body, kWhat));
  const std::string_view logged = answer.string_at("canonicalizedBody");
  MIST_TRY(Value kind, kind_version(logged, kWhat));
  const Value* const proof = answer.find("inclusionProof");
  if (proof == nullptr || !proof->is_object()) return unreadable(kWhat, "it has no inclusionProof");
  const std::string index = number_at(answer, "logIndex"), at = number_at(*proof, "logIndex"),
                    size = number_at(*proof, "treeSize");
  if (index.empty() || at.empty() || size.empty())
    return unreadable(kWhat, "its logIndex or treeSize is missing or invalid");
  Value hashes{Value::Array{}};
  for (const std::string& each : proof->texts_at("hashes")) hashes.push_back(each);
  if (hashes.size() > oci::kMaxInclusionHashes) return unreadable(kWhat, "its inclusion proof is too long");
  return Value::object(
      {{"logIndex", index},
       {"logId", Value::object({{"keyId", answer.string_at({"logId", "keyId"})}})},
       {"kindVersion", std::move(kind)},
       {"inclusionProof",
        Value::object(
            {{"logIndex", at},
             {"rootHash", proof->string_at("rootHash")},
             {"treeSize", size},
             {"hashes", std::move(hashes)},
             {"checkpoint", Value::object({{"envelope", proof->string_at({"checkpoint", "envelope"})}})}})},
       {"canonicalizedBody", logged}});
}

std::string entry_in_location(std::string_view location) {
  // "/api/v1/log/entries/UUID": 64 digits, or 80 with the tree's.
  constexpr std::size_t kMostDigits = 80;
  const auto slash = location.rfind('/');
  const std::string_view id = slash == std::string_view::npos ? location : location.substr(slash + 1);
  return !id.empty() && id.size() <= kMostDigits && is_lower_hex(id) ? std::string(id) : std::string();
}

Result<SecretString> parse_github_token(std::string_view body) {
  constexpr std::string_view kWhat = "GitHub's answer";
  MIST_TRY(const Value answer, object_in(body, kWhat));
  const std::string_view token = answer.string_at("value");
  if (token.empty()) return unreadable(kWhat, "it has no value");
  return SecretString(std::string(token));
}

}  // namespace mist::sigstore
