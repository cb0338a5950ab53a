#include "package/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "encoding/yaml.h"

namespace mist::package {
namespace {

using ::testing::HasSubstr;

SecretScope test_scope() {
  SecretScope result{{}, "shop", "web", {}};
  for (std::size_t i = 0; i < result.seed.size(); ++i) result.seed[i] = static_cast<std::byte>(i);
  return result;
}

SecretRequest request(std::string_view text) {
  auto parsed = SecretRequest::parse(*encoding::parse_yaml(text));
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().to_line());
  return parsed.ok() ? *parsed : SecretRequest{};
}

std::string value(std::string_view text, const SecretScope& in = test_scope()) {
  auto secret = derive_secret(in, request(text));
  EXPECT_TRUE(secret.ok());
  return secret.ok() ? secret->value.reveal() : "";
}

// The vectors of docs/internals/secret-derivation.md, made with Python's hmac and hashlib. They hold for
// ever: a change here changes the passwords of every release that there is.
TEST(Secrets, MatchTheVectorsOfTheFormat) {
  EXPECT_EQ(value("{name: db, kind: password}"), "V9ftFh0zHtlucfCbyOhGKBOl");
  EXPECT_EQ(value("{name: db, kind: alphanumeric}"), "V9ftFh0zHtlucfCbyOhGKBOldlW08AD6");
  EXPECT_EQ(value("{name: db, kind: hex}"),
            "9b3fb1e91fb4c5afb287ee9271900a4baa410066369b6b36eb8c96672bedb7d3");
  EXPECT_EQ(value("{name: db, kind: base64}"), "6XtDj5vB7hkhjwsUvAVaP/vSKAde3lnih0FJMLB61Fs=");
  EXPECT_EQ(value("{name: db, kind: bytes}"), "6XtDj5vB7hkhjwsUvAVaP/vSKAde3lnih0FJMLB61Fs=");
  EXPECT_EQ(value("{name: db, kind: uuid}"), "e97b438f-9bc1-4e19-a18f-0b14bc055a3f");
  EXPECT_THAT(value("{name: db, kind: ed25519}"), HasSubstr("IOl7Q4+bwe4ZIY8LFLwFWj/70igHXt5Z4odBSTCwetRb"));
  EXPECT_THAT(value("{name: db, kind: ecdsa}"),
              HasSubstr("AQQg6XtDj5vB7hkhjwsU\nvAVaP/vSKAde3lnih0FJMLB61Fuh"));
  // The first of these that is drawn has no digit.
  EXPECT_EQ(value("{name: db, kind: password, length: 6, require: [lower, upper, digit, symbol], alphabet: "
                  "'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#%+-_'}"),
            "_+fWO2");
}

TEST(Secrets, DependOnEveryNameAndOnTheRotation) {
  EXPECT_EQ(value("{name: api, kind: password}"), "14r8fYQ3OpVwAT0FTyNnHh91");
  SecretScope other = test_scope();
  other.install = "web2";
  EXPECT_EQ(value("{name: db, kind: password}", other), "4vRLJF12Lzn1RrPgEwcw2xj6");
  other = test_scope();
  other.package = "sho";
  other.install = "pweb";
  EXPECT_EQ(value("{name: db, kind: password}", other), "eflyfZTDxgG7LhDFySQcQtj2");
  other = test_scope();
  other.rotations = {{"db", 1}, {"", 5}};
  EXPECT_EQ(value("{name: db, kind: password}", other), "EveuVR9UrXwYmEZRbCn28mFU");
  EXPECT_EQ(value("{name: api, kind: password}", other), "14r8fYQ3OpVwAT0FTyNnHh91") << "only that one";
}

TEST(Secrets, UseEveryCharacterEquallyOften) {
  // 62 doesn't divide 256: with a plain remainder the first eight letters would come a quarter more often.
  std::array<int, 256> counts{};
  constexpr int kSecrets = 200;
  for (int i = 0; i < kSecrets; ++i) {
    for (const char c : value(fmt::format("{{name: n{}, kind: alphanumeric, length: 1024}}", i)))
      ++counts[static_cast<unsigned char>(c)];
  }
  constexpr double kExpected = kSecrets * 1024 / 62.0;  // 3303
  double first = 0;
  for (const char c : std::string_view("abcdefgh")) first += counts[static_cast<unsigned char>(c)];
  EXPECT_NEAR(first / 8, kExpected, kExpected * 0.03);
  for (const char c : std::string_view("zZ09")) {
    EXPECT_NEAR(counts[static_cast<unsigned char>(c)], kExpected, kExpected * 0.1) << c;
  }
}

TEST(Secrets, PasswordsKeepToTheirAlphabetAndHaveWhatIsRequired) {
  for (int i = 0; i < 200; ++i) {
    const std::string text = value(
        fmt::format("{{name: n{}, kind: password, length: 4, alphabet: 'abAB12.', require: [lower, upper, "
                    "digit, symbol]}}",
                    i));
    EXPECT_EQ(text.size(), 4U);
    EXPECT_EQ(text.find_first_not_of("abAB12."), std::string::npos) << text;
    EXPECT_NE(text.find('.'), std::string::npos) << text;
    EXPECT_NE(text.find_first_of("12"), std::string::npos) << text;
  }
}

struct Refused {
  std::string_view request, says;
};

TEST(Secrets, RequestsAreStrict) {
  const std::vector<Refused> cases{
      {"{kind: password}", "\"name\""},
      {"{name: '', kind: password}", "\"name\""},
      {"{name: 'a b', kind: password}", "\"name\""},
      {"{name: -a, kind: password}", "\"name\""},
      {"{name: 5, kind: password}", "\"name\""},
      {"{name: a}", "password, alphanumeric, hex"},
      {"{name: a, kind: passwort}", "it is \"passwort\""},
      {"{name: a, kind: rsa}", "ecdsa"},
      {"{name: a, kind: password, length: 3}", "from 4 to 1024"},
      {"{name: a, kind: password, length: 1025}", "from 4 to 1024"},
      {"{name: a, kind: password, length: -1}", "from 4 to 1024"},
      {"{name: a, kind: password, length: 8.5}", "from 4 to 1024"},
      {"{name: a, kind: password, length: '8'}", "from 4 to 1024"},
      {"{name: a, kind: password, lenght: 8}", "\"lenght\" means nothing"},
      {"{name: a, kind: uuid, length: 8}", "\"length\" means nothing"},
      {"{name: a, kind: hex, alphabet: ab}", "\"alphabet\" means nothing"},
      {"{name: a, kind: password, alphabet: a}", "at least two"},
      {"{name: a, kind: password, alphabet: aa}", "each once"},
      {"{name: a, kind: password, alphabet: 'a b'}", "from ! to ~"},
      {"{name: a, kind: password, alphabet: aé}", "from ! to ~"},
      {"{name: a, kind: password, alphabet: 5}", "at least two"},
      {"{name: a, kind: password, require: lower}", "lower, upper, digit, symbol"},
      {"{name: a, kind: password, require: [vowel]}", "lower, upper, digit, symbol"},
      {"{name: a, kind: password, require: [symbol]}", "the alphabet has none"},
  };
  for (const Refused& each : cases) {
    const auto parsed = SecretRequest::parse(*encoding::parse_yaml(each.request));
    ASSERT_FALSE(parsed.ok()) << each.request;
    EXPECT_EQ(parsed.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(parsed.error().message, HasSubstr(each.says)) << each.request;
  }
}

TEST(Secrets, AnImpossiblePasswordIsAnError) {
  // parse() refuses this one; the loop has its own end.
  const auto hopeless =
      derive_secret(test_scope(), {"a", SecretKind::Password, 4, "abcdefghijklmnopqrstuvwxyz", {"upper"}});
  ASSERT_FALSE(hopeless.ok());
  EXPECT_THAT(hopeless.error().message, HasSubstr("hardly a password"));
}

TEST(Secrets, TheUnnamedStreamIsTheSeedUntilItIsRotated) {
  EXPECT_EQ(unnamed_seed(test_scope()), test_scope().seed);
  SecretScope rotated = test_scope();
  rotated.rotations = {{"", 1}};
  EXPECT_EQ(hex(unnamed_seed(rotated)), "dcdbe1f165fb2c4b89b6dc8fb305388503680d8577861b7c754a23aaa09a6b91");
}

TEST(Secrets, AreTakenOutOfTextsForPeople) {
  const std::map<std::string, SecretString> secrets{{"db", SecretString("hunter22")}};
  EXPECT_EQ(without_secrets("a hunter22 b hunter22", secrets), "a *** b ***");
  EXPECT_EQ(without_secrets(base64_encode("hunter22"), secrets), "***");
  const Error failure = without_secrets(error(ErrorKind::Invalid, "line with hunter22")
                                            .with_because("hunter22 is bad")
                                            .at({"a.yaml", 1, 1, "password: hunter22"})
                                            .caused_by(error(ErrorKind::Invalid, "hunter22")),
                                        secrets);
  EXPECT_EQ(failure.to_line().find("hunter22"), std::string::npos) << failure.to_line();
  EXPECT_EQ(failure.where->excerpt, "password: ***");
  EXPECT_EQ(failure.cause->message, "***");
}

TEST(Secrets, AreTakenOutInEveryFormInWhichTextsHoldThem) {
  const std::string pem = value("{name: tls, kind: ecdsa}");
  const std::map<std::string, SecretString> secrets{{"tls", SecretString(pem)},
                                                    {"odd", SecretString("a\"quoted\\word ")}};
  const std::vector<std::string_view> lines = split(pem, '\n');
  const std::string body(lines.at(1));
  std::string quoted;
  for (const std::string_view line : lines) quoted += std::string(line) + "\\n";
  const std::string trimmed(trim(pem));
  for (const std::string& text : {pem, trimmed, "only: " + body, "  " + body + "\n", "'" + quoted + "'",
                                  base64_encode(trimmed), base64_encode(body)}) {
    const std::string shown = without_secrets(text, secrets);
    EXPECT_THAT(shown, HasSubstr("***"));
    EXPECT_THAT(shown, ::testing::Not(HasSubstr(body.substr(0, 16)))) << shown;
    EXPECT_THAT(shown, ::testing::Not(HasSubstr(base64_encode(body).substr(0, 16)))) << shown;
  }
  EXPECT_EQ(without_secrets(R"(it is "a\"quoted\\word ".)", secrets), "it is \"***\".");
  EXPECT_EQ(without_secrets(R"(it is a"quoted\word.)", secrets), "it is ***.");
  EXPECT_EQ(without_secrets("-----BEGIN CERTIFICATE-----", secrets), "-----BEGIN CERTIFICATE-----");
  EXPECT_EQ(without_secrets("a b", {{"short", SecretString("a  ")}}), "a b")
      << "too short without its spaces";
}

}  // namespace
}  // namespace mist::package
