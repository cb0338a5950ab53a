#include "apply/run_report.h"

#include <cstddef>

#include "base/text.h"

namespace mist::apply {

using graph::Node;

namespace {

// ": Deployment shop/web comes after Deployment shop/db, …"; empty when nothing was blocked by a failure.
std::string what_was_blocked(const GraphRun& run, const graph::SequenceGraph& order, std::size_t objects,
                             const graph::NameOf& name_of) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> blocked;
  for (const auto& [node, path] : run.blocked) {
    if (node >= objects) continue;
    if (blocked.size() == kShown) {
      blocked.emplace_back("…");
      break;
    }
    blocked.push_back(
        fmt::format("{} comes after {}", name_of(node), name_of(order.edges()[path.back()].before)));
  }
  return blocked.empty() ? "" : ": " + join(blocked, ", ");
}

// What a run that was stopped did and what it did not, by name as far as there is room.
std::vector<std::string> what_is_done(const GraphRun& run, std::size_t objects, std::string_view done_word,
                                      const graph::NameOf& name_of) {
  constexpr std::size_t kShown = 10;
  std::size_t done = 0, open = 0;
  std::string names;
  for (Node node = 0; node < objects; ++node) {
    done += run.results[node] == NodeResult::Done;
    if (run.results[node] != NodeResult::NotStarted) continue;
    if (++open <= kShown) names += (names.empty() ? "" : ", ") + name_of(node);
  }
  if (open > kShown) names += fmt::format(" and {} more", open - kShown);
  std::vector<std::string> lines{fmt::format("{} of {} {}", done, plural(objects, "object"), done_word)};
  if (open > 0) lines.push_back(fmt::format("not begun: {}", names));
  return lines;
}

}  // namespace

std::vector<Outcome> outcomes_of(const GraphRun& run, std::size_t objects) {
  return {run.results.begin(), run.results.begin() + static_cast<std::ptrdiff_t>(objects)};
}

std::optional<Error> failure_of(const GraphRun& run, const graph::SequenceGraph& order, std::size_t objects,
                                const graph::NameOf& name_of, std::string_view done_word,
                                const Context& context) {
  constexpr std::size_t kShown = 5;
  std::vector<const Error*> failures;
  std::size_t cut_off = 0, open = 0;
  for (const auto& [node, failure] : run.failures) {
    if (failure.kind == ErrorKind::Cancelled)
      cut_off += node < objects ? 1 : 0;  // a wait leaves nothing behind
    else
      failures.push_back(&failure);
  }
  for (Node node = 0; node < objects; ++node) open += run.results[node] == NodeResult::NotStarted;
  if (failures.empty() && cut_off == 0 && open == 0) return std::nullopt;
  Error result;
  if (!failures.empty())
    result = *failures.front();
  else
    result = context.check().ok() ? error(ErrorKind::Cancelled, "stopped") : context.check().error();
  for (std::size_t i = 1; i < failures.size() && i < kShown; ++i)
    result.frames.push_back(fmt::format("also failed: {}", failures[i]->to_line()));
  if (failures.size() > kShown)
    result.frames.push_back(fmt::format("{} failed too", plural(failures.size() - kShown, "more object")));
  if (cut_off > 0)
    result.frames.push_back(
        fmt::format("{} cut off: what became of {} is unknown",
                    cut_off == 1 ? "1 request was" : fmt::format("{} requests were", cut_off),
                    cut_off == 1 ? "it" : "them"));
  if (failures.empty()) {
    for (std::string& line : what_is_done(run, objects, done_word, name_of))
      result.frames.push_back(std::move(line));
    return result;
  }
  if (open > 0)
    result.frames.push_back(fmt::format("{} {} not begun{}", plural(open, "object"),
                                        open == 1 ? "was" : "were",
                                        what_was_blocked(run, order, objects, name_of)));
  return result;
}

}  // namespace mist::apply
