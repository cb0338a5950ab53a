#include "operator/unready_causes.h"

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

TEST(UnreadyCauses, AreLookedIntoAfterAWhileAndThenWithGrowingPauses) {
  UnreadyCauses causes;
  Duration now{};
  EXPECT_EQ(causes.of(kJob, kLive, at(now)), "");
  EXPECT_TRUE(causes.due(at(kFirstLook - std::chrono::seconds(1))).empty());
  for (Duration pause = kFirstLook;; pause = std::min<Duration>(2 * pause, kLongestLookPause)) {
    now += pause;
    ASSERT_EQ(causes.next(), at(now));
    const auto due = causes.due(at(now));
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due.front().key.name, "migrate");
    EXPECT_EQ(causes.found(due.front().key, "no node takes it", at(now)), pause == kFirstLook);
    EXPECT_TRUE(causes.due(at(now)).empty());
    EXPECT_EQ(causes.of(kJob, kLive, at(now)), "no node takes it");
    if (pause == kLongestLookPause) break;
  }
}

TEST(UnreadyCauses, OfWhatIsReadyOrAnotherNothingIsKept) {
  UnreadyCauses causes;
  causes.of(kJob, kLive, at({}));
  causes.found(causes.due(at(kFirstLook)).front().key, "no node takes it", at(kFirstLook));
  Value other = kLive;
  other["metadata"].set("uid", "u2");
  EXPECT_EQ(causes.of(kJob, other, at(kFirstLook)), "");
  causes.begin();
  causes.finish();
  EXPECT_FALSE(causes.next());
}

TEST(UnreadyCauses, WhatMakesNoPodsIsNotLookedInto) {
  UnreadyCauses causes;
  EXPECT_EQ(causes.of({"v1", "Service", "shop", "web"}, testing::yaml("spec: {selector: {a: b}}"), at({})),
            "");
  EXPECT_FALSE(causes.next());
}

}  // namespace
}  // namespace mist::operator_
