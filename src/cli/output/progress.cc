#include "cli/output/progress.h"

#include "cli/output/jsonl_progress.h"
#include "cli/output/live_progress.h"
#include "cli/output/plain_progress.h"

namespace mist::cli {

std::unique_ptr<Progress> make_progress(const ProgressOptions& options, Machine& machine) {
  if (options.form == ProgressForm::Jsonl)
    return std::make_unique<JsonlProgress>(options, machine.err, machine.clock);
  const bool dumb = machine.environment("TERM").value_or("dumb") == "dumb";
  if (options.form == ProgressForm::Lines || options.quiet || options.verbosity > 0 ||
      !machine.err.is_terminal() || dumb)
    return std::make_unique<PlainProgress>(options, machine.err, machine.clock, machine.color_err,
                                           machine.pulse);
  return std::make_unique<LiveProgress>(options, machine.err, machine.clock, machine.color_err);
}

}  // namespace mist::cli
