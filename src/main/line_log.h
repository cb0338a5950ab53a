#pragma once
// The log of programs that run for ever: a line with the time for each message, on standard error. As JSON it
// has the members of Go's slog: time, level, msg, and those that Message::fields names. As text a line ends
// with the fields that its text doesn't say: blueprint=app. Any thread.

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/event.h"

namespace mist {

class LineLog final : public EventSink {
 public:
  enum class Format : std::uint8_t { Text, Json };
  LineLog(Clock& clock, bool verbose, Format format = Format::Text)
      : clock_(clock), verbose_(verbose), format_(format) {}
  void message(const Message& event) override;
  void began(const ActivityBegan& /*event*/) override {}
  void ended(const ActivityEnded& /*event*/) override {}
  void object(const ObjectProgress& /*event*/) override {}
  bool shows(EventLevel level) const override { return verbose_ || level != EventLevel::Debug; }

 private:
  std::string line_of(const Message& event) const;

  Clock& clock_;
  const bool verbose_;
  const Format format_;
  std::mutex mutex_;
};

}  // namespace mist
