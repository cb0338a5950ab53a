#pragma once
// Random bytes that are a function of a seed and a name, so that the same package with the same seed gives
// the same bytes, and a change in one stream shifts no other. The derivation is a stored format: version 1 is
//   key      = HKDF-SHA256(seed, no salt, "mistletoe/random-stream/v1/" + name, 32)
//   block(i) = HMAC-SHA256(key, i as 8 bytes, little-endian), i = 0, 1, …
// and the stream is block(0) | block(1) | …, used up byte by byte. Its test holds vectors. One owner at a
// time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "crypto/digest.h"

namespace mist::crypto {

using Seed = std::array<std::byte, 32>;

/// HKDF-SHA256(seed, no salt, info, 32): another seed, which says nothing about this one. Each use has an
/// info of its own. Pure; any thread.
Seed derived_seed(const Seed& from, std::string_view info);

class RandomStream {
 public:
  RandomStream(const Seed& seed, std::string_view name);

  /// The next `out.size()` bytes.
  void fill(std::span<std::byte> out);

 private:
  Digest::Bytes key_{};
  Digest::Bytes block_{};
  std::size_t used_ = Digest::kSize;  // of block_
  std::uint64_t next_ = 0;
};

}  // namespace mist::crypto
