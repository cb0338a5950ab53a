#include "operator/observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "apimachinery/managed_fields.h"
#include "apply/fields/difference.h"
#include "testing/fake_clock.h"
#include "testing/fake_cluster.h"
#include "testing/recorded_events.h"
#include "testing/yaml.h"

namespace mist::operator_ {
namespace {

using ::testing::ElementsAre;

const Item kFirstItem{"app", {"default", "first"}}, kSecondItem{"app", {"default", "second"}};

class ObserverTest : public ::testing::Test {
 protected:
  static ObjectId object(const std::string& kind, const std::string& name) {
    return {"v1", kind, "default", name};
  }
  void put(const std::string& kind, const std::string& name, const std::string& uid) {
    Value object = Value::object({{"apiVersion", "v1"}, {"kind", kind}});
    object["metadata"] = Value::object(
        {{"name", name}, {"namespace", "default"}, {"labels", Value::object({{kInstanceLabel, uid}})}});
    cluster_.put(std::move(object));
  }
  template <typename Condition>
  static bool soon(const Condition& condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  // One look at an instance that owns these.
  bool look(const Item& item, const std::vector<ObjectId>& owned) {
    observer_.begin(item);
    for (const ObjectId& id : owned) EXPECT_TRUE(observer_.observe(id, true, false, Context()).ok());
    const bool is_known = !observer_.unsynced();
    observer_.finish(!is_known);
    return is_known;
  }
  void look_until_known(const Item& item, const std::vector<ObjectId>& owned) {
    EXPECT_TRUE(soon([&] { return look(item, owned); }));
  }

  testing::FakeCluster cluster_;
  testing::FakeClock clock_;
  testing::RecordedEvents events_;
  std::mutex mutex_;
  std::map<Item, int> woken_;
  Observer observer_{cluster_, {}, clock_, events_, [this](const Item& item) {
                       const std::lock_guard lock(mutex_);
                       ++woken_[item];
                     }};
};

TEST_F(ObserverTest, WatchesAKindAsLongAsSomebodyAsksForIt) {
  look_until_known(kFirstItem, {object("ConfigMap", "a"), object("Secret", "a")});
  look_until_known(kSecondItem, {object("ConfigMap", "b")});
  EXPECT_EQ(observer_.watches(), 2U) << "one for each kind";
  // Its blueprint makes something else.
  look_until_known(kFirstItem, {object("ConfigMap", "a")});
  EXPECT_EQ(observer_.watches(), 1U);
  observer_.forget(kFirstItem);
  EXPECT_EQ(observer_.watches(), 1U) << "the other one has it";
  observer_.forget(kSecondItem);
  EXPECT_EQ(observer_.watches(), 0U);
  // It is asked for again.
  put("ConfigMap", "a", "u1");
  look_until_known(kFirstItem, {object("ConfigMap", "a")});
  observer_.begin(kFirstItem);
  EXPECT_TRUE(observer_.observe(object("ConfigMap", "a"), true, false, Context())->there());
}

TEST_F(ObserverTest, WhoeverAsksForAnObjectIsWokenUntilItIsForgotten) {
  put("ConfigMap", "a", "u1");
  put("ConfigMap", "b", "u2");
  const ObjectId a = object("ConfigMap", "a"), b = object("ConfigMap", "b");
  look_until_known(kSecondItem, {a, b});
  look_until_known(kFirstItem, {a});
  const auto is_told = [&](const Item& item, const ObjectId& id) {
    return soon([&] { return observer_.take_changed(item).contains(id); });
  };
  const auto change = [&](const std::string& name, const std::string& uid) {
    observer_.take_changed(kFirstItem);
    observer_.take_changed(kSecondItem);
    put("ConfigMap", name, uid);
  };
  change("a", "u3");
  EXPECT_TRUE(is_told(kFirstItem, a));
  EXPECT_TRUE(is_told(kSecondItem, a));
  // The second one doesn't ask for `a` any more.
  look_until_known(kSecondItem, {b});
  change("a", "u4");
  EXPECT_TRUE(is_told(kFirstItem, a));
  EXPECT_FALSE(observer_.take_changed(kSecondItem).contains(a));
  observer_.forget(kFirstItem);
  change("b", "u5");
  EXPECT_TRUE(is_told(kSecondItem, b));
  EXPECT_TRUE(observer_.take_changed(kFirstItem).empty());
  EXPECT_EQ(observer_.watches(), 1U);
}

TEST_F(ObserverTest, DriftIsFoundThoughTimesAndVersionsOfManagersAreNotKept) {
  const kube::ObjectRef ref{*cluster_.resource_for({"", "ConfigMap"}, "v1", Context()), "default", "a"};
  const auto apply = [&](std::string_view manager, std::string_view data) {
    Value map = testing::yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}");
    map["metadata"].set("labels", Value::object({{kInstanceLabel, "u1"}}));
    map["data"] = testing::yaml(data);
    return cluster_.apply(ref, map, {.field_manager = std::string(manager), .force = true}, Context());
  };
  ASSERT_TRUE(apply(kManager, "{ours: mine, left: one}").ok());
  ASSERT_TRUE(apply("somebody", "{ours: theirs}").ok());
  const Value live = *cluster_.get(ref, Context());
  ASSERT_NE(apimachinery::managed_fields(live).at(0).find("time"), nullptr);
  const ObjectId id = object("ConfigMap", "a");
  look_until_known(kFirstItem, {id});
  observer_.begin(kFirstItem);
  const auto seen = observer_.observe(id, true, true, Context());
  ASSERT_TRUE(seen.ok() && seen->there());
  Value wanted = testing::yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}");
  wanted["metadata"].set("labels", Value::object({{kInstanceLabel, "u1"}}));
  wanted["data"] = testing::yaml("{ours: mine}");
  const auto found = apply::differences(wanted, seen->object, kManager);
  const auto whole = apply::differences(wanted, live, kManager);
  ASSERT_EQ(found.size(), whole.size());
  ASSERT_EQ(found.size(), 2U) << "a changed field and one that is no longer wanted";
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].path, whole[i].path);
    EXPECT_EQ(found[i].managers, whole[i].managers);
  }
  ASSERT_EQ(apimachinery::managed_fields(seen->object).size(), 2U);
  for (const Value& entry : apimachinery::managed_fields(seen->object))
    EXPECT_EQ(entry.find("time"), nullptr);
}

TEST_F(ObserverTest, KeepsAKindInWhichItLooksForMarks) {
  put("ConfigMap", "a", "u1");
  EXPECT_TRUE(soon([&] {
    observer_.begin(kFirstItem);
    const auto found = observer_.marked({{"v1", "ConfigMap"}}, "u1", Context());
    const bool is_known = !observer_.unsynced();
    if (is_known) {
      EXPECT_THAT(found, ElementsAre(object("ConfigMap", "a")));
    }
    observer_.finish(true);
    EXPECT_EQ(observer_.watches(), 1U);
    return is_known;
  }));
  look_until_known(kFirstItem, {});
  EXPECT_EQ(observer_.watches(), 0U) << "its record is known";
}

TEST_F(ObserverTest, AKindThatIsNotServedLeavesNothing) {
  observer_.begin(kFirstItem);
  EXPECT_FALSE(observer_.observe({"example.com/v1", "Late", "default", "x"}, true, false, Context()).ok());
  observer_.finish(false);
  observer_.forget(kFirstItem);
  EXPECT_EQ(observer_.watches(), 0U);
}

TEST_F(ObserverTest, WhatIsRefusedLaterIsNoLongerKnown) {
  put("ConfigMap", "a", "u1");
  const ObjectId id = object("ConfigMap", "a");
  look_until_known(kFirstItem, {id});
  cluster_.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list") return std::nullopt;
    return error(ErrorKind::Forbidden, "not any more");
  });
  cluster_.forget_history();
  EXPECT_TRUE(soon([&] {
    observer_.begin(kFirstItem);
    const auto observed = observer_.observe(id, true, false, Context());
    observer_.finish(true);
    return !observed.ok() && observed.error().kind == ErrorKind::Forbidden;
  }));
  EXPECT_TRUE(soon([&] { return observer_.take_changed(kFirstItem).contains(id); })) << "it is told";
  cluster_.set_before(nullptr);
  EXPECT_TRUE(soon([&] {
    observer_.begin(kFirstItem);
    const auto again = observer_.observe(id, true, false, Context());
    return again.ok() && again->there();
  }));
}

// The Role in one of the namespaces is gone.
TEST_F(ObserverTest, ANamespaceThatIsRefusedHidesNothingOfTheOthers) {
  for (const char* ns : {"shop", "bank"}) {
    cluster_.put(Value::object(
        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Value::object({{"name", ns}})}}));
    Value map = testing::yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
    map["metadata"].set("namespace", ns);
    map["metadata"].set("labels", Value::object({{kInstanceLabel, "u1"}}));
    cluster_.put(std::move(map));
  }
  std::atomic<bool> is_refused = true;
  cluster_.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (!is_refused || call.verb != "list" || call.key.ns != "bank") return std::nullopt;
    return error(ErrorKind::Forbidden, "nobody may list in bank");
  });
  Observer some{cluster_, WatchedNamespaces({"shop", "bank"}), clock_, events_, [](const Item&) {}};
  const auto look_at = [&](const std::string& ns, const std::function<bool(const Result<Observation>&)>& is) {
    return soon([&] {
      some.begin(kFirstItem);
      const bool so = is(some.observe({"v1", "ConfigMap", ns, "a"}, true, false, Context()));
      some.finish(true);
      return so;
    });
  };
  const auto is_there = [](const Result<Observation>& seen) { return seen.ok() && seen->there(); };
  const auto is_forbidden = [](const Result<Observation>& seen) {
    return !seen.ok() && seen.error().kind == ErrorKind::Forbidden;
  };
  EXPECT_TRUE(look_at("shop", is_there));
  EXPECT_TRUE(look_at("bank", is_forbidden));
  EXPECT_TRUE(look_at("shop", is_there)) << "after the first moment, too";
  some.begin(kFirstItem);
  EXPECT_THAT(some.marked({{"v1", "ConfigMap"}}, "u1", Context()),
              ElementsAre(ObjectId{"v1", "ConfigMap", "shop", "a"}));
  some.finish(true);
  is_refused = false;
  EXPECT_TRUE(look_at("bank", is_there));
  is_refused = true;
  cluster_.forget_history();
  EXPECT_TRUE(look_at("bank", is_forbidden)) << "what was seen there counts no more";
  EXPECT_TRUE(look_at("shop", is_there));
}

}  // namespace
}  // namespace mist::operator_
