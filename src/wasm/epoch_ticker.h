#pragma once
// Calls a function again and again while at least one guest runs, so that somebody looks whether it may go
// on: with a pulse by that, else every few milliseconds on a thread that the first guest starts. Any thread.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/pulse.h"

namespace mist::wasm {

class EpochTicker {
 public:
  static constexpr std::chrono::milliseconds kPeriod{10};

  /// `pulse` must live longer than this; null: none.
  explicit EpochTicker(std::function<void()> tick, Pulse* pulse = nullptr);
  EpochTicker(const EpochTicker&) = delete;
  EpochTicker& operator=(const EpochTicker&) = delete;
  ~EpochTicker() = default;  // what calls is ended first

  void enter();
  void leave();

 private:
  static constexpr int kQuietPeriods = 10;

  void run(const std::stop_token& stop);

  std::function<void()> tick_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::atomic<int> running_ = 0;  // guests
  bool idle_ = false;             // the thread waits for one
  std::jthread thread_;
  std::optional<Pulse::Beat> beat_;
};

}  // namespace mist::wasm
