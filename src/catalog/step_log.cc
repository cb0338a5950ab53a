#include "catalog/step_log.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"

namespace mist::catalog {

void StepLog::add(std::string_view text) {
  constexpr std::string_view kLeftOut = "… the rest is left out\n";
  if (full_) return;
  if (text_.size() + text.size() > kMost - kLeftOut.size()) {
    text_ += kLeftOut;
    full_ = true;
    return;
  }
  text_ += text;
}

void StepLog::line(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock_.steady_now() - began_).count();
  add(fmt::format("{:4}.{:01} {}\n", milliseconds / 1000, milliseconds / 100 % 10,
                  escape_controls(text, true)));
}

void StepLog::block(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  for (const std::string_view each : split(trim(text), '\n'))
    add(fmt::format("       {}\n", escape_controls(each)));
}

std::string StepLog::take() {
  const std::scoped_lock lock(mutex_);
  began_ = clock_.steady_now();
  full_ = false;
  return std::exchange(text_, {});
}

void StepLog::message(const Message& event) {
  if (!shows(event.level)) return;
  line(event.level == EventLevel::Warning ? "warning: " + event.text : event.text);
}
void StepLog::began(const ActivityBegan& event) { line(event.text); }
void StepLog::ended(const ActivityEnded& /*event*/) {}
void StepLog::object(const ObjectProgress& event) {
  line(event.detail.empty() ? fmt::format("{}: {}", event.object, event.state)
                            : fmt::format("{}: {} ({})", event.object, event.state, event.detail));
}

}  // namespace mist::catalog
