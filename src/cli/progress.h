#pragma once
// The EventSinks of the command line. All draw on stderr; results are stdout's. Each may be used from any
// thread.

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/event.h"
#include "cli/world.h"

namespace mist::cli {

struct ProgressOptions {
  bool quiet = false;
  int verbosity = 0;
};

/// Activities shorter than this are never shown (except by -v).
inline constexpr Duration kShowActivityAfter = std::chrono::milliseconds(150);

/// Warnings only (quiet), plain lines (no terminal, or verbose), or the live area (live_progress.h).
/// Destroying the sink leaves a clean screen.
std::unique_ptr<EventSink> make_progress(const ProgressOptions& options, World& world);

}  // namespace mist::cli
