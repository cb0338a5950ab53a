#include "cli/cluster.h"

namespace mist::cli {

ClusterChoice cluster_choice(const Invocation& invocation) {
  return {.kubeconfig = invocation.text("kubeconfig"),
          .context = invocation.text("context"),
          .ns = invocation.text("namespace")};
}

Result<std::unique_ptr<kube::Client>> connect(const Invocation& invocation, Machine& machine) {
  return machine.connect(cluster_choice(invocation), machine);
}

}  // namespace mist::cli
