#pragma once
// The status of an instance, as a plan describes it: conditions by the conventions of the Kubernetes API.
// Pure; any thread.

#include <string>
#include <string_view>

#include "reconcile/decide.h"

namespace mist::reconcile {

/// "Waiting", "Ready", …: also the reasons of conditions.
std::string_view word(NodeState state);

/// A metav1.Condition about the instance as it is now; it keeps the time of the last one whose status was the
/// same. `now`: RFC 3339.
Value condition(std::string_view type, std::string_view status, std::string_view reason, std::string message,
                const Value& instance, const std::string& now);

/// The status of an instance. Conditions: Ready always; SpecValid if the spec has a contract; StatusValid
/// while nodes give it what its contract refuses; SourcesAnswer while HTTP nodes of it fail; RecordComplete
/// while objects are left of which its record told that was lost; Oscillating while a node comes and goes too
/// often. Stalled is add_stalled()'s. Beside them, what nodes write. `now`: RFC 3339, for conditions that
/// change.
Value status_of(const Plan& plan, const Value& instance, const std::string& now);

/// Adds to a status of status_of() that its instance is not ready though `deadline` is over: the condition
/// Stalled. While there is time left there is none. `now`: as there.
void add_stalled(Value& status, Duration deadline, const Value& instance, const std::string& now);

/// The values of nodes that the instance's status has.
Value status_before(const blueprint::Blueprint& blueprint, const Value& instance);

/// Whether the instance's status says that already, and has no value that a node of `blueprint` gave it and
/// doesn't give any more. Null: there is no blueprint.
bool has_status(const blueprint::Blueprint* blueprint, const Value& instance, const Value& status);

/// Which node the condition Ready is about: the one that people have to know of first. Null: all is well.
const NodeReport* problem_of(const Plan& plan);

}  // namespace mist::reconcile
