#include "crypto/signing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace mist::crypto {
namespace {

// Made with OpenSSL 3.0: keys, and signatures of "hello" (`openssl dgst -sha256 -sign`; of Ed25519
// `openssl pkeyutl -sign -rawin`). They protect nothing.
constexpr std::string_view kEc = R"(-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIAEJ9TqE46g20hsdgwEpt5Drvh3Dl8sXQasdOo3gEVFooAoGCCqGSM49
AwEHoUQDQgAEteTwWOF+18bA3aMXMT2VYswFX3bbAopzLU5Vvx9u8nKEQvIYjkuf
cb6pFnJ6cvn2o2eVJWkhMNnlPKIzWoeT2Q==
-----END EC PRIVATE KEY-----
)";
constexpr std::string_view kPkcs8 = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAQn1OoTjqDbSGx2D
ASm3kOu+HcOXyxdBqx06jeARUWihRANCAAS15PBY4X7XxsDdoxcxPZVizAVfdtsC
inMtTlW/H27ycoRC8hiOS59xvqkWcnpy+fajZ5UlaSEw2eU8ojNah5PZ
-----END PRIVATE KEY-----
)";
// Of kEncryptedOld its public key, and how `openssl ec -aes256` writes it.
constexpr std::string_view kEncryptedOldPublic = R"(-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAET0f8vWtFwGIlK1OsuBPuNlpFsA8s
zIoNTJ7Hl5S3MPn7ySN8GfeqUd+xpUTw4hMOeS+yb9IyXKVPcevXTsXkSA==
-----END PUBLIC KEY-----
)";
constexpr std::string_view kEncryptedOld = R"(-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-256-CBC,19D6B425B830B6640E848159EC189F2A

AbuM/6Ct/O5jOCOoR0bpK0EscNmwLy6l52pgIhr7v9BID9814V2gTjL4Na7o3KSL
rZHdidz1Ns+ASNOz1BTZRalONdR2a0h+hiZjVctf/qe0/Sp2NXsyBhmcCmItROAH
WIPN8s+uHQxH1vtGe+CI/XOeYHlkhasOZtnZ7zigJjY=
-----END EC PRIVATE KEY-----
)";
constexpr std::string_view kEncrypted = R"(-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgVRiVKKEE8pAICA+gw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEGOpPp7i8PD7C/Ps/gspBMEEgZBY
XlgsvZhPvrANL36FTkaz8GGHzL3Tlo5+/S4NgWCJ8hOEzlvkBORlDyshcCL2aTIS
QbrHzC6SA2EbpsmTjyKmQ8L3G3HA6CGaNgEXVBgR6xtna1Xc3nFESCcwfOvIg119
zlXAvppjwUezkBFV0Otl+uRqE9cunPz1sBh6s1eXmBZ+rkxZPt3+Ui1Oh9oNExg=
-----END ENCRYPTED PRIVATE KEY-----
)";
constexpr std::string_view kEd25519 = R"(-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEILyFmju8h9iX7BA6J9ytoEn3L+UDon/Wugsah5HGRgDc
-----END PRIVATE KEY-----
)";
constexpr std::string_view kEcPublic = R"(-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEteTwWOF+18bA3aMXMT2VYswFX3bb
AopzLU5Vvx9u8nKEQvIYjkufcb6pFnJ6cvn2o2eVJWkhMNnlPKIzWoeT2Q==
-----END PUBLIC KEY-----
)";
constexpr std::string_view kEdPublic = R"(-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAfEL4q1nzby3FgZQE4zVNA1T2Cw3v1ZIWa/dTAG8eDRw=
-----END PUBLIC KEY-----
)";
constexpr std::string_view kRsaPublic = R"(-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAruEBYp2yqam1FLY0xk7k
gPZpBKP9ab3LqdluDTbaXfeZ6B5PvS2pmkKW7I9e2FxoPb1/Evyu5qik1sJeNEea
vptFB7VUaz6/TP/DaIFbLXHrbqgGffgL/umlHd/q2vYOb90N0CLK35axvLHQ/Ppn
d5xVheHJz1dUo9JmWiJjYiRkZYrRLW/L+D+oDrgYYKdbz39mZmeGUdz394LgQUeW
XPmnwvWGtUt1XpPf56tDM0QApBKjK9/7uJojuF5fpR3JBsnY5TAuGtJoSU2jEO9V
8aEvmx+iLR47msdKOyQGpf8HTySi4dZcveQ1/SRcZge1Mid3lEAQx7r79nzCOMr5
5QIDAQAB
-----END PUBLIC KEY-----
)";
constexpr std::string_view kP384Public = R"(-----BEGIN PUBLIC KEY-----
MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEw2wE+5E5AzR6a1XjFvV3pqoIPkP5YJbu
wwHTHxKs/Tec1kTr6EM0hTVYZ/9saMZZColypFE3H5SHV2eEKtx2scF3r7APGRGa
cCyljkzr7qm/Ai4OC7O2CrvRv/APa584
-----END PUBLIC KEY-----
)";
constexpr std::string_view kSmallRsaPublic = R"(-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDbv7t12svCsohohAru+vg0cfNU
k2Zs6jbxHGoB6eagQmy2FmC9sFDoJUiqSZwHUTpbNTD5sULh4GdOv1f1OoQlmsXe
pvG+LaCRXyGnb+9mVVUzPzmDWOyQ9rMuRBShNfGZskIaD+d/fQ5bu+6TfAb6zVxa
gjWLPavHTecO55taNwIDAQAB
-----END PUBLIC KEY-----
)";
constexpr std::string_view kOtherCurvePublic = R"(-----BEGIN PUBLIC KEY-----
MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEMcSmgCfkUqaMaD3faRKIASF0yA99LxbZ
gt0TvXz1PIEGdRx7hu+4zQTL56jQzMMGLGaLXr4d1HT9IS2EzKAplQ==
-----END PUBLIC KEY-----
)";
constexpr std::string_view kEcSignature =
    "MEQCICD9HpzUMioLZe+2O2MLypNqClMgJsxnUXOULOjfT4LDAiBDNg981FYOGK+QHPP72RPAgRA1PSBGGdhqwkt5lGAavA==";
constexpr std::string_view kEdSignature =
    "tOJatTfxVe3XxGtYJT6V/ORld8yRUQBjjqA9VzzYQvvHtHw58rE0EW9d+OJf7Ka2sc3rXXw7RktGqHbJAoGwCg==";
constexpr std::string_view kRsaSignature =
    "qKR++PzRsLHuLB/+ifBruE+zsKCwVA0KGMId/ylY3WaeiMK7p+Tw6xne5mQaoQHvUJfn67It6ZM0QOUNEjrM/RRnbTGuFBTFt61A"
    "99ulho/o9j04u86Ezxf3r0kh9SZ7m/s9S9AfDtcy1/PbIrE3gxHUdMInkAO7ynQ//ZchR7IbPwqgmQNWeY7/zH68wDXorYyeZOO5"
    "ixRuNYO1jMgHvAa9qodlAvf8Pi4UwGtkOrnigK5sRfsRmGSezyRjlmdsn01sLY4SDgQWaAE26zQH6D7+K+WQWx2MSZi1vzktyOim"
    "WbrSBbFL2yxdpE0/H4xSQYwTk8m6hSGdvy+T4mjVJg==";
constexpr std::string_view kP384Signature =
    "MGUCMAqEryGBynLDMXva21kUT1MFL3hhExF2UPuu+z9piIW/12olpiGkUo/BXdQN72oxlwIxAKFAjHiXhyOmA6ugLUO9ikLSj3Oi"
    "SwjbWUVQOmp81WzS/7yEt71rJ4b3mBdKvut7iQ==";
constexpr std::string_view kFingerprint =
    "sha256:8ec01b4ee098475186096074896d919bd5c482790cdde29ef9905c3712db7db7";
constexpr std::string_view kMessage = "hello";

std::string decoded(std::string_view text) {
  std::string bytes;
  EXPECT_TRUE(base64_decode(text, bytes));
  return bytes;
}
PublicKey key_in(std::string_view text) {
  Result<PublicKey> key = PublicKey::parse(text);
  EXPECT_TRUE(key.ok()) << key.error().to_line();
  return *std::move(key);
}

TEST(Signing, VerifiesWhatOpensslSignedWithEachKindOfKey) {
  struct Case {
    std::string_view key, signature;
    KeyKind kind;
  };
  for (const Case& each :
       {Case{kEcPublic, kEcSignature, KeyKind::EcdsaP256},
        Case{kP384Public, kP384Signature, KeyKind::EcdsaP384},
        Case{kEdPublic, kEdSignature, KeyKind::Ed25519}, Case{kRsaPublic, kRsaSignature, KeyKind::Rsa}}) {
    const PublicKey key = key_in(each.key);
    const std::string signature = decoded(each.signature);
    EXPECT_EQ(key.kind(), each.kind);
    EXPECT_TRUE(key.verify(kMessage, signature)) << to_string(each.kind);
    EXPECT_FALSE(key.verify("hellp", signature)) << to_string(each.kind);
    EXPECT_FALSE(key.verify(kMessage, signature.substr(1))) << to_string(each.kind);
    EXPECT_FALSE(key.verify(kMessage, signature + "x")) << to_string(each.kind);
    EXPECT_FALSE(key.verify(kMessage, "")) << to_string(each.kind);
    EXPECT_EQ(key_in(key.pem()), key);
  }
}

TEST(Signing, SignsWithAllFormsOfPrivateKeys) {
  for (const std::string_view text : {kEc, kPkcs8, kEd25519}) {
    const auto key = PrivateKey::parse(text);
    ASSERT_TRUE(key.ok()) << key.error().to_line();
    EXPECT_TRUE(key->public_key().verify(kMessage, key->sign(kMessage)));
  }
  EXPECT_EQ(PrivateKey::parse(kEc)->public_key(), key_in(kEcPublic));
  EXPECT_EQ(PrivateKey::parse(kEd25519)->public_key(), key_in(kEdPublic));
}

TEST(Signing, OpensAnEncryptedKeyOfTheOlderFormWithItsPasswordOnly) {
  const auto key = PrivateKey::parse(kEncryptedOld, SecretString("open"));
  ASSERT_TRUE(key.ok()) << key.error().to_line();
  EXPECT_EQ(key->public_key(), key_in(kEncryptedOldPublic));
  for (const std::string_view password : {"", "other"}) {
    const auto refused = PrivateKey::parse(kEncryptedOld, SecretString(std::string(password)));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().because, "the password is wrong, or the key is damaged");
    EXPECT_EQ(refused.error().hint, "check the password");
  }
}

TEST(Signing, OpensAnEncryptedKeyWithItsPasswordOnly) {
  const auto key = PrivateKey::parse(kEncrypted, SecretString("open"));
  ASSERT_TRUE(key.ok()) << key.error().to_line();
  EXPECT_EQ(key->public_key(), key_in(kEcPublic));
  for (const std::string_view password : {"", "other"}) {
    const auto refused = PrivateKey::parse(kEncrypted, SecretString(std::string(password)));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().because, "the password is wrong, or the key is damaged");
  }
}

TEST(Signing, AFingerprintIsThatOfTheKeyInDer) {
  EXPECT_EQ(key_in(kEcPublic).fingerprint().str(), kFingerprint);
}

// `openssl ec -pubin -conv_form compressed` and `… hybrid` write the same key so.
TEST(Signing, AKeyHasOneFingerprintHoweverItsPointIsWritten) {
  constexpr std::string_view kCompressed = R"(-----BEGIN PUBLIC KEY-----
MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgADteTwWOF+18bA3aMXMT2VYswFX3bb
AopzLU5Vvx9u8nI=
-----END PUBLIC KEY-----
)";
  constexpr std::string_view kHybrid = R"(-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAHteTwWOF+18bA3aMXMT2VYswFX3bb
AopzLU5Vvx9u8nKEQvIYjkufcb6pFnJ6cvn2o2eVJWkhMNnlPKIzWoeT2Q==
-----END PUBLIC KEY-----
)";
  const Result<PublicKey> usual = PublicKey::parse(kEcPublic);
  for (const std::string_view text : {kCompressed, kHybrid}) {
    const Result<PublicKey> other = PublicKey::parse(text);
    ASSERT_TRUE(other.ok()) << other.error().to_line();
    EXPECT_EQ(*other, *usual);
    EXPECT_EQ(other->fingerprint(), usual->fingerprint());
    EXPECT_EQ(other->pem(), usual->pem());
  }
}

TEST(Signing, AFileOfSeveralPublicKeysIsRefused) {
  const auto both = PublicKey::parse(fmt::format("{}{}", kEcPublic, kEdPublic));
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.error().message, "this is more than one public key");
  EXPECT_EQ(both.error().because, "behind the first one begins: PUBLIC KEY");
  EXPECT_TRUE(PublicKey::parse(fmt::format("A comment\n{}\nand another\n", kEcPublic)).ok());
}

TEST(Signing, RefusesKeysThatAreTooWeakOrOfOtherCurves) {
  for (const std::string_view text : {kSmallRsaPublic, kOtherCurvePublic})
    EXPECT_FALSE(PublicKey::parse(text).ok());
}

TEST(Signing, SaysWhatIsNoKey) {
  EXPECT_EQ(PublicKey::parse(kEc).error().because, "it is: EC PRIVATE KEY");
  EXPECT_EQ(PublicKey::parse("no").error().because, "it is no PEM text");
  EXPECT_EQ(PrivateKey::parse(kEcPublic).error().because, "it is: PUBLIC KEY");
  EXPECT_FALSE(PublicKey::from_der(std::string(100, '\xff')).ok());
  EXPECT_FALSE(PrivateKey::from_der("").ok());
}

TEST(Signing, APublicKeyThatClaimsToBeEncryptedAsksNobodyForAPassphrase) {
  const std::string pem =
      "-----BEGIN PUBLIC KEY-----\nProc-Type: 4,ENCRYPTED\n"
      "DEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\nAAAAAAAAAAAAAAAAAAAAAA==\n"
      "-----END PUBLIC KEY-----\n";
  ::testing::internal::CaptureStderr();
  const bool is_read = PublicKey::parse(pem).ok();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(is_read);
}

TEST(Signing, TellsTwoKeysFromASignatureOfWhichOneMadeIt) {
  const std::vector<PublicKey> keys = possible_p256_keys(kMessage, decoded(kEcSignature));
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(std::ranges::count(keys, key_in(kEcPublic)), 1);
  // Another message by the same key leaves one.
  const auto key = PrivateKey::parse(kEc);
  std::vector<PublicKey> both;
  for (const PublicKey& each : possible_p256_keys("other", key->sign("other")))
    if (std::ranges::find(keys, each) != keys.end()) both.push_back(each);
  EXPECT_EQ(both, std::vector{key_in(kEcPublic)});
}

TEST(Signing, TellsNoKeyFromWhatIsNoSignature) {
  EXPECT_TRUE(possible_p256_keys(kMessage, "").empty());
  EXPECT_TRUE(possible_p256_keys(kMessage, decoded(kEdSignature)).empty());
  EXPECT_TRUE(possible_p256_keys(kMessage, decoded(kEcSignature) + "x").empty());
  // r and s are 0, or far beyond the order of the group.
  EXPECT_TRUE(possible_p256_keys(kMessage, std::string("\x30\x06\x02\x01\x00\x02\x01\x00", 8)).empty());
  EXPECT_TRUE(possible_p256_keys(kMessage, decoded(kP384Signature)).empty());
}

}  // namespace
}  // namespace mist::crypto
