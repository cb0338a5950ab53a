#pragma once
// Objects with a release's labels, whatever its record says: for records that are damaged or lost, and for
// objects that no record names. Blocking; any thread.

#include <set>
#include <string>
#include <vector>

#include "action/environment.h"
#include "apply/execute/remove.h"
#include "apply/plan/observe.h"
#include "apply/plan/plan.h"

namespace mist::action {

/// Whether a live object says that it is the release's: by its label and its annotation, and nobody else's
/// controller made it. Controllers copy labels of what they work for, but no annotations.
bool carries_ownership_labels(const release::ReleaseId& id, const encoding::Value& object);

struct Labelled {
  std::vector<apply::InventoryItem> items;  ///< by key
  std::vector<encoding::Value> objects;     ///< of the same order, whole
  /// Resources that may be listed in the release's own namespace only, though its objects may be elsewhere.
  std::vector<std::string> own_namespace_only = {};
};

/// Kinds that no anchor names and that aren't built in, while their server doesn't answer: an aggregated API
/// that is down, or never ends.
enum class Unanswered : bool {
  AnError,  ///< for a record: a later look goes by the kinds that it names, so what is missing stays missing
  LeftOut,  ///< with a warning; all of them together have half of the context's time
};

/// By a LIST for each kind and namespace that the anchor names (KEP-3659); without an anchor, or if it names
/// none, for each kind that the server lists, in all namespaces. Kinds that may not be listed are left out,
/// and those that may be listed in its own namespace only are looked for there, each with a warning. Where a
/// kind's conversion webhook is down, another version of it is read; if none can be, that is an error of a
/// kind that the anchor names, and else left out with a warning.
Result<Labelled> labelled_objects(const Environment& environment, const release::ReleaseId& id,
                                  const release::Anchor* anchor, Unanswered unanswered_kinds,
                                  const Context& context);

/// Those that don't go with the release's namespace, in all namespaces, whatever its record says. `kinds`:
/// only of these, as KEP-3659 writes them ("ClusterRole.rbac.authorization.k8s.io"); empty: of all, but for
/// those that are Unanswered::LeftOut. Discovery is asked again: kinds may have come since it was.
Result<std::vector<apply::InventoryItem>> labelled_outside(const Environment& environment,
                                                           const release::ReleaseId& id,
                                                           std::vector<std::string> kinds,
                                                           const Context& context);

/// Those of `owned` that are there by now with the release's mark, under another uid than those that were
/// `seen`: a process that was stopped had sent them before its lock was taken over, and they arrived later.
/// Never those that pruning keeps by `rules`, or by their annotation: they may hold data.
Result<std::vector<apply::Removal>> late_arrivals(const Environment& environment,
                                                  const release::ReleaseId& id,
                                                  const std::vector<apply::InventoryItem>& owned,
                                                  const std::set<std::string>& seen,
                                                  const apply::PruneRules& rules, const Context& context);

/// Warns of what was seen that carries the release's labels and is in neither.
void warn_of_strays(const Environment& environment, const release::ReleaseId& id,
                    const apply::LiveState& live, const std::vector<apply::DesiredObject>& desired,
                    const std::vector<apply::InventoryItem>& owned);

}  // namespace mist::action
