#include "crypto/hmac_sha1.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/result.h"

namespace mist::crypto {

std::array<std::byte, 20> hmac_sha1(std::span<const std::byte> key, std::span<const std::byte> message) {
  std::array<std::byte, 20> out{};
  unsigned size = 0;
  MIST_CHECK(::HMAC(EVP_sha1(), key.data(), static_cast<int>(key.size()),
                    reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                    reinterpret_cast<unsigned char*>(out.data()), &size) != nullptr);
  MIST_CHECK(size == out.size());
  return out;
}

}  // namespace mist::crypto
