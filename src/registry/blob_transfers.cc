#include "registry/blob_transfers.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/parallel.h"

namespace mist::registry {
namespace {

class ByteBudget {
 public:
  // Waits until there is room. Errors: Cancelled, Timeout.
  Status take(std::uint64_t bytes, const Context& context) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, context.stop(), [&] { return bytes <= left_; });
    MIST_TRY_VOID(context.check());
    left_ -= bytes;
    return {};
  }
  void give_back(std::uint64_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      left_ += bytes;
    }
    wake_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::uint64_t left_ = kBlobBytesAtOnce;  // guarded by mutex_
};

}  // namespace

Status transfer_blobs(std::span<const std::uint64_t> sizes, const Context& context,
                      const std::function<Status(std::size_t, const Context&)>& transfer) {
  std::stop_source ended;
  const std::stop_callback passed_on(context.stop(), [&] { ended.request_stop(); });
  const Context each = context.with_stop(ended.get_token());
  ByteBudget budget;
  // Those that are stopped fail too, and later than the one that stops them.
  std::mutex mutex;
  std::optional<Error> first;  // guarded by mutex
  const auto ended_by = [&](const Status& done) {
    if (done.ok()) return;
    const std::lock_guard lock(mutex);
    if (!first) first = done.error();
    ended.request_stop();
  };
  const Status all = parallel_for(sizes.size(), kBlobsAtOnce, [&](std::size_t i) -> Status {
    const std::uint64_t bytes = std::min(sizes[i], kBlobBytesAtOnce);
    Status done = budget.take(bytes, each);
    ended_by(done);
    if (!done.ok()) return done;
    done = transfer(i, each);
    // Before the memory is free, for which others wait, and would begin.
    ended_by(done);
    budget.give_back(bytes);
    return done;
  });
  return first ? Status(*std::move(first)) : all;
}

}  // namespace mist::registry
