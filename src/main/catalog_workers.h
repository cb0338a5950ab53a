#pragma once
// The tests of packages in this process: their cluster, their workers, and the command that only tests.

#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "catalog/poller.h"
#include "catalog/store.h"
#include "catalog/trial.h"
#include "main/catalog_data.h"
#include "main/catalog_line.h"
#include "main/catalog_machine.h"

namespace mist {

/// Of the cluster that `line` names. All arguments outlive it; `git` is for packages. Errors: Usage, of
/// catalog::check_ready, of the store; Forbidden: git is too old.
Result<catalog::TrialDependencies> trial_dependencies(const CommandLine& line, Machine& machine,
                                                      const DataPlace& place, const CatalogData& data,
                                                      catalog::StrangersGit& git);

/// As --git-through-proxy says; repositories of private networks may need it in any case.
catalog::GitProxy git_proxy_asked(const CommandLine& line);

/// Threads that test packages as long as this lives. All arguments outlive it.
class Workers {
 public:
  Workers(Machine& machine, catalog::Store& store, const catalog::TrialDependencies& dependencies, int count,
          Duration lease);

 private:
  std::vector<std::jthread> threads_;
};

/// `mistletoe-catalog worker`, until the context ends.
Status worker(const CommandLine& line, Machine& machine, const DataPlace& place);

}  // namespace mist
