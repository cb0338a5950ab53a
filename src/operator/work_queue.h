#pragma once
// The items that wait to be looked at: each once, however often it was added, at the earliest time that
// somebody asked for, and never while somebody has it in hand; and how long an item that failed waits. An
// item that was begun can keep its place, so that a burst is finished one after the other. Items of a group
// that is slow are in few hands, so that the others are taken meanwhile. Any thread.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include "base/clock.h"
#include "operator/queue_state.h"

namespace mist::operator_ {

template <typename Item>
class WorkQueue {
 public:
  using GroupOf = std::function<std::string(const Item&)>;
  /// At most `most_slow` items of slow groups are in hand once they are known to be slow.
  explicit WorkQueue(Clock& clock, std::size_t most_slow = 0, GroupOf group_of = nullptr)
      : clock_(clock), most_slow_(most_slow), group_of_(std::move(group_of)) {}

  void add(const Item& item, Duration delay = {}) {
    SteadyTime due = clock_.steady_now() + std::chrono::duration_cast<SteadyTime::duration>(delay);
    const SteadyTime ready = due;
    const std::lock_guard lock(mutex_);
    if (const auto place = places_.find(item);
        place != places_.end() && place->second.is_kept && delay == Duration())
      due = place->second.due;
    ++additions_;
    enter(item, due, ready);
  }

  /// It is taken again after that time at the latest, though nothing has happened: that counts as nothing
  /// added, and as nothing that waits until it is due.
  void resync(const Item& item, Duration delay) {
    const SteadyTime due = clock_.steady_now() + std::chrono::duration_cast<SteadyTime::duration>(delay);
    const std::lock_guard lock(mutex_);
    enter(item, due, due);
  }

  /// The next that is due; nullopt: stopped. Nobody else gets it before succeeded() or failed().
  std::optional<Item> take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      const bool is_full = has_enough_slow();
      const auto next = std::ranges::find_if(order_, [&](const auto& each) {
        return !in_hand_.contains(each.second) && !(is_full && is_slow(each.second));
      });
      const SteadyTime now = clock_.steady_now();
      if (next != order_.end() && next->first <= now) {
        Item item = next->second;
        Place& place = places_.try_emplace(item, next->first).first->second;
        place.is_kept = false;
        order_.erase(next);
        const auto due = due_.find(item);
        waits_.add(now - due->second.ready);
        due_.erase(due);
        in_hand_.insert(item);
        // Somebody else takes the next one, or waits for its time.
        if (!order_.empty()) call_one();
        return item;
      }
      // By anything that is added, which may be due earlier, and by what somebody lets go of.
      const auto is_called = [&, seen = changes_] { return changes_ != seen; };
      if (next == order_.end() || (awaited_ && *awaited_ <= next->first)) {
        wake_.wait(lock, stop, is_called);
      } else {
        const SteadyTime until = next->first;
        awaited_ = until;
        wake_.wait_for(lock, stop, until - now, is_called);
        if (awaited_ == until) awaited_.reset();
      }
    }
    return std::nullopt;
  }

  /// Of an item in hand: it isn't finished, and when it is added next, without delay, it comes before what
  /// was added since it was added first. At most 256 times in a row: then others that wait come before.
  void keep_place(const Item& item) {
    const std::lock_guard lock(mutex_);
    const auto place = places_.find(item);
    if (place != places_.end()) place->second.is_kept = ++place->second.times <= kMostTimes;
  }

  /// All of its group are slow from now on, for that long.
  void slow(const Item& item, Duration how_long) {
    if (!group_of_) return;
    const std::lock_guard lock(mutex_);
    slow_until_[group_of_(item)] =
        clock_.steady_now() + std::chrono::duration_cast<SteadyTime::duration>(how_long);
  }

  QueueState state() {
    const std::lock_guard lock(mutex_);
    const SteadyTime now = clock_.steady_now();
    const auto later = std::ranges::find_if(order_, [&](const auto& each) { return each.first > now; });
    return {.depth = static_cast<std::size_t>(std::distance(order_.begin(), later)),
            .additions = additions_,
            .retries = retries_,
            .waits = waits_};
  }

  /// Doubles with each failure, from 0.2 s to 5 min.
  Duration failed(const Item& item) {
    const std::lock_guard lock(mutex_);
    let_go(item);
    places_.erase(item);
    ++retries_;
    const int failures = failures_[item]++;
    return std::min<Duration>(std::chrono::milliseconds(200) * (std::int64_t{1} << std::min(failures, 12)),
                              std::chrono::minutes(5));
  }
  void succeeded(const Item& item) {
    const std::lock_guard lock(mutex_);
    let_go(item);
    failures_.erase(item);
  }
  /// It was taken too early: its failures count as before.
  void put_back(const Item& item) {
    const std::lock_guard lock(mutex_);
    let_go(item);
  }
  /// Its failures were those of another wish.
  void forgive(const Item& item) {
    const std::lock_guard lock(mutex_);
    failures_.erase(item);
  }

 private:
  // With the lock.
  void enter(const Item& item, SteadyTime due, SteadyTime ready) {
    const auto [entry, is_new] = due_.emplace(item, Due{due, ready});
    entry->second.ready = std::min(entry->second.ready, ready);
    if (is_new || due < entry->second.at) {
      if (!is_new) order_.erase({entry->second.at, item});
      entry->second.at = due;
      order_.emplace(due, item);
    }
    call_one();
  }
  // With the lock. One is enough: a thread that takes an item calls the next.
  void call_one() {
    ++changes_;
    wake_.notify_one();
  }
  bool is_slow(const Item& item) const {
    if (slow_until_.empty()) return false;
    const auto until = slow_until_.find(group_of_(item));
    return until != slow_until_.end() && clock_.steady_now() < until->second;
  }
  bool has_enough_slow() const {
    return !slow_until_.empty() && std::ranges::count_if(in_hand_, [this](const Item& each) {
                                     return is_slow(each);
                                   }) >= static_cast<std::ptrdiff_t>(most_slow_);
  }
  void let_go(const Item& item) {
    if (in_hand_.erase(item) == 0) return;
    if (const auto place = places_.find(item); place != places_.end() && !place->second.is_kept)
      places_.erase(place);
    if (due_.contains(item) || !slow_until_.empty()) call_one();
  }

  struct Due {
    SteadyTime at;     // its place among the others
    SteadyTime ready;  // since when it waits, whatever place it kept
  };
  struct Place {
    explicit Place(SteadyTime since) : due(since) {}
    SteadyTime due;
    int times = 0;
    bool is_kept = false;
  };
  static constexpr int kMostTimes = 256;

  Clock& clock_;
  const std::size_t most_slow_;
  const GroupOf group_of_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<Item, Due> due_;
  std::set<std::pair<SteadyTime, Item>> order_;  // the same, by time
  std::set<Item> in_hand_;
  std::map<Item, Place> places_;  // of what is in hand, and of what keeps its place
  std::uint64_t additions_ = 0, retries_ = 0;
  QueueWaits waits_;
  std::uint64_t changes_ = 0;  // of all that take() looks at
  // For which one of those who take waits; the others wait until they are called.
  std::optional<SteadyTime> awaited_;
  std::map<Item, int> failures_;
  std::map<std::string, SteadyTime> slow_until_;  // by group
};

}  // namespace mist::operator_
