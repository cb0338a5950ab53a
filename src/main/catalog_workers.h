#pragma once
// The tests of packages in this process: their cluster, their workers, and the command that only tests.

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/control_group.h"
#include "base/result.h"
#include "catalog/backup.h"
#include "catalog/poller.h"
#include "catalog/store.h"
#include "catalog/trial.h"
#include "catalog/trial_jobs.h"
#include "catalog/trial_process.h"
#include "catalog/trials.h"
#include "main/catalog_data.h"
#include "main/catalog_line.h"
#include "main/catalog_machine.h"

namespace mist {

/// The parts that trials are made of on this machine. References outlive what is made of them.
struct TrialParts {
  Machine& machine;
  const catalog::DataPlaces& places;
  catalog::Blobs& blobs;
  catalog::IsolatedGit& git;  ///< for packages
  std::string instance = {};  ///< of the catalog
  Duration timeout = {};
  catalog::TrialCluster cluster = {};
};

/// Which run in this process. Errors: of own_paths().
Result<catalog::TrialDependencies> trial_dependencies(const TrialParts& parts);

/// This program, for its processes.
std::string program_version();

/// How this process tests packages, as the flags say. It stays where it is.
class Testing {
 public:
  /// All arguments outlive it; `git` is for packages. Errors: Usage, of catalog::check_ready, of the store;
  /// Forbidden: git is too old, or no sandbox can be made; NotFound: there is no bubblewrap. With Jobs: of
  /// kube::connect; their cluster may be away.
  static Result<std::unique_ptr<Testing>> make(const CommandLine& line, Machine& machine,
                                               const DataPlace& place, const CatalogData& data,
                                               catalog::IsolatedGit& git);
  Testing(const Testing&) = delete;
  Testing& operator=(const Testing&) = delete;

  const catalog::TrialDependencies& dependencies() const { return dependencies_; }

 private:
  explicit Testing(catalog::TrialDependencies dependencies) : dependencies_(std::move(dependencies)) {}
  Status isolate(const CommandLine& line, Machine& machine);
  Status choose_cluster(const CommandLine& line, Machine& machine, const DataPlace& place);
  Status choose_jobs(const CommandLine& line, Machine& machine, const CatalogData& data);
  Result<bool> run_here(catalog::TrialPart part, const catalog::Job& job, Duration spent,
                        const catalog::TrialCluster& cluster, const catalog::TrialReport& report,
                        const Context& context) const;

  catalog::TrialDependencies dependencies_;
  Machine* machine_ = nullptr;
  std::unique_ptr<ControlGroups> groups_;
  std::optional<catalog::TrialProcesses> processes_;
  std::optional<catalog::Trials> trials_;
  std::unique_ptr<kube::Client> jobs_cluster_;
  std::optional<catalog::TrialJobs> jobs_;
  std::jthread removing_;  // ends first
};

/// Whether the flags name a cluster for that.
bool tests_packages(const CommandLine& line);

/// How many tests this process runs at once. Errors: Usage.
Result<int> tests_at_once(const CommandLine& line);

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

/// `mistletoe-catalog worker`, until the context ends; with --task catalog_task.h.
Status worker(const CommandLine& line, Machine& machine, const DataPlace& place);

}  // namespace mist
