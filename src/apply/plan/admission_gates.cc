#include "apply/plan/admission_gates.h"

#include <algorithm>

#include "apply/plan/refusal.h"

namespace mist::apply {
namespace {

bool is_webhook_configuration(const GroupKind& kind) { return kind.kind.ends_with("WebhookConfiguration"); }

bool is_of_admission(const GroupKind& kind) { return kind.group == "admissionregistration.k8s.io"; }

bool has_webhook(const Value& configuration, const std::vector<std::string>& names) {
  const Value* const webhooks = configuration.find("webhooks");
  return webhooks != nullptr && webhooks->is_array() &&
         std::ranges::any_of(webhooks->as_array(), [&](const Value& webhook) {
           return std::ranges::find(names, webhook.string_at("name")) != names.end();
         });
}

class Gates {
 public:
  Gates(Plan& plan, const LiveState& live) : plan_(plan), live_(live) {}

  /// What of the plan refused the action, or has a word in it; none: nothing.
  std::vector<PlannedAction*> of(const PlannedAction& refused) {
    std::vector<PlannedAction*> gates;
    const std::set<GroupKind> parameters = parameters_of(refused.denied_by);
    for (PlannedAction& write : plan_.writes) {
      if (&write == &refused || !is_written(write) || write.kind == ActionKind::Create ||
          plan_.is_hook(write))
        continue;
      if (parameters.contains(write.key.group_kind) || denies(write, refused.denied_by))
        gates.push_back(&write);
    }
    for (PlannedAction& removal : plan_.removals)
      if (&removal != &refused && removal.kind == ActionKind::Delete && denies(removal, refused.denied_by))
        gates.push_back(&removal);
    return gates;
  }

 private:
  bool denies(const PlannedAction& gate, const std::vector<std::string>& names) const {
    if (!is_of_admission(gate.key.group_kind)) return false;
    if (!is_webhook_configuration(gate.key.group_kind))
      return std::ranges::find(names, gate.key.name) != names.end();
    const auto there = live_.find(gate.key);
    return there != live_.end() && has_webhook(there->second.value, names);
  }

  // The kinds of which those policies of the release take parameters.
  std::set<GroupKind> parameters_of(const std::vector<std::string>& names) const {
    std::set<GroupKind> kinds;
    for (const DesiredObject& desired : plan_.desired)
      if (is_of_admission(desired.key.group_kind) &&
          std::ranges::find(names, desired.key.name) != names.end())
        if (const auto kind = parameter_kind(desired.rendered.object.value())) kinds.insert(*kind);
    return kinds;
  }

  Plan& plan_;
  const LiveState& live_;
};

}  // namespace

Status put_gates_first(Plan& plan, const LiveState& live) {
  bool moved = false;
  for (std::vector<PlannedAction>* actions : {&plan.writes, &plan.removals}) {
    for (PlannedAction& action : *actions) {
      if (action.kind != ActionKind::Conflict || !action.arguable || action.denied_by.empty()) continue;
      const std::vector<PlannedAction*> gates = Gates(plan, live).of(action);
      if (gates.empty()) continue;
      for (PlannedAction* const gate : gates) {
        moved = moved || !gate->first;
        gate->first = true;
      }
      const PlannedAction& gate = *gates.front();
      action.kind = action.meant;
      action.cause = ConflictCause::None;
      action.arguable = false;
      action.hint.clear();
      action.reason +=
          fmt::format("; {} {} first, so the server decides when its turn comes", gate.key.display(),
                      gate.kind == ActionKind::Delete ? "is deleted" : "is written");
    }
  }
  if (!moved) return {};
  MIST_TRY(plan.order, order_of(plan));
  return {};
}

std::set<std::string, std::less<>> names_of_first(const Plan& plan) {
  std::set<std::string, std::less<>> names;
  for (const std::vector<PlannedAction>* actions : {&plan.writes, &plan.removals}) {
    for (const PlannedAction& action : *actions) {
      // Those of its webhooks are in what they refused.
      names.insert(action.denied_by.begin(), action.denied_by.end());
      if (action.first) names.insert(action.key.name);
      for (const FieldDifference& difference : action.differences)
        if (action.first && difference.steps.size() >= 2 && difference.steps[1].kind == PathStep::Kind::Key)
          names.emplace(difference.steps[1].key.string_at("name"));
    }
  }
  return names;
}

}  // namespace mist::apply
