#include "apimachinery/quantity.h"

#include <gtest/gtest.h>

namespace mist::apimachinery {
namespace {

TEST(Quantity, IsWhatAServerTakesForOne) {
  for (const char* text : {"1", "500m", "0.5", "64Mi", "1e3", "-1", "+2Ki", ".5", "1.", " 1Gi ", "1E"})
    EXPECT_TRUE(is_quantity(text)) << text;
  for (const char* text : {"", "64Mb", "64 Mi", "abc", "1mi", "1K", "0x10", "1.2.3", "m"})
    EXPECT_FALSE(is_quantity(text)) << text;
}

TEST(Quantity, TheNearestIsWhatWasMeant) {
  EXPECT_EQ(nearest_quantity("64Mb"), "64M");
  EXPECT_EQ(nearest_quantity("64 MiB"), "64Mi");
  EXPECT_EQ(nearest_quantity("1K"), "1k");
  EXPECT_EQ(nearest_quantity("2gib"), "2Gi");
  EXPECT_EQ(nearest_quantity("1,000"), "1000");
  EXPECT_EQ(nearest_quantity("lots"), "");
}

}  // namespace
}  // namespace mist::apimachinery
