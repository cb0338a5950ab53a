#pragma once
// How an object is deleted that is recreated: the fate of its dependents. Pure; any thread.

#include "apply/plan/plan.h"
#include "kube/client.h"

namespace mist::apply {

/// The new StatefulSet takes over the Pods and claims of the old one (Orphan), unless it selects others. The
/// Pods of a Job, and those of a StatefulSet that selects others, end before the new ones begin (Foreground).
/// The dependents of everything else go in the background. All but Orphan delete what only the object owns.
kube::Propagation replacement_propagation(const GroupKind& kind, bool selects_others);

/// The same of a planned Replace, by its differences.
kube::Propagation replacement_propagation(const PlannedAction& action);

}  // namespace mist::apply
