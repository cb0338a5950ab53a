#pragma once
// An operator's memory of the nodes of an instance while it runs, which it may lose: which write failed and
// when it is tried again, what the server won't change in place, how often a node came and went, what was
// written as planned. One thread at a time.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/result.h"
#include "graph/also.h"
#include "operator/pending_deletes.h"
#include "operator/unready_causes.h"
#include "operator/words.h"

namespace mist::operator_ {

/// A node that is wanted and not wanted in turn more often than that in a minute stays as it is.
inline constexpr std::size_t kMostFlips = 5;
inline constexpr Duration kFlipWindow = std::chrono::minutes(1);
/// An object that is written with the same input more often than that without a calm minute is written with
/// growing pauses: something else changes or deletes it each time.
inline constexpr int kFreeRepairs = 5;
inline constexpr Duration kCalm = std::chrono::minutes(1);
/// How old the status of an instance may be while its objects are being written.
inline constexpr Duration kMostDeferral = std::chrono::seconds(3);

class Memory {
 public:
  /// The write of an object with that input failed. How long it waits: doubles with each failure, from 0.2 s
  /// to 5 min; a new input begins again.
  Duration failed(const ObjectId& id, const std::string& hash, std::string words, SteadyTime now);
  /// It was written, or deleted, with that input. Only if its last write had the same input is that a repair.
  void succeeded(const ObjectId& id, const std::string& hash, SteadyTime now);
  /// It changed: the next try needs no pause.
  void changed(const ObjectId& id) { failures_.erase(id); }
  std::optional<std::string> held(const ObjectId& id, const std::string& hash, SteadyTime now) const;

  /// The server won't change it in place to that input. Until it takes a write of that object: then it is
  /// another one, or no longer in a state that was in the way.
  void refused(const ObjectId& id, const std::string& hash) { immutable_[id] = hash; }
  void took(const ObjectId& id) { immutable_.erase(id); }
  bool immutable(const ObjectId& id, const std::string& hash) const {
    const auto found = immutable_.find(id);
    return found != immutable_.end() && found->second == hash;
  }

  /// Whether it is wanted now; Unknown is not a flip.
  void wanted(const std::string& node, graph::Truth wanted, SteadyTime now);
  bool frozen(const std::string& node, SteadyTime now) const;

  /// The record of the instance: what is stored, and what needs not be stored, since it can be seen on the
  /// objects. Where somebody removed, damaged or wrote over what is stored, as `kubectl replace` and `kubectl
  /// apply` of an older manifest do, what was stored last counts too, and is to be stored again. Invalid: it
  /// is damaged, and nobody here knows what it was.
  /// `uid`: of another instance of the same name nothing is known.
  Result<Record> record(std::string_view stored, std::string_view uid);
  /// Whether that damaged text of a record is another than the last one.
  bool is_new_damage(std::string_view stored);
  /// The stored part alone; nothing where it is damaged.
  Record stored_record() const;
  void stored(std::string text);
  void keep(const Record& record);
  /// Objects of a record that isn't stored any more, since the instance is being deleted.
  void keep(std::vector<ObjectId> unaccounted);
  /// Whether the record has everything: nobody has to look for what carries the mark of the instance.
  bool accounted() const { return accounted_; }
  void account() { accounted_ = true; }

  /// That object isn't there, by the server's word or because nobody was ever asked to make it: no informer
  /// has it, and that isn't for the lack of a label.
  void gone(const ObjectId& id) { gone_.insert(id); }
  void there(const ObjectId& id) { gone_.erase(id); }
  bool is_gone(const ObjectId& id) const { return gone_.contains(id); }

  /// Whether the status is written after a look that wrote something else, which the next look follows at
  /// once: only if that goes on for long.
  bool may_defer_status(SteadyTime now) {
    if (!deferred_since_) deferred_since_ = now;
    return now - *deferred_since_ < kMostDeferral;
  }
  void status_written() { deferred_since_.reset(); }

  /// The reason of its condition Ready, as the status has it or is about to; empty: nothing is known yet.
  const std::string& ready_reason() const { return ready_reason_; }
  void is_ready_for(std::string_view reason) { ready_reason_ = reason; }
  /// As which metrics count it.
  std::string counted_reason;

  /// Whether the instance isn't ready though its deadline is over: that long after it was last ready, or
  /// after its generation became another one, whichever is later. `unready_since`: when its status says that
  /// it ceased to be ready in that generation, for an operator that has just started.
  bool is_stalled(std::int64_t generation, SteadyTime unready_since, Duration deadline, SteadyTime now);
  /// It is ready, or nobody expects it to become so.
  void not_stalled() { progress_.reset(); }
  /// The last answer of is_stalled().
  bool stalled() const { return progress_ && progress_->is_over; }
  /// Whether metrics count it as stalled.
  bool is_counted_stalled = false;

  UnreadyCauses unready_causes;
  PendingDeletes pending_deletes;
  /// Since when metrics count a delete of it as pending.
  std::optional<WallTime> counted_pending;

  /// When something that is held or frozen now no longer is.
  std::optional<SteadyTime> next(SteadyTime now) const;

 private:
  struct Failure {
    std::string hash;
    int times = 0;
    SteadyTime until{};
    std::string words;
  };
  struct Repairs {
    std::string hash;
    int times = 0;
    SteadyTime last{}, until{};
  };
  struct Flips {
    std::optional<bool> wanted;
    std::vector<SteadyTime> at;  // at most kMostFlips; an empty deque takes half a kilobyte
  };
  struct Progress {
    std::int64_t generation = 0;
    SteadyTime since{}, until{};
    bool is_over = false;
  };
  static std::optional<SteadyTime> frozen_until(const Flips& flips);
  Record known_record() const;
  void know(const Record& record);
  void forget_unrecorded(const Record& record);

  std::map<ObjectId, Failure> failures_;
  std::map<ObjectId, Repairs> repairs_;
  std::map<ObjectId, std::string> immutable_;
  std::map<std::string, Flips> flips_;
  std::string uid_;  // of the instance
  std::string ready_reason_;
  // Records as text, which takes a third of a Record's memory: there may be tens of thousands of instances.
  std::optional<std::string> stored_, damaged_;
  std::optional<std::string> record_;  // where it isn't what is stored
  std::set<ObjectId> gone_;
  bool accounted_ = false;
  std::optional<SteadyTime> deferred_since_;
  std::optional<Progress> progress_;  // while it isn't ready, and has a deadline
};

}  // namespace mist::operator_
