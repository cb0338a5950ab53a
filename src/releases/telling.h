#pragma once
// Events about the release of a Release, for the log of the operator: each line begins with whose it is. Any
// thread.

#include <functional>
#include <string>
#include <utility>

#include "base/event.h"

namespace mist::releases {

class Telling final : public EventSink {
 public:
  /// `planned`: called before the first write, with what is done. `next` outlives this.
  Telling(EventSink& next, std::string who, std::function<void(const PlanAnnounced&)> planned)
      : next_(next), who_(std::move(who)), planned_(std::move(planned)) {}

  void message(const Message& event) override { next_.message({event.level, who_ + ": " + event.text}); }
  void began(const ActivityBegan& /*event*/) override {}
  void ended(const ActivityEnded& /*event*/) override {}
  void object(const ObjectProgress& event) override {
    next_.debug(who_ + ": " + event.object + " " + event.state +
                (event.detail.empty() ? std::string() : ": " + event.detail));
  }
  void planned(const PlanAnnounced& event) override { planned_(event); }
  bool shows(EventLevel level) const override { return next_.shows(level); }

 private:
  EventSink& next_;
  const std::string who_;
  const std::function<void(const PlanAnnounced&)> planned_;
};

}  // namespace mist::releases
