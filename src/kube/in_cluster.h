#pragma once
// How a program in a Pod reaches its own API server: the service account that Kubernetes mounts. Pure but for
// the files; any thread.

#include <optional>

#include "base/fs.h"
#include "base/result.h"
#include "kube/kubeconfig.h"

namespace mist::kube {

/// The context "in-cluster"; nullopt outside a Pod (KUBERNETES_SERVICE_HOST and _PORT aren't set, or no token
/// is mounted). Errors: Invalid or Forbidden when what is mounted can't be used.
Result<std::optional<ResolvedContext>> in_cluster_context(const FileSystem& fs, const Getenv& getenv);

}  // namespace mist::kube
