#pragma once
// The operator's counts about itself, as Prometheus reads them. Names are those of controller-runtime and
// client-go where they mean the same, so that dashboards and alerts for other operators fit. Any thread.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace mist::operator_ {

/// The length of the queue, and how often something was added.
struct QueueState {
  std::size_t depth = 0;
  std::uint64_t additions = 0;
};

class Metrics {
 public:
  /// `version` of this program; `lease`: the name of the Lease, empty: there is no election.
  explicit Metrics(std::string version, std::string lease = {})
      : version_(std::move(version)), lease_(std::move(lease)) {}

  /// One look at an instance or a blueprint; `controller` is the blueprint's name.
  void reconciled(std::string_view controller, bool ok, Duration took);
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
  /// Asked at each text(); empty ends that.
  void watch_queue(std::function<QueueState()> queue);

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
  struct Controller {
    std::uint64_t succeeded = 0, failed = 0;
    std::array<std::uint64_t, kBuckets.size() + 1> buckets{};  // the last: longer than all
    double seconds = 0;
  };

  const std::string version_, lease_;
  std::atomic<bool> leads_ = false, ready_ = false, stays_ready_ = false;
  std::atomic<std::int64_t> slots_ = -1;
  mutable std::mutex mutex_;  // of what follows
  std::map<std::string, Controller, std::less<>> controllers_;
  std::string lacking_;
  std::function<QueueState()> queue_;
  std::function<std::uint64_t()> dropped_spans_;
};

}  // namespace mist::operator_
