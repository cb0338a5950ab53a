#pragma once
// The output of the containers of Pods, from its beginning. Reads only, a bounded number of bytes. Blocking;
// any thread.

#include <string>
#include <vector>

#include "apimachinery/object.h"
#include "base/context.h"
#include "base/event.h"
#include "kube/client.h"

namespace mist::apply {

struct ContainerLog {
  std::string pod, container;
  std::string text;
  bool cut = false;  ///< there was more than a MiB
};

/// Of each container that printed anything, init containers first. `events` hears of logs that can't be read.
std::vector<ContainerLog> pod_logs(kube::Client& client, const encoding::Value& pod, EventSink& events,
                                   const Context& context);

/// The Pods of this Job (of that uid, not of an earlier one of its name), the oldest first.
Result<std::vector<encoding::Value>> pods_of_job(kube::Client& client, const apimachinery::ObjectKey& job,
                                                 const std::string& uid, const Context& context);

}  // namespace mist::apply
