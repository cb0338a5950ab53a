#pragma once
// How the packages of a release are drawn: for people, for Graphviz, for Mermaid, as JSON. Pure; any thread.

#include <string>

#include "action/query/package_graph.h"
#include "encoding/value.h"

namespace mist::view {

/// A tree: each package below those that call it. Its own calls are drawn the first time.
std::string package_graph_text(const action::PackageGraph& graph, bool color);
std::string package_graph_dot(const action::PackageGraph& graph);
std::string package_graph_mermaid(const action::PackageGraph& graph);
/// schemas/cli/graph-packages.schema.json.
encoding::Value package_graph_value(const action::PackageGraph& graph);

}  // namespace mist::view
