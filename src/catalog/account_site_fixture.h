#pragma once
// The common parts of tests of the account pages: a browser without scripts, and a catalog with some
// accounts.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "catalog/account_site.h"
#include "catalog/database_fixture.h"
#include "catalog/oidc.h"
#include "catalog/previews.h"
#include "catalog/site.h"
#include "catalog/sql_account_store.h"
#include "catalog/sql_feedback_store.h"
#include "catalog/sql_passkey_store.h"
#include "catalog/sql_store.h"
#include "catalog/totp.h"
#include "http/url.h"
#include "testing/fake_clock.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::catalog {

inline constexpr crypto::ScryptCost kCheap{.n = 4, .r = 1, .p = 1};
inline const std::string kPassword = "correct horse battery";
using FormFields = std::vector<std::pair<std::string, std::string>>;

// A browser: it keeps cookies, and sends a form with what the page's form has.
class Visit {
 public:
  Visit(Site& site, std::string peer) : site_(site), peer_(std::move(peer)) {}

  http::WebAnswer get(const std::string& target) { return send("GET", target, ""); }
  // The form of the page that was shown last.
  http::WebAnswer post(const std::string& path, FormFields fields) {
    fields.emplace_back("form", token);
    return send("POST", path, http::query_of(fields));
  }
  http::WebAnswer log_in(const std::string& name, const std::string& password = kPassword) {
    get("/login");
    return post("/login", {{"name", name}, {"password", password}});
  }
  bool is_signed_in() { return get("/account").status == 200; }

  std::map<std::string, std::string> cookies;
  std::string token;
  http::Headers headers;  // that are sent with forms
  std::vector<std::string> set;

 private:
  http::WebAnswer send(const std::string& method, const std::string& target, const std::string& body) {
    const auto question = target.find('?');
    http::WebRequest request{.method = method,
                             .path = target.substr(0, question),
                             .query = question == std::string::npos ? "" : target.substr(question + 1),
                             .headers = {{"User-Agent", "Test <b>"}},
                             .body = body,
                             .peer = peer_};
    std::string cookie;
    for (const auto& [name, value] : cookies)
      cookie += fmt::format("{}{}={}", cookie.empty() ? "" : "; ", name, value);
    if (!cookie.empty()) request.headers.push_back({"Cookie", cookie});
    if (method == "POST") {
      request.headers.push_back({"Content-Type", "application/x-www-form-urlencoded"});
      request.headers.insert(request.headers.end(), headers.begin(), headers.end());
    }
    http::WebAnswer answer = site_.answer(request);
    for (const http::Header& each : answer.headers)
      if (each.name == "Set-Cookie") keep(each.value);
    std::smatch found;
    if (std::regex_search(answer.body, found, std::regex("name=\"form\" value=\"([0-9a-f]+)\"")))
      token = found[1];
    return answer;
  }
  void keep(const std::string& text) {
    set.push_back(text);
    const auto equals = text.find('=');
    const auto end = text.find(';');
    if (text.find("Max-Age=0") != std::string::npos)
      cookies.erase(text.substr(0, equals));
    else
      cookies[text.substr(0, equals)] = text.substr(equals + 1, end - equals - 1);
  }

  Site& site_;
  const std::string peer_;
};

class AccountSiteTest : public ::testing::TestWithParam<DatabaseKind> {
 protected:
  AccountSiteTest()
      : store_(*open_store(database_, clock_, random_)),
        accounts_(account_store_in(database_, clock_, random_)),
        feedback_(feedback_store_in(database_, clock_)),
        passkeys_(passkey_store_in(database_, clock_, random_)),
        blobs_(files_, dir_.path() / "blobs"),
        site_(made(Registration::Closed)) {
    for (const auto& [name, role] :
         {std::pair("ann", Role::Author), std::pair("bob", Role::Author), std::pair("mod", Role::Moderator),
          std::pair("root", Role::Administrator)})
      EXPECT_TRUE(accounts_->add(name, role, *passwords_.hash(SecretString(kPassword))).ok());
    EXPECT_TRUE(accounts_->add("robot", Role::Author, "").ok());
  }
  std::unique_ptr<Site> made(Registration registration, const std::string& url = "https://c.example") {
    return std::make_unique<Site>(
        Site::Dependencies{
            .store = *store_,
            .accounts = *accounts_,
            .feedback = *feedback_,
            .passwords = passwords_,
            .blobs = blobs_,
            .shared = shared_,
            .clock = clock_,
            .random = random_,
            .events = events_,
            .wake_poller = [] {},
            .resolve_txt = [this](const std::string& name) -> Result<std::vector<std::string>> {
              asked_.push_back(name);
              if (meanwhile_) std::exchange(meanwhile_, {})();
              if (dns_is_down_) return error(ErrorKind::Retryable, "nobody answers");
              if (!txt_.contains(name)) return error(ErrorKind::NotFound, "there is none");
              return txt_.at(name);
            },
            .previews = previews_.get(),
            .oidc = oidc_.get(),
            .passkeys = passkeys_.get()},
        SiteOptions{.url = url, .reads_per_second = 0, .registration = registration});
  }
  // A session begins.
  Visit visit(const std::string& peer = "192.0.2.1") { return {*site_, peer}; }
  Visit signed_in(const std::string& name) {
    Visit visitor = visit();
    EXPECT_EQ(visitor.log_in(name).status, 303);
    EXPECT_EQ(visitor.get("/account").status, 200);
    return visitor;
  }
  void give_authenticator(const std::string& name, const std::string& secret,
                          const std::vector<std::string>& recovery_digests = {}) {
    ASSERT_TRUE(accounts_->begin_second_factor(name, secret).ok());
    ASSERT_TRUE(accounts_->confirm_second_factor(name, 0, recovery_digests).ok());
  }
  std::string code_of(const std::string& secret) const { return totp_code(secret, totp_step(clock_.now())); }
  // With the password and the code of its authenticator, of which the next one can be used then.
  Visit signed_in_by_code(const std::string& name, const std::string& secret) {
    Visit visitor = visit();
    visitor.log_in(name);
    visitor.get("/login/code");
    EXPECT_EQ(visitor.post("/login/code", {{"code", code_of(secret)}}).status, 303);
    clock_.advance(std::chrono::seconds(30));
    visitor.get("/account");
    return visitor;
  }
  std::string token(const std::string& account, const std::string& scopes = std::string(kUsualScopes)) {
    const SecretString made = new_token(random_);
    EXPECT_TRUE(
        accounts_
            ->add_token(
                {.account = account, .digest = token_digest(made.reveal()), .label = "t", .scopes = scopes})
            .ok());
    return made.reveal();
  }
  // A request to the REST API; no token: of nobody.
  http::WebAnswer rest(const std::string& method, const std::string& path, const std::string& token = {},
                       const std::string& body = {}) {
    const auto question = path.find('?');
    http::WebRequest request{.method = method,
                             .path = "/api/v1" + path.substr(0, question),
                             .query = question == std::string::npos ? "" : path.substr(question + 1),
                             .body = body,
                             .peer = "192.0.2.7"};
    if (!token.empty()) request.headers.push_back({"Authorization", "Bearer " + token});
    if (!body.empty()) request.headers.push_back({"Content-Type", "application/json"});
    return site_->answer(request);
  }
  // The same of an account, which has one token for that.
  http::WebAnswer api(const std::string& method, const std::string& path, const std::string& as = {},
                      const std::string& body = {}) {
    if (as.empty()) return rest(method, path, as, body);
    if (!tokens_.contains(as)) tokens_[as] = token(as);
    return rest(method, path, tokens_[as], body);
  }
  static std::string place(const http::WebAnswer& answer) {
    return std::string(http::find_header(answer.headers, "Location"));
  }
  void publish(const std::string& package, const std::string& owner) {
    ASSERT_TRUE(store_
                    ->add_project({.name = package,
                                   .owner = owner,
                                   .url = "https://git.example.com/" + package,
                                   .webhook_secret = SecretString("s")})
                    .ok());
    NewVersion version{
        .package = package, .version = "1.0.0", .tag = "v1.0.0", .commit = std::string(40, 'a')};
    version.digest = blobs_.put("bytes")->str();
    ASSERT_TRUE(store_->submit(version).ok());
    const auto job = store_->lease("w", std::chrono::seconds(30));
    ASSERT_TRUE(job.ok() && *job);
    ASSERT_TRUE(store_->finish(**job, true).ok());
  }

  mist::testing::TempDir dir_;
  mist::testing::FakeClock clock_;
  SystemRandom random_;
  HostFileSystem files_;
  mist::testing::RecordedEvents events_;
  const TestDatabase kept_{GetParam(), dir_.path() / "a.db"};
  const std::shared_ptr<SqlConnections> database_ = kept_.open();
  std::unique_ptr<Store> store_;
  std::unique_ptr<AccountStore> accounts_;
  std::unique_ptr<FeedbackStore> feedback_;
  std::unique_ptr<PasskeyStore> passkeys_;
  PasswordHasher passwords_{random_, kCheap};
  FileBlobs blobs_;
  SharedBytes shared_;
  std::unique_ptr<Previews> previews_;
  std::unique_ptr<OidcClient> oidc_;
  std::map<std::string, std::vector<std::string>> txt_;  // records
  std::vector<std::string> asked_;
  std::map<std::string, std::string> tokens_;  // by account: api()
  bool dns_is_down_ = false;
  std::function<void()> meanwhile_;  // happens while the next name is looked up
  std::unique_ptr<Site> site_;
};

}  // namespace mist::catalog
