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

/// That second, and nanoseconds of the next one. Before 1970 and after the last second: those, so that
/// the time between any two is a Duration too.
inline WallTime nearest_time(std::chrono::sys_seconds at, std::int64_t nanoseconds = 0) {
  const std::int64_t seconds = at.time_since_epoch().count();
  if (seconds < 0 || seconds >= kLastSecond)
    return WallTime(std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kLastSecond)));
  return WallTime(std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanoseconds));
}

/// Broken-down UTC, as nearest_time.
inline WallTime utc_time(std::tm parts) {
  return nearest_time(std::chrono::sys_seconds(std::chrono::seconds(::timegm(&parts))));
}

}  // namespace mist
