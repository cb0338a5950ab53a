#include "cli/output/progress.h"

#include "cli/output/jsonl_progress.h"
#include "cli/output/live_progress.h"
#include "cli/output/plain_progress.h"

namespace mist::cli {

std::unique_ptr<Progress> make_progress(const ProgressOptions& options, World& world) {
  if (options.form == ProgressForm::Jsonl)
    return std::make_unique<JsonlProgress>(options, world.err, world.clock);
  const bool dumb = world.environment("TERM").value_or("dumb") == "dumb";
  if (options.form == ProgressForm::Lines || options.quiet || options.verbosity > 0 ||
      !world.err.is_terminal() || dumb)
    return std::make_unique<PlainProgress>(options, world.err, world.clock, world.color_err, world.pulse);
  return std::make_unique<LiveProgress>(options, world.err, world.clock, world.color_err);
}

}  // namespace mist::cli
