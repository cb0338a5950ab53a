#pragma once
// Waiting by watch, never by polling: one watch for each resource and namespace, however many objects.
// Blocking; any thread.

#include <string>
#include <vector>

#include "apply/plan.h"
#include "apply/readiness.h"
#include "base/context.h"
#include "base/event.h"
#include "kube/client.h"

namespace mist::apply {

struct AwaitedObject {
  ObjectKey key;
  kube::ResourceInfo resource;
};

/// What a plan's objects need waiting for: those whose kinds have a readiness rule.
std::vector<AwaitedObject> awaited_objects(const Plan& plan);

/// Until every object is ready. Errors: Timeout, naming each object that isn't ready and why; Invalid when
/// one failed for good (a Job, a Deployment past its progress deadline); Cancelled.
Status wait_until_ready(kube::Client& client, const std::string& part_of,
                        const std::vector<AwaitedObject>& objects, EventSink& events, const Context& context);

/// Until one object's state satisfies `done` (called with null when the object is absent).
Status wait_for(kube::Client& client, const kube::ObjectRef& ref,
                const std::function<bool(const Value*)>& done, const Context& context);

}  // namespace mist::apply
