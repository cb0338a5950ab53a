#include "registry/transfer_progress.h"

#include <utility>

namespace mist::registry {
namespace {

// How often the clock is looked at. Of the machine's time, since the context's clock may stand still.
constexpr std::chrono::milliseconds kBetweenLooks{100};

}  // namespace

TransferProgress::TransferProgress(EventSink* events, std::string text, std::uint64_t total,
                                   const Context& context)
    : events_(events), text_(std::move(text)), total_(total), context_(context), last_(context.now()) {
  if (events_ == nullptr || total_ < kWatchedFrom) return;
  watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

TransferProgress::~TransferProgress() {
  watcher_ = {};
  if (activity_ && failed_) activity_->fail();
}

void TransferProgress::watch(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    wake.wait_for(lock, stop, kBetweenLooks, [] { return false; });
    if (!stop.stop_requested()) look();
  }
}

void TransferProgress::look() {
  const SteadyTime now = context_.now();
  if (now - last_ < kInterval) return;
  last_ = now;
  if (!activity_) activity_.emplace(*events_, text_);
  activity_->progress(done_.load(std::memory_order_relaxed), total_);
}

}  // namespace mist::registry
