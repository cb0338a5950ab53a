#pragma once
// Takes jobs from the queue, one at a time, and tests them. While it works it renews its lease; when that is
// lost, it stops and leaves the job to who has it. While the database is away, it waits to say what became of
// its job; when it is back, the other workers have time to renew their leases before this one takes a job.
// Blocking; one thread (and one more that renews).

#include "base/context.h"
#include "base/event.h"
#include "catalog/store.h"
#include "catalog/trial.h"

namespace mist::catalog {

struct WorkerOptions {
  std::string holder;                        ///< who we are: unlike any other worker, and any earlier one
  Duration term = std::chrono::seconds(30);  ///< of a lease
  /// Between looks at an empty queue, and between calls to a database that is away.
  Duration pause = std::chrono::seconds(1);
  /// After it was found that this installation can't test anything now; and of a version whose objects
  /// another test has.
  Duration long_pause = std::chrono::minutes(1);
};

/// Until the context ends; a trial that is going on then removes what it made, and its job waits for others.
Status work(Store& store, const TrialDependencies& dependencies, const WorkerOptions& options,
            EventSink& events, const Context& context);

/// One job, if there is one. Whether there was. Errors: of the store; package::InstallationFault,
/// ClusterFault: no package can be tested here now, and the job waits for another worker, or a later time.
Result<bool> work_once(Store& store, const TrialDependencies& dependencies, const WorkerOptions& options,
                       EventSink& events, const Context& context);

}  // namespace mist::catalog
