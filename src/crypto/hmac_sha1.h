#pragma once
// HMAC-SHA1 (RFC 2104), which one-time passwords are made of (RFC 4226), because every authenticator has it.
// For nothing else: what we choose ourselves is SHA-256 (digest.h). Pure; any thread.

#include <array>
#include <cstddef>
#include <span>

namespace mist::crypto {

std::array<std::byte, 20> hmac_sha1(std::span<const std::byte> key, std::span<const std::byte> message);

}  // namespace mist::crypto
