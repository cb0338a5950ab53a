#include "operator/resync.h"

#include <gtest/gtest.h>

#include <set>

#include "operator/work_queue.h"
#include "testing/fake_clock.h"

namespace mist::operator_ {
namespace {

const Item kWebItem{"app", {"default", "web"}};

TEST(Resync, ComesAfterTenHoursAndUpToATenthMoreAtDifferentTimes) {
  std::set<Duration> pauses;
  for (int i = 0; i < 100; ++i) {
    const Duration pause = resync_pause({"app", {"default", fmt::format("web-{}", i)}});
    EXPECT_GE(pause, kResync);
    EXPECT_LT(pause, kResync + kResync / 10);
    pauses.insert(pause);
  }
  EXPECT_GT(pauses.size(), 90U);
  EXPECT_EQ(resync_pause(kWebItem), resync_pause(kWebItem));
}

TEST(Resync, TakesAnItemAgainWhereNothingElseDoes) {
  testing::FakeClock clock;
  WorkQueue<Item> queue(clock);
  std::stop_source stop;
  queue.resync(kWebItem, resync_pause(kWebItem));
  EXPECT_EQ(queue.state().depth, 0U) << "nobody waits";
  EXPECT_EQ(queue.state().additions, 0U) << "nothing has happened";
  clock.advance(resync_pause(kWebItem) - std::chrono::seconds(1));
  const Item other{"app", {"default", "other"}};
  queue.add(other);
  EXPECT_EQ(queue.take(stop.get_token()), other) << "it isn't due";
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(queue.state().depth, 1U);
  EXPECT_EQ(queue.take(stop.get_token()), kWebItem);
}

TEST(Resync, IsNoSecondLookWhereSomethingHappensBefore) {
  testing::FakeClock clock;
  WorkQueue<Item> queue(clock);
  std::stop_source stop;
  queue.resync(kWebItem, kResync);
  queue.add(kWebItem);
  EXPECT_EQ(queue.take(stop.get_token()), kWebItem);
  queue.succeeded(kWebItem);
  clock.advance(kResync * 2);
  EXPECT_EQ(queue.state().depth, 0U) << "the look that was due is the one that was taken";
}

}  // namespace
}  // namespace mist::operator_
