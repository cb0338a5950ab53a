#pragma once
// Which Jobs of a release are gone because they had ended, and which because somebody deleted them. A Job
// with spec.ttlSecondsAfterFinished leaves nothing behind; so whoever sees that one has ended writes it down
// (apply::InventoryItem::ended). Where nobody did, its Events are asked. Where these are gone too, or may
// not be read, a Job of the deployed revision counts as ended as soon as its time to live may be over: since
// that revision was made, which saw it without an end, or made it. Not one that is wanted suspended.

#include <functional>
#include <set>

#include "action/environment.h"
#include "apply/plan/observe.h"

namespace mist::action {

/// Says what is wanted under that key now; null: nothing, so it doesn't matter. LiveOwner included.
using WantedObject = std::function<const encoding::Value*(const apimachinery::ObjectKey&)>;

/// Of what `owned` names and `live` lacks: the Jobs that had ended, and that are wanted as they were
/// recorded. A Job of a revision that did not end has to have completed: one that failed is for the next try
/// to run again. Blocking; any thread. It never fails: what can't be read is not known.
std::set<apimachinery::ObjectKey> finished_jobs(const Environment& environment, const ReleaseState& state,
                                                const apply::LiveState& live,
                                                const std::vector<apply::InventoryItem>& owned,
                                                const WantedObject& wanted, const Context& context);

/// As recorded: what is wanted is the last thing that was. For who only looks.
std::set<apimachinery::ObjectKey> finished_jobs(const Environment& environment, const ReleaseState& state,
                                                const apply::LiveState& live,
                                                const std::vector<apply::InventoryItem>& owned,
                                                const Context& context);

}  // namespace mist::action
