#pragma once
// Moving objects from another release to ours, and back. The label on the live object says whose it is, and
// one write moves it. Our record is journalled before, and the other's forgets the object only once our
// revision is deployed: whoever dies at any point, the object belongs to exactly one of the two, and that one
// has it in its record. Until then the move has not ended, and whatever takes the object out of our release
// (undoing, another upgrade, an uninstall) gives it back instead of deleting it. The other release is locked
// meanwhile. One thread.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "action/deploy/unfinished_moves.h"
#include "action/environment.h"
#include "apply/plan/plan.h"

namespace mist::action {

/// Of objects that are to leave the release: those that it was taking from a release that still has them in
/// its record go back there. They become Retains whose `owner` is that release. Reads only.
Status plan_returns(const Environment& environment, const ReleaseState& state,
                    std::vector<apply::PlannedAction>& removals, const Context& context);

bool is_return(const apply::PlannedAction& removal);

/// Permissions of giving back beyond the ordinary.
struct GiveBackOptions {
  bool force_conflicts = false;
  Duration timeout = std::chrono::minutes(5);  ///< of each wait until something is gone
  /// An object that can't be changed back is deleted and recreated. Those that we had replaced always are.
  bool replace = false;
};

class TakeOver {
 public:
  /// nullopt: what is planned concerns no other release, or it is no more. Otherwise each that objects move
  /// from or to is locked; Conflict when somebody is writing to it. `from`: of --take-over-from. One that
  /// merely never forgot what is ours by now, and is written or dropped, is locked to be repaired, and left
  /// alone with a warning if it can't be.
  static Result<std::optional<TakeOver>> begin(const Environment& environment, const ReleaseState& state,
                                               const std::vector<apply::PlannedAction>& writes,
                                               const std::vector<apply::PlannedAction>& removals,
                                               const std::optional<release::ReleaseId>& from,
                                               const Context& context);

  /// Asked before each write, as ReleaseLock::check.
  Status check() const;

  /// The release whose record names this written object too, until let_go(); empty: none.
  std::string also_named_by(const apply::ObjectKey& key) const;

  /// Writes objects that go back as their release's record has them, labels included. Returns those given
  /// back: not those that are gone by now, nor those that their release has dropped since the plan.
  Result<std::set<apply::ObjectKey>> give_back(const Environment& environment, const ReleaseState& state,
                                               const std::vector<apply::PlannedAction>& removals,
                                               GiveBackOptions options, const Context& context);

  /// Our revision is deployed, or our uninstall is about to delete our record: what it wrote or dropped
  /// leaves the other releases' records, and their locks are given back. A failure loses nothing: they see by
  /// the label that the objects are no longer their own.
  void let_go(const Environment& environment, const std::vector<apply::PlannedAction>& writes);

  /// For a run that died before it let go: the records that `moves` come from forget their items. `ours` is
  /// where they went. Conflict when somebody is writing to one of those releases.
  static Status tell(const Environment& environment, const ReleaseState& ours,
                     const std::vector<UnfinishedMove>& moves, const Context& context);

 private:
  struct Other {
    ReleaseState state;
    std::unique_ptr<release::Store> store;  // the lock refers to it
    std::unique_ptr<release::ReleaseLock> lock;
    bool repaired = false;   // nothing moves from or to it: should its lock run out, ours goes on
    UnfinishedMove dropped;  // what its record names, and ours has no more
  };
  static Result<std::optional<Other>> lock(const Environment& environment, const release::ReleaseId& id,
                                           const ReleaseState& ours, const Context& context);
  void repair(const Environment& environment, const release::ReleaseId& id, const ReleaseState& ours,
              const std::vector<apply::PlannedAction>& writes,
              const std::vector<apply::PlannedAction>& removals, const Context& context);
  void note_named(const ReleaseState& other, const std::vector<apply::PlannedAction>& writes);
  static Status change_inventories(Other& other,
                                   const std::function<bool(std::vector<apply::InventoryItem>&)>& change);

  std::vector<Other> others_;
  std::map<apply::ObjectKey, std::string> named_;  // also_named_by()
};

}  // namespace mist::action
