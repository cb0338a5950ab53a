#pragma once
// The Sequence graph of a set of objects: which must be so before which is written. Edges are inferred from
// what the objects say (tables in order.cc) and declared by annotation; docs/order.md is the specification.
// Inferred edges ask only that their source is present, but for CRDs and API services: waiting for
// more would deadlock where binding a claim waits for a Pod. Pure; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apimachinery/object.h"
#include "apply/plan/hooks.h"
#include "graph/sequence.h"

namespace mist::apply {

/// Written by people on objects: "comes after these", "comes before these". declared_order.h has the grammar.
inline constexpr std::string_view kAfterAnnotation = "mistletoe.dev/after";
inline constexpr std::string_view kBeforeAnnotation = "mistletoe.dev/before";

/// The state that an edge's source must reach; the label of graph::Edge.
enum class EdgePredicate : int {
  Present = 0,      ///< written
  Established = 1,  ///< a CustomResourceDefinition whose kind is served
  Available = 2,    ///< an APIService whose group is served
  Ready = 3,        ///< as readiness.h judges; declared only
  Absent = 4,       ///< gone; declared only, of objects outside of the release
  Done = 5,         ///< ended well; of hooks only
};
std::string_view to_string(EdgePredicate predicate);  ///< "present", "established", …
inline EdgePredicate predicate_of(const graph::Edge& edge) { return static_cast<EdgePredicate>(edge.label); }

/// Something that isn't part of the release, which a declared edge waits for.
struct OutsideObject {
  std::string kind;  ///< as written, case included
  std::optional<std::string> group;
  std::string ns;  ///< of the object that declares it, if it names none; ignored for cluster-scoped kinds
  std::string name;
  bool optional = false;  ///< if it isn't there, nothing is waited for

  std::string display() const;  ///< "Secret shop/db"
  friend auto operator<=>(const OutsideObject&, const OutsideObject&) = default;
};

/// The input of infer_order for an object; the pointer must be good for the call only.
struct OrderedObject {
  const apimachinery::Object* object = nullptr;
  std::string_view file = {};      ///< of the package's result
  SourceLocation place = {};       ///< for errors
  const HookRole* hook = nullptr;  ///< null: an ordinary object
  bool unreadable = false;         ///< it comes after all that may make it readable (conversion.h)
  bool lets_pass = false;          ///< it comes before everything else (admission_change.h)
};

enum class NodeRole : std::uint8_t { Object, Barrier, Outside };

/// Nodes [0, objects) are the objects as they were given, then barriers ("everything else" before what comes
/// last), then outside objects.
struct Order {
  graph::SequenceGraph graph{0};  ///< without cycles
  std::size_t objects = 0;
  std::size_t barriers = 0;
  std::vector<OutsideObject> outside = {};
  std::vector<graph::Edge> dropped = {};  ///< inferred edges that would have closed a cycle
  // Barriers, where there are hooks.
  std::optional<graph::Node> before_ended = {};  ///< the hooks that come before everything else have ended
  std::optional<graph::Node> written = {};       ///< everything else is written: what comes after may begin
  std::optional<graph::Node> after_ended = {};   ///< the hooks that come after everything else have ended

  NodeRole role(graph::Node node) const;
  const OutsideObject& outside_at(graph::Node node) const { return outside[node - objects - barriers]; }
};

/// Invalid, with file and line: a declared target that isn't among the objects (the nearest is named), a
/// malformed annotation, and a cycle, with its path and the reason of each step.
Result<Order> infer_order(const std::vector<OrderedObject>& objects);

/// The order in which to delete these objects, dependents first: infer_order turned round, as far as it goes.
/// It can't fail: what is declared but not here, malformed or part of a cycle is left out, since stored
/// objects must always be removable.
graph::SequenceGraph removal_order(const std::vector<const apimachinery::Object*>& objects);

}  // namespace mist::apply
