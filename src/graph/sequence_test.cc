#include "graph/sequence.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "testing/random_graph.h"

namespace mist::graph {
namespace {

using testing::draw;
using testing::graph_of;
using testing::kCasesAreSet;
using testing::letter;
using testing::naive_cycle;
using testing::naive_reach;
using testing::random_dag;
using testing::random_edges;
using testing::random_node;
using testing::shuffled;

std::vector<Edge> sorted(std::vector<Edge> edges) {
  std::ranges::sort(edges, {}, [](const Edge& e) { return std::tuple(e.before, e.after, e.label); });
  return edges;
}

// The edges behind indices.
std::vector<Edge> edges_of(const SequenceGraph& graph, const std::vector<std::size_t>& path) {
  std::vector<Edge> edges;
  for (const std::size_t index : path) edges.push_back(graph.edges()[index]);
  return edges;
}

TEST(SequenceGraph, ACycleIsNamedWithTheReasonOfEachStep) {
  SequenceGraph graph(4);
  graph.add({0, 1, 0, "x"});
  graph.add({1, 2, 0, "its volume"});
  graph.add({2, 1, 0, "somebody said so"});
  graph.add({2, 3, 0, "y"});
  const auto order = graph.topological_order(letter);
  ASSERT_FALSE(order.ok());
  EXPECT_EQ(order.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(order.error().message, "the order has a cycle: b → c → b");
  EXPECT_EQ(order.error().because, "c comes after b: its volume\nb comes after c: somebody said so");
}

TEST(SequenceGraph, EveryCyclicComponentIsReportedAtOnce) {
  SequenceGraph graph(5);
  graph.add({3, 4, 0, ""});
  graph.add({4, 3, 0, ""});
  graph.add({0, 1, 0, ""});
  graph.add({1, 0, 0, ""});
  graph.add({1, 3, 0, ""});
  const Error failure = graph.topological_order(letter).error();
  EXPECT_EQ(failure.message, "the order has a cycle: a → b → a");
  EXPECT_EQ(failure.because,
            "b comes after a\na comes after b\nand another cycle:\ne comes after d\nd comes after e");
}

TEST(SequenceGraph, ARepeatedEdgeGetsBothReasonsAndTheStrongerStrength) {
  SequenceGraph graph(2);
  graph.add({0, 1, 0, "volume", Strength::Soft});
  graph.add({0, 1, 0, "environment", Strength::Hard});
  graph.add({0, 1, 0, "volume", Strength::Soft});
  graph.add({0, 1, 1, "other label"});
  ASSERT_EQ(graph.edges().size(), 2u);
  EXPECT_EQ(graph.edges()[0], (Edge{0, 1, 0, "environment; volume", Strength::Hard}));
}

TEST(SequenceGraph, ASoftEdgeGivesWayToHardOnes) {
  SequenceGraph graph(3);
  graph.add({0, 1, 0, "wish", Strength::Soft});
  graph.add({1, 2, 0, "must"});
  graph.add({2, 0, 0, "must"});
  const Relaxed relaxed = graph.relaxed();
  EXPECT_EQ(relaxed.dropped, (std::vector{Edge{0, 1, 0, "wish", Strength::Soft}}));
  EXPECT_EQ(*relaxed.graph.topological_order(letter), (std::vector<Node>{1, 2, 0}));
}

TEST(SequenceGraph, ExplainsOverSeveralSteps) {
  SequenceGraph graph(4);
  graph.add({0, 1, 0, "first"});
  graph.add({1, 2, 0, "second"});
  graph.add({0, 3, 0, "aside"});
  EXPECT_EQ(edges_of(graph, graph.explain(0, 2)),
            (std::vector{Edge{0, 1, 0, "first"}, Edge{1, 2, 0, "second"}}));
  EXPECT_TRUE(graph.explain(2, 0).empty());
  EXPECT_TRUE(graph.explain(0, 0).empty());
}

TEST(SequenceGraph, AnEdgeIsImpliedWhenALongerPathSaysTheSame) {
  SequenceGraph graph(3);
  graph.add({0, 1, 0, ""});
  graph.add({1, 2, 0, ""});
  graph.add({0, 2, 0, ""});
  EXPECT_EQ(graph.implied(), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(graph.steps(), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(graph.ahead({1, 10, 100}), (std::vector<std::size_t>{111, 110, 100}));
}

TEST(SequenceGraph, SurvivesDeepAndWideGraphs) {
  SequenceGraph deep(200000);
  for (Node node = 1; node < deep.size(); ++node) deep.add({node - 1, node, 0, ""});
  EXPECT_TRUE(deep.cycles().empty());
  EXPECT_EQ(deep.topological_order(letter)->back(), deep.size() - 1);
  EXPECT_EQ(deep.explain(0, deep.size() - 1).size(), deep.size() - 1);
  SequenceGraph wide(20001);
  for (Node node = 1; node < wide.size(); ++node) wide.add({0, node, 0, "the same"});
  EXPECT_EQ(wide.relaxed().graph.edges().size(), 20000u);
}

// Properties, kCases random graphs each.

TEST(SequenceProperties, EveryNodeComesAfterItsPredecessorsAndBeforeThemInReverse) {
  ASSERT_TRUE(kCasesAreSet);
  ASSERT_TRUE(rc::check([] {
    const SequenceGraph graph = random_dag(draw(1, 40));
    const auto order = graph.topological_order(letter);
    RC_ASSERT(order.ok());
    RC_ASSERT(order->size() == graph.size());
    std::vector<std::size_t> place(graph.size());
    for (std::size_t i = 0; i < order->size(); ++i) place[(*order)[i]] = i;
    for (const Edge& edge : graph.edges()) RC_ASSERT(place[edge.before] < place[edge.after]);
    const SequenceGraph reversed = graph.reversed();
    RC_ASSERT(reversed.edges().size() == graph.edges().size());
    for (const Edge& edge : reversed.edges()) RC_ASSERT(place[edge.before] > place[edge.after]);
    for (Node node = 0; node < graph.size(); ++node) {
      for (const std::size_t edge : reversed.edges_in(node)) RC_ASSERT(reversed.edges()[edge].after == node);
      for (const std::size_t edge : reversed.edges_out(node))
        RC_ASSERT(reversed.edges()[edge].before == node);
    }
  }));
}

TEST(SequenceProperties, EveryReportedCycleIsOneAndNoneIsMissed) {
  ASSERT_TRUE(rc::check([] {
    const auto nodes = draw(1, 25);
    const SequenceGraph graph = graph_of(nodes, random_edges(nodes, 2));
    const auto reach = naive_reach(nodes, graph.edges());
    std::set<Node> on_cycles, reported;
    for (Node node = 0; node < nodes; ++node)
      if (reach[node].contains(node)) on_cycles.insert(node);
    const auto cycles = graph.cycles();
    RC_ASSERT(cycles.empty() == on_cycles.empty());
    RC_ASSERT(graph.topological_order(letter).ok() == on_cycles.empty());
    for (const auto& cycle : cycles) {
      RC_ASSERT(!cycle.empty());
      std::set<Node> passed;
      for (std::size_t i = 0; i < cycle.size(); ++i) {
        const Edge& edge = graph.edges()[cycle[i]];
        const Edge& next = graph.edges()[cycle[(i + 1) % cycle.size()]];
        RC_ASSERT(edge.after == next.before);
        RC_ASSERT(passed.insert(edge.before).second);  // no node twice: a simple cycle
      }
      // One cycle for each component: what reaches this one and back is reported by it.
      const Node first = graph.edges()[cycle.front()].before;
      for (Node node = 0; node < nodes; ++node)
        if (node == first || (reach[first].contains(node) && reach[node].contains(first)))
          RC_ASSERT(reported.insert(node).second);
    }
    RC_ASSERT(reported == on_cycles);
  }));
}

TEST(SequenceProperties, RelaxingDropsOnlySoftEdgesThatCloseACycle) {
  ASSERT_TRUE(rc::check([] {
    const auto nodes = draw(1, 20);
    const SequenceGraph graph = graph_of(nodes, random_edges(nodes));
    std::vector<Edge> hard;
    for (const Edge& edge : graph.edges())
      if (edge.strength == Strength::Hard) hard.push_back(edge);
    const Relaxed relaxed = graph.relaxed();
    std::vector<Edge> all = relaxed.graph.edges();
    all.insert(all.end(), relaxed.dropped.begin(), relaxed.dropped.end());
    RC_ASSERT(sorted(all) == sorted(graph.edges()));
    // Cycles only where the hard edges have some, and every dropped edge would close one.
    RC_ASSERT(naive_cycle(nodes, relaxed.graph.edges()) == naive_cycle(nodes, hard));
    const auto reach = naive_reach(nodes, relaxed.graph.edges());
    for (const Edge& edge : relaxed.dropped) {
      RC_ASSERT(edge.strength == Strength::Soft);
      RC_ASSERT(reach[edge.after].contains(edge.before));
    }
  }));
}

TEST(SequenceProperties, ResultsDoNotDependOnTheOrderOfInsertion) {
  ASSERT_TRUE(rc::check([] {
    const auto nodes = draw(1, 20);
    const std::vector<Edge> edges = random_edges(nodes);
    const SequenceGraph a = graph_of(nodes, edges), b = graph_of(nodes, shuffled(edges));
    RC_ASSERT(sorted(a.edges()) == sorted(b.edges()));
    const Relaxed x = a.relaxed(), y = b.relaxed();
    RC_ASSERT(x.dropped == y.dropped);
    RC_ASSERT(sorted(x.graph.edges()) == sorted(y.graph.edges()));
    const auto first = x.graph.topological_order(letter), second = y.graph.topological_order(letter);
    RC_ASSERT(first.ok() == second.ok());
    if (first.ok()) {
      RC_ASSERT(*first == *second);
      RC_ASSERT(x.graph.steps() == y.graph.steps());
    } else {
      RC_ASSERT(first.error().to_line() == second.error().to_line());
    }
    const Node from = random_node(nodes), to = random_node(nodes);
    RC_ASSERT(edges_of(a, a.explain(from, to)) == edges_of(b, b.explain(from, to)));
  }));
}

TEST(SequenceProperties, ExplanationsArePathsAndShortest) {
  ASSERT_TRUE(rc::check([] {
    const auto nodes = draw(2, 20);
    const SequenceGraph graph = graph_of(nodes, random_edges(nodes, 2));
    const Node from = random_node(nodes), to = random_node(nodes);
    // How many edges at least, by trying all lengths.
    std::set<Node> layer{from};
    std::size_t least = 0;
    for (std::size_t length = 1; length <= nodes && least == 0; ++length) {
      std::set<Node> next;
      for (const Edge& edge : graph.edges())
        if (layer.contains(edge.before)) next.insert(edge.after);
      if (next.contains(to)) least = length;
      layer = std::move(next);
    }
    const std::vector<Edge> path = edges_of(graph, graph.explain(from, to));
    RC_ASSERT(path.size() == least);
    for (std::size_t i = 0; i < path.size(); ++i)
      RC_ASSERT(path[i].before == (i == 0 ? from : path[i - 1].after));
    if (!path.empty()) RC_ASSERT(path.back().after == to);
  }));
}

TEST(SequenceProperties, StepsAreLongestPathsAndImpliedEdgesCanBeLeftOut) {
  ASSERT_TRUE(rc::check([] {
    const SequenceGraph graph = random_dag(draw(1, 90));
    const std::vector<std::size_t> steps = graph.steps();
    for (Node node = 0; node < graph.size(); ++node) {
      std::size_t expected = 0;
      for (const std::size_t edge : graph.edges_in(node))
        expected = std::max(expected, steps[graph.edges()[edge].before] + 1);
      RC_ASSERT(steps[node] == expected);
    }
    std::vector<std::size_t> costs(graph.size());
    for (std::size_t& cost : costs) cost = draw(0, 10);
    const std::vector<std::size_t> ahead = graph.ahead(costs);
    for (Node node = 0; node < graph.size(); ++node) {
      std::size_t most = 0;
      for (const std::size_t edge : graph.edges_out(node))
        most = std::max(most, ahead[graph.edges()[edge].after]);
      RC_ASSERT(ahead[node] == costs[node] + most);
    }
    const std::vector<bool> implied = graph.implied();
    const auto reach = naive_reach(graph.size(), graph.edges());
    for (std::size_t i = 0; i < graph.edges().size(); ++i) {
      const Edge& edge = graph.edges()[i];
      bool longer = false;
      for (const Node middle : reach[edge.before]) longer = longer || reach[middle].contains(edge.after);
      RC_ASSERT(implied[i] == longer);
    }
  }));
}

TEST(SequenceGraph, DropsWishesThatCostTooMuchToLookAt) {
  SequenceGraph graph(200);
  for (Node a = 0; a < graph.size(); ++a) {
    for (const Node distance : {1, 7, 31})
      graph.add({a, (a + distance) % graph.size(), 0, "", Strength::Soft});
  }
  const Relaxed all = graph.relaxed();
  const Relaxed some = graph.relaxed(500);
  EXPECT_TRUE(some.graph.cycles().empty());
  EXPECT_GT(some.dropped.size(), all.dropped.size());
  EXPECT_EQ(some.dropped.size() + some.graph.edges().size(), graph.edges().size());
}

TEST(SequenceGraph, NamesAFewOfManyCycles) {
  SequenceGraph graph(1000);
  for (Node a = 0; a < graph.size(); a += 2) {
    graph.add({a, a + 1, 0, ""});
    graph.add({a + 1, a, 0, ""});
  }
  EXPECT_EQ(graph.cycles().size(), 20U);
}

}  // namespace
}  // namespace mist::graph
