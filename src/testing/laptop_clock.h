#pragma once
// The real clock, on a machine that a test can put to sleep. A thread that sleeps in it does so until wake():
// so a test decides whether the thread that renews a lock has run since. Any thread.

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace mist::testing {

class LaptopClock final : public Clock {
 public:
  WallTime now() const override {
    return real_.now() + std::chrono::duration_cast<WallTime::duration>(asleep_.load());
  }
  SteadyTime steady_now() const override { return real_.steady_now(); }
  BootTime boot_now() const override { return real_.boot_now() + asleep_.load(); }
  bool sleep(Duration, std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    woken_.wait(lock, stop, [&] { return awake_; });
    awake_ = false;
    return !stop.stop_requested();
  }

  /// The machine was asleep for that long just now.
  void suspend(Duration duration) { asleep_ = asleep_.load() + duration; }
  /// Ends one sleep().
  void wake() {
    const std::scoped_lock lock(mutex_);
    awake_ = true;
    woken_.notify_all();
  }

 private:
  SystemClock real_;
  std::atomic<Duration> asleep_{Duration::zero()};
  std::mutex mutex_;
  std::condition_variable_any woken_;
  bool awake_ = false;  // guarded by mutex_
};

}  // namespace mist::testing
