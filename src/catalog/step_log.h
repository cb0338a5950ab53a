#pragma once
// The log of a step: messages and progress as lines with the time since it began, bounded. Any thread.

#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/event.h"

namespace mist::catalog {

class StepLog final : public EventSink {
 public:
  static constexpr std::size_t kMost = std::size_t{256} << 10;  ///< bytes; more is left out, and that is said

  explicit StepLog(const Clock& clock) : clock_(clock), began_(clock.steady_now()) {}

  /// Controls and bidirectional marks of what others wrote become visible.
  void line(std::string_view text);
  /// Several, indented.
  void block(std::string_view text);
  /// The next step's begins empty.
  std::string take();

  void message(const Message& event) override;
  void began(const ActivityBegan& event) override;
  void ended(const ActivityEnded& event) override;
  void object(const ObjectProgress& event) override;
  bool shows(EventLevel level) const override { return level != EventLevel::Debug; }

 private:
  void add(std::string_view text);

  const Clock& clock_;
  std::mutex mutex_;
  SteadyTime began_;
  std::string text_;
  bool full_ = false;
};

}  // namespace mist::catalog
