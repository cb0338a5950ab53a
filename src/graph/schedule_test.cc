#include "graph/schedule.h"

#include <gtest/gtest.h>

#include "testing/random_graph.h"

namespace mist::graph {
namespace {

using testing::draw;
using testing::kCasesAreSet;
using testing::naive_reach;
using testing::random_dag;
using testing::random_nodes;

// The fate of each node when everything that is ready runs at the same time, ends in a random order, and some
// nodes fail.
struct Trace {
  std::vector<Node> began;
  std::set<Node> done, failed;
};

Trace run(Schedule& schedule, const SequenceGraph& graph, const std::set<Node>& failing) {
  Trace result;
  std::vector<Node> running = schedule.take_ready();
  result.began = running;
  while (!running.empty()) {
    const auto pick = draw(0, running.size());
    const Node node = running[pick];
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(pick));
    // No node before its predecessors.
    for (const std::size_t edge : graph.edges_in(node))
      RC_ASSERT(result.done.contains(graph.edges()[edge].before));
    if (failing.contains(node)) {
      result.failed.insert(node);
      schedule.failed(node);
    } else {
      result.done.insert(node);
      schedule.succeeded(node);
    }
    for (const Node next : schedule.take_ready()) {
      running.push_back(next);
      result.began.push_back(next);
    }
    // As parallel as it allows: what isn't running or blocked lacks a predecessor.
    for (Node other = 0; other < graph.size(); ++other) {
      if (std::ranges::find(result.began, other) != result.began.end()) continue;
      bool lacks = false;
      for (const std::size_t edge : graph.edges_in(other))
        lacks = lacks || !result.done.contains(graph.edges()[edge].before);
      RC_ASSERT(lacks);
    }
  }
  return result;
}

std::set<Node> descendants(const SequenceGraph& graph, const std::set<Node>& of) {
  const auto reach = naive_reach(graph.size(), graph.edges());
  std::set<Node> result;
  for (const Node node : of) result.insert(reach[node].begin(), reach[node].end());
  return result;
}

TEST(ScheduleProperties, FailureBlocksDescendantsOnlyAndEverythingElseRuns) {
  ASSERT_TRUE(kCasesAreSet);
  ASSERT_TRUE(rc::check([] {
    const SequenceGraph graph = random_dag(draw(1, 40));
    const auto failing = random_nodes(graph.size());
    Schedule schedule(graph);
    const Trace result = run(schedule, graph, failing);
    RC_ASSERT(schedule.finished());
    RC_ASSERT(std::set(result.began.begin(), result.began.end()).size() == result.began.size());
    // Blocked is exactly: reachable from a failed node. Nothing else is missing.
    const std::set<Node> expected = descendants(graph, result.failed);
    RC_ASSERT(std::set<Node>(schedule.blocked().begin(), schedule.blocked().end()) == expected);
    RC_ASSERT(result.done.size() + result.failed.size() + expected.size() == graph.size());
    for (Node node = 0; node < graph.size(); ++node) {
      const std::vector<std::size_t> why = schedule.why_blocked(node);
      RC_ASSERT(why.empty() != expected.contains(node));
      if (why.empty()) continue;
      RC_ASSERT(result.failed.contains(graph.edges()[why.front()].before));
      RC_ASSERT(graph.edges()[why.back()].after == node);
      for (std::size_t i = 1; i < why.size(); ++i)
        RC_ASSERT(graph.edges()[why[i - 1]].after == graph.edges()[why[i]].before);
    }
  }));
}

TEST(ScheduleProperties, NoDependencyIsDeletedBeforeItsDependentsAreGone) {
  ASSERT_TRUE(rc::check([] {
    const SequenceGraph graph = random_dag(draw(1, 40));
    const auto failing = random_nodes(graph.size());
    const SequenceGraph deletion = graph.reversed();
    Schedule schedule(deletion);
    const Trace result = run(schedule, deletion, failing);
    for (const Edge& edge : graph.edges())
      if (result.done.contains(edge.before)) RC_ASSERT(result.done.contains(edge.after));
    // A dependent that can't be deleted keeps what it depends on, and nothing else.
    for (Node node = 0; node < graph.size(); ++node)
      if (!result.done.contains(node) && !result.failed.contains(node))
        RC_ASSERT(descendants(deletion, result.failed).contains(node));
  }));
}

TEST(ScheduleProperties, WhatComesOfARunDoesNotDependOnWhoEndsFirst) {
  ASSERT_TRUE(rc::check([] {
    const SequenceGraph graph = random_dag(draw(1, 30));
    const auto failing = random_nodes(graph.size());
    Schedule first(graph), second(graph);
    const Trace a = run(first, graph, failing), b = run(second, graph, failing);
    RC_ASSERT(a.done == b.done);
    RC_ASSERT(a.failed == b.failed);
  }));
}

TEST(Schedule, NodesOfACycleAreNeverHandedOut) {
  SequenceGraph graph(3);
  graph.add({0, 1, 0, ""});
  graph.add({1, 0, 0, ""});
  Schedule schedule(graph);
  EXPECT_EQ(schedule.take_ready(), (std::vector<Node>{2}));
  schedule.succeeded(2);
  EXPECT_TRUE(schedule.take_ready().empty());
  EXPECT_FALSE(schedule.finished());
}

}  // namespace
}  // namespace mist::graph
