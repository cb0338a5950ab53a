#pragma once
// Holds the messages of an attempt until it is known whether it was of use. One thread at a time.

#include <cstddef>
#include <utility>
#include <vector>

#include "base/event.h"

namespace mist::package {

class HeldEvents final : public EventSink {
 public:
  static constexpr std::size_t kMost = 10'000;  ///< messages; further ones are passed on at once

  /// `next` outlives this. Progress is passed on at once.
  explicit HeldEvents(EventSink& next) : next_(next) {}

  void message(const Message& event) override {
    if (held_.size() < kMost)
      held_.push_back(event);
    else
      next_.message(event);
  }
  void began(const ActivityBegan& event) override { next_.began(event); }
  void ended(const ActivityEnded& event) override { next_.ended(event); }
  void progressed(const ActivityProgress& event) override { next_.progressed(event); }
  void object(const ObjectProgress& event) override { next_.object(event); }
  void planned(const PlanAnnounced& event) override { next_.planned(event); }
  bool shows(EventLevel level) const override { return next_.shows(level); }

  EventSink& next() const { return next_; }
  /// Passes on what it holds.
  void release() {
    for (const Message& each : std::exchange(held_, {})) next_.message(each);
  }

 private:
  EventSink& next_;
  std::vector<Message> held_;
};

}  // namespace mist::package
