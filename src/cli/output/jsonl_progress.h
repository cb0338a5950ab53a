#pragma once
// `--events jsonl`: one JSON object on a line of stderr for each event, for programs that follow along
// (docs/output.md; schemas/events.schema.json). Each line is one write, so that lines of several threads
// don't mix.

#include <map>
#include <mutex>
#include <string>

#include "cli/output/progress.h"
#include "cli/parse/command.h"
#include "encoding/value.h"

namespace mist::cli {

class JsonlProgress final : public Progress {
 public:
  /// `err` and `clock` must live longer than this.
  JsonlProgress(const ProgressOptions& options, Output& err, Clock& clock)
      : options_(options), err_(err), clock_(clock) {}

  void message(const Message& event) override;
  void began(const ActivityBegan& event) override;
  void ended(const ActivityEnded& event) override;
  void object(const ObjectProgress& event) override;
  void progressed(const ActivityProgress& event) override;
  void planned(const PlanAnnounced& event) override;
  bool shows(EventLevel level) const override { return options_.shows(level); }

 private:
  struct Running {
    std::string text;
    SteadyTime since;
  };
  void line(encoding::Value event);

  const ProgressOptions options_;
  Output& err_;
  Clock& clock_;
  std::mutex mutex_;
  std::map<std::uint64_t, Running> running_;
  std::map<std::string, std::pair<std::string, std::string>> last_;  // object → state, detail
};

/// The last line of such a run: how it ended. `failure` null: it didn't fail.
void write_finished_event(Output& err, WallTime now, Duration elapsed, ExitCode code, const Error* failure);

}  // namespace mist::cli
