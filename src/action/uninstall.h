#pragma once
// Removing a release: first a plan that a person can read, then its execution, dependents first, the record
// last. What is left when it is interrupted, the same command finishes.

#include <map>
#include <string>
#include <vector>

#include "action/environment.h"
#include "apply/plan.h"

namespace mist::action {

struct UninstallOptions {
  apply::PruneRules rules;  ///< delete_namespaces: also those with objects that aren't the release's
  bool wait = false;        ///< until everything is gone
};

struct UninstallPlan {
  release::ReleaseId id;
  ReleaseState state;
  std::vector<apply::PlannedAction> removals;  ///< deletes and retains, in the order of the inventory
  /// For each namespace to be deleted: objects in it that aren't the release's ("ConfigMap shop/theirs").
  std::map<std::string, std::vector<std::string>> foreign;
};

/// Reads only. NotFound if there is no such release.
Result<UninstallPlan> plan_uninstall(const Environment& environment, const release::ReleaseId& id,
                                     const UninstallOptions& options, const Context& context);

struct UninstallReport {
  std::size_t deleted = 0;
  std::size_t retained = 0;
};

/// Conflict when the release changed since the plan, or somebody else is writing to it.
Result<UninstallReport> uninstall(const Environment& environment, const UninstallPlan& plan,
                                  const UninstallOptions& options, const Context& context);

}  // namespace mist::action
