#pragma once
// How far a blob is on its way, for watchers: an activity with its bytes (base/event.h), from the second
// second on and once a second. Blobs that are there sooner, and small ones, say nothing.
//
// The bytes are counted where they pass, by a thread that must not wait for a listener: that of the HTTP
// client serves all exchanges. So another thread tells the listener; only blobs of kWatchedFrom have one.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/context.h"
#include "base/event.h"

namespace mist::registry {

class TransferProgress {
 public:
  static constexpr std::uint64_t kWatchedFrom = std::uint64_t{256} << 10;  ///< bytes
  static constexpr std::chrono::seconds kInterval{1};                      ///< by the context's clock

  /// `text`: of the activity. `total`: bytes of the blob. `events`: null: nobody listens; it and the clock
  /// outlive this.
  TransferProgress(EventSink* events, std::string text, std::uint64_t total, const Context& context);
  TransferProgress(const TransferProgress&) = delete;
  TransferProgress& operator=(const TransferProgress&) = delete;
  /// Ends the activity.
  ~TransferProgress();

  /// So many bytes of the blob have passed. Doesn't wait. Any thread.
  void reached(std::uint64_t bytes) { done_.store(bytes, std::memory_order_relaxed); }
  /// The blob didn't arrive. Any thread.
  void fail() { failed_.store(true, std::memory_order_relaxed); }

 private:
  void watch(const std::stop_token& stop);
  void look();

  EventSink* const events_;
  const std::string text_;
  const std::uint64_t total_;
  const Context context_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<bool> failed_{false};
  SteadyTime last_;                   // when the listener was told last, or it began
  std::optional<Activity> activity_;  // the watcher's while that runs, as last_
  std::jthread watcher_;              // last: it uses all of the above
};

}  // namespace mist::registry
