#pragma once
// Which nodes of a Sequence graph may start now: everything whose predecessors are done, all at once. Failure
// blocks descendants only. Pure bookkeeping without threads; apply/execute/run_graph.cc adds those. One
// owner.

#include <vector>

#include "graph/sequence.h"

namespace mist::graph {

class Schedule {
 public:
  /// `graph` must live as long. Nodes of a cycle are never handed out.
  explicit Schedule(const SequenceGraph& graph);

  /// Nodes that became free since the last call, in ascending order; each is handed out once.
  std::vector<Node> take_ready();

  void succeeded(Node node);
  /// Every descendant becomes blocked and is never handed out.
  void failed(Node node);

  /// True when every node has succeeded, failed or is blocked.
  bool finished() const { return open_ == 0; }
  const std::vector<Node>& blocked() const { return blocked_; }
  /// Why a blocked node is: the edges from a failed node to it. Empty: it isn't blocked.
  std::vector<std::size_t> why_blocked(Node node) const;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  void block_descendants(Node node);
  const SequenceGraph& graph_;
  std::vector<std::size_t> missing_;
  std::vector<std::size_t> blocked_through_;  // the edge; kNone: not blocked
  std::vector<Node> ready_;
  std::vector<Node> blocked_;
  std::size_t open_;
};

}  // namespace mist::graph
