#include "webauthn/ceremony.h"

#include "crypto/digest.h"
#include "encoding/base64url.h"
#include "encoding/cbor.h"
#include "encoding/json.h"
#include "webauthn/authenticator_data.h"

namespace mist::webauthn {
namespace {

using encoding::CborReader;
using encoding::Value;

constexpr std::size_t kLongestClientData = 8 << 10;
constexpr std::size_t kLongestAttestation = 64 << 10;
constexpr std::size_t kLongestFormat = 32;

Error unreadable_answer(std::string_view what) {
  return error(ErrorKind::Invalid, "the browser's answer can't be read").with_because(std::string(what));
}

Error refused(std::string_view why) {
  return error(ErrorKind::Forbidden, "the passkey proves nothing here").with_because(std::string(why));
}

Result<Value> parse_client_data(std::string_view text) {
  if (text.size() > kLongestClientData) return unreadable_answer("its client data is too long");
  auto value = encoding::parse_json(
      text, {.strict = true, .max_depth = 20, .max_values = 200, .file = "the client data"});
  if (!value.ok() || !value->is_object()) return unreadable_answer("its client data is no JSON object");
  return value;
}

// Section 7.1, steps 7 to 11, and section 7.2, steps 10 to 14.
Status check_client_data(std::string_view text, Ceremony ceremony, const Expected& expected) {
  MIST_TRY(const Value data, parse_client_data(text));
  const std::string_view type = ceremony == Ceremony::Registration ? "webauthn.create" : "webauthn.get";
  if (data.string_at("type") != type) return refused("it is of another ceremony");
  if (expected.challenge.empty() ||
      data.string_at("challenge") != encoding::base64url_encode(expected.challenge))
    return refused("it answers another challenge");
  if (data.string_at("origin") != expected.origin) return refused("it was made for another site");
  const Value* const crossed = data.find("crossOrigin");
  const bool is_crossed = crossed != nullptr && !(crossed->is_bool() && !crossed->as_bool());
  if (is_crossed || data.find("topOrigin") != nullptr)
    return refused("the page was inside one of another site");
  return {};
}

// Section 7.1, steps 14 to 16, and section 7.2, steps 15 to 17.
Status check_flags(const AuthenticatorData& data, const Expected& expected) {
  if (data.rp_id_hash != crypto::sha256(expected.rp_id).raw()) return refused("it is of another site");
  if (!data.user_present) return refused("nobody touched the authenticator");
  if (expected.verification == Verification::Required && !data.user_verified)
    return refused("the authenticator didn't check who uses it");
  return {};
}

// The data of the authenticator in an attestation object (section 6.5.4).
Result<std::string_view> authenticator_data_in(std::string_view bytes) {
  if (bytes.size() > kLongestAttestation) return unreadable_answer("its attestation is too long");
  CborReader reader(bytes);
  std::string_view format;
  std::string_view data;
  std::optional<std::size_t> statement;
  MIST_TRY(const std::size_t count, reader.map());
  if (count != 3) return unreadable_answer("its attestation has other members");
  for (std::size_t i = 0; i < count; ++i) {
    MIST_TRY(const std::string_view key, reader.text());
    if (key == "fmt" && format.empty()) {
      MIST_TRY(format, reader.text());
    } else if (key == "authData" && data.empty()) {
      MIST_TRY(data, reader.bytes());
    } else if (key == "attStmt" && !statement) {
      MIST_TRY(statement, CborReader(bytes.substr(reader.offset())).map());
      MIST_TRY_VOID(reader.skip());
    } else {
      return unreadable_answer("its attestation has other members");
    }
  }
  MIST_TRY_VOID(reader.end());
  if (format.empty() || format.size() > kLongestFormat || !statement)
    return unreadable_answer("its attestation has no format");
  // Section 8.7.
  if (format == "none" && *statement != 0)
    return unreadable_answer("its attestation has the format \"none\" and a statement");
  return data;
}

}  // namespace

Result<std::string> challenge_of(std::string_view client_data) {
  MIST_TRY(const Value data, parse_client_data(client_data));
  return encoding::base64url_decode(data.string_at("challenge"));
}

Result<NewCredential> check_registration(std::string_view client_data, std::string_view attestation_object,
                                         const Expected& expected) {
  MIST_TRY_VOID(check_client_data(client_data, Ceremony::Registration, expected));
  MIST_TRY(const std::string_view bytes, authenticator_data_in(attestation_object));
  MIST_TRY(const AuthenticatorData data, parse_authenticator_data(bytes));
  MIST_TRY_VOID(check_flags(data, expected));
  if (!data.credential) return unreadable_answer("there is no credential in it");
  return NewCredential{.id = std::string(data.credential->id),
                       .key = data.credential->key,
                       .counter = data.counter,
                       .backup_eligible = data.backup_eligible};
}

Result<Proved> check_assertion(const Assertion& assertion, const crypto::PublicKey& key,
                               const Expected& expected) {
  MIST_TRY_VOID(check_client_data(assertion.client_data, Ceremony::Authentication, expected));
  MIST_TRY(const AuthenticatorData data, parse_authenticator_data(assertion.authenticator_data));
  MIST_TRY_VOID(check_flags(data, expected));
  const crypto::Digest hash = crypto::sha256(assertion.client_data);
  if (!key.verify(assertion.authenticator_data + hash.raw(), assertion.signature))
    return refused("its signature is wrong");
  return Proved{
      .counter = data.counter, .user_verified = data.user_verified, .backup_eligible = data.backup_eligible};
}

}  // namespace mist::webauthn
