#pragma once
// One run under the lock: lock, journal, write, wait, prune, finish. docs/formats/release.md has the order of
// its writes, and what each leaves when the process dies after it. One thread.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "action/deploy/adopted.h"
#include "action/deploy/prepare.h"
#include "action/deploy/take_over.h"
#include "apply/execute/execute.h"
#include "apply/execute/remove.h"

namespace mist::action {

class Deployment {
 public:
  /// `look` was just made and outlives this.
  /// `before_adoption`: adopted.h
  Deployment(const Environment& environment, const PreparedDeploy& prepared, std::string action,
             encoding::Value before_adoption);

  /// release::anchor_moved(error): the release changed since the look, and nothing was written. Any other
  /// failure after the journal is in the record, unless the lock was lost.
  Status run(const Context& context);

  /// After a failed run: the revision whose failure is in the record.
  struct Recorded {
    int number = -1;
    std::string attempt;
  };
  const std::optional<Recorded>& failed() const { return failed_; }

  /// After a run that succeeded: it changed nothing, and its revision is gone again.
  bool changed_nothing() const { return changed_nothing_; }

  /// Objects that were to be changed back, or given back, and why the server refused it only then.
  const std::map<apimachinery::ObjectKey, std::string>& left() const { return left_; }

  /// The objects that were to be deleted and that the last look kept, and why.
  const std::map<apimachinery::ObjectKey, std::string>& stayed() const { return stayed_; }

 private:
  int deployed_before() const;
  release::Head head(release::RevisionStatus status) const;
  release::AnchorChange announcement() const;
  Status lock(const Context& context);
  Status begin(const Context& context);
  Status relist_deployed(const Context& context);
  Status journal(const std::string& packed);
  Context writing_context() const;
  apply::Execution write();
  std::optional<Error> wait(const apply::Execution& execution);
  void note_completed_jobs();
  void note_failed_jobs();
  void note_left(const apply::Execution& execution);
  Status give_back(apply::Execution& execution);
  Result<GivenBack> return_adopted(const apply::PlannedAction& action,
                                   const std::set<apply::ObjectKey>& undeployed_adoptions);
  apply::RemovalReport remove(const std::vector<apply::Removal>& removals);
  void keep_what_is_not_gone(const std::vector<apply::Removal>& removals, apply::RemovalReport& report);
  void note_stayed(const std::vector<apply::Removal>& removals, const apply::RemovalReport& report);
  Status delete_first(const std::vector<const apply::PlannedAction*>& gates);
  Status keep_what_is_used(const apply::Execution& execution);
  void prune(apply::Execution& execution);
  std::map<apimachinery::ObjectKey, const apimachinery::Object*> recorded() const;
  bool restored_nothing(const apply::Execution& execution) const;
  Status delete_own_revision();
  Status finish(release::RevisionStatus status);
  void trim(const Context& context);
  void prune_late_arrivals(apply::Execution& execution);
  Status stop(Error failure);
  void take_announcement_back();
  void clean_up_after_loss();
  Status remove_nobodys(const std::vector<apply::Removal>& removals, const Context& context);

  const Environment& environment_;
  const PreparedDeploy& prepared_;
  Containers containers_;
  release::Store store_;
  release::Revision revision_;
  std::optional<TakeOver> take_over_;  ///< other releases, locked until objects have moved or not
  std::unique_ptr<release::ReleaseLock> lock_;
  std::vector<release::RevisionSummary> kept_;  // revisions that were there before this one
  bool stored_ = false;
  bool unclear_ = false;  // it may have been stored, though nobody said so
  bool changed_nothing_ = false;
  std::optional<Recorded> failed_;
  std::map<apimachinery::ObjectKey, bool> completed_jobs_;  // WaitOptions::job_completed
  std::map<apimachinery::ObjectKey, std::string> left_;
  std::vector<apply::InventoryItem> late_left_;  // late arrivals that are not gone
  std::mutex removing_mutex_;                    // guards what follows while writes are sent
  std::map<apimachinery::ObjectKey, std::string> stayed_;
  std::set<apimachinery::ObjectKey> held_;     // of `stayed_`: RemovalReport::held
  std::set<apimachinery::ObjectKey> emptied_;  // RemovalReport::emptied
  std::set<apimachinery::ObjectKey> gone_first_;
};

}  // namespace mist::action
