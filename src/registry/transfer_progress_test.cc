#include "registry/transfer_progress.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/short_digest.h"
#include "registry/oci_fixture.h"
#include "testing/fake_clock.h"

namespace mist::registry {
namespace {

using namespace std::chrono_literals;
using testing::MemoryRegistry;

// Keeps what it was told, and how often a watcher read the clock.
class Watched final : public EventSink, public Clock {
 public:
  void message(const Message&) override {}
  void object(const ObjectProgress&) override {}
  void began(const ActivityBegan& event) override {
    add([&] { begun.push_back(event.text); });
  }
  void ended(const ActivityEnded& event) override {
    add([&] { ends.push_back(event.ok); });
  }
  void progressed(const ActivityProgress& event) override {
    add([&] { progress.push_back(event); });
  }

  WallTime now() const override { return clock.now(); }
  BootTime boot_now() const override { return clock.boot_now(); }
  bool sleep(Duration duration, std::stop_token stop) override { return clock.sleep(duration, stop); }
  SteadyTime steady_now() const override {
    add([&] { ++looks_; });
    return clock.steady_now();
  }

  // Waits until `count` events have told how far it is.
  bool told(std::size_t count) {
    return wait([&] { return progress.size() >= count; });
  }
  // Waits until somebody has read the clock twice more, so that one look is over.
  bool looked() {
    const std::size_t before = [&] {
      const std::lock_guard lock(mutex_);
      return looks_;
    }();
    return wait([&] { return looks_ >= before + 2; });
  }

  mist::testing::FakeClock clock;
  std::vector<std::string> begun;
  std::vector<bool> ends;
  std::vector<ActivityProgress> progress;

 private:
  void add(const std::function<void()>& change) const {
    const std::lock_guard lock(mutex_);
    change();
    wake_.notify_all();
  }
  bool wait(const std::function<bool()>& until) {
    std::unique_lock lock(mutex_);
    return wake_.wait_for(lock, 20s, until);
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable wake_;
  mutable std::size_t looks_ = 0;  // guarded by mutex_, as what is public while it is watched
};

TEST(TransferProgress, TellsOnceASecondHowFarItIs) {
  Watched watched;
  {
    TransferProgress told(&watched, "uploading it", 1'000'000, Context().with_clock(watched));
    told.reached(1000);
    watched.clock.advance(900ms);
    ASSERT_TRUE(watched.looked());
    EXPECT_TRUE(watched.begun.empty()) << "not before a second has passed";
    watched.clock.advance(100ms);
    ASSERT_TRUE(watched.told(1));
    told.reached(400'000);
    watched.clock.advance(900ms);
    ASSERT_TRUE(watched.looked());
    EXPECT_EQ(watched.progress.size(), 1u);
    watched.clock.advance(100ms);
    ASSERT_TRUE(watched.told(2));
  }
  EXPECT_EQ(watched.begun, std::vector<std::string>{"uploading it"});
  EXPECT_EQ(watched.ends, std::vector<bool>{true});
  EXPECT_EQ(watched.progress[0].done, 1000u);
  EXPECT_EQ(watched.progress[1].done, 400'000u);
  EXPECT_EQ(watched.progress[1].total, 1'000'000u);
  EXPECT_EQ(watched.progress[0].id, watched.progress[1].id);
}

TEST(TransferProgress, SaysNothingOfWhatTakesLessThanASecond) {
  Watched watched;
  {
    TransferProgress told(&watched, "uploading it", 1'000'000, Context().with_clock(watched));
    watched.clock.advance(999ms);
    ASSERT_TRUE(watched.looked());
    told.fail();
  }
  EXPECT_TRUE(watched.begun.empty());
  EXPECT_TRUE(watched.ends.empty());
}

TEST(TransferProgress, WhatFailsEndsAsFailed) {
  Watched watched;
  {
    TransferProgress told(&watched, "uploading it", 1'000'000, Context().with_clock(watched));
    watched.clock.advance(1s);
    ASSERT_TRUE(watched.told(1));
    told.fail();
  }
  EXPECT_EQ(watched.ends, std::vector<bool>{false});
}

// A registry that gets and gives half of each large blob, and then waits until somebody was told.
class Halfway final : public http::Transport {
 public:
  Halfway(http::Transport& next, Watched& watched) : next_(next), watched_(watched) {}
  Result<http::Response> send(const http::Request& request, const Context& context) override {
    if (request.source && request.source->size() >= TransferProgress::kWatchedFrom) {
      std::string half(request.source->size() / 2, '\0');
      MIST_TRY_VOID(request.source->read(0, half));
      MIST_TRY_VOID(wait());
    }
    return next_.send(request, context);
  }
  Result<http::Response> stream(const http::Request& request, const http::BodyPiece& piece,
                                const Context& context) override {
    Status waited;
    const auto halved = [&](std::string_view bytes) {
      if (!piece(bytes.substr(0, bytes.size() / 2))) return false;
      waited = wait();
      return piece(bytes.substr(bytes.size() / 2));
    };
    Result<http::Response> response = next_.stream(request, halved, context);
    MIST_TRY_VOID(std::move(waited));
    return response;
  }

 private:
  Status wait() {
    watched_.clock.advance(1s);
    if (watched_.told(++waits_)) return {};
    return error(ErrorKind::Internal, "nobody was told");
  }

  http::Transport& next_;
  Watched& watched_;
  std::size_t waits_ = 0;
};

TEST(TransferProgress, BlobsTellItToAndFromARegistry) {
  Watched watched;
  MemoryRegistry registry;
  Halfway halfway(registry.web, watched);
  OciClient client(halfway,
                   [](const std::string&, const std::string&,
                      const Context&) -> Result<std::optional<Login>> { return std::optional<Login>(); },
                   {.resolve = [](const std::string&) -> Result<std::vector<std::string>> {
                      return std::vector<std::string>{"1.1.1.1"};
                    },
                    .events = &watched});
  const Context context = Context().with_clock(watched);
  const oci::Repository shop = testing::repository_of("oci://reg.example/team/shop");
  const std::string bytes(1'000'000, 'x');
  const oci::Blob blob{{.media_type = "application/x", .digest = crypto::sha256(bytes), .size = bytes.size()},
                       bytes};
  const Status pushed = client.push_blob(shop, blob, context);
  ASSERT_TRUE(pushed.ok()) << pushed.error().to_line();
  const auto read = client.blob(shop, blob.descriptor, bytes.size(), context);
  ASSERT_TRUE(read.ok()) << read.error().to_line();
  EXPECT_EQ(*read, bytes);
  const std::string digest = short_digest(blob.descriptor.digest.str());
  EXPECT_EQ(watched.begun, (std::vector<std::string>{
                               fmt::format("uploading {} to oci://reg.example/team/shop", digest),
                               fmt::format("downloading {} from oci://reg.example/team/shop", digest)}));
  ASSERT_EQ(watched.progress.size(), 2u);
  for (const ActivityProgress& each : watched.progress) {
    EXPECT_EQ(each.done, 500'000u);
    EXPECT_EQ(each.total, 1'000'000u);
  }
  EXPECT_EQ(watched.ends, (std::vector<bool>{true, true}));
}

}  // namespace
}  // namespace mist::registry
