#include "testing/event_clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace mist::testing {
namespace {

using std::chrono::seconds;

TEST(EventClock, JumpsToWhatIsDueFirst) {
  EventClock clock{WallTime(seconds(1000))};
  clock.jump();
  EXPECT_EQ(clock.now(), WallTime(seconds(1000))) << "nobody waits";
  const SteadyTime began = clock.steady_now();
  {
    const EventClock::Waiting late(clock, began + seconds(20)), early(clock, began + seconds(5));
    clock.jump();
    EXPECT_EQ(clock.steady_now() - began, seconds(5));
    clock.jump();
    EXPECT_EQ(clock.steady_now() - began, seconds(5)) << "it has not noticed yet";
  }
  const EventClock::Waiting forever(clock, std::nullopt);
  clock.jump();
  EXPECT_EQ(clock.now(), WallTime(seconds(1005)));
}

TEST(EventClock, APaceAloneMovesNoTime) {
  EventClock clock{WallTime()};
  bool slept = true;
  std::jthread renewal([&](const std::stop_token& stop) { slept = clock.sleep(seconds(5), stop); });
  clock.jump();
  EXPECT_EQ(clock.now(), WallTime());
  renewal.request_stop();
  renewal.join();
  EXPECT_FALSE(slept);
}

TEST(EventClock, ASleepEndsWhenItsTimeHasCome) {
  EventClock clock{WallTime()};
  std::atomic<bool> done = false;
  std::jthread sleeper([&] {
    EXPECT_TRUE(clock.sleep(std::chrono::milliseconds(50), {}));
    done = true;
  });
  while (!done) clock.jump();
  EXPECT_EQ(clock.now(), WallTime(std::chrono::milliseconds(50)));
}

}  // namespace
}  // namespace mist::testing
