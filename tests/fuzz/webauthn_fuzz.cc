// webauthn: the answers of browsers and authenticators. A key that was read verifies without a fault, and
// nothing that isn't signed is proved.
#include "webauthn/ceremony.h"

#include "targets.h"
#include "webauthn/authenticator_data.h"
#include "webauthn/credential_json.h"

namespace mist::fuzz {
namespace {

const webauthn::Expected& expected() {
  static const webauthn::Expected kExpected{
      .rp_id = "c.example", .origin = "https://c.example", .challenge = std::string(32, 'c')};
  return kExpected;
}

void registration(std::string_view client_data, std::string_view attestation) {
  const auto made = webauthn::check_registration(client_data, attestation, expected());
  if (!made.ok()) return check_error(made.error());
  if (made->id.empty() || made->id.size() > webauthn::kLongestCredential)
    fail("an identifier of no length", "");
  if (made->key.verify("message", "signature")) fail("anything is a signature", "");
}

}  // namespace

// First byte: 0 and 1 the JSON of a credential, 2 an attestation object with good client data, else the data
// of an authenticator.
void webauthn(std::string_view bytes) {
  Input input(bytes);
  const auto kind = static_cast<char>(input.byte());
  if (kind == '0') {
    const auto answer = webauthn::parse_registration(input.rest());
    if (!answer.ok()) return check_error(answer.error());
    return registration(answer->client_data, answer->attestation_object);
  }
  if (kind == '1') {
    const auto answer = webauthn::parse_authentication(input.rest());
    if (!answer.ok()) return check_error(answer.error());
    if (const auto challenge = webauthn::challenge_of(answer->assertion.client_data); !challenge.ok())
      check_error(challenge.error());
    return;
  }
  if (kind == '2')
    return registration(
        R"({"type":"webauthn.create","challenge":"Y2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2M",)"
        R"("origin":"https://c.example"})",
        input.rest());
  const auto data = webauthn::parse_authenticator_data(input.rest());
  if (!data.ok()) return check_error(data.error());
  if (data->backed_up && !data->backup_eligible) fail("a backup of what can't be backed up", "");
}

}  // namespace mist::fuzz
