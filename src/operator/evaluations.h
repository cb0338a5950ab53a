#pragma once
// Evaluates the questions that instances ask of their blueprint's program (answers.h): usually many at a
// time, by any thread that finds an open one while nobody evaluates that blueprint. Slow questions are left
// to a thread of their own, one after the other, so that an instance whose functions never end keeps no other
// one waiting for longer than kAloneTime. Any thread.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/event.h"
#include "operator/observer.h"
#include "operator/revisions.h"

namespace mist::operator_ {

/// How long questions may take that are evaluated together, and each of them alone, before they are said to
/// take long. Then the limits of the sandbox count, and kSlowTime for all that is asked to answer one.
inline constexpr Duration kTogetherTime = std::chrono::seconds(15);
inline constexpr Duration kAloneTime = std::chrono::seconds(5);
inline constexpr Duration kSlowTime = std::chrono::minutes(3);

class Evaluations {
 public:
  /// `lock_of`: whoever uses the revisions has it. `wake`: an instance has an answer.
  /// `wake_later`: where all instances that have begun wait for something, the next one is looked at then.
  Evaluations(Revisions& revisions, std::mutex& lock_of, Clock& clock, EventSink& events, Observer::Wake wake,
              Observer::Wake wake_later)
      : revisions_(revisions),
        mutex_(lock_of),
        clock_(clock),
        events_(events),
        wake_(std::move(wake)),
        wake_later_(std::move(wake_later)) {}

  /// Evaluates all open questions of the blueprint that may be, without the lock. If somebody does already,
  /// they are left to that thread.
  void run(const std::string& blueprint, std::unique_lock<std::mutex>& lock, const Context& context);
  /// Evaluates what takes long, until it is stopped.
  void run_slow(const Context& context);

 private:
  void answer_alone(const std::string& blueprint, const Answers::Batch& batch,
                    const blueprint::Evaluator& evaluator, std::unique_lock<std::mutex>& lock,
                    const Context& context);
  void answer_slow(const std::string& blueprint, std::unique_lock<std::mutex>& lock, const Context& context);
  void rest(const std::string& blueprint, const Answers::Question& question, const Error& failure);

  Revisions& revisions_;
  std::mutex& mutex_;
  Clock& clock_;
  EventSink& events_;
  const Observer::Wake wake_, wake_later_;
  // Guarded by mutex_.
  std::condition_variable_any wake_slow_;
  std::set<std::string> slow_;  // blueprints that may have questions that take long
};

}  // namespace mist::operator_
