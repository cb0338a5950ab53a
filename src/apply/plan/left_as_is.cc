#include "apply/plan/left_as_is.h"

#include <algorithm>

#include "apply/plan/settle.h"
#include "base/text.h"
#include "kube/api_failure.h"

namespace mist::apply {

void leave(PlannedAction& action, std::string_view why) {
  action.kind = ActionKind::Unchanged;
  action.left = true;
  action.revision = action.previous_revision;
  action.reason = why;
  action.transfer.reset();
  action.cause = ConflictCause::None;
  action.hint.clear();
}

void leave_refused(Plan& plan, const LiveState& live, const PlanRules& rules) {
  for (PlannedAction& action : plan.writes) {
    if (action.kind == ActionKind::Conflict && action.cause == ConflictCause::Denied) {
      action.kind = action.adopting ? ActionKind::Adopt : ActionKind::Update;
      action.cause = ConflictCause::None;
      action.hint.clear();
    }
    const bool refused = action.cause == ConflictCause::Refused || action.cause == ConflictCause::Immutable;
    if (action.kind != ActionKind::Conflict || !refused || action.adopting || plan.is_hook(action)) continue;
    const auto there = live.find(action.key);
    if (there == live.end()) continue;
    const bool replaceable = action.cause == ConflictCause::Immutable && !rules.replace &&
                             kept_because(action.key, &there->second.value, rules.prune).empty();
    leave(action, action.reason + (replaceable ? "; --replace deletes and recreates it" : ""));
  }
}

bool may_be_left(const Plan& plan, const PlannedAction& action, const Error& failure) {
  return action.kind == ActionKind::Update && !action.unreadable && !action.uid.empty() &&
         !plan.is_hook(action) && failure.kind == ErrorKind::Invalid &&
         !redefined_kinds(plan).contains(action.key.group_kind);
}

std::size_t count_left(const Plan& plan) {
  return static_cast<std::size_t>(std::ranges::count_if(plan.writes, &PlannedAction::left));
}

std::string left_words(const PlannedAction& action) {
  return fmt::format("{} is left as it is: {}", action.key.display(), action.reason);
}

std::string but_for_left(const Plan& plan) {
  const std::size_t count = count_left(plan);
  return count == 0 ? std::string() : fmt::format(", but for {}", plural(count, "object"));
}

}  // namespace mist::apply
