#include "wasm/epoch_ticker.h"

namespace mist::wasm {

EpochTicker::EpochTicker(std::function<void()> tick, Pulse* pulse) : tick_(std::move(tick)) {
  if (pulse == nullptr) return;
  beat_.emplace(*pulse, [this] {
    if (running_ == 0) return false;
    tick_();
    return true;
  });
}

void EpochTicker::enter() {
  if (beat_) {
    ++running_;
    return;
  }
  const std::lock_guard lock(mutex_);
  ++running_;
  if (!thread_.joinable())
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  else if (idle_)
    changed_.notify_one();
}

void EpochTicker::leave() { --running_; }

void EpochTicker::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  int quiet = 0;
  while (!stop.stop_requested()) {
    // One render is many short calls: the thread goes on for a while without being woken for each of them.
    if (quiet == kQuietPeriods) {
      idle_ = true;
      changed_.wait(lock, stop, [this] { return running_ > 0; });
      idle_ = false;
      quiet = 0;
    }
    changed_.wait_for(lock, stop, kPeriod, [&] { return stop.stop_requested(); });
    if (running_ > 0) {
      tick_();
      quiet = 0;
    } else {
      ++quiet;
    }
  }
}

}  // namespace mist::wasm
