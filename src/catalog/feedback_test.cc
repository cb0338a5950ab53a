#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "catalog/account_site_fixture.h"
#include "catalog/audit_words.h"
#include "catalog/feedback_actions.h"
#include "catalog/totp.h"
#include "encoding/json.h"

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;
using encoding::Value;
using http::WebAnswer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kHostile = "</textarea></p><script>alert(1)</script>\" onload=\"x";

class FeedbackTest : public AccountSiteTest {
 protected:
  FeedbackTest() { publish("etcd", "ann"); }

  WebAnswer api(const std::string& method, const std::string& path, const std::string& token = {},
                const std::string& body = {}) {
    return rest(method, path, token, body);
  }
  Value json(const std::string& path, const std::string& token = {}) {
    const WebAnswer answer = api("GET", path, token);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return *encoding::parse_json(answer.body);
  }
  // Of the package etcd.
  std::vector<Comment> comments() { return feedback_->comments("etcd", {})->items; }
  std::int64_t commented(const std::string& by, const std::string& text) {
    return *feedback_->add_comment("etcd", by, text);
  }
  static std::string number(std::int64_t id) { return std::to_string(id); }
};

TEST_P(FeedbackTest, AnAccountHasOneRatingOfAPackageAndNoneOfItsOwn) {
  Visit bob = signed_in("bob");
  bob.get("/packages/etcd/comments");
  EXPECT_EQ(place(bob.post("/account/ratings", {{"package", "etcd"}, {"stars", "2"}})),
            "/packages/etcd/comments");
  EXPECT_EQ(bob.post("/account/ratings", {{"package", "etcd"}, {"stars", "4"}}).status, 303);
  EXPECT_EQ(api("PUT", "/packages/etcd/rating", token("mod"), R"({"stars": 5})").status, 204);
  EXPECT_EQ(encoding::to_json(json("/packages/etcd/ratings")),
            R"({"count":2,"average":4.5,"stars":[0,0,0,1,1]})");
  EXPECT_THAT(bob.get("/packages/etcd/comments").body,
              AllOf(HasSubstr("4.5 of 5 stars, by 2 people"), HasSubstr("value=\"4\" required checked")));
  EXPECT_THAT(bob.get("/packages/etcd").body, HasSubstr("4.5 of 5 stars, by 2 people"));
  Visit ann = signed_in("ann");
  EXPECT_EQ(ann.post("/account/ratings", {{"package", "etcd"}, {"stars", "5"}}).status, 409);
  ASSERT_TRUE(store_->remove_project("etcd").ok());
  EXPECT_EQ(ann.post("/account/ratings", {{"package", "etcd"}, {"stars", "5"}}).status, 409)
      << "it stays hers";
  for (const char* stars : {"0", "6", "55", "-1", "", "x", "4.5", "4; DROP TABLE ratings"})
    EXPECT_EQ(bob.post("/account/ratings", {{"package", "etcd"}, {"stars", stars}}).status, 400) << stars;
  for (const char* body : {R"({"stars": 0})", R"({"stars": 6})", R"({"stars": "4"})", R"({"stars": 4.5})",
                           R"({"stars": 99999999999})", R"({"stars": 4, "by": "ann"})", R"({})", R"([4])"})
    EXPECT_EQ(api("PUT", "/packages/etcd/rating", token("bob"), body).status, 400) << body;
  EXPECT_EQ(api("PUT", "/packages/nothing/rating", token("bob"), R"({"stars": 4})").status, 404);
  ASSERT_TRUE(accounts_->set_disabled("mod", true).ok());
  EXPECT_EQ(feedback_->ratings("etcd")->count(), 1) << "a disabled account's doesn't count";
  EXPECT_EQ(bob.post("/account/ratings/remove", {{"package", "etcd"}}).status, 303);
  EXPECT_EQ(bob.post("/account/ratings/remove", {{"package", "etcd"}}).status, 404);
  EXPECT_EQ(feedback_->ratings("etcd")->count(), 0);
}

TEST_P(FeedbackTest, ACommentIsOfferedForChangeAsItIs) {
  Visit bob = signed_in("bob");
  bob.get("/packages/etcd/comments");
  const std::string text = "\U0001F469\u200D\U0001F680 <it>";
  ASSERT_EQ(bob.post("/account/comments", {{"package", "etcd"}, {"text", text}}).status, 303);
  EXPECT_THAT(bob.get("/packages/etcd/comments").body,
              HasSubstr(">\n\U0001F469\u200D\U0001F680 &lt;it&gt;</textarea>"));
}

TEST_P(FeedbackTest, OnlyItsAuthorChangesAComment) {
  Visit bob = signed_in("bob");
  bob.get("/packages/etcd/comments");
  const WebAnswer made =
      bob.post("/account/comments", {{"package", "etcd"}, {"text", "  It lost\r\nmy <b>keys</b> "}});
  EXPECT_EQ(place(made), "/packages/etcd/comments#comment-1");
  EXPECT_THAT(visit().get("/packages/etcd/comments").body,
              AllOf(HasSubstr("It lost\nmy &lt;b&gt;keys&lt;/b&gt;</p>"), HasSubstr("<b>bob</b>"),
                    Not(HasSubstr("/account/comments"))));
  const std::string ann_token = token("ann");
  Visit ann = signed_in("ann");
  EXPECT_THAT(ann.get("/packages/etcd/comments").body, Not(HasSubstr("/account/comments/change")));
  EXPECT_EQ(ann.post("/account/comments/change", {{"id", "1"}, {"text", "It is good"}}).status, 404);
  EXPECT_EQ(ann.post("/account/comments/remove", {{"id", "1"}}).status, 404);
  EXPECT_EQ(api("PUT", "/comments/1", ann_token, R"({"text": "It is good"})").status, 404);
  EXPECT_EQ(api("DELETE", "/comments/1", ann_token).status, 404);
  EXPECT_EQ(api("DELETE", "/comments/1", token("root")).status, 404) << "administrators hide, as moderators";
  EXPECT_EQ(comments().at(0).text, "It lost\nmy <b>keys</b>");
  EXPECT_EQ(ann.post("/account/comments", {{"package", "etcd"}, {"text", "Which ones?"}}).status, 303);
  EXPECT_THAT(bob.get("/packages/etcd/comments").body, HasSubstr("owner</span>"));
  EXPECT_EQ(bob.post("/account/comments/change", {{"id", "1"}, {"text", "All"}}).status, 303);
  EXPECT_THAT(bob.get("/packages/etcd/comments").body, HasSubstr(", changed 2026-03-01"));
  for (const char* id : {"", "0", "-1", "x", "1 OR 1=1", "99999999999999999999", "7"})
    EXPECT_EQ(bob.post("/account/comments/change", {{"id", id}, {"text", "a"}}).status, 404) << id;
  EXPECT_EQ(bob.post("/account/comments/remove", {{"id", "1"}}).status, 303);
  EXPECT_EQ(comments().size(), 1U);
  ASSERT_TRUE(feedback_->remove_comment(2, "ann").ok());
  EXPECT_EQ(commented("bob", "again"), 3) << "a number never means another comment";
}

TEST_P(FeedbackTest, NothingThatSomebodyWritesIsMarkup) {
  const std::int64_t id = commented("bob", kHostile);
  ASSERT_TRUE(feedback_->report_comment(id, "ann", kHostile).ok());
  ASSERT_TRUE(feedback_->report_package("etcd", "bob", kHostile).ok());
  Visit bob = signed_in("bob");
  Visit mod = signed_in("mod");
  const auto is_text = [](const WebAnswer& answer) {
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.body, AllOf(HasSubstr("&lt;script&gt;alert(1)"), Not(HasSubstr("<script>alert")),
                                   Not(HasSubstr("\" onload"))));
  };
  is_text(bob.get("/packages/etcd/comments"));
  is_text(mod.get("/packages/etcd/comments"));
  is_text(mod.get("/admin/reports"));
  EXPECT_EQ(mod.post("/admin/comments/hide", {{"id", number(id)}, {"why", kHostile}}).status, 303);
  is_text(visit().get("/packages/etcd/comments"));
  Visit root = signed_in("root");
  is_text(root.get("/admin/audit?what=hide+comment"));
}

TEST_P(FeedbackTest, ACommentIsPlainTextWithinBounds) {
  const std::string bob = token("bob");
  const auto status = [&](const std::string& text) {
    clock_.advance(1h);
    return api("POST", "/packages/etcd/comments", bob,
               encoding::to_json(Value::object({{"text", Value(text)}})))
        .status;
  };
  for (const std::string& text :
       {std::string(), std::string(" \r\n\t "), std::string("a\0b", 3), std::string("a\x1b[31m"),
        std::string("a\x7f"), std::string(4001, 'a'), std::string("a") + std::string(100, '\n') + "b"})
    EXPECT_EQ(status(text), 400) << text.size();
  EXPECT_EQ(status(std::string(4000, 'a')), 201);
  EXPECT_EQ(status("Grüße 👋 \u202eback"), 201);
  EXPECT_THAT(visit().get("/packages/etcd/comments").body,
              AllOf(HasSubstr("Grüße 👋"), Not(HasSubstr("\u202e"))))
      << "nothing changes how the rest is read";
  Visit somebody = signed_in("bob");
  somebody.get("/packages/etcd/comments");
  EXPECT_EQ(somebody.post("/account/comments", {{"package", "etcd"}, {"text", "\xff\xfe"}}).status, 400);
  EXPECT_EQ(somebody.post("/account/comments", {{"package", "nothing"}, {"text", "a"}}).status, 404);
  for (int i = 2; i < FeedbackStore::kMostComments; ++i) commented("bob", "again");
  EXPECT_EQ(status("one more"), 409);
  EXPECT_THAT(api("POST", "/packages/etcd/comments", bob, R"({"text": "a", "by": "ann"})").status, 400);
  const Value page = json("/packages/etcd/comments?limit=30");
  EXPECT_EQ(page.find("items")->as_array().size(), 30U);
  const std::string next(page.string_at("next").substr(std::string("/api/v1").size()));
  EXPECT_EQ(json(next).find("items")->as_array().size(), 20U);
  EXPECT_EQ(api("GET", "/packages/etcd/comments?after=%27%3B--").status, 200) << "no SQL";
  EXPECT_THAT(visit().get("/packages/etcd/comments").body, HasSubstr("rel=\"next\">Older ones"));
}

TEST_P(FeedbackTest, CommentsAndReportsAreLimitedForAnAccountAndForAClient) {
  const std::string bob = token("bob");
  const auto post = [&](const std::string& who) {
    return api("POST", "/packages/etcd/comments", who, R"({"text": "a"})").status;
  };
  int made = 0;
  while (made < 100 && post(bob) == 201) ++made;
  EXPECT_EQ(made, 10);
  Visit page = signed_in("bob");
  page.get("/packages/etcd/comments");
  EXPECT_EQ(page.post("/account/comments", {{"package", "etcd"}, {"text", "a"}}).status, 429)
      << "pages and programs together";
  EXPECT_EQ(api("POST", "/packages/etcd/reports", bob, R"({"reason": "a"})").status, 429);
  clock_.advance(61s);
  EXPECT_EQ(post(bob), 201);
  EXPECT_EQ(post(bob), 429);
  // Of many accounts at one client.
  clock_.advance(1h);
  made = 0;
  for (int i = 0; i < 10; ++i) {
    const std::string name = fmt::format("sock-{}", i);
    ASSERT_TRUE(accounts_->add(name, Role::Author, "").ok());
    const std::string each = token(name);
    while (post(each) == 201) ++made;
  }
  EXPECT_EQ(made, 30);
}

TEST_P(FeedbackTest, ReportsReachModeratorsWhoHideWithAReason) {
  const std::int64_t id = commented("bob", "Buy at example.com");
  Visit ann = signed_in("ann");
  ann.get("/packages/etcd/comments");
  EXPECT_EQ(ann.post("/account/comments/report", {{"id", number(id)}, {"reason", "spam"}}).status, 200);
  EXPECT_EQ(ann.post("/account/comments/report", {{"id", number(id)}, {"reason", "spam!"}}).status, 409);
  EXPECT_EQ(ann.post("/account/comments/report", {{"id", "99"}, {"reason", "spam"}}).status, 404);
  EXPECT_EQ(ann.post("/account/comments/report", {{"id", number(id)}, {"reason", ""}}).status, 400);
  EXPECT_EQ(ann.post("/account/reports", {{"package", "etcd"}, {"reason", "it mines coins"}}).status, 200);
  EXPECT_EQ(ann.post("/account/reports", {{"package", "etcd"}, {"reason", "it does"}}).status, 409);
  EXPECT_EQ(ann.get("/admin/reports").status, 403);
  EXPECT_EQ(ann.post("/admin/comments/hide", {{"id", number(id)}, {"why", "spam"}}).status, 403);
  EXPECT_EQ(ann.post("/admin/reports/close", {{"id", "1"}, {"decision", "no"}}).status, 403);
  // The reported text is known, whatever its author does to it.
  ASSERT_TRUE(feedback_->change_comment(id, "bob", "A fine package").ok());
  Visit mod = signed_in("mod");
  EXPECT_THAT(mod.get("/account").body, HasSubstr("Open reports: 2"));
  EXPECT_THAT(mod.get("/admin/reports").body,
              AllOf(HasSubstr("Buy at example.com"), HasSubstr("it mines coins"), HasSubstr("spam")));
  EXPECT_EQ(mod.get("/admin").status, 403) << "accounts are the administrators'";
  EXPECT_EQ(mod.post("/admin/comments/hide", {{"id", number(id)}, {"why", ""}}).status, 400);
  EXPECT_EQ(place(mod.post("/admin/comments/hide", {{"id", number(id)}, {"why", "advertising"}})),
            "/packages/etcd/comments#comment-1");
  for (Visit* const each : {&ann}) {
    const std::string body = each->get("/packages/etcd/comments").body;
    EXPECT_THAT(body, AllOf(HasSubstr("A moderator hid this comment: advertising"),
                            Not(HasSubstr("A fine package"))));
  }
  EXPECT_THAT(visit().get("/packages/etcd/comments").body, Not(HasSubstr("A fine package")));
  EXPECT_TRUE(json("/packages/etcd/comments").find("items")->as_array().at(0).find("text")->is_null());
  Visit bob = signed_in("bob");
  EXPECT_THAT(bob.get("/packages/etcd/comments").body, HasSubstr("A fine package")) << "its author sees it";
  EXPECT_EQ(bob.post("/account/comments/change", {{"id", number(id)}, {"text", "Buy!"}}).status, 303);
  EXPECT_THAT(visit().get("/packages/etcd/comments").body, Not(HasSubstr("Buy!"))) << "it stays hidden";
  EXPECT_THAT(mod.get("/admin/reports").body, Not(HasSubstr("Buy at"))) << "hiding closed the report";
  EXPECT_EQ(mod.post("/admin/reports/close", {{"id", "2"}, {"decision", "it doesn't"}}).status, 303);
  EXPECT_EQ(mod.post("/admin/reports/close", {{"id", "2"}, {"decision", "it doesn't"}}).status, 404);
  EXPECT_THAT(mod.get("/admin/reports").body, HasSubstr("None is open."));
  mod.get("/packages/etcd/comments");
  EXPECT_EQ(mod.post("/admin/comments/show", {{"id", number(id)}}).status, 303);
  EXPECT_THAT(visit().get("/packages/etcd/comments").body, HasSubstr("Buy!"));
  EXPECT_EQ(mod.post("/admin/comments/show", {{"id", number(id)}}).status, 404);
  std::vector<std::string> audited;
  const auto log = *store_->audit_log({.who = "mod"}, {});
  for (const AuditEntry& each : log.items)
    if (each.what != "sign in") audited.push_back(each.what + " " + each.subject);
  EXPECT_THAT(audited, ElementsAre("show comment 1 at etcd", "close report 2: it doesn't",
                                   "hide comment 1 at etcd: advertising"));
}

TEST_P(FeedbackTest, NoModeratorDecidesAboutThemselves) {
  publish("own", "mod");
  const std::int64_t id = commented("mod", "Buy at example.com");
  ASSERT_TRUE(feedback_->report_comment(id, "ann", "spam").ok());
  ASSERT_TRUE(feedback_->report_package("own", "ann", "it mines coins").ok());
  Visit mod = signed_in("mod");
  for (const char* report : {"1", "2"})
    EXPECT_EQ(mod.post("/admin/reports/close", {{"id", report}, {"decision", "no"}}).status, 403) << report;
  EXPECT_EQ(mod.post("/admin/comments/hide", {{"id", number(id)}, {"why", "advertising"}}).status, 303);
  EXPECT_THAT(mod.get("/packages/etcd/comments").body, Not(HasSubstr("Show it again")));
  EXPECT_EQ(mod.post("/admin/comments/show", {{"id", number(id)}}).status, 403);
  Visit root = signed_in("root");
  EXPECT_THAT(root.get("/packages/etcd/comments").body, HasSubstr("Show it again"));
  EXPECT_EQ(root.post("/admin/comments/show", {{"id", number(id)}}).status, 303);
  EXPECT_EQ(root.post("/admin/reports/close", {{"id", "2"}, {"decision", "it doesn't"}}).status, 303);
}

TEST_P(FeedbackTest, AReportOutlivesTheComment) {
  const std::int64_t id = commented("bob", "Buy at example.com");
  ASSERT_TRUE(feedback_->report_comment(id, "ann", "spam").ok());
  ASSERT_TRUE(feedback_->remove_comment(id, "bob").ok());
  Visit mod = signed_in("mod");
  EXPECT_THAT(mod.get("/admin/reports").body,
              AllOf(HasSubstr("a comment of bob that was removed"), HasSubstr("Buy at example.com")));
}

TEST_P(FeedbackTest, ProgramsNeedTheScopeAndModeratorsTheirs) {
  const std::int64_t id = commented("bob", "a");
  const std::string plain = token("mod", "projects versions");
  const std::string feedback = token("mod", "feedback");
  const std::string comment = fmt::format("/comments/{}", id);
  for (const auto& [method, path, body] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"PUT", "/packages/etcd/rating", R"({"stars": 1})"},
           {"DELETE", "/packages/etcd/rating", ""},
           {"POST", "/packages/etcd/comments", R"({"text": "a"})"},
           {"PUT", comment, R"({"text": "b"})"},
           {"DELETE", comment, ""},
           {"POST", "/packages/etcd/reports", R"({"reason": "a"})"},
           {"POST", comment + "/reports", R"({"reason": "a"})"}}) {
    EXPECT_EQ(api(method, path, {}, body).status, 401) << method << path;
    EXPECT_EQ(api(method, path, plain, body).status, 403) << method << path;
  }
  for (const auto& [method, path, body] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"GET", "/reports", ""},
           {"PUT", "/reports/1/decision", R"({"decision": "a"})"},
           {"PUT", comment + "/hidden", R"({"reason": "a"})"},
           {"DELETE", comment + "/hidden", ""}})
    for (const std::string& each : {feedback, plain, token("ann")})
      EXPECT_EQ(api(method, path, each, body).status, 403) << method << path;
  EXPECT_EQ(api("POST", comment + "/reports", token("ann"), R"({"reason": "rude"})").status, 202);
  const std::string mod = token("mod", "moderate");
  const Value reports = json("/reports", mod);
  EXPECT_EQ(reports.find("items")->as_array().at(0).string_at("quote"), "a");
  EXPECT_EQ(api("PUT", comment + "/hidden", mod, R"({"reason": "rude"})").status, 204);
  EXPECT_EQ(json("/reports", mod).find("items")->as_array().size(), 0U);
  EXPECT_EQ(api("PUT", "/reports/1/decision", mod, R"({"decision": "late"})").status, 404);
}

TEST_P(FeedbackTest, AFormOfAnotherSiteSaysNothing) {
  const std::int64_t id = commented("bob", "a");
  Visit mod = signed_in("mod");
  for (const char* path :
       {"/account/ratings", "/account/ratings/remove", "/account/comments", "/account/comments/change",
        "/account/comments/remove", "/account/comments/report", "/account/reports", "/account/remove",
        "/account/domains", "/account/domains/remove", "/admin/reports/close", "/admin/comments/hide",
        "/admin/comments/show"}) {
    const FormFields fields{{"package", "etcd"}, {"id", number(id)}, {"stars", "1"},
                            {"text", "b"},       {"reason", "c"},    {"why", "d"},
                            {"decision", "e"},   {"name", "mod"},    {"password", kPassword}};
    mod.get("/account");
    mod.headers = {{"Origin", "https://evil.example"}};
    EXPECT_EQ(mod.post(path, fields).status, 403) << path;
    mod.headers = {};
    mod.get("/account");
    mod.token = std::string(64, '0');
    EXPECT_EQ(mod.post(path, fields).status, 403) << path;
    EXPECT_EQ(mod.get(path).status, 405) << path;
    EXPECT_EQ(visit().post(path, fields).status, 403) << path << ": nobody is signed in";
  }
  EXPECT_EQ(comments().at(0).text, "a");
  EXPECT_EQ(comments().size(), 1U);
  EXPECT_EQ(*feedback_->count_reports(), 0);
}

TEST_P(FeedbackTest, AnAccountGetsAllThatIsKeptOfItAndNoSecret) {
  commented("bob", "mine");
  commented("ann", "hers");
  ASSERT_TRUE(feedback_->rate("etcd", "bob", 4).ok());
  ASSERT_TRUE(feedback_->report_package("etcd", "bob", "it mines").ok());
  const std::string secret = token("bob");
  Visit bob = signed_in("bob");
  const WebAnswer answer = bob.get("/account/export");
  EXPECT_EQ(http::find_header(answer.headers, "Content-Disposition"), "attachment; filename=\"bob.json\"");
  EXPECT_EQ(http::find_header(answer.headers, "Cache-Control"), "no-store");
  for (const char* text : {"\"mine\"", "it mines", "\"stars\":4", "192.0.2.1", "\"sign in\""})
    EXPECT_THAT(answer.body, HasSubstr(text));
  for (const std::string& text :
       {std::string("hers"), token_digest(secret), *accounts_->password_of("bob"), secret,
        session_digest(SecretString(bob.cookies.at("__Host-catalog-session")))})
    EXPECT_THAT(answer.body, Not(HasSubstr(text)));
  EXPECT_EQ(visit().get("/account/export").status, 303) << "to the page of signing in";
}

TEST_P(FeedbackTest, ADeletedAccountLeavesItsVersionsAndNothingElse) {
  publish("redis", "bob");
  const std::int64_t id = commented("bob", "words of bobs");
  ASSERT_TRUE(feedback_->report_comment(id, "ann", "rude").ok());
  ASSERT_TRUE(feedback_->rate("etcd", "bob", 4).ok());
  ASSERT_TRUE(accounts_->link_identity("bob", "https://i", "bob-1").ok());
  Visit root = signed_in("root");
  root.get("/admin");
  ASSERT_EQ(root.post("/admin/role", {{"name", "bob"}, {"role", "moderator"}}).status, 303);
  const std::string program = token("bob");
  Visit bob = signed_in("bob");
  EXPECT_EQ(bob.post("/account/remove", {{"name", "ann"}, {"password", kPassword}}).status, 400);
  EXPECT_EQ(bob.post("/account/remove", {{"name", "bob"}, {"password", "wrong"}}).status, 403);
  EXPECT_TRUE(bob.is_signed_in());
  ASSERT_EQ(
      bob.post("/account/projects", {{"name", "nats"}, {"url", "https://git.example.com/bobs/nats"}}).status,
      200);
  ASSERT_EQ(bob.post("/account/tokens", {{"label", "bobs laptop"}, {"days", "30"}}).status, 200);
  txt_["_mistletoe-catalog.bobs.example"] = {"https://c.example account=bob"};
  ASSERT_EQ(bob.post("/account/domains", {{"domain", "bobs.example"}}).status, 303);
  ASSERT_TRUE(site_->domains().look_at_claims().ok());
  ASSERT_EQ(bob.post("/account/domains/remove", {{"domain", "bobs.example"}}).status, 303);
  for (const std::string_view what : {kAuditLinkIdentity, kAuditUnlinkIdentity, kAuditLapseDomain})
    ASSERT_TRUE(store_->audit({.who = "bob", .what = std::string(what), .subject = "bob-1"}).ok());
  const WebAnswer gone = bob.post("/account/remove", {{"name", "bob"}, {"password", kPassword}});
  EXPECT_EQ(place(gone), "/");
  EXPECT_TRUE(bob.cookies.empty());
  EXPECT_EQ(visit().log_in("bob").status, 403);
  EXPECT_EQ(api("GET", "/projects", program).status, 401);
  EXPECT_EQ(feedback_->ratings("etcd")->count(), 0);
  EXPECT_TRUE(comments().empty());
  EXPECT_EQ(accounts_->account_of_identity("https://i", "bob-1")->size(), 0U);
  EXPECT_EQ(visit().get("/packages/redis").status, 200) << "others may need its versions";
  EXPECT_EQ(accounts_->add("bob", Role::Author, "").error().kind, ErrorKind::Conflict)
      << "nobody becomes somebody whom others knew";
  const auto report = feedback_->reports({})->items.at(0);
  EXPECT_THAT(report.quoted, HasSubstr("deleted-"));
  EXPECT_EQ(report.quote, "");
  const auto log = *store_->audit_log({}, {});
  for (const AuditEntry& each : log.items) {
    EXPECT_THAT(each.who + " " + each.subject, Not(HasSubstr("bob"))) << each.what;
    EXPECT_TRUE(!each.who.starts_with("deleted-") || each.peer.empty()) << each.what;
    EXPECT_TRUE(each.what != kAuditLink || each.subject == "nats") << each.subject;
  }
  const auto is_there = [&](std::string_view what, std::string_view subject) {
    return std::ranges::any_of(log.items, [&](const AuditEntry& each) {
      return each.what == what && each.subject == subject && each.who.starts_with("deleted-");
    });
  };
  EXPECT_TRUE(is_there(kAuditLink, "nats"));
  for (const std::string_view what : kAuditOfPersons) EXPECT_TRUE(is_there(what, "")) << what;
  EXPECT_TRUE(std::ranges::any_of(log.items, [](const AuditEntry& each) {
    return each.what == kAuditSetRole && each.subject.starts_with("deleted-") &&
           each.subject.ends_with(" to moderator");
  }));
  EXPECT_EQ(store_->add_project({.name = "redis", .owner = "ann", .url = "https://g/r"}).error().kind,
            ErrorKind::Conflict)
      << "nobody continues its versions";
}

TEST_P(FeedbackTest, AnAuthenticatorIsAskedForBeforeAnAccountIsDeleted) {
  const std::string secret = new_totp_secret(random_);
  ASSERT_TRUE(accounts_->begin_second_factor("bob", secret).ok());
  ASSERT_TRUE(accounts_->confirm_second_factor("bob", 1, {}).ok());
  Visit bob = visit();
  bob.log_in("bob");
  bob.get("/login/code");
  ASSERT_EQ(bob.post("/login/code", {{"code", totp_code(secret, totp_step(clock_.now()))}}).status, 303);
  bob.get("/account");
  EXPECT_EQ(bob.post("/account/remove", {{"name", "bob"}, {"password", kPassword}}).status, 403);
  clock_.advance(30s);
  EXPECT_EQ(bob.post("/account/remove", {{"name", "bob"},
                                         {"password", kPassword},
                                         {"code", totp_code(secret, totp_step(clock_.now()))}})
                .status,
            303);
}

TEST_P(FeedbackTest, TheLastAdministratorStays) {
  Visit root = signed_in("root");
  EXPECT_EQ(root.post("/account/remove", {{"name", "root"}, {"password", kPassword}}).status, 409);
  ASSERT_TRUE(accounts_->set_role("ann", Role::Administrator).ok());
  EXPECT_EQ(root.post("/account/remove", {{"name", "root"}, {"password", kPassword}}).status, 303);
}

INSTANTIATE_TEST_SUITE_P(Databases, FeedbackTest, each_database(), name_of_database);

}  // namespace
}  // namespace mist::catalog
