#include "webauthn/credential_json.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "encoding/base64url.h"
#include "encoding/json.h"
#include "webauthn/authenticator_data.h"
#include "webauthn/cose_key.h"

namespace mist::webauthn {
namespace {

using encoding::base64url_encode;
using encoding::Value;

constexpr std::size_t kLongestAnswer = 128 << 10;
constexpr std::size_t kLongestHandle = 64;  // section 4, "User Handle"
// Section 5.8.4; what is unknown is left out.
constexpr std::array<std::string_view, 6> kTransports{"ble", "hybrid",     "internal",
                                                      "nfc", "smart-card", "usb"};

Error unreadable_json(std::string_view why) {
  return error(ErrorKind::Invalid, "the browser's answer can't be read").with_because(std::string(why));
}

Value list_of(const std::vector<Descriptor>& descriptors) {
  Value list{Value::Array{}};
  for (const Descriptor& each : descriptors) {
    Value one = Value::object({{"type", Value("public-key")}, {"id", Value(base64url_encode(each.id))}});
    if (!each.transports.empty()) {
      Value transports{Value::Array{}};
      for (const std::string& name : each.transports) transports.push_back(Value(name));
      one.set("transports", std::move(transports));
    }
    list.push_back(std::move(one));
  }
  return list;
}

Value milliseconds(Duration duration) {
  return Value(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

// The object, with the credential's identifier in `id`.
Result<Value> credential_in(std::string_view json, std::string& id) {
  if (json.size() > kLongestAnswer) return unreadable_json("it is too long");
  auto value = encoding::parse_json(
      json, {.strict = true, .max_depth = 20, .max_values = 500, .file = "the credential"});
  if (!value.ok() || !value->is_object()) return unreadable_json("it is no JSON object");
  if (value->string_at("type") != "public-key") return unreadable_json("it is of another type");
  MIST_TRY(id, encoding::base64url_decode(value->string_at("id")));
  if (id.empty() || id.size() > kLongestCredential)
    return unreadable_json("its identifier has a length that none has");
  const Value* const response = value->find("response");
  if (response == nullptr || !response->is_object()) return unreadable_json("it has no response");
  return value;
}

Result<std::string> bytes_at(const Value& response, std::string_view name) {
  auto bytes = encoding::base64url_decode(response.string_at(name));
  if (!bytes.ok() || bytes->empty()) return unreadable_json(fmt::format("its {} is no base64url", name));
  return bytes;
}

}  // namespace

Value creation_options(std::string_view rp_id, std::string_view rp_name, const NewUser& user,
                       std::string_view challenge, const std::vector<Descriptor>& known, Duration timeout) {
  Value algorithms{Value::Array{}};
  for (const std::int64_t algorithm : kAlgorithms)
    algorithms.push_back(Value::object({{"type", Value("public-key")}, {"alg", Value(algorithm)}}));
  return Value::object({{"rp", Value::object({{"id", Value(rp_id)}, {"name", Value(rp_name)}})},
                        {"user", Value::object({{"id", Value(base64url_encode(user.handle))},
                                                {"name", Value(user.name)},
                                                {"displayName", Value(user.name)}})},
                        {"challenge", Value(base64url_encode(challenge))},
                        {"pubKeyCredParams", std::move(algorithms)},
                        {"timeout", milliseconds(timeout)},
                        {"excludeCredentials", list_of(known)},
                        {"authenticatorSelection", Value::object({{"residentKey", Value("preferred")},
                                                                  {"userVerification", Value("preferred")}})},
                        {"attestation", Value("none")}});
}

Value request_options(std::string_view rp_id, std::string_view challenge,
                      const std::vector<Descriptor>& allowed, Verification verification, Duration timeout) {
  return Value::object(
      {{"rpId", Value(rp_id)},
       {"challenge", Value(base64url_encode(challenge))},
       {"timeout", milliseconds(timeout)},
       {"allowCredentials", list_of(allowed)},
       {"userVerification", Value(verification == Verification::Required ? "required" : "preferred")}});
}

Result<Registration> parse_registration(std::string_view json) {
  Registration found;
  MIST_TRY(const Value credential, credential_in(json, found.id));
  const Value& response = *credential.find("response");
  MIST_TRY(found.client_data, bytes_at(response, "clientDataJSON"));
  MIST_TRY(found.attestation_object, bytes_at(response, "attestationObject"));
  for (std::string& each : response.texts_at("transports"))
    if (std::ranges::find(kTransports, each) != kTransports.end() &&
        std::ranges::find(found.transports, each) == found.transports.end())
      found.transports.push_back(std::move(each));
  return found;
}

Result<Authentication> parse_authentication(std::string_view json) {
  Authentication found;
  MIST_TRY(const Value credential, credential_in(json, found.id));
  const Value& response = *credential.find("response");
  MIST_TRY(found.assertion.client_data, bytes_at(response, "clientDataJSON"));
  MIST_TRY(found.assertion.authenticator_data, bytes_at(response, "authenticatorData"));
  MIST_TRY(found.assertion.signature, bytes_at(response, "signature"));
  if (!response.string_at("userHandle").empty()) {
    MIST_TRY(found.user_handle, bytes_at(response, "userHandle"));
    if (found.user_handle.size() > kLongestHandle) return unreadable_json("its user handle is too long");
  }
  return found;
}

}  // namespace mist::webauthn
