#pragma once
// Why the Pods of a workload don't become ready, while somebody waits for it: what the kubelet and the
// scheduler say of an image, a crash or a missing node stands in the Pods, long before the workload's own
// status says anything.

#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "apimachinery/object.h"
#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

/// The trouble of a Pod, for a line of progress.
struct PodTrouble {
  std::string text =
      {};  ///< "container main: CrashLoopBackOff, 2 restarts: ended with exit code 1"; empty: nothing
  std::string cause = {};  ///< the same for states of one trouble that come and go: a container's crash
  int rank = 0;            ///< of those states, the later one tells more
  friend bool operator==(const PodTrouble&, const PodTrouble&) = default;
};

/// Nothing of a Pod that is fine, being deleted, or just starting. Pure.
PodTrouble trouble_of(const encoding::Value& pod);

/// The trouble to show from now on: `now`, unless that is only an earlier state of the same trouble. Pure.
PodTrouble next_trouble(const PodTrouble& shown, PodTrouble now);

/// The label selector of a workload's Pods as a request has it; empty: it has none. Pure.
std::string pod_selector(const encoding::Value& workload);

/// Watches the Pods of workloads that aren't ready: those of their newest template; while there are none, the
/// events of the workload (a quota keeps a Job from making a Pod, and only an Event says so). A watch for
/// each workload, a few at a time, and none for workloads that become ready soon. Objects that may not be
/// read are not reported. Any thread.
class PodWatch {
 public:
  static constexpr std::size_t kMost = 10;                                ///< workloads at a time
  static constexpr Duration kPatience = std::chrono::milliseconds(1500);  ///< before the first look
  static constexpr Duration kWithoutPods =
      std::chrono::seconds(3);  ///< from look to look, while there are none

  /// Told from any thread, whenever it changes; with nothing when it has passed.
  using Tell = std::function<void(const apimachinery::ObjectKey& workload, const PodTrouble& trouble)>;

  PodWatch(kube::Client& client, Tell tell, const Context& context, Duration patience = kPatience)
      : client_(client), tell_(std::move(tell)), context_(context), patience_(patience) {}
  PodWatch(const PodWatch&) = delete;
  PodWatch& operator=(const PodWatch&) = delete;
  /// Waits for calls of `tell` to end: not under a lock that they need.
  ~PodWatch();

  /// Begins to watch, unless it does or `workload` makes no Pods.
  void follow(const apimachinery::ObjectKey& key, const encoding::Value& workload);
  /// It is ready, or gone. Waits for nothing.
  void forget(const apimachinery::ObjectKey& key);

 private:
  void begin_next();  // mutex_ is held
  struct Followed {
    apimachinery::ObjectKey key;
    std::string selector;
    std::string uid;
  };
  void watch(const Followed& followed, const std::stop_token& stop);

  kube::Client& client_;
  const Tell tell_;
  const Context context_;
  const Duration patience_;
  std::mutex mutex_;
  std::list<Followed> queue_;                                // guarded by mutex_
  std::map<apimachinery::ObjectKey, std::jthread> running_;  // guarded by mutex_
  std::list<std::jthread> ended_;  // were told to stop; joined in the destructor; guarded by mutex_
};

}  // namespace mist::apply
