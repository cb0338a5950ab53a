#include "catalog/account_site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "catalog/account_site_fixture.h"
#include "catalog/totp.h"
#include "http/url.h"

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;
using http::WebAnswer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_P(AccountSiteTest, SomebodySignsInAndOut) {
  Visit ann = visit();
  EXPECT_EQ(place(ann.get("/account")), "/login?next=%2Faccount");
  const WebAnswer in = ann.log_in("ann");
  EXPECT_EQ(in.status, 303);
  EXPECT_EQ(place(in), "/account");
  const WebAnswer page = ann.get("/account");
  EXPECT_THAT(page.body,
              AllOf(HasSubstr("<h1>ann</h1>"), HasSubstr("Test &lt;b&gt;"), HasSubstr("192.0.2.1")));
  EXPECT_EQ(http::find_header(page.headers, "Cache-Control"), "no-store");
  const WebAnswer home = ann.get("/");
  EXPECT_THAT(home.body, HasSubstr("<a href=\"/account\">ann</a>"));
  EXPECT_EQ(http::find_header(home.headers, "Cache-Control"), "no-store");
  EXPECT_THAT(visit().get("/").body, HasSubstr("<a href=\"/login\">Sign in</a>"));
  const auto cookies = ann.cookies;
  ann.get("/account");
  EXPECT_EQ(place(ann.post("/logout", {})), "/");
  EXPECT_TRUE(ann.cookies.empty());
  ann.cookies = cookies;
  EXPECT_FALSE(ann.is_signed_in()) << "the session is over, not only its cookie";
}

TEST_P(AccountSiteTest, CookiesAreOutOfReachOfScriptsAndOtherHosts) {
  Visit ann = visit();
  ann.log_in("ann");
  for (const std::string& cookie : ann.set)
    EXPECT_THAT(cookie,
                AllOf(StartsWith("__Host-catalog-"), HasSubstr("; Path=/; HttpOnly; SameSite=Lax; Secure"),
                      Not(HasSubstr("Domain"))));
  const auto plain = made(Registration::Closed, "http://127.0.0.1:8080");
  Visit local(*plain, "127.0.0.1");
  EXPECT_EQ(local.log_in("ann").status, 303);
  for (const std::string& cookie : local.set)
    EXPECT_THAT(cookie, AllOf(StartsWith("catalog-"), HasSubstr("HttpOnly"), Not(HasSubstr("Secure"))));
}

TEST_P(AccountSiteTest, TheDatabaseLetsNobodyIn) {
  Visit ann = signed_in("ann");
  const std::string cookie = ann.cookies.at("__Host-catalog-session");
  EXPECT_EQ(cookie.size(), 64U);
  const std::string bytes = kept_.content();
  EXPECT_EQ(bytes.find(cookie), std::string::npos);
  EXPECT_NE(bytes.find(session_digest(SecretString(cookie))), std::string::npos);
  EXPECT_EQ(bytes.find(kPassword), std::string::npos);
}

TEST_P(AccountSiteTest, ASessionThatWasPlantedIsNotTheOneThatBegins) {
  Visit ann = visit();
  ann.cookies["__Host-catalog-session"] = std::string(64, 'a');
  ann.log_in("ann");
  EXPECT_NE(ann.cookies.at("__Host-catalog-session"), std::string(64, 'a'));
  const std::string first = ann.cookies.at("__Host-catalog-session");
  ann.get("/account");
  ann.post("/login", {{"name", "ann"}, {"password", kPassword}});
  EXPECT_NE(ann.cookies.at("__Host-catalog-session"), first);
  EXPECT_EQ(accounts_->sessions("ann")->size(), 1U) << "the first one ended";
}

TEST_P(AccountSiteTest, NobodyLearnsWhichAccountsExist) {
  ASSERT_TRUE(accounts_->set_disabled("bob", true).ok());
  std::set<std::string> bodies;
  for (const auto& [name, password] : {std::pair<std::string, std::string>("ann", "wrong"),
                                       {"bob", kPassword},
                                       {"robot", ""},
                                       {"nobody", kPassword},
                                       {"<script>", ""}}) {
    Visit somebody = visit();
    const WebAnswer answer = somebody.log_in(name, password);
    EXPECT_EQ(answer.status, 403);
    std::string body = answer.body;
    // Its own name and token are shown again.
    body = std::regex_replace(body, std::regex("value=\"[^\"]*\""), "");
    bodies.insert(body);
    EXPECT_THAT(answer.body,
                AllOf(HasSubstr("The name or the password is wrong"), Not(HasSubstr("<script>"))));
    EXPECT_FALSE(somebody.is_signed_in());
  }
  EXPECT_EQ(bodies.size(), 1U);
}

TEST_P(AccountSiteTest, GuessingEndsForAnAccountAndForAClient) {
  int tries = 0;
  for (; tries < 100; ++tries)
    if (visit(fmt::format("192.0.2.{}", tries)).log_in("ann", "wrong").status == 429) break;
  EXPECT_EQ(tries, 10) << "of one account, from many clients";
  EXPECT_EQ(visit("198.51.100.1").log_in("ann").status, 429) << "the right one neither";
  clock_.advance(31s);
  EXPECT_EQ(visit("198.51.100.1").log_in("ann").status, 303);
  for (tries = 0; tries < 100; ++tries)
    if (visit(fmt::format("2001:db8::{}", tries)).log_in(fmt::format("a{}", tries), "wrong").status == 429)
      break;
  EXPECT_EQ(tries, 20) << "of many accounts, from one network";
  EXPECT_EQ(visit("2001:db8:0:1::1").log_in("bob").status, 303);
}

TEST_P(AccountSiteTest, AFormOfAnotherSiteChangesNothing) {
  Visit ann = signed_in("ann");
  const FormFields fields{{"name", "etcd"}, {"url", "https://git.example.com/etcd"}, {"path", ""}};
  for (const auto& [name, value] :
       {std::pair("Origin", "https://evil.example"), std::pair("Origin", "null"),
        std::pair("Origin", "http://c.example"), std::pair("Sec-Fetch-Site", "cross-site"),
        std::pair("Sec-Fetch-Site", "same-site")}) {
    ann.headers = {{name, value}};
    EXPECT_EQ(ann.post("/account/projects", fields).status, 403) << value;
  }
  ann.headers = {{"Origin", "https://c.example"}, {"Sec-Fetch-Site", "same-origin"}};
  const std::string token = ann.token;
  for (const std::string& wrong :
       {std::string(), std::string(64, '0'), signed_in("bob").token, visit().token}) {
    ann.token = wrong;
    EXPECT_EQ(ann.post("/account/projects", fields).status, 403);
  }
  EXPECT_FALSE(*store_->project("etcd"));
  ann.token = token;
  EXPECT_EQ(ann.post("/account/projects", fields).status, 200);
  EXPECT_TRUE(*store_->project("etcd"));
}

// An attacker who signs the victim's browser in as himself would read what it does there.
TEST_P(AccountSiteTest, AFormOfAnotherSiteSignsNobodyIn) {
  Visit victim = visit();
  Visit attacker = visit();
  attacker.get("/login");
  victim.token = attacker.token;
  EXPECT_EQ(victim.post("/login", {{"name", "bob"}, {"password", kPassword}}).status, 403);
  victim.get("/login");
  victim.token = attacker.token;
  EXPECT_EQ(victim.post("/login", {{"name", "bob"}, {"password", kPassword}}).status, 403);
}

TEST_P(AccountSiteTest, TheApiTakesNoCookies) {
  const Visit ann = signed_in("ann");
  http::WebRequest request{
      .method = "POST",
      .path = "/api/v1/projects",
      .headers = {{"Cookie", "__Host-catalog-session=" + ann.cookies.at("__Host-catalog-session")},
                  {"Content-Type", "application/json"}},
      .body = R"({"name": "etcd", "url": "https://git.example.com/etcd"})",
      .peer = "192.0.2.1"};
  EXPECT_EQ(site_->answer(request).status, 401);
  request.method = "GET";
  EXPECT_EQ(site_->answer(request).status, 401);
}

TEST_P(AccountSiteTest, SigningInLeadsBackToAPageOfOurs) {
  for (const auto& [next, place_of] :
       std::initializer_list<std::pair<std::string, std::string>>{{"/packages/etcd", "/packages/etcd"},
                                                                  {"//evil.example", "/account"},
                                                                  {"/\\evil.example", "/account"},
                                                                  {"https://evil.example", "/account"},
                                                                  {"/a\r\nSet-Cookie: x=y", "/account"},
                                                                  {"javascript:alert(1)", "/account"}}) {
    Visit ann = visit("192.0.2." + std::to_string(next.size()));
    clock_.advance(1min);
    EXPECT_EQ(ann.get("/login?next=" + http::escape_query(next)).status, 200);
    EXPECT_EQ(place(ann.post("/login", {{"name", "ann"}, {"password", kPassword}, {"next", next}})),
              place_of);
  }
}

TEST_P(AccountSiteTest, AnotherPasswordEndsEveryOtherSession) {
  Visit thief = signed_in("ann");
  Visit ann = signed_in("ann");
  const std::string before = ann.cookies.at("__Host-catalog-session");
  EXPECT_EQ(ann.post("/account/password", {{"old", "wrong"}, {"password", "another long one"}}).status, 403);
  EXPECT_EQ(ann.post("/account/password", {{"old", kPassword}, {"password", "short"}}).status, 400);
  EXPECT_TRUE(thief.is_signed_in());
  ann.get("/account");
  EXPECT_EQ(ann.post("/account/password", {{"old", kPassword}, {"password", "another long one"}}).status,
            303);
  EXPECT_NE(ann.cookies.at("__Host-catalog-session"), before);
  EXPECT_TRUE(ann.is_signed_in());
  EXPECT_FALSE(thief.is_signed_in());
  EXPECT_EQ(visit().log_in("ann").status, 403);
  EXPECT_EQ(visit().log_in("ann", "another long one").status, 303);
}

TEST_P(AccountSiteTest, OtherSessionsEndWhenTheirOwnerSaysSo) {
  Visit first = signed_in("ann");
  Visit second = signed_in("ann");
  EXPECT_EQ(second.post("/account/sessions", {}).status, 303);
  EXPECT_TRUE(second.is_signed_in());
  EXPECT_FALSE(first.is_signed_in());
}

TEST_P(AccountSiteTest, AnOldHashIsReplacedWhenItsOwnerSignsIn) {
  PasswordHasher old(random_, {.n = 2, .r = 1, .p = 1});
  ASSERT_TRUE(accounts_->set_password("ann", *old.hash(SecretString(kPassword))).ok());
  EXPECT_EQ(visit().log_in("ann").status, 303);
  EXPECT_FALSE(passwords_.is_old(*accounts_->password_of("ann")));
  EXPECT_EQ(visit().log_in("ann").status, 303);
}

TEST_P(AccountSiteTest, AccountsAreMadeByAnybodyOnlyWhereThatIsOpen) {
  EXPECT_EQ(visit().get("/register").status, 404);
  Visit early = visit();
  early.get("/login");
  EXPECT_EQ(early.post("/register", {{"name", "eve"}, {"password", kPassword}}).status, 404);
  EXPECT_FALSE(*accounts_->find("eve"));
  site_ = made(Registration::Open);
  Visit eve = visit();
  EXPECT_THAT(eve.get("/login").body, HasSubstr("href=\"/register\""));
  eve.get("/register");
  EXPECT_EQ(eve.post("/register", {{"name", "Eve!"}, {"password", kPassword}}).status, 400);
  EXPECT_EQ(eve.post("/register", {{"name", "ann"}, {"password", kPassword}}).status, 409);
  EXPECT_EQ(eve.post("/register", {{"name", "eve"}, {"password", "short"}}).status, 400);
  EXPECT_EQ(eve.post("/register", {{"name", "eve"}, {"password", kPassword}}).status, 303);
  EXPECT_TRUE(eve.is_signed_in());
  EXPECT_EQ((*accounts_->find("eve"))->account.role, Role::Author);
  Visit many = visit();
  many.get("/register");
  EXPECT_EQ(many.post("/register", {{"name", "eve2"}, {"password", kPassword}}).status, 303);
  many.get("/register");
  EXPECT_EQ(many.post("/register", {{"name", "eve3"}, {"password", kPassword}}).status, 429);
}

TEST_P(AccountSiteTest, AnAuthorChangesVersionsOnTheirPages) {
  publish("etcd", "ann");
  const std::string page = "/packages/etcd/1.0.0";
  const FormFields version{{"package", "etcd"}, {"version", "1.0.0"}, {"reason", "bad <b>"}};
  Visit bob = signed_in("bob");
  EXPECT_THAT(bob.get(page).body, Not(HasSubstr("/account/versions")));
  bob.get("/account");
  for (const char* path : {"/account/versions/yank", "/account/versions/test", "/account/versions/unyank"})
    EXPECT_EQ(bob.post(path, version).status, 403);
  EXPECT_EQ(bob.post("/account/projects/unlink", {{"name", "etcd"}}).status, 403);
  EXPECT_EQ(bob.post("/account/projects/poll", {{"name", "etcd"}}).status, 403);
  Visit ann = signed_in("ann");
  EXPECT_THAT(ann.get(page).body, HasSubstr("/account/versions/yank"));
  EXPECT_EQ(place(ann.post("/account/versions/yank", version)), page);
  EXPECT_THAT(ann.get(page).body, AllOf(HasSubstr("advises against it.</b> The reason: bad &lt;b&gt;"),
                                        HasSubstr("/account/versions/unyank")));
  Visit mod = signed_in("mod");
  EXPECT_THAT(mod.get(page).body, HasSubstr("/account/versions/unyank"));
  EXPECT_EQ(mod.post("/account/versions/unyank", version).status, 303);
  EXPECT_EQ(mod.post("/account/projects/unlink", {{"name", "etcd"}}).status, 403);
  EXPECT_EQ(ann.post("/account/versions/test", version).status, 303);
  EXPECT_EQ((*store_->version("etcd", "1.0.0"))->state, VersionState::Passed);
  EXPECT_EQ((*store_->version("etcd", "1.0.0"))->new_test, VersionState::Queued);
  EXPECT_EQ(ann.post("/account/versions/test", version).status, 409);
  EXPECT_THAT(ann.get("/account").body, HasSubstr("href=\"/packages/etcd\""));
  EXPECT_EQ(ann.post("/account/projects/poll", {{"name", "etcd"}}).status, 303);
  EXPECT_EQ(ann.post("/account/projects/unlink", {{"name", "etcd"}}).status, 303);
  EXPECT_FALSE(*store_->project("etcd"));
  const auto log = store_->audit_log({}, {});
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->items.front().what, "unlink");
  EXPECT_EQ(log->items.front().who, "ann");
  EXPECT_EQ(log->items.front().peer, "192.0.2.1");
}

// A link whose secret nobody saw, or a token that nobody has, would be there for ever.
TEST_P(AccountSiteTest, NothingIsChangedThatTheAuditLogIsNotTold) {
  Visit ann = signed_in("ann");
  Visit root = signed_in("root");
  ASSERT_TRUE(database_->writing([](sql::Database& db) { return db.script("DROP TABLE audit"); }).ok());
  EXPECT_EQ(ann.post("/account/projects", {{"name", "etcd"}, {"url", "https://git.example.com/etcd"}}).status,
            503);
  EXPECT_FALSE(*store_->project("etcd"));
  EXPECT_EQ(ann.post("/account/tokens", {{"label", "ci"}, {"scope", "projects"}, {"days", "1"}}).status, 503);
  EXPECT_TRUE(accounts_->tokens("ann")->empty());
  EXPECT_EQ(root.post("/admin/role", {{"name", "bob"}, {"role", "moderator"}}).status, 503);
  EXPECT_EQ((*accounts_->find("bob"))->account.role, Role::Author);
  EXPECT_EQ(root.post("/admin/disable", {{"name", "bob"}}).status, 503);
  EXPECT_FALSE((*accounts_->find("bob"))->disabled);
}

TEST_P(AccountSiteTest, VersionsOfAnUnlinkedRepositoryAreStillYanked) {
  publish("etcd", "ann");
  const std::string page = "/packages/etcd/1.0.0";
  const FormFields version{{"package", "etcd"}, {"version", "1.0.0"}};
  ASSERT_TRUE(store_->remove_project("etcd").ok());
  Visit ann = signed_in("ann");
  EXPECT_THAT(ann.get(page).body, HasSubstr("/account/versions/yank"));
  EXPECT_EQ(ann.post("/account/versions/yank", version).status, 303);
  EXPECT_TRUE((*store_->version("etcd", "1.0.0"))->yanked);
  EXPECT_EQ(ann.post("/account/versions/test", version).status, 303);
  Visit mod = signed_in("mod");
  EXPECT_THAT(mod.get(page).body, HasSubstr("/account/versions/unyank"));
  EXPECT_EQ(mod.post("/account/versions/unyank", version).status, 303);
  Visit bob = signed_in("bob");
  EXPECT_THAT(bob.get(page).body, Not(HasSubstr("/account/versions")));
  EXPECT_EQ(bob.post("/account/versions/yank", version).status, 403);
}

// The codes of the page that shows a new authenticator's secret, and of the one with recovery codes.
std::string code_on(const std::string& body, const std::string& pattern) {
  std::smatch found;
  return std::regex_search(body, found, std::regex(pattern)) ? found[1].str() : std::string();
}

TEST_P(AccountSiteTest, AnAuthenticatorIsAskedForAfterThePassword) {
  Visit other = signed_in("ann");
  Visit ann = signed_in("ann");
  EXPECT_THAT(ann.post("/account/code", {{"password", kPassword}}).body,
              HasSubstr("otpauth://totp/c.example:ann?secret="));
  EXPECT_FALSE((*accounts_->find("ann"))->has_second_factor) << "not before it showed a code";
  EXPECT_EQ(ann.post("/account/code/confirm", {{"code", "000000x"}}).status, 403);
  const std::string secret = (*accounts_->second_factor("ann"))->secret;
  const auto code = [&] { return totp_code(secret, totp_step(clock_.now())); };
  const WebAnswer codes = ann.post("/account/code/confirm", {{"code", code()}});
  EXPECT_EQ(codes.status, 200);
  const std::string recovery = code_on(codes.body, "<code>([a-z2-7-]{19})");
  ASSERT_EQ(recovery.size(), 19U);
  EXPECT_TRUE(ann.is_signed_in());
  EXPECT_FALSE(other.is_signed_in());

  Visit thief = visit();
  EXPECT_EQ(place(thief.log_in("ann")), "/login/code");
  EXPECT_FALSE(thief.is_signed_in()) << "the password alone is not enough";
  EXPECT_THAT(thief.get("/").body, HasSubstr("Sign in"));
  thief.get("/login/code");
  EXPECT_EQ(thief.post("/account/password", {{"old", kPassword}, {"password", "another long one"}}).status,
            403);
  EXPECT_EQ(thief.post("/login/code", {{"code", code()}}).status, 403) << "it was used to confirm";
  EXPECT_EQ(thief.post("/login/code", {{"code", ""}}).status, 403);
  clock_.advance(30s);
  const std::string waiting = thief.cookies.at("__Host-catalog-session");
  EXPECT_EQ(place(thief.post("/login/code", {{"code", code()}, {"next", "/search"}})), "/search");
  EXPECT_NE(thief.cookies.at("__Host-catalog-session"), waiting);
  EXPECT_TRUE(thief.is_signed_in());
  Visit late = visit();
  late.cookies["__Host-catalog-session"] = waiting;
  EXPECT_EQ(place(late.get("/login/code")), "/login") << "that session is over";

  clock_.advance(1h);
  Visit lost = visit();
  lost.log_in("ann");
  lost.get("/login/code");
  EXPECT_EQ(lost.post("/login/code", {{"code", recovery}}).status, 303);
  EXPECT_THAT(lost.get("/account").body, HasSubstr("Recovery codes left: 9"));
  EXPECT_EQ(lost.post("/account/code/remove", {{"code", recovery}}).status, 403);
  EXPECT_EQ(lost.post("/account/code/remove", {{"code", code()}}).status, 303);
  EXPECT_EQ(place(visit().log_in("ann")), "/account");
}

TEST_P(AccountSiteTest, AnotherPasswordNeedsTheCode) {
  const std::string secret = "12345678901234567890";
  give_authenticator("ann", secret);
  Visit ann = signed_in_by_code("ann", secret);
  EXPECT_THAT(ann.get("/account").body, HasSubstr("id=\"field-change-password-code\""));
  const auto change = [&](const std::string& password, const std::string& digits) {
    return ann.post("/account/password", {{"old", kPassword}, {"password", password}, {"code", digits}})
        .status;
  };
  EXPECT_EQ(change("another long one", ""), 403);
  EXPECT_EQ(change("short", code_of(secret)), 400) << "the code isn't used up";
  EXPECT_EQ(change("another long one", code_of(secret)), 303);
}

// It would replace the recovery codes, and remove the passkeys.
TEST_P(AccountSiteTest, AnOpenBrowserIsNotEnoughToSetUpAnAuthenticator) {
  Visit ann = signed_in("ann");
  Visit thief = ann;
  EXPECT_EQ(thief.post("/account/code", {}).status, 403);
  EXPECT_EQ(thief.post("/account/code", {{"password", "wrong"}}).status, 403);
  EXPECT_FALSE(*accounts_->second_factor("ann"));
  // Nor does it show the secret of one that its owner began.
  EXPECT_EQ(ann.post("/account/code", {{"password", kPassword}}).status, 200);
  const std::string secret = base32((*accounts_->second_factor("ann"))->secret);
  const WebAnswer refused = thief.post("/account/code/confirm", {{"code", "000000x"}});
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, Not(HasSubstr(secret)));
  const WebAnswer mistyped = ann.post("/account/code/confirm", {{"code", "000000x"}, {"secret", secret}});
  EXPECT_EQ(mistyped.status, 403);
  EXPECT_THAT(mistyped.body, HasSubstr(secret));
}

TEST_P(AccountSiteTest, GuessingThePasswordInAnOpenBrowserEnds) {
  Visit thief = signed_in("ann");
  int tries = 0;
  while (tries < 20 && thief.post("/account/code", {{"password", "wrong"}}).status == 403) ++tries;
  EXPECT_EQ(tries, 10);
  EXPECT_EQ(thief.post("/account/code", {{"password", kPassword}}).status, 429) << "the right one neither";
}

TEST_P(AccountSiteTest, GuessingAtTheDoorKeepsNobodyInsideFromAnotherPassword) {
  Visit ann = signed_in("ann");
  int tries = 0;
  Visit stranger = visit("192.0.2.7");
  while (tries < 20 && stranger.log_in("ann", "wrong").status == 403) ++tries;
  EXPECT_EQ(tries, 9) << "one of the ten was ann's";
  EXPECT_EQ(ann.post("/account/password", {{"old", kPassword}, {"password", "another long one"}}).status,
            303);
}

TEST_P(AccountSiteTest, GuessingCodesEndsForAnAccount) {
  ASSERT_TRUE(accounts_->begin_second_factor("ann", "12345678901234567890").ok());
  ASSERT_TRUE(accounts_->confirm_second_factor("ann", 1, {}).ok());
  int tries = 0;
  for (; tries < 50; ++tries) {
    Visit thief = visit(fmt::format("192.0.2.{}", tries));
    thief.log_in("ann");
    thief.get("/login/code");
    if (thief.post("/login/code", {{"code", "wrong"}}).status == 429) break;
  }
  EXPECT_EQ(tries, 5);
}

TEST_P(AccountSiteTest, TokensAreMadeAndRevokedOneByOne) {
  Visit ann = signed_in("ann");
  EXPECT_THAT(ann.get("/account").body,
              AllOf(HasSubstr("value=\"projects\""), Not(HasSubstr("value=\"admin\""))));
  EXPECT_EQ(ann.post("/account/tokens", {{"label", "x"}, {"days", "30"}, {"scope", "admin"}}).status, 403);
  EXPECT_EQ(ann.post("/account/tokens", {{"label", "x"}, {"days", "soon"}}).status, 400);
  const WebAnswer made = ann.post(
      "/account/tokens", {{"label", "<ci>"}, {"days", "30"}, {"scope", "projects"}, {"scope", "versions"}});
  const std::string token = code_on(made.body, "(mct_[0-9a-f]{64})");
  ASSERT_FALSE(token.empty());
  const auto owner = accounts_->owner_of_token(token_digest(token));
  EXPECT_EQ((*owner)->scopes, "projects versions");
  EXPECT_THAT(ann.get("/account").body,
              AllOf(HasSubstr("&lt;ci&gt;"), Not(HasSubstr("<ci>")), Not(HasSubstr("mct_"))));
  const std::string id = std::to_string(accounts_->tokens("ann")->at(0).id);
  Visit bob = signed_in("bob");
  EXPECT_EQ(bob.post("/account/tokens/revoke", {{"id", id}}).status, 404);
  EXPECT_EQ(ann.post("/account/tokens/revoke", {{"id", id}}).status, 303);
  EXPECT_FALSE(*accounts_->owner_of_token(token_digest(token)));
  EXPECT_EQ(ann.post("/account/tokens", {{"label", "short"}, {"days", "30"}}).status, 200);
  EXPECT_EQ(accounts_->tokens("ann")->at(0).expires, clock_.now() + 24h * 30);
}

TEST_P(AccountSiteTest, AdministratorsGiveRolesAndNobodyElseDoes) {
  for (const char* name : {"ann", "mod"}) {
    Visit visitor = signed_in(name);
    EXPECT_EQ(visitor.get("/admin").status, 403);
    EXPECT_EQ(visitor.get("/admin/audit").status, 403);
    visitor.get("/account");
    for (const char* path : {"/admin/role", "/admin/disable", "/admin/enable"})
      EXPECT_EQ(visitor.post(path, {{"name", "bob"}, {"role", "administrator"}}).status, 403);
    EXPECT_EQ(visitor.post("/admin/role", {{"name", name}, {"role", "administrator"}}).status, 403);
  }
  EXPECT_EQ(place(visit().get("/admin")), "/login?next=%2Fadmin");
  Visit ann = signed_in("ann");
  Visit root = signed_in("root");
  EXPECT_THAT(root.get("/account").body, HasSubstr("href=\"/admin\""));
  EXPECT_THAT(root.get("/admin").body, AllOf(HasSubstr("Role of ann"), Not(HasSubstr("Role of root"))));
  EXPECT_EQ(root.post("/admin/role", {{"name", "ann"}, {"role", "king"}}).status, 400);
  EXPECT_EQ(root.post("/admin/role", {{"name", "nobody"}, {"role", "author"}}).status, 404);
  EXPECT_EQ(root.post("/admin/role", {{"name", "root"}, {"role", "author"}}).status, 409);
  EXPECT_EQ(root.post("/admin/disable", {{"name", "root"}}).status, 409);
  EXPECT_EQ(place(root.post("/admin/role", {{"name", "ann"}, {"role", "administrator"}})), "/admin");
  EXPECT_EQ((*accounts_->find("ann"))->account.role, Role::Administrator);
  EXPECT_FALSE(ann.is_signed_in()) << "a session of the old role";
  ann.log_in("ann");
  EXPECT_EQ(ann.get("/admin").status, 200);
}

TEST_P(AccountSiteTest, ADisabledAccountIsOutAtOnce) {
  Visit bob = signed_in("bob");
  const SecretString token = new_token(random_);
  ASSERT_TRUE(
      accounts_->add_token({.account = "bob", .digest = token_digest(token.reveal()), .label = "x"}).ok());
  Visit root = signed_in("root");
  root.get("/admin");
  EXPECT_EQ(root.post("/admin/disable", {{"name", "bob"}}).status, 303);
  EXPECT_FALSE(bob.is_signed_in());
  EXPECT_FALSE(*accounts_->owner_of_token(token_digest(token.reveal())));
  EXPECT_EQ(visit().log_in("bob").status, 403);
  EXPECT_THAT(root.get("/admin").body, HasSubstr("disabled"));
  EXPECT_EQ(root.post("/admin/enable", {{"name", "bob"}}).status, 303);
  EXPECT_EQ(visit().log_in("bob").status, 303);
}

TEST_P(AccountSiteTest, TheAuditLogIsShownWithItsFilters) {
  ASSERT_TRUE(store_->audit({.who = "<script>", .what = "<b>", .subject = "<i>", .peer = "<u>"}).ok());
  for (int i = 0; i < 120; ++i)
    ASSERT_TRUE(store_->audit({.who = "ann", .what = "link", .subject = fmt::format("p{}", i)}).ok());
  Visit root = signed_in("root");
  const std::string body = root.get("/admin/audit?who=ann&subject=p").body;
  EXPECT_THAT(body,
              AllOf(HasSubstr(">p119</td>"), Not(HasSubstr(">p19</td>")), Not(HasSubstr("sign in</td>")),
                    HasSubstr("/admin/audit?who=ann&amp;what=&amp;subject=p&amp;after=")));
  EXPECT_THAT(root.get("/admin/audit?what=sign%20in").body, HasSubstr("<td data-label=\"By\">root</td>"));
  EXPECT_THAT(root.get("/admin/audit?who=%3Cscript%3E").body,
              AllOf(HasSubstr("&lt;i&gt;"), Not(HasSubstr("<script>")), Not(HasSubstr("<i>"))));
}

TEST_P(AccountSiteTest, FormsAreOnlySent) {
  for (const char* path : {"/logout", "/account/password", "/account/versions/yank"})
    EXPECT_EQ(visit().get(path).status, 405) << path;
  Visit nobody = visit();
  nobody.get("/login");
  for (const char* path : {"/logout", "/account/password", "/account/versions/yank", "/account/projects"})
    EXPECT_EQ(nobody.post(path, {}).status, 403) << path;
}

INSTANTIATE_TEST_SUITE_P(Databases, AccountSiteTest, each_database(), name_of_database);

}  // namespace
}  // namespace mist::catalog
