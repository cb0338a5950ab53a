#include "base/duration.h"

#include <gtest/gtest.h>

namespace mist {
namespace {

using namespace std::chrono_literals;

// The table of Go's time/time_test.go, as far as it concerns the format.
TEST(Duration, ReadsWhatGoReads) {
  const std::pair<std::string_view, Duration> kCases[] = {
      {"0", 0s},
      {"5s", 5s},
      {"30s", 30s},
      {"1478s", 1478s},
      {"-5s", -5s},
      {"+5s", 5s},
      {"-0", 0s},
      {"5.0s", 5s},
      {"5.6s", 5600ms},
      {"5.s", 5s},
      {".5s", 500ms},
      {"1.004s", 1004ms},
      {"10ns", 10ns},
      {"11us", 11us},
      {"12µs", 12us},
      {"13ms", 13ms},
      {"14s", 14s},
      {"15m", 15min},
      {"16h", 16h},
      {"3h30m", 3h + 30min},
      {"-1m30s", -90s},
      {"1m30s", 90s},
      {"10.5s4m", 4min + 10500ms},
      {"1h15m30.918273645s", 1h + 15min + 30s + 918273645ns},
      {"9007199254.740993ms", 9007199254740993ns},
      {"9223372036854775807ns", Duration(INT64_MAX)},
  };
  for (const auto& [text, expected] : kCases) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, expected) << text;
  }
}

TEST(Duration, RefusesWhatGoRefuses) {
  for (const std::string_view text : {"", "3", "-", "s", ".", "-.", ".s", "+.s", "1d", "1m 30s", "5S",
                                      "1..5s", "9223372036854775808ns", "3000000h", "0x10s", "1e3s", "\xff"})
    EXPECT_FALSE(parse_duration(text).ok()) << text;
}

TEST(Duration, PrintsElapsedTime) {
  EXPECT_EQ(format_elapsed(140ms), "0.1s");
  EXPECT_EQ(format_elapsed(9950ms), "9.9s");
  EXPECT_EQ(format_elapsed(12s), "12s");
  EXPECT_EQ(format_elapsed(200s), "3m20s");
  EXPECT_EQ(format_elapsed(3605s), "60m05s");
}

}  // namespace
}  // namespace mist
