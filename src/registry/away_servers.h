#pragma once
// AwayServers: the servers of chart repositories that failed when they were asked last, so that one command
// waits once for each. Any thread.

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"

namespace mist::registry {

class AwayServers {
 public:
  /// Why it is away; nothing: it isn't, or nobody asked it. `origin`: of its URL.
  std::optional<Error> why_away(const std::string& origin) const {
    const std::scoped_lock lock(mutex_);
    const auto found = failures_.find(origin);
    return found == failures_.end() ? std::nullopt : std::optional(found->second);
  }
  void note_away(const std::string& origin, Error why) {
    const std::scoped_lock lock(mutex_);
    failures_.insert_or_assign(origin, std::move(why));
  }
  void note_answer(const std::string& origin) {
    const std::scoped_lock lock(mutex_);
    failures_.erase(origin);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Error> failures_;  // by origin; guarded by mutex_
};

}  // namespace mist::registry
