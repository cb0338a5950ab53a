#pragma once
// How long a Release rests between two looks. Pure; any thread.

#include <algorithm>
#include <chrono>
#include <optional>

#include "releases/keeper.h"

namespace mist::releases {

/// Between two tries that change the cluster.
inline constexpr Duration kLeastPause = std::chrono::seconds(5);

/// nullopt: until something happens. `growing`: of a look that failed, longer with each failure. No look
/// follows another at once by itself, whatever it says.
inline std::optional<Duration> pause_after(const Look& look, Duration growing) {
  const std::optional<Duration> again = look.again && *look.again > Duration() ? look.again : std::nullopt;
  if (!look.failed) return again;
  const Duration pause = std::max(growing, look.wrote ? kLeastPause : Duration());
  return std::min(pause, again.value_or(pause));
}

}  // namespace mist::releases
