#pragma once
// Keys and signatures as JSON Web Keys (RFC 7518) and COSE (RFC 9053) have them, by their bare numbers: made
// into what signing.h reads. Pure; any thread.

#include <string>
#include <string_view>

#include "base/result.h"
#include "crypto/signing.h"

namespace mist::crypto {

/// The RSA key with that modulus and exponent, big-endian. Invalid: it is none that signing.h takes.
Result<PublicKey> rsa_public_key(std::string_view modulus, std::string_view exponent);
/// The key of P-256 at that point, 32 bytes each. Invalid: it isn't on the curve.
Result<PublicKey> p256_public_key(std::string_view x, std::string_view y);
/// The key of Ed25519 with these 32 bytes (RFC 8032). Invalid: they are no key.
Result<PublicKey> ed25519_public_key(std::string_view key);
/// The DER of an ECDSA signature of r and s, 32 bytes each; empty: it doesn't have 64 bytes.
std::string ecdsa_der(std::string_view r_and_s);

}  // namespace mist::crypto
