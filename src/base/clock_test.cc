#include "base/clock.h"

#include <gtest/gtest.h>

namespace mist {
namespace {

using namespace std::chrono_literals;

TEST(Time, PrintsRfc3339) {
  const WallTime t{1772357400s + 250ms};
  EXPECT_EQ(format_time(t), "2026-03-01T09:30:00Z");
  EXPECT_EQ(format_micro_time(t), "2026-03-01T09:30:00.250000Z");
}

TEST(Time, ReadsWhatItPrints) {
  const WallTime t{1772357400s + 250ms};
  EXPECT_EQ(parse_time(format_micro_time(t)), t);
  EXPECT_EQ(parse_time("2026-03-01T09:30:00Z"), WallTime{1772357400s});
  for (const char* bad :
       {"", "2026-03-01", "2026-03-01T09:30:00", "2026-13-01T09:30:00Z", "2026-02-30T09:30:00Z",
        "2026-03-01T09:30:00.Z", "2026-03-01T09:30:00+01:00", "2026-03-01 09:30:00Z"})
    EXPECT_EQ(parse_time(bad), std::nullopt) << bad;
}

TEST(Time, PrintsAgesAsKubectlDoes) {
  EXPECT_EQ(format_age(5s), "5s");
  EXPECT_EQ(format_age(119s), "119s");
  EXPECT_EQ(format_age(200s), "3m20s");
  EXPECT_EQ(format_age(40min), "40m");
  EXPECT_EQ(format_age(5h), "5h");
  EXPECT_EQ(format_age(51h), "2d3h");
  EXPECT_EQ(format_age(400h), "16d");
}

}  // namespace
}  // namespace mist
