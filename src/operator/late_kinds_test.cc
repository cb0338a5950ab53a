#include "operator/late_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "testing/fake_clock.h"
#include "testing/fake_cluster.h"
#include "testing/recorded_events.h"
#include "testing/yaml.h"

namespace mist::operator_ {
namespace {

const Item kWebItem{"app", {"shop", "web"}}, kOtherItem{"app", {"shop", "other"}};

class LateKindsTest : public ::testing::Test {
 protected:
  void define(const std::string& plural, const std::string& group, const std::string& kind) {
    cluster_.put(testing::yaml(fmt::format(
        "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: {0}.{1}}}, "
        "spec: {{group: {1}, scope: Namespaced, names: {{kind: {2}, plural: {0}}}, versions: [{{name: v1, "
        "served: true, storage: true}}]}}}}",
        plural, group, kind)));
  }
  int times(const Item& item) {
    const std::lock_guard lock(mutex_);
    return woken_[item];
  }
  bool soon(const std::function<bool()>& condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  testing::FakeCluster cluster_;
  testing::FakeClock clock_;
  testing::RecordedEvents events_;
  std::mutex mutex_;
  std::map<Item, int> woken_;
  LateKinds late_{cluster_, clock_, events_, [this](const Item& item) {
                    const std::lock_guard lock(mutex_);
                    ++woken_[item];
                  }};
};

TEST_F(LateKindsTest, WakeWhoMissesThem) {
  EXPECT_FALSE(late_.is_watching());
  late_.set(kOtherItem, {});
  EXPECT_FALSE(late_.is_watching()) << "nobody waits";
  late_.set(kWebItem, {"example.com", "b.com"});
  late_.set(kOtherItem, {"other.com"});
  late_.set(kOtherItem, {"other.com"});
  EXPECT_TRUE(late_.is_watching());
  // It may have come in between.
  ASSERT_TRUE(soon([&] { return times(kWebItem) > 0; }));
  const int other = times(kOtherItem), web = times(kWebItem);
  define("widgets", "example.com", "Widget");
  EXPECT_TRUE(soon([&] { return times(kWebItem) > web; }));
  EXPECT_EQ(times(kOtherItem), other);
  late_.set(kWebItem, {"b.com"});
  const int before = times(kWebItem);
  define("gadgets", "example.com", "Gadget");
  define("gadgets", "other.com", "Gadget");
  EXPECT_TRUE(soon([&] { return times(kOtherItem) > other; }));
  EXPECT_EQ(times(kWebItem), before);
  late_.set(kWebItem, {"b.com", "example.com"});
  EXPECT_EQ(times(kWebItem), before + 1) << "some definition of the group is there";
  late_.set(kWebItem, {"b.com", "example.com"});
  EXPECT_EQ(times(kWebItem), before + 1);
  late_.set(kWebItem, {});
  late_.set(kOtherItem, {});
  EXPECT_FALSE(late_.is_watching());
}

TEST_F(LateKindsTest, ARefusedWatchIsNotTriedAgainAtOnce) {
  std::atomic<int> refused = 0;
  cluster_.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list" && call.verb != "watch") return std::nullopt;
    ++refused;
    return error(ErrorKind::Forbidden, "not allowed");
  });
  late_.set(kWebItem, {"example.com"});
  ASSERT_TRUE(soon([&] {
    late_.set(kWebItem, {"example.com"});
    return !late_.is_watching();
  }));
  const int once = refused;
  late_.set(kWebItem, {"example.com"});
  EXPECT_FALSE(late_.is_watching());
  EXPECT_EQ(refused, once);
  clock_.advance(std::chrono::minutes(11));
  cluster_.set_before(nullptr);
  late_.set(kWebItem, {"example.com"});
  EXPECT_TRUE(late_.is_watching());
  EXPECT_TRUE(soon([&] { return times(kWebItem) > 0; }));
}

}  // namespace
}  // namespace mist::operator_
