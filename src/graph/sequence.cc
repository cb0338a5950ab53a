#include "graph/sequence.h"

#include <algorithm>
#include <queue>
#include <set>
#include <tuple>

namespace mist::graph {

namespace {

constexpr std::size_t kMostCycles = 20;
constexpr std::size_t kMostImpliedBits = std::size_t{1} << 30;

constexpr std::string_view kBetweenReasons = "; ";

std::string merged_reasons(const std::string& a, const std::string& b) {
  if (a == b || b.empty()) return a;
  if (a.empty()) return b;
  std::set<std::string> reasons;
  for (const std::string& text : {a, b}) {
    std::size_t begin = 0;
    while (true) {
      const std::size_t end = text.find(kBetweenReasons, begin);
      reasons.insert(text.substr(begin, end - begin));
      if (end == std::string::npos) break;
      begin = end + kBetweenReasons.size();
    }
  }
  std::string result;
  for (const std::string& reason : reasons) {
    if (!result.empty()) result += kBetweenReasons;
    result += reason;
  }
  return result;
}

auto place(const Edge& edge) { return std::tuple(edge.before, edge.after, edge.label); }

}  // namespace

Node SequenceGraph::add_node() {
  out_.emplace_back();
  in_.emplace_back();
  return size() - 1;
}

void SequenceGraph::add(Edge edge) {
  MIST_CHECK(edge.before < size() && edge.after < size());
  if (edge.before == edge.after) return;
  // Scan the shorter side: one node may have thousands of successors.
  const std::vector<std::size_t>& near =
      out_[edge.before].size() < in_[edge.after].size() ? out_[edge.before] : in_[edge.after];
  const auto known = std::ranges::find(near, place(edge), [&](std::size_t i) { return place(edges_[i]); });
  if (known != near.end()) {
    Edge& there = edges_[*known];
    there.reason = merged_reasons(there.reason, edge.reason);
    there.strength = std::min(there.strength, edge.strength);
    return;
  }
  out_[edge.before].push_back(edges_.size());
  in_[edge.after].push_back(edges_.size());
  edges_.push_back(std::move(edge));
}

SequenceGraph SequenceGraph::reversed() const {
  SequenceGraph result(size());
  result.edges_.reserve(edges_.size());
  for (const Edge& edge : edges_)
    result.edges_.push_back({edge.after, edge.before, edge.label, edge.reason, edge.strength});
  result.out_ = in_;
  result.in_ = out_;
  return result;
}

Relaxed SequenceGraph::relaxed(std::size_t most_steps) const {
  const std::vector<std::size_t> component = components();
  Relaxed result{SequenceGraph(size()), {}};
  std::vector<std::size_t> doubtful;  // only an edge within a component can be part of a cycle
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const Edge& edge = edges_[i];
    if (edge.strength == Strength::Soft && component[edge.before] == component[edge.after])
      doubtful.push_back(i);
    else
      result.graph.add(edge);
  }
  std::ranges::sort(doubtful, {}, [&](std::size_t i) { return place(edges_[i]); });
  std::size_t steps = 0;
  for (const std::size_t i : doubtful) {
    const Edge& edge = edges_[i];
    // A wish that would cost too much to look at is dropped: that never makes a cycle.
    if (steps > most_steps || result.graph.reaches(edge.after, edge.before, steps))
      result.dropped.push_back(edge);
    else
      result.graph.add(edge);
  }
  return result;
}

std::vector<Node> SequenceGraph::order_of_free_nodes() const {
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
  return order;
}

Result<std::vector<Node>> SequenceGraph::topological_order(const NameOf& name_of) const {
  std::vector<Node> order = order_of_free_nodes();
  if (order.size() == size()) return order;
  return cycle_error(*this, cycles(), name_of);
}

std::vector<std::size_t> SequenceGraph::components() const {
  // Tarjan's algorithm with an own stack: graphs come from users and may be deeper than the thread's.
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Step {
    Node node;
    std::size_t next;
  };
  std::vector<std::size_t> found(size(), kNone), low(size(), 0), component(size(), kNone);
  std::vector<Node> open;
  std::size_t clock = 0, components = 0;
  for (Node root = 0; root < size(); ++root) {
    if (found[root] != kNone) continue;
    std::vector<Step> stack{{root, 0}};
    found[root] = low[root] = clock++;
    open.push_back(root);
    while (!stack.empty()) {
      Step& step = stack.back();
      const Node node = step.node;
      if (step.next < out_[node].size()) {
        const Node next = edges_[out_[node][step.next++]].after;
        if (found[next] == kNone) {
          found[next] = low[next] = clock++;
          open.push_back(next);
          stack.push_back({next, 0});
        } else if (component[next] == kNone) {
          low[node] = std::min(low[node], found[next]);
        }
        continue;
      }
      if (low[node] == found[node]) {
        while (true) {
          const Node member = open.back();
          open.pop_back();
          component[member] = components;
          if (member == node) break;
        }
        ++components;
      }
      stack.pop_back();
      if (!stack.empty()) low[stack.back().node] = std::min(low[stack.back().node], low[node]);
    }
  }
  return component;
}

std::vector<std::size_t> SequenceGraph::sorted_out(Node node) const {
  std::vector<std::size_t> edges = out_[node];
  std::ranges::sort(edges, {}, [&](std::size_t i) { return place(edges_[i]); });
  return edges;
}

bool SequenceGraph::reaches(Node from, Node to, std::size_t& steps) const {
  steps += size() / 64;
  std::vector<char> seen(size(), 0);
  std::vector<Node> stack{from};
  seen[from] = 1;
  while (!stack.empty()) {
    const Node node = stack.back();
    stack.pop_back();
    if (node == to) return true;
    steps += 1 + out_[node].size();
    for (const std::size_t edge : out_[node]) {
      const Node next = edges_[edge].after;
      if (!seen[next]) {
        seen[next] = 1;
        stack.push_back(next);
      }
    }
  }
  return false;
}

std::vector<std::size_t> SequenceGraph::explain(Node before, Node after) const {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> via(size(), kNone);
  std::queue<Node> queue;
  queue.push(before);
  // A path from a node to itself is a cycle, so the first node is not marked as seen.
  while (!queue.empty() && via[after] == kNone) {
    const Node node = queue.front();
    queue.pop();
    for (const std::size_t edge : sorted_out(node)) {
      const Node next = edges_[edge].after;
      if (via[next] != kNone) continue;
      via[next] = edge;
      queue.push(next);
    }
  }
  std::vector<std::size_t> path;
  for (Node node = after; via[node] != kNone; node = edges_[path.back()].before) {
    path.push_back(via[node]);
    if (edges_[path.back()].before == before) break;
  }
  std::ranges::reverse(path);
  return path;
}

std::vector<std::vector<std::size_t>> SequenceGraph::cycles() const {
  const std::vector<std::size_t> component = components();
  std::vector<std::size_t> members(size(), 0);  // by component
  for (const std::size_t number : component) ++members[number];
  std::vector<std::vector<std::size_t>> result;
  for (Node node = 0; node < size(); ++node) {
    // Every node of a larger component lies on a cycle. One cycle for each is enough.
    if (members[component[node]] > 1) result.push_back(explain(node, node));
    if (result.size() == kMostCycles) break;
    members[component[node]] = 0;
  }
  return result;
}

std::vector<std::size_t> SequenceGraph::steps() const {
  std::vector<std::size_t> result(size(), 0);
  const std::vector<Node> order = order_of_free_nodes();
  MIST_CHECK(order.size() == size());
  for (const Node node : order) {
    for (const std::size_t edge : out_[node]) {
      const Node next = edges_[edge].after;
      result[next] = std::max(result[next], result[node] + 1);
    }
  }
  return result;
}

std::vector<std::size_t> SequenceGraph::ahead(const std::vector<std::size_t>& costs) const {
  std::vector<std::size_t> result(size(), 0);
  const std::vector<Node> order = order_of_free_nodes();
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    for (const std::size_t edge : out_[*node])
      result[*node] = std::max(result[*node], result[edges_[edge].after]);
    result[*node] += costs[*node];
  }
  return result;
}

std::vector<bool> SequenceGraph::implied() const {
  std::vector<bool> result(edges_.size(), false);
  if (size() > kMostImpliedBits / std::max<std::size_t>(size(), 1)) return result;
  const std::vector<Node> order = order_of_free_nodes();
  MIST_CHECK(order.size() == size());
  // Row `node`: one bit for each node that is reached from it, itself included.
  constexpr std::size_t kBits = 64;
  const std::size_t words = (size() + kBits - 1) / kBits;
  std::vector<std::uint64_t> reached(size() * words, 0);
  std::vector<std::uint64_t> further(words);
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    std::uint64_t* row = &reached[*node * words];
    row[*node / kBits] |= std::uint64_t{1} << (*node % kBits);
    std::ranges::fill(further, 0);  // over at least two edges
    for (const std::size_t edge : out_[*node]) {
      const Node next = edges_[edge].after;
      const std::uint64_t* there = &reached[next * words];
      const bool had = (further[next / kBits] >> (next % kBits) & 1) != 0;
      for (std::size_t i = 0; i < words; ++i) further[i] |= there[i];
      if (!had) further[next / kBits] &= ~(std::uint64_t{1} << (next % kBits));
    }
    for (const std::size_t edge : out_[*node]) {
      const Node next = edges_[edge].after;
      result[edge] = (further[next / kBits] >> (next % kBits) & 1) != 0;
      const std::uint64_t* there = &reached[next * words];
      for (std::size_t i = 0; i < words; ++i) row[i] |= there[i];
    }
  }
  return result;
}

Error cycle_error(const SequenceGraph& graph, const std::vector<std::vector<std::size_t>>& cycles,
                  const NameOf& name_of) {
  MIST_CHECK(!cycles.empty());
  std::string path, reasons;
  for (const std::size_t index : cycles.front()) {
    const Edge& edge = graph.edges()[index];
    if (path.empty()) path = name_of(edge.before);
    path += " → " + name_of(edge.after);
  }
  for (const auto& cycle : cycles) {
    if (&cycle != &cycles.front()) reasons += "\nand another cycle:";
    for (const std::size_t index : cycle) {
      const Edge& edge = graph.edges()[index];
      if (!reasons.empty()) reasons += '\n';
      reasons += fmt::format("{} comes after {}{}{}", name_of(edge.after), name_of(edge.before),
                             edge.reason.empty() ? "" : ": ", edge.reason);
    }
  }
  Error failure = error(ErrorKind::Invalid, "the order has a cycle: {}", path);
  failure.because = std::move(reasons);
  failure.hint = cycles.size() == 1 ? "remove one of these dependencies"
                                    : "remove one dependency of each of these cycles";
  return failure;
}

}  // namespace mist::graph
