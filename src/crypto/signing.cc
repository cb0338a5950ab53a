#include "crypto/signing.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>

#include "base/handle.h"
#include "base/text.h"

namespace mist::crypto {
namespace {

using KeyOwner = Handle<EVP_PKEY, &EVP_PKEY_free>;
using DigestContext = Handle<EVP_MD_CTX, &EVP_MD_CTX_free>;
using MemoryBio = Handle<BIO, &BIO_free_all>;
using Number = Handle<BIGNUM, &BN_clear_free>;
using NumberContext = Handle<BN_CTX, &BN_CTX_free>;
using Curve = Handle<EC_GROUP, &EC_GROUP_free>;
using CurvePoint = Handle<EC_POINT, &EC_POINT_free>;
using EcdsaPair = Handle<ECDSA_SIG, &ECDSA_SIG_free>;

constexpr int kLeastRsaBits = 2048;
constexpr std::size_t kMostKeyText = 64 << 10;
constexpr std::size_t kP256Bytes = 32;

const unsigned char* raw_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

MemoryBio reading(std::string_view text) {
  MemoryBio bio(BIO_new_mem_buf(text.data(), static_cast<int>(std::min(text.size(), kMostKeyText))));
  MIST_CHECK(bio != nullptr);
  return bio;
}

std::string_view unread(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string_view(data, static_cast<std::size_t>(size)) : std::string_view();
}

std::string all_of(BIO* bio) { return std::string(unread(bio)); }

std::optional<KeyKind> kind_of(EVP_PKEY* key) {
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_ED25519:
      return KeyKind::Ed25519;
    case EVP_PKEY_RSA:
      return EVP_PKEY_get_bits(key) >= kLeastRsaBits ? std::optional(KeyKind::Rsa) : std::nullopt;
    case EVP_PKEY_EC: {
      std::array<char, 64> name{};
      std::size_t length = 0;
      if (EVP_PKEY_get_group_name(key, name.data(), name.size(), &length) != 1) return std::nullopt;
      const int curve = OBJ_sn2nid(name.data());
      if (curve == NID_X9_62_prime256v1) return KeyKind::EcdsaP256;
      if (curve == NID_secp384r1) return KeyKind::EcdsaP384;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

Error unusable_key(std::string_view what) {
  ERR_clear_error();
  return error(ErrorKind::Invalid, "{} can't be used", what)
      .with_because("it is damaged, or of a kind that signs nothing here")
      .with_hint("keys are ECDSA on P-256 or P-384, Ed25519, or RSA of 2048 bits and more");
}

// A point of a curve can be written in three ways (SEC 1, section 2.3.3), and a key has one fingerprint.
std::string public_der(EVP_PKEY* key) {
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_EC)
    MIST_CHECK(EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
                                              OSSL_PKEY_EC_POINT_CONVERSION_FORMAT_UNCOMPRESSED) == 1);
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  MIST_CHECK(size > 0);
  std::string text(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return text;
}

KeyOwner public_key_in(std::string_view der) {
  const unsigned char* at = raw_bytes(der);
  return KeyOwner(d2i_PUBKEY(nullptr, &at, static_cast<long>(std::min(der.size(), kMostKeyText))));
}

KeyOwner private_key_in(std::string_view der) {
  const unsigned char* at = raw_bytes(der);
  return KeyOwner(d2i_AutoPrivateKey(nullptr, &at, static_cast<long>(std::min(der.size(), kMostKeyText))));
}

const EVP_MD* hash_for(KeyKind kind) { return kind == KeyKind::Ed25519 ? nullptr : EVP_sha256(); }

// PEM asks for the passphrase in this form.
int give_passphrase(char* buffer, int size, int /*writing*/, void* given) {
  const std::string& text = static_cast<const SecretString*>(given)->reveal();
  const auto length = std::min(text.size(), static_cast<std::size_t>(std::max(size, 0)));
  std::copy_n(text.data(), length, buffer);
  return static_cast<int>(length);
}

// Without a callback OpenSSL asks the terminal for the passphrase of a text that claims to be encrypted,
// whoever sent that text.
int refuse_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*given*/) { return -1; }

Number number_of(std::string_view bytes) {
  return Number(BN_bin2bn(raw_bytes(bytes), static_cast<int>(bytes.size()), nullptr));
}

// The key of r⁻¹(sR − eG), where R is the point with that x and this parity of y.
std::optional<PublicKey> recovered(const EC_GROUP* curve, const BIGNUM* r, const BIGNUM* s, const BIGNUM* e,
                                   int parity, BN_CTX* context) {
  const CurvePoint point(EC_POINT_new(curve));
  const CurvePoint key(EC_POINT_new(curve));
  const Number inverse(BN_mod_inverse(nullptr, r, EC_GROUP_get0_order(curve), context));
  const Number of_point(BN_new());
  const Number of_base(BN_new());
  if (point == nullptr || key == nullptr || inverse == nullptr || of_point == nullptr || of_base == nullptr)
    return std::nullopt;
  const BIGNUM* const order = EC_GROUP_get0_order(curve);
  if (EC_POINT_set_compressed_coordinates(curve, point.get(), r, parity, context) != 1) return std::nullopt;
  if (BN_mod_mul(of_point.get(), s, inverse.get(), order, context) != 1 ||
      BN_mod_mul(of_base.get(), e, inverse.get(), order, context) != 1 ||
      BN_sub(of_base.get(), order, of_base.get()) != 1 ||
      EC_POINT_mul(curve, key.get(), of_base.get(), point.get(), of_point.get(), context) != 1 ||
      EC_POINT_is_at_infinity(curve, key.get()) == 1)
    return std::nullopt;
  std::string encoded(1 + 2 * kP256Bytes, '\0');
  if (EC_POINT_point2oct(curve, key.get(), POINT_CONVERSION_UNCOMPRESSED,
                         reinterpret_cast<unsigned char*>(encoded.data()), encoded.size(),
                         context) != encoded.size())
    return std::nullopt;
  // SubjectPublicKeyInfo{{id-ecPublicKey, prime256v1}, point}: RFC 5480.
  static constexpr unsigned char kPrefix[] = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48,
                                              0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
                                              0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00};
  const std::string der = std::string(reinterpret_cast<const char*>(kPrefix), sizeof kPrefix) + encoded;
  Result<PublicKey> parsed = PublicKey::from_der(der);
  return parsed ? std::optional(*std::move(parsed)) : std::nullopt;
}

}  // namespace

std::string_view to_string(KeyKind kind) {
  switch (kind) {
    case KeyKind::EcdsaP256:
      return "ECDSA P-256";
    case KeyKind::EcdsaP384:
      return "ECDSA P-384";
    case KeyKind::Ed25519:
      return "Ed25519";
    case KeyKind::Rsa:
      return "RSA";
  }
  return "";
}

std::string_view pem_label(std::string_view text) {
  constexpr std::string_view kOpening = "-----BEGIN ";
  const auto begin = text.find(kOpening);
  if (begin == std::string_view::npos) return {};
  const auto end = text.find("-----", begin + kOpening.size());
  if (end == std::string_view::npos) return {};
  return text.substr(begin + kOpening.size(), end - begin - kOpening.size());
}

Result<PublicKey> PublicKey::parse(std::string_view text) {
  const MemoryBio bio = reading(text);
  const KeyOwner key(PEM_read_bio_PUBKEY(bio.get(), nullptr, &refuse_passphrase, nullptr));
  if (key == nullptr) {
    ERR_clear_error();
    const std::string_view label = pem_label(text);
    return error(ErrorKind::Invalid, "this is not a public key")
        .with_because(label.empty() ? "it is no PEM text"
                                    : fmt::format("it is: {}", escape_controls(label.substr(0, 60))))
        .with_hint("a public key begins with -----BEGIN PUBLIC KEY-----");
  }
  // Of two keys, one would count, and nobody said which.
  if (const std::string_view label = pem_label(unread(bio.get())); !label.empty())
    return error(ErrorKind::Invalid, "this is more than one public key")
        .with_because(fmt::format("behind the first one begins: {}", escape_controls(label.substr(0, 60))))
        .with_hint("give each key a file of its own");
  return from_der(public_der(key.get()));
}

Result<PublicKey> PublicKey::from_der(std::string_view der) {
  const KeyOwner key = public_key_in(der);
  const std::optional<KeyKind> kind = key != nullptr ? kind_of(key.get()) : std::nullopt;
  if (!kind) return unusable_key("the public key");
  return PublicKey(*kind, public_der(key.get()));
}

std::string PublicKey::pem() const {
  const KeyOwner key = public_key_in(der_);
  const MemoryBio bio(BIO_new(BIO_s_mem()));
  MIST_CHECK(key != nullptr && bio != nullptr && PEM_write_bio_PUBKEY(bio.get(), key.get()) == 1);
  return all_of(bio.get());
}

bool PublicKey::verify(std::string_view message, std::string_view signature) const {
  const KeyOwner key = public_key_in(der_);
  const DigestContext context(EVP_MD_CTX_new());
  MIST_CHECK(key != nullptr && context != nullptr);
  MIST_CHECK(EVP_DigestVerifyInit(context.get(), nullptr, hash_for(kind_), nullptr, key.get()) == 1);
  const bool holds = EVP_DigestVerify(context.get(), raw_bytes(signature), signature.size(),
                                      raw_bytes(message), message.size()) == 1;
  if (!holds) ERR_clear_error();
  return holds;
}

namespace {

// By PKCS #8 its label says so, in the older form (RFC 1421) a header below it.
bool is_encrypted(std::string_view pem) {
  return pem_label(pem).contains("ENCRYPTED") || pem.contains("\nProc-Type: 4,ENCRYPTED");
}

}  // namespace

Result<PrivateKey> PrivateKey::parse(std::string_view pem, const SecretString& passphrase) {
  const MemoryBio bio = reading(pem);
  const KeyOwner key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, &give_passphrase, const_cast<SecretString*>(&passphrase)));
  if (key == nullptr) {
    ERR_clear_error();
    const std::string_view label = pem_label(pem);
    Error failure = error(ErrorKind::Invalid, "the private key can't be read");
    const bool encrypted = is_encrypted(pem);
    failure.because = label.empty() ? "it is no PEM text"
                      : encrypted   ? "the password is wrong, or the key is damaged"
                                    : fmt::format("it is: {}", escape_controls(label.substr(0, 60)));
    failure.hint = encrypted ? "check the password"
                             : "a private key begins with -----BEGIN PRIVATE KEY-----; "
                               "`openssl ecparam -name prime256v1 -genkey` makes one";
    return failure;
  }
  unsigned char* der = nullptr;
  const int size = i2d_PrivateKey(key.get(), &der);
  if (size <= 0) return unusable_key("the private key");
  const std::string text(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_clear_free(der, static_cast<std::size_t>(size));
  return from_der(text);
}

Result<PrivateKey> PrivateKey::from_der(std::string_view der) {
  const KeyOwner key = private_key_in(der);
  if (key == nullptr || !kind_of(key.get())) return unusable_key("the private key");
  MIST_TRY(PublicKey open, PublicKey::from_der(public_der(key.get())));
  return PrivateKey(SecretString(std::string(der)), std::move(open));
}

std::string PrivateKey::sign(std::string_view message) const {
  const KeyOwner key = private_key_in(der_.reveal());
  const DigestContext context(EVP_MD_CTX_new());
  MIST_CHECK(key != nullptr && context != nullptr);
  MIST_CHECK(EVP_DigestSignInit(context.get(), nullptr, hash_for(public_key_.kind()), nullptr, key.get()) ==
             1);
  std::size_t size = 0;
  MIST_CHECK(EVP_DigestSign(context.get(), nullptr, &size, raw_bytes(message), message.size()) == 1);
  std::string signature(size, '\0');
  MIST_CHECK(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                            raw_bytes(message), message.size()) == 1);
  signature.resize(size);
  return signature;
}

std::string blake2b_512(std::string_view message) {
  const DigestContext context(EVP_MD_CTX_new());
  std::string digest(64, '\0');
  unsigned int size = 0;
  MIST_CHECK(context != nullptr && EVP_DigestInit_ex(context.get(), EVP_blake2b512(), nullptr) == 1 &&
             EVP_DigestUpdate(context.get(), message.data(), message.size()) == 1 &&
             EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(digest.data()), &size) == 1 &&
             size == digest.size());
  return digest;
}

std::vector<PublicKey> possible_p256_keys(std::string_view message, std::string_view signature) {
  std::vector<PublicKey> keys;
  const unsigned char* at = raw_bytes(signature);
  const EcdsaPair pair(
      d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(std::min(signature.size(), kMostKeyText))));
  const bool is_whole = pair != nullptr && at == raw_bytes(signature) + signature.size();
  const Curve curve(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1));
  const NumberContext context(BN_CTX_new());
  MIST_CHECK(curve != nullptr && context != nullptr);
  const BIGNUM* const r = is_whole ? ECDSA_SIG_get0_r(pair.get()) : nullptr;
  const BIGNUM* const s = is_whole ? ECDSA_SIG_get0_s(pair.get()) : nullptr;
  const BIGNUM* const order = EC_GROUP_get0_order(curve.get());
  const auto in_range = [&](const BIGNUM* number) {
    return number != nullptr && !BN_is_negative(number) && !BN_is_zero(number) && BN_cmp(number, order) < 0;
  };
  if (in_range(r) && in_range(s)) {
    const Digest digest = sha256(message);
    const Number hash = number_of(digest.raw());
    const Number e(BN_new());
    MIST_CHECK(hash != nullptr && e != nullptr && BN_nnmod(e.get(), hash.get(), order, context.get()) == 1);
    for (const int parity : {0, 1})
      if (auto key = recovered(curve.get(), r, s, e.get(), parity, context.get());
          key && key->verify(message, signature))
        keys.push_back(*std::move(key));
  }
  ERR_clear_error();
  return keys;
}

}  // namespace mist::crypto
