#pragma once
// The Plan: what will happen to each object, and why, as data. Made by a pure function from what is wanted,
// what is owned and what is there; execute.h does exactly what it says. Any thread.

#include <string>
#include <vector>

#include "apply/desired.h"
#include "apply/difference.h"
#include "apply/observe.h"
#include "graph/sequence.h"
#include "release/record.h"

namespace mist::apply {

enum class ActionKind : std::uint8_t {
  Create,     ///< it isn't there
  Update,     ///< it is ours and differs
  Unchanged,  ///< it is ours and equal: no request
  Delete,     ///< ours, no longer wanted
  Retain,     ///< ours, no longer wanted, left where it is by a rule
};
std::string_view to_string(ActionKind kind);  ///< "create", "update", …

struct PlannedAction {
  ActionKind kind = ActionKind::Create;
  ObjectKey key;
  kube::ResourceInfo resource;  ///< of deletes without a served kind: resource is empty, and nothing is sent
  bool late = false;            ///< the kind arrives with a definition of this release
  std::string uid;   ///< of the live object; empty: it isn't there, or a pending create of unknown outcome
  int revision = 0;  ///< that last changed it, after this plan
  int previous_revision = 0;  ///< that last changed it, before this plan
  bool adopted = false;
  bool was_retained = false;                 ///< of retains: an earlier revision left it already
  std::vector<FieldDifference> differences;  ///< of updates
  std::string reason;                        ///< one sentence
  std::size_t desired = 0;                   ///< index into Plan::desired; not of deletes and retains
};

/// Which kinds pruning may remove although it would not by itself.
struct PruneRules {
  bool delete_crds = false;
  bool delete_pvcs = false;
  bool delete_namespaces = false;
};

struct Plan {
  std::vector<DesiredObject> desired;
  std::vector<PlannedAction> writes;    ///< one for each desired object, in its order
  std::vector<PlannedAction> removals;  ///< deletes and retains
  graph::SequenceGraph order{0};        ///< over writes (and barrier nodes behind them)
  int revision = 0;

  bool changes_nothing() const;
  std::size_t count(ActionKind kind) const;
};

/// Pure. `owned` is the union of the inventories of the deployed and of every later revision. Conflict: an
/// object that is wanted exists and belongs to another release (named) or to nobody. The Namespace of the
/// record itself is adopted.
Result<Plan> make_plan(const release::ReleaseId& release, std::vector<DesiredObject> desired,
                       const std::vector<release::InventoryItem>& owned, const LiveState& live, int revision,
                       const PruneRules& rules);

/// The inventory that a finished plan leaves; before it ran, uids of creates are empty.
std::vector<release::InventoryItem> inventory_of(const Plan& plan);

/// Why this object isn't removed by pruning or uninstalling; empty: it may be.
std::string_view kept_because(const ObjectKey& key, const Value* live, const PruneRules& rules);

}  // namespace mist::apply
