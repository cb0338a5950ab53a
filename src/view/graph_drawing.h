#pragma once
// How a release's order is drawn: for people, for Graphviz, for Mermaid, as JSON. Pure; any thread.

#include <string>

#include "action/query/graph.h"
#include "encoding/value.h"

namespace mist::view {

/// Steps, one object a line, with what each comes after and why; what follows from other edges is left out.
std::string graph_text(const action::ReleaseGraph& graph, bool color);
std::string graph_dot(const action::ReleaseGraph& graph);
std::string graph_mermaid(const action::ReleaseGraph& graph);
/// Every edge, also those that follow from others; schemas/cli/graph.schema.json.
encoding::Value graph_value(const action::ReleaseGraph& graph);

}  // namespace mist::view
