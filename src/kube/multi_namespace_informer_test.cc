#include "kube/multi_namespace_informer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "testing/fake_clock.h"
#include "testing/fake_cluster.h"
#include "testing/recorded_events.h"

namespace mist::kube {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class MultiNamespaceInformerTest : public ::testing::Test {
 protected:
  using Key = MultiNamespaceInformer::Key;

  void SetUp() override {
    for (const char* name : {"shop", "blog", "bank"}) {
      Value ns = Value::object({{"apiVersion", "v1"}, {"kind", "Namespace"}});
      ns["metadata"].set("name", name);
      cluster_.put(std::move(ns));
    }
    cluster_.clear_calls();
  }
  void begin(const std::vector<std::string>& namespaces, const std::string& ns = "") {
    informer_.emplace(
        cluster_, maps_, ListOptions{.ns = ns, .label_selector = "app"}, namespaces, nullptr,
        [this](const std::optional<Key>& key) {
          if (!key) return;
          const std::lock_guard lock(mutex_);
          told_.insert(*key);
        },
        clock_, events_, [this] { unlisted_ = true; });
  }
  Value put(const std::string& ns, const std::string& name) {
    Value map = Value::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
    map["metadata"] =
        Value::object({{"name", name}, {"namespace", ns}, {"labels", Value::object({{"app", "shop"}})}});
    return cluster_.put(std::move(map));
  }
  template <typename Condition>
  static bool soon(const Condition& condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  std::set<std::string> places_asked() const {
    std::set<std::string> places;
    for (const testing::FakeCall& each : cluster_.calls())
      if (each.verb == "list" || each.verb == "watch") places.insert(each.key.ns);
    return places;
  }

  testing::FakeCluster cluster_;
  testing::FakeClock clock_;
  testing::RecordedEvents events_;
  ResourceInfo maps_ = *cluster_.resource_for({"", "ConfigMap"}, "v1", Context());
  std::mutex mutex_;
  std::set<Key> told_;
  std::atomic<bool> unlisted_ = false;
  std::optional<MultiNamespaceInformer> informer_;  // last: its threads use the others
};

TEST_F(MultiNamespaceInformerTest, HoldsWhatIsInItsNamespacesAndAsksNowhereElse) {
  put("shop", "a");
  put("blog", "b");
  put("bank", "c");
  begin({"blog", "shop"});
  ASSERT_TRUE(soon([&] { return informer_->synced(); }));
  EXPECT_THAT(informer_->keys(), UnorderedElementsAre(Key("shop", "a"), Key("blog", "b")));
  EXPECT_TRUE(informer_->get({"shop", "a"}));
  EXPECT_FALSE(informer_->get({"bank", "c"}));
  EXPECT_THAT(informer_->keys_with("\"b\""), ElementsAre(Key("blog", "b")));
  EXPECT_THAT(places_asked(), ElementsAre("blog", "shop"));
  put("bank", "d");
  put("blog", "e");
  ASSERT_TRUE(soon([&] { return informer_->get({"blog", "e"}).has_value(); }));
  const std::lock_guard lock(mutex_);
  EXPECT_THAT(told_, Contains(Key("blog", "e")));
  EXPECT_FALSE(told_.contains(Key("bank", "d")));
}

TEST_F(MultiNamespaceInformerTest, TakesAnswersOfItsNamespacesOnly) {
  begin({"shop"});
  ASSERT_TRUE(soon([&] { return informer_->synced(); }));
  const Value inside = put("shop", "a"), outside = put("bank", "b");
  informer_->put(inside);
  informer_->put(outside);
  EXPECT_THAT(informer_->keys(), ElementsAre(Key("shop", "a")));
}

TEST_F(MultiNamespaceInformerTest, KnowsTheOtherNamespacesWhileOneIsRefused) {
  std::atomic<bool> is_refused = true;
  cluster_.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (!is_refused || call.verb != "list" || call.key.ns != "shop") return std::nullopt;
    return error(ErrorKind::Forbidden, "nobody may list in shop");
  });
  put("blog", "b");
  begin({"blog", "shop"});
  ASSERT_TRUE(soon([&] { return informer_->failure().has_value() && !informer_->keys().empty(); }));
  EXPECT_EQ(informer_->failure()->kind, ErrorKind::Forbidden);
  EXPECT_FALSE(informer_->synced());
  ASSERT_TRUE(soon([&] { return informer_->settled(); }));
  EXPECT_TRUE(informer_->synced("blog"));
  EXPECT_EQ(informer_->failure("blog"), std::nullopt);
  EXPECT_FALSE(informer_->synced("shop"));
  EXPECT_FALSE(informer_->synced("bank")) << "nobody looks there";
  const auto failures = informer_->list_failures();
  ASSERT_THAT(failures, ElementsAre(::testing::Key("shop")));
  EXPECT_EQ(failures.at("shop").message, "nobody may list in shop");
  EXPECT_TRUE(unlisted_);
  is_refused = false;
  EXPECT_TRUE(soon([&] { return informer_->synced(); }));
  EXPECT_THAT(informer_->list_failures(), ::testing::IsEmpty());
  // After it has synced.
  is_refused = true;
  cluster_.forget_history();
  ASSERT_TRUE(soon([&] { return informer_->refusal("shop").has_value(); }));
  EXPECT_EQ(informer_->refusal("blog"), std::nullopt);
}

TEST_F(MultiNamespaceInformerTest, WithoutNamespacesHoldsAllAndWithOneInItsOptionsThatOne) {
  put("shop", "a");
  put("blog", "b");
  begin({});
  ASSERT_TRUE(soon([&] { return informer_->synced(); }));
  EXPECT_EQ(informer_->keys().size(), 2U);
  begin({"shop", "blog"}, "blog");
  ASSERT_TRUE(soon([&] { return informer_->synced(); }));
  EXPECT_THAT(informer_->keys(), ElementsAre(Key("blog", "b")));
}

}  // namespace
}  // namespace mist::kube
