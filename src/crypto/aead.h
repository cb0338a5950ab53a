#pragma once
// Sealing: encryption that notices every change (AES-256-GCM, NIST SP 800-38D). For cache entries that may
// hold secrets. Any thread; a plain value whose key is erased at the end.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/result.h"

namespace mist::crypto {

class SealingKey {
 public:
  static constexpr std::size_t kSize = 32;
  /// A sealed text is this much longer than the plain one: nonce, then tag.
  static constexpr std::size_t kOverhead = 12 + 16;

  explicit SealingKey(const std::array<std::byte, kSize>& key) : key_(key) {}
  SealingKey(const SealingKey&) = default;
  SealingKey& operator=(const SealingKey&) = default;
  ~SealingKey();

  /// Nonce, ciphertext, tag. The nonce is drawn from `random`, so one key is good for 2^32 texts. `context`
  /// (a purpose, a name) isn't stored; the same must be given to open. At most 1 GiB.
  std::vector<std::byte> seal(std::span<const std::byte> plain, std::span<const std::byte> context,
                              Random& random) const;

  /// Invalid if one bit of `sealed` or `context` is other than when it was sealed, or the key is another.
  Result<std::vector<std::byte>> open(std::span<const std::byte> sealed,
                                      std::span<const std::byte> context) const;

 private:
  std::array<std::byte, kSize> key_;
};

}  // namespace mist::crypto
