#pragma once
// The objects that the packages of an instance's package nodes made, as they are now. Reads only. One thread.

#include "action/authoring/blueprint_live.h"
#include "action/environment.h"

namespace mist::action {

/// Fills in `release_objects` of the graph: of each package node whose release is there, what `mistctl
/// status` shows of it. A record that can't be read is one of the graph's troubles. Errors: Cancelled,
/// Timeout.
Status add_release_objects(const Environment& environment, InstanceGraph& graph, const Context& context);

}  // namespace mist::action
