#include "operator/pending_deletes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::operator_ {
namespace {

using std::chrono::minutes;
using ::testing::HasSubstr;
using ::testing::Not;

const ObjectId kFirst{"v1", "ConfigMap", "shop", "first"}, kLast{"v1", "Pod", "shop", "last"};
constexpr SteadyTime kNow{std::chrono::hours(100)};
const WallTime kWall = *parse_time("2030-01-01T12:00:00Z");

NodeReport going(const std::string& node, const ObjectId& id, std::string why, std::string since = {}) {
  NodeReport report{node, NodeState::Deleting, std::move(why), id};
  report.going_since = std::move(since);
  return report;
}

TEST(PendingDeletes, AreToldOnceTheyHaveWaitedForLong) {
  PendingDeletes pending;
  EXPECT_EQ(pending.oldest(), std::nullopt);
  Plan plan;
  plan.nodes = {going("first", kFirst, "waits until what came after it is gone"),
                going("last", kLast, "finalizers: example.com/hold")};
  pending.take(plan, kNow, kWall);
  EXPECT_EQ(pending.oldest(), kWall);
  EXPECT_EQ(pending.next(), kNow + kLongPending);
  EXPECT_EQ(pending.news(kNow + minutes(9)), std::nullopt);
  // Each look finds them again; they wait since the first.
  pending.take(plan, kNow + minutes(10), kWall + minutes(10));
  EXPECT_EQ(pending.oldest(), kWall);
  const auto news = pending.news(kNow + minutes(10));
  ASSERT_TRUE(news);
  EXPECT_THAT(*news, HasSubstr("other objects of this instance that wait: 1."));
  EXPECT_THAT(*news, HasSubstr(reconcile::kOutOfOrderAnnotation));
  EXPECT_EQ(pending.news(kNow + minutes(30)), std::nullopt) << "it was told";
  EXPECT_EQ(pending.next(), std::nullopt);
  pending.take({}, kNow + minutes(31), kWall + minutes(31));
  EXPECT_EQ(pending.oldest(), std::nullopt);
  EXPECT_EQ(pending.news(kNow + minutes(31)), std::nullopt);
  // Another time is other news.
  pending.take(plan, kNow + minutes(32), kWall + minutes(32));
  EXPECT_EQ(pending.next(), kNow + minutes(32) + kLongPending);
  EXPECT_TRUE(pending.news(kNow + minutes(42)));
}

TEST(PendingDeletes, NameTheObjectThatHoldsTheOthers) {
  PendingDeletes pending;
  Plan plan;
  plan.nodes = {going("first", kFirst, "waits until what came after it is gone"),
                going("last", kLast, "finalizers: example.com/hold", "2030-01-01T11:30:00Z")};
  plan.record.objects = {{.node = "first", .id = kFirst}, {.node = "last", .id = kLast, .after = {"first"}}};
  pending.take(plan, kNow, kWall);
  EXPECT_EQ(pending.oldest(), kWall - minutes(30)) << "an operator before this one asked for it";
  const auto news = pending.news(kNow);
  ASSERT_TRUE(news);
  EXPECT_THAT(*news, HasSubstr("Pod shop/last should have been deleted, and is still there after 30m"));
  EXPECT_THAT(*news, HasSubstr("finalizers: example.com/hold"));
  EXPECT_THAT(*news, Not(HasSubstr("ConfigMap")));
}

TEST(PendingDeletes, WhatTheServerRefusesToDeleteIsOneOfThem) {
  PendingDeletes pending;
  Plan plan;
  plan.nodes = {going("first", kFirst, {})};
  plan.deletes = {{.what = {.node = "first", .id = kFirst}, .uid = "u1"}};
  plan.nodes.front().fails(kFirst, "an admission webhook denied the request");
  pending.take(plan, kNow, kWall);
  EXPECT_THAT(pending.news(kNow + kLongPending).value_or(""),
              HasSubstr("ConfigMap shop/first should have been deleted, and is still there after 10m"));
  Plan undecided;
  undecided.undecided = {{kLast, "web"}};
  pending.take(undecided, kNow, kWall);
  pending.news(kNow);
  EXPECT_THAT(pending.news(kNow + kLongPending).value_or(""), HasSubstr("whether the node web makes it"));
}

// The clock of the machine may be wrong, and the server's is another.
TEST(PendingDeletes, ADeletionInTheFutureBeginsNow) {
  PendingDeletes pending;
  Plan plan;
  plan.nodes = {going("last", kLast, "finalizers: example.com/hold", "2031-01-01T00:00:00Z")};
  pending.take(plan, kNow, kWall);
  EXPECT_EQ(pending.oldest(), kWall);
  EXPECT_EQ(pending.next(), kNow + kLongPending);
}

}  // namespace
}  // namespace mist::operator_
