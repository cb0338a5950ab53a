#pragma once
// The order among the objects of one node, as a release's objects have it: what they say (a Deployment after
// the ConfigMap of its Pods, an object after the CRD of its kind) and what their annotations declare
// (apply/order/order.h). Pure; any thread.

#include <string>
#include <vector>

#include "reconcile/facts.h"

namespace mist::reconcile {

/// Tells each of several objects that isn't there which of the others come before it. Left out is what
/// annotations say of objects that aren't among them, what is malformed, and what would be a cycle.
void order_members(std::vector<Member>& members);

/// Why that one of `members` can't be created yet; empty: it can. Of several reasons the first.
std::string waits_in_node(const std::vector<Member>& members, const Member& member);

}  // namespace mist::reconcile
