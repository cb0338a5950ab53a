#pragma once
// The order among the objects of one node, as a release's objects have it: what they say (a Deployment after
// the ConfigMap of its Pods, an object after the CRD of its kind) and what their annotations declare
// (apply/order/order.h). Pure; any thread.

#include <string>
#include <utility>
#include <vector>

#include "apply/order/order.h"
#include "reconcile/facts.h"

namespace mist::reconcile {

/// For each member those that come before it, with what they have to be then. Left out is what annotations
/// say of objects that aren't among them, what is malformed, and what would be a cycle.
std::vector<std::vector<Earlier>> order_of_members(const std::vector<Member>& members);

/// Why that member of the node can't be created yet; empty: it can. Of several reasons the first.
std::string waits_in_node(const Facts& node, const Member& member);

}  // namespace mist::reconcile
