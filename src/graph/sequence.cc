#include "graph/sequence.h"

#include <algorithm>
#include <queue>

namespace mist::graph {

void SequenceGraph::add(Edge edge) {
  MIST_CHECK(edge.before < size() && edge.after < size());
  if (edge.before == edge.after) return;
  const auto same = [&](std::size_t i) {
    return edges_[i].after == edge.after && edges_[i].label == edge.label;
  };
  // Scan the shorter side: one node (a Namespace, a barrier) may have thousands of successors.
  const auto same_in = [&](std::size_t i) {
    return edges_[i].before == edge.before && edges_[i].label == edge.label;
  };
  const bool known = out_[edge.before].size() < in_[edge.after].size()
                         ? std::ranges::any_of(out_[edge.before], same)
                         : std::ranges::any_of(in_[edge.after], same_in);
  if (known) return;
  out_[edge.before].push_back(edges_.size());
  in_[edge.after].push_back(edges_.size());
  edges_.push_back(std::move(edge));
}

SequenceGraph SequenceGraph::reversed() const {
  SequenceGraph result(size());
  for (const Edge& edge : edges_) result.add({edge.after, edge.before, edge.label, edge.reason});
  return result;
}

Result<std::vector<Node>> SequenceGraph::topological_order(
    const std::function<std::string(Node)>& name_of) const {
  std::vector<std::size_t> missing(size());
  std::priority_queue<Node, std::vector<Node>, std::greater<>> free;
  for (Node node = 0; node < size(); ++node) {
    missing[node] = in_[node].size();
    if (missing[node] == 0) free.push(node);
  }
  std::vector<Node> order;
  order.reserve(size());
  while (!free.empty()) {
    const Node node = free.top();
    free.pop();
    order.push_back(node);
    for (const std::size_t edge : out_[node]) {
      if (--missing[edges_[edge].after] == 0) free.push(edges_[edge].after);
    }
  }
  if (order.size() == size()) return order;

  const std::vector<Node> cycle = find_cycle();
  std::string path = name_of(cycle.front());
  for (std::size_t i = 1; i <= cycle.size(); ++i) path += " → " + name_of(cycle[i % cycle.size()]);
  Error failure = error(ErrorKind::Invalid, "the order is a circle: {}", path);
  failure.hint = "remove one of these dependencies";
  return failure;
}

std::vector<Node> SequenceGraph::find_cycle() const {
  enum class Mark : char { New, Open, Done };
  std::vector<Mark> marks(size(), Mark::New);
  struct Step {
    Node node;
    std::size_t next;
  };
  // An own stack: graphs come from users and may be deeper than the thread's.
  for (Node root = 0; root < size(); ++root) {
    if (marks[root] != Mark::New) continue;
    std::vector<Step> stack{{root, 0}};
    marks[root] = Mark::Open;
    while (!stack.empty()) {
      Step& step = stack.back();
      if (step.next == out_[step.node].size()) {
        marks[step.node] = Mark::Done;
        stack.pop_back();
        continue;
      }
      const Node next = edges_[out_[step.node][step.next++]].after;
      if (marks[next] == Mark::New) {
        marks[next] = Mark::Open;
        stack.push_back({next, 0});
      } else if (marks[next] == Mark::Open) {
        std::vector<Node> cycle;
        auto at = std::ranges::find(stack, next, &Step::node);
        for (; at != stack.end(); ++at) cycle.push_back(at->node);
        return cycle;
      }
    }
  }
  return {};
}

}  // namespace mist::graph
