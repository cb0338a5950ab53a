#include "apply/execute/run_report.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>

#include "base/one_line.h"
#include "base/some_of.h"
#include "base/text.h"

namespace mist::apply {

using graph::Node;

namespace {

std::string name_or_everything(const std::string& name) { return name.empty() ? "everything else" : name; }

// The cause that a blocked node is reported with: the last named node on the path from the failure to it.
std::string nearest_cause(const std::vector<std::size_t>& path, const graph::SequenceGraph& order,
                          const graph::NameOf& name_of) {
  for (auto edge = path.rbegin(); edge != path.rend(); ++edge)
    if (std::string name = name_of(order.edges()[*edge].before); !name.empty()) return name;
  return name_or_everything({});
}

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
    blocked.push_back(fmt::format("{} comes after {}", name_of(node), nearest_cause(path, order, name_of)));
  }
  return blocked.empty() ? "" : ": " + join(blocked, ", ");
}

// How much a stopped run did and what it did not do, by name as far as there is room.
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

// Servers begin with the object's name in quotes: 'Service "web" is invalid: …'.
std::string without_name(std::string reason, std::string_view object) {
  const std::string name = fmt::format("\"{}\"", object.substr(object.find_last_of("/ ") + 1));
  for (std::size_t at = 0; (at = reason.find(name, at)) != std::string::npos;) reason.erase(at, name.size());
  return reason;
}

// Nodes that failed for the same reason; the first one's error speaks for all.
struct AlikeFailures {
  const Error* first;
  std::vector<std::string> others;  // names
};

std::vector<AlikeFailures> alike(const GraphRun& run, const graph::NameOf& name_of) {
  std::vector<AlikeFailures> groups;
  std::map<std::pair<ErrorKind, std::string>, std::size_t> by_reason;
  for (const auto& [node, failure] : run.failures) {
    if (failure.kind == ErrorKind::Cancelled) continue;
    // Without the other side's words, the message names the object: it is alike no other.
    if (!failure.because.empty()) {
      std::string name = name_or_everything(name_of(node));
      const auto [known, fresh] =
          by_reason.emplace(std::pair(failure.kind, without_name(failure.because, name)), groups.size());
      if (!fresh) {
        groups[known->second].others.push_back(std::move(name));
        continue;
      }
    }
    groups.push_back({&failure, {}});
  }
  return groups;
}

// "for the same reason: ConfigMap shop/a, ConfigMap shop/b and 7 more"
std::string named_alike(const AlikeFailures& group) {
  constexpr std::size_t kShown = 5;
  return fmt::format("for the same reason: {}", some_of(group.others, kShown));
}

}  // namespace

ObjectProgress failed_progress(const apimachinery::ObjectKey& key, const Error& failure) {
  return {key.display(), failure.kind == ErrorKind::Cancelled ? "unknown" : "failed",
          one_line(failure.because.empty() ? failure.message : failure.because)};
}

std::vector<Outcome> outcomes_of(const GraphRun& run, std::size_t objects) {
  return {run.results.begin(), run.results.begin() + static_cast<std::ptrdiff_t>(objects)};
}

std::optional<Error> failure_of(const GraphRun& run, const graph::SequenceGraph& order, std::size_t objects,
                                const graph::NameOf& name_of, std::string_view done_word,
                                const Context& context) {
  constexpr std::size_t kShown = 5;
  const std::vector<AlikeFailures> failures = alike(run, name_of);
  std::size_t cut_off = 0, open = 0, unnamed = 0;
  for (const auto& [node, failure] : run.failures)
    cut_off += failure.kind == ErrorKind::Cancelled && node < objects;  // a wait leaves nothing behind
  for (Node node = 0; node < objects; ++node) open += run.results[node] == NodeResult::NotStarted;
  if (failures.empty() && cut_off == 0 && open == 0) return std::nullopt;
  Error result;
  if (!failures.empty())
    result = *failures.front().first;
  else
    result = context.check().ok() ? error(ErrorKind::Cancelled, "stopped") : context.check().error();
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (i >= kShown) {
      unnamed += 1 + failures[i].others.size();
      continue;
    }
    if (i > 0) result.frames.push_back(fmt::format("also failed: {}", failures[i].first->to_line()));
    if (!failures[i].others.empty())
      result.frames.push_back(fmt::format("also failed, {}", named_alike(failures[i])));
  }
  if (unnamed > 0) result.frames.push_back(fmt::format("{} failed too", plural(unnamed, "more object")));
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
