#pragma once
// Asks the server about the objects of a plan where what it would do can't be computed here: fields that look
// immutable or belong to others, kinds whose rules only the server knows, differences that may be none; and
// about every change whose refusal is to be known before anything is written (PlannedAction::ask). A
// server-side dry run for each of those, none for the rest. Blocking; any thread.

#include <set>

#include "apply/plan/plan.h"
#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

/// Whether the outcome of this action is for the server to say.
bool needs_the_server(const PlannedAction& action);

/// The kinds whose CRDs this plan changes: the server judges their objects by the CRD that it
/// has now, so that its refusal says nothing.
std::set<GroupKind> redefined_kinds(const Plan& plan);

/// Whether the server refused an apply only because another manager owns the label of the release's revision:
/// a client that copies one of our objects (a backup, `kubectl replace`) becomes its owner; it is ours all
/// the same.
bool is_about_our_label(const Error& refused);
/// Has it asked about every object that would be changed: what it refuses (an update strategy without its
/// fields, a claim that can't grow, rights that are missing) is then known before anything is written.
void ask_about_all_changes(Plan& plan);

/// Turns actions that the server would refuse into Conflicts or Replaces, and those that it would find equal
/// into Unchanged; then defer_to_order() and follow_replaced_definitions(). Actions that the server can't
/// judge (a webhook without dry runs, no permission) stay as planned. Errors: of the context.
Status settle(kube::Client& client, Plan& plan, const LiveState& live, const PlanRules& rules,
              const Context& context);

}  // namespace mist::apply
