#pragma once
// Does what a Plan says: writes along the Sequence graph, as parallel as it allows, then removals in reverse
// order. Every request is guarded (a planned create can't overwrite, an update and a delete carry the uid),
// and repeating a request whose outcome is unknown is harmless. Blocking; one call owns its Execution.

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "apply/plan.h"
#include "base/context.h"
#include "base/event.h"
#include "kube/client.h"

namespace mist::apply {

struct Execution;

struct ExecuteOptions {
  /// As many as one HTTP/2 connection takes with room to spare; more wait at the server, fewer wait for a far
  /// one.
  std::size_t parallel = 64;
  bool force_conflicts = false;
  std::string field_manager = "mistctl";
  Duration edge_timeout = std::chrono::minutes(5);  ///< of each wait that an edge asks for (edge_wait.h)
  std::function<Status()> may_write = {};           ///< asked before each write, by any thread; empty: always
  /// Called once all ordinary objects are written, before the hooks that come after them; not if there are
  /// none. It is given where late kinds were sent. Its failure keeps them from running.
  std::function<Status(const Execution&)> before_last_hooks = {};
};

enum class Outcome : std::uint8_t {
  NotStarted,  ///< blocked by a failure, or stopped
  Done,
  Failed,  ///< refused by the server, or of unknown outcome
};

struct Execution {
  std::vector<Outcome> writes;    ///< beside Plan::writes
  std::vector<std::string> uids;  ///< of written objects, beside Plan::writes
  std::vector<Outcome> removals;  ///< beside Plan::removals; retained ones are NotStarted
  std::optional<Error> failure;   ///< the first by position; nullopt: everything was done
  /// Where objects of late kinds were sent, by position in Plan::writes.
  std::map<std::size_t, kube::ObjectRef> late = {};
  std::vector<char> deleted =
      {};  ///< beside Plan::writes: of hooks that their policy deleted after their end

  bool ok() const { return !failure; }
};

/// Writes, without the removals.
Execution execute_writes(kube::Client& client, const Plan& plan, const ExecuteOptions& options,
                         EventSink& events, const Context& context);

/// One thing to delete.
struct Removal {
  ObjectKey key;
  std::string version;                           ///< API version it was written with
  std::string uid;                               ///< empty: whatever is live and carries `part_of`
  const apimachinery::Object* object = nullptr;  ///< as it was rendered, for the order; may be null
};

struct RemovalReport {
  std::vector<Outcome> outcomes;  ///< beside the removals; Done: gone, or being deleted by the server
  std::optional<Error> failure;
};

/// Deletes dependents first: what something else in the set was ordered after stays until that is gone.
/// `wait`: also until the last ones are gone. `may_write`: as in ExecuteOptions.
RemovalReport execute_removals(kube::Client& client, const std::vector<Removal>& removals,
                               const std::string& part_of, bool wait, EventSink& events,
                               const Context& context, const std::function<Status()>& may_write = {});

/// The inventory after this execution of the plan: done objects with their uids and, of late kinds, the
/// namespaces they turned out to need; failed creates with the uid that is known or none; deleted objects
/// left out.
std::vector<release::InventoryItem> inventory_after(const Plan& plan, const Execution& execution);

}  // namespace mist::apply
