#pragma once
// An OpenID Connect issuer of tests, which signs whatever it is told to. One thread.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "catalog/id_token.h"
#include "crypto/keys.h"
#include "crypto/signing.h"
#include "encoding/base64url.h"
#include "encoding/json.h"
#include "encoding/value.h"

namespace mist::catalog::testing {

class FakeIssuer {
 public:
  using Value = encoding::Value;
  static constexpr const char* kUrl = "https://login.example";
  static constexpr const char* kClient = "catalog";

  explicit FakeIssuer(std::string key_id = "k1", unsigned char seed = 7)
      : key_id_(std::move(key_id)), key_(made_key(seed)) {}

  // The claims that a good token has.
  static Value claims(const std::string& nonce, WallTime now) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    return Value::object({{"iss", Value(kUrl)},
                          {"sub", Value("subject-1")},
                          {"aud", Value(kClient)},
                          {"exp", Value(seconds + 300)},
                          {"iat", Value(seconds)},
                          {"nonce", Value(nonce)},
                          {"preferred_username", Value("Zoë Smith@example.com")}});
  }
  std::string token(const Value& claims) const {
    return token(claims, Value::object({{"alg", Value("ES256")}, {"kid", Value(key_id_)}}));
  }
  std::string token(const Value& claims, const Value& header) const {
    const std::string message = encoding::base64url_encode(encoding::to_json(header)) + "." +
                                encoding::base64url_encode(encoding::to_json(claims));
    return message + "." + encoding::base64url_encode(raw(key_.sign(message)));
  }
  Value jwk() const {
    const std::string point = bytes().substr(bytes().size() - 64);
    return Value::object({{"kty", Value("EC")},
                          {"crv", Value("P-256")},
                          {"kid", Value(key_id_)},
                          {"use", Value("sig")},
                          {"x", Value(encoding::base64url_encode(point.substr(0, 32)))},
                          {"y", Value(encoding::base64url_encode(point.substr(32)))}});
  }
  Value keys() const { return Value::object({{"keys", Value::array({jwk()})}}); }
  // SubjectPublicKeyInfo.
  std::string bytes() const {
    std::string text;
    const std::string pem = key_.public_key().pem();
    for (const std::string_view line : split(pem, '\n'))
      if (!line.starts_with('-')) text += line;
    std::string der;
    EXPECT_TRUE(base64_decode(text, der));
    return der;
  }

 private:
  static crypto::PrivateKey made_key(unsigned char seed) {
    std::array<std::byte, crypto::kKeyBytes> scalar{};
    scalar.fill(static_cast<std::byte>(seed));
    return *crypto::PrivateKey::parse(crypto::p256_key(scalar)->private_pem);
  }
  // r and s of the DER of a signature, 32 bytes each.
  static std::string raw(std::string_view der) {
    std::string out;
    der.remove_prefix(2);
    for (int i = 0; i < 2; ++i) {
      const auto size = static_cast<std::size_t>(der[1]);
      std::string number(der.substr(2, size));
      der.remove_prefix(2 + size);
      number.insert(0, number.size() < 32 ? 32 - number.size() : 0, '\0');
      out += number.substr(number.size() - 32);
    }
    return out;
  }

  std::string key_id_;
  crypto::PrivateKey key_;
};

}  // namespace mist::catalog::testing
