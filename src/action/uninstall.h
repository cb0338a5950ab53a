#pragma once
// Removing a release: first a plan that a person can read, then its execution, dependents first, the record
// last. After an interruption, the same command finishes the rest.

#include <set>
#include <string>
#include <vector>

#include "action/deploy/containers.h"
#include "action/environment.h"
#include "apply/plan/plan.h"

namespace mist::action {

struct UninstallOptions {
  apply::PruneRules rules;  ///< delete_namespaces: also those with objects that aren't the release's
  bool wait = false;        ///< until everything is gone
  bool no_hooks = false;    ///< no hook of a chart runs
  Duration timeout = std::chrono::minutes(5);  ///< of each hook, and until something is gone
  bool dry_run = false;                        ///< plan only, also while somebody holds the lock
  bool plan_again = false;       ///< when the release changed since the plan: nobody was shown it
  bool keep_adopted = false;     ///< what was there before the release stays
  bool force_conflicts = false;  ///< of what goes back to another release; so is `replace`
  bool replace = false;
  std::string action = "uninstall";  ///< for the record and the lock; "undo": of a first install
};

struct UninstallPlan {
  release::ReleaseId id;
  ReleaseState state;
  std::vector<apply::PlannedAction> removals;  ///< deletes and retains, in the order of the inventory
  std::vector<apply::DesiredObject> hooks;     ///< of a chart, to be run before and after
  /// CRDs that go, and whose conversion webhook keeps their objects from being read: they get none.
  std::set<std::string> unconverted = {};
  Containers containers;  ///< what goes with what is deleted, and what keeps it

  std::size_t deletes() const;
};

/// Reads only. NotFound if there is no such release. Unless it is a dry run, it waits for the release's lock
/// as read_release_to_write does.
Result<UninstallPlan> plan_uninstall(const Environment& environment, const release::ReleaseId& id,
                                     const UninstallOptions& options, const Context& context);
/// The same for a release that was just read, and exists.
Result<UninstallPlan> plan_uninstall(const Environment& environment, ReleaseState state,
                                     const UninstallOptions& options, const Context& context);

struct UninstallReport {
  /// That was carried out; a namespace in which something appeared meanwhile is retained, and what is a
  /// return (take_over.h) was given back.
  UninstallPlan plan;
  std::size_t deleted = 0;
  std::size_t retained = 0;
  /// Of those, what a finalizer keeps although its deletion was requested: which, and what keeps it.
  std::vector<std::pair<apimachinery::ObjectKey, std::string>> held = {};
  std::size_t given_back = 0;  ///< to the release that an unfinished revision was taking it from
};

/// "3 objects deleted, 1 retained".
std::string count_words(const UninstallReport& report);

/// anchor_moved(error) when the release changed since the plan; Conflict when somebody else is writing to it.
/// The head says what it was allowed to delete until it is done, so that anybody can continue it.
Result<UninstallReport> uninstall(const Environment& environment, UninstallPlan plan,
                                  const UninstallOptions& options, const Context& context);

}  // namespace mist::action
