#pragma once
// Progress as lines, for pipes, logs and -v:
//
//   … compiling hello-web 0.1.0            an activity that takes longer than kShowActivityAfter
//   Deployment shop/api: created           an object moved on; the same line isn't repeated, and what stays
//                                          unchanged is silent (but for -v)
//   warning: …
//
// Lines that begin with "… " depend on how fast the machine is; all others don't.

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/pulse.h"
#include "cli/output/progress.h"

namespace mist::cli {

class PlainProgress final : public Progress {
 public:
  /// `err`, `clock` and `pulse` must live longer than this. Without a pulse it has a thread of its own.
  PlainProgress(const ProgressOptions& options, Output& err, Clock& clock, bool color,
                Pulse* pulse = nullptr);

  void message(const Message& event) override;
  void began(const ActivityBegan& event) override;
  void ended(const ActivityEnded& event) override;
  void object(const ObjectProgress& event) override;
  void planned(const PlanAnnounced& event) override;
  bool shows(EventLevel level) const override { return options_.shows(level); }

 private:
  struct Running {
    std::string text;
    SteadyTime since;
    bool shown = false;
  };
  void line(const std::string& text);
  void watch(const std::stop_token& stop);
  bool look();  // shows what takes long; whether something may yet; mutex_ is held

  const ProgressOptions options_;
  Output& err_;
  Clock& clock_;
  const bool color_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::uint64_t, Running> running_;
  std::map<std::string, std::string> last_;  // object → its last line
  std::jthread watcher_;                     // it and the next use all of the above, so they go first
  std::optional<Pulse::Beat> beat_;
};

}  // namespace mist::cli
