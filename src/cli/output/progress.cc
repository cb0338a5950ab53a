#include "cli/output/progress.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "cli/output/jsonl_progress.h"
#include "cli/output/live_progress.h"
#include "cli/output/plain_progress.h"

namespace mist::cli {

std::string transferred_text(const ActivityProgress& progress) {
  constexpr std::array<std::pair<std::string_view, double>, 3> kUnits = {
      {{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}}};
  const auto total = static_cast<double>(progress.total);
  for (const auto& [unit, size] : kUnits) {
    if (total < size) continue;
    // One digit more of few units, so that it moves.
    const int digits = total < 10 * size ? 1 : 0;
    return fmt::format("{:.{}f} of {:.{}f} {}", static_cast<double>(progress.done) / size, digits,
                       total / size, digits, unit);
  }
  return fmt::format("{} of {} bytes", progress.done, progress.total);
}

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
