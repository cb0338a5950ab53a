#pragma once
// The picture of an operation on a release, as lines for a terminal: its objects by kind and namespace, the
// state of each, and, where the screen is too small for all of them, first what matters most.
//
//   ⠹ install shop/web  3 of 12 objects  4.0s
//   ✓ ConfigMap shop  18 created
//     Deployment shop
//   ⠹   api     waiting: 1 of 3 replicas are ready  4.0s
//   ✓   worker  ready
//   … and 3 more
//
// A plain value, drawn by live_progress.h; one thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/event.h"
#include "cli/output/style.h"

namespace mist::cli {

/// state → how many objects, in order of appearance
using StateCounts = std::vector<std::pair<std::string, std::size_t>>;

/// One line, the columns it takes, and for which objects it speaks.
struct DrawnLine {
  std::string text;
  int width = 0;
  StateCounts objects = {};
};

/// The meaning of a state word for the user.
enum class Stage : std::uint8_t {
  Planned,  ///< not begun
  Active,   ///< something is awaited
  Quiet,    ///< nothing happened to it, and nothing will
  Done,
  Unknown,  ///< nobody heard what became of it
  Failed,
};
Stage stage_of(std::string_view state);

/// Pieces of a line with their colors, cut at a width.
class LineBuilder {
 public:
  LineBuilder(int columns, bool color) : room_(columns), color_(color) {}
  /// Text that no longer fits is cut, ending in "…"; control characters are escaped.
  LineBuilder& add(std::string_view text, Tone tone = Tone::Plain);
  int width() const { return line_.width; }
  DrawnLine take() && { return std::move(line_); }

 private:
  int room_;
  bool color_;
  DrawnLine line_;
};

class ProgressTree {
 public:
  struct View {
    int columns = 80;
    int rows = 24;  ///< at most so many lines
    SteadyTime now;
    std::string_view spinner = {};  ///< empty: the last picture, which stays on the screen
    bool color = false;
  };

  /// Replaces all that was there.
  void planned(const PlanAnnounced& event, SteadyTime now);
  void object(const ObjectProgress& event, SteadyTime now);

  bool empty() const { return objects_.empty(); }
  /// Whether anything is still to be done.
  bool busy() const;
  std::vector<DrawnLine> draw(const View& view) const;

 private:
  struct Entry {
    std::string kind, place, name;  // place: namespace, or empty
    std::string state, detail;
    Stage stage = Stage::Planned;
    SteadyTime since;
  };
  struct Group {
    std::string kind, place;
    std::vector<std::size_t> objects;  // in order of appearance
  };

  Entry& entry(const std::string& object, SteadyTime now);
  class Drawing;
  DrawnLine header(const View& view) const;

  std::string title_;
  bool announced_ = false;
  SteadyTime began_;
  std::vector<Entry> objects_;
  std::map<std::string, std::size_t> by_name_;
  std::vector<Group> groups_;
  std::map<std::pair<std::string, std::string>, std::size_t> group_of_;
};

}  // namespace mist::cli
