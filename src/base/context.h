#pragma once
// The argument of every blocking call: when to give up, who may stop it, and by which clock it waits. Copy it
// freely; any thread.

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/clock.h"
#include "base/result.h"

namespace mist {

class Context {
 public:
  Context() = default;
  explicit Context(std::stop_token stop) : stop_(std::move(stop)) {}

  const std::stop_token& stop() const { return stop_; }
  std::optional<SteadyTime> deadline() const { return deadline_; }

  /// The same without a deadline, on another clock than the machine's: what is called with it waits and gives
  /// up by that one. For work on fakes; sockets and processes know the machine's clock only. `clock` must
  /// outlive the context and its copies.
  Context with_clock(Clock& clock) const {
    Context result = *this;
    result.clock_ = &clock;
    result.deadline_.reset();
    return result;
  }
  /// By its clock.
  SteadyTime now() const { return clock_->steady_now(); }

  /// The same, ending at the earlier of both deadlines.
  Context with_deadline(SteadyTime deadline) const {
    Context result = *this;
    if (!result.deadline_ || deadline < *result.deadline_) result.deadline_ = deadline;
    return result;
  }
  Context with_timeout(Duration timeout) const {
    return with_deadline(now() + std::chrono::duration_cast<SteadyTime::duration>(timeout));
  }
  /// The same deadline, another stop token.
  Context with_stop(std::stop_token stop) const {
    Context result = *this;
    result.stop_ = std::move(stop);
    return result;
  }

  /// The same, as long as `guard` says yes too: check() asks it, so it is asked before each request and each
  /// repetition of one. Any thread may ask, as long as there is a copy of this context.
  Context with_guard(std::function<Status()> guard) const;

  /// Time that is left, never negative; nullopt: no deadline.
  std::optional<Duration> remaining() const {
    if (!deadline_) return std::nullopt;
    const auto left = *deadline_ - now();
    return left.count() > 0 ? left : Duration::zero();
  }

  /// Cancelled when stopped, Timeout when the deadline passed, else what a guard says.
  Status check() const;

  /// Sleeps that long, or until the context ends, and says whether the work goes on, as check() does. Doesn't
  /// begin to sleep when it has ended already.
  Status pause(Duration duration) const;

 private:
  struct Guard;

  Clock* clock_ = &machine_clock();
  std::stop_token stop_;
  std::optional<SteadyTime> deadline_;
  std::shared_ptr<const Guard> guard_;
};

}  // namespace mist
