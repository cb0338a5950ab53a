#include "crypto/aead.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>

#include "base/handle.h"

namespace mist::crypto {
namespace {

constexpr std::size_t kNonce = 12;
constexpr std::size_t kTag = 16;
constexpr std::size_t kMaximum = std::size_t{1} << 30;

using Cipher = Handle<EVP_CIPHER_CTX, &::EVP_CIPHER_CTX_free>;

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

}  // namespace

SealingKey::~SealingKey() { ::OPENSSL_cleanse(key_.data(), key_.size()); }

std::vector<std::byte> SealingKey::seal(std::span<const std::byte> plain, std::span<const std::byte> context,
                                        Random& random) const {
  MIST_CHECK(plain.size() <= kMaximum && context.size() <= kMaximum);
  std::vector<std::byte> sealed(plain.size() + kOverhead);
  random.fill(std::span(sealed).first(kNonce));

  const Cipher cipher(::EVP_CIPHER_CTX_new());
  int written = 0;
  unsigned char* const out = raw(sealed.data() + kNonce);
  MIST_CHECK(cipher != nullptr && ::EVP_EncryptInit_ex(cipher.get(), ::EVP_aes_256_gcm(), nullptr,
                                                       raw(key_.data()), raw(sealed.data())) == 1);
  MIST_CHECK(::EVP_EncryptUpdate(cipher.get(), nullptr, &written, raw(context.data()),
                                 static_cast<int>(context.size())) == 1);
  MIST_CHECK(plain.empty() || ::EVP_EncryptUpdate(cipher.get(), out, &written, raw(plain.data()),
                                                  static_cast<int>(plain.size())) == 1);
  MIST_CHECK(::EVP_EncryptFinal_ex(cipher.get(), out + plain.size(), &written) == 1);
  MIST_CHECK(::EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTag, out + plain.size()) == 1);
  return sealed;
}

Result<std::vector<std::byte>> SealingKey::open(std::span<const std::byte> sealed,
                                                std::span<const std::byte> context) const {
  const auto refused = [] {
    return error(ErrorKind::Invalid, "the sealed data was changed, or sealed with another key");
  };
  if (sealed.size() < kOverhead || sealed.size() > kMaximum + kOverhead || context.size() > kMaximum)
    return refused();
  std::vector<std::byte> plain(sealed.size() - kOverhead);
  const std::byte* const body = sealed.data() + kNonce;
  std::array<std::byte, kTag> tag{};
  std::copy_n(body + plain.size(), kTag, tag.begin());

  const Cipher cipher(::EVP_CIPHER_CTX_new());
  int written = 0;
  MIST_CHECK(cipher != nullptr && ::EVP_DecryptInit_ex(cipher.get(), ::EVP_aes_256_gcm(), nullptr,
                                                       raw(key_.data()), raw(sealed.data())) == 1);
  MIST_CHECK(::EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTag, tag.data()) == 1);
  if (::EVP_DecryptUpdate(cipher.get(), nullptr, &written, raw(context.data()),
                          static_cast<int>(context.size())) != 1)
    return refused();
  if (!plain.empty() && ::EVP_DecryptUpdate(cipher.get(), raw(plain.data()), &written, raw(body),
                                            static_cast<int>(plain.size())) != 1)
    return refused();
  // The tag is checked here; until then `plain` is not to be believed.
  if (::EVP_DecryptFinal_ex(cipher.get(), raw(plain.data()) + plain.size(), &written) != 1) return refused();
  return plain;
}

}  // namespace mist::crypto
