#pragma once
// Runs the parts of a trial in processes of their own, each in a sandbox of bubblewrap with limits: the
// program of the catalog once more, with kTrialVerb as its first argument (main/catalog_trial.h). Such a
// process reads and runs what strangers wrote. It sees the system's programs, this one with its engines and
// schemas, and the bytes of its job; it has neither the database nor the caches of the catalog, and may write
// to a /tmp in memory alone. The steps without a cluster have no network. The others have that of this
// machine, and the kubeconfig: no worse than the package's own Pods, which have the cluster as well.
//
// A process that goes over a limit is a failed step, and what it left on the cluster is removed; one that
// dies for another reason is an error, after which the job is tried again. Blocking; any thread.

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/control_group.h"
#include "base/process.h"
#include "catalog/trial.h"

namespace mist::catalog {

inline constexpr std::string_view kTrialVerb = "__run-trial";
/// Where the process finds its packages (FileBlobs), and where it may write.
inline constexpr const char* kTrialPackages = "/packages";
inline constexpr const char* kTrialHome = "/tmp/catalog";

/// Of a process with all that it starts.
struct TrialLimits {
  std::uint64_t memory_bytes = std::uint64_t{3} << 30;
  std::uint64_t file_bytes = std::uint64_t{1} << 30;  ///< of all files in /tmp, which are in memory
  std::size_t tasks = 512;                            ///< processes and threads
  unsigned processors = 2;                            ///< worth of time, as long as the part may take
};

/// Which cluster a part uses; nothing: the one that TrialProcesses knows.
struct TrialCluster {
  std::string kubeconfig = {};  ///< absolute
  std::string context = {};
};

class TrialProcesses {
 public:
  struct Options {
    Path program;         ///< of the catalog
    std::string version;  ///< of it
    bool git_through_proxy = false;
    /// Of the processes that have a network: the proxy's variables.
    std::map<std::string, std::string> environment = {};
    TrialLimits limits = {};
    ControlGroups* groups = nullptr;  ///< outlives this; null: the worker looks at /proc now and then
    bool limits_files = true;         ///< can_limit_tmpfs()
  };

  /// `programs` starts them. All references outlive this.
  TrialProcesses(const TrialDependencies& dependencies, ProcessRunner& programs, Options options)
      : dependencies_(dependencies), programs_(programs), options_(std::move(options)) {}

  /// One part of a trial, of whose time `spent` has passed. As run_trial(); also InstallationFault (there can
  /// be no sandbox).
  Result<bool> run(TrialPart part, const Job& job, Duration spent, const TrialCluster& cluster,
                   const TrialReport& report, const Context& context);

  /// For the logs: "bubblewrap, without network; 3072 MiB of memory, …".
  std::string isolation(TrialPart part) const;

 private:
  struct Ran;

  Command command(TrialPart part, const Path& packages, const std::vector<Path>& cluster_files) const;
  Duration longest(TrialPart part, Duration spent) const;
  Status write_packages(TrialPart part, const Job& job, const Path& directory, const TrialReport& report);
  Result<bool> run_in(const Path& packages, TrialPart part, const Job& job, Duration spent,
                      const TrialCluster& cluster, const TrialReport& report, const Context& context);
  Result<bool> outcome(const Ran& ran, TrialPart part) const;
  std::string limit_reached(TreeLimit limit) const;

  const TrialDependencies& dependencies_;
  ProcessRunner& programs_;
  const Options options_;
};

/// The files that a client of this cluster reads beside the kubeconfig itself: certificates, keys, tokens,
/// and the program that gets credentials, if it is named by a path. Errors: of kube::Kubeconfig.
Result<std::vector<Path>> files_of_cluster(const FileSystem& files, const TrialCluster& cluster);

}  // namespace mist::catalog
