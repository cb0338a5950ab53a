#include "graph/schedule.h"

#include <algorithm>

namespace mist::graph {

Schedule::Schedule(const SequenceGraph& graph)
    : graph_(graph), missing_(graph.size()), blocked_through_(graph.size(), kNone), open_(graph.size()) {
  for (Node node = 0; node < graph.size(); ++node) {
    missing_[node] = graph.edges_in(node).size();
    if (missing_[node] == 0) ready_.push_back(node);
  }
}

std::vector<Node> Schedule::take_ready() {
  std::vector<Node> taken;
  taken.swap(ready_);
  std::ranges::sort(taken);
  return taken;
}

void Schedule::succeeded(Node node) {
  --open_;
  for (const std::size_t edge : graph_.edges_out(node)) {
    const Node next = graph_.edges()[edge].after;
    if (--missing_[next] == 0 && blocked_through_[next] == kNone) ready_.push_back(next);
  }
}

void Schedule::failed(Node node) {
  --open_;
  block_descendants(node);
}

std::vector<std::size_t> Schedule::why_blocked(Node node) const {
  std::vector<std::size_t> path;
  for (std::size_t edge = blocked_through_[node]; edge != kNone;
       edge = blocked_through_[graph_.edges()[edge].before])
    path.push_back(edge);
  std::ranges::reverse(path);
  return path;
}

void Schedule::block_descendants(Node node) {
  std::vector<Node> stack{node};
  while (!stack.empty()) {
    const Node current = stack.back();
    stack.pop_back();
    for (const std::size_t edge : graph_.edges_out(current)) {
      const Node next = graph_.edges()[edge].after;
      if (blocked_through_[next] != kNone) continue;
      blocked_through_[next] = edge;
      blocked_.push_back(next);
      --open_;
      stack.push_back(next);
    }
  }
}

}  // namespace mist::graph
