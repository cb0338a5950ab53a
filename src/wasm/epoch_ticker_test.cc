#include "wasm/epoch_ticker.h"

#include <gtest/gtest.h>

#include <atomic>

namespace mist::wasm {
namespace {

// Waits for `done`; a minute stands for never.
template <typename Done>
bool comes_true(Done done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return done();
}

TEST(EpochTicker, TicksWhileSomeoneRunsAndThenNoMore) {
  std::atomic<int> ticks = 0;
  EpochTicker ticker([&] { ++ticks; });
  std::this_thread::sleep_for(3 * EpochTicker::kPeriod);
  EXPECT_EQ(ticks, 0);
  ticker.enter();
  ticker.enter();
  ticker.leave();
  EXPECT_TRUE(comes_true([&] { return ticks >= 3; }));
  ticker.leave();
  const int then = ticks;
  std::this_thread::sleep_for(3 * EpochTicker::kPeriod);
  EXPECT_EQ(ticks, then);
}

TEST(EpochTicker, WakesUpAgainAfterALongSilence) {
  std::atomic<int> ticks = 0;
  EpochTicker ticker([&] { ++ticks; });
  for (int i = 1; i <= 2; ++i) {
    ticker.enter();
    EXPECT_TRUE(comes_true([&] { return ticks >= i * 2; }));
    ticker.leave();
    std::this_thread::sleep_for(15 * EpochTicker::kPeriod);  // idle by now
  }
}

TEST(EpochTicker, TicksWithThePulseWhileSomeoneRuns) {
  Pulse pulse;
  int ticks = 0;
  {
    EpochTicker ticker([&] { ++ticks; }, &pulse);
    EXPECT_EQ(pulse.beat(), Pulse::kLater);
    EXPECT_EQ(ticks, 0);
    ticker.enter();
    ticker.enter();
    ticker.leave();
    EXPECT_EQ(pulse.beat(), Pulse::kSoon);
    EXPECT_EQ(ticks, 1);
    ticker.leave();
    EXPECT_EQ(pulse.beat(), Pulse::kLater);
    ticker.enter();
  }
  EXPECT_EQ(pulse.beat(), Pulse::kLater);
  EXPECT_EQ(ticks, 1);
}

TEST(EpochTicker, EndsAtOnceInAnyState) {
  {
    EpochTicker unused([] {});
  }
  {
    EpochTicker running([] {});
    running.enter();
  }
  {
    EpochTicker idle([] {});
    idle.enter();
    idle.leave();
    std::this_thread::sleep_for(15 * EpochTicker::kPeriod);
  }
}

}  // namespace
}  // namespace mist::wasm
