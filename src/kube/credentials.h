#pragma once
// From a kubeconfig's user and cluster to what the transport needs: credentials and TLS settings, files read.
// Any thread.

#include <memory>

#include "base/event.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/result.h"
#include "kube/auth.h"
#include "kube/cluster_ca.h"
#include "kube/kubeconfig.h"

namespace mist::kube {

struct CredentialDependencies {
  const FileSystem& fs;
  ProcessRunner& processes;
  const Clock& clock;
  EventSink& events;
  bool interactive_terminal = false;  ///< standard input is a terminal: plugins may ask
};

/// The references in `dependencies` must outlive the result. Errors: NotFound, Forbidden, Invalid, with the
/// entry and the file; never with what is in it. Plugins get to know `ca` as it is when they run.
Result<std::unique_ptr<CredentialSource>> make_credentials(const ResolvedContext& context,
                                                           std::shared_ptr<ClusterCa> ca,
                                                           const CredentialDependencies& dependencies);

/// The PEM text of the cluster's CA; empty: the system's roots.
Result<std::string> read_ca(const ClusterEntry& cluster, const FileSystem& fs);

}  // namespace mist::kube
