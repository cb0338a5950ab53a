#pragma once
// RepositoryHealth: the chart repositories that failed when they were asked last, so that one command waits
// once for each; and those that answered, so that it need not ask each time. By their URLs: a server that
// fails for one of them may have the others. Any thread.

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"

namespace mist::registry {

class RepositoryHealth {
 public:
  /// Why its last request failed; nothing: it didn't, or it was not asked yet.
  std::optional<Error> last_failure(const std::string& url) const {
    const std::scoped_lock lock(mutex_);
    const auto found = failures_.find(url);
    return found == failures_.end() ? std::nullopt : std::optional(found->second);
  }
  void note_failure(const std::string& url, Error why) {
    const std::scoped_lock lock(mutex_);
    failures_.insert_or_assign(url, std::move(why));
  }
  void note_answer(const std::string& url) {
    const std::scoped_lock lock(mutex_);
    failures_.erase(url);
    answered_.insert(url);
  }
  /// Whether its index was had from it at least once.
  bool has_answered(const std::string& url) const {
    const std::scoped_lock lock(mutex_);
    return answered_.contains(url);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Error> failures_;  // by URL; guarded by mutex_
  std::set<std::string> answered_;         // the same
};

}  // namespace mist::registry
