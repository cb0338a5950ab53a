#include "apply/plan/admission_gates.h"

#include <algorithm>
#include <optional>

#include "apply/plan/admission_change.h"
#include "apply/plan/refusal.h"
#include "kube/api_failure.h"

namespace mist::apply {
namespace {

bool is_webhook_configuration(const GroupKind& kind) { return kind.kind.ends_with("WebhookConfiguration"); }

bool has_webhook(const Value& configuration, const std::vector<std::string>& names) {
  const Value* const webhooks = configuration.find("webhooks");
  return webhooks != nullptr && webhooks->is_array() &&
         std::ranges::any_of(webhooks->as_array(), [&](const Value& webhook) {
           return std::ranges::find(names, webhook.string_at("name")) != names.end();
         });
}

// Admission ignores the metadata of its policies and their parameters.
bool changes_more_than_metadata(const PlannedAction& write) {
  return (write.kind != ActionKind::Update && write.kind != ActionKind::Adopt) ||
         std::ranges::any_of(write.differences, [](const FieldDifference& difference) {
           return !difference.path.starts_with(".metadata.") && !difference.made;
         });
}

}  // namespace

Gates GateFinder::gates_of(const PlannedAction& refused, const std::vector<std::string>& names) {
  Gates gates;
  const std::set<GroupKind>& parameters = parameters_of(names);
  for (std::size_t i = 0; i < plan_.writes.size(); ++i) {
    const PlannedAction& write = plan_.writes[i];
    if (&write == &refused || !is_written(write) || plan_.is_hook(write)) continue;
    // A policy that isn't there yet refused nothing; parameters that aren't may be the reason.
    const bool gate = parameters.contains(write.key.group_kind) ||
                      (write.kind != ActionKind::Create && refuses(write, live_, names));
    if (gate && changes_more_than_metadata(write)) gates.writes.push_back(i);
  }
  for (std::size_t i = 0; i < plan_.removals.size(); ++i) {
    const PlannedAction& removal = plan_.removals[i];
    if (&removal != &refused && removal.kind == ActionKind::Delete && refuses(removal, live_, names))
      gates.removals.push_back(i);
  }
  return gates;
}

// As the server has the policy, and as the plan wants it. One policy may refuse many objects.
const std::set<GroupKind>& GateFinder::parameters_of(const std::vector<std::string>& names) {
  const auto [known, fresh] = parameters_.try_emplace(names);
  if (!fresh) return known->second;
  if (auto now = parameters_of_denier(client_, names, context_)) known->second = *std::move(now);
  known->second.merge(parameter_kinds(plan_, names));
  return known->second;
}

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
    PlannedAction& action;
    std::optional<std::size_t> write;  // its place among the writes; nullopt: it is a removal
    Gates gates;
  };
  GateFinder finder(client, plan, live, context);
  std::vector<Refused> refused;
  const auto look_at = [&](PlannedAction& action, std::optional<std::size_t> write) {
    if (action.kind != ActionKind::Conflict || !action.refusal.arguable || action.refusal.denied_by.empty())
      return;
    if (Gates gates = finder.gates_of(action, action.refusal.denied_by); !gates.empty())
      refused.push_back({action, write, std::move(gates)});
  };
  for (std::size_t i = 0; i < plan.writes.size(); ++i) look_at(plan.writes[i], i);
  for (PlannedAction& removal : plan.removals) look_at(removal, std::nullopt);
  MIST_TRY_VOID(context.check());
  if (refused.empty()) return {};
  for (const Refused& each : refused) {
    for (const std::size_t gate : each.gates.writes) plan.writes[gate].first = true;
    for (const std::size_t gate : each.gates.removals) plan.removals[gate].first = true;
  }
  MIST_TRY(plan.order, order_of(plan));
  for (const Refused& each : refused) {
    PlannedAction& action = each.action;
    action.refusal.arguable = false;
    // Another order was asked for.
    const auto late = std::ranges::find_if(each.gates.writes, [&](std::size_t gate) {
      return each.write && !comes_before(plan, gate, *each.write);
    });
    if (late != each.gates.writes.end()) {
      action.refusal.hint = fmt::format("apply {} first: an annotation or a dependency orders it later",
                                        plan.writes[*late].key.display());
      continue;
    }
    const PlannedAction& gate = each.gates.writes.empty() ? plan.removals[each.gates.removals.front()]
                                                          : plan.writes[each.gates.writes.front()];
    action.kind = action.refusal.meant;
    action.refusal.cause = ConflictCause::None;
    action.refusal.hint.clear();
    action.reason +=
        fmt::format("; {} {} first, so the server decides when its turn comes", gate.key.display(),
                    gate.kind == ActionKind::Delete ? "is deleted" : "is written");
  }
  return {};
}

bool refuses(const PlannedAction& gate, const LiveState& live, const std::vector<std::string>& names) {
  if (!is_of_admission(gate.key.group_kind)) return false;
  if (!is_webhook_configuration(gate.key.group_kind))
    return std::ranges::find(names, gate.key.name) != names.end();
  const auto there = live.find(gate.key);
  return there != live.end() && has_webhook(there->second.value, names);
}

bool stays_unanswered(const Plan& plan, const Error& failure) {
  const std::vector<std::string>& namespaces = kube::webhook_namespaces(failure);
  const auto may_repair = [&](const PlannedAction& write) {
    if (!is_written(write)) return false;
    const std::string& place =
        write.key.group_kind == apimachinery::kNamespace ? write.key.name : write.key.ns;
    return !place.empty() && std::ranges::find(namespaces, place) != namespaces.end();
  };
  return !namespaces.empty() && !changes_admission(plan) && std::ranges::none_of(plan.writes, may_repair);
}

std::set<std::string, std::less<>> names_of_first(const Plan& plan) {
  std::set<std::string, std::less<>> names = names_of_first(plan.removals);
  names.merge(names_of_first(plan.writes));
  return names;
}

std::set<std::string, std::less<>> names_of_first(const std::vector<PlannedAction>& actions) {
  std::set<std::string, std::less<>> names;
  for (const PlannedAction& action : actions) {
    // Those of its webhooks are in what they refused.
    names.insert(action.refusal.denied_by.begin(), action.refusal.denied_by.end());
    if (action.first) names.insert(action.key.name);
    for (const FieldDifference& difference : action.differences)
      if (action.first && difference.steps.size() >= 2 && difference.steps[1].kind == PathStep::Kind::Key)
        names.emplace(difference.steps[1].key.string_at("name"));
  }
  return names;
}

std::set<std::string, std::less<>> names_of_gates(const Plan& plan) {
  std::set<std::string, std::less<>> names = names_of_gates(plan.removals);
  names.merge(names_of_first(plan.writes));
  for (const PlannedAction& write : plan.writes) {
    if (!is_of_admission(write.key.group_kind) || !is_written(write) || write.kind == ActionKind::Create)
      continue;
    names.insert(write.key.name);
    const Value* const webhooks = plan.desired[write.desired].rendered.object.value().find("webhooks");
    if (webhooks == nullptr || !webhooks->is_array()) continue;
    for (const Value& webhook : webhooks->as_array()) names.emplace(webhook.string_at("name"));
  }
  return names;
}

std::set<std::string, std::less<>> names_of_gates(const std::vector<PlannedAction>& removals) {
  std::set<std::string, std::less<>> names = names_of_first(removals);
  for (const PlannedAction& removal : removals)
    if (removal.kind == ActionKind::Delete && is_of_admission(removal.key.group_kind))
      names.insert(removal.key.name);
  return names;
}

bool is_refused_by(const Error& failure, const std::set<std::string, std::less<>>& names) {
  return names.contains(kube::unanswering_webhook(failure)) ||
         std::ranges::any_of(kube::denied_by(failure),
                             [&](const std::string& name) { return names.contains(name); });
}

}  // namespace mist::apply
