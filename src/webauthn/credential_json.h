#pragma once
// The questions of a page to the browser's navigator.credentials, and its answers, as JSON (WebAuthn Level 3,
// sections 5.1.8 and 5.1.9): bytes are base64url. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "encoding/value.h"
#include "webauthn/ceremony.h"

namespace mist::webauthn {

/// A passkey that the browser may use, or may not make again.
struct Descriptor {
  std::string id = {};                       ///< its bytes
  std::vector<std::string> transports = {};  ///< as the browser said when it was made
};

struct NewUser {
  std::string handle = {};  ///< random bytes that mean this account
  std::string name = {};
};
/// PublicKeyCredentialCreationOptionsJSON: a passkey that the authenticator finds without being told which
/// (discoverable), if it can have one.
encoding::Value creation_options(std::string_view rp_id, std::string_view rp_name, const NewUser& user,
                                 std::string_view challenge, const std::vector<Descriptor>& known,
                                 Duration timeout);
/// PublicKeyCredentialRequestOptionsJSON. `allowed` is empty: the person chooses among those that the
/// authenticator finds.
encoding::Value request_options(std::string_view rp_id, std::string_view challenge,
                                const std::vector<Descriptor>& allowed, Verification verification,
                                Duration timeout);

/// RegistrationResponseJSON, with bytes for base64url.
struct Registration {
  std::string id = {}, client_data = {}, attestation_object = {};
  std::vector<std::string> transports = {};
};
/// Invalid.
Result<Registration> parse_registration(std::string_view json);

/// AuthenticationResponseJSON, with bytes for base64url.
struct Authentication {
  std::string id = {};
  std::string user_handle = {};  ///< empty: the authenticator gave none
  Assertion assertion = {};
};
/// Invalid.
Result<Authentication> parse_authentication(std::string_view json);

}  // namespace mist::webauthn
