#include "sigstore/services.h"

#include <utility>

#include "base/text.h"
#include "crypto/signing_certificate.h"
#include "crypto/signing_requests.h"
#include "encoding/json.h"
#include "oci/attestation.h"

namespace mist::sigstore {
namespace {

using encoding::Value;

constexpr int kOk = 200, kCreated = 201, kBadRequest = 400, kConflict = 409;
constexpr const char* kJson = "application/json";
// Rekor 2 answers when the entry is in a published tree, which takes many seconds.
constexpr auto kPatience = std::chrono::seconds(60);

bool is_success(const http::Response& response) {
  return response.status == kOk || response.status == kCreated;
}

// A repeated request costs a second certificate, timestamp or nothing: none of them does harm.
http::Request post(std::string url, std::string_view type, std::string body) {
  return {.method = "POST",
          .url = std::move(url),
          .headers = {{"Content-Type", std::string(type)}, {"Accept", kJson}},
          .body = std::move(body),
          .repeat = http::Repeat::Safe,
          .response_limit = kMaxAnswerBytes,
          .idle_timeout = kPatience};
}

std::string answer_of(const http::Response& response, const std::string& words) {
  return words.empty() ? fmt::format("status {}", response.status)
                       : fmt::format("status {}: {}", response.status, words);
}

Error refusal(const Service& log, const http::Response& response) {
  return error(kind_of_status(response.status), "the transparency log {} took no entry", log.url)
      .with_because(answer_of(response, words_of_refusal(response.body)))
      .with_hint(
          "nothing was sent to the registry: sign again once that log works, or configure another one");
}

}  // namespace

Result<IssuedChain> SigningServices::certificate(const Service& authority, const IdentityToken& token,
                                                 const crypto::PrivateKey& key,
                                                 const Context& context) const {
  const std::string frame = fmt::format("while requesting a certificate from {}", authority.url);
  const http::Request request = post(
      authority.url + "/api/v2/signingCert", kJson,
      encoding::to_json(
          Value::object({{"credentials", Value::object({{"oidcIdentityToken", token.text().reveal()}})},
                         {"certificateSigningRequest", base64_encode(crypto::certificate_request(key))}})));
  Result<http::Response> response = transport_.send(request, context);
  if (!response) return std::move(response).error().with_frame(frame);
  if (is_success(*response)) return parse_issued(response->body).in(frame);
  // It answers with 400 to tokens that it doesn't accept.
  const ErrorKind kind =
      response->status == kBadRequest ? ErrorKind::Forbidden : kind_of_status(response->status);
  const std::string hint =
      kind == ErrorKind::Forbidden
          ? fmt::format("it must accept the issuer and the audience: {}", token.describe())
      : kind == ErrorKind::Retryable ? "nothing was sent to the registry: sign again once it works"
                                     : "see whether caUrls of the signing configuration names a Fulcio";
  return error(kind, "the certificate authority {} issued no certificate", authority.url)
      .with_because(answer_of(*response, words_of_refusal(response->body,
                                                          [&](std::string words) {
                                                            return token.without_token(std::move(words));
                                                          })))
      .with_hint(hint);
}

Result<std::string> SigningServices::timestamp(const Service& authority, std::string_view message,
                                               const Context& context) const {
  http::Request request =
      post(authority.url, "application/timestamp-query", crypto::timestamp_request(message));
  request.headers.back().value = "application/timestamp-reply";
  Result<http::Response> response = transport_.send(request, context);
  if (!response)
    return std::move(response).error().with_frame(
        fmt::format("while requesting a timestamp from {}", authority.url));
  const std::string refused = is_success(*response)
                                  ? escape_controls(crypto::timestamp_refusal(response->body))
                                  : answer_of(*response, words_of_refusal(response->body));
  if (refused.empty()) return std::move(response->body);
  return error(is_success(*response) ? ErrorKind::Forbidden : kind_of_status(response->status),
               "the timestamp authority {} gave no timestamp", authority.url)
      .with_because(refused)
      .with_hint(
          "nothing was sent to the registry: sign again once it works, or configure another one in tsaUrls");
}

Result<Value> SigningServices::log(const Service& log, const SignedStatement& is,
                                   const Context& context) const {
  return (log.version == 1 ? log_1(log, is, context) : log_2(log, is, context))
      .in(fmt::format("while adding an entry to the transparency log {}", log.url));
}

Result<Value> SigningServices::log_1(const Service& log, const SignedStatement& is,
                                     const Context& context) const {
  constexpr const char* kEntries = "/api/v1/log/entries";
  Value content = Value::object(
      {{"envelope", encoding::to_json(oci::statement_envelope(is.statement, is.signature))},
       {"verifiers", Value::array({Value(base64_encode(crypto::certificate_pem(is.certificate)))})}});
  const Value entry = Value::object({{"apiVersion", "0.0.1"},
                                     {"kind", "dsse"},
                                     {"spec", Value::object({{"proposedContent", std::move(content)}})}});
  MIST_TRY(http::Response response,
           transport_.send(post(log.url + kEntries, kJson, encoding::to_json(entry)), context));
  // The answer to an earlier attempt was lost.
  const std::string there =
      response.status == kConflict ? entry_in_location(http::find_header(response.headers, "Location")) : "";
  if (!there.empty()) {
    const http::Request again{.url = fmt::format("{}{}/{}", log.url, kEntries, there),
                              .headers = {{"Accept", kJson}},
                              .repeat = http::Repeat::Safe,
                              .response_limit = kMaxAnswerBytes};
    MIST_TRY(response, transport_.send(again, context));
  }
  if (!is_success(response)) return refusal(log, response);
  return parse_rekor1_entry(response.body);
}

Result<Value> SigningServices::log_2(const Service& log, const SignedStatement& is,
                                     const Context& context) const {
  const crypto::Digest digest = crypto::sha256(oci::statement_message(is.statement));
  const Value verifier =
      Value::object({{"x509Certificate", Value::object({{"rawBytes", base64_encode(is.certificate)}})},
                     {"keyDetails", "PKIX_ECDSA_P256_SHA_256"}});
  const Value entry =
      Value::object({{"hashedRekordRequestV002",
                      Value::object({{"digest", base64_encode(digest.raw())},
                                     {"signature", Value::object({{"content", base64_encode(is.signature)},
                                                                  {"verifier", verifier}})}})}});
  MIST_TRY(const http::Response response,
           transport_.send(post(log.url + "/api/v2/log/entries", kJson, encoding::to_json(entry)), context));
  if (!is_success(response)) return refusal(log, response);
  return parse_rekor2_entry(response.body);
}

}  // namespace mist::sigstore
