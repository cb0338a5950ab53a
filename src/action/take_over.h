#pragma once
// Moving objects from another release to ours, and back. The label on the live object says whose it is, and
// one write moves it. Our record is journalled before, and the other's forgets the object only once our
// revision is deployed: whoever dies at any point, the object belongs to exactly one of the two, and that one
// has it in its record. Until then the move has not ended, and whatever takes the object out of our release
// (undoing, another upgrade, an uninstall) gives it back instead of deleting it. The other release is locked
// meanwhile. One thread.

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "action/environment.h"
#include "apply/plan.h"

namespace mist::action {

/// Of objects that are to leave the release: those that an unfinished revision was taking from a release that
/// still has them in its record go back there. They become Retains whose `owner` is that release. Reads only.
Status plan_returns(const Environment& environment, const ReleaseState& state,
                    std::vector<apply::PlannedAction>& removals, const Context& context);

bool is_return(const apply::PlannedAction& removal);

class TakeOver {
 public:
  /// nullopt: what is planned concerns no other release, or it is no more. Otherwise each that it concerns is
  /// locked; Conflict when somebody is writing to it. `from`: of --take-over-from. Those that earlier
  /// revisions took from and that never forgot what is ours by now are among them.
  static Result<std::optional<TakeOver>> begin(const Environment& environment, const ReleaseState& state,
                                               const std::vector<apply::PlannedAction>& writes,
                                               const std::vector<apply::PlannedAction>& removals,
                                               const std::optional<release::ReleaseId>& from,
                                               const Context& context);

  /// Asked before each write, as ReleaseLock::check.
  Status check() const;

  /// Writes what goes back as the record of its release has it, marks included, and returns what was given
  /// back. What is another object by now is not, nor what its release has dropped since the plan.
  Result<std::set<apply::ObjectKey>> give_back(const Environment& environment, const ReleaseState& state,
                                               const std::vector<apply::PlannedAction>& removals,
                                               bool force_conflicts, const std::function<Status()>& may_write,
                                               const Context& context) const;

  /// Our revision is deployed: what it wrote leaves the other releases' records, and their locks are given
  /// back. A failure loses nothing: they see by the label that the objects are no longer their own.
  void let_go(const Environment& environment, const std::vector<apply::PlannedAction>& writes);

 private:
  struct Other {
    ReleaseState state;
    std::unique_ptr<release::Store> store;  // the lock refers to it
    std::unique_ptr<release::ReleaseLock> lock;
  };
  static Result<std::optional<Other>> lock(const Environment& environment, const release::ReleaseId& id,
                                           const ReleaseState& ours, const Context& context);

  std::vector<Other> others_;
};

}  // namespace mist::action
