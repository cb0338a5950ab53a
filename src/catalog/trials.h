#pragma once
// How a worker runs trials: in two parts, and where it is asked for, with a cluster for each that begins once
// the first part has passed. Blocking; any thread.

#include <functional>
#include <memory>

#include "base/clock.h"
#include "catalog/test_cluster.h"
#include "catalog/trial.h"
#include "catalog/trial_process.h"

namespace mist::catalog {

class Trials {
 public:
  using RunPart =
      std::function<Result<bool>(TrialPart part, const Job& job, Duration spent, const TrialCluster& cluster,
                                 const TrialReport& report, const Context& context)>;
  /// A cluster for one job; null: there is one for all. Errors: of TestCluster::start.
  using StartCluster = std::function<Result<std::unique_ptr<TestCluster>>(const Job&, const Context&)>;

  struct Dependencies {
    Clock& clock;
    RunPart run_part;
    TrialCluster shared = {};         ///< the cluster, where there is one for all
    StartCluster start_cluster = {};  ///< empty: there is
  };
  explicit Trials(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}

  /// As run_trial(). A cluster that doesn't start is a ClusterFault.
  Result<bool> run(const Job& job, const TrialReport& report, const Context& context);

 private:
  const Dependencies dependencies_;
};

}  // namespace mist::catalog
