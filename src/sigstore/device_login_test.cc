#include "sigstore/device_login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crypto/digest.h"
#include "encoding/base64url.h"
#include "encoding/json.h"
#include "testing/fake_clock.h"
#include "testing/fake_transport.h"

namespace mist::sigstore {
namespace {

using encoding::Value;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kIssuer = "https://login.example/auth";
constexpr const char* kPending = R"({"error": "authorization_pending"})";

std::string token_text() {
  return "aGVhZA." +
         encoding::base64url_encode(R"({"iss": "https://login.example/auth", "aud": "sigstore"})") + ".c2ln";
}

// An issuer that gives out a code; the answers to questions for the token are the test's.
struct Issuer {
  testing::FakeTransport web;
  testing::FakeClock clock;
  testing::FakeRandom random;
  std::vector<DeviceCode> shown;

  explicit Issuer(const std::string& more = {}, const std::string& page = "https://login.example/device") {
    web.reply(200,
              R"({"issuer": "https://login.example/auth", "token_endpoint": "https://login.example/token",
        "device_authorization_endpoint": "https://login.example/code"})");
    web.reply(200, fmt::format(
                       R"({{"device_code": "hidden-code", "user_code": "ABCD-EFGH", "verification_uri": "{}",
        "expires_in": 60{}}})",
                       page, more));
  }

  Result<IdentityToken> log_in() {
    return sigstore::log_in({.transport = web,
                             .clock = clock,
                             .random = random,
                             .show = [this](const DeviceCode& code) { shown.push_back(code); }},
                            kIssuer, "sigstore", Context());
  }
  Error refused() {
    const Result<IdentityToken> token = log_in();
    EXPECT_FALSE(token.ok());
    const Error failure = token.ok() ? error(ErrorKind::Internal, "a token") : token.error();
    EXPECT_THAT(failure.to_line(), Not(HasSubstr("hidden")));
    return failure;
  }
};

TEST(DeviceLogin, GivesTheTokenOnceThePersonConfirmed) {
  Issuer issuer(
      R"(, "interval": 2, "verification_uri_complete": "https://login.example/device?user_code=ABCD-EFGH")");
  issuer.web.reply(400, kPending);
  issuer.web.fail(error(ErrorKind::Retryable, "gone"));
  issuer.web.reply(400, R"({"error": "slow_down"})");
  issuer.web.reply(200, fmt::format(R"({{"access_token": "hidden", "id_token": "{}"}})", token_text()));
  const auto token = issuer.log_in();
  ASSERT_TRUE(token.ok()) << token.error().to_line();
  EXPECT_EQ(token->text().reveal(), token_text());
  ASSERT_EQ(issuer.shown.size(), 1U);
  EXPECT_EQ(issuer.shown[0].page, "https://login.example/device");
  EXPECT_EQ(issuer.shown[0].code, "ABCD-EFGH");
  EXPECT_EQ(issuer.shown[0].direct, "https://login.example/device?user_code=ABCD-EFGH");
  EXPECT_EQ(issuer.shown[0].valid, std::chrono::seconds(60));
  EXPECT_EQ(issuer.clock.sleeps(), (std::vector<Duration>{std::chrono::seconds(2), std::chrono::seconds(2),
                                                          std::chrono::seconds(2), std::chrono::seconds(7)}));
  // RFC 7636: what is asked with first is the digest of what is shown at the end.
  const std::vector<http::Request> asked = issuer.web.requests();
  const std::string& last = asked.back().body;
  const std::string verifier = last.substr(last.find("code_verifier=") + 14);
  EXPECT_THAT(asked[1].body,
              HasSubstr("code_challenge=" + encoding::base64url_encode(crypto::sha256(verifier).raw()) +
                        "&code_challenge_method=S256"));
  EXPECT_THAT(asked[1].body, HasSubstr("client_id=sigstore&scope=openid%20email"));
  EXPECT_THAT(last, HasSubstr("device_code=hidden-code"));
}

TEST(DeviceLogin, EndsWhenNobodyConfirms) {
  Issuer issuer;
  issuer.web.otherwise([](const http::Request&, const Context&) {
    return http::Response{.status = 400, .headers = {}, .body = kPending};
  });
  const Error failure = issuer.refused();
  EXPECT_EQ(failure.kind, ErrorKind::Timeout);
  EXPECT_EQ(failure.message, "nobody confirmed the code ABCD-EFGH at https://login.example/auth in time");
  EXPECT_EQ(issuer.web.count(), 2U + 60 / 5);
}

TEST(DeviceLogin, SaysWhyItWasRefused) {
  Issuer denied;
  denied.web.reply(400, R"({"error": "access_denied"})");
  EXPECT_EQ(denied.refused().message, "the login at https://login.example/auth was refused");
  Issuer expired;
  expired.web.reply(400, R"({"error": "expired_token"})");
  EXPECT_EQ(expired.refused().kind, ErrorKind::Timeout);
  Issuer unknown;
  unknown.web.reply(401, R"({"error": "invalid_client", "error_description": "who\u001b[31m?"})");
  EXPECT_EQ(unknown.refused().because, "invalid_client: who\\x1b[31m?");
  Issuer silent;
  silent.web.reply(200, R"({"access_token": "hidden"})");
  EXPECT_EQ(silent.refused().kind, ErrorKind::Invalid);
}

TEST(DeviceLogin, ShowsNothingThatAPersonMayNotOpen) {
  Issuer plain({}, "http://login.example/device");
  EXPECT_THAT(plain.refused().message, HasSubstr("gave an answer that can't be used"));
  EXPECT_TRUE(plain.shown.empty());
  Issuer hidden(R"(, "verification_uri_complete": "https://login.example/\u202e")");
  hidden.web.reply(400, R"({"error": "access_denied"})");
  hidden.refused();
  EXPECT_EQ(hidden.shown[0].direct, "");
}

TEST(DeviceLogin, IsOfTheIssuerThatWasConfigured) {
  const auto message = [](int status, const std::string& configuration) {
    testing::FakeTransport web;
    testing::FakeClock clock;
    testing::FakeRandom random;
    web.reply(status, configuration);
    const auto token =
        log_in({.transport = web, .clock = clock, .random = random, .show = [](const DeviceCode&) {}},
               kIssuer, "sigstore", Context());
    EXPECT_FALSE(token.ok());
    EXPECT_EQ(web.count(), 1U);
    return token.ok() ? std::string() : token.error().message;
  };
  EXPECT_EQ(message(404, ""), "the issuer https://login.example/auth doesn't say how to log in");
  EXPECT_EQ(message(200, R"({"issuer": "https://evil.example"})"),
            "the issuer https://login.example/auth says that it is another one");
  EXPECT_EQ(
      message(200,
              R"({"issuer": "https://login.example/auth", "token_endpoint": "https://login.example/token"})"),
      "the issuer https://login.example/auth has no login with a code");
  EXPECT_EQ(
      message(200,
              R"({"issuer": "https://login.example/auth", "token_endpoint": "https://login.example/token",
                             "device_authorization_endpoint": "http://login.example/code"})"),
      "the issuer https://login.example/auth has no login with a code");
  EXPECT_EQ(message(200, "[]"), "the issuer https://login.example/auth gave an answer that can't be used");
}

}  // namespace
}  // namespace mist::sigstore
