#pragma once
// The operator's counts about itself, as Prometheus reads them. Names are those of controller-runtime and
// client-go where they mean the same, so that dashboards and alerts for other operators fit. Any thread.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "operator/queue_state.h"

namespace mist::operator_ {

class Metrics {
 public:
  /// `version` of this program; `lease`: the name of the Lease, empty: there is no election.
  explicit Metrics(std::string version, std::string lease = {})
      : version_(std::move(version)), lease_(std::move(lease)) {}

  /// One look at an instance or a blueprint; `controller` is the blueprint's name.
  void reconciled(std::string_view controller, bool ok, Duration took);
  /// A worker is busy with it as long as this lives.
  class Working {
   public:
    Working(Metrics& metrics, std::string_view controller);
    Working(const Working&) = delete;
    Working& operator=(const Working&) = delete;
    ~Working();

   private:
    Metrics& metrics_;
    const std::string controller_;
  };
  /// "10.0.0.1:6443", to which requests are sent.
  void sends_to(std::string host);
  /// One exchange with it, each repeat by itself; `status` 0: there was no answer.
  void requested(std::string_view method, int status);
  void leads(bool now) { leads_ = now; }
  /// How many of the slots of namespaces are this replica's; shown from then on.
  void shares(std::size_t slots, bool is_first) {
    slots_ = static_cast<std::int64_t>(slots);
    leads_ = is_first;
  }
  void is_ready(bool now) { ready_ = now || stays_ready_; }
  /// From now on, whatever is_ready() says: it waits for its turn, or is between two shares.
  void stays_ready() { ready_ = stays_ready_ = true; }
  bool ready() const { return ready_; }
  /// Names a missing part without which the program can't work, and the remedy; empty: nothing is missing.
  void lacks(std::string what);
  std::string lacking() const;
  /// An instance has another reason of its condition Ready. Empty: it wasn't there before, or is gone.
  void instance(std::string_view blueprint, std::string_view ns, std::string_view before,
                std::string_view now);
  /// An instance is not ready though the deadline of its blueprint is over, or no longer so.
  void stalled(std::string_view blueprint, std::string_view ns, bool now);
  /// The oldest delete of an instance that something holds back waits since another time. nullopt: there was
  /// none before, or is none now.
  void pending_delete(std::string_view blueprint, std::string_view ns, std::optional<WallTime> before,
                      std::optional<WallTime> now);
  /// As instance(), for a Release.
  void release(std::string_view before, std::string_view now);
  /// Whether the revision of a blueprint that its ConfigMap has is rejected; nullopt: it is gone.
  void rejected(const std::string& blueprint, std::optional<bool> now);
  /// Where the instances of a blueprint can't be listed; "": everywhere. nullopt: the blueprint is gone.
  void not_watched(const std::string& blueprint, std::optional<std::set<std::string>> namespaces);
  /// Nobody keeps any more what these said.
  void keeps_no_blueprints();
  void keeps_no_releases();
  /// The instances of a blueprint in more namespaces than this are shown without them, so that the number of
  /// time series stays bounded.
  static constexpr std::size_t kMostNamespaces = 100;

  /// A request to the conversion webhook, while it lives, and what came of it when it ends. `path`: one of a
  /// bounded number, as of blueprints that are known: whoever reaches the webhook chooses the paths.
  class Answering {
   public:
    Answering(Metrics& metrics, std::string path);
    Answering(const Answering&) = delete;
    Answering& operator=(const Answering&) = delete;
    /// `code`: the HTTP status; `took`: since the request was read.
    void ends(int code, Duration took);
    ~Answering();

   private:
    Metrics& metrics_;
    const std::string path_;
  };
  /// One review of the API server's, of so many objects of the kind, was answered with them or with a
  /// failure.
  void converted(const std::string& blueprint, const std::string& kind, bool ok, std::size_t objects,
                 Duration took);

  /// Asked at each text(); empty ends that: once this returns, nobody asks any more. `name`: of the queue.
  void watch_queue(const std::string& name, std::function<QueueState()> queue);

  /// Spans of traces that nobody took; asked at each text().
  void watch_traces(std::function<std::uint64_t()> dropped);

  /// Prometheus' text format, version 0.0.4.
  std::string text() const;
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
  // The buckets of controller_runtime_reconcile_time_seconds, in seconds.
  static constexpr std::array kBuckets{0.005, 0.01, 0.025, 0.05, 0.1,  0.15, 0.2,  0.25, 0.3,  0.35,
                                       0.4,   0.45, 0.5,   0.6,  0.7,  0.8,  0.9,  1.0,  1.25, 1.5,
                                       1.75,  2.0,  2.5,   3.0,  3.5,  4.0,  4.5,  5.0,  6.0,  7.0,
                                       8.0,   9.0,  10.0,  15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0};
  // Prometheus' usual ones, which controller-runtime's webhooks have too, and the longest that the API server
  // waits.
  static constexpr std::array kAnswerBuckets{0.005, 0.01, 0.025, 0.05, 0.1,  0.25,
                                             0.5,   1.0,  2.5,   5.0,  10.0, 30.0};
  struct Times {
    std::array<std::uint64_t, kAnswerBuckets.size() + 1> buckets{};  // the last: longer than all
    double seconds = 0;
    void add(Duration took);
  };
  struct Webhook {
    int active = 0;
    std::map<int, std::uint64_t> requests;  // by status
    Times times;
  };
  struct Converted {
    std::uint64_t objects = 0;
    Times times;
  };
  struct Controller {
    int active = 0;  // workers
    std::uint64_t succeeded = 0, failed = 0;
    std::array<std::uint64_t, kBuckets.size() + 1> buckets{};  // the last: longer than all
    double seconds = 0;
  };

  using Counts = std::map<std::string, std::size_t, std::less<>>;
  // With mutex_.
  Controller& controller(std::string_view name);
  void add_controllers(std::string& out) const;
  void add_requests(std::string& out) const;
  void add_kept(std::string& out) const;
  void add_webhooks(std::string& out) const;

  const std::string version_, lease_;
  std::atomic<bool> leads_ = false, ready_ = false, stays_ready_ = false;
  std::atomic<std::int64_t> slots_ = -1;
  mutable std::mutex asking_;  // of what follows, while it is called too
  std::map<std::string, std::function<QueueState()>> queues_;
  std::function<std::uint64_t()> dropped_spans_;
  mutable std::mutex mutex_;  // of what follows; nobody takes another one meanwhile
  std::map<std::string, Controller, std::less<>> controllers_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;      // by method and status
  std::map<std::string, std::map<std::string, Counts>> instances_;     // by blueprint, namespace, reason
  std::map<std::string, std::map<std::string, std::size_t>> stalled_;  // by blueprint, namespace
  std::map<std::string, std::map<std::string, std::multiset<WallTime>>> pending_;  // by blueprint, namespace
  std::map<std::string, bool> rejected_;                                           // by blueprint
  std::map<std::string, std::set<std::string>> not_watched_;                       // by blueprint: namespaces
  Counts releases_;                                                                // by reason
  std::map<std::string, Webhook> webhooks_;                                        // by path
  std::map<std::tuple<std::string, std::string, bool>, Converted> converted_;  // by blueprint, kind, success
  std::string host_, lacking_;
};

}  // namespace mist::operator_
