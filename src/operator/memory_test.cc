#include "operator/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::operator_ {
namespace {

using graph::Truth;
using std::chrono::seconds;

const ObjectId kId{"v1", "ConfigMap", "shop", "a"}, kSibling{"v1", "ConfigMap", "shop", "b"};

TEST(Memory, AnInstanceThatIsNotReadyWithinItsDeadlineIsStalled) {
  Memory memory;
  const SteadyTime start{seconds(1000)};
  const Duration deadline = seconds(600);
  EXPECT_FALSE(memory.is_stalled(1, start, deadline, start));
  EXPECT_EQ(memory.next(start), start + seconds(600)) << "somebody looks then";
  EXPECT_FALSE(memory.is_stalled(1, start, deadline, start + seconds(599)));
  EXPECT_TRUE(memory.is_stalled(1, start, deadline, start + seconds(600)));
  EXPECT_TRUE(memory.stalled());
  EXPECT_EQ(memory.next(start + seconds(600)), std::nullopt);
  // Another wish has its own time; so has it after it was ready.
  EXPECT_FALSE(memory.is_stalled(2, start, deadline, start + seconds(700)));
  EXPECT_FALSE(memory.is_stalled(2, start, deadline, start + seconds(1299)));
  EXPECT_TRUE(memory.is_stalled(2, start, deadline, start + seconds(1300)));
  memory.not_stalled();
  EXPECT_FALSE(memory.stalled());
  EXPECT_FALSE(memory.is_stalled(2, start + seconds(1400), deadline, start + seconds(1400)));
}

TEST(Memory, AnotherInstanceOfThatNameTakesItsPlaceInMetrics) {
  Memory memory;
  ASSERT_TRUE(memory.record("", "u1").ok());
  memory.counted_reason = "Ready";
  memory.is_counted_stalled = true;
  memory.is_stalled(1, SteadyTime{}, seconds(1), SteadyTime{seconds(5)});
  ASSERT_TRUE(memory.record("", "u2").ok());
  EXPECT_FALSE(memory.stalled());
  EXPECT_EQ(memory.counted_reason, "Ready") << "so that it is counted as something else";
  EXPECT_TRUE(memory.is_counted_stalled);
}

TEST(Memory, ADeadlineBeganBeforeTheOperatorDid) {
  Memory memory;
  const SteadyTime start{seconds(1000)};
  EXPECT_TRUE(memory.is_stalled(1, start - seconds(700), seconds(600), start));
  Memory other;
  EXPECT_FALSE(other.is_stalled(1, start - seconds(500), seconds(600), start));
  EXPECT_EQ(other.next(start), start + seconds(100));
}

TEST(Memory, KeepsWhatNeedsNotBeStoredUntilTheStoredRecordIsAnother) {
  Memory memory;
  const reconcile::Recorded planned{.node = "a", .id = kId};
  const std::string text = to_text(Record{.objects = {planned}});
  EXPECT_EQ(memory.record(text, "u1")->objects.front(), planned);
  reconcile::Recorded written = planned;
  written.hash = "h1";
  memory.keep({.objects = {written}});
  EXPECT_EQ(memory.record(text, "u1")->objects.front().hash, "h1");
  EXPECT_EQ(memory.stored_record().objects.front(), planned);
  EXPECT_EQ(memory.record("", "u1")->objects.front().hash, "h1") << "somebody removed the annotation";
  EXPECT_TRUE(memory.stored_record().empty()) << "so that it is stored again";
  EXPECT_EQ(memory.record("{", "u1")->objects.front().hash, "h1") << "somebody damaged it";
  EXPECT_TRUE(memory.record("", "u2")->empty()) << "another instance of that name";
  EXPECT_FALSE(memory.record("{", "u3").ok());
}

TEST(Memory, AnObjectThatShowsItsInputNeedsNotBeStoredWhereItIsKeptAsItWas) {
  Memory memory;
  const std::string text = to_text(Record{.objects = {{.node = "a", .id = kId, .hash = "h0"}}});
  ASSERT_TRUE(memory.record(text, "u1").ok());
  memory.keep({.objects = {{.node = "a", .id = kId, .hash = "h1", .shown = true}}});
  EXPECT_TRUE(says_as_much(memory.stored_record(), *memory.record(text, "u1")))
      << "what comes before it is written at once";
  memory.keep({.objects = {{.node = "a", .id = kId, .hash = "h1"}}});
  EXPECT_FALSE(says_as_much(memory.stored_record(), *memory.record(text, "u1")));
}

TEST(Memory, AnOlderRecordTakesNothingFromWhatIsKnown) {
  Memory memory;
  Record old{.objects = {{.node = "b", .id = kSibling, .hash = "h0"}}};
  old.reach("act", "h0");
  const std::string older = to_text(old);
  ASSERT_TRUE(memory.record(older, "u1").ok());
  Record now{
      .objects = {{.node = "a", .id = kId, .hash = "h1"}, {.node = "b", .id = kSibling, .hash = "h1"}}};
  now.reach("act", "h0");
  now.reach("act", "h1");
  memory.stored(to_text(now));
  const Record known = *memory.record(older, "u1");
  EXPECT_EQ(known, now);
  EXPECT_EQ(memory.stored_record(), old) << "so that it is stored again";
  // A write whose answer was lost may have stored it, which isn't known otherwise.
  Record more = now;
  more.objects.push_back({.node = "c", .id = {"v1", "Secret", "shop", "c"}});
  more.reach("late", "h2");
  const Record both = *memory.record(to_text(more), "u1");
  EXPECT_EQ(both.objects.size(), 3U);
  EXPECT_TRUE(both.reached("late", "h2"));
  EXPECT_EQ(memory.stored_record(), both) << "nothing is to be stored";
}

TEST(Memory, TheStatusWaitsForThreeSecondsAtMost) {
  Memory memory;
  const SteadyTime now{};
  EXPECT_TRUE(memory.may_defer_status(now));
  EXPECT_TRUE(memory.may_defer_status(now + std::chrono::milliseconds(2999)));
  EXPECT_FALSE(memory.may_defer_status(now + seconds(3)));
  memory.status_written();
  EXPECT_TRUE(memory.may_defer_status(now + seconds(3)));
}

TEST(Memory, HoldsAnObjectForLongerAfterEachFailure) {
  Memory memory;
  SteadyTime now{};
  EXPECT_EQ(memory.failed(kId, "h1", "no", now), std::chrono::milliseconds(200));
  EXPECT_EQ(memory.failed(kId, "h1", "no", now), std::chrono::milliseconds(400));
  EXPECT_EQ(memory.held(kId, "h1", now), "no");
  EXPECT_EQ(memory.next(now), now + std::chrono::milliseconds(400));
  EXPECT_EQ(memory.held(kId, "h1", now + std::chrono::milliseconds(400)), std::nullopt);
  for (int i = 0; i < 20; ++i) memory.failed(kId, "h1", "no", now);
  EXPECT_EQ(memory.failed(kId, "h1", "no", now), std::chrono::minutes(5)) << "and no longer than that";
}

TEST(Memory, ANewInputOrAChangeOfTheObjectBeginsAnew) {
  Memory memory;
  const SteadyTime now{};
  memory.failed(kId, "h1", "no", now);
  EXPECT_EQ(memory.held(kId, "h2", now), std::nullopt);
  EXPECT_EQ(memory.failed(kId, "h2", "no", now), std::chrono::milliseconds(200));
  memory.changed(kSibling);
  EXPECT_TRUE(memory.held(kId, "h2", now));
  memory.changed(kId);
  EXPECT_FALSE(memory.held(kId, "h2", now));
  memory.failed(kId, "h2", "no", now);
  memory.succeeded(kId, "h2", now);
  EXPECT_FALSE(memory.held(kId, "h2", now));
}

// Drift after a replacement is repaired in place again.
TEST(Memory, ARefusalLastsUntilTheServerTakesAWrite) {
  Memory memory;
  const SteadyTime now{};
  memory.refused(kId, "h2");
  EXPECT_TRUE(memory.immutable(kId, "h2"));
  EXPECT_FALSE(memory.immutable(kId, "h1"));
  EXPECT_FALSE(memory.immutable(kSibling, "h2"));
  memory.succeeded(kId, "h2", now) /* its deletion */;
  EXPECT_TRUE(memory.immutable(kId, "h2"));
  memory.took(kSibling);
  EXPECT_TRUE(memory.immutable(kId, "h2"));
  memory.took(kId);
  EXPECT_FALSE(memory.immutable(kId, "h2"));
}

// A name may contain a digest, and then there is a new one with each change.
TEST(Memory, ForgetsObjectsThatItsRecordNoLongerNames) {
  Memory memory;
  memory.gone(kId);
  memory.refused(kId, "h1");
  memory.stored(to_text(Record{.objects = {{.node = "a", .id = kId, .hash = {}}}}));
  EXPECT_TRUE(memory.is_gone(kId));
  EXPECT_TRUE(memory.immutable(kId, "h1"));
  memory.keep({.objects = {{.node = "a", .id = kSibling, .hash = {}}}});
  EXPECT_FALSE(memory.is_gone(kId));
  EXPECT_FALSE(memory.immutable(kId, "h1"));
}

TEST(Memory, KnowsADamagedRecordAgain) {
  Memory memory;
  EXPECT_TRUE(memory.is_new_damage("{"));
  EXPECT_FALSE(memory.is_new_damage("{"));
  EXPECT_TRUE(memory.is_new_damage("["));
}

// Two programs that want different things write no more often than one of them has patience.
TEST(Memory, RepairsTheSameAgainAndAgainWithGrowingPauses) {
  Memory memory;
  SteadyTime now{};
  for (int i = 0; i < kFreeRepairs; ++i) memory.succeeded(kId, "h1", now += seconds(1));
  EXPECT_FALSE(memory.held(kId, "h1", now));
  memory.succeeded(kId, "h1", now);
  EXPECT_TRUE(memory.held(kId, "h1", now));
  memory.changed(kId);
  EXPECT_TRUE(memory.held(kId, "h1", now)) << "that it changes is what is wrong";
  EXPECT_FALSE(memory.held(kId, "h2", now)) << "a new input waits for nothing";
  EXPECT_FALSE(memory.held(kSibling, "h1", now));
  EXPECT_EQ(memory.next(now), now + std::chrono::milliseconds(200));
  std::size_t writes = 0;
  const SteadyTime end = now + std::chrono::hours(1);
  while (now < end) {
    now = memory.next(now).value_or(now + seconds(1));
    if (memory.held(kId, "h1", now)) continue;
    memory.succeeded(kId, "h1", now);
    ++writes;
  }
  EXPECT_LT(writes, 30U) << "in an hour";
  now += std::chrono::minutes(11);
  for (int i = 0; i < kFreeRepairs; ++i) memory.succeeded(kId, "h1", now);
  EXPECT_FALSE(memory.held(kId, "h1", now)) << "after a rest it is as it was";
}

// They may be objects of one node, with different inputs.
TEST(Memory, NoObjectShortensThePauseOfAnother) {
  Memory memory;
  const SteadyTime now{};
  for (const int pause : {200, 400, 800}) {
    EXPECT_EQ(memory.failed(kId, "h1", "no", now), std::chrono::milliseconds(pause));
    EXPECT_EQ(memory.failed(kSibling, "h2", "never", now), std::chrono::milliseconds(pause));
  }
  EXPECT_EQ(memory.held(kId, "h1", now), "no");
  EXPECT_EQ(memory.held(kSibling, "h2", now), "never");
  memory.succeeded(kId, "h1", now);
  EXPECT_FALSE(memory.held(kId, "h1", now));
  EXPECT_EQ(memory.failed(kSibling, "h2", "never", now), std::chrono::milliseconds(1600));
}

TEST(Memory, AnInputThatAlternatesIsNoFightUntilOneIsRepairedAgainAndAgain) {
  Memory memory;
  SteadyTime now{};
  for (int i = 0; i < 50; ++i) {
    const std::string input = i % 2 == 0 ? "h0" : "h1";
    EXPECT_FALSE(memory.held(kId, input, now)) << i;
    memory.succeeded(kId, input, now += std::chrono::milliseconds(600));
  }
  for (int i = 0; i < kFreeRepairs; ++i) memory.succeeded(kId, "h2", now);
  EXPECT_FALSE(memory.held(kId, "h2", now));
  memory.succeeded(kSibling, "h2", now);
  EXPECT_FALSE(memory.held(kSibling, "h2", now)) << "each object has its own repairs";
  memory.succeeded(kId, "h2", now);
  EXPECT_TRUE(memory.held(kId, "h2", now));
  EXPECT_FALSE(memory.held(kId, "h1", now)) << "a new input waits for nothing";
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
