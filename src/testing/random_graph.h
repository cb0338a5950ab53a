#pragma once
// Shared by the property tests of graphs: random graphs, and answers found by the most naive means. Each
// property is tried kCases times (RC_PARAMS in the environment says otherwise).

#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/sequence.h"

namespace mist::testing {

using graph::Edge;
using graph::Node;
using graph::SequenceGraph;
using graph::Strength;

inline constexpr int kCases = 1000;
/// RapidCheck reads its parameters once, before the first property.
inline const bool kCasesAreSet = ::setenv("RC_PARAMS", "max_success=1000", 0) == 0;

/// From [least, most), as large in the first case as in the last: RapidCheck would begin with tiny graphs.
inline std::size_t draw(std::size_t least, std::size_t most) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(least, most));
}

inline Node random_node(std::size_t nodes) { return draw(0, nodes); }

/// About a tenth of them.
inline std::set<Node> random_nodes(std::size_t nodes) {
  std::set<Node> result;
  for (Node node = 0; node < nodes; ++node)
    if (draw(0, 10) == 0) result.insert(node);
  return result;
}

/// "a", "b", …: nodes in a message.
inline std::string letter(graph::Node node) { return std::string(1, static_cast<char>('a' + node)); }

/// Any edges at all: cycles, self edges and repetitions included.
inline std::vector<Edge> random_edges(std::size_t nodes, std::size_t most_per_node = 3) {
  std::vector<Edge> edges(draw(0, nodes * most_per_node));
  for (Edge& edge : edges) {
    edge.before = random_node(nodes);
    edge.after = random_node(nodes);
    edge.label = static_cast<int>(draw(0, 2));
    edge.reason = std::string(1, static_cast<char>('a' + static_cast<char>(draw(0, 3))));
    edge.strength = *rc::gen::element(Strength::Hard, Strength::Soft);
  }
  return edges;
}

inline SequenceGraph graph_of(std::size_t nodes, const std::vector<Edge>& edges) {
  SequenceGraph graph(nodes);
  for (const Edge& edge : edges) graph.add(edge);
  return graph;
}

/// Without cycles, in a random numbering.
inline SequenceGraph random_dag(std::size_t nodes) {
  std::vector<Node> number(nodes);
  for (Node node = 0; node < nodes; ++node) number[node] = node;
  for (Node node = 0; node + 1 < nodes; ++node) std::swap(number[node], number[draw(node, nodes)]);
  std::vector<Edge> edges = random_edges(nodes);
  for (Edge& edge : edges) {
    const auto [low, high] = std::minmax({edge.before, edge.after});
    edge.before = number[low];
    edge.after = number[high];
  }
  return graph_of(nodes, edges);
}

inline std::vector<Edge> shuffled(std::vector<Edge> edges) {
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) std::swap(edges[i], edges[draw(i, edges.size())]);
  return edges;
}

/// reach[a] has b: a path of at least one edge leads from a to b. Warshall's three loops.
inline std::vector<std::set<Node>> naive_reach(std::size_t nodes, const std::vector<Edge>& edges) {
  std::vector<std::set<Node>> reach(nodes);
  for (const Edge& edge : edges)
    if (edge.before != edge.after) reach[edge.before].insert(edge.after);
  for (Node middle = 0; middle < nodes; ++middle)
    for (Node from = 0; from < nodes; ++from)
      if (reach[from].contains(middle)) reach[from].insert(reach[middle].begin(), reach[middle].end());
  return reach;
}

inline bool naive_cycle(std::size_t nodes, const std::vector<Edge>& edges) {
  const auto reach = naive_reach(nodes, edges);
  for (Node node = 0; node < nodes; ++node)
    if (reach[node].contains(node)) return true;
  return false;
}

}  // namespace mist::testing
