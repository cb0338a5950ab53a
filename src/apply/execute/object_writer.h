#pragma once
// Writes one object as a Plan has it: guarded, with what must be changed before an apply can, and again as
// long as the server has not taken notice of what the run did before. Blocking; any thread, each action by
// one.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apply/execute/execute.h"
#include "apply/plan/plan.h"
#include "base/context.h"
#include "base/event.h"
#include "kube/client.h"

namespace mist::apply {

/// A write as far as it came.
struct Written {
  std::string uid = {};
  std::string version = {};  ///< the resourceVersion that it has since; empty: nothing was written
  /// The failure that it reported when it was written (earlier_failure.h); nullopt: it was not.
  std::optional<std::string> earlier_failure = {};
  std::vector<ServerMade> server_made = {};
  std::optional<kube::ObjectRef> place = {};  ///< of what was sent somewhere else than the plan has it
};

/// The object whose place a Replace takes.
struct Replaced {
  std::string uid = {};      ///< empty: it is gone
  std::string version = {};  ///< at which it can be deleted without another look; empty: none
};

class ObjectWriter {
 public:
  /// Whether a refusal of the action may be another one by now, since the run changed what refused.
  using ChangesRefusal = std::function<bool(const PlannedAction&, const Error&)>;

  /// All that it borrows must outlive it.
  ObjectWriter(kube::Client& client, const Plan& plan, const ExecuteOptions& options, EventSink& events,
               const Context& context, ChangesRefusal changes_refusal);
  ~ObjectWriter();

  /// Of an action that isn't Unchanged. When it fails, `written` has what is known.
  Status send(const PlannedAction& action, const Replaced& old, Written& written);

  /// Whether the object, as it is `there`, may still be deleted by the plan: a Conflict says why not.
  Status may_be_deleted(const PlannedAction& action, const Value& there) const;

 private:
  class Sending;
  std::unique_ptr<Sending> sending_;
};

}  // namespace mist::apply
