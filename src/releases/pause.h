#pragma once
// How long a Release rests between two reconciliations. Pure; any thread.

#include <algorithm>
#include <chrono>
#include <optional>

#include "releases/reconciler.h"

namespace mist::releases {

/// Between two tries that change the cluster.
inline constexpr Duration kLeastPause = std::chrono::seconds(5);

/// nullopt: until something happens. `growing`: of one that failed, longer with each failure. None
/// follows another at once by itself, whatever it says.
inline std::optional<Duration> pause_after(const Outcome& outcome, Duration growing) {
  const std::optional<Duration> again =
      outcome.again && *outcome.again > Duration() ? outcome.again : std::nullopt;
  if (!outcome.failed) return again;
  const Duration pause = std::max(growing, outcome.wrote ? kLeastPause : Duration());
  return std::min(pause, again.value_or(pause));
}

}  // namespace mist::releases
