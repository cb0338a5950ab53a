#pragma once
// Events about the release of a Release, for the log of the operator: each line begins with whose it is, and
// has that as fields. Any thread.

#include <functional>
#include <string>
#include <utility>

#include "base/event.h"

namespace mist::releases {

class ReleaseEventSink final : public EventSink {
 public:
  /// `planned`: called before the first write, with what is done. `next` outlives this.
  /// `who`: "Release shop/web", which `fields` say too.
  ReleaseEventSink(EventSink& next, std::string who, MessageFields fields,
                   std::function<void(const PlanAnnounced&)> planned)
      : next_(next), who_(std::move(who)), fields_(std::move(fields)), planned_(std::move(planned)) {}

  void message(const Message& event) override {
    MessageFields fields = fields_;
    fields.insert(fields.end(), event.fields.begin(), event.fields.end());
    next_.message({event.level, who_ + ": " + event.text, std::move(fields)});
  }
  void began(const ActivityBegan& /*event*/) override {}
  void ended(const ActivityEnded& /*event*/) override {}
  void object(const ObjectProgress& event) override {
    MessageFields fields = fields_;
    fields.push_back({"object", event.object});
    next_.debug(who_ + ": " + event.object + " " + event.state +
                    (event.detail.empty() ? std::string() : ": " + event.detail),
                std::move(fields));
  }
  void planned(const PlanAnnounced& event) override { planned_(event); }
  bool shows(EventLevel level) const override { return next_.shows(level); }

 private:
  EventSink& next_;
  const std::string who_;
  const MessageFields fields_;
  const std::function<void(const PlanAnnounced&)> planned_;
};

}  // namespace mist::releases
