#pragma once
// Deletes along the reversed Sequence graph, as parallel as it allows. Every request is guarded
// (kube/deletion.h), and repeating one whose outcome is unknown is harmless. Blocking; any thread.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apply/execute/run_report.h"
#include "apply/plan/plan.h"
#include "base/context.h"
#include "base/event.h"
#include "kube/client.h"

namespace mist::apply {

/// One thing to delete.
struct Removal {
  ObjectKey key;
  std::string version;                           ///< API version it was written with
  std::string uid;                               ///< empty: whatever is live and carries `part_of`
  const apimachinery::Object* object = nullptr;  ///< as it was rendered, for the order; may be null
  bool unreadable = false;                       ///< when it was planned: it goes once it can be read
                                                 ///< (conversion.h)
  std::string resource_version = {};             ///< when it was planned; empty: it is looked at first
};

/// Of a planned delete; `object` as Removal::object.
Removal removal_of(const PlannedAction& action, const apimachinery::Object* object = nullptr);

struct RemovalOptions {
  bool wait = false;  ///< also until the last ones are gone
  /// Of each wait until something is gone, and of trying again what can't be read or deleted for now.
  Duration timeout = std::chrono::minutes(5);
  /// Asked right before each removal, by any thread: why it stays after all, in
  /// one sentence; empty: it goes.
  std::function<Result<std::string>(const Removal&)> last_check = {};
  bool leave_denied = false;  ///< what admission forbids to delete stays, and is no failure
  /// Names of policies and webhooks that are gone by now (admission_gates.h): what the server still refuses
  /// by them is sent again.
  std::set<std::string, std::less<>> gone_gates = {};
};

struct RemovalReport {
  std::vector<Outcome> outcomes;  ///< beside the removals; Done: gone, or being deleted by the server
  std::map<std::size_t, std::string> stayed;  ///< by position, what the last look said; they are NotStarted
  std::set<std::size_t> denied = {};          ///< those of `stayed` that admission forbade to delete
  struct Held {
    std::string why;  ///< what still keeps it, in one sentence
    /// Somebody has to take a finalizer from it, or from what it holds: Kubernetes' own go by themselves. Of
    /// a namespace: its conditions tell of content that is left. Also of what can't be read: it may be so.
    bool by_others = false;
  };
  /// By position, of what is Done, not waited for and not gone yet.
  std::map<std::size_t, Held> held = {};
  /// By position, namespaces that are Done and not waited for, and whose content is still being deleted:
  /// nothing tells yet whether something in them is held.
  std::set<std::size_t> emptied = {};
  std::optional<Error> failure;
};

/// Deletes dependents first: an object stays until all in the set that were ordered after it are gone. An
/// object that changed since it was planned and belongs to somebody else by now, or is marked to be kept,
/// stays.
RemovalReport execute_removals(kube::Client& client, const std::vector<Removal>& removals,
                               const std::string& part_of, const RemovalOptions& options, EventSink& events,
                               const Context& context);

}  // namespace mist::apply
