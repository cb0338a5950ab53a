#pragma once
// Asks the server whether it would let deletes pass: found out about only once all else is written, a refusal
// leaves half of an upgrade. One dry run for each. Blocking; any thread.

#include "apply/plan/observe.h"
#include "apply/plan/plan.h"
#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

/// Of a plan, after the last word about what is retained (action/deploy/containers.h): deletes that whoever
/// asks has no right to become Conflicts, and those that admission forbids, unless what it judges by changes
/// with the plan (refusal.h): then the refusal is added to their reason. `leaves_denied`: so it is of all
/// that admission forbids, since it stays where it is then (RemovalOptions::leave_denied). Errors: of the
/// context.
Status ask_about_deletes(kube::Client& client, Plan& plan, const PlanRules& rules, bool leaves_denied,
                         const Context& context);

/// The same of an uninstall, which writes nothing. Policies and webhooks that go too go first, and are marked
/// so. Another webhook may allow later what it forbids now, once others are gone: its refusal is added to the
/// reason. All objects are asked about where anything in the cluster judges deletes of their group, else one
/// of each kind and namespace, which tells of rights.
Status ask_about_deletes(kube::Client& client, std::vector<PlannedAction>& removals, const LiveState& live,
                         bool read_only, const Context& context);

/// Conflict, naming the objects that can't be deleted; ok: there are none.
Status refuse_undeletable(const std::vector<PlannedAction>& removals);

}  // namespace mist::apply
