#pragma once
// Signatures of messages, with the kinds of keys that cosign, Flux and minisign use: ECDSA on P-256 and P-384
// over SHA-256, Ed25519, RSA (PKCS #1 v1.5 over SHA-256, 2048 bits at least). Keys are plain values; any
// thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "crypto/digest.h"

namespace mist::crypto {

enum class KeyKind : std::uint8_t { EcdsaP256, EcdsaP384, Ed25519, Rsa };
/// "ECDSA P-256", for people.
std::string_view to_string(KeyKind kind);

class PublicKey {
 public:
  /// "-----BEGIN PUBLIC KEY-----": the only block in `text`. Errors: Invalid.
  static Result<PublicKey> parse(std::string_view text);
  /// SubjectPublicKeyInfo (RFC 5280). Errors: Invalid.
  static Result<PublicKey> from_der(std::string_view der);

  KeyKind kind() const { return kind_; }
  /// Names the key: SHA-256 of its SubjectPublicKeyInfo, as Sigstore's hints have it.
  Digest fingerprint() const { return sha256(der_); }
  std::string pem() const;
  const std::string& der() const { return der_; }  ///< SubjectPublicKeyInfo (RFC 5280)
  /// `signature`: ASN.1 DER of ECDSA, 64 bytes of Ed25519, the number of RSA.
  bool verify(std::string_view message, std::string_view signature) const;

  friend bool operator==(const PublicKey&, const PublicKey&) = default;

 private:
  PublicKey(KeyKind kind, std::string der) : kind_(kind), der_(std::move(der)) {}

  KeyKind kind_;
  std::string der_;
};

class PrivateKey {
 public:
  /// PKCS #8, encrypted or not, or the older "EC PRIVATE KEY". Errors: Invalid (no such key, a wrong
  /// passphrase).
  static Result<PrivateKey> parse(std::string_view pem, const SecretString& passphrase = SecretString());
  /// PKCS #8 or ECPrivateKey. Errors: Invalid.
  static Result<PrivateKey> from_der(std::string_view der);

  const PublicKey& public_key() const { return public_key_; }
  /// That of public_key().verify.
  std::string sign(std::string_view message) const;

 private:
  PrivateKey(SecretString der, PublicKey public_key)
      : der_(std::move(der)), public_key_(std::move(public_key)) {}

  SecretString der_;
  PublicKey public_key_;
};

/// "ENCRYPTED PRIVATE KEY": the label of the first PEM block (RFC 7468); empty: there is none.
std::string_view pem_label(std::string_view text);

/// BLAKE2b (RFC 7693) of 64 bytes, without a key, as minisign uses it.
std::string blake2b_512(std::string_view message);

/// The keys of P-256 with which an ECDSA signature of `message` is valid: two, of which one made it; none for
/// what is no signature. A signature that doesn't come with its key is told from another by them (SEC 1,
/// section 4.1.6).
std::vector<PublicKey> possible_p256_keys(std::string_view message, std::string_view signature);

}  // namespace mist::crypto
