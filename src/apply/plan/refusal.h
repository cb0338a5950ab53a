#pragma once
// Whether a refusal is the server's last word: what it refuses as things are, it may take once what comes
// before it is written. Admission may look at a ConfigMap, at a policy, at a quota of the same release. Pure;
// any thread.

#include <optional>
#include <set>
#include <string>

#include "apply/plan/plan.h"

namespace mist::apply {

/// Whether the plan writes the object.
bool is_written(const PlannedAction& action);

/// ValidatingAdmissionPolicy.
extern const kube::ResourceInfo kPolicies;

/// The kind that an admission policy takes parameters of; nullopt: of none.
std::optional<GroupKind> parameter_kind(const Value& policy);

/// The kinds that policies of the release take parameters of.
std::set<GroupKind> parameter_kinds(const Plan& plan);

/// Why the server may judge plan.writes[write] otherwise when its turn comes: "it is written after ConfigMap
/// shop/limits", "ResourceQuota shop/all changes with it". Empty: what this plan writes before it can't
/// change the answer.
std::string may_be_judged_otherwise(const Plan& plan, std::size_t write);

/// Whether what denied a request, as kube::denied_by() names it, may judge by the written object: a webhook
/// by anything; a policy by its parameters alone, of whatever kind they are, and by itself and its binding.
bool may_be_judged_by(kube::Client& client, const std::vector<std::string>& denied_by,
                      const PlannedAction& write, const Context& context);

/// Whether plan.writes[first] is written before plan.writes[later].
bool comes_before(const Plan& plan, std::size_t first, std::size_t later);

/// Something of this plan that admission looks at, and that is written after it. Null: nothing.
const PlannedAction* judged_by_later(const Plan& plan, std::size_t write);

/// Conflicts that settle() found arguable and that the order may answer become what they were, with the
/// refusal as their reason.
void leave_to_the_order(Plan& plan);

}  // namespace mist::apply
