#include "apply/execute/run_graph.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>

namespace mist::apply {
namespace {

TEST(RunGraph, IndependentNodesRunTogetherAndDependentsAfter) {
  graph::SequenceGraph graph(5);
  graph.add({0, 4, 0, ""});
  graph.add({1, 4, 0, ""});
  std::latch together(4);  // would never open if they ran one after another
  std::atomic<bool> early{false};
  std::atomic<int> done{0};
  const GraphRun run = run_graph(
      graph, 4,
      [&](graph::Node node) -> Status {
        if (node == 4)
          early = early || done < 2;
        else
          together.arrive_and_wait();
        ++done;
        return {};
      },
      Context());
  EXPECT_FALSE(early);
  for (const NodeResult result : run.results) EXPECT_EQ(result, NodeResult::Done);
}

TEST(RunGraph, FailureBlocksOnlyWhatFollows) {
  graph::SequenceGraph graph(4);
  graph.add({0, 1, 0, ""});
  graph.add({1, 2, 0, ""});
  const GraphRun run = run_graph(
      graph, 2,
      [](graph::Node node) -> Status {
        if (node == 0) return error(ErrorKind::Invalid, "no");
        return {};
      },
      Context());
  EXPECT_EQ(run.results, (std::vector{NodeResult::Failed, NodeResult::NotStarted, NodeResult::NotStarted,
                                      NodeResult::Done}));
  ASSERT_EQ(run.failures.size(), 1u);
}

TEST(RunGraph, NothingBeginsAfterAStop) {
  graph::SequenceGraph graph(100);
  for (graph::Node node = 1; node < 100; ++node) graph.add({node - 1, node, 0, ""});
  std::stop_source stop;
  const GraphRun run = run_graph(
      graph, 8,
      [&](graph::Node node) -> Status {
        if (node == 3) stop.request_stop();
        return {};
      },
      Context(stop.get_token()));
  EXPECT_EQ(run.results[3], NodeResult::Done);
  EXPECT_EQ(run.results[4], NodeResult::NotStarted);
}

TEST(RunGraph, EmptyGraphEnds) {
  EXPECT_TRUE(
      run_graph(graph::SequenceGraph(0), 4, [](graph::Node) { return Status{}; }, Context()).results.empty());
}

}  // namespace
}  // namespace mist::apply
