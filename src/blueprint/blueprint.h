#pragma once
// A blueprint: which resources belong to an instance of a custom resource, what is needed because of what
// (Also), and what comes before what (Sequence), with the values that flow along those edges. Here it is
// data, as the Nickel program describes it (evaluator.h); the functions that make objects stay in Nickel.
// Plain values; any thread.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apimachinery/gvk.h"
#include "base/result.h"
#include "encoding/value.h"
#include "graph/also.h"
#include "graph/sequence.h"

namespace mist::blueprint {

using encoding::Value;

enum class NodeType : std::uint8_t {
  Own,   ///< an object that is made, kept as wanted, and deleted with the instance
  Read,  ///< somebody else's object: looked at, never written
};

struct Node {
  std::string name;
  NodeType type = NodeType::Own;
};

/// A place in an object: the names of the fields that lead to it.
struct FieldPath {
  std::vector<std::string> fields;
  std::string text;  ///< "spec.clusterIP"; a dot within a name is written `\.`

  /// Invalid: it is empty, or has an empty name.
  static Result<FieldPath> parse(std::string_view text);
  /// Null: the object has nothing there.
  const Value* find(const Value& object) const;
};

enum class Condition : std::uint8_t {
  Present,  ///< it is there and isn't being deleted
  Ready,    ///< and ready by the rules of its kind
};

/// A value that the function of the edge's end is given.
struct Extraction {
  std::string name;
  FieldPath path;
};

/// "Before anything is written to `to`, `from` is so." Says nothing about whether either is needed.
struct SequenceEdge {
  graph::Node from = 0, to = 0;
  Condition until = Condition::Ready;
  std::vector<Extraction> extract = {};
};

class Blueprint {
 public:
  /// What describe() of the Nickel library gives. Invalid, naming the place: an edge of a node that isn't
  /// there, two values of one name for one node, a node that no Also edge leads to, a cycle in Sequence (with
  /// its path).
  static Result<Blueprint> parse(const Value& description);

  const apimachinery::GroupVersionKind& instances() const { return instances_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  std::string name_of(graph::Node node) const;
  const std::vector<SequenceEdge>& sequence() const { return sequence_; }
  /// The nodes, each after all that come before it.
  const std::vector<graph::Node>& order() const { return order_; }
  /// Which nodes an instance wants.
  graph::Closure wanted(const Value& instance) const;

 private:
  Status read_nodes(const Value& description);
  Status read_also(const Value& description);
  Status read_sequence(const Value& description);
  Result<graph::Node> node(std::string_view name, std::string_view where) const;
  graph::Node root() const { return nodes_.size(); }

  apimachinery::GroupVersionKind instances_;
  std::vector<Node> nodes_;
  graph::AlsoGraph also_{0};  // its last node is the instance
  std::vector<FieldPath> guards_;
  std::vector<SequenceEdge> sequence_;
  std::vector<graph::Node> order_;
};

}  // namespace mist::blueprint
