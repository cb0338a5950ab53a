#pragma once
// Keeps what it is told, in that order. For tests: any thread tells it, and asks has(); what it keeps is read
// when nobody tells it anything any more.

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"

namespace mist::testing {

class RecordedEvents final : public EventSink {
 public:
  void message(const Message& event) override {
    const std::lock_guard lock(mutex_);
    messages.push_back(event.text);
    fields.push_back(event.fields);
  }
  void began(const ActivityBegan& event) override {
    const std::lock_guard lock(mutex_);
    activities.push_back(event.text);
  }
  void ended(const ActivityEnded&) override {}
  void object(const ObjectProgress&) override {}

  /// Whether a message has these words.
  bool has(std::string_view words) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(
        messages, [&](const std::string& each) { return each.find(words) != std::string::npos; });
  }

  std::vector<std::string> messages, activities;
  std::vector<MessageFields> fields;  ///< of each message

 private:
  mutable std::mutex mutex_;
};

}  // namespace mist::testing
