#include "crypto/git_blob.h"

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <span>

#include "base/handle.h"
#include "base/result.h"
#include "base/text.h"

namespace mist::crypto {

std::string git_blob(std::string_view bytes, GitHash hash) {
  std::string header = fmt::format("blob {}", bytes.size());
  header += '\0';
  const Handle<EVP_MD_CTX, &EVP_MD_CTX_free> context(EVP_MD_CTX_new());
  MIST_CHECK(context.get() != nullptr);
  std::array<std::byte, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  const EVP_MD* const kind = hash == GitHash::Sha1 ? EVP_sha1() : EVP_sha256();
  MIST_CHECK(::EVP_DigestInit_ex(context.get(), kind, nullptr) == 1);
  for (const std::string_view part : {std::string_view(header), bytes})
    MIST_CHECK(::EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1);
  MIST_CHECK(::EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size) == 1);
  return hex(std::span(out).first(size));
}

}  // namespace mist::crypto
