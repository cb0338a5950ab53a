#pragma once
// The Sequence graph: what must be so before something else is written. Nodes are opaque numbers that the
// caller gives meaning; there are no Kubernetes words here. Every answer is a function of the edges as a set:
// the order in which they were added changes nothing. A plain value: build it, then any thread may read it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace mist::graph {

using Node = std::size_t;

enum class Strength : std::uint8_t {
  Hard,  ///< a cycle of these is an error
  Soft,  ///< a wish: relaxed() leaves it out where it would close a cycle
};

/// `before` precedes `after`; `label` is the caller's (which predicate must hold), `reason` is for people.
struct Edge {
  Node before = 0;
  Node after = 0;
  int label = 0;
  std::string reason;
  Strength strength = Strength::Hard;
  friend bool operator==(const Edge&, const Edge&) = default;
};

struct Relaxed;

/// The name of a node in messages.
using NameOf = std::function<std::string(Node)>;

class SequenceGraph {
 public:
  explicit SequenceGraph(std::size_t nodes) : out_(nodes), in_(nodes) {}

  /// Without edges; returns its number, the next one.
  Node add_node();
  /// Self edges are ignored. An edge that is there already, with the same label, keeps the stronger strength
  /// and gets both reasons ("a; b", sorted).
  void add(Edge edge);

  std::size_t size() const { return out_.size(); }
  const std::vector<Edge>& edges() const { return edges_; }
  /// Indices into edges().
  const std::vector<std::size_t>& edges_out(Node node) const { return out_[node]; }
  const std::vector<std::size_t>& edges_in(Node node) const { return in_[node]; }

  /// The same nodes with every edge turned round: the order for deleting.
  SequenceGraph reversed() const;

  /// Without the soft edges that would close a cycle. Every hard edge stays, so the result has a cycle only
  /// where the hard edges have one. Which soft edge of a cycle goes is a function of the edges. The work is
  /// bounded: in a strongly connected component that is too large, soft edges go that wouldn't close a cycle.
  Relaxed relaxed(std::size_t most_steps = kMostSteps) const;
  static constexpr std::size_t kMostSteps = 200'000'000;  ///< a second or so

  /// Every node after all of its predecessors; among free nodes the smallest number first. Invalid when
  /// there is a cycle: the message names its path through `name_of`, `because` the reason of each step.
  Result<std::vector<Node>> topological_order(const NameOf& name_of) const;

  /// One cycle of each strongly connected component of more than one node, a shortest one through
  /// its smallest node: indices of edges, each beginning where the one before ended. Empty: there is none. At
  /// most 20.
  std::vector<std::vector<std::size_t>> cycles() const;

  /// Why `after` comes after `before`, over however many steps: indices of edges of a shortest path. Empty:
  /// it doesn't, or they are one node.
  std::vector<std::size_t> explain(Node before, Node after) const;

  /// For each node the length of the longest path that ends there: all of one step may run together. Of a
  /// graph without cycles; a defect otherwise.
  std::vector<std::size_t> steps() const;

  /// For each node what is ahead of it: the sum of `costs`, one for each node, along the critical path that
  /// begins there, its own included. 0 for nodes that no order reaches, because they are part of a cycle or
  /// behind one.
  std::vector<std::size_t> ahead(const std::vector<std::size_t>& costs) const;

  /// For each edge: does a longer path say the same, so that the order would be the same without it? Labels
  /// are not looked at. Of a graph without cycles; a defect otherwise. Of more than 32,768 nodes: none.
  std::vector<bool> implied() const;

 private:
  std::vector<std::size_t> components()
      const;  // of each node: the number of its strongly connected component
  std::vector<std::size_t> sorted_out(Node node) const;
  bool reaches(Node from, Node to, std::size_t& steps) const;  // adds what it looked at
  std::vector<Node> order_of_free_nodes() const;               // shorter than size() when there is a cycle

  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> out_;
  std::vector<std::vector<std::size_t>> in_;
};

struct Relaxed {
  SequenceGraph graph;
  std::vector<Edge> dropped;  ///< sorted by before, after, label
};

/// The error for cycles: Invalid, with the path of the first in the message and the reason of each step of
/// all of them in `because`. `cycles` as cycles() gives them, not empty.
Error cycle_error(const SequenceGraph& graph, const std::vector<std::vector<std::size_t>>& cycles,
                  const NameOf& name_of);

}  // namespace mist::graph
