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

class Troubles {
 public:
  /// The instance is looked at; it asks about what isn't ready.
  void begin();
  /// What was found out about an object that isn't ready now; empty: nothing. Of what makes no Pods there is
  /// nothing to find out.
  std::string of(const ObjectId& id, const Value& live, SteadyTime now);
  /// What wasn't asked about is ready, or gone.
  void finish();

  /// What is to be looked into now.
  std::vector<apply::Unready> due(SteadyTime now) const;
  /// What was found. Whether that is something else than before.
  bool found(const apimachinery::ObjectKey& key, std::string cause, SteadyTime now);
  /// When the next is due.
  std::optional<SteadyTime> next() const;

 private:
  struct Trouble {
    apply::Unready object;
    SteadyTime next{};
    int looks = 0;
    std::string cause = {};
    bool asked = true;  // since begin()
  };
  std::map<ObjectId, Trouble> all_;
};

}  // namespace mist::operator_
