#include "graph/sequence.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "graph/schedule.h"

namespace mist::graph {
namespace {

std::string letter(Node node) { return std::string(1, static_cast<char>('a' + node)); }

SequenceGraph random_dag(std::size_t nodes) {
  SequenceGraph graph(nodes);
  const auto count = *rc::gen::inRange<std::size_t>(0, nodes * 3);
  for (std::size_t i = 0; i < count; ++i) {
    const Node a = *rc::gen::inRange<std::size_t>(0, nodes);
    const Node b = *rc::gen::inRange<std::size_t>(0, nodes);
    graph.add({std::min(a, b), std::max(a, b), 0, ""});
  }
  return graph;
}

TEST(SequenceGraph, NamesTheCycle) {
  SequenceGraph graph(4);
  graph.add({0, 1, 0, ""});
  graph.add({1, 2, 0, ""});
  graph.add({2, 1, 0, ""});
  graph.add({2, 3, 0, ""});
  const auto order = graph.topological_order(letter);
  ASSERT_FALSE(order.ok());
  EXPECT_EQ(order.error().message, "the order is a circle: b → c → b");
}

TEST(SequenceGraph, SurvivesDeepGraphs) {
  SequenceGraph graph(200000);
  for (Node node = 1; node < graph.size(); ++node) graph.add({node - 1, node, 0, ""});
  EXPECT_TRUE(graph.find_cycle().empty());
  EXPECT_EQ(graph.topological_order(letter)->back(), graph.size() - 1);
}

TEST(SequenceGraph, EveryNodeComesAfterItsPredecessors) {
  rc::check([] {
    const SequenceGraph graph = random_dag(*rc::gen::inRange<std::size_t>(1, 40));
    const auto order = graph.topological_order(letter);
    RC_ASSERT(order.ok());
    std::vector<std::size_t> place(graph.size());
    for (std::size_t i = 0; i < order->size(); ++i) place[(*order)[i]] = i;
    for (const Edge& edge : graph.edges()) RC_ASSERT(place[edge.before] < place[edge.after]);
    const SequenceGraph reversed = graph.reversed();
    for (const Edge& edge : reversed.edges()) RC_ASSERT(place[edge.before] > place[edge.after]);
  });
}

TEST(Schedule, FailureBlocksDescendantsOnlyAndEverythingElseRuns) {
  rc::check([] {
    const SequenceGraph graph = random_dag(*rc::gen::inRange<std::size_t>(1, 40));
    const auto failing = *rc::gen::container<std::set<Node>>(rc::gen::inRange<std::size_t>(0, graph.size()));
    Schedule schedule(graph);
    std::set<Node> done, failed;
    std::vector<Node> running = schedule.take_ready();
    while (!running.empty()) {
      const auto pick = *rc::gen::inRange<std::size_t>(0, running.size());
      const Node node = running[pick];
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(pick));
      for (const std::size_t edge : graph.edges_in(node))
        RC_ASSERT(done.contains(graph.edges()[edge].before));
      if (failing.contains(node)) {
        failed.insert(node);
        schedule.failed(node);
      } else {
        done.insert(node);
        schedule.succeeded(node);
      }
      for (const Node next : schedule.take_ready()) running.push_back(next);
    }
    RC_ASSERT(schedule.finished());
    // Blocked is exactly: reachable from a failed node, and nothing else is missing.
    std::set<Node> expected;
    std::vector<Node> stack(failed.begin(), failed.end());
    while (!stack.empty()) {
      const Node node = stack.back();
      stack.pop_back();
      for (const std::size_t edge : graph.edges_out(node)) {
        const Node next = graph.edges()[edge].after;
        if (expected.insert(next).second) stack.push_back(next);
      }
    }
    RC_ASSERT(std::set<Node>(schedule.blocked().begin(), schedule.blocked().end()) == expected);
    RC_ASSERT(done.size() + failed.size() + expected.size() == graph.size());
  });
}

}  // namespace
}  // namespace mist::graph
