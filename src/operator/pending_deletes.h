#pragma once
// The deletes of an instance's objects that something holds back, and for how long: a finalizer of somebody
// else, an object that has to go before, a refusal by the server. An object that the server was asked to
// delete waits since then; one that hasn't had its turn, since this operator first saw it. One thread at a
// time.

#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "operator/words.h"

namespace mist::operator_ {

/// After that an Event names the object that holds the others.
inline constexpr Duration kLongPending = std::chrono::minutes(10);

class PendingDeletes {
 public:
  /// A plan was carried out: these are the deletes that it leaves to be done.
  void take(const Plan& plan, SteadyTime now, WallTime wall);
  /// Since when the oldest of them waits; nullopt: there is none.
  std::optional<WallTime> oldest() const;
  /// The text of an Event, once one of them has waited for kLongPending; nullopt: there is nothing to say,
  /// or it was said, and some have waited that long ever since.
  std::optional<std::string> news(SteadyTime now);
  /// When news() has something to say; nullopt: it has said it, or nothing waits.
  std::optional<SteadyTime> next() const;

 private:
  struct Pending {
    SteadyTime since{};
    WallTime at{};  // the same, for people
    bool is_asked = false;
    std::string why = {};
  };
  using All = std::map<ObjectId, Pending>;
  All::const_iterator oldest_of_all() const;
  All::const_iterator first_cause() const;

  All all_;
  std::optional<ObjectId> problem_;  // of the instance's status, if that is one of these
  bool is_told_ = false;
};

}  // namespace mist::operator_
