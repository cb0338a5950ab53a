#pragma once
// Asks the server whether it would let a plan's deletes pass: found out about only once all else is written,
// a refusal leaves half of an upgrade. One dry run for each. Blocking; any thread.

#include "apply/plan/plan.h"
#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

/// Deletes that whoever asks has no right to, or that admission forbids, become Conflicts; not what admission
/// may judge otherwise once the plan's writes are written, which keeps its refusal as its reason. After the
/// last word about what is retained (action/deploy/containers.h). Errors: of the context.
Status ask_about_deletes(kube::Client& client, Plan& plan, const PlanRules& rules, const Context& context);

}  // namespace mist::apply
