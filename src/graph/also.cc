#include "graph/also.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace mist::graph {

void AlsoGraph::add(AlsoEdge edge) {
  MIST_CHECK(edge.from < size() && edge.to < size());
  out_[edge.from].push_back(edges_.size());
  edges_.push_back(std::move(edge));
}

Closure AlsoGraph::closure(const std::vector<Node>& roots, const std::function<Truth(Guard)>& value) const {
  Closure result;
  result.wanted_.assign(size(), Truth::False);
  result.via_.assign(size(), Closure::kNone);
  result.from_.assign(size(), 0);
  std::map<Guard, Truth> judged;
  const auto judge = [&](Guard guard) {
    if (guard == kAlways) return Truth::True;
    const auto known = judged.find(guard);
    return known != judged.end() ? known->second : judged.emplace(guard, value(guard)).first->second;
  };
  const auto by_place = [&](std::size_t i) {
    return std::tie(edges_[i].to, edges_[i].guard, edges_[i].reason);
  };

  // Breadth first: a node is reached over a shortest path, and each layer in ascending order.
  const auto spread = [&](std::vector<Node> layer, Truth needed) {
    while (!layer.empty()) {
      std::ranges::sort(layer);
      std::vector<Node> next;
      for (const Node node : layer) {
        std::vector<std::size_t> edges = out_[node];
        std::ranges::sort(edges, {}, by_place);
        for (const std::size_t i : edges) {
          const AlsoEdge& edge = edges_[i];
          if (result.wanted_[edge.to] != Truth::False || judge(edge.guard) < needed) continue;
          result.wanted_[edge.to] = needed;
          result.via_[edge.to] = i;
          result.from_[edge.to] = node;
          next.push_back(edge.to);
        }
      }
      layer = std::move(next);
    }
  };

  std::vector<Node> layer;
  for (const Node root : roots) {
    MIST_CHECK(root < size());
    if (result.wanted_[root] == Truth::True) continue;
    result.wanted_[root] = Truth::True;
    layer.push_back(root);
  }
  spread(std::move(layer), Truth::True);
  spread(result.surely(), Truth::Unknown);
  return result;
}

std::vector<Node> Closure::surely() const {
  std::vector<Node> nodes;
  for (Node node = 0; node < wanted_.size(); ++node) {
    if (wanted_[node] == Truth::True) nodes.push_back(node);
  }
  return nodes;
}

std::vector<Node> Closure::possibly() const {
  std::vector<Node> nodes;
  for (Node node = 0; node < wanted_.size(); ++node) {
    if (wanted_[node] != Truth::False) nodes.push_back(node);
  }
  return nodes;
}

std::vector<std::size_t> Closure::why(Node node) const {
  std::vector<std::size_t> path;
  for (; via_[node] != kNone; node = from_[node]) path.push_back(via_[node]);
  std::ranges::reverse(path);
  return path;
}

std::string path_text(const AlsoGraph& graph, const std::vector<std::size_t>& path, const NameOf& name_of) {
  std::string text;
  for (const std::size_t index : path) {
    const AlsoEdge& edge = graph.edges()[index];
    if (text.empty()) text = name_of(edge.from);
    text += " → " + name_of(edge.to);
    if (!edge.reason.empty()) text += fmt::format(" ({})", edge.reason);
  }
  return text;
}

}  // namespace mist::graph
