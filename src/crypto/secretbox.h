#pragma once
// The encryption of private keys by cosign and minisign: scrypt (RFC 7914), and the secretbox of NaCl
// (XSalsa20-Poly1305, https://nacl.cr.yp.to/secretbox.html), whose stream cipher OpenSSL doesn't have. For
// key files and nothing else; our own data is sealed by aead.h. Pure; any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"

namespace mist::crypto {

using SecretboxKey = std::array<std::byte, 32>;
using SecretboxNonce = std::array<std::byte, 24>;

/// 16 bytes longer than `plain`.
std::string secretbox_seal(const SecretboxKey& key, const SecretboxNonce& nonce, std::string_view plain);
/// Nothing: another key, or changed.
std::optional<std::string> secretbox_open(const SecretboxKey& key, const SecretboxNonce& nonce,
                                          std::string_view sealed);

struct ScryptCost {
  std::uint64_t n = 65536;
  std::uint64_t r = 8;
  std::uint64_t p = 1;
};
/// `length` bytes made from a password. Errors: Invalid (a cost that can't be paid: more than 2 GiB, or no
/// power of two).
Result<std::vector<std::byte>> scrypt(const SecretString& password, std::span<const std::byte> salt,
                                      const ScryptCost& cost, std::size_t length);

}  // namespace mist::crypto
