#include "apply/plan/left_as_is.h"

#include <algorithm>
#include <map>

#include "apply/plan/settle.h"
#include "base/text.h"
#include "kube/api_failure.h"
#include "kube/crds.h"

namespace mist::apply {

namespace {

// Of the CRDs that stay as they are, by their kind: the versions that they serve, and their name.
struct LeftCrd {
  std::string name;
  std::vector<std::string> served;
};

std::map<GroupKind, LeftCrd> left_crds(const Plan& plan, const LiveState& live) {
  std::map<GroupKind, LeftCrd> left;
  for (const PlannedAction& action : plan.writes) {
    const auto there = live.find(action.key);
    if (!action.recorded.left || action.key.group_kind != apimachinery::kCustomResourceDefinition ||
        there == live.end())
      continue;
    left.emplace(apimachinery::defined_kind(there->second.value),
                 LeftCrd{action.key.name, kube::served_versions(there->second.value)});
  }
  return left;
}

// Written in a version that only the recorded CRD serves, they would be met by a 404.
void leave_unserved(Plan& plan, const LiveState& live) {
  const std::map<GroupKind, LeftCrd> crds = left_crds(plan, live);
  for (PlannedAction& action : plan.writes) {
    const auto crd = crds.find(action.key.group_kind);
    if (crd == crds.end() || plan.is_hook(action)) continue;
    const std::string_view version =
        plan.desired[action.desired].rendered.object.value().string_at("apiVersion");
    const auto& served = crd->second.served;
    if (std::ranges::find(served, version.substr(version.find('/') + 1)) != served.end()) continue;
    leave(action, fmt::format("{} is not served: CustomResourceDefinition {} is left as it is", version,
                              crd->second.name));
  }
}

// For what the object would be, or by admission, whatever status that answers with; not for want of rights.
bool is_refused(const Error& failure) {
  return failure.kind == ErrorKind::Invalid || kube::is_denied_by_admission(failure);
}

}  // namespace

void leave(PlannedAction& action, std::string_view why) {
  action.kind = ActionKind::Unchanged;
  action.recorded.left = true;
  action.recorded.revision = action.recorded.previous_revision;
  action.reason = why;
  action.transfer.reset();
  action.refusal.cause = ConflictCause::None;
  action.refusal.hint.clear();
}

void leave_refused(Plan& plan, const LiveState& live, const PlanRules& rules) {
  for (PlannedAction& action : plan.writes) {
    if (action.kind == ActionKind::Conflict && action.refusal.cause == ConflictCause::Denied) {
      action.kind = action.refusal.meant;
      action.refusal.cause = ConflictCause::None;
      action.refusal.hint.clear();
    }
    const bool refused = action.refusal.cause == ConflictCause::Refused ||
                         action.refusal.cause == ConflictCause::Immutable ||
                         action.refusal.cause == ConflictCause::Deleting;
    if (action.kind != ActionKind::Conflict || !refused || action.adopting || plan.is_hook(action)) continue;
    const auto there = live.find(action.key);
    if (there == live.end()) continue;
    const bool replaceable = action.refusal.cause == ConflictCause::Immutable && !rules.allowed.replace &&
                             kept_because(action.key, &there->second.value, rules.allowed.prune).empty();
    leave(action, action.reason + (replaceable ? "; --replace deletes and recreates it" : ""));
  }
  leave_unserved(plan, live);
}

bool may_be_left(const Plan& plan, const PlannedAction& action, const Error& failure) {
  return action.kind == ActionKind::Update && !action.live.unreadable && !action.uid.empty() &&
         !plan.is_hook(action) && is_refused(failure) &&
         !redefined_kinds(plan).contains(action.key.group_kind);
}

std::size_t count_left(const Plan& plan) {
  const auto is_left = [](const PlannedAction& action) { return action.recorded.left; };
  return static_cast<std::size_t>(std::ranges::count_if(plan.writes, is_left) +
                                  std::ranges::count_if(plan.removals, is_left));
}

std::string left_words(const PlannedAction& action) {
  return fmt::format("{} is left as it is: {}", action.key.display(), action.reason);
}

std::string but_for_left(const Plan& plan) {
  const std::size_t count = count_left(plan);
  return count == 0 ? std::string() : fmt::format(", but for {}", plural(count, "object"));
}

}  // namespace mist::apply
