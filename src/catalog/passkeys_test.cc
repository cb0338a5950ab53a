#include "catalog/passkeys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "catalog/account_site_fixture.h"
#include "catalog/passkey_pages.h"
#include "catalog/totp.h"
#include "encoding/json.h"
#include "webauthn/software_authenticator_fixture.h"

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;
using encoding::Value;
using http::WebAnswer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using webauthn::testing::KeyType;
using webauthn::testing::SoftwareAuthenticator;

TEST(RelyingParty, IsTheNameOfACatalogThatNobodyCanStandInFor) {
  const auto at = [](std::string_view url) {
    const auto party = RelyingParty::at(url);
    return party ? party->id + " " + party->origin : std::string();
  };
  EXPECT_EQ(at("https://c.example"), "c.example https://c.example");
  EXPECT_EQ(at("https://C.example:8443"), "c.example https://c.example:8443");
  EXPECT_EQ(at("http://localhost:8080"), "localhost http://localhost:8080");
  EXPECT_EQ(at("http://a.localhost"), "a.localhost http://a.localhost");
  for (const char* url : {"http://c.example", "http://127.0.0.1:8080", "https://192.0.2.1", "https://[::1]",
                          "https://999.1", "ftp://c.example", "", "http://localhost.example"})
    EXPECT_EQ(at(url), "") << url;
}

class PasskeysTest : public AccountSiteTest {
 protected:
  Value question(Visit& visitor, const std::string& path) {
    const WebAnswer answer = visitor.post(path, {});
    EXPECT_EQ(answer.status, 200) << answer.body;
    return encoding::parse_json(answer.body).ok() ? *encoding::parse_json(answer.body) : Value::object();
  }
  WebAnswer add(Visit& visitor, SoftwareAuthenticator& authenticator, const std::string& name = "laptop",
                const std::string& password = kPassword, FormFields fields = {}) {
    visitor.get("/account");
    const std::string made = authenticator.create(question(visitor, "/account/passkeys/ask"));
    fields.insert(fields.end(), {{"name", name}, {"password", password}, {"credential", made}});
    return visitor.post("/account/passkeys", fields);
  }
  // A passkey that the account has, beside a new one.
  FormFields proof(Visit& visitor, SoftwareAuthenticator& known) {
    visitor.get("/account");
    return {{"proof", known.get(question(visitor, "/account/passkeys/confirm"))}};
  }
  WebAnswer sign_in(Visit& visitor, SoftwareAuthenticator& authenticator) {
    visitor.get("/login?next=%2Fsubmit");
    const std::string shown = authenticator.get(question(visitor, "/login/passkey/ask"));
    return visitor.post("/login/passkey", {{"next", "/submit"}, {"credential", shown}});
  }
  std::vector<std::string> audited(const std::string& who) {
    std::vector<std::string> what;
    const auto log = store_->audit_log({.who = who}, {.after = {}, .limit = 50});
    for (const AuditEntry& each : log->items) what.push_back(each.what);
    return what;
  }
  static std::vector<std::string> recovery_codes(const WebAnswer& answer) {
    std::vector<std::string> codes;
    const std::regex pattern("[a-z2-7]{4}(-[a-z2-7]{4}){3}");
    for (std::sregex_iterator each(answer.body.begin(), answer.body.end(), pattern), end; each != end; ++each)
      codes.push_back(each->str());
    return codes;
  }
};

TEST_P(PasskeysTest, SomebodySignsInWithAPasskeyOfEachKind) {
  unsigned char seed = 7;
  for (const KeyType type : {KeyType::Es256, KeyType::EdDsa, KeyType::Rs256}) {
    SoftwareAuthenticator authenticator(type, seed++);
    Visit ann = signed_in(seed == 8 ? "ann" : seed == 9 ? "bob" : "mod");
    ASSERT_LT(add(ann, authenticator).status, 400);
    Visit again = visit();
    const WebAnswer in = sign_in(again, authenticator);
    EXPECT_EQ(in.status, 303) << in.body;
    EXPECT_EQ(place(in), "/submit");
    EXPECT_TRUE(again.is_signed_in()) << "nothing else is asked for";
  }
  EXPECT_THAT(audited("ann"), ::testing::IsSupersetOf({"add passkey", "sign in by passkey"}));
}

TEST_P(PasskeysTest, AfterTheFirstPasskeyThePasswordAloneLetsNobodyIn) {
  SoftwareAuthenticator authenticator;
  Visit ann = signed_in("ann");
  Visit other = signed_in("ann");
  const auto codes = recovery_codes(add(ann, authenticator));
  EXPECT_EQ(codes.size(), 10U);
  EXPECT_TRUE(ann.is_signed_in());
  EXPECT_FALSE(other.is_signed_in()) << "all other sessions end";

  Visit again = visit();
  EXPECT_EQ(place(again.log_in("ann")), "/login/code");
  EXPECT_FALSE(again.is_signed_in());
  const WebAnswer page = again.get("/login/code");
  EXPECT_THAT(page.body, AllOf(HasSubstr("data-passkey=\"/login/code/ask\""), HasSubstr("Recovery code"),
                               HasSubstr("<noscript>"), HasSubstr(passkey_script_path())));
  authenticator.user_verified = false;  // as a key with nothing but a button does
  const std::string shown = authenticator.get(question(again, "/login/code/ask"));
  EXPECT_EQ(again.post("/login/code", {{"credential", shown}}).status, 303);
  EXPECT_TRUE(again.is_signed_in());

  Visit without = visit();
  without.log_in("ann");
  without.get("/login/code");
  EXPECT_EQ(without.post("/login/code", {{"code", codes.front()}}).status, 303);
  EXPECT_TRUE(without.is_signed_in()) << "a recovery code does it, too";
}

TEST_P(PasskeysTest, APasskeyWithoutVerificationIsNoFirstFactor) {
  SoftwareAuthenticator authenticator;
  Visit ann = signed_in("ann");
  add(ann, authenticator);
  authenticator.user_verified = false;
  Visit thief = visit();
  EXPECT_EQ(sign_in(thief, authenticator).status, 403);
  EXPECT_FALSE(thief.is_signed_in());
}

TEST_P(PasskeysTest, AChallengeIsForOneBrowserOnceAndForAShortTime) {
  SoftwareAuthenticator authenticator;
  Visit ann = signed_in("ann");
  add(ann, authenticator);

  Visit again = visit();
  again.get("/login");
  const std::string shown = authenticator.get(question(again, "/login/passkey/ask"));
  Visit other = visit();
  other.get("/login");
  EXPECT_EQ(other.post("/login/passkey", {{"credential", shown}}).status, 403) << "another browser";
  EXPECT_EQ(again.post("/login/passkey", {{"credential", shown}}).status, 403) << "it is over for both";

  const std::string good = authenticator.get(question(again, "/login/passkey/ask"));
  EXPECT_EQ(again.post("/login/passkey", {{"credential", good}}).status, 303);
  again.get("/account");
  again.post("/logout", {});
  again.get("/login");
  EXPECT_EQ(again.post("/login/passkey", {{"credential", good}}).status, 403) << "the same answer again";

  const std::string late = authenticator.get(question(again, "/login/passkey/ask"));
  clock_.advance(6min);
  EXPECT_EQ(again.post("/login/passkey", {{"credential", late}}).status, 403) << "too late";

  // The answer to another question: what confirms an account lets nobody in.
  Visit waiting = visit();
  waiting.log_in("ann");
  waiting.get("/login/code");
  const Value confirm = question(waiting, "/login/code/ask");
  EXPECT_EQ(waiting.post("/login/passkey", {{"credential", authenticator.get(confirm)}}).status, 403);
  EXPECT_FALSE(waiting.is_signed_in());
}

TEST_P(PasskeysTest, AnAnswerThatIsForAnotherSiteIsRefused) {
  SoftwareAuthenticator authenticator;
  Visit ann = signed_in("ann");
  authenticator.origin = "https://c.example.evil.example";
  EXPECT_EQ(add(ann, authenticator).status, 403);
  authenticator.origin = "https://c.example";
  authenticator.rp_id = "evil.example";
  EXPECT_EQ(add(ann, authenticator).status, 403);
  authenticator.rp_id = "c.example";
  EXPECT_EQ((*accounts_->find("ann"))->passkeys, 0);
  EXPECT_EQ(add(ann, authenticator).status, 200);
  authenticator.origin = "https://evil.example";
  Visit again = visit();
  EXPECT_EQ(sign_in(again, authenticator).status, 403);
}

TEST_P(PasskeysTest, ACounterThatGoesBackIsRefusedAndTold) {
  SoftwareAuthenticator authenticator;
  Visit ann = signed_in("ann");
  add(ann, authenticator);
  SoftwareAuthenticator copy = authenticator;
  for (int i = 0; i < 3; ++i) {
    Visit again = visit();
    EXPECT_EQ(sign_in(again, authenticator).status, 303);
  }
  Visit thief = visit();
  const WebAnswer refused = sign_in(thief, copy);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("its counter went back"));
  EXPECT_FALSE(thief.is_signed_in());
  EXPECT_THAT(audited("ann"), ::testing::Contains("refuse passkey"));
  Visit owner = visit();
  EXPECT_EQ(sign_in(owner, authenticator).status, 303) << "the one that counts on";
  EXPECT_THAT(owner.get("/account").body, HasSubstr("somebody may have a copy of it"));
}

TEST_P(PasskeysTest, APasskeyThatCountsNothingIsGood) {
  SoftwareAuthenticator authenticator;
  authenticator.step = 0;
  Visit ann = signed_in("ann");
  add(ann, authenticator);
  for (int i = 0; i < 3; ++i) {
    Visit again = visit();
    EXPECT_EQ(sign_in(again, authenticator).status, 303);
  }
}

TEST_P(PasskeysTest, ABackupThatAppearsIsAnotherPasskey) {
  SoftwareAuthenticator authenticator;
  Visit ann = signed_in("ann");
  add(ann, authenticator);
  authenticator.backup_eligible = true;
  Visit again = visit();
  EXPECT_EQ(sign_in(again, authenticator).status, 403);
}

TEST_P(PasskeysTest, AnAccountHasSeveralWithNamesAndRemovesThem) {
  SoftwareAuthenticator first(KeyType::Es256, 7);
  SoftwareAuthenticator second(KeyType::EdDsa, 8);
  Visit ann = signed_in("ann");
  EXPECT_EQ(recovery_codes(add(ann, first, "laptop")).size(), 10U);
  const WebAnswer added = add(ann, second, "blue <key>", kPassword, proof(ann, first));
  EXPECT_EQ(place(added), "/account#passkeys") << "the codes stay";
  ann.get("/account");
  const Value asked = question(ann, "/account/passkeys/ask");
  EXPECT_EQ(asked.find("excludeCredentials")->size(), 2U);
  EXPECT_EQ(asked.find("user")->string_at("id"), encoding::base64url_encode(first.handle));
  EXPECT_EQ(first.handle, second.handle);
  EXPECT_EQ(first.handle.find("ann"), std::string::npos);

  EXPECT_EQ(add(ann, first, "laptop", kPassword, proof(ann, second)).status, 409) << "the same one again";
  Visit bob = signed_in("bob");
  SoftwareAuthenticator same = second;
  EXPECT_EQ(add(bob, same).status, 409) << "another account neither";

  const WebAnswer page = ann.get("/account");
  EXPECT_THAT(page.body, AllOf(HasSubstr("blue &lt;key&gt;"), HasSubstr("Remove a passkey"),
                               Not(HasSubstr("recovery code is left"))));
  const auto kept = *passkeys_->passkeys("ann");
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].facts.transports, (std::vector<std::string>{"internal", "hybrid"}));
  const std::string id = std::to_string(kept[0].id);
  EXPECT_EQ(ann.post("/account/passkeys/remove", {{"id", id}, {"code", "123456"}}).status, 403);
  EXPECT_EQ(ann.post("/account/passkeys/remove", {{"id", id}}).status, 403) << "nothing was shown";
  const std::string shown = second.get(question(ann, "/account/passkeys/confirm"));
  EXPECT_EQ(ann.post("/account/passkeys/remove", {{"id", id}, {"credential", shown}}).status, 303);
  EXPECT_EQ(passkeys_->passkeys("ann")->size(), 1U);
  Visit again = visit();
  const WebAnswer refused = sign_in(again, first);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("lets nobody in here"));

  // With the last one all that it asked for goes.
  ann.get("/account");
  const std::string last = std::to_string(kept[1].id);
  const std::string again_shown = second.get(question(ann, "/account/passkeys/confirm"));
  EXPECT_EQ(ann.post("/account/passkeys/remove", {{"id", last}, {"credential", again_shown}}).status, 303);
  EXPECT_EQ((*accounts_->find("ann"))->recovery_codes, 0);
  EXPECT_EQ(place(again.log_in("ann")), "/account");
}

TEST_P(PasskeysTest, AnOpenBrowserIsNotEnoughToAddOne) {
  SoftwareAuthenticator authenticator;
  Visit ann = signed_in("ann");
  EXPECT_EQ(add(ann, authenticator, "mine", "wrong password").status, 403);
  EXPECT_EQ(add(ann, authenticator, "").status, 400);
  EXPECT_EQ(add(ann, authenticator, "a\x1b[31m").status, 400);
  EXPECT_TRUE(passkeys_->passkeys("ann")->empty());
}

TEST_P(PasskeysTest, ASecondOneNeedsTheFirstOrACode) {
  SoftwareAuthenticator first(KeyType::Es256, 7);
  SoftwareAuthenticator second(KeyType::Es256, 8);
  Visit ann = signed_in("ann");
  const auto codes = recovery_codes(add(ann, first));
  ASSERT_EQ(codes.size(), 10U);
  EXPECT_THAT(ann.get("/account").body, AllOf(HasSubstr("data-proof=\"/account/passkeys/confirm\""),
                                              HasSubstr("id=\"field-new-passkey-code\"")));
  EXPECT_EQ(add(ann, second).status, 403) << "session and password";
  EXPECT_EQ(add(ann, second, "mine", kPassword, {{"code", "123456"}}).status, 403);
  SoftwareAuthenticator third(KeyType::Es256, 9);
  EXPECT_EQ(add(ann, second, "mine", kPassword, proof(ann, third)).status, 403) << "it isn't ann's";
  EXPECT_EQ(passkeys_->passkeys("ann")->size(), 1U);
  EXPECT_EQ(place(add(ann, second, "mine", kPassword, {{"code", codes.front()}})), "/account#passkeys");
  EXPECT_EQ(place(add(ann, third, "key", kPassword, proof(ann, second))), "/account#passkeys");
}

TEST_P(PasskeysTest, ARefusedPasskeyUsesUpNoCode) {
  SoftwareAuthenticator first(KeyType::Es256, 7);
  SoftwareAuthenticator second(KeyType::Es256, 8);
  Visit ann = signed_in("ann");
  const auto codes = recovery_codes(add(ann, first));
  ASSERT_EQ(codes.size(), 10U);
  const FormFields code{{"code", codes.front()}};
  EXPECT_EQ(add(ann, second, "", kPassword, code).status, 400);
  EXPECT_EQ(add(ann, first, "mine", kPassword, code).status, 409) << "the same one again";
  ann.get("/account");
  const std::string late = second.create(question(ann, "/account/passkeys/ask"));
  clock_.advance(PasskeyStore::kChallengeTime + 1s);
  EXPECT_EQ(
      ann.post("/account/passkeys",
               {{"name", "mine"}, {"password", kPassword}, {"credential", late}, {"code", codes.front()}})
          .status,
      403);
  for (int i = 1; i < PasskeyStore::kMostPasskeys; ++i)
    ASSERT_TRUE(passkeys_->add("ann", {.credential = "c" + std::to_string(i), .key = "PEM"}, {}).ok());
  Visit again = visit();
  ASSERT_EQ(sign_in(again, first).status, 303) << "the sessions ended";
  EXPECT_EQ(add(again, second, "mine", kPassword, code).status, 409) << "too many";
  EXPECT_EQ((*accounts_->find("ann"))->recovery_codes, 10);
}

// The session alone would take the account over.
TEST_P(PasskeysTest, AnAccountWithoutAPasswordIsAskedForItsPasskey) {
  SoftwareAuthenticator first(KeyType::Es256, 7);
  SoftwareAuthenticator second(KeyType::Es256, 8);
  Visit ann = signed_in("ann");
  add(ann, first);
  ASSERT_TRUE(accounts_->set_password("ann", "").ok());
  Visit thief = visit();
  ASSERT_EQ(sign_in(thief, first).status, 303);
  EXPECT_EQ(add(thief, second, "mine", "").status, 403);
  thief.get("/account");
  const FormFields another{{"password", "another long one"}};
  EXPECT_EQ(thief.post("/account/password", another).status, 403);
  EXPECT_EQ(*accounts_->password_of("ann"), "");
  EXPECT_EQ(passkeys_->passkeys("ann")->size(), 1U);
  const std::string shown = first.get(question(thief, "/account/passkeys/confirm"));
  EXPECT_EQ(thief.post("/account/password", {{"password", "another long one"}, {"credential", shown}}).status,
            303)
      << "with the passkey it is ann";
  EXPECT_EQ(place(visit().log_in("ann", "another long one")), "/login/code");
}

TEST_P(PasskeysTest, APasskeyIsAskedForBeforeAnAuthenticatorIsSetUp) {
  SoftwareAuthenticator authenticator;
  Visit ann = signed_in("ann");
  add(ann, authenticator);
  EXPECT_THAT(ann.get("/account").body,
              HasSubstr("Set up an authenticator, with a passkey instead of the code"));
  EXPECT_EQ(ann.post("/account/code", {{"password", kPassword}}).status, 403);
  EXPECT_EQ(ann.post("/account/code", {{"password", kPassword}, {"code", "123456"}}).status, 403);
  EXPECT_EQ(ann.post("/account/identities", {{"password", kPassword}}).status, 403);
  const std::string shown = authenticator.get(question(ann, "/account/passkeys/confirm"));
  EXPECT_EQ(ann.post("/account/code", {{"credential", shown}}).status, 403) << "nor without the password";
  EXPECT_FALSE(*accounts_->second_factor("ann"));
  EXPECT_EQ((*accounts_->find("ann"))->recovery_codes, 10);
  const WebAnswer begun = ann.post("/account/code", {{"password", kPassword}, {"credential", shown}});
  EXPECT_EQ(begun.status, 200);
  EXPECT_THAT(begun.body, HasSubstr("otpauth://totp/"));
}

TEST_P(PasskeysTest, OnlyTheAccountsOwnPasskeyConfirmsIt) {
  SoftwareAuthenticator anns(KeyType::Es256, 7);
  SoftwareAuthenticator bobs(KeyType::Es256, 8);
  Visit ann = signed_in("ann");
  Visit bob = signed_in("bob");
  add(ann, anns);
  add(bob, bobs);
  Visit again = visit();
  again.log_in("ann");
  again.get("/login/code");
  const std::string shown = bobs.get(question(again, "/login/code/ask"));
  EXPECT_EQ(again.post("/login/code", {{"credential", shown}}).status, 403);
  EXPECT_FALSE(again.is_signed_in());
  // A passkey that gives the handle of somebody else.
  bobs.handle = anns.handle;
  Visit thief = visit();
  EXPECT_EQ(sign_in(thief, bobs).status, 403);
  bobs.handle.clear();
  EXPECT_EQ(sign_in(thief, bobs).status, 403) << "nor one that gives none";
}

TEST_P(PasskeysTest, ADisabledAccountAndADeletedOneAreLetInByNone) {
  SoftwareAuthenticator authenticator;
  Visit ann = signed_in("ann");
  add(ann, authenticator);
  ASSERT_TRUE(accounts_->set_disabled("ann", true).ok());
  Visit again = visit();
  EXPECT_EQ(sign_in(again, authenticator).status, 403);
  ASSERT_TRUE(accounts_->set_disabled("ann", false).ok());
  EXPECT_EQ(sign_in(again, authenticator).status, 303);

  again.get("/account");
  EXPECT_EQ(again.post("/account/remove", {{"name", "ann"}, {"password", kPassword}}).status, 403);
  const std::string shown = authenticator.get(question(again, "/account/passkeys/confirm"));
  EXPECT_EQ(
      place(again.post("/account/remove", {{"name", "ann"}, {"password", kPassword}, {"credential", shown}})),
      "/");
  EXPECT_FALSE(*passkeys_->find(authenticator.id));
  std::int64_t handles = -1;
  ASSERT_TRUE(database_
                  ->read("SELECT count(*) FROM accounts WHERE passkey_handle <> ''", {},
                         [&](const sql::Row& row) { handles = row.integer(0); })
                  .ok());
  EXPECT_EQ(handles, 0);
}

TEST_P(PasskeysTest, WithAnAuthenticatorBothDoAndTheCodesStay) {
  SoftwareAuthenticator authenticator;
  Visit ann = signed_in("ann");
  const std::string secret = new_totp_secret(random_);
  give_authenticator("ann", secret, {recovery_digest("aaaa")});
  ann.log_in("ann");
  ann.get("/login/code");
  ann.post("/login/code", {{"code", code_of(secret)}});
  clock_.advance(30s);
  EXPECT_EQ(add(ann, authenticator).status, 403);
  EXPECT_EQ(place(add(ann, authenticator, "laptop", kPassword, {{"code", code_of(secret)}})),
            "/account#passkeys");
  EXPECT_EQ((*accounts_->find("ann"))->recovery_codes, 1);
  EXPECT_THAT(ann.get("/account").body, HasSubstr("Your last recovery code is left"));
  ASSERT_TRUE(accounts_->end_second_factor("ann").ok());
  EXPECT_EQ((*accounts_->find("ann"))->recovery_codes, 1) << "the passkey needs them";
  EXPECT_EQ(*passkeys_->remove_all("ann"), 1);
  EXPECT_EQ((*accounts_->find("ann"))->recovery_codes, 0);
}

TEST_P(PasskeysTest, NoFormOfAnotherSiteAsksForOne) {
  Visit ann = signed_in("ann");
  ann.get("/account");
  ann.headers = {{"Origin", "https://evil.example"}};
  for (const char* path : {"/account/passkeys/ask", "/account/passkeys/confirm", "/account/passkeys",
                           "/account/passkeys/remove", "/login/passkey/ask", "/login/passkey"})
    EXPECT_EQ(ann.post(path, {}).status, 403) << path;
  ann.headers.clear();
  ann.token = std::string(64, '0');
  EXPECT_EQ(ann.post("/account/passkeys/ask", {}).status, 403);
}

TEST_P(PasskeysTest, AskingIsLimitedForAClient) {
  Visit somebody = visit();
  somebody.get("/login");
  int tries = 0;
  while (tries < 200 && somebody.post("/login/passkey/ask", {}).status == 200) ++tries;
  EXPECT_EQ(tries, 40);
  Visit other(*site_, "198.51.100.7");
  other.get("/login");
  EXPECT_EQ(other.post("/login/passkey/ask", {}).status, 200);
}

TEST_P(PasskeysTest, RubbishIsRefused) {
  SoftwareAuthenticator authenticator;
  Visit ann = signed_in("ann");
  add(ann, authenticator);
  Visit somebody = visit();
  somebody.get("/login");
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), std::string("null"), std::string(200'000, 'a'),
        authenticator.authentication(""), authenticator.authentication("YWJj")}) {
    const int status = somebody.post("/login/passkey", {{"credential", text}}).status;
    EXPECT_TRUE(status == 403 || status == 400) << status;
  }
}

TEST_P(PasskeysTest, ACatalogWithoutHttpsOffersNone) {
  const auto plain = made(Registration::Closed, "http://127.0.0.1:8080");
  Visit ann(*plain, "127.0.0.1");
  EXPECT_THAT(ann.get("/login").body, Not(HasSubstr("data-passkey")));
  EXPECT_EQ(ann.post("/login/passkey/ask", {}).status, 404);
  ann.log_in("ann");
  EXPECT_THAT(ann.get("/account").body, HasSubstr("it needs an address with https and a name"));
}

TEST_P(PasskeysTest, AnExportHasThemWithoutTheirKeys) {
  SoftwareAuthenticator authenticator;
  Visit ann = signed_in("ann");
  add(ann, authenticator, "laptop");
  const WebAnswer answer = ann.get("/account/export");
  EXPECT_THAT(answer.body, AllOf(HasSubstr("\"laptop\""), Not(HasSubstr("PUBLIC KEY")),
                                 Not(HasSubstr(encoding::base64url_encode(authenticator.id)))));
}

INSTANTIATE_TEST_SUITE_P(Databases, PasskeysTest, each_database(), name_of_database);

}  // namespace
}  // namespace mist::catalog
