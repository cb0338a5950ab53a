#pragma once
// The counters of a work queue since it was made. Plain values; any thread.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace mist::operator_ {

/// How long items waited from when they were due until somebody took them.
struct QueueWaits {
  /// The upper bounds of workqueue_queue_duration_seconds, as controller-runtime has them.
  static constexpr std::array kBuckets{1e-8, 1e-7, 1e-6, 1e-5, 1e-4,  1e-3,
                                       1e-2, 1e-1, 1.0,  10.0, 100.0, 1000.0};
  std::array<std::uint64_t, kBuckets.size() + 1> buckets{};  ///< each alone; the last: longer than all
  double seconds = 0;                                        ///< of all together

  void add(Duration waited) {
    const double each = std::chrono::duration<double>(std::max(waited, Duration::zero())).count();
    ++buckets[static_cast<std::size_t>(std::ranges::lower_bound(kBuckets, each) - kBuckets.begin())];
    seconds += each;
  }
};

struct QueueState {
  std::size_t depth = 0;        ///< how many wait, also those that are due later
  std::uint64_t additions = 0;  ///< how often something was added
  std::uint64_t retries = 0;    ///< how often an item failed, and was to be tried again
  QueueWaits waits = {};
};

}  // namespace mist::operator_
