#include "catalog/oidc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/account_site_fixture.h"
#include "catalog/issuer_fixture.h"
#include "catalog/totp.h"
#include "crypto/digest.h"
#include "encoding/base64url.h"
#include "encoding/json.h"
#include "testing/fake_transport.h"

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;
using encoding::Value;
using http::WebAnswer;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kIssuer = testing::FakeIssuer::kUrl;

// An issuer over HTTP: discovery, keys, and the token that it gives for a code.
class IssuerTest : public AccountSiteTest {
 protected:
  IssuerTest() {
    auto client = OidcClient::make(web_, clock_,
                                   {.issuer = kIssuer,
                                    .client_id = testing::FakeIssuer::kClient,
                                    .client_secret = SecretString("s"),
                                    .redirect_url = "https://c.example/login/oidc/callback"});
    EXPECT_TRUE(client.ok());
    oidc_ = *std::move(client);
    web_.otherwise([this](const http::Request& request, const Context&) -> Result<http::Response> {
      if (meanwhile_) meanwhile_();
      if (is_down_) return error(ErrorKind::Timeout, "nobody answers");
      return reply(request);
    });
    site_ = made(Registration::Closed);
  }
  http::Response reply(const http::Request& request) {
    const std::string path = request.url.substr(std::string_view(kIssuer).size());
    Value body;
    if (path == "/.well-known/openid-configuration") {
      body = discovery_;
    } else if (path == "/keys") {
      ++key_requests_;
      body = issuer_.keys();
    } else {
      token_request_ = request;
      body = Value::object({{"access_token", Value("a")}, {"token_type", Value("Bearer")}});
      Value claims = testing::FakeIssuer::claims(nonce_, clock_.now());
      claims.set("sub", Value(subject_));
      body.set("id_token", Value(token_.empty() ? issuer_.token(claims) : token_));
    }
    return {.status = 200, .headers = {}, .body = encoding::to_json(body)};
  }
  // The state with which the browser is sent to `address` of the issuer.
  std::string leave(const std::string& address) {
    const Fields query = query_parts(address.substr(address.find('?') + 1));
    nonce_ = field(query, "nonce");
    challenge_ = field(query, "code_challenge");
    return field(query, "state");
  }
  std::string leave(const WebAnswer& answer) {
    const std::string refresh(http::find_header(answer.headers, "Refresh"));
    return leave(refresh.empty() ? place(answer) : refresh.substr(std::string_view("0; url=").size()));
  }
  static WebAnswer come_back(Visit& visit, const std::string& state) {
    return visit.get("/login/oidc/callback?code=abc&state=" + state);
  }
  WebAnswer sign_in(Visit& visit) { return come_back(visit, leave(visit.get("/login/oidc"))); }
  void link(const std::string& account) {
    ASSERT_TRUE(accounts_->link_identity(account, kIssuer, "subject-1").ok());
  }
  std::string owner(const std::string& subject) { return *accounts_->account_of_identity(kIssuer, subject); }

  mist::testing::FakeTransport web_;
  testing::FakeIssuer issuer_;
  Value discovery_ = Value::object({{"issuer", Value("https://login.example")},
                                    {"authorization_endpoint", Value("https://login.example/authorize")},
                                    {"token_endpoint", Value("https://login.example/token")},
                                    {"jwks_uri", Value("https://login.example/keys")}});
  std::string nonce_, challenge_, token_, subject_ = "subject-1";
  http::Request token_request_;
  int key_requests_ = 0;
  bool is_down_ = false;
  std::function<void()> meanwhile_;  // while the issuer is asked
};

TEST_P(IssuerTest, LetsInALinkedAccount) {
  link("ann");
  Visit ann = visit();
  EXPECT_THAT(ann.get("/login").body, HasSubstr("Sign in with login.example"));
  const std::string state = leave(ann.get("/login/oidc?next=/packages"));
  EXPECT_EQ(place(come_back(ann, state)), "/packages");
  EXPECT_TRUE(ann.is_signed_in());
  const Fields sent = query_parts(token_request_.body);
  EXPECT_EQ(field(sent, "grant_type"), "authorization_code");
  EXPECT_EQ(field(sent, "code"), "abc");
  const auto digest = crypto::sha256(field(sent, "code_verifier")).bytes();
  EXPECT_EQ(encoding::base64url_encode(
                std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size())),
            challenge_);
  EXPECT_EQ(token_request_.authorization->reveal(), "Basic Y2F0YWxvZzpz");
  EXPECT_EQ(come_back(ann, state).status, 403) << "the state is good once";
}

// An attacker makes the victim's browser open the address that he was sent back to.
TEST_P(IssuerTest, AnAnswerIsForTheBrowserThatAsked) {
  link("ann");
  Visit attacker = visit();
  const std::string state = leave(attacker.get("/login/oidc"));
  Visit victim = visit();
  victim.get("/login");
  EXPECT_EQ(come_back(victim, state).status, 403);
  EXPECT_FALSE(victim.is_signed_in());
  EXPECT_EQ(come_back(attacker, state).status, 403) << "it is used up";
  EXPECT_EQ(come_back(attacker, "").status, 403);
  const std::string late = leave(attacker.get("/login/oidc"));
  clock_.advance(11min);
  EXPECT_EQ(come_back(attacker, late).status, 403);
  const std::string mixed = leave(attacker.get("/login/oidc"));
  EXPECT_EQ(come_back(attacker, mixed + "&iss=https://evil.example").status, 403);
  const std::string denied = leave(attacker.get("/login/oidc"));
  EXPECT_THAT(come_back(attacker, denied + "&error=access_denied").body, HasSubstr("access_denied"));
  EXPECT_FALSE(attacker.is_signed_in());
}

TEST_P(IssuerTest, ABadTokenLetsNobodyIn) {
  link("ann");
  Visit ann = visit();
  token_ = issuer_.token(testing::FakeIssuer::claims("another nonce", clock_.now()));
  EXPECT_EQ(sign_in(ann).status, 403);
  token_ = "nonsense";
  EXPECT_EQ(sign_in(ann).status, 403);
  const std::string state = leave(ann.get("/login/oidc"));
  token_ = testing::FakeIssuer("k1", 99).token(testing::FakeIssuer::claims(nonce_, clock_.now()));
  EXPECT_EQ(come_back(ann, state).status, 403) << "signed by somebody else";
  EXPECT_FALSE(ann.is_signed_in());
}

TEST_P(IssuerTest, NewKeysAreFoundAndNotAskedForEndlessly) {
  link("ann");
  Visit ann = visit();
  EXPECT_EQ(sign_in(ann).status, 303);
  EXPECT_EQ(key_requests_, 1);
  issuer_ = testing::FakeIssuer("k2", 8);
  clock_.advance(1min);
  Visit again = visit();
  EXPECT_EQ(sign_in(again).status, 303);
  EXPECT_EQ(key_requests_, 2);
  token_ = testing::FakeIssuer("k3", 9).token(testing::FakeIssuer::claims("n", clock_.now()));
  for (int i = 0; i < 5; ++i) {
    Visit somebody = visit();
    EXPECT_EQ(sign_in(somebody).status, 403);
  }
  EXPECT_EQ(key_requests_, 2);
}

TEST_P(IssuerTest, OneThatLiesIsNotUsed) {
  Visit ann = visit();
  discovery_.set("issuer", Value("https://evil.example"));
  EXPECT_EQ(ann.get("/login/oidc").status, 503);
  clock_.advance(11s);
  discovery_.set("issuer", Value(kIssuer));
  discovery_.set("token_endpoint", Value("http://login.example/token"));
  EXPECT_EQ(ann.get("/login/oidc").status, 503);
  EXPECT_EQ(OidcClient::make(web_, clock_, {.issuer = "http://login.example", .client_id = "c"}).error().kind,
            ErrorKind::Invalid);
}

TEST_P(IssuerTest, OneThatDoesNotAnswerHoldsUpFewRequests) {
  std::vector<int> nested;
  meanwhile_ = [&] {
    if (nested.size() >= 2) return;
    nested.push_back(0);
    const std::size_t mine = nested.size() - 1;
    nested[mine] = visit().get("/login/oidc").status;
  };
  is_down_ = true;
  EXPECT_EQ(visit().get("/login/oidc").status, 503);
  EXPECT_EQ(nested, (std::vector{503, 503}));
  EXPECT_EQ(web_.count(), 2U) << "the third one isn't even begun";
  meanwhile_ = {};
  EXPECT_EQ(visit().get("/login/oidc").status, 503);
  EXPECT_EQ(web_.count(), 2U) << "it just failed";
  is_down_ = false;
  clock_.advance(11s);
  EXPECT_EQ(visit().get("/login/oidc").status, 303);
}

TEST_P(IssuerTest, WhatWasDiscoveredBeforeIsUsedWhileItCannotBeAsked) {
  EXPECT_EQ(visit().get("/login/oidc").status, 303);
  EXPECT_EQ(web_.count(), 1U);
  clock_.advance(2h);
  is_down_ = true;
  EXPECT_EQ(visit().get("/login/oidc").status, 303);
  EXPECT_EQ(visit().get("/login/oidc").status, 303);
  EXPECT_EQ(web_.count(), 2U);
  is_down_ = false;
  clock_.advance(11s);
  int meanwhile = 0;
  meanwhile_ = [&] { meanwhile = visit().get("/login/oidc").status; };
  EXPECT_EQ(visit().get("/login/oidc").status, 303);
  EXPECT_EQ(meanwhile, 303) << "one asks, others don't wait";
  EXPECT_EQ(web_.count(), 3U);
}

TEST_P(IssuerTest, AnIdentityIsLinkedByItsOwner) {
  Visit ann = signed_in("ann");
  const WebAnswer gone = ann.post("/account/identities", {{"password", kPassword}});
  EXPECT_EQ(gone.status, 200);
  EXPECT_THAT(std::string(http::find_header(gone.headers, "Refresh")),
              StartsWith("0; url=https://login.example/authorize?"));
  EXPECT_EQ(place(come_back(ann, leave(gone))), "/account");
  EXPECT_EQ(owner("subject-1"), "ann");
  EXPECT_THAT(ann.get("/account").body, HasSubstr("subject-1"));
  Visit bob = signed_in("bob");
  EXPECT_EQ(come_back(bob, leave(bob.post("/account/identities", {{"password", kPassword}}))).status, 409)
      << "it is ann's";
  subject_ = "subject-2";
  bob.get("/account");
  const std::string state = leave(bob.post("/account/identities", {{"password", kPassword}}));
  ASSERT_TRUE(accounts_->set_role("bob", Role::Author).ok());
  EXPECT_EQ(come_back(bob, state).status, 403) << "the session ended meanwhile";
  EXPECT_EQ(owner("subject-2"), "");
  ann.get("/account");
  EXPECT_EQ(ann.post("/account/identities/remove", {{"issuer", kIssuer}, {"subject", "subject-1"}}).status,
            303);
  EXPECT_EQ(owner("subject-1"), "");
}

TEST_P(IssuerTest, AnOpenBrowserIsNotEnoughToLinkAnIdentity) {
  Visit thief = signed_in("ann");
  for (const FormFields& fields : {FormFields{}, FormFields{{"password", "wrong"}}}) {
    const WebAnswer refused = thief.post("/account/identities", fields);
    EXPECT_EQ(refused.status, 403);
    EXPECT_EQ(http::find_header(refused.headers, "Refresh"), "");
  }
  // With an authenticator the code is asked for, too.
  const std::string secret = new_totp_secret(random_);
  give_authenticator("ann", secret);
  Visit ann = signed_in_by_code("ann", secret);
  EXPECT_EQ(ann.post("/account/identities", {{"password", kPassword}}).status, 403);
  EXPECT_EQ(ann.post("/account/identities", {{"password", kPassword}, {"code", code_of(secret)}}).status,
            200);
  // An account that only the issuer lets in has nothing that could be asked for.
  link("robot");
  Visit robot = visit();
  EXPECT_EQ(place(sign_in(robot)), "/account");
  robot.get("/account");
  EXPECT_EQ(robot.post("/account/identities", {}).status, 200);
}

TEST_P(IssuerTest, AnUnknownIdentityIsNobodyUnlessRegistrationIsOpen) {
  Visit stranger = visit();
  const WebAnswer refused = sign_in(stranger);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("subject-1"));
  ASSERT_TRUE(accounts_->add("zo-smith", Role::Administrator, "").ok());
  site_ = made(Registration::Open);
  Visit zoe = visit();
  EXPECT_EQ(place(sign_in(zoe)), "/account");
  EXPECT_EQ(owner("subject-1"), "zo-smith-2") << "a name that the issuer gives opens nobody's account";
  EXPECT_EQ((*accounts_->find("zo-smith-2"))->account.role, Role::Author);
  zoe.get("/account");
  EXPECT_EQ(zoe.post("/account/identities/remove", {{"issuer", kIssuer}, {"subject", "subject-1"}}).status,
            409)
      << "nothing else lets it in";
  EXPECT_EQ(zoe.post("/account/password", {{"password", kPassword}}).status, 303);
  EXPECT_EQ(visit().log_in("zo-smith-2").status, 303);
}

TEST_P(IssuerTest, ADisabledAccountStaysOutAndAnAuthenticatorIsAskedForHereToo) {
  link("ann");
  ASSERT_TRUE(accounts_->begin_second_factor("ann", "12345678901234567890").ok());
  ASSERT_TRUE(accounts_->confirm_second_factor("ann", 1, {}).ok());
  Visit ann = visit();
  EXPECT_EQ(place(sign_in(ann)), "/login/code");
  EXPECT_FALSE(ann.is_signed_in());
  ASSERT_TRUE(accounts_->set_disabled("ann", true).ok());
  Visit again = visit();
  EXPECT_EQ(sign_in(again).status, 404);
}

INSTANTIATE_TEST_SUITE_P(Databases, IssuerTest, each_database(), name_of_database);

}  // namespace
}  // namespace mist::catalog
