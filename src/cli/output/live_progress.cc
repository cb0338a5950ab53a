#include "cli/output/live_progress.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/duration.h"
#include "base/text.h"
#include "cli/output/style.h"
#include "view/display_width.h"
#include "view/explain.h"

namespace mist::cli {
namespace {

constexpr auto kFrame = std::chrono::milliseconds(100);
constexpr std::array<std::string_view, 10> kSpinner = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};

}  // namespace

LiveProgress::LiveProgress(const ProgressOptions& options, Output& err, Clock& clock, bool color)
    : options_(options), err_(err), clock_(clock), color_(color) {}

LiveProgress::~LiveProgress() {
  painter_ = {};
  const std::lock_guard lock(mutex_);
  activities_.clear();
  draw_locked({}, true);
}

void LiveProgress::message(const Message& event) {
  if (event.level == EventLevel::Debug) return;
  const std::string text = escape_controls(event.text);
  const std::lock_guard lock(mutex_);
  // Drawn at once: a warning must not wait for the next frame.
  draw_locked((event.level == EventLevel::Warning ? paint(color_, Tone::Warning, "warning:") + " " : "") +
              text + "\n");
}

void LiveProgress::began(const ActivityBegan& event) {
  const std::lock_guard lock(mutex_);
  activities_.emplace(event.id, Running{event.text, clock_.steady_now()});
  wake_locked();
}

void LiveProgress::ended(const ActivityEnded& event) {
  const std::lock_guard lock(mutex_);
  activities_.erase(event.id);
  changed_ = true;
  wake_.notify_all();
}

void LiveProgress::progressed(const ActivityProgress& event) {
  const std::lock_guard lock(mutex_);
  const auto found = activities_.find(event.id);
  if (found == activities_.end()) return;
  found->second.progress = fmt::format(" ({})", transferred_text(event));
  wake_locked();
}

void LiveProgress::planned(const PlanAnnounced& event) {
  const std::lock_guard lock(mutex_);
  tree_.planned(event, clock_.steady_now());
  if (options_.explain) draw_locked(view::explanation(event, color_));
  wake_locked();
}

void LiveProgress::object(const ObjectProgress& event) {
  const std::lock_guard lock(mutex_);
  tree_.object(event, clock_.steady_now());
  wake_locked();
}

void LiveProgress::wake_locked() {
  changed_ = true;
  if (!painter_.joinable()) painter_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  wake_.notify_all();
}

void LiveProgress::draw() {
  const std::lock_guard lock(mutex_);
  draw_locked({});
}

std::vector<DrawnLine> LiveProgress::lines_locked(int columns, bool last) const {
  const SteadyTime now = clock_.steady_now();
  const std::string_view spin = last ? std::string_view() : kSpinner[frame_ % kSpinner.size()];
  // One row less than there are, for the cursor to stand on while lines scroll above.
  const int rows = std::max(1, err_.rows() - 1);
  std::vector<DrawnLine> lines;
  for (const auto& [id, running] : activities_) {
    if (now - running.since < kShowActivityAfter ||
        static_cast<int>(lines.size()) + 1 >= std::max(2, rows / 2))
      continue;
    const std::string elapsed = "  " + format_elapsed(now - running.since);
    // The bytes stay in sight where the line is too long.
    const int room = columns - 1 - view::display_width(running.progress) - view::display_width(elapsed) - 2;
    LineBuilder line(columns - 1, color_);
    if (room < 4)
      line.add(running.text);
    else
      line.add(spin, Tone::Name)
          .add(" ")
          .add(view::fit_width(escape_controls(running.text), room))
          .add(running.progress)
          .add(elapsed, Tone::Faint);
    lines.push_back(std::move(line).take());
  }
  if (tree_.empty()) return lines;
  const ProgressTree::View view{.columns = columns,
                                .rows = rows - static_cast<int>(lines.size()),
                                .now = now,
                                .spinner = spin,
                                .color = color_};
  std::ranges::move(tree_.draw(view), std::back_inserter(lines));
  return lines;
}

// Moves to the first line of the area and clears from there. A terminal that became narrower has wrapped the
// lines; their widths tell how many rows they take now.
std::string LiveProgress::erase_locked(int columns) {
  if (area_.empty()) return {};
  int up = -1;
  for (const DrawnLine& line : area_) up += std::max(1, (line.width + columns - 1) / columns);
  return up > 0 ? fmt::format("\r\x1b[{}A\x1b[J", up) : "\r\x1b[J";
}

// On a terminal as wide as before: line by line over what is there, so that nothing is blank in between.
std::string LiveProgress::rewrite_locked(const std::vector<DrawnLine>& lines) const {
  std::string text = area_.size() > 1 ? fmt::format("\r\x1b[{}A", area_.size() - 1) : "\r";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += "\n";
    if (i >= area_.size() || area_[i].text != lines[i].text) text += "\x1b[K" + lines[i].text;
  }
  if (area_.size() <= lines.size()) return text;
  // The cursor may stand anywhere in a last line that was left as it is; what follows is below it.
  text += "\n\x1b[J\x1b[A";
  return text;
}

void LiveProgress::suspend() {
  const std::lock_guard lock(mutex_);
  if (suspended_++ > 0) return;
  const std::string text = erase_locked(std::max(1, err_.columns()));
  area_.clear();
  if (!text.empty()) err_.write(text);
}

void LiveProgress::resume() {
  const std::lock_guard lock(mutex_);
  if (--suspended_ == 0) draw_locked(std::exchange(held_, {}));
}

void LiveProgress::draw_locked(const std::string& above, bool last) {
  if (suspended_ > 0) {
    held_ += above;
    return;
  }
  changed_ = false;
  const int columns = std::max(1, err_.columns());
  std::vector<DrawnLine> lines = lines_locked(columns, last);
  const bool same = std::ranges::equal(lines, area_, {}, &DrawnLine::text, &DrawnLine::text);
  if (above.empty() && same && !last) return;
  std::string text;
  if (above.empty() && !last && columns == columns_ && !area_.empty() && !lines.empty()) {
    text = rewrite_locked(lines);
  } else {
    text = erase_locked(columns) + above;
    for (std::size_t i = 0; i < lines.size(); ++i) text += (i > 0 ? "\n" : "") + lines[i].text;
    if (last && !lines.empty()) text += "\n";
  }
  area_ = last ? std::vector<DrawnLine>() : std::move(lines);
  columns_ = columns;
  if (!text.empty()) err_.write(text);
}

void LiveProgress::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait(lock, stop, [&] { return anything_locked(); });
    if (stop.stop_requested()) return;
    wake_.wait_for(lock, stop, kFrame, [] { return false; });
    if (stop.stop_requested()) return;
    ++frame_;
    draw_locked({});
  }
}

}  // namespace mist::cli
