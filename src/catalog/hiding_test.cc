// Packages and versions that moderators hide, on pages and over REST.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/text.h"
#include "catalog/account_site_fixture.h"
#include "encoding/json.h"
#include "package/guests_for_tests.h"

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;
using encoding::Value;
using http::WebAnswer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class HidingTest : public AccountSiteTest {
 protected:
  HidingTest() {
    EXPECT_TRUE(
        store_->add_project({.name = "etcd", .owner = "ann", .url = "https://git.example.com/etcd"}).ok());
    publish("1.0.0");
    publish("1.1.0");
  }
  void publish(const std::string& number) {
    NewVersion version{.package = "etcd", .version = number, .tag = number, .commit = std::string(40, 'a')};
    version.digest = blobs_.put("bytes of " + number)->str();
    version.facts.description = "keeps keys";
    version.facts.k3 = "name: etcd";
    version.readme = "The readme";
    ASSERT_TRUE(store_->submit(version).ok());
    const auto job = store_->lease("w", 30s);
    ASSERT_TRUE(job.ok() && *job);
    ASSERT_TRUE(store_->finish(**job, true).ok());
  }
  static std::string blob(const std::string& number) {
    return "/blobs/" + crypto::sha256("bytes of " + number).str();
  }
  // As a server that starts.
  void open_previews() {
    site_.reset();
    previews_.reset();
    previews_ = std::make_unique<Previews>(Previews::Dependencies{.files = files_,
                                                                  .packages = blobs_,
                                                                  .shared = shared_,
                                                                  .directory = dir_.path() / "previews",
                                                                  .options = {},
                                                                  .events = events_});
    site_ = made(Registration::Closed);
  }
  // A module of which browsers get a preview, as a version of the package; the preview's module.
  ServedModule publish_module(const std::string& package, const std::string& number) {
    const package::Source source =
        package::described(package::saying("kind: ConfigMap\n"), "etcd", "{version: 2.0.0}");
    NewVersion version{.package = package, .version = number, .tag = number, .commit = std::string(40, 'c')};
    version.digest = blobs_.put(**std::get<wasm::ModuleBytes>(source.content).bytes())->str();
    EXPECT_TRUE(store_->submit(version).ok());
    for (int i = 0; i < 600; ++i) {
      const Preview preview = previews_->of(**store_->version(package, number));
      if (preview.state == PreviewState::Ready) return preview.module;
      EXPECT_EQ(preview.problem, "");
      std::this_thread::sleep_for(50ms);
    }
    ADD_FAILURE() << "it is never ready";
    return {};
  }
  std::vector<std::string> index() {
    std::vector<std::string> versions;
    const auto found = *store_->index();
    for (const IndexEntry& each : found.second) versions.push_back(each.version);
    return versions;
  }
  std::vector<std::string> audited(const std::string& what) {
    std::vector<std::string> subjects;
    const auto found = *store_->audit_log({.what = what}, {});
    for (const AuditEntry& each : found.items) subjects.push_back(each.subject);
    return subjects;
  }
};

constexpr std::string_view kReason = R"({"reason": "it sends <keys> away"})";

TEST_P(HidingTest, AHiddenPackageIsGoneAndSaysWhy) {
  EXPECT_EQ(api("PUT", "/packages/etcd/hidden", "mod", std::string(kReason)).status, 204);
  for (const std::string& path :
       {std::string("/packages/etcd"), std::string("/packages/etcd/versions/1.1.0"),
        std::string("/packages/etcd/versions/1.1.0/test"),
        std::string("/packages/etcd/versions/1.1.0/changes"),
        std::string("/packages/etcd/versions/1.1.0/preview"), std::string("/packages/etcd/downloads"),
        std::string("/packages/etcd/ratings"), std::string("/packages/etcd/comments"), blob("1.0.0"),
        blob("1.1.0")}) {
    const WebAnswer answer = api("GET", path);
    EXPECT_EQ(answer.status, 410) << path;
    EXPECT_THAT(answer.body, AllOf(HasSubstr("\"Gone\""), HasSubstr("it sends <keys> away"))) << path;
    EXPECT_EQ(http::find_header(answer.headers, "Cache-Control"), "no-store") << path;
  }
  for (const char* path :
       {"/packages/etcd", "/packages/etcd/1.1.0", "/packages/etcd/1.1.0/test", "/packages/etcd/1.1.0/inputs",
        "/packages/etcd/1.1.0/changes", "/packages/etcd/comments"}) {
    const WebAnswer answer = visit().get(path);
    EXPECT_EQ(answer.status, 410) << path;
    EXPECT_THAT(answer.body, AllOf(HasSubstr("hid etcd"), HasSubstr("it sends &lt;keys&gt; away"),
                                   Not(HasSubstr("The readme"))))
        << path;
  }
  EXPECT_THAT(visit().get("/packages/etcd/badge.svg").body, Not(HasSubstr("passed")));
  EXPECT_THAT(store_->search("keys", {}, {})->items, IsEmpty());
  EXPECT_THAT(store_->search("", {}, {})->items, IsEmpty());
  EXPECT_EQ(store_->facets("", {})->found, 0);
  EXPECT_THAT(*store_->newest(9), IsEmpty());
  EXPECT_THAT(index(), IsEmpty());
  EXPECT_EQ(api("POST", "/packages/etcd/comments", "bob", R"({"text": "x"})").status, 410);
  EXPECT_EQ(api("PUT", "/packages/etcd/rating", "bob", R"({"stars": 1})").status, 410);
  EXPECT_THAT(audited("hide package"), ElementsAre("etcd: it sends <keys> away"));

  EXPECT_EQ(api("DELETE", "/packages/etcd/hidden", "mod").status, 204);
  EXPECT_EQ(api("DELETE", "/packages/etcd/hidden", "mod").status, 404);
  EXPECT_EQ(api("GET", blob("1.1.0")).status, 200);
  EXPECT_EQ(visit().get("/packages/etcd").status, 200);
  EXPECT_EQ(store_->search("keys", {}, {})->items.size(), 1U);
  EXPECT_THAT(index(), ElementsAre("1.0.0", "1.1.0"));
  EXPECT_THAT(audited("show package"), ElementsAre("etcd"));
}

TEST_P(HidingTest, ItsAuthorAndModeratorsStillSeeIt) {
  ASSERT_TRUE(store_->hide_package("etcd", "mod", "it steals keys").ok());
  for (const char* name : {"ann", "mod"}) {
    Visit visitor = signed_in(name);
    for (const char* path : {"/packages/etcd", "/packages/etcd/1.0.0"})
      EXPECT_THAT(visitor.get(path).body,
                  AllOf(HasSubstr("hid this package"), HasSubstr("it steals keys"), HasSubstr("The readme")))
          << name << path;
  }
  EXPECT_THAT(signed_in("ann").get("/account").body, HasSubstr("The moderators hid it: it steals keys"));
  EXPECT_THAT(api("GET", "/projects/etcd", "ann").body, HasSubstr(R"("hidden":"it steals keys")"));
  EXPECT_EQ(signed_in("bob").get("/packages/etcd").status, 410);
}

TEST_P(HidingTest, OneVersionIsHiddenAndTheOthersStay) {
  Visit mod = signed_in("mod");
  EXPECT_THAT(mod.get("/packages/etcd/1.1.0").body, HasSubstr("Hide this version"));
  EXPECT_EQ(
      place(mod.post("/admin/packages/hide", {{"package", "etcd"}, {"version", "1.1.0"}, {"why", " bad "}})),
      "/packages/etcd");
  EXPECT_THAT(visit().get("/packages/etcd").body,
              AllOf(HasSubstr("Version 1.0.0"), HasSubstr("hidden</span>")));
  EXPECT_THAT(visit().get("/packages/etcd/1.1.0").body, AllOf(HasSubstr("hid etcd 1.1.0"), HasSubstr("bad")));
  EXPECT_EQ(visit().get("/packages/etcd/1.1.0").status, 410);
  EXPECT_EQ(api("GET", blob("1.1.0")).status, 410);
  EXPECT_EQ(api("GET", blob("1.0.0")).status, 200);
  EXPECT_EQ(api("GET", "/packages/etcd/versions/1.1.0").status, 410);
  const Value versions = *encoding::parse_json(api("GET", "/packages/etcd").body);
  EXPECT_EQ(
      encoding::to_json(versions.find("items")->as_array().at(0)),
      R"({"package":"etcd","version":"1.1.0","state":"passed","hidden":"bad","created":"2026-03-01T09:30:00Z"})");
  EXPECT_THAT(index(), ElementsAre("1.0.0"));
  EXPECT_EQ(store_->search("", {}, {})->items.at(0).version, "1.0.0");
  EXPECT_THAT(audited("hide version"), ElementsAre("etcd 1.1.0: bad"));
  EXPECT_THAT(mod.get("/packages/etcd/1.1.0").body, HasSubstr("Show this version again"));
  // The last one, too.
  ASSERT_TRUE(store_->hide_version("etcd", "1.0.0", "worse").ok());
  EXPECT_EQ(visit().get("/packages/etcd").status, 410);
  EXPECT_THAT(store_->search("", {}, {})->items, IsEmpty());
  EXPECT_EQ(mod.post("/admin/packages/show", {{"package", "etcd"}, {"version", "1.1.0"}}).status, 303);
  EXPECT_EQ(mod.post("/admin/packages/show", {{"package", "etcd"}, {"version", "1.1.0"}}).status, 404);
  EXPECT_EQ(store_->search("", {}, {})->items.at(0).version, "1.1.0");
  EXPECT_EQ(api("PUT", "/packages/etcd/versions/9.0.0/hidden", "mod", std::string(kReason)).status, 404);
  EXPECT_EQ(api("PUT", "/packages/nothing/hidden", "mod", std::string(kReason)).status, 404);
}

TEST_P(HidingTest, BytesThatAVisibleVersionHasAreDelivered) {
  ASSERT_TRUE(
      store_->add_project({.name = "copy", .owner = "bob", .url = "https://git.example.com/copy"}).ok());
  NewVersion copy{.package = "copy", .version = "1.0.0", .tag = "1.0.0", .commit = std::string(40, 'b')};
  copy.digest = crypto::sha256("bytes of 1.0.0").str();
  ASSERT_TRUE(store_->submit(copy).ok());
  ASSERT_TRUE(store_->hide_package("etcd", "mod", "bad").ok());
  EXPECT_EQ(api("GET", blob("1.0.0")).status, 200);
  ASSERT_TRUE(store_->hide_version("copy", "1.0.0", "bad too").ok());
  EXPECT_EQ(api("GET", blob("1.0.0")).status, 410);
}

TEST_P(HidingTest, TheModulesOfAHiddenVersionAreGone) {
  open_previews();
  const std::string module = "/modules/" + publish_module("etcd", "2.0.0").digest;
  EXPECT_EQ(api("GET", module).status, 200);
  ASSERT_TRUE(store_->hide_version("etcd", "2.0.0", "it steals keys").ok());
  for (const bool is_restarted : {false, true}) {
    if (is_restarted) open_previews();
    const WebAnswer answer = api("GET", module);
    EXPECT_EQ(answer.status, 410);
    EXPECT_THAT(answer.body, HasSubstr("it steals keys"));
    EXPECT_EQ(http::find_header(answer.headers, "Cache-Control"), "no-store");
  }
  ASSERT_TRUE(store_->show_version("etcd", "2.0.0").ok());
  EXPECT_EQ(api("GET", module).status, 200) << "the restarted server knows it";
  ASSERT_TRUE(store_->hide_package("etcd", "mod", "bad").ok());
  EXPECT_EQ(api("GET", module).status, 410);
  // A version that is visible may have the same one.
  ASSERT_TRUE(
      store_->add_project({.name = "copy", .owner = "bob", .url = "https://git.example.com/copy"}).ok());
  ASSERT_EQ("/modules/" + publish_module("copy", "2.0.0").digest, module);
  EXPECT_EQ(api("GET", module).status, 200);
  ASSERT_TRUE(store_->hide_version("copy", "2.0.0", "bad too").ok());
  EXPECT_EQ(api("GET", module).status, 410);
  EXPECT_EQ(api("GET", "/modules/" + crypto::sha256("nothing").str()).status, 404);
}

// Behind a balancer, the instance that told the browser of a module may be another one.
TEST_P(HidingTest, AnInstanceThatDoesNotKnowAModulePreparesItsVersion) {
  open_previews();
  const std::string module = "/modules/" + publish_module("etcd", "2.0.0").digest;
  site_.reset();
  previews_.reset();
  ASSERT_TRUE(files_.remove_all(dir_.path() / "previews").ok());
  open_previews();
  const auto asked = [&](const std::string& query) {
    return site_->answer({.method = "GET", .path = "/api/v1" + module, .query = query, .peer = "192.0.2.7"});
  };
  EXPECT_EQ(asked("").status, 404);
  EXPECT_EQ(asked("package=etcd&version=9.0.0").status, 404);
  WebAnswer answer = asked("package=etcd&version=2.0.0");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(http::find_header(answer.headers, "Retry-After"), "1");
  for (int i = 0; i < 600 && answer.status == 503; ++i) {
    std::this_thread::sleep_for(50ms);
    answer = asked("package=etcd&version=2.0.0");
  }
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(asked("").status, 200);
}

TEST_P(HidingTest, NothingHiddenIsTestedOrPolled) {
  ASSERT_TRUE(store_->hide_version("etcd", "1.1.0", "bad").ok());
  ASSERT_TRUE(store_->test_again("etcd", "1.1.0").ok());
  EXPECT_FALSE(*store_->lease("w", 30s));
  ASSERT_TRUE(store_->show_version("etcd", "1.1.0").ok());
  ASSERT_TRUE(store_->hide_version("etcd", "1.0.0", "bad").ok());
  const auto job = store_->lease("w", 30s);
  ASSERT_TRUE(job.ok() && *job);
  EXPECT_EQ((*job)->previous_version, "") << "no upgrade from what is hidden";
  ASSERT_TRUE(store_->give_back(**job, 0s).ok());
  ASSERT_TRUE(store_->hide_package("etcd", "mod", "bad").ok());
  EXPECT_FALSE(*store_->lease("w", 30s));
  clock_.advance(1h);
  EXPECT_FALSE(*store_->take_due_project(1min, {}));
  ASSERT_TRUE(store_->show_package("etcd").ok());
  EXPECT_TRUE(*store_->take_due_project(1min, {}));
  // Its author doesn't get around it by linking it again.
  ASSERT_TRUE(store_->hide_package("etcd", "mod", "bad").ok());
  ASSERT_TRUE(store_->remove_project("etcd").ok());
  ASSERT_TRUE(
      store_->add_project({.name = "etcd", .owner = "ann", .url = "https://git.example.com/new"}).ok());
  EXPECT_EQ(visit().get("/packages/etcd").status, 410);
}

TEST_P(HidingTest, OnlyModeratorsHideAndNobodyShowsTheirOwnAgain) {
  for (const char* path : {"/packages/etcd/hidden", "/packages/etcd/versions/1.0.0/hidden"}) {
    EXPECT_EQ(api("PUT", path, "ann", std::string(kReason)).status, 403) << path;
    EXPECT_EQ(api("PUT", path, {}, std::string(kReason)).status, 401) << path;
    EXPECT_EQ(api("DELETE", path, "ann").status, 403) << path;
    for (const char* body : {R"({"reason": ""})", R"({"reason": " "})", R"({"reason": "a\nb"})",
                             R"({"reason": "\u001b[1m"})", "{}", "[]"})
      EXPECT_EQ(api("PUT", path, "mod", body).status, 400) << path << body;
  }
  Visit bob = signed_in("bob");
  EXPECT_EQ(bob.post("/admin/packages/hide", {{"package", "etcd"}, {"why", "bad"}}).status, 403);
  EXPECT_THAT(bob.get("/packages/etcd").body, Not(HasSubstr("Hide")));
  ASSERT_TRUE(
      store_->add_project({.name = "own", .owner = "mod", .url = "https://git.example.com/own"}).ok());
  NewVersion own{.package = "own", .version = "1.0.0", .tag = "1.0.0", .commit = std::string(40, 'b')};
  ASSERT_TRUE(store_->submit(own).ok());
  EXPECT_EQ(api("PUT", "/packages/own/hidden", "mod", std::string(kReason)).status, 204);
  EXPECT_EQ(api("DELETE", "/packages/own/hidden", "mod").status, 403);
  EXPECT_EQ(signed_in("root").post("/admin/packages/show", {{"package", "own"}}).status, 303);
}

TEST_P(HidingTest, HidingAPackageClosesItsReports) {
  ASSERT_TRUE(feedback_->add_comment("etcd", "bob", "spam").ok());
  ASSERT_TRUE(feedback_->report_comment(1, "ann", "spam").ok());
  ASSERT_TRUE(feedback_->report_package("etcd", "bob", "malware").ok());
  Visit mod = signed_in("mod");
  EXPECT_THAT(mod.get("/admin/reports").body, HasSubstr("Hide the package"));
  EXPECT_EQ(mod.post("/admin/packages/hide", {{"package", "etcd"}, {"why", "malware"}}).status, 303);
  const auto open = feedback_->reports({})->items;
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].quoted, "bob") << "that of the comment is another matter";
}

INSTANTIATE_TEST_SUITE_P(Databases, HidingTest, each_database(), name_of_database);

}  // namespace
}  // namespace mist::catalog
