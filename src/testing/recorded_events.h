#pragma once
// Keeps what it is told, in that order. For tests; one thread at a time.

#include <string>
#include <vector>

#include "base/event.h"

namespace mist::testing {

class RecordedEvents final : public EventSink {
 public:
  void message(const Message& event) override { messages.push_back(event.text); }
  void began(const ActivityBegan& event) override { activities.push_back(event.text); }
  void ended(const ActivityEnded&) override {}
  void object(const ObjectProgress&) override {}

  std::vector<std::string> messages, activities;
};

}  // namespace mist::testing
