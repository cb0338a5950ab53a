#pragma once
// Claims on the writes of a run: most are carried out when the order says so, a few are brought forward by
// another write that needs them. Each is carried out once. Any thread.

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/result.h"
#include "graph/sequence.h"

namespace mist::apply {

class WriteClaims {
 public:
  /// True: it is the caller's to carry out, who must call finish() then. False: somebody else has it.
  bool claim(graph::Node node, bool ahead = false) {
    const std::scoped_lock lock(mutex_);
    const bool fresh = outcomes_.try_emplace(node).second;
    if (fresh && ahead) ahead_.insert(node);
    return fresh;
  }

  /// Whether another write brought it forward.
  bool is_ahead(graph::Node node) const {
    const std::scoped_lock lock(mutex_);
    return ahead_.contains(node);
  }

  Status finish(graph::Node node, Status outcome) {
    const std::scoped_lock lock(mutex_);
    outcomes_[node] = outcome;
    finished_.notify_all();
    return outcome;
  }

  /// Of a write that somebody has: waits for it.
  Status outcome(graph::Node node) {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return outcomes_[node].has_value(); });
    return *outcomes_[node];
  }

  bool done(graph::Node node) const { return ended(node) == true; }
  bool failed(graph::Node node) const { return ended(node) == false; }
  bool has_ended(graph::Node node) const { return ended(node).has_value(); }

 private:
  // Whether it ended well; nullopt: it has not ended.
  std::optional<bool> ended(graph::Node node) const {
    const std::scoped_lock lock(mutex_);
    const auto known = outcomes_.find(node);
    if (known == outcomes_.end() || !known->second) return std::nullopt;
    return known->second->ok();
  }

  mutable std::mutex mutex_;
  std::condition_variable finished_;
  std::map<graph::Node, std::optional<Status>> outcomes_;  // guarded by mutex_; nullopt: it is on its way
  std::set<graph::Node> ahead_;                            // guarded by mutex_
};

}  // namespace mist::apply
