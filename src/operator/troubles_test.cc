#include "operator/troubles.h"

#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::operator_ {
namespace {

const ObjectId kJob{"batch/v1", "Job", "shop", "migrate"};
const Value kLive = testing::yaml(R"(
metadata: {name: migrate, namespace: shop, uid: u1}
spec: {selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: main}]}}}
)");

SteadyTime at(Duration since) { return SteadyTime(std::chrono::duration_cast<SteadyTime::duration>(since)); }

TEST(Troubles, AreLookedIntoAfterAWhileAndThenWithGrowingPauses) {
  Troubles troubles;
  Duration now{};
  EXPECT_EQ(troubles.of(kJob, kLive, at(now)), "");
  EXPECT_TRUE(troubles.due(at(kFirstLook - std::chrono::seconds(1))).empty());
  for (Duration pause = kFirstLook;; pause = std::min<Duration>(2 * pause, kLongestLookPause)) {
    now += pause;
    ASSERT_EQ(troubles.next(), at(now));
    const auto due = troubles.due(at(now));
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due.front().key.name, "migrate");
    EXPECT_EQ(troubles.found(due.front().key, "no node takes it", at(now)), pause == kFirstLook);
    EXPECT_TRUE(troubles.due(at(now)).empty());
    EXPECT_EQ(troubles.of(kJob, kLive, at(now)), "no node takes it");
    if (pause == kLongestLookPause) break;
  }
}

TEST(Troubles, OfWhatIsReadyOrAnotherNothingIsKept) {
  Troubles troubles;
  troubles.of(kJob, kLive, at({}));
  troubles.found(troubles.due(at(kFirstLook)).front().key, "no node takes it", at(kFirstLook));
  Value other = kLive;
  other["metadata"].set("uid", "u2");
  EXPECT_EQ(troubles.of(kJob, other, at(kFirstLook)), "");
  troubles.begin();
  troubles.finish();
  EXPECT_FALSE(troubles.next());
}

TEST(Troubles, WhatMakesNoPodsIsNotLookedInto) {
  Troubles troubles;
  EXPECT_EQ(troubles.of({"v1", "Service", "shop", "web"}, testing::yaml("spec: {selector: {a: b}}"), at({})),
            "");
  EXPECT_FALSE(troubles.next());
}

}  // namespace
}  // namespace mist::operator_
