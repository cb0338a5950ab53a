#pragma once
// Writes what a Plan says along the Sequence graph, as parallel as it allows; remove.h does its removals.
// Every request is guarded (a planned create can't overwrite, an update carries the uid), and repeating a
// request whose outcome is unknown is harmless. Blocking; one call owns its Execution.

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "apply/execute/run_report.h"
#include "apply/plan/plan.h"
#include "base/context.h"
#include "base/event.h"
#include "kube/client.h"

namespace mist::apply {

struct Execution;

struct ExecuteOptions {
  std::size_t parallel = kMostAtOnce;
  bool force_conflicts = false;
  /// Of each wait that an edge asks for (edge_wait.h), and until something is gone.
  Duration edge_timeout = std::chrono::minutes(5);
  /// Asked right before the old object of a Replace is deleted; its failure keeps that where it is.
  std::function<Status(const PlannedAction&)> before_replacing = {};
  /// Deletes one of Plan::removals before its turn: a policy or webhook that refuses a write (own_gates.h).
  /// From any thread, once for each. Without it, such a refusal stands.
  std::function<Status(const PlannedAction&)> delete_gate = {};
  /// An object that the server finds invalid, or that admission denies to change, is left as it is, if it is
  /// there and ours; everything else continues (left_as_is.h).
  bool leave_refused = false;
  bool urgent = false;  ///< somebody waits until all is ready: what takes long to become so begins first
  /// Called once all ordinary objects are written, before the hooks that come after them; not if there are
  /// none. It is given what is known of each object that is written by then, as awaited_objects() needs it,
  /// and no outcomes. Its failure keeps the hooks from running.
  std::function<Status(const Execution&)> before_last_hooks = {};
};

struct Execution {
  std::vector<Outcome> writes;    ///< beside Plan::writes
  std::vector<std::string> uids;  ///< of written objects, beside Plan::writes
  /// Beside Plan::writes: the resourceVersion of each as it was written; empty for what was not, and for what
  /// runs, which changes all the time.
  std::vector<std::string> versions = {};
  /// Beside Plan::writes: the failure that each reported when it was written (earlier_failure.h); nullopt: it
  /// was not written.
  std::vector<std::optional<std::string>> earlier_failures = {};
  /// Beside Plan::writes: what the server made of each object; of those that weren't written, earlier.
  std::vector<std::vector<ServerMade>> server_made = {};
  std::vector<std::string> left = {};  ///< beside Plan::writes: why it was left as it is; empty: it was not
  std::vector<Outcome> removals;       ///< beside Plan::removals; retained ones are NotStarted
  std::optional<Error> failure;        ///< the first by position; nullopt: everything was done
  /// Where objects of late kinds were sent, by position in Plan::writes.
  std::map<std::size_t, kube::ObjectRef> late = {};
  std::vector<char> deleted =
      {};  ///< beside Plan::writes: of hooks that their policy deleted after their end

  bool ok() const { return !failure; }
};

/// Writes, without the removals.
Execution execute_writes(kube::Client& client, const Plan& plan, const ExecuteOptions& options,
                         EventSink& events, const Context& context);

/// The inventory after this execution of the plan: done objects with their uids and, of late kinds, the
/// namespaces they turned out to need; failed creates with the uid that is known or none; deleted objects
/// left out.
std::vector<InventoryItem> inventory_after(const Plan& plan, const Execution& execution);

}  // namespace mist::apply
