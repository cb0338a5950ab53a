#pragma once
// Clock and Random for tests: time passes only when somebody sleeps or advance() is called. Any thread.

#include <algorithm>
#include <mutex>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/random.h"

namespace mist::testing {

class FakeClock final : public Clock {
 public:
  /// 2026-03-01T09:30:00Z unless told otherwise.
  explicit FakeClock(WallTime now = WallTime(std::chrono::seconds(1772357400))) : start_(now) {}

  WallTime now() const override {
    const std::scoped_lock lock(mutex_);
    return start_ + std::chrono::duration_cast<WallTime::duration>(passed_ + slept_through_);
  }
  SteadyTime steady_now() const override {
    const std::scoped_lock lock(mutex_);
    return SteadyTime(std::chrono::hours(1)) + std::chrono::duration_cast<SteadyTime::duration>(passed_);
  }
  BootTime boot_now() const override {
    const std::scoped_lock lock(mutex_);
    return BootTime(std::chrono::hours(2)) + passed_ + slept_through_;
  }
  /// Returns at once, `duration` later.
  bool sleep(Duration duration, std::stop_token stop) override {
    if (stop.stop_requested()) return false;
    const std::scoped_lock lock(mutex_);
    passed_ += duration;
    sleeps_.push_back(duration);
    return true;
  }

  void advance(Duration duration) {
    const std::scoped_lock lock(mutex_);
    passed_ += duration;
  }
  /// The machine sleeps for that long: steady time stands still.
  void suspend(Duration duration) {
    const std::scoped_lock lock(mutex_);
    slept_through_ += duration;
  }
  /// The durations that sleep() was asked for, in order.
  std::vector<Duration> sleeps() const {
    const std::scoped_lock lock(mutex_);
    return sleeps_;
  }
  Duration slept() const {
    const std::scoped_lock lock(mutex_);
    Duration sum{};
    for (const Duration one : sleeps_) sum += one;
    return sum;
  }

 private:
  const WallTime start_;
  mutable std::mutex mutex_;
  Duration passed_{};             // guarded by mutex_
  Duration slept_through_{};      // suspended; guarded by mutex_
  std::vector<Duration> sleeps_;  // guarded by mutex_
};

/// Counts up from a seed: predictable, and different with each call.
class FakeRandom final : public Random {
 public:
  explicit FakeRandom(unsigned seed = 0) : next_(seed) {}
  void fill(std::span<std::byte> out) override {
    const std::scoped_lock lock(mutex_);
    std::ranges::generate(out, [&] { return static_cast<std::byte>(next_++ * 37u & 255u); });
  }

 private:
  std::mutex mutex_;
  unsigned next_;  // guarded by mutex_
};

}  // namespace mist::testing
