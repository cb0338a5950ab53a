#pragma once
// The two ceremonies of WebAuthn (Level 3, sections 7.1 and 7.2), as the relying party checks them: somebody
// registers a passkey, and shows later that they have it. Pure; any thread. Which challenges were given, and
// which passkeys there are, the caller knows.
//
// Errors: Invalid: something can't be read. Forbidden: it can be read, and proves nothing here.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "crypto/signing.h"

namespace mist::webauthn {

enum class Ceremony : std::uint8_t { Registration, Authentication };

/// Whether the authenticator must have verified its user.
enum class Verification : std::uint8_t { Preferred, Required };

struct Expected {
  std::string rp_id = {};      ///< "catalog.example.com"
  std::string origin = {};     ///< "https://catalog.example.com"
  std::string challenge = {};  ///< its bytes
  Verification verification = Verification::Preferred;
};

/// The challenge that the browser's data says it answers, as bytes. The data is checked by what follows.
/// Invalid.
Result<std::string> challenge_of(std::string_view client_data);

struct NewCredential {
  std::string id = {};  ///< its bytes
  crypto::PublicKey key;
  std::uint32_t counter = 0;
  bool backup_eligible = false;
};
/// `client_data` is its JSON. An attestation statement is read and not trusted, whatever its format: we don't
/// ask for one, and any authenticator may be used.
Result<NewCredential> check_registration(std::string_view client_data, std::string_view attestation_object,
                                         const Expected& expected);

/// The answer of an authenticator, as bytes.
struct Assertion {
  std::string client_data = {}, authenticator_data = {}, signature = {};
};
struct Proved {
  std::uint32_t counter = 0;
  bool user_verified = false;
  bool backup_eligible = false;
};
/// Signed by `key`. The caller compares the counter with the last one: if it didn't
/// grow, the passkey's key may be in two devices. A passkey that never counts has 0 each time.
Result<Proved> check_assertion(const Assertion& assertion, const crypto::PublicKey& key,
                               const Expected& expected);

}  // namespace mist::webauthn
