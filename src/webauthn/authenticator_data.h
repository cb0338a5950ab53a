#pragma once
// The data of an authenticator, of itself and of a credential (WebAuthn, section 6.1). Pure; any thread.
// Views are of the input.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "crypto/signing.h"

namespace mist::webauthn {

/// The longest identifier that a credential may have.
inline constexpr std::size_t kLongestCredential = 1023;

/// A credential that was made just now.
struct AttestedCredential {
  std::string_view id = {};
  crypto::PublicKey key;
};

struct AuthenticatorData {
  std::string_view rp_id_hash = {};  ///< SHA-256 of the relying party's identifier
  bool user_present = false;
  bool user_verified = false;    ///< by a PIN, a fingerprint, …
  bool backup_eligible = false;  ///< it may be copied to other devices of its owner
  bool backed_up = false;
  std::uint32_t counter = 0;  ///< of signatures; 0 each time: the authenticator counts none
  std::optional<AttestedCredential> credential = {};
};

/// Invalid: cut off, longer than it says, or with a key that can't be used.
Result<AuthenticatorData> parse_authenticator_data(std::string_view bytes);

}  // namespace mist::webauthn
