#pragma once
// Passes events on with secrets hidden in what they say. Any thread.

#include "base/event.h"

namespace mist {

/// `Mask` has `std::string masked(std::string) const`. `next` and `mask` outlive it.
template <typename Mask>
class MaskedEvents final : public EventSink {
 public:
  MaskedEvents(EventSink& next, const Mask& mask) : next_(next), mask_(mask) {}

  void message(const Message& event) override {
    Message masked{event.level, mask_.masked(event.text), event.fields};
    for (MessageField& each : masked.fields) each.value = mask_.masked(std::move(each.value));
    next_.message(masked);
  }
  void began(const ActivityBegan& event) override { next_.began(event); }
  void ended(const ActivityEnded& event) override { next_.ended(event); }
  void progressed(const ActivityProgress& event) override { next_.progressed(event); }
  void object(const ObjectProgress& event) override {
    next_.object({event.object, event.state, mask_.masked(event.detail)});
  }
  void planned(const PlanAnnounced& event) override { next_.planned(event); }
  bool shows(EventLevel level) const override { return next_.shows(level); }

 private:
  EventSink& next_;
  const Mask& mask_;
};

}  // namespace mist
