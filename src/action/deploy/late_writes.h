#pragma once
// A process that was stopped with its lock may have sent a request that arrives only after the lock was taken
// over, and much later. Each names the uid and the version of the object that its sender had seen, so the
// server refuses it once the object was written again. The next run therefore writes, before anything else,
// every object that the stopped process may be writing and that the run itself leaves in place: it puts an
// annotation on the object and takes it off again. Nothing else of the object changes. Objects that the run
// changes need that only against a DELETE: what arrives before its own write makes that look again, and what
// arrives after it fails.
//
// Applies that a run sends of objects that were there, and how its record tells of them:
//
//   install, upgrade, rollback, undo, finish, reapply   its pending revision
//     of what differs, or is adopted or taken over      changed by that revision in its inventory, with a uid
//   Once one has arrived, the object's label says so. Only of custom resources it may be followed by another.
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

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "action/environment.h"
#include "apply/plan/plan.h"

namespace mist::action {

/// An object of the release that unfinished runs may still be writing.
struct LateWrite {
  apply::InventoryItem item = {};
  bool deletes = false;  ///< they may be deleting it
  int changed_by = -1;   ///< the last revision whose run may be changing it; -1: none
};

/// `taker`: a lock with that operation was its caller's own, whose record tells what it writes. Pure; any
/// thread.
std::vector<LateWrite> may_be_written_late(const ReleaseState& state, std::string_view taker = {});

/// The objects that somebody is about to write, and what was seen of those that stay as they are.
class OwnWrites {
 public:
  /// By planned actions.
  void add(const std::vector<apply::PlannedAction>& actions);
  /// Deleted, whatever is planned.
  void add_deleted(const apimachinery::ObjectKey& key) { deleted_.insert(key); }

  /// Whether `late` does no harm, however late it arrives.
  bool outdate(const LateWrite& late) const;
  /// Whether an object that stays is of another version by now.
  bool changed_since(const apimachinery::ObjectKey& key, std::string_view version) const;

 private:
  std::set<apimachinery::ObjectKey> deleted_, changed_;
  std::map<apimachinery::ObjectKey, std::string> versions_;  // of those that stay
};

/// Writes those of them that are there, except those that `own` outdates. Returns how many it wrote, and how
/// many have changed since `own` was planned: a caller that saw the cluster before looks again then. Objects
/// that can't be written are warned of, unless that may pass: then it is an error. For writers, before the
/// lock is taken. Blocking; any thread.
Result<std::size_t> outdate_late_writes(const Environment& environment, const ReleaseState& state,
                                        const OwnWrites& own, const Context& context,
                                        std::string_view taker = {});

}  // namespace mist::action
