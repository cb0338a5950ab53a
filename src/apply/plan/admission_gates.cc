#include "apply/plan/admission_gates.h"

#include <algorithm>
#include <utility>

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

// What admission reads of it is not in its metadata.
bool changes_more_than_metadata(const PlannedAction& write) {
  return (write.kind != ActionKind::Update && write.kind != ActionKind::Adopt) ||
         std::ranges::any_of(write.differences, [](const FieldDifference& difference) {
           return !difference.path.starts_with(".metadata.") && !difference.made;
         });
}

class Gates {
 public:
  Gates(kube::Client& client, Plan& plan, const LiveState& live, const Context& context)
      : client_(client), plan_(plan), live_(live), context_(context) {}

  /// What of the plan refused the action, or has a word in it; none: nothing.
  std::vector<PlannedAction*> of(const PlannedAction& refused) {
    std::vector<PlannedAction*> gates;
    const std::set<GroupKind> parameters = parameters_of(refused.denied_by);
    for (PlannedAction& write : plan_.writes) {
      if (&write == &refused || !is_written(write) || plan_.is_hook(write)) continue;
      // A policy that isn't there yet refused nothing; parameters that aren't may be the reason.
      const bool gate = parameters.contains(write.key.group_kind) ||
                        (write.kind != ActionKind::Create && denies(write, refused.denied_by));
      if (gate && changes_more_than_metadata(write)) gates.push_back(&write);
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

  // The kinds of which those policies take parameters, whoever has the policies.
  std::set<GroupKind> parameters_of(const std::vector<std::string>& names) const {
    std::set<GroupKind> kinds;
    if (names.size() > 1) {
      const auto policy = client_.get({kPolicies, "", names.front()}, context_);
      if (policy.ok())
        if (const auto kind = parameter_kind(*policy)) kinds.insert(*kind);
    }
    for (const DesiredObject& desired : plan_.desired)
      if (is_of_admission(desired.key.group_kind) &&
          std::ranges::find(names, desired.key.name) != names.end())
        if (const auto kind = parameter_kind(desired.rendered.object.value())) kinds.insert(*kind);
    return kinds;
  }

  kube::Client& client_;
  Plan& plan_;
  const LiveState& live_;
  const Context& context_;
};

}  // namespace

bool changes_admission(const Plan& plan) {
  const std::set<GroupKind> parameters = parameter_kinds(plan);
  return std::ranges::any_of(plan.writes,
                             [&](const PlannedAction& write) {
                               const GroupKind& kind = write.key.group_kind;
                               return is_written(write) && changes_more_than_metadata(write) &&
                                      (parameters.contains(kind) ||
                                       (is_of_admission(kind) && write.kind != ActionKind::Create));
                             }) ||
         std::ranges::any_of(plan.removals, [](const PlannedAction& removal) {
           return removal.kind == ActionKind::Delete && is_of_admission(removal.key.group_kind);
         });
}

Status put_gates_first(kube::Client& client, Plan& plan, const LiveState& live, const Context& context) {
  struct Refused {
    PlannedAction* action;
    std::vector<PlannedAction*> gates;
  };
  std::vector<Refused> refused;
  bool moved = false;
  for (std::vector<PlannedAction>* actions : {&plan.writes, &plan.removals}) {
    for (PlannedAction& action : *actions) {
      if (action.kind != ActionKind::Conflict || !action.arguable || action.denied_by.empty()) continue;
      Refused each{&action, Gates(client, plan, live, context).of(action)};
      MIST_TRY_VOID(context.check());
      for (PlannedAction* const gate : each.gates) moved = !std::exchange(gate->first, true) || moved;
      if (!each.gates.empty()) refused.push_back(std::move(each));
    }
  }
  if (moved) {
    MIST_TRY(plan.order, order_of(plan));
  }
  const auto is_in = [](const std::vector<PlannedAction>& list, const PlannedAction* each) {
    return !list.empty() && each >= list.data() && each < list.data() + list.size();
  };
  for (const Refused& each : refused) {
    PlannedAction& action = *each.action;
    action.arguable = false;
    // Another order was asked for.
    const auto late = std::ranges::find_if(each.gates, [&](const PlannedAction* gate) {
      return is_in(plan.writes, &action) && is_in(plan.writes, gate) &&
             !comes_before(plan, static_cast<std::size_t>(gate - plan.writes.data()),
                           static_cast<std::size_t>(&action - plan.writes.data()));
    });
    if (late != each.gates.end()) {
      action.hint = fmt::format("have {} written before it: an annotation or a need puts it behind",
                                (*late)->key.display());
      continue;
    }
    const PlannedAction& gate = *each.gates.front();
    action.kind = action.meant;
    action.cause = ConflictCause::None;
    action.hint.clear();
    action.reason +=
        fmt::format("; {} {} first, so the server decides when its turn comes", gate.key.display(),
                    gate.kind == ActionKind::Delete ? "is deleted" : "is written");
  }
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
