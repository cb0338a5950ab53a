#include "cli/live_progress.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/display_width.h"
#include "cli/duration.h"
#include "cli/style.h"

namespace mist::cli {
namespace {

constexpr auto kFrame = std::chrono::milliseconds(100);
constexpr std::array<std::string_view, 10> kSpinner = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
constexpr int kMostRows = 12;

Tone tone_of(std::string_view state) {
  if (state == "failed") return Tone::Bad;
  if (state == "unchanged") return Tone::Faint;
  return Tone::Good;
}

}  // namespace

LiveProgress::LiveProgress(Output& err, Clock& clock, bool color) : err_(err), clock_(clock), color_(color) {}

LiveProgress::~LiveProgress() {
  painter_ = {};
  const std::lock_guard lock(mutex_);
  activities_.clear();
  waiting_.clear();
  draw_locked(std::move(above_));
}

void LiveProgress::message(const Message& event) {
  if (event.level == EventLevel::Debug) return;
  const std::string text = escape_controls(event.text);
  const std::lock_guard lock(mutex_);
  // Drawn at once: a warning must not wait for the next frame.
  draw_locked(std::exchange(above_, {}) +
              (event.level == EventLevel::Warning ? paint(color_, Tone::Warning, "warning:") + " " : "") +
              text + "\n");
}

void LiveProgress::began(const ActivityBegan& event) {
  const std::lock_guard lock(mutex_);
  activities_.emplace(event.id, Row{escape_controls(event.text), {}, clock_.steady_now()});
  if (!painter_.joinable()) painter_ = std::jthread([this](std::stop_token stop) { watch(stop); });
  wake_.notify_all();
}

void LiveProgress::ended(const ActivityEnded& event) {
  const std::lock_guard lock(mutex_);
  activities_.erase(event.id);
}

void LiveProgress::object(const ObjectProgress& event) {
  const std::lock_guard lock(mutex_);
  State& last = last_[event.object];
  if (last.state == event.state && last.detail == event.detail) return;
  const bool moved = last.state != event.state;
  last = {event.state, event.detail};
  const std::string detail = escape_controls(event.detail);
  if (event.state == "waiting") {
    Row& row = waiting_.try_emplace(event.object, Row{escape_controls(event.object), {}, clock_.steady_now()})
                   .first->second;
    row.detail = detail;
  } else {
    waiting_.erase(event.object);
    if (!moved) return;
    above_ += fmt::format("{} {}{}\n", escape_controls(event.object),
                          paint(color_, tone_of(event.state), escape_controls(event.state)),
                          detail.empty() ? "" : fmt::format(" ({})", detail));
  }
  if (!painter_.joinable()) painter_ = std::jthread([this](std::stop_token stop) { watch(stop); });
  wake_.notify_all();
}

void LiveProgress::draw() {
  const std::lock_guard lock(mutex_);
  draw_locked(std::exchange(above_, {}));
}

std::vector<std::string> LiveProgress::rows_locked(int columns, int most) const {
  const SteadyTime now = clock_.steady_now();
  const std::string_view spin = kSpinner[frame_ % kSpinner.size()];
  std::vector<std::string> rows;
  std::size_t hidden = 0;
  const auto add = [&](const Row& row, std::string_view what) {
    if (static_cast<int>(rows.size()) >= most) {
      ++hidden;
      return;
    }
    const std::string elapsed = "  " + format_elapsed(now - row.since);
    // The text gives way before the elapsed time does, and nothing reaches the last column, where terminals
    // differ in when they wrap.
    const int room = columns - 1 - display_width(elapsed) - 2;
    rows.push_back(
        room < 4 ? fit_width(row.text, columns - 1)
                 : fmt::format("{} {}{}", spin, fit_width(row.text + std::string(what), room), elapsed));
  };
  for (const auto& [id, row] : activities_)
    if (now - row.since >= kShowActivityAfter) add(row, "");
  for (const auto& [name, row] : waiting_)
    add(row, row.detail.empty() ? "  waiting" : fmt::format("  waiting: {}", row.detail));
  if (hidden > 0) rows.push_back(fit_width(fmt::format("  … and {} more", hidden), columns - 1));
  return rows;
}

// Moves to the first line of the area and clears from there. A terminal that became narrower has wrapped the
// lines; their widths tell how many rows they take now.
std::string LiveProgress::erase_locked() {
  if (area_.empty()) return {};
  const int columns = std::max(1, err_.columns());
  int up = -1;
  for (const int width : area_) up += std::max(1, (width + columns - 1) / columns);
  area_.clear();
  return up > 0 ? fmt::format("\r\x1b[{}A\x1b[J", up) : "\r\x1b[J";
}

void LiveProgress::draw_locked(std::string above) {
  const int columns = std::max(1, err_.columns());
  const int most = std::clamp(err_.rows() - 2, 1, kMostRows);
  const std::vector<std::string> rows = rows_locked(columns, most);
  std::string frame;
  for (const std::string& row : rows) frame += (frame.empty() ? "" : "\n") + row;
  if (above.empty() && frame == drawn_) return;
  std::string text = erase_locked() + std::move(above) + frame;
  drawn_ = std::move(frame);
  for (const std::string& row : rows) area_.push_back(display_width(row));
  if (!text.empty()) err_.write(text);
}

void LiveProgress::watch(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait(lock, stop, [&] { return anything_locked() || !area_.empty(); });
    if (stop.stop_requested()) return;
    wake_.wait_for(lock, stop, kFrame, [] { return false; });
    if (stop.stop_requested()) return;
    ++frame_;
    draw_locked(std::exchange(above_, {}));
  }
}

}  // namespace mist::cli
