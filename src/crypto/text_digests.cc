#include "crypto/text_digests.h"

#include <openssl/evp.h>

#include <array>
#include <span>

#include "base/result.h"
#include "base/text.h"

namespace mist::crypto {

std::vector<std::string> text_digests(std::string_view text) {
  std::vector<std::string> all;
  for (const EVP_MD* const kind : {EVP_md5(), EVP_sha1(), EVP_sha256(), EVP_sha512()}) {
    std::array<std::byte, EVP_MAX_MD_SIZE> out{};
    unsigned size = 0;
    MIST_CHECK(::EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(out.data()), &size,
                            kind, nullptr) == 1);
    all.push_back(hex(std::span(out).first(size)));
  }
  return all;
}

}  // namespace mist::crypto
