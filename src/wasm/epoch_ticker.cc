#include "wasm/epoch_ticker.h"

namespace mist::wasm {

void EpochTicker::enter() {
  const std::lock_guard lock(mutex_);
  if (++running_ > 1) return;
  if (!thread_.joinable())
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  else
    changed_.notify_one();
}

void EpochTicker::leave() {
  const std::lock_guard lock(mutex_);
  --running_;
}

void EpochTicker::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return running_ > 0; })) {
    // Nothing notifies while a guest runs, so this is a sleep that a stop can end.
    changed_.wait_for(lock, stop, kPeriod, [&] { return stop.stop_requested(); });
    if (running_ > 0) tick_();
  }
}

}  // namespace mist::wasm
