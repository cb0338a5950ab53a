#pragma once
// The argument of every blocking call: when to give up and who may stop it. Copy it freely; any thread.

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

  /// The same, ending at the earlier of both deadlines.
  Context with_deadline(SteadyTime deadline) const {
    Context result = *this;
    if (!result.deadline_ || deadline < *result.deadline_) result.deadline_ = deadline;
    return result;
  }
  Context with_timeout(Duration timeout) const {
    return with_deadline(std::chrono::steady_clock::now() +
                         std::chrono::duration_cast<std::chrono::steady_clock::duration>(timeout));
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
    const auto left = *deadline_ - std::chrono::steady_clock::now();
    return left.count() > 0 ? left : Duration::zero();
  }

  /// Cancelled when stopped, Timeout when the deadline passed, else what a guard says.
  Status check() const;

 private:
  struct Guard;

  std::stop_token stop_;
  std::optional<SteadyTime> deadline_;
  std::shared_ptr<const Guard> guard_;
};

}  // namespace mist
