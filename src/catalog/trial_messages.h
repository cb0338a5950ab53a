#pragma once
// The messages between a worker and the process of a trial: a line of JSON for each message. The process
// runs what strangers wrote, so the worker reads no more from it than a trial may have to say, and takes its
// words as words. Pure; any thread.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/result.h"
#include "catalog/model.h"
#include "catalog/trial.h"
#include "catalog/version_objects.h"

namespace mist::catalog {

/// The work of the process, and all that it knows of the catalog.
struct TrialRequest {
  std::string program = {};  ///< version of the worker's program, which has to be the process's
  TrialPart part = TrialPart::Offline;
  Job job = {};
  std::string instance = {};
  Duration timeout = {};
  Duration longest = {};
  Duration spent = {};
  std::string isolation = {};
  std::string kubeconfig = {};  ///< a file; empty: it may ask no cluster
  std::string context = {};     ///< of the kubeconfig
  bool git_through_proxy = false;

  std::string to_line() const;
  static Result<TrialRequest> from_line(std::string_view line);
};

/// Hands on, as lines, what a trial finds. A line that can't be written is an error of the trial.
TrialReport report_by(const std::function<Status(const std::string& line)>& write);
/// The first line of a process: it runs.
std::string hello_line(std::string_view program);
/// The last one: whether all steps passed, or the error that says nothing of the package.
std::string end_line(const Result<bool>& result);

/// The detail of an error of TrialListener: the process says what no trial says.
struct NotATrial {};

/// Reads those lines. One thread.
class TrialListener {
 public:
  /// `program`: the worker's version. Of a part without a cluster no error may blame one. `report` outlives
  /// this.
  TrialListener(std::string program, TrialPart part, const TrialReport& report)
      : program_(std::move(program)), part_(part), report_(report) {}

  /// The next piece of the process's output. Errors: of `report`; NotATrial; InstallationFault: the process
  /// is of another version of this program; of TrialPart::All SaidByPod in its place, and in that of all
  /// faults that an error may have.
  Status hear(std::string_view piece);

  bool began() const { return began_; }
  /// The step that goes on, or was the last one; empty: none began.
  const std::string& step() const { return step_; }
  /// The last words of the process; nothing: it didn't come to that.
  const std::optional<Result<bool>>& end() const { return end_; }

 private:
  Status hear_line(std::string_view line);
  Status hear_message(const encoding::Value& message);
  Error another_hello(std::string_view program) const;
  Error read_error(const encoding::Value& value) const;

  const std::string program_;
  const TrialPart part_;
  const TrialReport& report_;
  std::string rest_;  // of a line that hasn't ended
  bool began_ = false;
  bool are_objects_told_ = false;
  int steps_ = 0;
  int warnings_ = 0;
  std::string step_;
  std::optional<Result<bool>> end_;
};

}  // namespace mist::catalog
