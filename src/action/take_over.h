#pragma once
// Moving objects from another release to ours. The label on the live object says whose it is, and one write
// moves it; so whoever dies at any point, the object belongs to exactly one of the two, and that one has it
// in its record: ours is journalled before, the other's forgets it after. Both are locked meanwhile: the
// other release can't delete by a plan that it made before. One thread.

#include <memory>
#include <optional>

#include "action/look.h"
#include "apply/execute.h"

namespace mist::action {

class TakeOver {
 public:
  /// nullopt: the plan takes nothing over, or the other release is no more. Otherwise the other release is
  /// locked; Conflict when somebody is writing to it.
  static Result<std::optional<TakeOver>> begin(const Environment& environment, const Look& look,
                                               const Context& context);

  /// Asked before each write, as ReleaseLock::check.
  Status check() const { return lock_->check(); }

  /// What was written leaves the other release's record, and its lock is given back. A failure loses nothing:
  /// the other release sees by the label that the objects are no longer its own.
  void let_go(const Environment& environment, const apply::Plan& plan, const apply::Execution& execution);

 private:
  TakeOver(ReleaseState other, std::unique_ptr<release::Store> store,
           std::unique_ptr<release::ReleaseLock> lock)
      : other_(std::move(other)), store_(std::move(store)), lock_(std::move(lock)) {}

  ReleaseState other_;
  std::unique_ptr<release::Store> store_;  // the lock refers to it
  std::unique_ptr<release::ReleaseLock> lock_;
};

}  // namespace mist::action
