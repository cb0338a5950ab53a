#include "cli/duration.h"

#include "base/duration.h"

namespace mist::cli {

Result<Duration> parse_duration(std::string_view text) { return mist::parse_duration(text); }

std::string format_elapsed(Duration elapsed) { return mist::format_elapsed(elapsed); }

}  // namespace mist::cli
