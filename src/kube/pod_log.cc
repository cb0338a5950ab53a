#include "kube/pod_log.h"

namespace mist::kube {

Status pod_log(Client& client, const std::string& ns, const std::string& pod, const PodLogOptions& options,
               const LogPiece& piece, const Context& context) {
  auto* logs = dynamic_cast<PodLogs*>(&client);
  if (logs == nullptr) return error(ErrorKind::Invalid, "{} gives no logs", client.describe());
  return logs->pod_log(ns, pod, options, piece, context);
}

}  // namespace mist::kube
