#pragma once
// Waiting until the objects of a release are ready (object_waits.h), or one object is as asked. Blocking; any
// thread.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apply/execute/execute.h"
#include "apply/plan/plan.h"
#include "apply/wait/pod_trouble.h"
#include "apply/wait/readiness.h"
#include "base/context.h"
#include "base/event.h"
#include "kube/client.h"

namespace mist::apply {

struct AwaitedObject {
  ObjectKey key;
  kube::ResourceInfo resource;
  std::optional<Duration> timeout = {};        ///< its own (mistletoe.dev/timeout)
  std::optional<Duration> removal_delay = {};  ///< finished_job.h
  std::string uid = {};                        ///< of what removes itself, where it is known
  /// EarlierFailure's: nullopt, the first look counts; empty: any failure does.
  std::optional<std::string> earlier_failure = "";
};

/// The objects of a plan to wait for once they are written: those that is_worth_waiting(), without Jobs that
/// have finished and are gone. Without an execution nothing was changed, so each failure counts.
std::vector<AwaitedObject> awaited_objects(const Plan& plan, const Execution& execution);

struct WaitOptions {
  Duration timeout = std::chrono::minutes(5);  ///< of objects without one of their own
  bool diagnose = true;                        ///< look for root causes (root_cause.h) when it fails
  Duration pods_after = PodWatch::kPatience;   ///< what isn't ready by then is explained by its Pods
  bool jobs_end = true;  ///< false: a Job is ready as soon as it has begun, as for helm --wait
  /// Called for each Job that removes itself (finished_job.h) and that was ready because it had completed:
  /// not for a suspended one, nor for one that has merely begun. `seen`: it was there; else that it is gone
  /// tells. From any thread, one at a time, before the wait returns.
  std::function<void(const ObjectKey&, bool seen)> job_completed = {};
};

/// Until every object is ready. Errors: Timeout, naming each object whose time is over and why it isn't
/// ready; Invalid when one failed for good (a Job, a Deployment past its progress deadline); Cancelled.
/// Timeout and Invalid carry a diagnosis; reading what it needs takes at most ten seconds more.
Status wait_until_ready(kube::Client& client, const Owner& release, const std::vector<AwaitedObject>& objects,
                        const WaitOptions& options, EventSink& events, const Context& context);

/// Until one object's state satisfies `done` (called with null when the object is absent).
Status wait_for(kube::Client& client, const kube::ObjectRef& ref,
                const std::function<bool(const Value*)>& done, const Context& context);

/// How long something that is being deleted may take to go, unless somebody says another time.
inline constexpr Duration kGoneLimit = std::chrono::minutes(5);

/// Until the object with that uid is gone, for at most `limit`. Timeout and Cancelled say what it was still
/// held by.
Status wait_until_gone(kube::Client& client, const kube::ObjectRef& ref, const std::string& uid,
                       Duration limit, const Context& context);

}  // namespace mist::apply
