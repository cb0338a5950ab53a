#pragma once
// Why something isn't as it should be, as a tree from the whole to its part that is to blame: release,
// object, ReplicaSet, Pod, container. Data without Kubernetes' rules; apply/wait/root_cause.h makes it,
// cli/output/report.cc draws it. A plain value; any thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace mist {

struct Diagnosis {
  /// An event that was reported about this part; `events` has the oldest first.
  struct Event {
    bool warning = false;
    std::string reason;      ///< "FailedCreate"
    std::string message;     ///< the reporter's own words
    std::int64_t count = 1;  ///< how often
  };

  std::string kind;         ///< "Deployment", "Pod", "container", "init container"
  std::string name;         ///< "shop/api"; of containers without namespace
  std::string state;        ///< a sentence: "0 of 1 replicas are available"; may be empty
  std::string reason = {};  ///< a word for programs: "CrashLoopBackOff", "OOMKilled"; may be empty
  std::optional<std::int64_t> exit_code = {};  ///< of a container that ended
  std::vector<Event> events = {};
  std::vector<std::string> log = {};    ///< last lines, without newline
  bool log_is_previous = false;         ///< of the run before the present one
  std::vector<std::string> notes = {};  ///< what could not be looked at, what was left out
  std::string remedy = {};              ///< what helps whatever the cause is, as a hint has it; mostly empty
  std::vector<Diagnosis> children = {};
};

/// The same error with a diagnosis as its cause; copies of the error share it.
Error diagnosed(Error error, Diagnosis diagnosis);
/// The diagnosis given to diagnosed(); null: none. Lives as long as the error or a copy of it.
const Diagnosis* diagnosis_of(const Error& error);
/// The error with every text for people as `change` makes it: its own, those of its causes, and those of
/// their diagnoses.
Error with_texts(Error error, const std::function<std::string(std::string)>& change);

}  // namespace mist
