#include "kube/leader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "testing/fake_cluster.h"
#include "testing/recorded_events.h"

namespace mist::kube {
namespace {

using ::testing::HasSubstr;

class Leader : public ::testing::Test {
 protected:
  Value lease() {
    const auto resource = cluster_.resource_for({"coordination.k8s.io", "Lease"}, "v1", Context());
    auto found = cluster_.get({*resource, "default", "operator"}, Context());
    return found.ok() ? *std::move(found) : Value();
  }
  void held_by(std::string_view holder) {
    Value lease = Value::object({{"apiVersion", "coordination.k8s.io/v1"}, {"kind", "Lease"}});
    lease["metadata"] = Value::object({{"name", "operator"}, {"namespace", "default"}});
    lease["spec"] = Value::object({{"holderIdentity", holder},
                                   {"leaseDurationSeconds", std::int64_t{1}},
                                   {"leaseTransitions", std::int64_t{4}}});
    cluster_.put(std::move(lease));
  }
  Status run(const std::function<Status(const Context&)>& work, const Context& context = Context()) {
    return lead(cluster_, clock_, events_, options_, work, context);
  }
  static Status until_stopped(const Context& context) {
    while (!context.stop().stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return {};
  }

  testing::FakeCluster cluster_;
  SystemClock clock_;
  testing::RecordedEvents events_;
  LeaderOptions options_{.ns = "default",
                         .name = "operator",
                         .identity = "me",
                         .term = std::chrono::seconds(1),
                         .retry = std::chrono::milliseconds(20)};
};

TEST_F(Leader, TakesALeaseThatNobodyHoldsAndGivesItBack) {
  std::vector<bool> told;
  options_.leads = [&](bool leads) { told.push_back(leads); };
  for (int transitions = 0; transitions < 2; ++transitions) {
    const Status done = run([&](const Context& context) {
      EXPECT_TRUE(context.check().ok());
      EXPECT_EQ(lease().string_at({"spec", "holderIdentity"}), "me");
      EXPECT_EQ(lease().at_path({"spec", "leaseTransitions"})->as_int(), transitions);
      return Status();
    });
    EXPECT_TRUE(done.ok());
    EXPECT_EQ(lease().string_at({"spec", "holderIdentity"}), "");
  }
  EXPECT_EQ(told, (std::vector<bool>{true, false, true, false}));
}

TEST_F(Leader, RenewsForAsLongAsItWorks) {
  const Status done = run([&](const Context& context) {
    std::set<std::string> versions;
    while (versions.size() < 4) {
      EXPECT_TRUE(context.check().ok());
      versions.insert(std::string(lease().string_at({"metadata", "resourceVersion"})));
    }
    return Status();
  });
  EXPECT_TRUE(done.ok());
}

TEST_F(Leader, WaitsForALeaderUntilItWasSilentForATerm) {
  held_by("another");
  std::atomic<bool> alive = true;
  std::jthread renewing([&] {
    for (int i = 0; i < 60; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      Value lease = this->lease();
      lease["spec"].set("renewTime", std::to_string(i));
      cluster_.put(std::move(lease));
    }
    alive = false;
  });
  const Status done = run([&](const Context&) {
    EXPECT_FALSE(alive);
    EXPECT_EQ(lease().at_path({"spec", "leaseTransitions"})->as_int(), 5);
    return Status();
  });
  EXPECT_TRUE(done.ok());
  EXPECT_THAT(events_.messages.front(), HasSubstr("waits: another holds Lease default/operator"));
}

TEST_F(Leader, EndsTheWorkOfOneWhoseLeaseWasTaken) {
  const Status done = run([&](const Context& context) {
    held_by("thief");
    return until_stopped(context);
  });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(done.error().to_line(), HasSubstr("thief holds it now"));
  EXPECT_EQ(lease().string_at({"spec", "holderIdentity"}), "thief");
}

TEST_F(Leader, LetsNoRequestPassWhenItCouldNotRenew) {
  const Status done = run([&](const Context& context) {
    cluster_.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "update") return std::nullopt;
      return error(ErrorKind::Retryable, "the server is away");
    });
    EXPECT_TRUE(until_stopped(context).ok());
    EXPECT_EQ(context.with_stop({}).check().error().kind, ErrorKind::Conflict);
    return Status();
  });
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().to_line(), HasSubstr("the server is away"));
}

TEST_F(Leader, SaysAtOnceWhatItMayNot) {
  cluster_.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "get") return std::nullopt;
    return error(ErrorKind::Forbidden, "leases is forbidden");
  });
  const Status done = run([](const Context&) { return Status(); });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::Forbidden);
}

TEST_F(Leader, CanBeStoppedWhileItWaits) {
  held_by("another");
  options_.term = std::chrono::seconds(30);
  std::stop_source stop;
  std::jthread stopping([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    stop.request_stop();
  });
  const Status done = run([](const Context&) { return Status(); }, Context(stop.get_token()));
  // Or it took over, if this machine stood still for a second.
  if (!done.ok()) {
    EXPECT_EQ(done.error().kind, ErrorKind::Cancelled);
  }
}

}  // namespace
}  // namespace mist::kube
