#pragma once
// Going back (left_as_is.h): an object that is left as it is still uses what came with it, perhaps what only
// the newer revision wanted: the Pods of a Deployment that is left mount a ConfigMap that the earlier one
// doesn't have. As long as it is there, so is that. Pure; any thread.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "apply/plan/plan.h"

namespace mist::apply {

/// By objects of a plan that are there: which of its deletes each names in its fields, as it is now.
using UsedRemovals = std::map<ObjectKey, std::vector<ObjectKey>>;

/// Of the objects that may be left, and of the deletes themselves.
UsedRemovals used_removals(const Plan& plan, const LiveState& live);

/// The deletes that the objects `left` use, directly or by way of each other, with why each stays, in one
/// sentence.
std::map<ObjectKey, std::string> used_by_left(const UsedRemovals& used, const std::set<ObjectKey>& left);

/// Makes Retains with RecordedAction::left of the deletes that the plan's left objects use. False: it has
/// none.
bool retain_used_by_left(Plan& plan, const UsedRemovals& used);

}  // namespace mist::apply
