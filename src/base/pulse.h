#pragma once
// A few calls a second on a thread that there is anyway, for callers that would otherwise start one of its
// own: that costs a tenth of a millisecond, and more for each change of the process's memory. Any thread.

#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

namespace mist {

class Pulse {
 public:
  /// Sooner while somebody waits for something.
  static constexpr std::chrono::milliseconds kSoon{30}, kLater{100};

  /// Has its work called as long as it lives, which must be shorter than the pulse does.
  class Beat {
   public:
    /// `work` is never called twice at once; it says whether it wants to be called soon.
    Beat(Pulse& pulse, std::function<bool()> work) : pulse_(pulse) {
      const std::scoped_lock lock(pulse_.mutex_);
      place_ = pulse_.works_.insert(pulse_.works_.end(), std::move(work));
    }
    Beat(const Beat&) = delete;
    Beat& operator=(const Beat&) = delete;
    /// A call in progress has ended when this returns. Not from within any work.
    ~Beat() {
      const std::scoped_lock lock(pulse_.mutex_);
      pulse_.works_.erase(place_);
    }

   private:
    Pulse& pulse_;
    std::list<std::function<bool()>>::iterator place_;
  };

  /// For the thread: one call of each; how long until the next.
  std::chrono::milliseconds beat() {
    const std::scoped_lock lock(mutex_);
    bool soon = false;
    for (const std::function<bool()>& work : works_) soon = work() || soon;
    return soon ? kSoon : kLater;
  }

 private:
  std::mutex mutex_;
  std::list<std::function<bool()>> works_;  // guarded by mutex_
};

}  // namespace mist
