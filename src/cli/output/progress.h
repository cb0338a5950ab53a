#pragma once
// The EventSinks of the command line. All draw on stderr; results are stdout's. Each may be used from any
// thread.

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/event.h"
#include "cli/machine.h"

namespace mist::cli {

enum class ProgressForm : std::uint8_t {
  Auto,   ///< the live area on a terminal that can draw it, else lines
  Lines,  ///< lines, also on a terminal
  Jsonl,  ///< one JSON object for each event (docs/output.md)
};

struct ProgressOptions {
  bool quiet = false;
  int verbosity = 0;
  ProgressForm form = ProgressForm::Auto;
  bool explain = false;  ///< the reasons of a plan, before it is carried out

  /// Which messages lines of every form hold.
  bool shows(EventLevel level) const {
    return level == EventLevel::Warning || (!quiet && (level == EventLevel::Info || verbosity > 0));
  }
};

/// Activities shorter than this are never shown (except by -v).
inline constexpr Duration kShowActivityAfter = std::chrono::milliseconds(150);

/// "37 of 200 MB": decimal units, as the total has them.
std::string transferred_text(const ActivityProgress& progress);

class Progress : public EventSink {
 public:
  /// Its drawing on a terminal, as long as it lives; null: nothing that stays in place.
  virtual Screen* screen() { return nullptr; }
};

/// Warnings only (quiet), plain lines (no terminal, or verbose), the live area (live_progress.h), or JSON
/// lines (jsonl_progress.h).
/// Destroying the sink leaves a clean screen.
std::unique_ptr<Progress> make_progress(const ProgressOptions& options, Machine& machine);

}  // namespace mist::cli
