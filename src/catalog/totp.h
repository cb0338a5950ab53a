#pragma once
// Codes of an authenticator: time-based one-time passwords (RFC 6238) with SHA-1, six digits and steps of 30
// seconds, which every authenticator has; and the recovery codes for somebody who lost it. Pure; any thread.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/secret.h"

namespace mist::catalog {

inline constexpr std::size_t kTotpSecretBytes = 20;  // RFC 4226, section 4: as long as the hash

/// The number of the step in which `time` is.
std::int64_t totp_step(WallTime time);
/// Of that step; `secret` are its bytes.
std::string totp_code(std::string_view secret, std::int64_t step, int digits = 6);
/// The step of which `code` is, if it is the present one, the one before or the one after it (clocks differ,
/// and people type slowly). Blanks in `code` mean nothing.
std::optional<std::int64_t> step_of_code(std::string_view secret, std::string_view code, WallTime now);

std::string new_totp_secret(Random& random);
/// RFC 4648, without padding: how people type a secret.
std::string base32(std::string_view bytes);
/// The address that authenticators read: "otpauth://totp/…".
std::string totp_uri(std::string_view secret, std::string_view account, std::string_view catalog_host);

/// Ten codes of 80 random bits, "abcd-efgh-ijkl-mnop".
std::vector<SecretString> new_recovery_codes(Random& random);
/// The digest under which one is stored, however it is spelled.
std::string recovery_digest(std::string_view code);

}  // namespace mist::catalog
