#pragma once
// Public keys of authenticators (COSE: RFC 9052, section 7; WebAuthn, section 6.5.1.1). Pure; any thread.

#include <array>
#include <cstdint>

#include "base/result.h"
#include "crypto/signing.h"
#include "encoding/cbor.h"

namespace mist::webauthn {

/// The algorithms that are taken, the best first, by their numbers in COSE: ECDSA on P-256 with SHA-256,
/// Ed25519, RSA (PKCS #1 v1.5) with SHA-256.
inline constexpr std::int64_t kEs256 = -7;
inline constexpr std::int64_t kEdDsa = -8;
inline constexpr std::int64_t kRs256 = -257;
inline constexpr std::array<std::int64_t, 3> kAlgorithms{kEs256, kEdDsa, kRs256};

/// Reads one. Invalid: another algorithm or curve, no point of the curve, RSA of fewer than 2048 bits,
/// members that such a key doesn't have.
Result<crypto::PublicKey> read_cose_key(encoding::CborReader& reader);

}  // namespace mist::webauthn
