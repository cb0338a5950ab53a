#pragma once
// A process that was stopped with its lock may have sent a DELETE that arrives only after the lock was taken
// over, and much later. It names the uid and the version of the object that its sender had seen, so the
// server refuses it once the object was written again. The next run therefore writes, before anything else,
// every object that the stopped process may be deleting and that the run itself leaves in place: it puts an
// annotation on the object and takes it off again. Nothing else of the object changes.
//
// DELETEs that a run sends, and how its record tells of them:
//
//   install, upgrade, rollback, undo, finish, reapply   its pending revision
//     of what it no longer wants                        in an inventory, not among its objects
//     of what --delete-pvcs, -crds, -namespaces free    the same, if its options say so
//     of what it replaces, whosever that is             `replacing` in its inventory
//     of hooks, before they run and after their end     `hook` in an inventory
//   uninstall, undo of a first install                  a head that says so, with its options
//     of all that is the release's
//   a move to another release                           a silent lock, and no run of ours that did not end
//     of what that one replaces on the way              anything that is ours
//
// Of a run that failed, and could record that, all answers are there.

#include <set>
#include <string_view>
#include <vector>

#include "action/environment.h"
#include "apply/plan/plan.h"

namespace mist::action {

/// The objects of the release that an unfinished run may still be deleting. `taker`: a lock with that
/// operation was its caller's own, whose record tells what it deletes. Pure; any thread.
std::vector<apply::InventoryItem> may_be_deleted_late(const ReleaseState& state, std::string_view taker = {});

/// Writes those of them that are there, except those in `going`: its caller deletes them itself. Returns how
/// many: a caller that saw the cluster before looks again then. Objects that can't be written are warned of,
/// unless that may pass: then it is an error. For writers, before the lock is taken. Blocking; any thread.
Result<std::size_t> outdate_late_deletes(const Environment& environment, const ReleaseState& state,
                                         const std::set<apimachinery::ObjectKey>& going,
                                         const Context& context, std::string_view taker = {});

/// The objects that these actions delete by themselves.
std::set<apimachinery::ObjectKey> going_by(const std::vector<apply::PlannedAction>& actions);

}  // namespace mist::action
