#pragma once
// Key pairs that are a function of random bytes, as PEM that never changes: the DER is put together here,
// OpenSSL only computes the public half. Pure; any thread.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace mist::crypto {

struct KeyPair {
  std::string private_pem;  ///< PKCS #8 (RFC 5958), "-----BEGIN PRIVATE KEY-----"
  std::string public_pem;   ///< SubjectPublicKeyInfo (RFC 5280), "-----BEGIN PUBLIC KEY-----"
};

inline constexpr std::size_t kKeyBytes = 32;

/// The key pair whose private key is `seed` (RFC 8032, RFC 8410).
KeyPair ed25519_key(std::span<const std::byte, kKeyBytes> seed);

/// The key pair of NIST P-256 with this private scalar, big-endian; nothing if it is 0 or not below the
/// group's order: draw again.
std::optional<KeyPair> p256_key(std::span<const std::byte, kKeyBytes> scalar);

}  // namespace mist::crypto
