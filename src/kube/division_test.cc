#include "kube/division.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace mist::kube {
namespace {

using ::testing::HasSubstr;

Slots slots(std::string_view text) { return *slots_in(text); }

TEST(Slots, AreReadAndWrittenAsRanges) {
  EXPECT_EQ(to_text(slots("0-2 5 63 7-9")), "0-2 5 7-9 63");
  EXPECT_EQ(to_text(Slots()), "");
  EXPECT_EQ(to_text(Share::all().slots()), "0-63");
  for (const std::string_view wrong : {"64", "-1", "3-1", "x", "1-", "0-64", "1,2"})
    EXPECT_FALSE(slots_in(wrong).ok()) << wrong;
}

// Written by hand from the published vectors of FNV-1a-64: another hash would have two replicas of different
// versions work in one namespace.
TEST(Slots, OfNamesStayTheSame) {
  EXPECT_EQ(slot_of(""), 0xcbf29ce484222325U % 64);
  EXPECT_EQ(slot_of("a"), 0xaf63dc4c8601ec8cU % 64);
  EXPECT_EQ(slot_of("foobar"), 0x85944171f73967e8U % 64);
}

TEST(Division, IsReadAndWritten) {
  const auto division = Division::parse(R"({"a": "0-31", "b": "40"})");
  ASSERT_TRUE(division.ok());
  EXPECT_EQ(division->text(), R"({"a":"0-31","b":"40"})");
  EXPECT_EQ(to_text(division->free()), "32-39 41-63");
  EXPECT_EQ(Division::parse("")->free().count(), kSlots);
}

TEST(Division, ThatCantBeIsRefused) {
  EXPECT_THAT(Division::parse(R"({"a": "0-3", "b": "3"})").error().to_line(), HasSubstr("somebody else has"));
  for (const std::string_view wrong : {"[]", "{", R"({"a": 1})", R"({"a": "64"})"})
    EXPECT_EQ(Division::parse(wrong).error().kind, ErrorKind::Invalid) << wrong;
}

TEST(Division, AReplicaGivesHalfToAnotherOne) {
  Division division;
  EXPECT_EQ(to_text(division.step("a", {"a"}).take), "0-63");
  division.set("a", Share::all().slots());
  EXPECT_EQ(to_text(division.step("a", {"a", "b"}).give), "32-63");
  EXPECT_TRUE(division.step("b", {"a", "b"}).take.none());
}

// Replicas come, go and die in any order, and see each other at different times: nobody ever takes what
// somebody has, and when all see the same, a few rounds make it even, and then nothing moves.
RC_GTEST_PROP(DivisionProperty, BecomesEvenAndRests, ()) {
  Division division;
  std::set<std::string> live{"r0"};
  const auto events = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100));
  const auto act = [&](const std::string& who, const std::set<std::string>& seen) {
    const Division::Step step = division.step(who, seen);
    RC_ASSERT(step.give.none() || step.take.none());
    RC_ASSERT((step.take & ~division.free()).none());
    RC_ASSERT((step.give & ~division.of(who)).none());
    division.set(who, (division.of(who) | step.take) & ~step.give);
    return step.give.any() || step.take.any();
  };
  for (const int event : events) {
    const std::string who = "r" + std::to_string(event % 9);
    if (event < 30) {
      live.insert(who);
    } else if (event < 50 && live.size() > 1) {
      live.erase(who);
      division.set(who, Slots());
    } else if (live.contains(who)) {
      std::set<std::string> seen{who};  // it hasn't seen all of them yet
      for (const std::string& each : live)
        if ((event + each.back()) % 3 != 0) seen.insert(each);
      act(who, seen);
    }
  }
  if (live.empty()) live.insert("r0");
  bool moved = true;
  int rounds = 0;
  for (; moved; ++rounds) {
    RC_ASSERT(rounds < 10);
    moved = false;
    for (const std::string& each : live) moved |= act(each, live);
  }
  RC_ASSERT(division.free().none());
  std::size_t least = kSlots, most = 0;
  for (const std::string& each : live) {
    least = std::min(least, division.of(each).count());
    most = std::max(most, division.of(each).count());
  }
  RC_ASSERT(most - least <= 1);
  RC_ASSERT(Division::parse(division.text())->text() == division.text());
}

}  // namespace
}  // namespace mist::kube
