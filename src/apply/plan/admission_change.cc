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

}  // namespace

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
