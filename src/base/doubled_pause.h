#pragma once
// Growing pauses between tries. Pure; any thread.

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace mist {

/// `first`, doubled `times` times; at most `longest`, which is at least `first`.
inline Duration doubled_pause(Duration first, int times, Duration longest) {
  // So far, hours become centuries.
  constexpr int kMostDoublings = 12;
  return std::min(first * (std::int64_t{1} << std::min(times, kMostDoublings)), longest);
}

}  // namespace mist
