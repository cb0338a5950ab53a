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

/// The kinds that wanted policies take parameters of: those with these names, or all.
std::set<GroupKind> parameter_kinds(const Plan& plan,
                                    const std::optional<std::vector<std::string>>& names = {});

/// Why the server may judge plan.writes[write] otherwise when its turn comes: "it is written after ConfigMap
/// shop/limits", "ResourceQuota shop/all changes with it". Empty: what this plan writes before it can't
/// change the answer.
std::string may_be_judged_otherwise(const Plan& plan, std::size_t write);

/// The kinds that the policy which denied a request, as kube::denied_by() names it, takes parameters of, as
/// the server has it: besides these a policy judges by itself and by its binding alone. Nullopt: a webhook
/// denied the request, which may judge by anything, or the policy can't be read.
std::optional<std::set<GroupKind>> parameters_of_denier(kube::Client& client,
                                                        const std::vector<std::string>& denied_by,
                                                        const Context& context);

/// Of a dry run that creates what may be there already: whether the object could not be created either if it
/// were gone. The quota still counts the old one.
bool forbids_creating(const Error& failure);

/// The writes of the plan, by their places, that come before this one in `order`, at any distance.
std::vector<std::size_t> writes_before(const Plan& plan, const Order& order, std::size_t write);

/// Whether plan.writes[first] is written before plan.writes[later].
bool comes_before(const Plan& plan, std::size_t first, std::size_t later);

/// Something of this plan that admission looks at, and that is written after it. Null: nothing.
const PlannedAction* judged_by_later(const Plan& plan, std::size_t write);

/// Conflicts that settle() found arguable and that the order may answer become what they were, with the
/// refusal as their reason.
void defer_to_order(Plan& plan);

}  // namespace mist::apply
