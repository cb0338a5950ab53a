#pragma once
// Waiting until the source of an edge is as the edge asks (established, available, ready, absent), while
// everything else goes on. Waits are nodes of the run: one for each source and predicate, between the source
// and what comes after it, so that what asks less doesn't wait. They hold no worker (object_waits.h).

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apply/plan/plan.h"
#include "apply/wait/pod_trouble.h"
#include "base/context.h"
#include "base/event.h"
#include "kube/client.h"

namespace mist::apply {

struct EdgeWait {
  EdgePredicate predicate = EdgePredicate::Present;
  std::optional<std::size_t> write = {};  ///< the source, in Plan::writes; nullopt: it is `outside`
  OutsideObject outside = {};
  std::vector<graph::Node> after = {};  ///< what waits, in Plan::writes; of hooks also a barrier
};

/// A plan's order with its waits: nodes [0, plan.order.graph.size()) as there, then one for each of `waits`.
/// Objects that won't be written wait for nothing but hooks, and a kind that is served already needs no
/// waiting for its CRD.
struct RunOrder {
  graph::SequenceGraph graph{0};
  std::size_t first_wait = 0;
  std::vector<EdgeWait> waits;

  bool is_wait(graph::Node node) const { return node >= first_wait; }
};
RunOrder run_order(const Plan& plan);

struct EdgeWaitOptions {
  Duration limit = std::chrono::minutes(5);   ///< of each wait; CRDs and API services get a minute at most
  Duration pods_after = PodWatch::kPatience;  ///< what isn't as asked by then is explained by its Pods
};

/// The state of the object that a wait is about, as the run left it.
struct WaitSource {
  std::string version = {};  ///< the resourceVersion that it was written with; empty: it wasn't
  std::string uid = {};
  std::optional<std::string> earlier_failure = {};  ///< when it was written (earlier_failure.h)
};

/// Its functions may be called from any thread. Must outlive its waits.
class EdgeWaiter {
 public:
  using Done = std::function<void(Status)>;

  /// `waits` and `plan` must live as long.
  EdgeWaiter(kube::Client& client, const Plan& plan, const std::vector<EdgeWait>& waits,
             EdgeWaitOptions options, EventSink& events, const Context& context);
  EdgeWaiter(const EdgeWaiter&) = delete;
  EdgeWaiter& operator=(const EdgeWaiter&) = delete;
  ~EdgeWaiter();

  /// Begins to wait; `done` is called once, from any thread, perhaps before this returns. A state that is
  /// older than what was written doesn't count. A Job that removed itself is what it was when it ended
  /// (finished_job.h). Errors: Timeout, naming who waited for what and what it was like at last; Invalid when
  /// the source failed for good or was deleted; Cancelled; those of looking.
  void begin(std::size_t wait, WaitSource source, Done done);

  /// "Deployment shop/db".
  std::string source_name(std::size_t wait) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mist::apply
