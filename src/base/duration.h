#pragma once
// Durations as people write them: in flags, in annotations. Pure; any thread.

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace mist {

/// As Go's time.ParseDuration reads it: "300ms", "-1.5h", "1m30s", "0". Errors: Usage; the hint names the
/// form.
Result<Duration> parse_duration(std::string_view text);

/// Elapsed time for people: "0.3s", "12s", "3m20s".
std::string format_elapsed(Duration elapsed);

}  // namespace mist
