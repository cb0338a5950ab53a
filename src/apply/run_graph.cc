#include "apply/run_graph.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "graph/schedule.h"

namespace mist::apply {

using graph::Node;

GraphRun run_graph(const graph::SequenceGraph& graph, std::size_t workers,
                   const std::function<Status(Node)>& work, const Context& context) {
  GraphRun run;
  run.results.assign(graph.size(), NodeResult::NotStarted);
  graph::Schedule schedule(graph);
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Node> queue;   // guarded by mutex, like run and schedule
  std::size_t running = 0;  // guarded by mutex
  const auto refill = [&] {
    for (const Node node : schedule.take_ready()) queue.push_back(node);
  };
  refill();

  const auto worker = [&] {
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return !queue.empty() || running == 0; });
      if (queue.empty() || !context.check().ok()) {
        queue.clear();
        if (running == 0) {
          wake.notify_all();
          return;
        }
        continue;
      }
      const Node node = queue.front();
      queue.pop_front();
      ++running;
      lock.unlock();
      Status status = work(node);
      lock.lock();
      --running;
      if (status.ok()) {
        run.results[node] = NodeResult::Done;
        schedule.succeeded(node);
      } else {
        run.results[node] = NodeResult::Failed;
        run.failures.emplace_back(node, std::move(status).error());
        schedule.failed(node);
      }
      refill();
      wake.notify_all();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min(workers, graph.size()); ++i) threads.emplace_back(worker);
    worker();
  }
  std::ranges::sort(run.failures, {}, [](const auto& failure) { return failure.first; });
  return run;
}

}  // namespace mist::apply
