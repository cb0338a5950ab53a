#pragma once
// What an instance's status says of a plan: conditions by the conventions of the Kubernetes API. Pure; any
// thread.

#include <string>
#include <string_view>

#include "reconcile/decide.h"

namespace mist::reconcile {

/// "Waiting", "Ready", …: also the reasons of conditions.
std::string_view word(NodeState state);

/// What the status has of that type; null: nothing.
const Value* condition_of(const Value& instance, std::string_view type);
/// A metav1.Condition about the instance as it is now; it keeps the time of the last one whose status was the
/// same. `now`: RFC 3339.
Value condition(std::string_view type, std::string_view status, std::string_view reason, std::string message,
                const Value& instance, const std::string& now);

/// status.conditions of an instance: Ready always; Oscillating while a node comes and goes too often.
/// `now`: RFC 3339, for conditions that change.
Value status_of(const Plan& plan, const Value& instance, const std::string& now);

/// Whether the instance's status says that already.
bool has_status(const Value& instance, const Value& status);

/// Which node the condition Ready is about: the one that people have to know of first. Null: all is well.
const NodeReport* problem_of(const Plan& plan);

}  // namespace mist::reconcile
