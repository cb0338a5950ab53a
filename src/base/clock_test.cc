#include "base/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "base/context.h"
#include "testing/fake_clock.h"

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

// A trust root, a certificate or a token without an end has the year 9999, and Go's zero time is the year 1.
TEST(Time, OutsideOfWhatAClockHoldsIsTheNearest) {
  EXPECT_GT(parse_time("9999-12-31T23:59:59.999999999Z"), WallTime::max() - 1s);
  EXPECT_GT(parse_time("2262-04-11T23:47:16.9Z"), WallTime::max() - 1s);
  EXPECT_EQ(parse_time("0001-01-01T00:00:00Z"), WallTime());
}

TEST(Contexts, EndWhenOneOfTheirGuardsSaysSo) {
  bool mine = true, theirs = true;
  const auto guard = [](const bool& holds) {
    return [&holds]() -> Status {
      if (holds) return {};
      return error(ErrorKind::Conflict, "no more");
    };
  };
  const Context one = Context().with_guard(guard(mine));
  const Context both = one.with_guard(guard(theirs)).with_timeout(1h);
  EXPECT_TRUE(both.check().ok());
  theirs = false;
  EXPECT_TRUE(one.check().ok());
  EXPECT_EQ(both.check().error().kind, ErrorKind::Conflict);
  theirs = true;
  mine = false;
  EXPECT_FALSE(both.check().ok());
}

TEST(Contexts, WaitAndEndByTheClockThatTheyAreGiven) {
  testing::FakeClock clock;
  const Context context = Context().with_clock(clock).with_timeout(1h);
  EXPECT_TRUE(context.pause(40min).ok());
  EXPECT_EQ(context.remaining(), 20min);
  EXPECT_EQ(context.pause(40min).error().kind, ErrorKind::Timeout);
  EXPECT_EQ(context.pause(40min).error().kind, ErrorKind::Timeout);
  EXPECT_THAT(clock.sleeps(), ::testing::ElementsAre(40min, 20min));
}

TEST(Contexts, ThatAreStoppedDoNotPause) {
  testing::FakeClock clock;
  std::stop_source stop;
  const Context context = Context(stop.get_token()).with_clock(clock);
  EXPECT_TRUE(context.pause(1s).ok());
  stop.request_stop();
  EXPECT_EQ(context.pause(1s).error().kind, ErrorKind::Cancelled);
  EXPECT_EQ(clock.slept(), 1s);
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

TEST(BootTime, IsTheClockThatGoesOnWhileTheMachineSleeps) {
  const auto kernels = [] {
    std::timespec time{};
    EXPECT_EQ(clock_gettime(CLOCK_BOOTTIME, &time), 0);
    return BootTime(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  };
  const BootTime before = kernels(), now = SystemClock().boot_now(), after = kernels();
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
}

TEST(BootTime, OfTheFakeGoesOnToo) {
  testing::FakeClock clock;
  const BootTime boot = clock.boot_now();
  const SteadyTime steady = clock.steady_now();
  const WallTime wall = clock.now();
  clock.advance(1s);
  clock.suspend(1h);
  EXPECT_EQ(clock.boot_now() - boot, 1h + 1s);
  EXPECT_EQ(clock.now() - wall, 1h + 1s);
  EXPECT_EQ(clock.steady_now() - steady, 1s);
}

}  // namespace
}  // namespace mist
