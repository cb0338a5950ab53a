#include "apply/plan/admission_change.h"

#include <algorithm>
#include <span>

namespace mist::apply {
namespace {

using apimachinery::GroupKind;

const GroupKind kWebhookKinds[] = {{"admissionregistration.k8s.io", "MutatingWebhookConfiguration"},
                                   {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"}};

bool holds_all_of(const Value& list, const Value& items) {
  return list.is_array() && items.is_array() && std::ranges::all_of(items.as_array(), [&](const Value& item) {
           return std::ranges::find(list.as_array(), item) != list.as_array().end();
         });
}

bool is_field(const PathStep& step, std::string_view name) {
  return step.kind == PathStep::Kind::Field && step.name == name;
}

// Requirements of a selector, and match conditions: all of them must hold, so more of them choose less.
bool adds_requirements(const FieldDifference& difference) {
  return !difference.removal() &&
         (difference.before.is_null() || holds_all_of(difference.after, difference.before));
}

// `field`: the way to it inside of one webhook.
bool lets_pass(const FieldDifference& difference, std::span<const PathStep> field) {
  if (field.empty()) return difference.removal();
  if (field.size() == 1 && is_field(field[0], "failurePolicy")) return difference.after == Value("Ignore");
  if (field.size() == 1 && is_field(field[0], "rules"))
    return holds_all_of(difference.before, difference.after);
  const bool chooses = is_field(field[0], "namespaceSelector") || is_field(field[0], "objectSelector") ||
                       is_field(field[0], "matchConditions");
  return chooses && adds_requirements(difference);
}

// "*/*" is a resource with its subresources.
bool names(const Value& rule, std::string_view list, std::string_view name) {
  const Value* const all = rule.find(list);
  return all != nullptr && all->is_array() && std::ranges::any_of(all->as_array(), [&](const Value& each) {
           const std::string_view text = each.is_string() ? std::string_view(each.as_string()) : "";
           return text == "*" || text == "*/*" || text == name;
         });
}

}  // namespace

bool has_rule_for(const Value& configuration, std::string_view group, std::string_view resource,
                  std::initializer_list<std::string_view> operations) {
  const auto matches = [&](const Value* rules) {
    return rules != nullptr && rules->is_array() &&
           std::ranges::any_of(rules->as_array(), [&](const Value& rule) {
             return names(rule, "apiGroups", group) &&
                    (resource.empty() || names(rule, "resources", resource)) &&
                    std::ranges::any_of(operations, [&](std::string_view operation) {
                      return names(rule, "operations", operation);
                    });
           });
  };
  if (matches(configuration.at_path({"spec", "matchConstraints", "resourceRules"}))) return true;
  const Value* const webhooks = configuration.find("webhooks");
  return webhooks != nullptr && webhooks->is_array() &&
         std::ranges::any_of(webhooks->as_array(),
                             [&](const Value& webhook) { return matches(webhook.find("rules")); });
}

bool is_of_admission(const GroupKind& kind) { return kind.group == "admissionregistration.k8s.io"; }

bool only_lets_pass(const GroupKind& kind, const std::vector<FieldDifference>& differences) {
  if (std::ranges::find(kWebhookKinds, kind) == std::end(kWebhookKinds)) return false;
  bool found = false;
  for (const FieldDifference& difference : differences) {
    const std::span<const PathStep> steps(difference.steps);
    // The server made it of the same wanted value before: a rule's scope.
    if (difference.made) continue;
    if (!steps.empty() && is_field(steps[0], "metadata")) continue;
    const bool in_one = steps.size() >= 2 && is_field(steps[0], "webhooks") &&
                        steps[1].kind == PathStep::Kind::Key && !difference.stays_with_others();
    if (!in_one || !lets_pass(difference, steps.subspan(2))) return false;
    found = true;
  }
  return found;
}

}  // namespace mist::apply
