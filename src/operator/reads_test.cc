#include "operator/reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "testing/fake_clock.h"
#include "testing/fake_cluster.h"
#include "testing/recorded_events.h"

namespace mist::operator_ {
namespace {

using ::testing::ElementsAre;

class ReadsTest : public ::testing::Test {
 protected:
  static ObjectId map(const std::string& name, const std::string& ns = "default") {
    return {"v1", "ConfigMap", ns, name};
  }
  static Collection with_app(const std::string& app, const std::string& ns = "default") {
    return {"v1", "ConfigMap", ns, app.empty() ? "" : "app=" + app};
  }
  void put(const std::string& name, const std::string& text = "", const std::string& app = "",
           const std::string& ns = "default") {
    Value object = Value::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
    object["metadata"] = Value::object({{"name", name}, {"namespace", ns}});
    if (!app.empty()) object["metadata"].set("labels", Value::object({{"app", app}}));
    object["data"].set("text", text);
    cluster_.put(std::move(object));
  }
  void drop(const std::string& name) { cluster_.drop({{"", "ConfigMap"}, "default", name}); }

  // As the operator does: it looks again until everything is known.
  std::string text_of(const ObjectId& id) {
    for (int i = 0; i < 2000; ++i) {
      auto sight = reads_.read(id, Context());
      if (!sight.ok()) return "error: " + sight.error().to_line();
      if (sight->synced)
        return sight->found ? std::string(sight->found->string_at({"data", "text"})) : "absent";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return "unknown";
  }
  std::vector<std::string> names_in(const Collection& collection) {
    std::vector<std::string> names;
    for (int i = 0; i < 2000; ++i) {
      auto sight = reads_.list(collection, Context());
      if (!sight.ok()) return {"error: " + sight.error().to_line()};
      if (sight->synced) {
        for (const Value& each : sight->found) {
          EXPECT_EQ(each.at_path({"metadata", "managedFields"}), nullptr);
          EXPECT_TRUE(each.find("data") != nullptr ||
                      each.string_at({"metadata", "name"}) == "kube-root-ca.crt");
          names.emplace_back(each.string_at({"metadata", "name"}));
        }
        return names;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return {"unknown"};
  }
  template <typename Condition>
  bool soon(const Condition& condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  // Reads one after the other, until all share a watch, or don't come to.
  void read_all(int count, const std::string& ns = "default") {
    for (int round = 0; round < 2; ++round)
      for (int i = 0; i < count; ++i)
        EXPECT_EQ(text_of(map(fmt::format("m{}", i), ns)), fmt::format("t{}", i));
  }
  void put_all(int count, const std::string& ns = "default") {
    for (int i = 0; i < count; ++i) put(fmt::format("m{}", i), fmt::format("t{}", i), "", ns);
  }
  bool was_told(const ObjectId& id) {
    const std::lock_guard lock(mutex_);
    return told_.contains(id);
  }
  bool was_told(const Collection& collection) {
    const std::lock_guard lock(mutex_);
    return told_of_lists_.contains(collection);
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    told_.clear();
    told_of_lists_.clear();
  }
  void refuse_lists(const std::function<bool(const testing::FakeCall&)>& which) {
    cluster_.set_before([which](const testing::FakeCall& call) -> std::optional<Error> {
      if ((call.verb == "list" || call.verb == "watch") && which(call))
        return error(ErrorKind::Forbidden, "not allowed");
      return std::nullopt;
    });
  }

  testing::FakeCluster cluster_;
  testing::FakeClock clock_;
  testing::RecordedEvents events_;
  std::mutex mutex_;
  std::set<ObjectId> told_;
  std::set<Collection> told_of_lists_;
  Reads reads_{cluster_,
               {},
               clock_,
               events_,
               {.object =
                    [this](const reconcile::ObjectKind& of, const std::optional<kube::Informer::Key>& key) {
                      const std::lock_guard lock(mutex_);
                      if (key) told_.insert({of.api_version, of.kind, key->first, key->second});
                    },
                .list =
                    [this](const Collection& collection) {
                      const std::lock_guard lock(mutex_);
                      told_of_lists_.insert(collection);
                    }}};
};

TEST_F(ReadsTest, AFewAreWatchedByTheirNames) {
  put_all(3);
  put("other", "secret");
  read_all(3);
  EXPECT_EQ(text_of(map("missing")), "absent");
  EXPECT_EQ(reads_.watches(), 4U);
  forget();
  put("m1", "new");
  put("other", "changed");
  EXPECT_TRUE(soon([&] { return was_told(map("m1")); }));
  EXPECT_EQ(text_of(map("m1")), "new");
  EXPECT_FALSE(was_told(map("other")));
  for (const char* each : {"m0", "m1", "m2", "missing"}) reads_.leave(map(each));
  EXPECT_EQ(reads_.watches(), 0U);
}

TEST_F(ReadsTest, ManyInANamespaceShareAWatch) {
  put_all(100);
  read_all(100);
  ASSERT_TRUE(soon([&] {
    read_all(100);
    return reads_.watches() == 1;
  }));
  EXPECT_EQ(text_of(map("missing")), "absent");
  forget();
  put("m1", "new");
  put("missing", "here");
  drop("m2");
  EXPECT_TRUE(soon([&] { return was_told(map("m1")) && was_told(map("missing")) && was_told(map("m2")); }));
  EXPECT_EQ(text_of(map("m1")), "new");
  EXPECT_EQ(text_of(map("missing")), "here");
  EXPECT_EQ(text_of(map("m2")), "absent");
  EXPECT_EQ(reads_.watches(), 1U);
  // An object that is asked for after it was listed has its content too.
  put("late", "known");
  EXPECT_TRUE(soon([&] { return was_told(map("late")); }));
  cluster_.clear_calls();
  EXPECT_EQ(text_of(map("late")), "known");
  EXPECT_EQ(text_of(map("late")), "known");
  EXPECT_EQ(cluster_.count("get"), 1U) << "only labels were kept of it";
  for (int i = 0; i < 100; ++i) reads_.leave(map(fmt::format("m{}", i)));
  EXPECT_EQ(reads_.watches(), 1U);
  reads_.leave(map("missing"));
  reads_.leave(map("late"));
  EXPECT_EQ(reads_.watches(), 0U);
}

TEST_F(ReadsTest, ManyInAllNamespacesShareAWatch) {
  for (int i = 0; i < 80; ++i) {
    cluster_.put(Value::object({{"apiVersion", "v1"},
                                {"kind", "Namespace"},
                                {"metadata", Value::object({{"name", fmt::format("ns{}", i)}})}}));
    put_all(1, fmt::format("ns{}", i));
  }
  ASSERT_TRUE(soon([&] {
    for (int i = 0; i < 80; ++i) EXPECT_EQ(text_of(map("m0", fmt::format("ns{}", i))), "t0");
    return reads_.watches() == 1;
  }));
  // That watch sees a list in one of them.
  put("m9", "t9", "shop", "ns7");
  EXPECT_TRUE(soon([&] { return names_in(with_app("shop", "ns7")) == std::vector<std::string>{"m9"}; }));
  EXPECT_THAT(names_in(with_app("shop", "ns8")), ElementsAre());
  EXPECT_EQ(reads_.watches(), 1U);
}

TEST_F(ReadsTest, ManyCollectionsShareAWatch) {
  for (int i = 0; i < 40; ++i) {
    put(fmt::format("a{}", i), "a", fmt::format("app{}", i));
    put(fmt::format("b{}", i), "b", fmt::format("app{}", i));
  }
  put("free", "f");
  ASSERT_TRUE(soon([&] {
    for (int i = 0; i < 40; ++i)
      EXPECT_THAT(names_in(with_app(fmt::format("app{}", i))),
                  ElementsAre(fmt::format("a{}", i), fmt::format("b{}", i)));
    return reads_.watches() == 1;
  }));
  EXPECT_THAT(names_in(with_app("nobody")), ElementsAre());
  EXPECT_THAT(names_in(with_app("")), ::testing::SizeIs(::testing::Gt(80U))) << "all of the namespace";
  // It comes, moves from one to another, and goes.
  forget();
  put("c", "c", "app1");
  EXPECT_TRUE(soon([&] { return was_told(with_app("app1")); }));
  EXPECT_THAT(names_in(with_app("app1")), ElementsAre("a1", "b1", "c"));
  EXPECT_FALSE(was_told(with_app("app2")));
  EXPECT_TRUE(was_told(with_app("")));
  forget();
  put("c", "c", "app2");
  EXPECT_TRUE(soon([&] { return was_told(with_app("app1")) && was_told(with_app("app2")); }));
  EXPECT_THAT(names_in(with_app("app1")), ElementsAre("a1", "b1"));
  EXPECT_THAT(names_in(with_app("app2")), ElementsAre("a2", "b2", "c"));
  forget();
  drop("c");
  EXPECT_TRUE(soon([&] { return was_told(with_app("app2")); }));
  EXPECT_THAT(names_in(with_app("app2")), ElementsAre("a2", "b2"));
  EXPECT_EQ(reads_.watches(), 1U);
  for (int i = 0; i < 40; ++i) reads_.leave(with_app(fmt::format("app{}", i)));
  reads_.leave(with_app("nobody"));
  reads_.leave(with_app(""));
  EXPECT_EQ(reads_.watches(), 0U);
}

TEST_F(ReadsTest, ASharedWatchSelectsByExpressionsAsTheServerDoes) {
  for (int i = 0; i < 40; ++i) put(fmt::format("a{}", i), "a", fmt::format("app{}", i));
  const Collection some{"v1", "ConfigMap", "default", "app in (app1,app2,other),app notin (app2)"};
  EXPECT_THAT(names_in(some), ElementsAre("a1")) << "as the server answers";
  ASSERT_TRUE(soon([&] {
    for (int i = 0; i < 40; ++i)
      EXPECT_THAT(names_in(with_app(fmt::format("app{}", i))), ElementsAre(fmt::format("a{}", i)));
    EXPECT_THAT(names_in(some), ElementsAre("a1"));
    return reads_.watches() == 1;
  }));
  forget();
  put("c", "c", "other");
  EXPECT_TRUE(soon([&] { return was_told(some); }));
  EXPECT_THAT(names_in(some), ElementsAre("a1", "c"));
  forget();
  put("c", "c", "app2");
  EXPECT_TRUE(soon([&] { return was_told(some); }));
  EXPECT_THAT(names_in(some), ElementsAre("a1"));
}

TEST_F(ReadsTest, NothingIsAskedOutsideOfTheWatchedNamespaces) {
  for (const char* name : {"shop", "bank"})
    cluster_.put(Value::object(
        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Value::object({{"name", name}})}}));
  for (const char* ns : {"default", "shop", "bank"}) put(fmt::format("in-{}", ns), "t", "shop", ns);
  Reads some{cluster_,
             WatchedNamespaces({"default", "shop"}),
             clock_,
             events_,
             {.object = [](const auto&, const auto&) {}, .list = [](const auto&) {}}};
  cluster_.clear_calls();
  const auto refusal = [](const auto& sight) {
    return sight.ok()
               ? std::string("answered")
               : fmt::format("{} {}", sight.error().kind == ErrorKind::Forbidden ? "Forbidden:" : "Other:",
                             sight.error().message);
  };
  EXPECT_THAT(refusal(some.read(map("in-bank", "bank"), Context())),
              ::testing::HasSubstr("Forbidden: this operator works only in namespaces default, shop"));
  EXPECT_THAT(refusal(some.list(with_app("shop", "bank"), Context())),
              ::testing::HasSubstr("namespace bank is none of them"));
  EXPECT_THAT(refusal(some.read({"v1", "Namespace", "", "shop"}, Context())),
              ::testing::HasSubstr("objects of kind Namespace are in no namespace"));
  std::vector<std::string> names;
  EXPECT_TRUE(soon([&] {
    const auto sight = some.list(with_app("shop", ""), Context());
    if (!sight.ok() || !sight->synced) return false;
    for (const Value& each : sight->found) names.emplace_back(each.string_at({"metadata", "name"}));
    return true;
  }));
  EXPECT_THAT(names, ElementsAre("in-default", "in-shop"));
  for (const testing::FakeCall& each : cluster_.calls())
    EXPECT_THAT(each.key.ns, ::testing::AnyOf("default", "shop")) << each.verb;
}

TEST_F(ReadsTest, AnAccountThatMayNotListKeepsAWatchForEach) {
  // FakeCall doesn't say which names a watch is for; without a namespace it is for all.
  std::atomic<bool> refuses = true;
  refuse_lists([&](const testing::FakeCall& call) { return refuses && call.key.ns.empty(); });
  for (int i = 0; i < 80; ++i) {
    cluster_.put(Value::object({{"apiVersion", "v1"},
                                {"kind", "Namespace"},
                                {"metadata", Value::object({{"name", fmt::format("ns{}", i)}})}}));
    put_all(1, fmt::format("ns{}", i));
  }
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 80; ++i) EXPECT_EQ(text_of(map("m0", fmt::format("ns{}", i))), "t0");
  EXPECT_TRUE(soon([&] {
    EXPECT_EQ(text_of(map("m0", "ns0")), "t0");
    return reads_.watches() == 80U;
  }));
  // It isn't tried again before somebody may have changed that.
  EXPECT_EQ(text_of(map("m1", "ns0")), "absent");
  EXPECT_EQ(reads_.watches(), 81U);
  refuses = false;
  clock_.advance(std::chrono::minutes(11));
  EXPECT_EQ(text_of(map("m2", "ns0")), "absent");
  EXPECT_TRUE(soon([&] {
    for (int i = 0; i < 80; ++i) EXPECT_EQ(text_of(map("m0", fmt::format("ns{}", i))), "t0");
    return reads_.watches() <= 3U;
  }));
}

TEST_F(ReadsTest, OnlyARefusalThatLastsEndsASharedWatch) {
  put_all(40);
  ASSERT_TRUE(soon([&] {
    read_all(40);
    return reads_.watches() == 1;
  }));
  const auto is_refused = [&] {
    const auto sight = reads_.read(map("m0"), Context());
    return sight.ok() && sight->synced && sight->failure && sight->failure->kind == ErrorKind::Forbidden;
  };
  // The list of the watch that ended is refused, then that of the next one; the third try ends after that was
  // seen.
  std::atomic<int> tries = 0;
  std::atomic<bool> is_seen = false;
  refuse_lists([&](const testing::FakeCall& call) {
    if (call.verb == "watch") return false;
    if (tries++ < 2) return true;
    while (!is_seen) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return false;
  });
  cluster_.forget_history();
  EXPECT_TRUE(soon(is_refused));
  EXPECT_EQ(reads_.watches(), 1U);
  is_seen = true;
  EXPECT_TRUE(soon([&] { return !is_refused(); }));
  read_all(40);
  EXPECT_EQ(reads_.watches(), 1U);
  refuse_lists([](const testing::FakeCall&) { return true; });
  cluster_.forget_history();
  EXPECT_TRUE(soon([&] {
    for (const char* each : {"m0", "m1", "m2"}) EXPECT_TRUE(reads_.read(map(each), Context()).ok());
    return reads_.watches() == 3;
  })) << "each has its own";
}

TEST_F(ReadsTest, ARefusedNamespaceLeavesTheOthersInTheirSharedWatch) {
  std::vector<std::string> namespaces;
  for (int i = 0; i < 80; ++i) {
    namespaces.push_back(fmt::format("ns{}", i));
    cluster_.put(Value::object({{"apiVersion", "v1"},
                                {"kind", "Namespace"},
                                {"metadata", Value::object({{"name", namespaces.back()}})}}));
    put_all(1, namespaces.back());
  }
  Reads some{cluster_,
             WatchedNamespaces(namespaces),
             clock_,
             events_,
             {.object = [](const auto&, const auto&) {}, .list = [](const auto&) {}}};
  const auto is_read = [&](const std::string& ns) {
    const auto sight = some.read(map("m0", ns), Context());
    return sight.ok() && sight->synced && !sight->failure && sight->found;
  };
  const auto are_read = [&] {
    return std::ranges::all_of(namespaces, [&](const std::string& ns) { return ns == "ns7" || is_read(ns); });
  };
  ASSERT_TRUE(soon([&] { return are_read() && is_read("ns7") && some.watches() == 1; }));
  std::atomic<bool> is_refused = true;
  refuse_lists([&](const testing::FakeCall& call) { return is_refused && call.key.ns == "ns7"; });
  cluster_.forget_history();
  EXPECT_TRUE(soon([&] {
    const auto sight = some.read(map("m0", "ns7"), Context());
    return sight.ok() && sight->failure && some.watches() == 2;
  })) << "it has a watch of its own, which is refused too";
  EXPECT_TRUE(soon(are_read));
  EXPECT_EQ(some.watches(), 2U);
  is_refused = false;
  EXPECT_TRUE(soon([&] { return is_read("ns7") && some.watches() == 1; }));
}

TEST_F(ReadsTest, ARightThatIsTakenAwayIsTold) {
  put("m", "t");
  EXPECT_EQ(text_of(map("m")), "t");
  EXPECT_THAT(names_in(with_app("none")), ElementsAre());
  const auto is_refused = [&] {
    const auto object = reads_.read(map("m"), Context());
    const auto list = reads_.list(with_app("none"), Context());
    const auto of = [](const auto& sight) {
      return sight.ok() && sight->synced && sight->failure && sight->failure->kind == ErrorKind::Forbidden;
    };
    return of(object) && of(list);
  };
  EXPECT_FALSE(is_refused());
  refuse_lists([](const testing::FakeCall&) { return true; });
  cluster_.forget_history();
  EXPECT_TRUE(soon(is_refused));
  cluster_.set_before(nullptr);
  EXPECT_TRUE(soon([&] { return !reads_.read(map("m"), Context())->failure; }));
  EXPECT_EQ(text_of(map("m")), "t");
}

TEST_F(ReadsTest, AKindThatIsNotServedIsAnErrorAndLeavesNoWatch) {
  const ObjectId late{"example.com/v1", "Late", "default", "x"};
  EXPECT_EQ(text_of(late).substr(0, 6), "error:");
  reads_.leave(late);
  EXPECT_EQ(reads_.watches(), 0U);
}

}  // namespace
}  // namespace mist::operator_
