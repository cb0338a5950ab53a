#include "operator/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "testing/fake_clock.h"

namespace mist::operator_ {
namespace {

using namespace std::chrono_literals;

class WorkQueueTest : public ::testing::Test {
 protected:
  std::optional<std::string> take() { return queue_.take(stop_.get_token()); }

  testing::FakeClock clock_;
  WorkQueue<std::string> queue_{clock_};
  std::stop_source stop_;
};

TEST_F(WorkQueueTest, GivesAnItemOnceHoweverOftenItWasAdded) {
  queue_.add("a");
  queue_.add("a");
  queue_.add("b", -1s);
  EXPECT_EQ(take(), "b");
  EXPECT_EQ(take(), "a");
  stop_.request_stop();
  EXPECT_EQ(take(), std::nullopt);
}

TEST_F(WorkQueueTest, TakesTheEarliestTimeThatSomebodyAskedFor) {
  queue_.add("late", 10min);
  queue_.add("later", 20min);
  queue_.add("later", 5min);
  clock_.advance(5min);
  EXPECT_EQ(take(), "later");
  clock_.advance(5min);
  EXPECT_EQ(take(), "late");
}

TEST_F(WorkQueueTest, CountsHowLongItemsWaitOnceTheyAreDue) {
  queue_.add("now");
  queue_.add("later", 10min);
  clock_.advance(2s);
  EXPECT_EQ(take(), "now");
  queue_.keep_place("now");
  queue_.add("now");
  queue_.failed("now");
  clock_.advance(500ms);
  EXPECT_EQ(take(), "now") << "it kept its place, and waits since it was added again";
  clock_.advance(10min - 2500ms);
  EXPECT_EQ(take(), "later");
  const QueueState state = queue_.state();
  EXPECT_EQ(state.depth, 0u);
  EXPECT_EQ(state.additions, 3u);
  EXPECT_EQ(state.retries, 1u);
  EXPECT_DOUBLE_EQ(state.waits.seconds, 2.5);
  // Up to 1e-8, 1 and 10 seconds.
  EXPECT_EQ(state.waits.buckets[0], 1u);
  EXPECT_EQ(state.waits.buckets[8], 1u);
  EXPECT_EQ(state.waits.buckets[9], 1u);
}

TEST(SlowGroups, LeaveHandsToOthers) {
  testing::FakeClock clock;
  WorkQueue<std::string> queue(clock, 2, [](const std::string& item) { return item.substr(0, 1); });
  std::stop_source stop;
  for (const std::string_view item : {"a1", "a2", "a3", "a4", "b1"}) queue.add(std::string(item));
  EXPECT_EQ(queue.take(stop.get_token()), "a1");
  EXPECT_EQ(queue.take(stop.get_token()), "a2");
  queue.slow("a1", 1min);
  EXPECT_EQ(queue.take(stop.get_token()), "b1");
  queue.succeeded("a1");
  EXPECT_EQ(queue.take(stop.get_token()), "a3");
  clock.advance(1min);
  EXPECT_EQ(queue.take(stop.get_token()), "a4") << "perhaps it no longer is";
}

// The waiting thread may be in front of its wait or in it: both must see what is added.
TEST_F(WorkQueueTest, WakesForWhatIsDueBeforeWhatItWaitsFor) {
  for (int i = 0; i < 200; ++i) {
    queue_.add("late", 1h);
    std::optional<std::string> taken;
    std::jthread waiting([&] { taken = take(); });
    queue_.add("now");
    waiting.join();
    ASSERT_EQ(taken, "now");
    queue_.succeeded("now");
  }
}

TEST_F(WorkQueueTest, GivesNobodyWhatSomebodyHasInHand) {
  queue_.add("a");
  EXPECT_EQ(take(), "a");
  queue_.add("a");
  queue_.add("b", 1s);
  clock_.advance(1s);
  EXPECT_EQ(take(), "b");
  std::optional<std::string> taken;
  std::jthread waiting([&] { taken = take(); });
  queue_.succeeded("a");
  waiting.join();
  EXPECT_EQ(taken, "a");
}

TEST_F(WorkQueueTest, FinishesWhatKeepsItsPlaceBeforeWhatCameLater) {
  queue_.add("a");
  clock_.advance(1s);
  queue_.add("b");
  clock_.advance(1s);
  EXPECT_EQ(take(), "a");
  queue_.keep_place("a");
  queue_.succeeded("a");
  queue_.add("a");
  EXPECT_EQ(take(), "a");
  // Without that it stands in line.
  queue_.succeeded("a");
  queue_.add("a");
  EXPECT_EQ(take(), "b");
}

TEST_F(WorkQueueTest, PausesKeepNoPlace) {
  queue_.add("a");
  EXPECT_EQ(take(), "a");
  queue_.keep_place("a");
  queue_.add("a", queue_.failed("a"));
  queue_.add("b");
  EXPECT_EQ(take(), "b");
  clock_.advance(200ms);
  EXPECT_EQ(take(), "a");
  queue_.keep_place("a");
  queue_.succeeded("a");
  queue_.add("a", 1s);
  queue_.add("c");
  EXPECT_EQ(take(), "c");
}

TEST_F(WorkQueueTest, NobodyIsInFrontForEver) {
  queue_.add("a");
  clock_.advance(1s);
  queue_.add("b");
  int turns = 0;
  for (; take() == "a"; ++turns) {
    clock_.advance(1ms);
    queue_.keep_place("a");
    queue_.succeeded("a");
    queue_.add("a");
  }
  EXPECT_EQ(turns, 257);
}

TEST_F(WorkQueueTest, StopsWhileItWaits) {
  queue_.add("late", 1h);
  std::jthread waiting([&] { EXPECT_EQ(take(), std::nullopt); });
  stop_.request_stop();
}

TEST_F(WorkQueueTest, WaitsTwiceAsLongAfterEachFailure) {
  EXPECT_EQ(queue_.failed("a"), 200ms);
  EXPECT_EQ(queue_.failed("a"), 400ms);
  EXPECT_EQ(queue_.failed("b"), 200ms);
  for (int i = 0; i < 20; ++i) queue_.failed("a");
  EXPECT_EQ(queue_.failed("a"), 5min);
  queue_.succeeded("a");
  EXPECT_EQ(queue_.failed("a"), 200ms);
}

TEST_F(WorkQueueTest, TakingAnItemTooEarlyDoesNotForgetItsFailures) {
  queue_.add("a");
  take();
  EXPECT_EQ(queue_.failed("a"), Duration(200ms));
  queue_.add("a");
  take();
  queue_.put_back("a");
  queue_.add("a");
  take();
  EXPECT_EQ(queue_.failed("a"), Duration(400ms));
  queue_.add("a");
  take();
  queue_.forgive("a");
  EXPECT_EQ(queue_.failed("a"), Duration(200ms));
}

// Nobody who could take an item may sleep while it is due, whoever was called for what came before.
TEST(WorkQueue, ManyWhoTakeMissNothing) {
  constexpr int kItems = 2000, kTakers = 8;
  SystemClock clock;
  WorkQueue<int> queue(clock);
  std::stop_source stop;
  std::atomic<int> taken = 0;
  std::vector<std::jthread> takers;
  for (int i = 0; i < kTakers; ++i)
    takers.emplace_back([&] {
      while (const auto item = queue.take(stop.get_token())) {
        queue.succeeded(*item);
        if (++taken == kItems) stop.request_stop();
      }
    });
  for (int i = 0; i < kItems; ++i) queue.add(i, i % 3 == 0 ? std::chrono::milliseconds(i % 7) : 0ms);
  takers.clear();
  EXPECT_EQ(taken, kItems);
}

}  // namespace
}  // namespace mist::operator_
