#pragma once
// Why workloads of an instance don't become ready (an image that can't be pulled, a quota, no node): it
// stands in their Pods and in Events, which nobody watches here. They are read for what hasn't been ready for
// a while, with growing pauses, since nothing tells when they change. One thread at a time.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apply/wait/root_cause.h"
#include "base/clock.h"
#include "operator/words.h"

namespace mist::operator_ {

/// Most of what isn't ready is so after that. Doubled with each look.
inline constexpr Duration kFirstLook = std::chrono::seconds(10);
inline constexpr Duration kLongestLookPause = std::chrono::minutes(5);

class UnreadyCauses {
 public:
  /// The instance is looked at; it asks about what isn't ready.
  void begin();
  /// The cause found so far why an object isn't ready; empty: none. Objects that make no Pods have none.
  std::string of(const ObjectId& id, const Value& live, SteadyTime now);
  /// Forgets objects that weren't asked about since begin(): they are ready, or gone.
  void finish();

  /// The objects to look into now.
  std::vector<apply::Unready> due(SteadyTime now) const;
  /// Records the cause found. Whether it differs from the one before.
  bool found(const apimachinery::ObjectKey& key, const std::string& cause, SteadyTime now);
  /// When the next is due.
  std::optional<SteadyTime> next() const;

 private:
  struct Entry {
    apply::Unready object;
    SteadyTime next{};
    int looks = 0;
    std::string cause = {};
    bool asked = true;  // since begin()
  };
  std::map<ObjectId, Entry> all_;
};

}  // namespace mist::operator_
