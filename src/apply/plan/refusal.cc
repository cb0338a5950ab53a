#include "apply/plan/refusal.h"

#include <algorithm>
#include <deque>
#include <set>

#include "apply/plan/admission_change.h"
#include "kube/api_failure.h"

namespace mist::apply {

using graph::Node;

bool is_written(const PlannedAction& action) {
  switch (action.kind) {
    case ActionKind::Create:
    case ActionKind::Update:
    case ActionKind::Replace:
    case ActionKind::Adopt:
      return true;
    case ActionKind::Unchanged:
    case ActionKind::Conflict:
    case ActionKind::Delete:
    case ActionKind::Retain:
      return false;
  }
  return false;
}

namespace {

const kube::ResourceInfo kPolicies{{"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"},
                                   "validatingadmissionpolicies",
                                   false,
                                   {}};

// The kind that a policy takes parameters of.
std::optional<GroupKind> parameter_kind(const Value& policy) {
  const std::string_view version = policy.string_at({"spec", "paramKind", "apiVersion"});
  const std::string_view kind = policy.string_at({"spec", "paramKind", "kind"});
  if (kind.empty()) return std::nullopt;
  const auto slash = version.find('/');
  return GroupKind{
      std::string(slash == std::string_view::npos ? std::string_view() : version.substr(0, slash)),
      std::string(kind)};
}

// All that comes before `node`, or after it: the nearest first.
std::vector<Node> reached(const graph::SequenceGraph& graph, Node node, bool before) {
  std::vector<Node> found;
  std::set<Node> known{node};
  std::deque<Node> open{node};
  while (!open.empty()) {
    const Node at = open.front();
    open.pop_front();
    for (const std::size_t index : before ? graph.edges_in(at) : graph.edges_out(at)) {
      const graph::Edge& edge = graph.edges()[index];
      const Node next = before ? edge.before : edge.after;
      if (!known.insert(next).second) continue;
      found.push_back(next);
      open.push_back(next);
    }
  }
  return found;
}

// Whether admission of an object in `ns` may depend on it.
bool is_looked_at(const PlannedAction& action, const std::set<GroupKind>& parameters, const std::string& ns) {
  const GroupKind& kind = action.key.group_kind;
  if (is_of_admission(kind) || kind.group == "rbac.authorization.k8s.io") return true;
  if (kind == apimachinery::kCustomResourceDefinition || parameters.contains(kind)) return true;
  if (kind == GroupKind{"", "ResourceQuota"} || kind == GroupKind{"", "LimitRange"})
    return action.key.ns == ns;
  return kind == apimachinery::kNamespace && action.key.name == ns;  // its labels
}

}  // namespace

std::set<GroupKind> parameter_kinds(const Plan& plan, const std::optional<std::vector<std::string>>& names) {
  std::set<GroupKind> kinds;
  for (const DesiredObject& desired : plan.desired) {
    if (!is_of_admission(desired.key.group_kind)) continue;
    if (names && std::ranges::find(*names, desired.key.name) == names->end()) continue;
    if (auto kind = parameter_kind(desired.rendered.object.value())) kinds.insert(*std::move(kind));
  }
  return kinds;
}

std::optional<std::set<GroupKind>> parameters_of_denier(kube::Client& client,
                                                        const std::vector<std::string>& denied_by,
                                                        const Context& context) {
  constexpr std::size_t kPolicyAndBinding = 2;
  if (denied_by.size() != kPolicyAndBinding) return std::nullopt;
  const auto policy = client.get({kPolicies, "", denied_by.front()}, context);
  if (!policy.ok()) return std::nullopt;
  std::set<GroupKind> kinds;
  if (auto kind = parameter_kind(*policy)) kinds.insert(*std::move(kind));
  return kinds;
}

bool forbids_creating(const Error& failure) {
  return kube::is_denied(failure) && !kube::is_over_quota(failure);
}

std::vector<std::size_t> writes_before(const Plan& plan, const Order& order, std::size_t write) {
  std::vector<std::size_t> before;
  for (const Node node : reached(order.graph, write, true))
    if (node < plan.writes.size()) before.push_back(node);
  return before;
}

bool comes_before(const Plan& plan, std::size_t first, std::size_t later) {
  const std::vector<std::size_t> before = writes_before(plan, plan.order, later);
  return std::ranges::find(before, first) != before.end();
}

std::string may_be_judged_otherwise(const Plan& plan, std::size_t write) {
  const graph::SequenceGraph& graph = plan.order.graph;
  for (const Node node : reached(graph, write, true)) {
    if (node < plan.writes.size() && is_written(plan.writes[node]))
      return fmt::format("it is written after {}", plan.writes[node].key.display());
  }
  const std::set<GroupKind> parameters = parameter_kinds(plan);
  const std::vector<Node> later = reached(graph, write, false);
  const std::set<Node> after(later.begin(), later.end());
  for (Node node = 0; node < plan.writes.size(); ++node) {
    const PlannedAction& other = plan.writes[node];
    if (node != write && !after.contains(node) && is_written(other) &&
        is_looked_at(other, parameters, plan.writes[write].key.ns))
      return fmt::format("{} changes with it", other.key.display());
  }
  return {};
}

const PlannedAction* judged_by_later(const Plan& plan, std::size_t write) {
  const std::set<GroupKind> parameters = parameter_kinds(plan);
  for (const Node node : reached(plan.order.graph, write, false)) {
    if (node < plan.writes.size() && is_written(plan.writes[node]) &&
        is_looked_at(plan.writes[node], parameters, plan.writes[write].key.ns))
      return &plan.writes[node];
  }
  return nullptr;
}

void defer_to_order(Plan& plan) {
  for (std::size_t i = 0; i < plan.writes.size(); ++i) {
    PlannedAction& action = plan.writes[i];
    if (!action.refusal.arguable) continue;
    action.refusal.arguable = false;
    const bool refused = action.refusal.cause == ConflictCause::Refused ||
                         action.refusal.cause == ConflictCause::Denied ||
                         action.refusal.cause == ConflictCause::NoRight;
    if (action.kind != ActionKind::Conflict || !refused) continue;
    if (const std::string why = may_be_judged_otherwise(plan, i); !why.empty()) {
      action.kind = action.refusal.meant;
      action.refusal.cause = ConflictCause::None;
      action.refusal.hint.clear();
      action.reason += fmt::format("; {}, so the server decides when its turn comes", why);
      continue;
    }
    if (const PlannedAction* const later = judged_by_later(plan, i))
      action.refusal.hint = fmt::format(
          "it would be written before {}: if it is to be written after it, say so with the "
          "annotation {}: {}/{}",
          later->key.display(), kAfterAnnotation, later->key.group_kind.kind, later->key.name);
  }
}

}  // namespace mist::apply
