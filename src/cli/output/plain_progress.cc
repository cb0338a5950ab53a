#include "cli/output/plain_progress.h"

#include "base/duration.h"
#include "base/text.h"
#include "cli/output/style.h"
#include "view/explain.h"

namespace mist::cli {

PlainProgress::PlainProgress(const ProgressOptions& options, Output& err, Clock& clock, bool color,
                             Pulse* pulse)
    : options_(options), err_(err), clock_(clock), color_(color) {
  if (pulse == nullptr) return;
  beat_.emplace(*pulse, [this] {
    const std::scoped_lock lock(mutex_);
    return look();
  });
}

void PlainProgress::line(const std::string& text) { err_.write(text + "\n"); }

void PlainProgress::message(const Message& event) {
  if (!options_.shows(event.level)) return;
  const std::string text = escape_controls(event.text);
  switch (event.level) {
    case EventLevel::Warning:
      return line(paint(color_, Tone::Warning, "warning:") + " " + text);
    case EventLevel::Info:
      return line(text);
    case EventLevel::Debug:
      return line(paint(color_, Tone::Faint, text));
  }
}

void PlainProgress::began(const ActivityBegan& event) {
  if (options_.quiet) return;
  const std::lock_guard lock(mutex_);
  const bool now = options_.verbosity > 0;
  if (now) line(fmt::format("… {}", escape_controls(event.text)));
  running_.emplace(event.id, Running{escape_controls(event.text), clock_.steady_now(), now});
  if (now || beat_) return;
  if (!watcher_.joinable()) watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  wake_.notify_all();
}

void PlainProgress::ended(const ActivityEnded& event) {
  const std::lock_guard lock(mutex_);
  const auto found = running_.find(event.id);
  if (found == running_.end()) return;
  const Running& running = found->second;
  if (options_.verbosity > 0)
    line(fmt::format("… {} {} after {}", running.text, event.ok ? "done" : "failed",
                     format_elapsed(clock_.steady_now() - running.since)));
  running_.erase(found);
}

void PlainProgress::object(const ObjectProgress& event) {
  if (options_.quiet || (event.state == "unchanged" && options_.verbosity == 0)) return;
  std::string text = fmt::format("{}: {}", event.object, event.state);
  if (!event.detail.empty()) text += fmt::format(" ({})", event.detail);
  const std::lock_guard lock(mutex_);
  std::string& last = last_[event.object];
  if (last == text) return;
  last = text;
  line(escape_controls(text));
}

void PlainProgress::planned(const PlanAnnounced& event) {
  // Asked for by its name, whatever else is to be quiet.
  if (options_.explain) err_.write(view::explanation(event, color_));
}

bool PlainProgress::look() {
  const SteadyTime now = clock_.steady_now();
  bool pending = false;
  for (auto& [id, running] : running_) {
    if (running.shown) continue;
    if (now - running.since >= kShowActivityAfter) {
      running.shown = true;
      line(fmt::format("… {}", running.text));
    } else {
      pending = true;
    }
  }
  return pending;
}

void PlainProgress::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (look())
      wake_.wait_for(lock, stop, std::chrono::milliseconds(30), [] { return false; });
    else
      wake_.wait(lock, stop, [&] {
        for (const auto& [id, running] : running_)
          if (!running.shown) return true;
        return false;
      });
  }
}

}  // namespace mist::cli
