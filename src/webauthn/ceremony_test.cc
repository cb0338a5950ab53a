#include "webauthn/ceremony.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "encoding/base64url.h"
#include "webauthn/authenticator_data.h"
#include "webauthn/cose_key.h"
#include "webauthn/credential_json.h"
#include "webauthn/software_authenticator_fixture.h"

namespace mist::webauthn {
namespace {

using encoding::base64url_encode;
using encoding::Value;
using testing::cbor_bytes;
using testing::cbor_head;
using testing::cbor_number;
using testing::cbor_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::KeyType;
using testing::SoftwareAuthenticator;

const std::string kChallenge(32, 'c');
const std::string kAsked = base64url_encode(kChallenge);

Expected expected(Verification verification = Verification::Preferred) {
  return {.rp_id = "c.example",
          .origin = "https://c.example",
          .challenge = kChallenge,
          .verification = verification};
}

Result<NewCredential> registered(const SoftwareAuthenticator& authenticator,
                                 Verification verification = Verification::Preferred) {
  const auto answer = parse_registration(authenticator.registration(kAsked));
  if (!answer.ok()) return answer.error();
  return check_registration(answer->client_data, answer->attestation_object, expected(verification));
}

Result<Proved> proved(SoftwareAuthenticator& authenticator, const crypto::PublicKey& key,
                      Verification verification = Verification::Preferred) {
  const auto answer = parse_authentication(authenticator.authentication(kAsked));
  if (!answer.ok()) return answer.error();
  return check_assertion(answer->assertion, key, expected(verification));
}

TEST(WebAuthn, APasskeyOfEachKindIsRegisteredAndProvesItself) {
  for (const KeyType type : {KeyType::Es256, KeyType::EdDsa, KeyType::Rs256}) {
    SoftwareAuthenticator authenticator(type);
    authenticator.backup_eligible = authenticator.backed_up = true;
    const auto made = registered(authenticator);
    ASSERT_TRUE(made.ok()) << made.error().to_line();
    EXPECT_EQ(made->id, authenticator.id);
    EXPECT_EQ(made->key, authenticator.public_key());
    EXPECT_EQ(made->counter, 0U);
    EXPECT_TRUE(made->backup_eligible);
    const auto first = proved(authenticator, made->key);
    ASSERT_TRUE(first.ok()) << first.error().to_line();
    EXPECT_EQ(first->counter, 1U);
    EXPECT_TRUE(first->user_verified);
    EXPECT_TRUE(first->backup_eligible);
    EXPECT_EQ(proved(authenticator, SoftwareAuthenticator(KeyType::Es256, 9).public_key()).error().kind,
              ErrorKind::Forbidden)
        << "the key of another passkey";
  }
}

// Section 7.1, step 22: another format than "none" is no reason to refuse, and none to trust.
TEST(WebAuthn, AnAttestationIsReadOverAndNotTrusted) {
  SoftwareAuthenticator authenticator;
  authenticator.format = "packed";
  authenticator.statement =
      cbor_head(5, 2) + cbor_text("alg") + cbor_number(-7) + cbor_text("sig") + cbor_bytes("no signature");
  EXPECT_TRUE(registered(authenticator).ok());
  authenticator.format = "none";
  EXPECT_THAT(registered(authenticator).error().because, HasSubstr("and a statement"));
  authenticator.statement = cbor_text("no map");
  EXPECT_EQ(registered(authenticator).error().kind, ErrorKind::Invalid);
}

TEST(WebAuthn, AnythingThatIsNotAsItShouldBeIsRefusedAndSaysWhy) {
  using Change = std::function<void(SoftwareAuthenticator&)>;
  const std::vector<std::pair<Change, std::string>> changes{
      {[](auto& a) { a.origin = "https://evil.example"; }, "another site"},
      {[](auto& a) { a.origin = "http://c.example"; }, "another site"},
      {[](auto& a) { a.origin = "https://c.example:8443"; }, "another site"},
      {[](auto& a) { a.origin = "https://c.example.evil.example"; }, "another site"},
      {[](auto& a) { a.rp_id = "example"; }, "another site"},
      {[](auto& a) { a.user_present = false; }, "nobody touched"},
      {[](auto& a) { std::swap(a.create_type, a.get_type); }, "another ceremony"},
      {[](auto& a) { a.more_client_data = {{"crossOrigin", Value(true)}}; }, "inside one of another"},
      {[](auto& a) { a.more_client_data = {{"crossOrigin", Value("no")}}; }, "inside one of another"},
      {[](auto& a) { a.more_client_data = {{"topOrigin", Value("https://evil.example")}}; },
       "inside one of another"},
      {[](auto& a) { a.more_client_data = {{"challenge", Value("")}}; }, "another challenge"},
      {[](auto& a) { a.more_client_data = {{"challenge", Value(base64url_encode("x"))}}; },
       "another challenge"},
      {[](auto& a) { a.backed_up = true; }, "a backup of what"},
      {[](auto& a) { a.extensions = "\x01"; }, "no map"},
      {[](auto& a) { a.user_verified = false; }, "didn't check who"},
  };
  for (const auto& [change, why] : changes) {
    SoftwareAuthenticator good;
    SoftwareAuthenticator bad;
    change(bad);
    ASSERT_TRUE(registered(good, Verification::Required).ok());
    const auto made = registered(bad, Verification::Required);
    ASSERT_FALSE(made.ok()) << why;
    EXPECT_THAT(made.error().because, HasSubstr(why));
    const auto used = proved(bad, good.public_key(), Verification::Required);
    ASSERT_FALSE(used.ok()) << why;
    EXPECT_THAT(used.error().because, HasSubstr(why));
  }
  SoftwareAuthenticator unverified;
  unverified.user_verified = false;
  EXPECT_TRUE(registered(unverified).ok());
  EXPECT_FALSE(proved(unverified, unverified.public_key())->user_verified);
}

TEST(WebAuthn, UnknownClientDataAndExtensionsAreReadOver) {
  SoftwareAuthenticator authenticator;
  authenticator.more_client_data = {{"other_keys_can_be_added_here", Value("x")},
                                    {"tokenBinding", Value::object({{"status", Value("supported")}})}};
  authenticator.extensions = cbor_head(5, 1) + cbor_text("credProtect") + cbor_number(2);
  EXPECT_TRUE(registered(authenticator).ok());
  EXPECT_TRUE(proved(authenticator, authenticator.public_key()).ok());
}

TEST(WebAuthn, NoByteOfAnAnswerMayChange) {
  SoftwareAuthenticator authenticator;
  const auto answer = parse_authentication(authenticator.authentication(kAsked));
  ASSERT_TRUE(answer.ok());
  for (std::string Assertion::* const part :
       {&Assertion::client_data, &Assertion::authenticator_data, &Assertion::signature})
    for (std::size_t i = 0; i < (answer->assertion.*part).size(); ++i) {
      Assertion changed = answer->assertion;
      (changed.*part)[i] = static_cast<char>((changed.*part)[i] ^ 1);
      EXPECT_FALSE(check_assertion(changed, authenticator.public_key(), expected()).ok()) << i;
      Assertion cut = answer->assertion;
      (cut.*part).resize(i);
      EXPECT_FALSE(check_assertion(cut, authenticator.public_key(), expected()).ok()) << i;
    }
}

TEST(WebAuthn, ARegistrationThatIsCutOffOrFollowedBySomethingIsRefused) {
  const SoftwareAuthenticator authenticator;
  const auto answer = parse_registration(authenticator.registration(kAsked));
  const std::string& whole = answer->attestation_object;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto made = check_registration(answer->client_data, whole.substr(0, size), expected());
    ASSERT_FALSE(made.ok()) << size;
    EXPECT_EQ(made.error().kind, ErrorKind::Invalid);
  }
  EXPECT_FALSE(check_registration(answer->client_data, whole + "x", expected()).ok());
  const std::string data = authenticator.authenticator_data(true);
  EXPECT_TRUE(parse_authenticator_data(data).ok());
  EXPECT_FALSE(parse_authenticator_data(data + "x").ok());
  const std::string without = authenticator.attestation_object(authenticator.authenticator_data(false));
  EXPECT_THAT(check_registration(answer->client_data, without, expected()).error().because,
              HasSubstr("no credential"));
}

TEST(WebAuthn, AMissingChallengeIsNotAnEmptyOne) {
  SoftwareAuthenticator authenticator;
  Expected nothing = expected();
  nothing.challenge.clear();
  const auto answer = parse_authentication(authenticator.authentication(""));
  EXPECT_EQ(check_assertion(answer->assertion, authenticator.public_key(), nothing).error().kind,
            ErrorKind::Forbidden);
  EXPECT_EQ(*challenge_of(R"({"challenge":"YWJj"})"), "abc");
  EXPECT_FALSE(challenge_of("[]").ok());
  EXPECT_FALSE(challenge_of(R"({"challenge":"a+b="})").ok());
}

Result<crypto::PublicKey> key_in(const std::string& bytes) {
  encoding::CborReader reader(bytes);
  return read_cose_key(reader);
}

TEST(CoseKey, TakesTheKeysOfThreeAlgorithmsAndNoOther) {
  for (const KeyType type : {KeyType::Es256, KeyType::EdDsa, KeyType::Rs256}) {
    const SoftwareAuthenticator authenticator(type);
    EXPECT_EQ(*key_in(authenticator.cose_key()), authenticator.public_key());
  }
  const std::string x = cbor_bytes(std::string(32, 'x'));
  const auto members = [](std::initializer_list<std::string> pairs) {
    std::string text = cbor_head(5, pairs.size());
    for (const std::string& each : pairs) text += each;
    return text;
  };
  const std::string kty2 = cbor_number(1) + cbor_number(2), kty1 = cbor_number(1) + cbor_number(1);
  const std::string es256 = cbor_number(3) + cbor_number(-7), eddsa = cbor_number(3) + cbor_number(-8);
  const std::string curve1 = cbor_number(-1) + cbor_number(1), curve6 = cbor_number(-1) + cbor_number(6);
  const std::string x_of = cbor_number(-2) + x, y_of = cbor_number(-3) + x;
  for (const std::string& bytes :
       {members({kty2, es256, curve1, x_of, y_of}),  // no point of the curve
        members({kty2, es256, curve6, x_of, y_of}), members({kty2, eddsa, curve1, x_of, y_of}),
        members({kty2, es256, curve1, x_of}), members({kty2, es256, curve1, x_of, x_of}),
        members({kty1, eddsa, curve6}), members({kty1, eddsa, curve1, x_of}),
        members({kty1, eddsa, curve6, cbor_number(-2) + cbor_bytes("short")}),
        members({kty1, eddsa, curve6, x_of, cbor_number(-4) + x}), members({}),
        members({kty1, kty1, eddsa, curve6, x_of}),
        members({cbor_number(1) + cbor_number(3), cbor_number(3) + cbor_number(-257),
                 cbor_number(-1) + cbor_bytes(std::string(128, 'n')),  // RSA of 1024 bits
                 cbor_number(-2) + cbor_bytes("\x01\x01\x01")}),
        members({cbor_text("kty") + cbor_number(2)}), cbor_number(1)})
    EXPECT_EQ(key_in(bytes).error().kind, ErrorKind::Invalid) << hex(crypto::as_bytes(bytes));
}

TEST(CredentialJson, OptionsNameWhatIsWanted) {
  const Value made = creation_options("c.example", "Catalog", {.handle = "h", .name = "ann"}, kChallenge,
                                      {{.id = "one", .transports = {"usb"}}}, std::chrono::minutes(5));
  EXPECT_EQ(
      encoding::to_json(made),
      R"({"rp":{"id":"c.example","name":"Catalog"},"user":{"id":"aA","name":"ann","displayName":"ann"},)"
      R"("challenge":")" +
          kAsked +
          R"(","pubKeyCredParams":[{"type":"public-key","alg":-7},{"type":"public-key","alg":-8},)"
          R"({"type":"public-key","alg":-257}],"timeout":300000,"excludeCredentials":[)"
          R"({"type":"public-key","id":"b25l","transports":["usb"]}],"authenticatorSelection":)"
          R"({"residentKey":"preferred","userVerification":"preferred"},"attestation":"none"})");
  const Value asked =
      request_options("c.example", kChallenge, {}, Verification::Required, std::chrono::minutes(5));
  EXPECT_EQ(asked.string_at("userVerification"), "required");
  EXPECT_EQ(asked.find("allowCredentials")->size(), 0U);
}

TEST(CredentialJson, IsReadStrictly) {
  const SoftwareAuthenticator authenticator;
  const auto good = parse_registration(authenticator.registration(kAsked));
  ASSERT_TRUE(good.ok());
  EXPECT_THAT(good->transports, ElementsAre("internal", "hybrid"));
  for (const char* bad :
       {"", "[]", "{}", R"({"type":"public-key","id":"YQ"})",
        R"({"type":"password","id":"YQ","response":{}})", R"({"type":"public-key","id":"","response":{}})",
        R"({"type":"public-key","id":"YQ","response":{"clientDataJSON":"YQ"}})",
        R"({"type":"public-key","id":"Y+Q=","response":{"clientDataJSON":"YQ","attestationObject":"YQ"}})",
        R"({"type":"public-key","type":"public-key","id":"YQ","response":{}})"}) {
    EXPECT_EQ(parse_registration(bad).error().kind, ErrorKind::Invalid) << bad;
    EXPECT_EQ(parse_authentication(bad).error().kind, ErrorKind::Invalid) << bad;
  }
  const auto unknown = parse_registration(
      R"({"type":"public-key","id":"YQ","response":{"clientDataJSON":"YQ","attestationObject":"YQ",)"
      R"("transports":["usb","usb","<script>"]}})");
  EXPECT_THAT(unknown->transports, ElementsAre("usb"));
  EXPECT_FALSE(parse_authentication(
                   R"({"type":"public-key","id":"YQ","response":{"clientDataJSON":"YQ","signature":"YQ",)"
                   R"("authenticatorData":"YQ","userHandle":")" +
                   base64url_encode(std::string(65, 'h')) + R"("}})")
                   .ok());
}

}  // namespace
}  // namespace mist::webauthn
