#include "view/blueprint_rounds.h"

#include <map>

#include "base/text.h"
#include "reconcile/status.h"
#include "view/style.h"

namespace mist::view {

using reconcile::NodeReport;
using reconcile::Round;
using reconcile::ScenarioStep;

namespace {

// A line that is as it was the round before isn't repeated.
using LastLines = std::map<std::string, std::string>;

std::string blocked_text(const NodeReport& report, bool color) {
  return fmt::format("{} {}{}", escape_controls(report.node),
                     paint(color, report.state == reconcile::NodeState::Failed ? Tone::Bad : Tone::Warning,
                           word(report.state)),
                     report.detail.empty() ? "" : ": " + escape_lines(report.detail, 8));
}

void add_round(const Round& round, std::size_t number, bool color, LastLines& said, std::string& text) {
  std::string lines;
  for (const std::string& action : round.actions) lines += "      " + escape_controls(action) + "\n";
  for (const NodeReport& each : round.nodes) {
    const std::string line = is_blocked(each) ? blocked_text(each, color) : std::string();
    std::string& before = said[each.node];
    if (!line.empty() && line != before) lines += "    " + paint(color, Tone::Faint, "· ") + line + "\n";
    before = line;
  }
  if (!lines.empty()) text += fmt::format("  round {}\n{}", number, lines);
}

}  // namespace

std::string played_text(const reconcile::Played& played, bool color) {
  std::string text;
  LastLines said;
  for (const ScenarioStep& step : played.steps) {
    text += paint(color, Tone::Strong, escape_controls(step.event)) + "\n";
    for (std::size_t i = 0; i < step.rounds.size(); ++i) add_round(step.rounds[i], i + 1, color, said, text);
    if (!step.settled) {
      text += "  " + paint(color, Tone::Bad, "it changes without end") + "\n";
    } else if (step.condition.is_null()) {
      text += "  the instance is gone\n";
    } else {
      const bool ready = step.condition.string_at("status") == "True";
      text += fmt::format(
          "  {}: {}\n", paint(color, ready ? Tone::Good : Tone::Warning, step.condition.string_at("reason")),
          escape_lines(step.condition.string_at("message"), 4));
    }
  }
  return text;
}

}  // namespace mist::view
