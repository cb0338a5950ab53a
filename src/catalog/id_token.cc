#include "catalog/id_token.h"

#include <algorithm>

#include "base/text.h"
#include "crypto/raw_keys.h"
#include "encoding/base64url.h"
#include "encoding/json.h"

namespace mist::catalog {
namespace {

using encoding::Value;

constexpr std::size_t kLongestToken = 32 << 10;
constexpr std::size_t kMostKeys = 100;
constexpr std::size_t kLongestSubject = 255;  // OpenID Connect Core, section 2
constexpr double kLeewaySeconds = 60;         // clocks differ
constexpr double kOldestSeconds = 600;        // a token is taken right after it was made

Error refused_token(std::string_view why) {
  return error(ErrorKind::Forbidden, "the issuer's answer can't be trusted").with_because(std::string(why));
}

Result<Value> json_part(std::string_view part) {
  MIST_TRY(const std::string text, encoding::base64url_decode(part));
  MIST_TRY(
      Value value,
      encoding::parse_json(text, {.strict = true, .max_depth = 20, .max_values = 1000, .file = "the token"}));
  if (!value.is_object()) return error(ErrorKind::Invalid, "a part of the token is no object");
  return value;
}

Result<crypto::PublicKey> key_of(const Value& jwk) {
  const auto number = [&](std::string_view name) { return encoding::base64url_decode(jwk.string_at(name)); };
  if (jwk.string_at("kty") == "RSA") {
    MIST_TRY(const std::string n, number("n"));
    MIST_TRY(const std::string e, number("e"));
    return crypto::rsa_public_key(n, e);
  }
  if (jwk.string_at("kty") != "EC" || jwk.string_at("crv") != "P-256")
    return error(ErrorKind::Invalid, "a key of a kind that isn't used here");
  MIST_TRY(const std::string x, number("x"));
  MIST_TRY(const std::string y, number("y"));
  return crypto::p256_public_key(x, y);
}

bool is_signed_by(const IssuerKey& key, std::string_view message, std::string_view signature) {
  return key.key.verify(message,
                        key.algorithm == "ES256" ? crypto::ecdsa_der(signature) : std::string(signature));
}

// Of the key that the header names, or of any where it names none.
Status check_signature(const Value& header, std::string_view message, std::string_view signature,
                       const std::vector<IssuerKey>& keys) {
  const std::string_view algorithm = header.string_at("alg");
  if (algorithm != "RS256" && algorithm != "ES256")
    return refused_token(fmt::format("it is signed with {}", escape_controls(algorithm.substr(0, 20))));
  if (header.find("crit") != nullptr) return refused_token("it demands an extension");
  const std::string_view id = header.string_at("kid");
  bool is_known = false;
  for (const IssuerKey& key : keys) {
    if (!id.empty() && key.id != id) continue;
    is_known = true;
    if (key.algorithm == algorithm && is_signed_by(key, message, signature)) return {};
  }
  if (!is_known) return error(ErrorKind::NotFound, "the issuer doesn't publish the key that it signed with");
  return refused_token("its signature is not the issuer's");
}

bool is_for(const Value& claims, std::string_view client) {
  const Value* const audience = claims.find("aud");
  if (audience == nullptr) return false;
  if (const Value* const party = claims.find("azp"); party != nullptr && claims.string_at("azp") != client)
    return false;
  if (audience->is_string()) return audience->as_string() == client;
  if (!audience->is_array()) return false;
  const auto names_client = [&](const Value& each) { return each.is_string() && each.as_string() == client; };
  // One of several is the one that asked only if "azp" says so.
  return std::ranges::any_of(audience->as_array(), names_client) &&
         (audience->size() == 1 || claims.string_at("azp") == client);
}

Status check_times(const Value& claims, WallTime now) {
  const double present = std::chrono::duration<double>(now.time_since_epoch()).count();
  const Value* const expires = claims.find("exp");
  const Value* const made = claims.find("iat");
  if (expires == nullptr || !expires->is_number() || expires->as_double() <= present - kLeewaySeconds)
    return refused_token("it has expired");
  if (made == nullptr || !made->is_number() || made->as_double() > present + kLeewaySeconds ||
      made->as_double() < present - kOldestSeconds)
    return refused_token("it was not made just now");
  const Value* const begins = claims.find("nbf");
  if (begins != nullptr && (!begins->is_number() || begins->as_double() > present + kLeewaySeconds))
    return refused_token("it isn't valid yet");
  return {};
}

}  // namespace

std::vector<IssuerKey> issuer_keys(const Value& set) {
  std::vector<IssuerKey> keys;
  const Value* const list = set.find("keys");
  if (list == nullptr || !list->is_array()) return keys;
  for (const Value& each : list->as_array()) {
    if (keys.size() >= kMostKeys) break;
    if (!each.is_object()) continue;
    const std::string_view use = each.string_at("use");
    const std::string algorithm = each.string_at("kty") == "RSA" ? "RS256" : "ES256";
    const std::string_view meant = each.string_at("alg");
    if ((!use.empty() && use != "sig") || (!meant.empty() && meant != algorithm)) continue;
    auto key = key_of(each);
    if (key.ok())
      keys.push_back(
          {.id = std::string(each.string_at("kid")), .algorithm = algorithm, .key = *std::move(key)});
  }
  return keys;
}

Result<Identity> verify_id_token(std::string_view token, const std::vector<IssuerKey>& keys,
                                 const ExpectedToken& expected) {
  if (token.size() > kLongestToken) return refused_token("it is too long");
  const std::vector<std::string_view> parts = split(token, '.');
  if (parts.size() != 3) return refused_token("it is no signed token");
  const auto header = json_part(parts[0]);
  const auto claims = json_part(parts[1]);
  const auto signature = encoding::base64url_decode(parts[2]);
  if (!header.ok() || !claims.ok() || !signature.ok()) return refused_token("it can't be read");
  MIST_TRY_VOID(
      check_signature(*header, token.substr(0, parts[0].size() + 1 + parts[1].size()), *signature, keys));
  if (claims->string_at("iss") != expected.issuer) return refused_token("it is of another issuer");
  if (!is_for(*claims, expected.client_id)) return refused_token("it is for somebody else");
  if (expected.nonce.empty() || claims->string_at("nonce") != expected.nonce)
    return refused_token("it answers another question");
  MIST_TRY_VOID(check_times(*claims, expected.now));
  const std::string_view subject = claims->string_at("sub");
  if (subject.empty() || subject.size() > kLongestSubject) return refused_token("it names nobody");
  return Identity{.issuer = expected.issuer,
                  .subject = std::string(subject),
                  .name = std::string(claims->string_at("preferred_username").substr(0, 100))};
}

}  // namespace mist::catalog
