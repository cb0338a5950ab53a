#include "reconcile/record.h"

#include <gtest/gtest.h>

namespace mist::reconcile {
namespace {

TEST(Record, IsReadBackAsItWasWritten) {
  Record record;
  record.objects = {{.node = "a",
                     .id = {"apps/v1", "Deployment", "shop", "web"},
                     .after = {"b", "c"},
                     .uses = {"v1/ConfigMap/shop/b"},
                     .hash = "h1",
                     .policy = blueprint::Policy::Orphan},
                    {.node = "b", .id = {"v1", "Namespace", "", "shop"}}};
  record.reach("m", "h1");
  record.reach("m", "h2");
  record.progress["m"].failed = "h3";
  record.progress["m"].failure = "it failed";
  EXPECT_EQ(record_from(to_text(record)), record);
  EXPECT_TRUE(record.reached("m", "h1"));
  EXPECT_FALSE(record.reached("m", "h3"));
}

TEST(Record, OnlyAnInputThatItsObjectShowsNeedsNotBeStored) {
  const Record before{.objects = {{.node = "a", .id = {"v1", "ConfigMap", "shop", "a"}}}};
  Record now = before;
  EXPECT_TRUE(says_as_much(before, now));
  now.objects.front().hash = "h1";
  EXPECT_FALSE(says_as_much(before, now));
  now.objects.front().shown = true;
  EXPECT_TRUE(says_as_much(before, now));
  EXPECT_NE(before, now);
  now.objects.front().after = {"b"};
  EXPECT_FALSE(says_as_much(before, now));
  now = before;
  now.reach("b", "h1");
  EXPECT_FALSE(says_as_much(before, now));
}

TEST(Record, WhatCannotBeReadIsNotRecorded) {
  for (const char* text : {"", "[]", "{", "null", R"({"objects": 1, "progress": []})"})
    EXPECT_TRUE(record_from(text).empty()) << text;
}

TEST(Record, KeepsTheLastInputsOfAnActAlone) {
  Record record;
  for (std::size_t i = 0; i <= kMostReached; ++i) record.reach("m", std::to_string(i));
  EXPECT_FALSE(record.reached("m", "0"));
  EXPECT_TRUE(record.reached("m", "1"));
  EXPECT_EQ(record.progress["m"].reached.size(), kMostReached);
}

}  // namespace
}  // namespace mist::reconcile
