#pragma once
// Leader election through a Lease (coordination.k8s.io/v1), compatible with client-go's leaderelection: of
// several replicas one works, and when it was silent for a term, another takes its place. No clocks are
// compared: a waiting replica counts the term on its own clock, from the last change of the Lease that it
// saw. The leader stops earlier than that, in boot time, which goes on while its machine sleeps.

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/context.h"
#include "base/event.h"
#include "kube/client.h"

namespace mist::kube {

struct LeaderOptions {
  std::string ns;
  std::string name;                               ///< of the Lease
  std::string identity;                           ///< of this process, and of no other
  Duration term = std::chrono::seconds(15);       ///< how long a silent leader keeps it; whole seconds
  Duration retry = std::chrono::seconds(2);       ///< between two looks, and between two renewals
  std::function<void(bool)> leads = [](bool) {};  ///< told when it begins to lead, and when that ends
};

/// Waits until this process leads, then calls `work` on this thread. Its context is stopped when the lead is
/// lost, and refuses each request after two thirds of a term without a renewal. When `work` returns while it
/// still leads, the Lease is given back, so that another replica takes it at once. Errors: those of `work`;
/// Conflict (the lead was lost; end the process, and begin again); Forbidden and others of the first look;
/// Cancelled.
Status lead(Client& client, Clock& clock, EventSink& events, const LeaderOptions& options,
            const std::function<Status(const Context&)>& work, const Context& context);

}  // namespace mist::kube
