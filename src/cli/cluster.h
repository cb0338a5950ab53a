#pragma once
// The cluster that the global flags choose.

#include <memory>

#include "cli/machine.h"
#include "cli/parse/invocation.h"
#include "kube/client.h"

namespace mist::cli {

/// --kubeconfig, --context, --namespace.
ClusterChoice cluster_choice(const Invocation& invocation);

/// A client of that cluster; its default_namespace() is --namespace if that was given. Sends nothing by
/// itself. Errors: of kube::connect.
Result<std::unique_ptr<kube::Client>> connect(const Invocation& invocation, Machine& machine);

}  // namespace mist::cli
