#pragma once
// HKDF-SHA256 (RFC 5869): many independent keys from one secret. Pure; any thread.

#include <cstddef>
#include <span>
#include <vector>

namespace mist::crypto {

/// `length` bytes (at most 255 × 32) that only the holder of `secret` can compute. Different `info` or `salt`
/// gives unrelated bytes. An empty salt is 32 zero bytes, as the RFC says.
std::vector<std::byte> hkdf_sha256(std::span<const std::byte> secret, std::span<const std::byte> salt,
                                   std::span<const std::byte> info, std::size_t length);

}  // namespace mist::crypto
