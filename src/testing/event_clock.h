#pragma once
// Clock for programs that run on fakes: time stands still while something happens, and jumps to the next
// thing that is due when everybody waits. The owner sees when that is so, and calls jump(). Any thread.

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>

#include "base/clock.h"

namespace mist::testing {

class EventClock final : public Clock {
 public:
  explicit EventClock(WallTime now) : start_(now) {}

  WallTime now() const override { return start_ + std::chrono::duration_cast<WallTime::duration>(passed()); }
  SteadyTime steady_now() const override {
    return SteadyTime(std::chrono::hours(1)) + std::chrono::duration_cast<SteadyTime::duration>(passed());
  }
  BootTime boot_now() const override { return BootTime(std::chrono::hours(2)) + passed(); }

  /// Until others have made so much time pass. A sleep of a second and more is somebody's pace, such as the
  /// renewal of a lock: time doesn't pass for its sake alone.
  bool sleep(Duration duration, std::stop_token stop) override {
    const Waiting waiting(*this, steady_now() + std::chrono::duration_cast<SteadyTime::duration>(duration),
                          duration < std::chrono::seconds(1));
    std::unique_lock lock(mutex_);
    return moved_.wait(lock, stop, [&] { return passed_ >= *waiting.due_; });
  }

  /// While it lives, somebody waits, until `due` at most.
  class Waiting {
   public:
    Waiting(EventClock& clock, std::optional<SteadyTime> due, bool moves_time = true)
        : clock_(clock), moves_time_(moves_time) {
      if (due) due_ = *due - SteadyTime(std::chrono::hours(1));
      const std::scoped_lock lock(clock_.mutex_);
      if (due_) clock_.due_.insert(*due_);
      if (moves_time_) ++clock_.waiting_;
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() {
      const std::scoped_lock lock(clock_.mutex_);
      if (due_) clock_.due_.erase(clock_.due_.find(*due_));
      if (moves_time_) --clock_.waiting_;
    }

   private:
    friend EventClock;
    EventClock& clock_;
    std::optional<Duration> due_;  // since start_
    const bool moves_time_;
  };

  /// Nothing happens any more: it is the time at which the first of those who wait is due. Does nothing when
  /// nobody waits, or when somebody's time has come already, and so something is about to happen.
  void jump() {
    const std::scoped_lock lock(mutex_);
    if (waiting_ == 0 || due_.empty()) return;
    passed_ = std::max(passed_, *due_.begin());
    moved_.notify_all();
  }
  void advance(Duration duration) {
    const std::scoped_lock lock(mutex_);
    passed_ += duration;
    moved_.notify_all();
  }

 private:
  Duration passed() const {
    const std::scoped_lock lock(mutex_);
    return passed_;
  }

  const WallTime start_;
  mutable std::mutex mutex_;
  std::condition_variable_any moved_;
  Duration passed_{};            // guarded by mutex_
  std::multiset<Duration> due_;  // since start_; guarded by mutex_
  int waiting_ = 0;              // who moves time; guarded by mutex_
};

}  // namespace mist::testing
