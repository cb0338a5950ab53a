#include "base/cache_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace mist {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> going(std::vector<CacheEntry> entries, std::uint64_t limit) {
  std::vector<std::string> names;
  for (const CacheEntry& entry : surplus(std::move(entries), limit)) names.push_back(entry.path.string());
  return names;
}

CacheEntry entry(std::string name, std::uint64_t bytes, int used) {
  return {std::move(name), bytes, std::filesystem::file_time_type(std::chrono::seconds(used))};
}

TEST(CacheBound, WhatWasUsedLongestAgoGoesUntilTheRestFits) {
  EXPECT_THAT(going({entry("a", 40, 3), entry("b", 60, 1)}, 100), IsEmpty());
  EXPECT_THAT(going({entry("a", 41, 3), entry("b", 60, 1)}, 100), ElementsAre("b"));
  EXPECT_THAT(
      going({entry("new", 20, 9), entry("old", 40, 1), entry("older", 30, 0), entry("b", 30, 5)}, 100),
      ElementsAre("older"));
  EXPECT_THAT(
      going({entry("new", 20, 9), entry("old", 40, 1), entry("older", 10, 0), entry("b", 35, 5)}, 100),
      ElementsAre("older", "old"))
      << "down to nine tenths";
  EXPECT_THAT(going({entry("a", 1, 1), entry("b", 1, 2)}, 0), ElementsAre("a", "b"));
}

TEST(CacheBound, AMarkIsSetOncePerHour) {
  const mist::testing::TempDir temp;
  const Path mark = temp.path() / "mark";
  mark_used(mark);
  EXPECT_FALSE(std::filesystem::exists(mark));
  HostFileSystem files;
  ASSERT_TRUE(files.write(mark, "x").ok());
  const auto now = std::filesystem::file_time_type::clock::now();
  const auto set = [&](auto time) { std::filesystem::last_write_time(mark, time); };
  const auto is = [&] { return std::filesystem::last_write_time(mark); };
  set(now - std::chrono::minutes(50));
  mark_used(mark);
  EXPECT_EQ(is(), now - std::chrono::minutes(50)) << "no write";
  set(now - std::chrono::minutes(70));
  mark_used(mark);
  EXPECT_GE(is(), now - std::chrono::minutes(1));
  set(now + std::chrono::hours(5));
  mark_used(mark);
  EXPECT_LE(is(), now + std::chrono::minutes(1)) << "a clock that was wrong";
}

TEST(CacheBound, BytesAreThoseOfFilesNotOfWhatLinksPointTo) {
  const mist::testing::TempDir temp;
  HostFileSystem files;
  ASSERT_TRUE(files.write(temp.path() / "in/a", "12345").ok());
  ASSERT_TRUE(files.write(temp.path() / "in/deep/b", "123").ok());
  ASSERT_TRUE(files.write(temp.path() / "out", "12345678").ok());
  std::filesystem::create_symlink(temp.path() / "out", temp.path() / "in/link");
  EXPECT_EQ(bytes_below(temp.path() / "in"), 8u);
  EXPECT_EQ(bytes_below(temp.path() / "nowhere"), 0u);
}

}  // namespace
}  // namespace mist
