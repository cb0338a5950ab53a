#pragma once
// An authenticator with its browser, for tests: makes passkeys and signs with them, honestly or not. One
// thread.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "crypto/digest.h"
#include "crypto/keys.h"
#include "crypto/signing.h"
#include "encoding/base64url.h"
#include "encoding/json.h"
#include "encoding/value.h"

namespace mist::webauthn::testing {

// Made by `openssl genpkey -algorithm RSA`. It protects nothing.
inline constexpr std::string_view kRsaKey = R"(-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDArSfkLXHcyJD9
6E3JxP+zaYAxnM70lAGIc8rfYQxRA3VStTwmmXpy9jvPg+G51V/oJrDz3oRmwf1Z
f/GGzZmD4ahsD5Z4TtYkis+oKlx/llpBKOjyBCH4Pqmog7+rFbp9hBH7saXQNh96
UTylgbh0elTtzeZ/SZJoN+5TfSak+ELbSBKGtsnCaDgL83mu4QBlSxHKAhIi9Ofm
XhmPMltB/ASlaeJSVeajzXsuuiAafEsx3ElS8qH0KjOcoNO+qKJSQHQ5i/4XbAZ1
atwyeRhE42GqSdlDt7H46Y3GAmus7tOnxJzRu5viXjVLooOKhMvnTDQ5BdxEfsWi
azrCBbmdAgMBAAECggEAANwRt36BNlj2vKTffZNeO+PjaVVBXyBh7JGHsDBAqJ15
VbsiEsU27j7G//AFfv/16fulaN3vShet4UslPexUHDbsVD8YwffbRyJ10FKpqWNE
V9IU5/xSVa2bfpL7G4pNrYDii6e8c6ddXWOLZiAKcKQzFZruxYnQfpwkeUVJRnPx
haElfXMXIvnluc6txGglpSLbXhZrtb05FDYSU4Nm/O0F3sJC3AuA20XxOYgiYm3T
zEsy+TRIi5MakOj6z+vwXFF2SltJaUtH1QYwE3dF1gtZOCpLX0X8AoHPYWSTv04b
TakyUapeHFqognlHHGSTGphXUCt2A479zkXK7xPngQKBgQDs010uO9NLArMXBrH8
iwbX+iDm67mdq/5s3kpQNxTGhqykWueSaKrEUwyfUBY0TsjYgsgP8rccS7hZNOEn
GYDr4uTAGsNXe/dQct1Gyo7SErv6u3mfXaUbIrVd94HrFx4k3RiDKLWNrx998DUW
jq5sHGzsMYf1zTewggcMbsfwLQKBgQDQRrgutvGwxRsf4NSY6ArKfaLlwFnK00z3
Jjz9ibtvUpbSTH7LRGd0olopubrB+nFpH1KAdvIyyJ7oDRfRrZpVM/qDmbnLkhhS
SO1G6bYBGlp562MEWHPfmW0EupPQ4qNS5CZW5E6+bAFf3Yon7nRoOVKURubNDxZC
mNz+/FtlMQKBgCBd/uU7vfQJiWqDOr42ThgkkmydGQBIqnw8oVF3RbqgW2YXGoEz
FuvAIgCAFJjPj7mvniI33PjcDHT8uiz62lji6Lqsrbf+NF3lZQKw2nYxo0lwZ/30
8YTU6I7QLgxwW2lUYm5CmRWlMpumwcq0c3hJJkXduyRICO1xx/7WATN9AoGAQuc0
quzhXmMyf179a9C+BqWs+hh7v4d4pbuGw/rGVtA02oDwCeODSBgO1nBu6XjFjXse
SV3sFxwSz3/FMvmNJel4g2WSJS5c2bHLZogUiu4oOhm+yNqQ/jaOqoI0kVj8Fdhr
6GWWVdzj5COKCaGzivc+65qK8TvzbpkkBFSUF0ECgYEAplWuWWjyvJnKV7NSlj4R
Y0FTP47qLEVmW9Slqn236lYo8RX4rA7cb+O6s4HfgbgD9fAkFXnFAiS0mfSrX0Ka
f77Wfw0cNFv1BPRZ56Aam62fuCtdiSAW39HvM6pkWELIRlzXbUZSFhDjkzqlUgab
7UXUISC9hPxDoEti94tZVX4=
-----END PRIVATE KEY-----
)";

enum class KeyType : std::uint8_t { Es256, EdDsa, Rs256 };

/// CBOR of one item, with a length or number below 65536.
inline std::string cbor_head(unsigned major, std::size_t argument) {
  std::string text;
  if (argument < 24) {
    text += static_cast<char>(major << 5 | argument);
  } else if (argument < 256) {
    text += static_cast<char>(major << 5 | 24);
    text += static_cast<char>(argument);
  } else {
    text += static_cast<char>(major << 5 | 25);
    text += static_cast<char>(argument >> 8);
    text += static_cast<char>(argument & 0xff);
  }
  return text;
}
inline std::string cbor_number(std::int64_t number) {
  return number >= 0 ? cbor_head(0, static_cast<std::size_t>(number))
                     : cbor_head(1, static_cast<std::size_t>(-1 - number));
}
inline std::string cbor_bytes(std::string_view bytes) { return cbor_head(2, bytes.size()).append(bytes); }
inline std::string cbor_text(std::string_view text) { return cbor_head(3, text.size()).append(text); }

/// Its public members may be changed before create() and get().
class SoftwareAuthenticator {
 public:
  using Value = encoding::Value;

  explicit SoftwareAuthenticator(KeyType type = KeyType::Es256, unsigned char seed = 7)
      : id(fmt::format("credential-{}", seed)), type_(type), key_(made(type, seed)) {}

  std::string id;
  std::string rp_id = "c.example", origin = "https://c.example";
  std::string handle = {};  // that it gives; of the options of create()
  bool user_present = true, user_verified = true, backup_eligible = false, backed_up = false;
  std::uint32_t counter = 0;  // of the last signature
  std::uint32_t step = 1;     // by which it grows; 0: it counts nothing
  std::string format = "none", statement = cbor_head(5, 0);
  std::string extensions = {};  // CBOR
  std::string create_type = "webauthn.create", get_type = "webauthn.get";
  std::vector<std::pair<std::string, Value>> more_client_data = {{"crossOrigin", Value(false)}};

  // The browser's JSON of a credential, for the options as a page gets them.
  std::string create(const Value& options) {
    handle = *encoding::base64url_decode(options.find("user")->string_at("id"));
    return registration(options.string_at("challenge"));
  }
  std::string get(const Value& options) { return authentication(options.string_at("challenge")); }

  std::string registration(std::string_view challenge) const {
    return credential({{"clientDataJSON", bytes(client_data(create_type, challenge))},
                       {"attestationObject", bytes(attestation_object(authenticator_data(true)))},
                       {"transports", Value::array({Value("internal"), Value("hybrid")})}});
  }
  std::string authentication(std::string_view challenge) {
    counter += step;
    const std::string data = client_data(get_type, challenge);
    const std::string said = authenticator_data(false);
    return credential({{"clientDataJSON", bytes(data)},
                       {"authenticatorData", bytes(said)},
                       {"signature", bytes(signature(said, data))},
                       {"userHandle", Value(encoding::base64url_encode(handle))}});
  }

  // `challenge` is base64url.
  std::string client_data(std::string_view type, std::string_view challenge) const {
    Value data =
        Value::object({{"type", Value(type)}, {"challenge", Value(challenge)}, {"origin", Value(origin)}});
    for (const auto& [name, value] : more_client_data) data.set(name, value);
    return encoding::to_json(data);
  }
  std::string authenticator_data(bool with_credential) const {
    std::string data = text_of(crypto::sha256(rp_id));
    data +=
        static_cast<char>((user_present ? 1 : 0) | (user_verified ? 4 : 0) | (backup_eligible ? 8 : 0) |
                          (backed_up ? 16 : 0) | (with_credential ? 64 : 0) | (extensions.empty() ? 0 : 128));
    for (int shift = 24; shift >= 0; shift -= 8) data += static_cast<char>(counter >> shift);
    if (with_credential) {
      data += std::string(16, '\0');
      data += static_cast<char>(id.size() >> 8);
      data += static_cast<char>(id.size() & 0xff);
      data += id;
      data += cose_key();
    }
    return data + extensions;
  }
  std::string attestation_object(std::string_view data) const {
    return cbor_head(5, 3) + cbor_text("fmt") + cbor_text(format) + cbor_text("attStmt") + statement +
           cbor_text("authData") + cbor_bytes(data);
  }
  std::string signature(const std::string& said, const std::string& data) const {
    return key_.sign(said + text_of(crypto::sha256(data)));
  }
  std::string cose_key() const {
    const std::string der = public_der();
    const auto member = [](std::int64_t label, const std::string& value) {
      return cbor_number(label) + value;
    };
    switch (type_) {
      case KeyType::Es256:
        return cbor_head(5, 5) + member(1, cbor_number(2)) + member(3, cbor_number(-7)) +
               member(-1, cbor_number(1)) + member(-2, cbor_bytes(der.substr(der.size() - 64, 32))) +
               member(-3, cbor_bytes(der.substr(der.size() - 32)));
      case KeyType::EdDsa:
        return cbor_head(5, 4) + member(1, cbor_number(1)) + member(3, cbor_number(-8)) +
               member(-1, cbor_number(6)) + member(-2, cbor_bytes(der.substr(der.size() - 32)));
      case KeyType::Rs256:
        break;
    }
    // The modulus of 2048 bits ends five bytes before the end of {INTEGER 65537}.
    return cbor_head(5, 4) + member(1, cbor_number(3)) + member(3, cbor_number(-257)) +
           member(-1, cbor_bytes(der.substr(der.size() - 5 - 256, 256))) +
           member(-2, cbor_bytes(der.substr(der.size() - 3)));
  }
  const crypto::PublicKey& public_key() const { return key_.public_key(); }

 private:
  static Value bytes(std::string_view text) { return Value(encoding::base64url_encode(text)); }
  static std::string text_of(const crypto::Digest& digest) {
    return {reinterpret_cast<const char*>(digest.bytes().data()), digest.bytes().size()};
  }
  std::string credential(std::vector<std::pair<std::string, Value>> response) const {
    Value inner = Value::object();
    for (auto& [name, value] : response) inner.set(name, std::move(value));
    return encoding::to_json(Value::object({{"id", bytes(id)},
                                            {"rawId", bytes(id)},
                                            {"type", Value("public-key")},
                                            {"response", std::move(inner)},
                                            {"clientExtensionResults", Value::object()}}));
  }
  std::string public_der() const {
    std::string text;
    const std::string pem = key_.public_key().pem();
    for (const std::string_view line : split(pem, '\n'))
      if (!line.starts_with('-')) text += line;
    std::string der;
    EXPECT_TRUE(base64_decode(text, der));
    return der;
  }
  static crypto::PrivateKey made(KeyType type, unsigned char seed) {
    std::array<std::byte, crypto::kKeyBytes> scalar{};
    scalar.back() = std::byte{seed};
    switch (type) {
      case KeyType::Es256:
        return *crypto::PrivateKey::parse(crypto::p256_key(scalar)->private_pem);
      case KeyType::EdDsa:
        return *crypto::PrivateKey::parse(crypto::ed25519_key(scalar).private_pem);
      case KeyType::Rs256:
        break;
    }
    return *crypto::PrivateKey::parse(kRsaKey);
  }

  KeyType type_;
  crypto::PrivateKey key_;
};

}  // namespace mist::webauthn::testing
