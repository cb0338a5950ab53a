#pragma once
// A few calls a second on a thread that there is anyway, for who would otherwise start one of its own: that
// costs a tenth of a millisecond, and more for each change of the process's memory. Any thread.

#include <chrono>
#include <functional>
#include <mutex>
#include <utility>

namespace mist {

class Pulse {
 public:
  /// Sooner while somebody waits for something.
  static constexpr std::chrono::milliseconds kSoon{30}, kLater{100};

  /// Calls `work` from now on, never twice at once; it says whether it wants to be called soon. Empty: no
  /// more, and what goes on has ended when this returns. Not from within `work`.
  void set(std::function<bool()> work) {
    const std::scoped_lock lock(mutex_);
    work_ = std::move(work);
  }

  /// For the thread: one call; how long until the next.
  std::chrono::milliseconds beat() {
    const std::scoped_lock lock(mutex_);
    return work_ && work_() ? kSoon : kLater;
  }

 private:
  std::mutex mutex_;
  std::function<bool()> work_;  // guarded by mutex_
};

}  // namespace mist
