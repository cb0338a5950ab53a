#pragma once
// Several replicas that work at the same time, each in namespaces of its own: the sharding of an operator.
//
// Each replica holds a Lease of its own, NAME-ID, and one Lease, NAME-slots, says whose each slot of the
// namespaces is (division.h). A replica gives up slots itself, when its work on them has ended, or loses them
// to one that has deleted its Lease because it was silent for a term; that deletion fails if the Lease was
// renewed meanwhile. A replica works only while its own Lease is in force, which is over before that.

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/context.h"
#include "base/event.h"
#include "kube/client.h"
#include "kube/division.h"

namespace mist::kube {

struct SharingOptions {
  std::string ns;
  std::string name;                          ///< how the Leases' names begin
  std::string identity;                      ///< of this process, and of no other
  std::string id;                            ///< the rest of its Lease's name: lower case, digits
  Duration term = std::chrono::seconds(15);  ///< how long a silent replica keeps its slots; whole seconds
  Duration retry = std::chrono::seconds(2);  ///< between two looks, and between two renewals
  /// Told what is worked on from now on.
  std::function<void(const Share&)> told = [](const Share&) {};
};

/// Calls `work`, on a thread of its own, with what this replica has, and calls it again when that has become
/// more or less; not while it has nothing. Its context is stopped when the share is to change, and refuses
/// each request when the Lease isn't in force any more. When it ends by itself, or is stopped, all slots are
/// given up, so that others take them at once. Errors: those of `work`; Conflict (the Lease was lost; end the
/// process, and begin again); Forbidden and others of the first look; Invalid (what NAME-slots says); none
/// for being stopped.
Status share(Client& client, Clock& clock, EventSink& events, const SharingOptions& options,
             const std::function<Status(const Share&, const Context&)>& work, const Context& context);

}  // namespace mist::kube
