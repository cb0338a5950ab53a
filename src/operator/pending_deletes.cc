#include "operator/pending_deletes.h"

#include <algorithm>
#include <tuple>

#include "base/duration.h"
#include "base/text.h"
#include "reconcile/status.h"

namespace mist::operator_ {

void PendingDeletes::take(const Plan& plan, SteadyTime now, WallTime wall) {
  const All before = std::exchange(all_, {});
  const auto add = [&](const ObjectId& id, const std::string& why, const std::string& going_since) {
    const auto known = before.find(id);
    Pending& pending =
        all_.try_emplace(id, known != before.end() ? known->second : Pending{.since = now, .at = wall})
            .first->second;
    pending.why = why;
    const auto asked = parse_time(going_since);
    pending.is_asked = asked.has_value();
    // By an operator before this one, whose clock need not be the server's.
    if (asked && known == before.end() && *asked < wall) {
      pending.since = now - std::chrono::duration_cast<SteadyTime::duration>(wall - *asked);
      pending.at = *asked;
    }
  };
  for (const auto& [id, node] : plan.undecided)
    add(id, fmt::format("it isn't known yet whether the node {} makes it", node), {});
  for (const NodeReport& each : plan.nodes)
    if (each.id && (each.state == NodeState::Deleting || !each.going_since.empty()))
      add(*each.id, each.detail, each.going_since);
  for (const reconcile::Delete& each : plan.deletes) {
    std::string why;
    for (const NodeReport& report : plan.nodes)
      if (const auto failing = report.failing.find(each.what.id); failing != report.failing.end())
        why = failing->second;
    add(each.what.id, why, {});
  }
  const NodeReport* const problem = reconcile::problem_of(plan);
  problem_ = problem != nullptr && problem->id && all_.contains(*problem->id) ? problem->id : std::nullopt;
}

PendingDeletes::All::const_iterator PendingDeletes::oldest_of_all() const {
  return std::ranges::min_element(all_, {}, [](const auto& each) { return each.second.since; });
}

// An object that waits for its turn says less than the one that it waits for.
PendingDeletes::All::const_iterator PendingDeletes::first_cause() const {
  if (problem_) return all_.find(*problem_);
  return std::ranges::min_element(
      all_, {}, [](const auto& each) { return std::tuple(!each.second.is_asked, each.second.since); });
}

std::optional<WallTime> PendingDeletes::oldest() const {
  const auto first = oldest_of_all();
  return first == all_.end() ? std::nullopt : std::optional(first->second.at);
}

std::optional<SteadyTime> PendingDeletes::next() const {
  const auto first = oldest_of_all();
  if (is_told_ || first == all_.end()) return std::nullopt;
  return first->second.since + std::chrono::duration_cast<SteadyTime::duration>(kLongPending);
}

std::optional<std::string> PendingDeletes::news(SteadyTime now) {
  const auto first = oldest_of_all();
  const auto waits = first == all_.end() ? SteadyTime::duration() : now - first->second.since;
  const bool is_long = waits >= kLongPending;
  if (!is_long || std::exchange(is_told_, is_long)) {
    is_told_ = is_long;
    return std::nullopt;
  }
  const auto cause = first_cause();
  std::string text = fmt::format("{} should have been deleted, and is still there after {}",
                                 cause->first.display(), format_elapsed(now - cause->second.since));
  if (!cause->second.why.empty()) text += ": " + cause->second.why;
  if (all_.size() > 1)
    text += fmt::format(
        "; other objects of this instance that wait: {}. The annotation {} lets objects go before their turn",
        all_.size() - 1, reconcile::kOutOfOrderAnnotation);
  return text;
}

}  // namespace mist::operator_
