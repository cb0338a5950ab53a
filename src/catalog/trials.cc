#include "catalog/trials.h"

#include <utility>

namespace mist::catalog {

Result<bool> Trials::run(const Job& job, const TrialReport& report, const Context& context) {
  const SteadyTime began = dependencies_.clock.steady_now();
  MIST_TRY(const bool passed,
           dependencies_.run_part(TrialPart::Offline, job, Duration::zero(), {}, report, context));
  if (!passed) return false;
  const Duration spent = dependencies_.clock.steady_now() - began;
  if (!dependencies_.start_cluster)
    return dependencies_.run_part(TrialPart::OnCluster, job, spent, dependencies_.shared, report, context);
  auto cluster = dependencies_.start_cluster(job, context);
  MIST_TRY_VOID(context.check());
  if (!cluster.ok()) return std::move(cluster).error().with_detail(ClusterFault());
  const TrialCluster own{.kubeconfig = (*cluster)->kubeconfig().string(), .context = {}};
  return dependencies_.run_part(TrialPart::OnCluster, job, spent, own, report, context);
}

}  // namespace mist::catalog
