#include "sigstore/identity_token.h"

#include <gtest/gtest.h>

#include <map>

#include "encoding/base64url.h"
#include "encoding/json.h"
#include "testing/fake_transport.h"
#include "testing/temp_dir.h"

namespace mist::sigstore {
namespace {

using encoding::Value;
using testing::FakeTransport;

const WallTime kTokenNow{std::chrono::seconds(1'700'000'000)};

std::string token_of(const Value& claims) {
  return "aGVhZGVyLWhlYWRlcg." + encoding::base64url_encode(encoding::to_json(claims)) + ".c2lnbmF0dXJl";
}
Value good_claims() {
  return Value::object({{"iss", "https://accounts.example"},
                        {"aud", "sigstore"},
                        {"sub", "person-1"},
                        {"exp", 1'700'000'300}});
}
Status checked(const Value& claims, WallTime now = kTokenNow) {
  const auto token = IdentityToken::parse(token_of(claims), "token.txt");
  if (!token) return token.error();
  return token->check(kAudience, now);
}
Value with(std::string_view key, Value value) {
  Value claims = good_claims();
  claims.set(key, std::move(value));
  return claims;
}

TEST(IdentityToken, OneForTheAudienceInItsTimeIsAccepted) {
  EXPECT_TRUE(checked(good_claims()).ok());
  EXPECT_TRUE(checked(with("aud", Value::array({"other", "sigstore"}))).ok());
  // Clocks differ a little.
  EXPECT_TRUE(checked(good_claims(), kTokenNow + std::chrono::seconds(350)).ok());
}

TEST(IdentityToken, SaysWhyItCannotBeUsed) {
  const Status late = checked(good_claims(), kTokenNow + std::chrono::hours(1));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().message, "the identity token of token.txt has expired");
  EXPECT_EQ(late.error().because,
            "it was valid until 2023-11-14T22:18:20Z; this machine's clock shows 2023-11-14T23:13:20Z");
  const Status early = checked(with("nbf", 1'700'000'200));
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().message, "the identity token of token.txt is not valid yet");
  const Status elsewhere = checked(with("aud", "kubernetes"));
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(elsewhere.error().message, "the identity token of token.txt is not for sigstore");
  EXPECT_EQ(elsewhere.error().because,
            "the token is of https://accounts.example for kubernetes, and expires at 2023-11-14T22:18:20Z");
}

TEST(IdentityToken, AnythingElseIsNoToken) {
  const auto because = [](std::string_view text) {
    const auto token = IdentityToken::parse(text, "token.txt");
    EXPECT_FALSE(token.ok());
    EXPECT_EQ(token.error().to_line().find("secret"), std::string::npos) << token.error().to_line();
    return token.ok() ? std::string() : token.error().because;
  };
  EXPECT_EQ(because(" \n"), "it is empty");
  EXPECT_EQ(because("secret"), "a JSON Web Token has three parts with dots between them");
  EXPECT_EQ(because("secret.%%.secret"), "its second part is not base64url");
  EXPECT_EQ(because("secret.e30x.secret"), "its second part is not a JSON object");
  EXPECT_EQ(because(std::string(100'000, 's') + ".e30.x"),
            "a JSON Web Token has three parts with dots between them");
}

TEST(IdentityToken, IsNeverInWordsOfOthers) {
  const std::string text = token_of(good_claims());
  const auto token = IdentityToken::parse(text + "\n", "token.txt");
  ASSERT_TRUE(token.ok());
  EXPECT_EQ(token->without_token("bad token " + text + ", sorry"), "bad token ***, sorry");
  const std::string payload = text.substr(text.find('.') + 1, text.rfind('.') - text.find('.') - 1);
  EXPECT_EQ(token->without_token("payload " + payload + "?"), "payload ***?");
  EXPECT_EQ(fmt::format("{}", token->text()), "***");
  // A server may cut it anywhere before it repeats it.
  EXPECT_EQ(token->without_token("got " + payload.substr(3, 30) + "…"), "got ***…");
  EXPECT_EQ(token->without_token(text.substr(0, 40) + "\n" + text.substr(40)), "***\n***");
  EXPECT_EQ(token->without_token(payload.substr(0, 15)), payload.substr(0, 15));
  EXPECT_EQ(token->without_token(""), "");
}

// The places that a test has.
struct Places {
  std::map<std::string, std::string, std::less<>> variables;
  FakeTransport web;
  HostFileSystem files;

  Result<std::optional<IdentityToken>> find() {
    return find_token({.environment =
                           [this](std::string_view name) {
                             const auto found = variables.find(name);
                             return found == variables.end() ? std::nullopt : std::optional(found->second);
                           },
                       .files = files,
                       .transport = web},
                      kAudience, Context());
  }
};

TEST(IdentityTokenPlaces, TheVariableComesFirst) {
  Places places;
  places.variables = {{"SIGSTORE_ID_TOKEN", token_of(good_claims())},
                      {"ACTIONS_ID_TOKEN_REQUEST_URL", "https://actions.example/token"},
                      {"ACTIONS_ID_TOKEN_REQUEST_TOKEN", "secret"}};
  const auto token = places.find();
  ASSERT_TRUE(token.ok() && *token);
  EXPECT_TRUE((*token)->check(kAudience, kTokenNow).ok());
  EXPECT_EQ(places.web.count(), 0U);
}

TEST(IdentityTokenPlaces, GitHubIsAskedForOneWithTheAudience) {
  Places places;
  places.variables = {{"ACTIONS_ID_TOKEN_REQUEST_URL", "https://actions.example/token?api-version=2.0"},
                      {"ACTIONS_ID_TOKEN_REQUEST_TOKEN", "secret"}};
  places.web.reply(200, encoding::to_json(Value::object({{"value", token_of(good_claims())}})));
  const auto token = places.find();
  ASSERT_TRUE(token.ok() && *token) << token.error().to_line();
  const http::Request asked = places.web.requests().front();
  EXPECT_EQ(asked.url, "https://actions.example/token?api-version=2.0&audience=sigstore");
  EXPECT_EQ(asked.authorization->reveal(), "Bearer secret");
  places.web.reply(403, "secret");
  const auto refused = places.find();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(refused.error().because, "actions.example:443 answers with status 403");
  EXPECT_EQ(refused.error().hint, "give the job 'permissions: {id-token: write}'");
  places.web.reply(200, "{}");
  EXPECT_FALSE(places.find().ok());
  places.variables["ACTIONS_ID_TOKEN_REQUEST_URL"] = "http://actions.example/token";
  const auto unsafe = places.find();
  ASSERT_FALSE(unsafe.ok());
  EXPECT_EQ(unsafe.error().message, "ACTIONS_ID_TOKEN_REQUEST_URL is not an https:// address");
}

TEST(IdentityTokenPlaces, WithoutAnyThereIsNone) {
  Places places;
  const auto token = places.find();
  ASSERT_TRUE(token.ok());
  EXPECT_FALSE(token->has_value());
}

}  // namespace
}  // namespace mist::sigstore
