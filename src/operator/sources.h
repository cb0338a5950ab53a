#pragma once
// The answers of HTTP nodes: each Service or Pod that an instance asks is asked at its interval, for as long
// as the instance asks. An answer that differs wakes the instance; one that doesn't costs nothing more. A
// source that fails is asked less often. One that can't be asked for a while, as its node waits for
// something, rests, and what it answered before is remembered for a while. One thread asks; a few of its own
// send.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/event.h"
#include "kube/client.h"
#include "operator/observer.h"
#include "operator/work_queue.h"
#include "reconcile/http_question.h"

namespace mist::operator_ {

class Sources {
 public:
  Sources(kube::Client& client, Clock& clock, EventSink& events, Observer::Wake wake);
  ~Sources();
  Sources(const Sources&) = delete;
  Sources& operator=(const Sources&) = delete;

  /// An instance is looked at.
  void begin() { asking_.clear(); }
  /// The answer as it is known; the first time it will be known in a moment. The answer to another question
  /// is none, but for kLongestRest it is known that there was one.
  reconcile::HttpAnswer ask(const Item& item, const std::string& node,
                            const reconcile::HttpQuestion& question);
  /// Questions that it no longer asks aren't sent any more. `kept`: the nodes that may ask again. An
  /// earlier answer is none then, but for kLongestRest it is known that there was one.
  void finish(const Item& item, const std::set<std::string>& kept);
  /// Whether a node that asks, or may ask again, had an answer. When one that rests no longer has, its
  /// instance is woken.
  bool answered(const Item& item, const std::string& node);
  /// The answers to an instance that those of another account have: this one will ask now.
  void take_over(const Item& item, Sources& from);
  void forget(const Item& item) {
    asking_.clear();
    finish(item, {});
  }

  /// Longer than an object is usually replaced by another. One that isn't there again by then is gone for
  /// good.
  static constexpr Duration kLongestRest = std::chrono::minutes(10);

 private:
  using Key = std::pair<Item, std::string>;
  struct Source {
    reconcile::HttpQuestion question;
    std::uint64_t turn = 0;  // an answer that was asked for in another one says nothing about now
    SteadyTime since{};      // this turn, or its rest, began; or somebody tried in vain to reach it
    reconcile::HttpAnswer answer = {};
    int failures = 0;                  // tries in a row
    int silences = 0;                  // those that count against it
    std::optional<Value> before = {};  // of an earlier turn, as long as this one has no answer
    bool answered_another = false;     // an earlier question, and this one has no answer yet
    bool rests = false;
    bool is_overdue = false;  // it rests for so long that nobody waits for it any more

    bool is_unanswered() const { return before || !answer.body; }
    bool has_answered() const { return before || answer.body || answered_another; }
    std::optional<Value> last_answer() const { return before ? before : answer.body; }
  };

  void begin_turn(const Key& key, Source& source);
  static Source succeeding(const Source& source, const reconcile::HttpQuestion& question);
  void rest(const Key& key, Source& source);
  void add(const Key& key, Duration delay = {});
  void work(const std::stop_token& stop);
  std::optional<std::pair<reconcile::HttpQuestion, std::uint64_t>> next_turn(const Key& key);
  Result<Value> send(const reconcile::HttpQuestion& question, const std::stop_token& stop) const;
  void take(const Key& key, std::uint64_t turn, const Result<Value>& answer);
  void fail(Source& source, const Error& failure) const;
  static Duration pause_after(const Source& source);

  kube::Client& client_;
  Clock& clock_;
  EventSink& events_;
  const Observer::Wake wake_;
  WorkQueue<Key> queue_;
  std::set<std::string> asking_;  // the asking thread's: nodes of the instance that is looked at
  std::mutex mutex_;
  std::map<Key, Source> sources_;      // guarded by mutex_
  std::uint64_t turns_ = 0;            // guarded by mutex_
  std::vector<std::jthread> senders_;  // begin with the first source; they use what stands above
};

}  // namespace mist::operator_
