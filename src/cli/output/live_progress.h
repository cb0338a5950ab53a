#pragma once
// Progress on a terminal: an area at the bottom, redrawn in place, with what runs and the tree of the
// release's objects (progress_tree.h):
//
//   ⠹ compiling hello-web 0.1.0  1.2s
//   ⠹ uploading sha256:dede96753aaf to oci://registry.example/team/shop (37 of 200 MB)  4.0s
//   ⠹ install shop/web  1 of 2 objects  4.0s
//   ⠹ Deployment shop/api  waiting: 1 of 3 replicas are ready  4.0s
//   ✓ ConfigMap shop/api  created
//
// while messages scroll above it. The last picture of the tree stays. Each redraw is one write that rewrites
// only the lines that changed. Nothing of the terminal's state is changed (no hidden cursor, no alternate
// screen), so that a killed process leaves nothing to repair.

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/output/progress.h"
#include "cli/output/progress_tree.h"

namespace mist::cli {

class LiveProgress final : public Progress, private Screen {
 public:
  /// `err` and `clock` must live longer than this.
  LiveProgress(const ProgressOptions& options, Output& err, Clock& clock, bool color);
  /// Takes the area away, but for the last picture of the tree.
  ~LiveProgress() override;

  void message(const Message& event) override;
  void began(const ActivityBegan& event) override;
  void ended(const ActivityEnded& event) override;
  void object(const ObjectProgress& event) override;
  void progressed(const ActivityProgress& event) override;
  void planned(const PlanAnnounced& event) override;
  bool shows(EventLevel level) const override { return level != EventLevel::Debug; }
  Screen* screen() override { return this; }

  /// One frame now, for tests; else a thread draws ten a second while something runs.
  void draw();

 private:
  void suspend() override;
  void resume() override;

  struct Running {
    std::string text;
    SteadyTime since;
    std::string progress = {};  // " (37 of 200 MB)"
  };

  void wake_locked();
  void draw_locked(const std::string& above, bool last = false);
  std::string erase_locked(int columns);
  std::string rewrite_locked(const std::vector<DrawnLine>& lines) const;
  std::vector<DrawnLine> lines_locked(int columns, bool last) const;
  void watch(const std::stop_token& stop);
  bool anything_locked() const { return changed_ || !activities_.empty() || tree_.busy(); }

  const ProgressOptions options_;
  Output& err_;
  Clock& clock_;
  const bool color_;

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::uint64_t, Running> activities_;
  ProgressTree tree_;
  bool changed_ = false;  // since the last frame
  int suspended_ = 0;
  std::string held_;             // what was said meanwhile
  std::vector<DrawnLine> area_;  // the lines on the screen
  int columns_ = 0;              // of the terminal when they were drawn
  std::size_t frame_ = 0;
  std::jthread painter_;  // last: it uses all of the above
};

}  // namespace mist::cli
