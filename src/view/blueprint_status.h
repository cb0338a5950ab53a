#pragma once
// An instance's graph on a cluster, and why an object is there or not, for people and as JSON. Pure; any
// thread.

#include <string>

#include "action/authoring/blueprint_live.h"
#include "encoding/value.h"

namespace mist::view {

std::string instance_graph_text(const action::InstanceGraph& graph, bool color);
/// schemas/cli/blueprint-status.schema.json.
encoding::Value instance_graph_value(const action::InstanceGraph& graph);

std::string why_text(const action::Why& why, bool color);
/// schemas/cli/blueprint-why.schema.json.
encoding::Value why_value(const action::Why& why);

}  // namespace mist::view
