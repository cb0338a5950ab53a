#pragma once
// Calls a function every few milliseconds while at least one guest runs, on a thread that is started by the
// first of them. Any thread.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace mist::wasm {

class EpochTicker {
 public:
  static constexpr std::chrono::milliseconds kPeriod{10};

  explicit EpochTicker(std::function<void()> tick) : tick_(std::move(tick)) {}
  EpochTicker(const EpochTicker&) = delete;
  EpochTicker& operator=(const EpochTicker&) = delete;
  ~EpochTicker() = default;  // the jthread stops and is joined first

  void enter();
  void leave();

 private:
  static constexpr int kQuietPeriods = 10;

  void run(const std::stop_token& stop);

  std::function<void()> tick_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int running_ = 0;    // guests
  bool idle_ = false;  // the thread waits for one
  std::jthread thread_;
};

}  // namespace mist::wasm
