#include "registry/blob_transfers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace mist::registry {
namespace {

// Waits until somebody stops it.
Status until_stopped(const Context& context) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait(lock, context.stop(), [] { return false; });
  return context.check();
}

TEST(BlobTransfers, SeveralRunAtOnceAndAllAreDone) {
  // Nobody passes before four have arrived.
  std::barrier together(kBlobsAtOnce);
  std::atomic<int> running{0}, most{0}, done{0};
  const std::vector<std::uint64_t> sizes(3 * kBlobsAtOnce, 1000);
  const Status all = transfer_blobs(sizes, Context(), [&](std::size_t, const Context&) {
    const int now = ++running;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    together.arrive_and_wait();
    --running;
    ++done;
    return Status();
  });
  EXPECT_TRUE(all.ok());
  EXPECT_EQ(done, static_cast<int>(sizes.size()));
  EXPECT_EQ(most, static_cast<int>(kBlobsAtOnce));
}

TEST(BlobTransfers, TheFirstErrorStopsTheOthersAndIsTheOneReturned) {
  std::barrier together(kBlobsAtOnce);
  const std::vector<std::uint64_t> sizes(2 * kBlobsAtOnce, 0);
  std::atomic<std::size_t> begun{0};
  const Status all = transfer_blobs(sizes, Context(), [&](std::size_t i, const Context& context) -> Status {
    ++begun;
    together.arrive_and_wait();
    if (i == kBlobsAtOnce - 1) return error(ErrorKind::Invalid, "blob {} is damaged", i);
    return until_stopped(context);
  });
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().message, "blob 3 is damaged");
  EXPECT_EQ(begun, kBlobsAtOnce) << "no other one begins";
}

TEST(BlobTransfers, WhoeverStopsTheCallerStopsAll) {
  std::stop_source stop;
  const std::vector<std::uint64_t> sizes(kBlobsAtOnce, 0);
  std::barrier together(kBlobsAtOnce);
  const Status all =
      transfer_blobs(sizes, Context(stop.get_token()), [&](std::size_t i, const Context& context) {
        together.arrive_and_wait();
        if (i == 0) stop.request_stop();
        return until_stopped(context);
      });
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().kind, ErrorKind::Cancelled);
}

TEST(BlobTransfers, TogetherTheyKeepToTheirMemory) {
  // Two of them would be too much, as would any and the one that is larger than all may be.
  std::vector<std::uint64_t> sizes(6, kBlobBytesAtOnce / 2 + 1);
  sizes.push_back(4 * kBlobBytesAtOnce);
  std::atomic<int> running{0};
  std::atomic<bool> overlapped{false};
  std::atomic<std::size_t> done{0};
  const Status all = transfer_blobs(sizes, Context(), [&](std::size_t, const Context&) {
    if (++running > 1) overlapped = true;
    std::this_thread::yield();
    --running;
    ++done;
    return Status();
  });
  EXPECT_TRUE(all.ok());
  EXPECT_FALSE(overlapped);
  EXPECT_EQ(done, sizes.size());
}

TEST(BlobTransfers, OneThatWaitsForMemoryIsStopped) {
  const std::vector<std::uint64_t> sizes(kBlobsAtOnce, kBlobBytesAtOnce);
  std::atomic<int> begun{0};
  const Status all = transfer_blobs(sizes, Context(), [&](std::size_t, const Context&) -> Status {
    ++begun;
    return error(ErrorKind::Invalid, "damaged");
  });
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().message, "damaged");
  EXPECT_EQ(begun, 1);
}

}  // namespace
}  // namespace mist::registry
