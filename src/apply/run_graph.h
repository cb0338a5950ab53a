#pragma once
// Runs a Sequence graph on a bounded number of threads: every node whose predecessors are done, all at once.

#include <functional>
#include <vector>

#include "base/context.h"
#include "graph/sequence.h"

namespace mist::apply {

/// What became of each node.
enum class NodeResult : std::uint8_t { NotStarted, Done, Failed };

struct GraphRun {
  std::vector<NodeResult> results;
  std::vector<std::pair<graph::Node, Error>> failures;  ///< by node
};

/// Calls `work(node)` on worker threads; nothing new begins once `context` ends. Blocks until all began calls
/// returned.
GraphRun run_graph(const graph::SequenceGraph& graph, std::size_t workers,
                   const std::function<Status(graph::Node)>& work, const Context& context);

}  // namespace mist::apply
