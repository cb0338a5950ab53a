#include "releases/reported_drift.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "releases/status.h"
#include "testing/yaml.h"

namespace mist::releases {
namespace {

class ReportedDriftTest : public ::testing::Test {
 protected:
  /// A look that sees that drift, and whose status is written. Whether an Event tells of it.
  bool look(std::string words, std::string digest) {
    const bool news = !digest.empty() && told_->is_news(object_, digest);
    told_->note(object_, digest);
    const Value status =
        status_of(object_, {.ready = "True", .drifted = Drift{std::move(words), std::move(digest)}},
                  "2026-01-01T00:00:00Z");
    const std::vector<Value> older = statuses_of_older_crds(status);
    object_.set("status", crd_is_older_ && !older.empty() ? older.front() : status);
    return news;
  }
  void restart() { told_ = std::make_unique<ReportedDrift>(); }

  Value object_ = testing::yaml("metadata: {name: web, namespace: apps, uid: u1, generation: 3}\nspec: {}");
  std::unique_ptr<ReportedDrift> told_ = std::make_unique<ReportedDrift>();
  bool crd_is_older_ = false;
};

TEST_F(ReportedDriftTest, IsToldOnceAndAgainWhenItChanges) {
  EXPECT_TRUE(look("one field", "sha256:1"));
  EXPECT_FALSE(look("one field", "sha256:1"));
  restart();
  EXPECT_FALSE(look("one field", "sha256:1"));
  EXPECT_TRUE(look("another field", "sha256:2"));
  EXPECT_FALSE(look("", ""));
  EXPECT_TRUE(look("another field", "sha256:2")) << "it was gone meanwhile";
}

// The words of a condition are for people: another version may choose others.
TEST_F(ReportedDriftTest, OtherWordsOfTheSameDriftAreNoNews) {
  EXPECT_TRUE(look("one field", "sha256:1"));
  EXPECT_FALSE(look("1 field; it is left as it is: no", "sha256:1"));
  EXPECT_TRUE(look("1 field; it is left as it is: no", "sha256:2"));
}

TEST_F(ReportedDriftTest, AChangeAcrossARestartIsTold) {
  EXPECT_TRUE(look("one field", "sha256:1"));
  restart();
  EXPECT_TRUE(look("another field", "sha256:2"));
}

TEST_F(ReportedDriftTest, TheCrdOfAnOlderOperatorRepeatsNoEvent) {
  crd_is_older_ = true;
  EXPECT_TRUE(look("one field", "sha256:1"));
  ASSERT_EQ(drift_digest_of(object_), "");
  EXPECT_FALSE(look("one field", "sha256:1"));
  EXPECT_TRUE(look("another field", "sha256:2"));
  EXPECT_FALSE(look("another field", "sha256:2"));
  restart();
  EXPECT_FALSE(look("another field", "sha256:2"));
  EXPECT_TRUE(look("one field", "sha256:1"));
  EXPECT_FALSE(look("", ""));
  EXPECT_TRUE(look("one field", "sha256:1"));
}

TEST_F(ReportedDriftTest, ADriftThatAnOlderOperatorToldOfIsNoNews) {
  object_.set("status", testing::yaml("conditions: [{type: Drifted, status: 'True', message: one field}]"));
  EXPECT_FALSE(look("one field", "sha256:1"));
  EXPECT_EQ(drift_digest_of(object_), "sha256:1");
}

TEST_F(ReportedDriftTest, AnotherReleaseOfItsNameIsAnother) {
  crd_is_older_ = true;
  EXPECT_TRUE(look("one field", "sha256:1"));
  object_["metadata"].set("uid", "u2");
  EXPECT_FALSE(look("another field", "sha256:2")) << "its condition shows a drift that nobody remembers";
}

}  // namespace
}  // namespace mist::releases
