#include "operator/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::operator_ {
namespace {

using graph::Truth;
using std::chrono::seconds;

const ObjectId kId{"v1", "ConfigMap", "shop", "a"};

TEST(Memory, KeepsWhatNeedsNotBeStoredUntilTheStoredRecordIsAnother) {
  Memory memory;
  const reconcile::Recorded planned{.node = "a", .id = kId};
  const std::string text = to_text(Record{.objects = {planned}});
  EXPECT_EQ(memory.record(text).objects.front(), planned);
  reconcile::Recorded written = planned;
  written.hash = "h1";
  memory.keep({.objects = {written}});
  EXPECT_EQ(memory.record(text).objects.front().hash, "h1");
  EXPECT_EQ(memory.stored_record().objects.front(), planned);
  EXPECT_TRUE(memory.record("").empty());
}

TEST(Memory, TheStatusWaitsForASecondAtMost) {
  Memory memory;
  const SteadyTime now{};
  EXPECT_TRUE(memory.may_defer_status(now));
  EXPECT_TRUE(memory.may_defer_status(now + std::chrono::milliseconds(999)));
  EXPECT_FALSE(memory.may_defer_status(now + seconds(1)));
  memory.status_written();
  EXPECT_TRUE(memory.may_defer_status(now + seconds(1)));
}

TEST(Memory, HoldsANodeForLongerAfterEachFailure) {
  Memory memory;
  SteadyTime now{};
  EXPECT_EQ(memory.failed("a", "h1", kId, "no", now), std::chrono::milliseconds(200));
  EXPECT_EQ(memory.failed("a", "h1", kId, "no", now), std::chrono::milliseconds(400));
  EXPECT_EQ(memory.held("a", "h1", now), "no");
  EXPECT_EQ(memory.next(now), now + std::chrono::milliseconds(400));
  EXPECT_EQ(memory.held("a", "h1", now + std::chrono::milliseconds(400)), std::nullopt);
  for (int i = 0; i < 20; ++i) memory.failed("a", "h1", kId, "no", now);
  EXPECT_EQ(memory.failed("a", "h1", kId, "no", now), std::chrono::minutes(5)) << "and no longer than that";
}

TEST(Memory, ANewInputOrAChangeOfTheObjectBeginsAnew) {
  Memory memory;
  const SteadyTime now{};
  memory.failed("a", "h1", kId, "no", now);
  EXPECT_EQ(memory.held("a", "h2", now), std::nullopt);
  EXPECT_EQ(memory.failed("a", "h2", kId, "no", now), std::chrono::milliseconds(200));
  memory.changed({"v1", "ConfigMap", "shop", "b"});
  EXPECT_TRUE(memory.held("a", "h2", now));
  memory.changed(kId);
  EXPECT_FALSE(memory.held("a", "h2", now));
  memory.failed("a", "h2", kId, "no", now);
  memory.succeeded("a");
  EXPECT_FALSE(memory.held("a", "h2", now));
}

TEST(Memory, FreezesANodeThatComesAndGoesTooOften) {
  Memory memory;
  SteadyTime now{};
  memory.wanted("a", Truth::True, now);
  for (std::size_t i = 0; i + 1 < kMostFlips; ++i)
    memory.wanted("a", i % 2 == 0 ? Truth::False : Truth::True, now += seconds(1));
  EXPECT_FALSE(memory.frozen("a", now));
  memory.wanted("a", Truth::Unknown, now) /* is not a flip */;
  EXPECT_FALSE(memory.frozen("a", now));
  memory.wanted("a", Truth::False, now += seconds(1));
  EXPECT_TRUE(memory.frozen("a", now));
  EXPECT_FALSE(memory.frozen("b", now));
  ASSERT_TRUE(memory.next(now));
  EXPECT_FALSE(memory.frozen("a", *memory.next(now)));
}

TEST(Memory, ANodeThatComesAndGoesSlowlyIsNotFrozen) {
  Memory memory;
  SteadyTime now{};
  for (int i = 0; i < 50; ++i) {
    memory.wanted("a", i % 2 == 0 ? Truth::False : Truth::True, now += seconds(20));
    EXPECT_FALSE(memory.frozen("a", now));
  }
}

}  // namespace
}  // namespace mist::operator_
