#include "crypto/random_stream.h"

#include <algorithm>
#include <array>
#include <string>

#include "crypto/hkdf.h"

namespace mist::crypto {

Seed derived_seed(const Seed& from, std::string_view info) {
  Seed seed{};
  std::ranges::copy(hkdf_sha256(from, {}, as_bytes(info), seed.size()), seed.begin());
  return seed;
}

RandomStream::RandomStream(const Seed& seed, std::string_view name) {
  std::string info = "mistletoe/random-stream/v1/";
  info += name;
  std::ranges::copy(hkdf_sha256(seed, {}, as_bytes(info), key_.size()), key_.begin());
}

void RandomStream::fill(std::span<std::byte> out) {
  while (!out.empty()) {
    if (used_ == block_.size()) {
      std::array<std::byte, 8> counter{};
      for (std::size_t i = 0; i < counter.size(); ++i) counter[i] = static_cast<std::byte>(next_ >> (8 * i));
      block_ = hmac_sha256(key_, counter);
      ++next_;
      used_ = 0;
    }
    const std::size_t count = std::min(out.size(), block_.size() - used_);
    std::ranges::copy(std::span(block_).subspan(used_, count), out.begin());
    used_ += count;
    out = out.subspan(count);
  }
}

}  // namespace mist::crypto
