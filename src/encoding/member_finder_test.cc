#include "encoding/member_finder.h"

#include <gtest/gtest.h>

namespace mist::encoding {
namespace {

// Keys that a scan compares to their ends.
Value large(std::size_t from, std::size_t to) {
  Value::Object members;
  for (std::size_t i = from; i < to; ++i) {
    Value::Member& member = members.emplace_back();
    member.key = fmt::format("a-long-common-beginning-{:08}", i);
    member.value = Value(static_cast<std::int64_t>(i));
  }
  return Value(std::move(members));
}

TEST(MemberFinder, FindsWhatAScanFinds) {
  for (const std::size_t size : {0u, 1u, 24u, 25u, 1000u}) {
    const Value object = large(0, size);
    const MemberFinder finder(&object);
    for (const std::string_view key :
         {"", "a-long-common-beginning-00000000", "a-long-common-beginning-00000024",
          "a-long-common-beginning-00000999", "b"})
      EXPECT_EQ(finder.find(key), object.find(key)) << size << key;
  }
  const Value text("x");
  EXPECT_FALSE(MemberFinder(&text).contains("x"));
  EXPECT_FALSE(MemberFinder(nullptr).contains("x"));
}

// By scans this takes 10^11 comparisons: minutes.
TEST(MemberFinder, MergesLargeObjects) {
  constexpr std::size_t kMany = 400'000;
  Value base = large(0, kMany);
  Value over = large(kMany / 2, kMany + kMany / 2);
  over.as_object().front().value = Value();
  merge_into(base, over);
  EXPECT_EQ(base.size(), kMany + kMany / 2 - 1);
  EXPECT_EQ(base.as_object().back().key, over.as_object().back().key);
}

TEST(MemberFinder, MergesAsASmallMergeDoes) {
  Value base = Value::object({{"a", 1}, {"b", Value::object({{"c", 1}, {"d", 2}})}, {"e", 5}});
  merge_into(
      base,
      Value::object(
          {{"b", Value::object({{"c", Value()}, {"x", 3}})}, {"e", Value()}, {"n", Value()}, {"f", 6}}));
  EXPECT_EQ(base, Value::object({{"a", 1}, {"b", Value::object({{"d", 2}, {"x", 3}})}, {"f", 6}}));
}

}  // namespace
}  // namespace mist::encoding
