#pragma once
// Times of others as WallTime, which ends in the year 2262. Certificates that never expire end in 9999. Pure;
// any thread.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>

#include "base/clock.h"

namespace mist {

/// Seconds since 1970 that WallTime can hold.
inline constexpr std::int64_t kLastSecond =
    std::chrono::floor<std::chrono::seconds>(WallTime::max()).time_since_epoch().count();

/// Broken-down UTC. Before 1970 and after the last second: those.
inline WallTime utc_time(std::tm parts) {
  return WallTime(std::chrono::seconds(std::clamp<std::int64_t>(::timegm(&parts), 0, kLastSecond)));
}

}  // namespace mist
