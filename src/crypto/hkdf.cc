#include "crypto/hkdf.h"

#include <algorithm>

#include "crypto/digest.h"

namespace mist::crypto {

std::vector<std::byte> hkdf_sha256(std::span<const std::byte> secret, std::span<const std::byte> salt,
                                   std::span<const std::byte> info, std::size_t length) {
  MIST_CHECK(length <= 255 * Digest::kSize);
  const Digest::Bytes no_salt{};
  const Digest::Bytes key = hmac_sha256(salt.empty() ? std::span<const std::byte>(no_salt) : salt, secret);

  std::vector<std::byte> out;
  out.reserve(length + Digest::kSize);
  std::vector<std::byte> block;  // T(i-1) | info | i, section 2.3
  std::vector<std::byte> previous;
  for (unsigned counter = 1; out.size() < length; ++counter) {
    block = previous;
    block.insert(block.end(), info.begin(), info.end());
    block.push_back(static_cast<std::byte>(counter));
    const Digest::Bytes next = hmac_sha256(key, block);
    previous.assign(next.begin(), next.end());
    out.insert(out.end(), next.begin(), next.end());
  }
  out.resize(length);
  return out;
}

}  // namespace mist::crypto
