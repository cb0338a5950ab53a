#include "config/cache_limits.h"

#include <gtest/gtest.h>

namespace mist::config {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::uint64_t all_of(const CacheLimits& limits) {
  return limits.packages + limits.registries + limits.code + limits.renders;
}

TEST(CacheLimits, FitIntoTheWhole) {
  for (const std::uint64_t whole : {0 * kMiB, 1 * kMiB, 100 * kMiB, 1024 * kMiB, 64 * 1024 * kMiB})
    EXPECT_LE(all_of(CacheLimits().within(whole)), whole);
  EXPECT_EQ(all_of(CacheLimits().within(1024 * kMiB)), 1024 * kMiB);
  EXPECT_EQ(CacheLimits().within(1024 * kMiB * 1024), CacheLimits()) << "there is room for all";
  EXPECT_EQ(CacheLimits().within({}), CacheLimits());
}

TEST(CacheLimits, ASmallOneStaysSmall) {
  const CacheLimits limits = CacheLimits{.packages = kMiB}.within(1024 * kMiB);
  EXPECT_EQ(limits.packages, kMiB);
  EXPECT_EQ(limits.registries, CacheLimits().within(1024 * kMiB).registries);
}

TEST(ParseSize, TakesWholeNumbersOfUnits) {
  EXPECT_EQ(parse_size("512Mi"), 512 * kMiB);
  EXPECT_EQ(parse_size("0Ki"), 0u);
  for (const std::string_view bad : {"", "Mi", "512", "512M", "1.5Gi", "-1Mi", " 1Mi", "99999999999Ti"})
    EXPECT_EQ(parse_size(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace mist::config
