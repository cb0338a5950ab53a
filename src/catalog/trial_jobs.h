#pragma once
// Runs trials as Jobs of a Kubernetes cluster, each in a Pod of its own: for workers that test many packages
// at once. Any thread.
//
// The Pod (main/catalog_task.h) gets its task from the catalog and tells it what it finds (task_answers.h),
// by a token that is in a Secret of the Job and worth nothing but this. So what it said stays when a worker
// dies, and the Job goes on meanwhile: whoever leases the job of the queue next finds the Job by its name and
// follows it from the beginning, as its own attempt. Nothing runs twice at once, because
//   - all Jobs of one job of the queue have the same name;
//   - a Job that isn't followed is deleted, and the next one waits until its Pods have ended;
//   - the catalog takes words for one token of a job only, that of its last Job.
// A Pod runs what strangers wrote, so nothing that it says stops the queue (SaidByPod). An image with another
// version of this program is found by the Pod's first container, which ends before it has any of that, and
// whose exit code the cluster reports.
//
// A Job is made suspended, then its Secret, which it owns; then it is resumed. So one that was resumed is
// whole.

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "catalog/task_store.h"
#include "catalog/trial.h"
#include "catalog/trial_process.h"
#include "kube/client.h"

namespace mist::catalog {

/// On Jobs and their Pods, beside kInstanceLabel: the number of the job in the queue.
inline constexpr std::string_view kTaskLabel = "mistletoe.dev/catalog-task";
/// The digest of the token in its Secret.
inline constexpr std::string_view kTaskTokenAnnotation = "mistletoe.dev/catalog-task-token";
/// Where the container of a Pod finds its Secret, and where it may write beside /tmp.
inline constexpr const char* kTaskSecretDirectory = "/var/run/mistletoe-catalog";
inline constexpr const char* kTaskWorkDirectory = "/work";

/// `mistletoe-catalog __is-program VERSION`, in a Pod's first container: exits with 0, or kAnotherProgram.
inline constexpr const char* kIsProgramVerb = "__is-program";
inline constexpr int kAnotherProgram = 3;

class TrialJobs {
 public:
  struct Options {
    std::string ns;     ///< of the Jobs
    std::string image;  ///< which has mistletoe-catalog in its PATH
    std::string url;    ///< of the catalog, as Pods reach it
    /// Of the cluster for tests, for a Pod: asked for each. Errors: as self_contained_kubeconfig().
    std::function<Result<SecretString>()> kubeconfig;
    std::string version;  ///< of this program
    bool git_through_proxy = false;
    TrialLimits limits = {};
    Duration pause = std::chrono::seconds(1);             ///< between two looks at a Job
    Duration start_time = std::chrono::minutes(10);       ///< that a Pod may take until it runs
    Duration between_removals = std::chrono::minutes(5);  ///< of Jobs that nobody waits for
    Duration pause_away = std::chrono::seconds(30);       ///< while their cluster can't be asked
    Duration removal_time = std::chrono::minutes(2);      ///< how long Pods of an earlier Job are waited for
  };

  /// All outlive it. `client`: of the Jobs' cluster.
  TrialJobs(const TrialDependencies& dependencies, TaskStore& tasks, kube::Client& client, EventSink& events,
            Options options)
      : dependencies_(dependencies),
        tasks_(tasks),
        client_(client),
        events_(events),
        options_(std::move(options)) {}

  /// As run_trial(). ClusterFault, too: Jobs can't be made there, or a Pod doesn't begin in its time.
  /// HeldByAnotherTest: Pods of an earlier Job are still ending. InstallationFault: the
  /// image has another version of this program. When the context ends, the Job goes on.
  Result<bool> run(const Job& job, const TrialReport& report, const Context& context);

  /// Deletes Jobs of this catalog that nobody waits for, whose job is over: their worker was killed, or their
  /// account is gone. Those that ended go by themselves. How many others there are, which run on.
  Result<int> remove_left(const Context& context);
  /// At once and from time to time, until the context ends. While the cluster is away, it tries again and
  /// warns once.
  void remove_left_again_and_again(const Context& context);

  /// For the logs of tests.
  std::string isolation() const;

 private:
  struct Refs;
  struct Followed;

  Result<Refs> refs_of(std::int64_t job, const Context& context);
  Result<encoding::Value> live_job(const Refs& refs, const Context& context);
  Status remove_earlier(const Refs& refs, const encoding::Value& live, const Context& context);
  Result<Followed> start(const Refs& refs, const Job& job, const Context& context);
  Result<bool> follow(const Refs& refs, const Followed& followed, const Job& job, const TrialReport& report,
                      const Context& context);
  Result<std::optional<Error>> look(const Refs& refs, const Followed& followed, const Context& context);
  Result<std::string> state_of_pod(const Refs& refs, const Context& context);
  Result<bool> ended_with_result(const Task& task);
  void remove_job(const Refs& refs, const std::string& uid, const Context& context);
  Duration deadline() const;

  const TrialDependencies& dependencies_;
  TaskStore& tasks_;
  kube::Client& client_;
  EventSink& events_;
  const Options options_;
};

/// The parts of a Job.
struct TrialJobSpec {
  std::string name, ns, image;
  std::string program = {};  ///< the worker's version, which has to be the image's
  std::string instance;      ///< of the catalog
  std::int64_t job = 0;      ///< of the queue
  std::string package = {}, version = {};
  std::string token_digest = {};
  TrialLimits limits = {};
  Duration deadline = {};  ///< of the whole Job
  Duration farewell = {};  ///< for a Pod that is told to end
};
/// The Job, suspended. Pure.
encoding::Value trial_job_object(const TrialJobSpec& spec);

/// A kubeconfig with one context that names no files, for Pods. Errors: of kube::Kubeconfig; Usage: it gets
/// its credentials from a program, which a Pod doesn't have.
Result<SecretString> self_contained_kubeconfig(const FileSystem& files, const TrialCluster& cluster);

}  // namespace mist::catalog
