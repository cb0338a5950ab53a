#pragma once
// mistletoe.ncl: what the authors of blueprints import, and what the operator calls.

#include <string_view>

namespace mist::blueprint {

inline constexpr std::string_view kLibrary = R"ncl(
# The library for blueprints: contracts, and what the operator evaluates. docs/operator.md explains it.
let TheAlsoEdge = {
  from | String | doc "The node, or \"instance\", because of which the other one is wanted",
  to | String,
  when
    | String
    | doc "A path in the instance: the edge holds while that is set, and not to false"
    | optional,
}
in
let TheSequenceEdge = {
  from | String,
  to | String,
  until
    | std.enum.TagOrString
    | [| 'present, 'ready |]
    | doc "How the first node must be before anything is written to the second"
    | default
    = 'ready,
  extract
    | { _ : String }
    | doc "Values for the second node's function: a name, and where it stands in the first node's object"
    | default
    = {},
}
in
let TheNode = {
  own | doc "Makes the object: a function of { instance, … and what edges extract }" | optional,
  read | doc "The object that is looked at: a function of the same, which gives apiVersion, kind and metadata" | optional,
}
in
let TheBlueprint = {
  kind
    | doc "Whose instances are the roots of the graph"
    | { group | String, version | String, kind | String },
  nodes | { _ : TheNode },
  also | Array TheAlsoEdge | default = [],
  sequence | Array TheSequenceEdge | default = [],
}
in
let type_of = fun name node =>
  if std.record.has_field "own" node then
    "own"
  else if std.record.has_field "read" node then
    "read"
  else
    std.fail_with "the node %{name} has neither own nor read"
in
{
  Blueprint = TheBlueprint,
  AlsoEdge = TheAlsoEdge,
  SequenceEdge = TheSequenceEdge,
  Node = TheNode,

  evaluate = fun blueprint input =>
    let checked = blueprint | TheBlueprint in
    let value =
      if std.record.has_field "node" input then
        let node = checked.nodes."%{input.node}" in
        (if std.record.has_field "own" node then node.own else node.read) input.environment
      else
        {
          kind = checked.kind,
          nodes = std.record.map type_of checked.nodes,
          also = checked.also,
          sequence = checked.sequence,
        }
    in
    { apiVersion = "mistletoe.dev/v1", kind = "Evaluation", result = value },
}
)ncl";

/// Calls it.
inline constexpr std::string_view kMain = R"ncl(
fun input => (import "mistletoe.ncl").evaluate (import "blueprint.ncl") input
)ncl";

}  // namespace mist::blueprint
