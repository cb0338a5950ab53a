#include "graph/also.h"

#include <gtest/gtest.h>

#include <map>

#include "testing/random_graph.h"

namespace mist::graph {
namespace {

using testing::draw;
using testing::kCasesAreSet;
using testing::letter;
using testing::random_node;

TEST(AlsoGraph, UnknownGuardsNeitherAddNorRemove) {
  // a → b → c, b → d if 7 (unknown), d → e, a → f if 8 (false)
  AlsoGraph graph(6);
  graph.add({0, 1, kAlways, "always"});
  graph.add({1, 2, 5, "if 5"});
  graph.add({1, 3, 7, "if 7"});
  graph.add({3, 4, kAlways, ""});
  graph.add({0, 5, 8, "if 8"});
  const auto value = [](Guard guard) {
    return guard == 5 ? Truth::True : guard == 7 ? Truth::Unknown : Truth::False;
  };
  const Closure closure = graph.closure({0}, value);
  EXPECT_EQ(closure.surely(), (std::vector<Node>{0, 1, 2}));
  EXPECT_EQ(closure.possibly(), (std::vector<Node>{0, 1, 2, 3, 4}));
  EXPECT_EQ(closure.wanted(4), Truth::Unknown);
  EXPECT_EQ(closure.wanted(5), Truth::False);
  EXPECT_EQ(path_text(graph, closure.why(2), letter), "a → b (always) → c (if 5)");
  EXPECT_EQ(path_text(graph, closure.why(4), letter), "a → b (always) → d (if 7) → e");
  EXPECT_TRUE(closure.why(0).empty());
  EXPECT_TRUE(closure.why(5).empty());
}

TEST(AlsoGraph, MayHaveCyclesThatNobodyWants) {
  AlsoGraph graph(4);
  graph.add({0, 1, kAlways, ""});
  graph.add({1, 0, kAlways, ""});
  graph.add({2, 3, kAlways, ""});  // want one another, and nobody wants them
  graph.add({3, 2, kAlways, ""});
  const auto never = [](Guard) { return Truth::False; };
  EXPECT_EQ(graph.closure({0}, never).possibly(), (std::vector<Node>{0, 1}));
  EXPECT_TRUE(graph.closure({}, never).possibly().empty());
}

TEST(AlsoGraph, GuardsOfWhatIsNotWantedAreNotAsked) {
  AlsoGraph graph(3);
  graph.add({0, 1, 1, ""});
  graph.add({1, 2, 2, ""});
  std::vector<Guard> asked;
  (void)graph.closure({0}, [&](Guard guard) {
    asked.push_back(guard);
    return Truth::False;
  });
  EXPECT_EQ(asked, (std::vector<Guard>{1}));
}

struct RandomAlso {
  std::size_t nodes = 0;
  std::vector<AlsoEdge> edges;
  std::map<Guard, Truth> guards;
  std::vector<Node> roots;

  Truth value(Guard guard) const { return guard == kAlways ? Truth::True : guards.at(guard); }
};

RandomAlso random_also() {
  RandomAlso result;
  result.nodes = draw(1, 25);
  result.edges.resize(draw(0, result.nodes * 3));
  for (Guard guard = 0; guard < 4; ++guard)
    result.guards[guard] = *rc::gen::element(Truth::False, Truth::Unknown, Truth::True);
  for (AlsoEdge& edge : result.edges) {
    const Guard guard = draw(0, 6);
    edge = {random_node(result.nodes), random_node(result.nodes), guard < 4 ? guard : kAlways,
            std::string(1, static_cast<char>('a' + static_cast<char>(draw(0, 3))))};
  }
  for (std::size_t i = draw(0, 4); i > 0; --i) result.roots.push_back(random_node(result.nodes));
  return result;
}

AlsoGraph graph_of(const RandomAlso& random) {
  AlsoGraph graph(random.nodes);
  for (const AlsoEdge& edge : random.edges) graph.add(edge);
  return graph;
}

// "Wanted" by its definition: apply the rule until nothing is added.
std::set<Node> naive_closure(const RandomAlso& random, Truth needed) {
  std::set<Node> wanted(random.roots.begin(), random.roots.end());
  for (bool grew = true; grew;) {
    grew = false;
    for (const AlsoEdge& edge : random.edges)
      if (wanted.contains(edge.from) && random.value(edge.guard) >= needed)
        grew = wanted.insert(edge.to).second || grew;
  }
  return wanted;
}

TEST(AlsoProperties, TheClosureIsWhatTheNaiveFixedPointSays) {
  ASSERT_TRUE(kCasesAreSet);
  ASSERT_TRUE(rc::check([] {
    const RandomAlso random = random_also();
    const AlsoGraph graph = graph_of(random);
    std::map<Guard, int> asked;
    const Closure closure = graph.closure(random.roots, [&](Guard guard) {
      ++asked[guard];
      return random.value(guard);
    });
    const auto surely = closure.surely(), possibly = closure.possibly();
    RC_ASSERT(std::set<Node>(surely.begin(), surely.end()) == naive_closure(random, Truth::True));
    RC_ASSERT(std::set<Node>(possibly.begin(), possibly.end()) == naive_closure(random, Truth::Unknown));
    for (const auto& [guard, times] : asked) RC_ASSERT(times == 1);
  }));
}

TEST(AlsoProperties, EveryReasonIsAPathFromARoot) {
  ASSERT_TRUE(rc::check([] {
    const RandomAlso random = random_also();
    const AlsoGraph graph = graph_of(random);
    const Closure closure = graph.closure(random.roots, [&](Guard g) { return random.value(g); });
    const std::set<Node> roots(random.roots.begin(), random.roots.end());
    for (Node node = 0; node < random.nodes; ++node) {
      const std::vector<std::size_t> why = closure.why(node);
      RC_ASSERT(why.empty() == (roots.contains(node) || closure.wanted(node) == Truth::False));
      if (why.empty()) continue;
      RC_ASSERT(roots.contains(graph.edges()[why.front()].from));
      RC_ASSERT(graph.edges()[why.back()].to == node);
      for (std::size_t i = 0; i < why.size(); ++i) {
        const AlsoEdge& edge = graph.edges()[why[i]];
        RC_ASSERT(random.value(edge.guard) >= closure.wanted(node));
        if (i > 0) RC_ASSERT(graph.edges()[why[i - 1]].to == edge.from);
      }
    }
  }));
}

TEST(AlsoProperties, KnowingMoreOnlyMovesNodesOutOfDoubt) {
  ASSERT_TRUE(rc::check([] {
    RandomAlso random = random_also();
    const AlsoGraph graph = graph_of(random);
    const Closure before = graph.closure(random.roots, [&](Guard g) { return random.value(g); });
    for (auto& [guard, value] : random.guards)
      if (value == Truth::Unknown) value = *rc::gen::element(Truth::False, Truth::True);
    const Closure after = graph.closure(random.roots, [&](Guard g) { return random.value(g); });
    for (Node node = 0; node < random.nodes; ++node) {
      RC_ASSERT(after.wanted(node) != Truth::Unknown);
      if (before.wanted(node) != Truth::Unknown) RC_ASSERT(after.wanted(node) == before.wanted(node));
    }
  }));
}

TEST(AlsoProperties, ResultsDoNotDependOnTheOrderOfInsertion) {
  ASSERT_TRUE(rc::check([] {
    RandomAlso random = random_also();
    const AlsoGraph a = graph_of(random);
    for (std::size_t i = 0; i + 1 < random.edges.size(); ++i)
      std::swap(random.edges[i], random.edges[draw(i, random.edges.size())]);
    std::ranges::reverse(random.roots);
    const AlsoGraph b = graph_of(random);
    const auto value = [&](Guard g) { return random.value(g); };
    const Closure x = a.closure(random.roots, value), y = b.closure(random.roots, value);
    for (Node node = 0; node < random.nodes; ++node) {
      RC_ASSERT(x.wanted(node) == y.wanted(node));
      RC_ASSERT(path_text(a, x.why(node), letter) == path_text(b, y.why(node), letter));
    }
  }));
}

}  // namespace
}  // namespace mist::graph
