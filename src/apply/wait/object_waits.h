#pragma once
// Waiting until objects are as somebody asks, by watch and never by polling: one watch for each resource and
// namespace, however many waits. execute.h uses it for edges and wait.h for a release.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apply/owner.h"
#include "apply/plan/desired.h"
#include "apply/wait/earlier_failure.h"
#include "apply/wait/pod_trouble.h"
#include "apply/wait/readiness.h"
#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

struct ObjectWait {
  ObjectKey key;
  kube::ResourceInfo resource;
  /// How far the object is from what is asked of it; null: it isn't there. Called under a lock: it may send a
  /// request, and calls nothing of ObjectWaits.
  std::function<Readiness(const Value* live)> judge;
  /// It was written for the owner: it has its label, and neither comes back by waiting once it is gone.
  bool ours = true;
  bool asks_pods = true;     ///< while it isn't as asked, its Pods tell why
  std::string version = {};  ///< the resourceVersion that it was written with: older states don't count
  std::string uid = {};
  std::optional<Duration> removal_delay = {};  ///< of a Job whose end is awaited (finished_job.h)
  EarlierFailure earlier_failure = EarlierFailure();
  Duration limit{};
};

struct WaitEnd {
  enum class How : std::uint8_t {
    Met,
    Failed,   ///< for good
    Lost,     ///< it was deleted, or lost the owner's label: `detail` is a predicate
    Late,     ///< the time is over
    Stopped,  ///< the context ended, or stop()
    Broken,   ///< the server can't be watched: `failure`
  };
  How how = How::Met;
  bool gone = false;        ///< of Met: a Job that has ended and removed itself (finished_job.h)
  std::string detail = {};  ///< what it was like at last, with its Pods' trouble where there is some
  std::string state = {};   ///< the same without the Pods
  Value live = {};          ///< as it was last seen; null: it never was
  std::optional<Error> failure = {};
};

/// Its functions may be called from any thread. Must outlive its waits.
class ObjectWaits {
 public:
  using Id = std::size_t;  ///< given by the caller
  struct Listener {
    /// Of one that isn't as asked yet, whenever that changes. Called under a lock: calls nothing back.
    std::function<void(Id, const std::string& detail)> changed;
    /// Once for each, from any thread, perhaps before begin() returns.
    std::function<void(Id, WaitEnd)> ended;
  };

  ObjectWaits(kube::Client& client, const Owner& owner, Listener listener, const Context& context,
              Duration pods_after = PodWatch::kPatience);
  ObjectWaits(const ObjectWaits&) = delete;
  ObjectWaits& operator=(const ObjectWaits&) = delete;
  /// Blocks until every wait has ended.
  ~ObjectWaits();

  void begin(std::vector<std::pair<Id, ObjectWait>> waits);
  /// Ends those that go on.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mist::apply
