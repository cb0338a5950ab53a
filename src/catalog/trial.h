#pragma once
// The test of one version: its files are checked, rendered for each Kubernetes that this program knows, then
// installed alone in a new namespace of a cluster, waited for, tested and removed, and nothing may stay. Each
// of these is a step with a log. All that is installed is removed again, whatever happens; after a killed
// worker, the next attempt removes it. Blocking; one thread.
//
// A trial may be run in parts, each in a process of its own (trial_process.h): the parts know of one another
// only what the job says.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "action/environment.h"
#include "base/process.h"
#include "catalog/blobs.h"
#include "catalog/model.h"
#include "catalog/version_objects.h"
#include "config/paths.h"
#include "kube/client.h"
#include "package/renderer.h"
#include "package/type_store.h"

namespace mist::catalog {

struct TrialReport;

/// The parts of a trial.
enum class TrialPart : std::uint8_t {
  All,
  Offline,    ///< the steps that need no cluster
  OnCluster,  ///< the rest, of a version that passed those
  Removal,    ///< removes what this job's attempts left on the cluster; no step of its own
};

struct TrialDependencies {
  FileSystem& files;
  ProcessRunner& processes;
  Clock& clock;
  Random& random;
  Blobs& blobs;
  config::Paths paths;  ///< of this worker alone: packages resolve what they call against its registries
  package::RendererOptions engines;
  package::TypeStore types;
  /// A client of the cluster. `events` outlives it.
  std::function<Result<std::unique_ptr<kube::Client>>(EventSink& events)> connect;
  Path directory;                               ///< for the files of packages
  std::string instance;                         ///< of the catalog: in the names of namespaces
  Duration timeout = std::chrono::minutes(5);   ///< of each wait
  Duration longest = std::chrono::minutes(20);  ///< of all steps but the removal; not of that of dead tests
  Duration spent = Duration::zero();            ///< of `longest`, by the parts before
  std::string isolation = {};  ///< how the process is kept from others: a line of the first step's log
  /// Runs a trial elsewhere, as run_trial() does it here. Empty: here.
  std::function<Result<bool>(const Job&, const TrialReport&, const Context&)> run = {};
};

/// Told what a trial finds. An error of any of them ends it.
struct TrialReport {
  std::function<void(std::string_view name)> began = {};  ///< each step; empty: nobody asks
  std::function<Status(const Step&)> step;                ///< each, when it is over
  std::function<Status(TestNodes)> nodes;                 ///< once, which the cluster has
  std::function<Status(const VersionObjects&)> objects;   ///< once
  std::function<void(const std::string&)> warn;  ///< for the worker's log: of what stays on the cluster
};

/// The detail of an error of the cluster for tests, or of our rights there: nothing can be tested now.
struct ClusterFault {};
/// The detail of an error about an object of the whole cluster: the test of another package has one of that
/// name, and removes it when it ends. Not of an object that outlived its test: nobody may ever remove it.
/// Also of what an earlier attempt left, while somebody else removes it.
struct HeldByAnotherTest {};
/// The detail of an error in the words of a Pod, which say that more than its own test can't go on. It has
/// run what strangers wrote, so that may be a lie: the attempt counts, this test rests, and the queue goes
/// on.
struct SaidByPod {};

/// Whether every step passed. Errors: those that say nothing of the package (ClusterFault,
/// HeldByAnotherTest, package::InstallationFault, the context ended, of `report`): the job may be tried
/// again.
Result<bool> run_trial(const TrialDependencies& dependencies, const Job& job, const TrialReport& report,
                       const Context& context, TrialPart part = TrialPart::All);

/// Whether this installation has what trials need: the engines and Kubernetes' schemas. Errors: those of
/// package::check_installation.
Status check_ready(const TrialDependencies& dependencies);

/// Removes the files of tests whose worker was killed: of each attempt of a job that nobody is at by
/// `is_tested`. Several workers may have one directory.
void remove_left_files(const TrialDependencies& dependencies,
                       const std::function<Result<bool>(std::int64_t job, int attempt)>& is_tested);

/// The longest that the removal of what a trial made takes, whatever became of its steps.
Duration longest_removal(const TrialDependencies& dependencies);

/// Where an attempt has its files, below `dependencies.directory`; remove_left_files() knows it.
Path trial_directory(const TrialDependencies& dependencies, const Job& job);

/// Of bytes that the catalog keeps: asking for them again is of no use until somebody repairs them.
bool is_lost(const Error& failure);

/// Where an attempt installs.
std::string trial_namespace(const std::string& instance, const Job& job, int attempt);

}  // namespace mist::catalog
