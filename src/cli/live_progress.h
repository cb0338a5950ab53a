#pragma once
// Progress on a terminal: an area of a few lines at the bottom, redrawn in place,
//
//   ⠹ compiling hello-web 0.1.0  1.2s
//   ⠹ Deployment shop/api  waiting: 1 of 3 replicas ready  4.0s
//     … and 12 more
//
// while what is finished scrolls above it. Each redraw is one write. Nothing of the terminal's state is
// changed (no hidden cursor, no alternate screen), so that a killed process leaves nothing to repair.

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/progress.h"

namespace mist::cli {

class LiveProgress final : public EventSink {
 public:
  /// `err` and `clock` must live longer than this.
  LiveProgress(Output& err, Clock& clock, bool color);
  /// Takes the area away.
  ~LiveProgress() override;

  void message(const Message& event) override;
  void began(const ActivityBegan& event) override;
  void ended(const ActivityEnded& event) override;
  void object(const ObjectProgress& event) override;

  /// One frame now, for tests; else a thread draws ten a second while something runs.
  void draw();

 private:
  struct Row {
    std::string text;
    std::string detail;
    SteadyTime since;
  };
  struct State {
    std::string state, detail;
  };

  void draw_locked(std::string above);
  std::string erase_locked();
  std::vector<std::string> rows_locked(int columns, int most) const;
  void watch(std::stop_token stop);
  bool anything_locked() const { return !activities_.empty() || !waiting_.empty() || !above_.empty(); }

  Output& err_;
  Clock& clock_;
  const bool color_;

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::uint64_t, Row> activities_;
  std::map<std::string, Row> waiting_;
  std::map<std::string, State> last_;
  std::string above_;      // finished lines that the next frame prints above the area
  std::vector<int> area_;  // widths of the lines on the screen, to find them again after a resize
  std::string drawn_;      // the frame on the screen
  std::size_t frame_ = 0;
  std::jthread painter_;  // last: it uses all of the above
};

}  // namespace mist::cli
