// Versions that moderators publish or reject, in the store, on pages and over REST.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "catalog/account_site_fixture.h"
#include "encoding/json.h"

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

class ReviewTest : public AccountSiteTest {
 protected:
  ReviewTest() {
    EXPECT_TRUE(
        store_->add_project({.name = "etcd", .owner = "ann", .url = "https://git.example.com/etcd"}).ok());
  }
  void submit(const std::string& number, ReviewPolicy policy, const std::string& package = "etcd") {
    NewVersion version{.package = package, .version = number, .tag = number, .commit = std::string(40, 'a')};
    version.digest = blobs_.put("bytes of " + package + number)->str();
    version.facts.description = "keeps keys";
    version.facts.k3 = "name: " + package;
    version.readme = "The readme";
    version.review = policy;
    ASSERT_TRUE(store_->submit(version).ok());
  }
  void finish(bool passed = true) {
    const auto job = store_->lease("w", 30s);
    ASSERT_TRUE(job.ok() && *job);
    previous_ = (*job)->previous_version;
    ASSERT_TRUE(store_->finish(**job, passed).ok());
  }
  void publish_at_once(const std::string& number) {
    submit(number, ReviewPolicy::None);
    finish();
  }
  void await_review(const std::string& number) {
    submit(number, ReviewPolicy::EveryVersion);
    finish();
  }
  int decide(const std::string& number, const std::string& body, const std::string& as = "mod") {
    return api("PUT", fmt::format("/packages/etcd/versions/{}/review", number), as, body).status;
  }
  // "etcd 1.0.0 awaited null"
  std::vector<std::string> reviews(const std::string& as, const std::string& query = {}) {
    const Value answer = *encoding::parse_json(api("GET", "/reviews" + query, as).body);
    std::vector<std::string> found;
    for (const Value& each : answer.find("items")->as_array())
      found.push_back(fmt::format("{} {} {} {}", each.string_at("package"), each.string_at("version"),
                                  each.string_at("review"), encoding::to_json(*each.find("reason"))));
    return found;
  }
  std::vector<std::string> index() {
    std::vector<std::string> versions;
    const auto found = *store_->index();
    for (const IndexEntry& each : found.second) versions.push_back(each.version);
    return versions;
  }
  Review review_of(const std::string& number) { return (*store_->version("etcd", number))->review; }

  std::string previous_;
};

constexpr const char* kPublish = R"({"decision": "publish"})";
constexpr const char* kReject = R"({"decision": "reject", "reason": "it sends <keys> away"})";

TEST_P(ReviewTest, OnlyItsAuthorAndModeratorsSeeAVersionThatAwaitsItsReview) {
  await_review("1.0.0");
  for (const char* path : {"/packages/etcd", "/packages/etcd/versions/1.0.0/preview",
                           "/packages/etcd/downloads", "/packages/etcd/ratings", "/packages/etcd/comments"})
    EXPECT_EQ(api("GET", path, "ann").status, 404) << path;
  for (const char* path : {"/packages/etcd/versions/1.0.0", "/packages/etcd/versions/1.0.0/test"}) {
    EXPECT_EQ(api("GET", path, "ann").status, 200) << path;
    EXPECT_EQ(api("GET", path, "mod").status, 200) << path;
    EXPECT_EQ(api("GET", path, "bob").status, 404) << path;
    EXPECT_EQ(api("GET", path).status, 404) << path;
    EXPECT_EQ(rest("GET", path, "mst_no-such-token", "").status, 404) << path;
  }
  EXPECT_EQ(api("GET", "/blobs/" + crypto::sha256("bytes of etcd1.0.0").str()).status, 404);
  EXPECT_EQ(api("POST", "/packages/etcd/comments", "bob", R"({"text": "x"})").status, 404);
  for (const char* path : {"/packages/etcd", "/packages/etcd/1.0.0", "/packages/etcd/1.0.0/test",
                           "/packages/etcd/1.0.0/inputs", "/packages/etcd/comments"}) {
    EXPECT_EQ(visit().get(path).status, 404) << path;
    EXPECT_EQ(signed_in("bob").get(path).status, 404) << path;
  }
  EXPECT_THAT(visit().get("/packages/etcd/badge.svg").body, Not(HasSubstr("passed")));
  EXPECT_THAT(store_->search("keys", {}, {})->items, IsEmpty());
  EXPECT_THAT(store_->search("", {}, {})->items, IsEmpty());
  EXPECT_EQ(store_->facets("", {})->found, 0);
  EXPECT_THAT(*store_->newest(9), IsEmpty());
  EXPECT_THAT(index(), IsEmpty());
  EXPECT_THAT(store_->search_index()->second, IsEmpty());
  for (const char* name : {"ann", "mod"}) {
    Visit visitor = signed_in(name);
    for (const char* path : {"/packages/etcd", "/packages/etcd/1.0.0"})
      EXPECT_THAT(visitor.get(path).body, AllOf(HasSubstr("awaits its review"), HasSubstr("The readme")))
          << name << path;
    EXPECT_EQ(visitor.get("/packages/etcd/1.0.0/test").status, 200) << name;
  }
  EXPECT_THAT(signed_in("ann").get("/account").body,
              AllOf(HasSubstr("etcd 1.0.0</a> awaits its review"), Not(HasSubstr("await a review: "))));
  EXPECT_THAT(signed_in("mod").get("/account").body, HasSubstr("await a review: 1<"));
  EXPECT_THAT(reviews("ann"), ElementsAre("etcd 1.0.0 awaited null"));
  EXPECT_THAT(reviews("bob"), IsEmpty());
  EXPECT_EQ(api("GET", "/reviews?all=true", "bob").status, 403);
  EXPECT_EQ(api("GET", "/reviews?all=1", "mod").status, 400);
  EXPECT_EQ(api("GET", "/reviews").status, 401);
}

TEST_P(ReviewTest, ChangesOfAVersionThatAwaitsItsReviewAreForItsReviewers) {
  publish_at_once("1.0.0");
  await_review("1.1.0");
  const std::string path = "/packages/etcd/versions/1.1.0/changes";
  EXPECT_EQ(api("GET", path, "ann").status, 200);
  EXPECT_EQ(api("GET", path, "mod").status, 200);
  EXPECT_EQ(api("GET", path, "bob").status, 404);
  EXPECT_EQ(api("GET", path).status, 404);
  EXPECT_EQ(api("GET", "/packages/etcd/versions/1.0.0/changes?from=1.1.0", "bob").status, 404);
}

TEST_P(ReviewTest, ATokenWithoutTheScopeToModerateShowsAModeratorNoMoreThanOthers) {
  await_review("1.0.0");
  EXPECT_EQ(rest("GET", "/packages/etcd/versions/1.0.0", token("mod", "feedback"), "").status, 404);
  EXPECT_EQ(rest("GET", "/packages/etcd/versions/1.0.0", token("mod", "moderate"), "").status, 200);
}

TEST_P(ReviewTest, AModeratorPublishesIt) {
  await_review("1.0.0");
  EXPECT_THAT(reviews("mod", "?all=true"), ElementsAre("etcd 1.0.0 awaited null"));
  EXPECT_EQ(decide("1.0.0", kPublish, "ann"), 403);
  EXPECT_EQ(decide("1.0.0", R"({"decision": "maybe"})"), 400);
  EXPECT_EQ(decide("9.0.0", kPublish), 404);
  EXPECT_EQ(decide("1.0.0", kPublish), 204);
  EXPECT_EQ(decide("1.0.0", kPublish), 409) << "it is published";
  EXPECT_EQ(decide("1.0.0", kReject), 409) << "everybody has it already";
  EXPECT_EQ(api("GET", "/packages/etcd").status, 200);
  EXPECT_EQ(api("GET", "/blobs/" + crypto::sha256("bytes of etcd1.0.0").str()).status, 200);
  EXPECT_THAT(visit().get("/packages/etcd").body,
              AllOf(HasSubstr("The readme"), Not(HasSubstr("awaits its review"))));
  EXPECT_THAT(index(), ElementsAre("1.0.0"));
  EXPECT_EQ(store_->search("keys", {}, {})->items.size(), 1U);
  EXPECT_THAT(reviews("mod", "?all=true"), IsEmpty());
  EXPECT_THAT(signed_in("ann").get("/account").body, Not(HasSubstr("unpublished")));
  const auto log = *store_->audit_log({.what = "approve version"}, {});
  ASSERT_EQ(log.items.size(), 1U);
  EXPECT_EQ(log.items[0].who, "mod");
  EXPECT_EQ(log.items[0].subject, "etcd 1.0.0");
}

TEST_P(ReviewTest, ARejectedVersionTellsItsAuthorWhy) {
  publish_at_once("1.0.0");
  await_review("1.1.0");
  EXPECT_EQ(decide("1.1.0", R"({"decision": "reject"})"), 400) << "there is no reason";
  EXPECT_EQ(decide("1.1.0", R"({"decision": "reject", "reason": "a\u001b[2J"})"), 400);
  EXPECT_EQ(decide("1.1.0", kReject), 204);
  EXPECT_EQ(decide("1.1.0", kReject), 409);
  EXPECT_THAT(reviews("ann"), ElementsAre("etcd 1.1.0 rejected \"it sends <keys> away\""));
  EXPECT_THAT(reviews("mod", "?all=true"), IsEmpty());
  Visit ann = signed_in("ann");
  EXPECT_THAT(ann.get("/account").body, HasSubstr("was rejected: it sends &lt;keys&gt; away"));
  EXPECT_THAT(ann.get("/packages/etcd/1.1.0").body,
              AllOf(HasSubstr("rejected this version"), HasSubstr("it sends &lt;keys&gt; away")));
  EXPECT_EQ(visit().get("/packages/etcd/1.1.0").status, 404);
  EXPECT_THAT(visit().get("/packages/etcd").body, AllOf(HasSubstr("Version 1.0.0"), Not(HasSubstr("1.1.0"))));
  EXPECT_THAT(api("GET", "/packages/etcd").body, Not(HasSubstr("1.1.0")));
  EXPECT_THAT(api("GET", "/packages/etcd/versions/1.0.0/changes?from=1.1.0").status, 404);
  EXPECT_THAT(index(), ElementsAre("1.0.0"));
  EXPECT_EQ(store_->audit_log({.what = "reject version"}, {})->items.at(0).subject,
            "etcd 1.1.0: it sends <keys> away");
  // It was a mistake.
  EXPECT_EQ(decide("1.1.0", kPublish), 204);
  EXPECT_THAT(index(), ElementsAre("1.0.0", "1.1.0"));
  EXPECT_THAT(reviews("ann"), IsEmpty());
}

TEST_P(ReviewTest, ModeratorsReviewOnPagesButNotTheirOwn) {
  await_review("1.0.0");
  await_review("1.1.0");
  Visit mod = signed_in("mod");
  EXPECT_THAT(mod.get("/admin/reviews").body,
              AllOf(HasSubstr("href=\"/packages/etcd/1.0.0\""), HasSubstr("href=\"/packages/etcd/1.1.0\"")));
  EXPECT_THAT(mod.get("/packages/etcd/1.0.0").body,
              AllOf(HasSubstr("Publish this version"), HasSubstr("Reject this version")));
  EXPECT_EQ(place(mod.post("/admin/reviews/publish", {{"package", "etcd"}, {"version", "1.0.0"}})),
            "/admin/reviews");
  EXPECT_EQ(review_of("1.0.0"), Review::Published);
  EXPECT_EQ(
      mod.post("/admin/reviews/reject", {{"package", "etcd"}, {"version", "1.1.0"}, {"why", " "}}).status,
      400);
  EXPECT_EQ(
      mod.post("/admin/reviews/reject", {{"package", "etcd"}, {"version", "1.1.0"}, {"why", "bad"}}).status,
      303);
  EXPECT_EQ(review_of("1.1.0"), Review::Rejected);
  EXPECT_THAT(mod.get("/admin/reviews").body, HasSubstr("None does."));
  Visit ann = signed_in("ann");
  EXPECT_EQ(ann.get("/admin/reviews").status, 403);
  EXPECT_EQ(ann.post("/admin/reviews/publish", {{"package", "etcd"}, {"version", "1.1.0"}}).status, 403);
  // Of a moderator's own package.
  ASSERT_TRUE(
      store_->add_project({.name = "own", .owner = "mod", .url = "https://git.example.com/own"}).ok());
  submit("1.0.0", ReviewPolicy::EveryVersion, "own");
  finish();
  EXPECT_THAT(mod.get("/packages/own/1.0.0").body, Not(HasSubstr("Publish this version")));
  EXPECT_EQ(mod.post("/admin/reviews/publish", {{"package", "own"}, {"version", "1.0.0"}}).status, 403);
  EXPECT_EQ((*store_->version("own", "1.0.0"))->review, Review::Awaited);
}

TEST_P(ReviewTest, ThePolicySaysWhichVersionsAwaitOne) {
  submit("1.0.0", ReviewPolicy::FirstVersion);
  finish();
  submit("1.1.0", ReviewPolicy::FirstVersion);
  finish();
  EXPECT_EQ(review_of("1.0.0"), Review::Awaited);
  EXPECT_EQ(review_of("1.1.0"), Review::Awaited) << "none is published yet";
  EXPECT_EQ(decide("1.0.0", kPublish), 204);
  submit("1.2.0", ReviewPolicy::FirstVersion);
  finish();
  EXPECT_EQ(review_of("1.2.0"), Review::Published);
  EXPECT_EQ(review_of("1.1.0"), Review::Awaited) << "nobody decided that";
  submit("1.3.0", ReviewPolicy::EveryVersion);
  finish();
  EXPECT_EQ(review_of("1.3.0"), Review::Awaited);
  submit("1.4.0", ReviewPolicy::None);
  finish();
  EXPECT_EQ(review_of("1.4.0"), Review::Published);
  EXPECT_EQ(previous_, "1.2.0") << "nobody upgrades from what isn't published";
}

TEST_P(ReviewTest, RejectedVersionsAreNotTestedAndFailedOnesNotReviewed) {
  submit("1.0.0", ReviewPolicy::EveryVersion);
  EXPECT_THAT(reviews("mod", "?all=true"), ElementsAre("etcd 1.0.0 awaited null")) << "before its test, too";
  EXPECT_EQ(decide("1.0.0", kReject), 204);
  EXPECT_FALSE(store_->lease("w", 30s)->has_value());
  await_review("1.0.1");
  EXPECT_EQ(decide("1.0.1", kReject), 204);
  const WebAnswer refused = api("POST", "/packages/etcd/versions/1.0.1/test", "ann");
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("etcd 1.0.1 was rejected by a moderator"));
  EXPECT_EQ((*store_->version("etcd", "1.0.1"))->state, VersionState::Passed);
  EXPECT_EQ(decide("1.0.1", kPublish), 204);
  EXPECT_EQ(api("POST", "/packages/etcd/versions/1.0.1/test", "ann").status, 202);
  finish();
  submit("1.1.0", ReviewPolicy::EveryVersion);
  finish(false);
  EXPECT_THAT(reviews("mod", "?all=true"), IsEmpty());
  EXPECT_EQ(*store_->count_reviews(), 0);
  EXPECT_THAT(reviews("ann"),
              ElementsAre("etcd 1.0.0 rejected \"it sends <keys> away\"", "etcd 1.1.0 awaited null"));
}

TEST_P(ReviewTest, LongListsComeInPages) {
  for (const char* number : {"1.0.0", "1.1.0", "1.2.0"}) await_review(number);
  const Value first = *encoding::parse_json(api("GET", "/reviews?all=true&limit=2", "mod").body);
  EXPECT_EQ(first.find("items")->size(), 2U);
  const std::string next(first.string_at("next"));
  ASSERT_TRUE(next.starts_with("/api/v1")) << next;
  const Value second = *encoding::parse_json(api("GET", next.substr(7), "mod").body);
  ASSERT_EQ(second.find("items")->size(), 1U);
  EXPECT_EQ(second.find("items")->as_array()[0].string_at("version"), "1.2.0");
  EXPECT_EQ(second.find("items")->as_array()[0].string_at("owner"), "ann");
  EXPECT_TRUE(second.find("next")->is_null());
}

INSTANTIATE_TEST_SUITE_P(Databases, ReviewTest, each_database(), name_of_database);

}  // namespace
}  // namespace mist::catalog
