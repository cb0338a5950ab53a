#pragma once
// Going back to a recorded revision as far as the server lets it: a claim that was grown can't shrink, a
// ConfigMap that became immutable stays so, a CustomResourceDefinition keeps a version that has stored
// objects. If one such object kept the whole plan from being carried out, all of the bad revision would stay.
// So it is left as it is, and everybody is told: the plan, the record, and whoever asks for the release.
// Pure.

#include <string>
#include <vector>

#include "apply/plan/plan.h"

namespace mist::apply {

/// After settle(): the release's own objects that the server refuses to change, or whose fields can't be
/// changed in place and that may not be replaced, become Unchanged with RecordedAction::left; so do objects
/// in a version that is served only by a CRD which is left itself. Objects that the server forbids to change
/// are tried all the same, and ownership problems stay Conflicts.
void leave_refused(Plan& plan, const LiveState& live, const PlanRules& rules);

/// For what the server refused only when it was written: what leave_refused() would have made of it.
void leave(PlannedAction& action, std::string_view why);
/// Whether this failure of a write may be answered by leaving the object: the server finds it invalid, or
/// admission denies it. Without the right to write it, all fails.
bool may_be_left(const Plan& plan, const PlannedAction& action, const Error& failure);

std::size_t count_left(const Plan& plan);
/// "PersistentVolumeClaim shop/data is left as it is: it is refused by the server (…)"
std::string left_words(const PlannedAction& action);
/// ", but for 1 object"; empty: nothing is left.
std::string but_for_left(const Plan& plan);

}  // namespace mist::apply
