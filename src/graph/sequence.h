#pragma once
// The Sequence graph: what must be so before something else is written. Nodes are opaque numbers that the
// caller gives meaning; there are no Kubernetes words here. A plain value: build it, then any thread may read
// it.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace mist::graph {

using Node = std::size_t;

/// `before` precedes `after`; `label` is the caller's (which predicate must hold), `reason` is for people.
struct Edge {
  Node before = 0;
  Node after = 0;
  int label = 0;
  std::string reason;
};

class SequenceGraph {
 public:
  explicit SequenceGraph(std::size_t nodes) : out_(nodes), in_(nodes) {}

  /// Self edges and repeated edges with the same label are ignored.
  void add(Edge edge);

  std::size_t size() const { return out_.size(); }
  const std::vector<Edge>& edges() const { return edges_; }
  /// Indices into edges().
  const std::vector<std::size_t>& edges_out(Node node) const { return out_[node]; }
  const std::vector<std::size_t>& edges_in(Node node) const { return in_[node]; }

  /// The same nodes with every edge turned round: the order for deleting.
  SequenceGraph reversed() const;

  /// Every node after all of its predecessors; among free nodes the smallest number first, so the order is
  /// one function of the graph. Invalid when there is a cycle; the message names its path through `name_of`.
  Result<std::vector<Node>> topological_order(const std::function<std::string(Node)>& name_of) const;

  /// The nodes of one cycle in order, the first not repeated at the end; empty if there is none.
  std::vector<Node> find_cycle() const;

 private:
  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> out_;
  std::vector<std::vector<std::size_t>> in_;
};

}  // namespace mist::graph
