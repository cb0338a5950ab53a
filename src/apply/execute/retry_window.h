#pragma once
// About ten seconds in which a request that came too early is retried: the handler of a new kind appears a
// moment after its CRD is established or its API service available, a policy that was deleted is asked for a
// moment longer, and nothing announces either. One thread.

#include <algorithm>
#include <chrono>

#include "base/context.h"

namespace mist::apply {

class RetryWindow {
 public:
  /// `context` must outlive it.
  explicit RetryWindow(const Context& context) : context_(context) {}

  /// Sleeps, longer each time. False: it is over, or the work is stopped.
  bool pause() {
    if (++tries_ > kMostTries || !context_.pause(pause_).ok()) return false;
    pause_ = std::min(pause_ * 2, std::chrono::milliseconds(200));
    return true;
  }

 private:
  static constexpr int kMostTries = 54;

  const Context& context_;
  int tries_ = 0;
  std::chrono::milliseconds pause_{20};
};

}  // namespace mist::apply
