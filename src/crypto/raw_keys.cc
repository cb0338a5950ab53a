#include "crypto/raw_keys.h"

#include "crypto/der.h"

namespace mist::crypto {
namespace {

constexpr std::size_t kP256Size = 32;
constexpr std::size_t kEd25519Size = 32;
constexpr std::size_t kLongestNumber = 2048;
constexpr char kInteger = 0x02;
constexpr char kBitString = 0x03;
constexpr char kSequence = 0x30;

// A number without a sign: no zeros in front, but one where its highest bit is set.
std::string der_number(std::string_view bytes) {
  while (bytes.size() > 1 && bytes.front() == '\0') bytes.remove_prefix(1);
  const bool is_high = bytes.empty() || (static_cast<unsigned char>(bytes.front()) & 0x80) != 0;
  return der_element(kInteger, (is_high ? std::string(1, '\0') : std::string()).append(bytes));
}

// SubjectPublicKeyInfo (RFC 5280); `algorithm` is its DER.
std::string public_key_info(std::string_view algorithm, std::string_view key) {
  return der_element(kSequence,
                     std::string(algorithm) + der_element(kBitString, std::string(1, '\0').append(key)));
}

}  // namespace

Result<PublicKey> rsa_public_key(std::string_view modulus, std::string_view exponent) {
  if (modulus.empty() || exponent.empty() || modulus.size() > kLongestNumber || exponent.size() > 8)
    return error(ErrorKind::Invalid, "the numbers are no RSA key");
  // {rsaEncryption, NULL}: RFC 3279, section 2.3.1.
  static constexpr unsigned char kRsa[] = {0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86,
                                           0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00};
  return PublicKey::from_der(
      public_key_info(std::string_view(reinterpret_cast<const char*>(kRsa), sizeof kRsa),
                      der_element(kSequence, der_number(modulus) + der_number(exponent))));
}

Result<PublicKey> p256_public_key(std::string_view x, std::string_view y) {
  if (x.size() != kP256Size || y.size() != kP256Size)
    return error(ErrorKind::Invalid, "a point of P-256 has two numbers of {} bytes", kP256Size);
  // {id-ecPublicKey, prime256v1}: RFC 5480, section 2.1.1.
  static constexpr unsigned char kP256[] = {0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
                                            0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07};
  return PublicKey::from_der(
      public_key_info(std::string_view(reinterpret_cast<const char*>(kP256), sizeof kP256),
                      std::string(1, '\x04').append(x).append(y)));
}

Result<PublicKey> ed25519_public_key(std::string_view key) {
  if (key.size() != kEd25519Size)
    return error(ErrorKind::Invalid, "a key of Ed25519 has {} bytes", kEd25519Size);
  // {id-Ed25519}: RFC 8410, section 3.
  static constexpr unsigned char kEd25519[] = {0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70};
  return PublicKey::from_der(
      public_key_info(std::string_view(reinterpret_cast<const char*>(kEd25519), sizeof kEd25519), key));
}

std::string ecdsa_der(std::string_view r_and_s) {
  if (r_and_s.size() != 2 * kP256Size) return {};
  return der_element(kSequence,
                     der_number(r_and_s.substr(0, kP256Size)) + der_number(r_and_s.substr(kP256Size)));
}

}  // namespace mist::crypto
