#pragma once
// How the two relations of a blueprint are drawn: for people, for Graphviz, for Mermaid, as JSON. Pure; any
// thread.

#include <functional>
#include <string>

#include "blueprint/blueprint.h"
#include "encoding/value.h"

namespace mist::view {

/// Nodes below what they are wanted because of, then nodes by their order, with what each waits for and is
/// given.
std::string blueprint_text(const std::string& name, const blueprint::Blueprint& blueprint, bool color);
/// Also edges are dashed, Sequence edges are solid.
std::string blueprint_dot(const std::string& name, const blueprint::Blueprint& blueprint);
std::string blueprint_mermaid(const blueprint::Blueprint& blueprint);
/// schemas/cli/blueprint-graph.schema.json.
encoding::Value blueprint_value(const std::string& name, const blueprint::Blueprint& blueprint);

/// The tree of what is wanted because of what: a line for each node, as `line` draws it; below it `below`.
std::string also_tree(const blueprint::Blueprint& blueprint, bool color,
                      const std::function<std::string(graph::Node)>& line,
                      const std::function<std::vector<std::string>(graph::Node)>& below);

}  // namespace mist::view
