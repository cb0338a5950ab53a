#include "kube/sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "kube/held_lease.h"
#include "testing/fake_cluster.h"
#include "testing/recorded_events.h"

namespace mist::kube {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

bool comes(const std::function<bool()>& what) {
  for (int i = 0; i < 6000; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

class SharingTest : public ::testing::Test {
 protected:
  // Workers count themselves in their slots, so that two at once are seen.
  struct Replica {
    Replica(SharingTest& its_test, std::string its_name) : test(its_test), name(std::move(its_name)) {}
    ~Replica() { stop(); }
    void start(Duration term = std::chrono::seconds(3)) {
      client = test.cluster_.client_for(name);
      options = {.ns = "default",
                 .name = "operator",
                 .identity = "host_" + name,
                 .id = name,
                 .term = term,
                 .retry = milliseconds(20)};
      thread = std::jthread([this](const std::stop_token& token) {
        done = share(
            *client, test.clock_, test.events_, options,
            [this](const Share& share, const Context& context) { return work(share, context); },
            Context(token));
        ended = true;
      });
    }
    Status work(const Share& share, const Context& context) {
      test.count(share.slots(), 1);
      slots = share.slots().count();
      while (!context.stop().stop_requested() && context.check().ok())
        std::this_thread::sleep_for(milliseconds(2));
      refused = context.with_stop({}).check().ok() ? refused.load() : true;
      slots = 0;
      test.count(share.slots(), -1);
      return {};
    }
    void stop() {
      thread.request_stop();
      if (thread.joinable()) thread.join();
    }
    SharingTest& test;
    const std::string name;
    std::unique_ptr<testing::FakeCluster> client;
    SharingOptions options;
    std::atomic<std::size_t> slots = 0;
    std::atomic<bool> ended = false, refused = false;
    Status done;
    std::jthread thread;
  };

  void count(const Slots& slots, int change) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < kSlots; ++i) {
      if (!slots[i]) continue;
      workers_.at(i) += change;
      EXPECT_LE(workers_.at(i), 1) << "two work in slot " << i;
    }
  }
  void fail_for(const std::string& user, ErrorKind kind) {
    cluster_.set_before([user, kind](const testing::FakeCall& call) -> std::optional<Error> {
      return call.user == user ? std::optional(error(kind, "the server is away")) : std::nullopt;
    });
  }
  std::size_t leases() const {
    std::size_t count = 0;
    for (const auto& key : cluster_.objects()) count += key.group_kind.kind == "Lease" ? 1 : 0;
    return count;
  }

  testing::FakeCluster cluster_;
  SystemClock clock_;
  testing::RecordedEvents events_;
  std::mutex mutex_;
  std::array<int, kSlots> workers_{};
};

TEST_F(SharingTest, OneAloneHasAllAndLeavesNothing) {
  Replica one(*this, "one");
  one.start();
  EXPECT_TRUE(comes([&] { return one.slots == kSlots; }));
  one.stop();
  EXPECT_TRUE(one.done.ok());
  const auto division = cluster_.find("Lease.coordination.k8s.io", "default", "operator-slots");
  ASSERT_TRUE(division);
  EXPECT_EQ(division->string_at({"metadata", "annotations", "mistletoe.dev/slots"}), "{}");
  EXPECT_EQ(leases(), 1U);
}

TEST_F(SharingTest, ThreeShareAndTakeOverFromOneThatEnds) {
  std::array replicas{std::make_unique<Replica>(*this, "one"), std::make_unique<Replica>(*this, "two"),
                      std::make_unique<Replica>(*this, "three")};
  // With a term this long nobody's slots go to others but by being given up.
  for (const auto& each : replicas) each->start(std::chrono::seconds(60));
  EXPECT_TRUE(comes([&] {
    return std::ranges::all_of(replicas,
                               [](const auto& each) { return each->slots >= 21 && each->slots <= 22; });
  }));
  replicas[0]->stop();
  EXPECT_TRUE(comes([&] { return replicas[1]->slots == 32 && replicas[2]->slots == 32; }));
}

TEST_F(SharingTest, OneThatIsSilentWorksNoMoreBeforeOthersDo) {
  Replica one(*this, "one");
  Replica two(*this, "two");
  one.start();
  two.start();
  ASSERT_TRUE(comes([&] { return one.slots == 32 && two.slots == 32; }));
  fail_for("one", ErrorKind::Retryable);
  EXPECT_TRUE(comes([&] { return two.slots == kSlots; }));
  EXPECT_TRUE(comes([&] { return one.ended.load(); }));
  EXPECT_TRUE(one.refused);
  EXPECT_EQ(one.done.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(one.done.error().to_line(), HasSubstr("its share was lost"));
}

TEST_F(SharingTest, SaysThatItMayNotRemoveTheLeaseOfASilentOne) {
  Replica one(*this, "one");
  Replica two(*this, "two");
  one.start();
  two.start();
  ASSERT_TRUE(comes([&] { return one.slots == 32 && two.slots == 32; }));
  cluster_.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.user == "one") return error(ErrorKind::Retryable, "the server is away");
    return call.verb == "delete" ? std::optional(error(ErrorKind::Forbidden, "no")) : std::nullopt;
  });
  EXPECT_TRUE(comes([&] { return events_.has("while deleting the Lease of host_one"); }));
  EXPECT_EQ(two.slots, 32U);
}

TEST_F(SharingTest, ASlowLookDoesNotLoseTheLease) {
  Replica one(*this, "one");
  one.start();
  ASSERT_TRUE(comes([&] { return one.slots == kSlots; }));
  std::atomic<int> looks = 0;
  cluster_.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "list" && ++looks == 1) std::this_thread::sleep_for(milliseconds(2500));
    return std::nullopt;
  });
  EXPECT_TRUE(comes([&] { return looks > 2; }));
  EXPECT_FALSE(one.ended);
  EXPECT_EQ(one.slots, kSlots);
}

TEST_F(SharingTest, FindsTheDivisionThatLostItsLabel) {
  Replica one(*this, "one");
  Replica two(*this, "two");
  one.start();
  ASSERT_TRUE(comes([&] { return one.slots == kSlots; }));
  Value division = *cluster_.find("Lease.coordination.k8s.io", "default", "operator-slots");
  division["metadata"].erase("labels");
  cluster_.put(std::move(division));
  two.start();
  EXPECT_TRUE(comes([&] { return one.slots == 32 && two.slots == 32; }));
}

TEST_F(SharingTest, OneWhoseLeaseWasDeletedEnds) {
  Replica one(*this, "one");
  one.start();
  ASSERT_TRUE(comes([&] { return one.slots == kSlots; }));
  cluster_.drop(apimachinery::ObjectKey{lease_kind(), "default", "operator-one"});
  EXPECT_TRUE(comes([&] { return one.ended.load(); }));
  EXPECT_THAT(one.done.error().to_line(), HasSubstr("it was deleted"));
}

TEST_F(SharingTest, SaysAtOnceWhatItMayNotAndWhatItCantRead) {
  fail_for("one", ErrorKind::Forbidden);
  Replica one(*this, "one");
  one.start();
  EXPECT_TRUE(comes([&] { return one.ended.load(); }));
  EXPECT_EQ(one.done.error().kind, ErrorKind::Forbidden);

  Value lease = Value::object({{"apiVersion", "coordination.k8s.io/v1"}, {"kind", "Lease"}});
  lease["metadata"] = Value::object({{"name", "operator-slots"}, {"namespace", "default"}});
  lease["metadata"]["labels"].set("mistletoe.dev/shares", "operator");
  lease["metadata"]["annotations"].set("mistletoe.dev/slots", "all mine");
  cluster_.put(std::move(lease));
  Replica two(*this, "two");
  two.start();
  EXPECT_TRUE(comes([&] { return two.ended.load(); }));
  EXPECT_EQ(two.done.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(two.done.error().hint, HasSubstr("stop all replicas"));
}

}  // namespace
}  // namespace mist::kube
