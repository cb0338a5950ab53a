#pragma once
// Runs a Sequence graph on a bounded number of threads: every node whose predecessors are done, all at once.

#include <functional>
#include <vector>

#include "base/context.h"
#include "graph/sequence.h"

namespace mist::apply {

/// As many requests as one HTTP/2 connection takes with room to spare; more wait at the server, fewer wait
/// for a far one.
inline constexpr std::size_t kMostAtOnce = 64;

/// The outcome of a node.
enum class NodeResult : std::uint8_t {
  NotStarted,  ///< blocked by a failure, or stopped
  Done,
  Failed,  ///< for an object: refused by the server, or of unknown outcome
};

struct GraphRun {
  std::vector<NodeResult> results;
  std::vector<std::pair<graph::Node, Error>> failures;  ///< by node
  /// Of each node that a failure blocked: the edges (indices) from the failed node to it, by node.
  std::vector<std::pair<graph::Node, std::vector<std::size_t>>> blocked = {};
};

/// Says how a node ended, from any thread, exactly once.
using NodeDone = std::function<void(Status)>;

struct NodeWork {
  /// Of each node about what it takes, in any unit. Nodes that are free begin by what is ahead of them,
  /// theirs included: the longest way first. Empty: each the same.
  std::vector<std::size_t> costs = {};
  /// Does a node on a worker thread.
  std::function<Status(graph::Node)> work;
  /// True for nodes that only wait for something: they are begun instead of worked on, and hold no worker.
  std::function<bool(graph::Node)> waits = {};
  /// Begins a wait and returns. It must end by itself when the context does.
  std::function<void(graph::Node, NodeDone)> begin = {};
};

/// Nothing new begins once `context` ends. Blocks until all that began has ended.
GraphRun run_graph(const graph::SequenceGraph& graph, std::size_t workers, const NodeWork& work,
                   const Context& context);
GraphRun run_graph(const graph::SequenceGraph& graph, std::size_t workers,
                   const std::function<Status(graph::Node)>& work, const Context& context);

}  // namespace mist::apply
