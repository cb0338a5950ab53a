#pragma once
// SHA-256 digests: of packages, cache entries, values. "sha256:" and 64 lower-case hexadecimal digits is
// their text (OCI image spec, "Digests"). Plain values; any thread. A Hasher belongs to one thread at a time.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mist::crypto {

std::span<const std::byte> as_bytes(std::string_view text);

class Digest {
 public:
  static constexpr std::size_t kSize = 32;
  using Bytes = std::array<std::byte, kSize>;

  explicit Digest(const Bytes& bytes) : bytes_(bytes) {}

  /// Reads "sha256:<64 lower-case hexadecimal digits>". Invalid for anything else, other algorithms included.
  static Result<Digest> parse(std::string_view text);

  const Bytes& bytes() const { return bytes_; }
  std::string raw() const;  ///< the same, as signatures and protocols take them
  std::string hex() const;  ///< 64 digits, without the algorithm
  std::string str() const;  ///< "sha256:…"

  friend auto operator<=>(const Digest&, const Digest&) = default;

 private:
  Bytes bytes_;
};

Digest sha256(std::span<const std::byte> bytes);
Digest sha256(std::string_view text);

/// SHA-256 of what comes in pieces. A plain value: a copy goes on from the same state.
class Hasher {
 public:
  Hasher();

  Hasher& update(std::span<const std::byte> bytes);
  Hasher& update(std::string_view text);
  /// Adds the length and then the text, so that ("ab", "c") and ("a", "bc") differ.
  Hasher& field(std::string_view text);

  /// The digest of all so far. The hasher must not be used afterwards.
  Digest finish();

 private:
  alignas(8) std::array<std::byte, 112> state_;  // OpenSSL's SHA256_CTX, which no header here shows
};

/// HMAC-SHA256 (RFC 2104).
Digest::Bytes hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message);

/// True if both are equal; takes the same time wherever they differ.
bool constant_time_equal(std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace mist::crypto

template <>
struct std::hash<mist::crypto::Digest> {
  std::size_t operator()(const mist::crypto::Digest& digest) const noexcept {
    std::size_t value = 0;
    for (std::size_t i = 0; i < sizeof value; ++i)
      value = value << 8 | std::to_integer<std::size_t>(digest.bytes()[i]);
    return value;
  }
};
