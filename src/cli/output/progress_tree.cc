#include "cli/output/progress_tree.h"

#include <algorithm>
#include <array>

#include "base/duration.h"
#include "base/text.h"
#include "view/display_width.h"

namespace mist::cli {
namespace {

// From all there is to only what is awaited or failed: the first level that fits is drawn.
enum Level : int { kEverything = 0, kWithoutDone = 1, kWithoutPlanned = 2, kOnlyActive = 3 };

struct StateWord {
  std::string_view word;
  Stage stage;
};
// A word that isn't here names something that was done.
constexpr std::array kStates{
    StateWord{"planned", Stage::Planned}, StateWord{"waiting", Stage::Active},
    StateWord{"deleting", Stage::Active}, StateWord{"unchanged", Stage::Quiet},
    StateWord{"retained", Stage::Quiet},  StateWord{"failed", Stage::Failed},
    StateWord{"unknown", Stage::Unknown},
};

bool shown(Stage stage, int level) {
  switch (stage) {
    case Stage::Failed:
    case Stage::Active:
      return true;
    case Stage::Planned:
      return level < kWithoutPlanned;
    case Stage::Done:
    case Stage::Unknown:
      return level < kWithoutDone;
    case Stage::Quiet:
      return false;
  }
  return true;
}

// Which stage of several is told first, and decides how they look together.
int weight(Stage stage) {
  switch (stage) {
    case Stage::Failed:
      return 5;
    case Stage::Active:
      return 4;
    case Stage::Unknown:
      return 3;
    case Stage::Planned:
      return 2;
    case Stage::Done:
      return 1;
    case Stage::Quiet:
      return 0;
  }
  return 0;
}

void tally(StateCounts& counts, const std::string& state, std::size_t count = 1) {
  const auto known = std::ranges::find(counts, state, &StateCounts::value_type::first);
  if (known == counts.end())
    counts.emplace_back(state, count);
  else
    known->second += count;
}

std::size_t tally_of(const StateCounts& counts, const std::string& state) {
  const auto known = std::ranges::find(counts, state, &StateCounts::value_type::first);
  return known == counts.end() ? 0 : known->second;
}

// Of what happened, or will; not of what stays as it is.
StateCounts without_quiet(StateCounts counts) {
  std::erase_if(counts, [](const auto& each) { return stage_of(each.first) == Stage::Quiet; });
  return counts;
}

StateCounts spoken_for(const std::vector<DrawnLine>& lines) {
  StateCounts sum;
  for (const DrawnLine& line : lines)
    for (const auto& [state, count] : line.objects) tally(sum, state, count);
  return sum;
}

std::size_t tally_all(const StateCounts& counts) {
  std::size_t sum = 0;
  for (const auto& [state, count] : counts) sum += count;
  return sum;
}

// "9 more failed, 30 created": some that failed have lines of their own, none that were created.
std::string what_is_hidden(StateCounts all, const StateCounts& seen) {
  std::ranges::stable_sort(all, std::ranges::greater(),
                           [](const auto& each) { return weight(stage_of(each.first)); });
  std::vector<std::string> parts;
  for (const auto& [state, count] : all) {
    const std::size_t shown = tally_of(seen, state);
    if (count > shown)
      parts.push_back(fmt::format("{}{} {}", count - shown, shown > 0 ? " more" : "", state));
  }
  return join(parts, ", ");
}

struct EntryStyle {
  std::string_view symbol;
  Tone tone;
};
EntryStyle style_of(Stage stage, std::string_view spinner) {
  switch (stage) {
    case Stage::Planned:
      return {"·", Tone::Faint};
    case Stage::Active:
      return {spinner.empty() ? "…" : spinner, Tone::Warning};
    case Stage::Quiet:
      return {"-", Tone::Faint};
    case Stage::Done:
      return {"✓", Tone::Good};
    case Stage::Unknown:
      return {"?", Tone::Warning};
    case Stage::Failed:
      return {"✗", Tone::Bad};
  }
  return {" ", Tone::Plain};
}

}  // namespace

Stage stage_of(std::string_view state) {
  const auto found = std::ranges::find(kStates, state, &StateWord::word);
  return found == kStates.end() ? Stage::Done : found->stage;
}

LineBuilder& LineBuilder::add(std::string_view text, Tone tone) {
  const std::string fitted = view::fit_width(escape_controls(text), room_ - line_.width);
  line_.width += view::display_width(fitted);
  line_.text += paint(color_, tone, fitted);
  return *this;
}

void ProgressTree::planned(const PlanAnnounced& event, SteadyTime now) {
  *this = ProgressTree();
  announced_ = true;
  began_ = now;
  title_ = fmt::format("{} {}/{}", event.operation, event.ns, event.release);
  for (const PlanAnnounced::Object& object : event.objects) {
    Entry& made = entry(object.object, now);
    made.state = object.action == "unchanged" ? "unchanged"
                 : object.action == "retain"  ? "retained"
                                              : "planned";
    made.stage = stage_of(made.state);
  }
}

ProgressTree::Entry& ProgressTree::entry(const std::string& object, SteadyTime now) {
  const auto [found, is_new] = by_name_.try_emplace(object, objects_.size());
  if (!is_new) return objects_[found->second];
  // "Kind namespace/name", "Kind name": neither names nor namespaces hold a blank or a slash.
  const std::size_t blank = object.find(' ');
  const std::string kind = object.substr(0, blank);
  const std::string rest = blank == std::string::npos ? std::string() : object.substr(blank + 1);
  const std::size_t slash = rest.find('/');
  const std::string place = slash == std::string::npos ? std::string() : rest.substr(0, slash);
  const auto [group, new_group] = group_of_.try_emplace({kind, place}, groups_.size());
  if (new_group) groups_.push_back({kind, place, {}});
  groups_[group->second].objects.push_back(objects_.size());
  objects_.push_back({.kind = kind,
                      .place = place,
                      .name = slash == std::string::npos ? rest : rest.substr(slash + 1),
                      .state = {},
                      .detail = {},
                      .stage = Stage::Planned,
                      .since = now});
  return objects_.back();
}

void ProgressTree::object(const ObjectProgress& event, SteadyTime now) {
  Entry& changed = entry(event.object, now);
  if (changed.state != event.state) changed.since = now;
  changed.state = event.state;
  changed.detail = event.detail;
  changed.stage = stage_of(event.state);
}

bool ProgressTree::busy() const {
  return std::ranges::any_of(objects_, [](const Entry& entry) {
    return entry.stage == Stage::Active || entry.stage == Stage::Planned;
  });
}

DrawnLine ProgressTree::header(const View& view) const {
  std::size_t all = 0, done = 0, failed = 0;
  for (const Entry& entry : objects_) {
    if (entry.stage == Stage::Quiet) continue;
    ++all;
    done += entry.stage == Stage::Done;
    failed += entry.stage == Stage::Failed;
  }
  const std::string progress = fmt::format("  {} of {}", done, plural(all, "object"));
  const std::string failures = failed > 0 ? fmt::format(", {} failed", failed) : "";
  const std::string elapsed = "  " + format_elapsed(view.now - began_);
  LineBuilder line(view.columns - 1, view.color);
  line.add(view.spinner, Tone::Name).add(" ");
  const int room = view.columns - 1 - line.width() - view::display_width(progress + failures + elapsed);
  line.add(view::fit_middle(title_, std::max(8, room)), Tone::Strong).add(progress);
  line.add(failures, Tone::Bad).add(elapsed, Tone::Faint);
  return std::move(line).take();
}

// One attempt to draw the tree at one level.
class ProgressTree::Drawing {
 public:
  Drawing(const ProgressTree& tree, const View& view, int level)
      : tree_(tree), view_(view), level_(level), columns_(view.columns - 1) {}

  std::vector<DrawnLine> draw() {
    if (tree_.announced_ && !view_.spinner.empty()) lines_.push_back(tree_.header(view_));
    // Where not everything fits, failures come first.
    if (level_ == kOnlyActive) {
      for (const Group& each : tree_.groups_)
        if (failed(each)) group(each);
    }
    for (const Group& each : tree_.groups_)
      if (level_ != kOnlyActive || !failed(each)) group(each);
    return std::move(lines_);
  }

 private:
  bool failed(const Group& group) const {
    return std::ranges::any_of(group.objects,
                               [&](std::size_t i) { return tree_.objects_[i].stage == Stage::Failed; });
  }

  void group(const Group& group) {
    std::vector<const Entry*> single;
    StateCounts rest;
    Stage summary = Stage::Quiet;
    for (const std::size_t index : group.objects) {
      const Entry& entry = tree_.objects_[index];
      if (shown(entry.stage, level_)) {
        single.push_back(&entry);
        continue;
      }
      summary = std::max(summary, entry.stage, [](Stage a, Stage b) { return weight(a) < weight(b); });
      tally(rest, entry.state);
    }
    const std::string title = group.place.empty() ? group.kind : group.kind + " " + group.place;
    if (single.empty()) return collapsed(title, summary, rest);
    std::ranges::stable_partition(single, [](const Entry* entry) { return entry->stage == Stage::Failed; });
    if (single.size() == 1 && rest.empty()) {
      const Entry& only = *single.front();
      const std::string place = only.place.empty() ? "" : only.place + "/";
      object(only, fmt::format("{} {}{}", only.kind, place, only.name), "", 0);
      return;
    }
    LineBuilder line(columns_, view_.color);
    const std::string counts = rest.empty() ? "" : "  " + text_of(rest);
    line.add("  " + cut(title, 2, view::display_width(counts))).add(counts, Tone::Faint);
    push(std::move(line), rest);
    int width = 0;
    for (const Entry* entry : single) width = std::max(width, view::display_width(entry->name));
    width = std::min(width, std::max(8, columns_ / 3));
    for (const Entry* entry : single) object(*entry, entry->name, "  ", width);
  }

  void collapsed(const std::string& title, Stage summary, const StateCounts& counts) {
    if (summary == Stage::Quiet || level_ >= kOnlyActive) return;
    const EntryStyle style = style_of(summary, view_.spinner);
    LineBuilder line(columns_, view_.color);
    const std::string text = "  " + text_of(counts);
    line.add(style.symbol, style.tone)
        .add(" " + cut(title, 2, view::display_width(text)))
        .add(text, style.tone);
    push(std::move(line), counts);
  }

  void object(const Entry& entry, std::string_view name, std::string_view indent, int width) {
    const EntryStyle style = style_of(entry.stage, view_.spinner);
    const bool timed = entry.stage == Stage::Active && !view_.spinner.empty();
    const std::string elapsed = timed ? "  " + format_elapsed(view_.now - entry.since) : "";
    const std::string what = escape_controls(
        entry.detail.empty() ? entry.state : fmt::format("{}: {}", entry.state, entry.detail));
    LineBuilder line(columns_, view_.color);
    line.add(style.symbol, style.tone).add(" ").add(indent);
    const int needed = view::display_width(what) + view::display_width(elapsed);
    line.add(view::pad_width(cut(name, line.width() + 2, needed), width)).add("  ");
    // The words give way before the elapsed time does.
    const int room = columns_ - line.width() - view::display_width(elapsed);
    line.add(room > 8 ? view::fit_width(what, room) : what, style.tone).add(elapsed, Tone::Faint);
    push(std::move(line), {{entry.state, 1}});
  }

  // Some room for what follows the name is worth more than the middle of a long one.
  std::string cut(std::string_view name, int before, int after) const {
    const int state = std::min(after, std::max(20, columns_ / 3));
    return view::fit_middle(escape_controls(name), std::max(8, columns_ - before - state));
  }

  static std::string text_of(const StateCounts& counts) {
    std::vector<std::string> parts;
    for (const auto& [state, count] : counts) parts.push_back(fmt::format("{} {}", count, state));
    return join(parts, ", ");
  }

  void push(LineBuilder line, StateCounts objects) {
    lines_.push_back(std::move(line).take());
    lines_.back().objects = without_quiet(std::move(objects));
  }

  const ProgressTree& tree_;
  const View& view_;
  const int level_;
  const int columns_;  // terminals differ in when they wrap: nothing reaches the last column
  std::vector<DrawnLine> lines_;
};

std::vector<DrawnLine> ProgressTree::draw(const View& view) const {
  const auto most = static_cast<std::size_t>(std::max(1, view.rows));
  StateCounts all;
  for (const Entry& entry : objects_) tally(all, entry.state);
  all = without_quiet(std::move(all));
  const auto fits = [&](const std::vector<DrawnLine>& lines) {
    return lines.size() + (tally_all(spoken_for(lines)) < tally_all(all) ? 1 : 0) <= most;
  };
  std::vector<DrawnLine> lines;
  for (const int level : {kEverything, kWithoutDone, kWithoutPlanned, kOnlyActive}) {
    lines = Drawing(*this, view, level).draw();
    if (fits(lines)) break;
  }
  if (!fits(lines)) lines.resize(most - 1);
  if (const std::string hidden = what_is_hidden(all, spoken_for(lines)); !hidden.empty()) {
    LineBuilder line(view.columns - 1, view.color);
    line.add(fmt::format("  … and {}", hidden), Tone::Faint);
    lines.push_back(std::move(line).take());
  }
  return lines;
}

}  // namespace mist::cli
