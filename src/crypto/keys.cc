#include "crypto/keys.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>

#include <algorithm>
#include <string_view>

#include "base/handle.h"
#include "base/hex.h"
#include "base/result.h"
#include "crypto/der.h"

namespace mist::crypto {
namespace {

using BnHandle = Handle<BIGNUM, &BN_clear_free>;
using GroupHandle = Handle<EC_GROUP, &EC_GROUP_free>;
using PointHandle = Handle<EC_POINT, &EC_POINT_free>;
using KeyHandle = Handle<EVP_PKEY, &EVP_PKEY_free>;

const unsigned char* data_of(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The beginning of DER, written as hexadecimal.
std::string prefix(std::string_view digits) { return *bytes_of_hex(digits); }

}  // namespace

KeyPair ed25519_key(std::span<const std::byte, kKeyBytes> seed) {
  const KeyHandle key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, data_of(seed), seed.size()));
  MIST_CHECK(key != nullptr);
  std::array<std::byte, kKeyBytes> open{};
  std::size_t length = open.size();
  MIST_CHECK(EVP_PKEY_get_raw_public_key(key.get(), reinterpret_cast<unsigned char*>(open.data()), &length) ==
             1);
  // PrivateKeyInfo{0, {id-Ed25519}, OCTET STRING{OCTET STRING{seed}}} and SubjectPublicKeyInfo: RFC 8410.
  return {pem_block("PRIVATE KEY", prefix("302e020100300506032b657004220420") + text_of(seed)),
          pem_block("PUBLIC KEY", prefix("302a300506032b6570032100") + text_of(open))};
}

std::optional<KeyPair> p256_key(std::span<const std::byte, kKeyBytes> scalar) {
  const GroupHandle group(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1));
  const BnHandle number(BN_bin2bn(data_of(scalar), static_cast<int>(scalar.size()), nullptr));
  MIST_CHECK(group != nullptr && number != nullptr);
  if (BN_is_zero(number.get()) || BN_cmp(number.get(), EC_GROUP_get0_order(group.get())) >= 0)
    return std::nullopt;
  const PointHandle point(EC_POINT_new(group.get()));
  MIST_CHECK(point != nullptr);
  MIST_CHECK(EC_POINT_mul(group.get(), point.get(), number.get(), nullptr, nullptr, nullptr) == 1);
  std::array<std::byte, 1 + 2 * kKeyBytes> open{};
  MIST_CHECK(EC_POINT_point2oct(group.get(), point.get(), POINT_CONVERSION_UNCOMPRESSED,
                                reinterpret_cast<unsigned char*>(open.data()), open.size(),
                                nullptr) == open.size());
  // PrivateKeyInfo{0, {id-ecPublicKey, prime256v1}, OCTET STRING{ECPrivateKey{1, scalar, [1] point}}}: RFC
  // 5915, and SubjectPublicKeyInfo: RFC 5480.
  return KeyPair{
      pem_block("PRIVATE KEY",
                prefix("308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420") +
                    text_of(scalar) + prefix("a144034200") + text_of(open)),
      pem_block("PUBLIC KEY",
                prefix("3059301306072a8648ce3d020106082a8648ce3d030107034200") + text_of(open))};
}

}  // namespace mist::crypto
