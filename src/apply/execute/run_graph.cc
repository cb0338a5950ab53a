#include "apply/execute/run_graph.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "graph/schedule.h"

namespace mist::apply {

using graph::Node;

namespace {

// Shared with the waits that were begun: the last of them may still be inside of ended() when the run is
// over.
class Runner : public std::enable_shared_from_this<Runner> {
 public:
  Runner(const graph::SequenceGraph& graph, const NodeWork& work, const Context& context)
      : work_(work), context_(context), schedule_(graph) {
    ahead_ = graph.ahead(work.costs.empty() ? std::vector<std::size_t>(graph.size(), 1) : work.costs);
    run_.results.assign(graph.size(), NodeResult::NotStarted);
    refill();
  }

  void worker() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return !queue_.empty() || running_ == 0; });
      if (queue_.empty() || !context_.check().ok()) {
        queue_.clear();
        if (running_ == 0) {
          wake_.notify_all();
          return;
        }
        continue;
      }
      const Node node = queue_.begin()->second;
      queue_.erase(queue_.begin());
      ++running_;
      lock.unlock();
      if (work_.waits && work_.waits(node)) {
        work_.begin(node, [self = shared_from_this(), node](Status status) {
          const std::scoped_lock guard(self->mutex_);
          self->ended(node, std::move(status));
        });
        lock.lock();
        continue;
      }
      Status status = work_.work(node);
      lock.lock();
      ended(node, std::move(status));
    }
  }

  GraphRun take() {
    const std::scoped_lock lock(mutex_);
    for (const Node node : schedule_.blocked()) run_.blocked.emplace_back(node, schedule_.why_blocked(node));
    std::ranges::sort(run_.blocked, {}, [](const auto& blocked) { return blocked.first; });
    std::ranges::sort(run_.failures, {}, [](const auto& failure) { return failure.first; });
    return std::move(run_);
  }

 private:
  void refill() {
    for (const Node node : schedule_.take_ready()) queue_.emplace(ahead_[node], node);
  }

  // Under the lock.
  void ended(Node node, Status status) {
    --running_;
    if (status.ok()) {
      run_.results[node] = NodeResult::Done;
      schedule_.succeeded(node);
    } else {
      run_.results[node] = NodeResult::Failed;
      run_.failures.emplace_back(node, std::move(status).error());
      schedule_.failed(node);
    }
    const std::size_t waiting = queue_.size();
    refill();
    if (running_ == 0 && queue_.empty()) return wake_.notify_all();
    // One for each that became ready: waking all would cost more than many a node's work.
    for (std::size_t i = waiting; i < queue_.size(); ++i) wake_.notify_one();
  }

  const NodeWork& work_;
  const Context& context_;
  std::mutex mutex_;
  std::condition_variable wake_;
  graph::Schedule schedule_;  // guarded by mutex_, like all below
  GraphRun run_;
  std::vector<std::size_t> ahead_;
  // The free nodes: those with the longest critical path ahead first, then by number.
  struct Urgent {
    bool operator()(const std::pair<std::size_t, Node>& a, const std::pair<std::size_t, Node>& b) const {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    }
  };
  std::set<std::pair<std::size_t, Node>, Urgent> queue_;
  std::size_t running_ = 0;
};

}  // namespace

GraphRun run_graph(const graph::SequenceGraph& graph, std::size_t workers, const NodeWork& work,
                   const Context& context) {
  const auto runner = std::make_shared<Runner>(graph, work, context);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min(workers, graph.size()); ++i)
      threads.emplace_back([&runner] { runner->worker(); });
    runner->worker();
  }
  return runner->take();
}

GraphRun run_graph(const graph::SequenceGraph& graph, std::size_t workers,
                   const std::function<Status(Node)>& work, const Context& context) {
  return run_graph(graph, workers, NodeWork{.work = work}, context);
}

}  // namespace mist::apply
