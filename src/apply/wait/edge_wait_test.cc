#include "apply/wait/edge_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "apply/execute/execute.h"
#include "apply/reserved_metadata.h"
#include "apply/wait/object_waits.h"
#include "testing/plan_of.h"

namespace mist::apply {
namespace {

using encoding::Value;
using ::testing::Contains;
using testing::FakeCall;
using testing::FakeCluster;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Owner kId{"default", "shop"};

constexpr std::string_view kDatabaseAndJob = R"(
{apiVersion: apps/v1, kind: Deployment, metadata: {name: db}, spec: {replicas: 1}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: migrate, annotations: {mistletoe.dev/after: Deployment/db@ready}}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: db}}}
)";

class EdgeWaitTest : public ::testing::Test {
 protected:
  Plan plan(std::string_view yaml) { return testing::plan_of(cluster, kId, yaml); }
  // In the background, because it waits; the cluster's controllers are this test.
  std::future<Execution> start(const Plan& made, const ExecuteOptions& options = {},
                               const Context& context = {}) {
    return std::async(std::launch::async, [this, &made, options, context] {
      return execute_writes(cluster, made, options, events, context);
    });
  }
  void set_ready(std::string_view name, int replicas) {
    Value status = Value::object({{"observedGeneration", 1},
                                  {"replicas", replicas},
                                  {"updatedReplicas", replicas},
                                  {"readyReplicas", replicas},
                                  {"availableReplicas", replicas}});
    cluster.set_status({{"apps", "Deployment"}, "default", std::string(name)}, std::move(status));
  }
  // Blocks until it is so; everything below answers to events, so a hang is the failure.
  template <typename Condition>
  void until(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::size_t watches() { return cluster.count("watch"); }

  FakeCluster cluster;
  NullEventSink events;
};

TEST_F(EdgeWaitTest, OnlyWhatAsksForReadinessWaitsForIt) {
  const Plan made = plan(kDatabaseAndJob);
  auto run = start(made);
  // The autoscaler asks only that the Deployment is there.
  until([&] { return cluster.has("HorizontalPodAutoscaler.autoscaling", "default", "h"); });
  until([&] { return watches() == 1; });
  set_ready("db", 0);
  EXPECT_FALSE(cluster.has("Job.batch", "default", "migrate"));
  set_ready("db", 1);
  const Execution execution = run.get();
  EXPECT_TRUE(execution.ok()) << execution.failure->to_line();
  EXPECT_TRUE(cluster.has("Job.batch", "default", "migrate"));
  EXPECT_EQ(watches(), 1u);
}

TEST_F(EdgeWaitTest, ATimeOutNamesWhoWaitedForWhatAndWhatItWasLike) {
  const Plan made = plan(kDatabaseAndJob);
  const Execution execution = start(made, {.edge_timeout = std::chrono::milliseconds(300)}).get();
  ASSERT_FALSE(execution.ok());
  EXPECT_EQ(execution.failure->kind, ErrorKind::Timeout);
  EXPECT_THAT(
      execution.failure->message,
      HasSubstr("Deployment default/db is not ready after 300 ms, and Job default/migrate waits for it"));
  EXPECT_THAT(execution.failure->because, HasSubstr("Deployment default/db: "));
  EXPECT_EQ(execution.writes, (std::vector{Outcome::Done, Outcome::NotStarted, Outcome::Done}));
  EXPECT_THAT(execution.failure->frames,
              Contains("1 object was not begun: Job default/migrate comes after Deployment default/db"));
}

constexpr std::string_view kJobAndWhatComesAfterIt = R"(
{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {ttlSecondsAfterFinished: 0}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {mistletoe.dev/after: Job/once@ready}}}
)";

class EdgeOfAJobTest : public EdgeWaitTest {
 protected:
  // Ends, and goes, whether or not the watch has begun.
  void end(std::string_view condition, std::string_view reason) {
    until([&] { return cluster.has("Job.batch", "default", "once"); });
    const ObjectKey key{{"batch", "Job"}, "default", "once"};
    const std::string uid(cluster.find(key)->string_at({"metadata", "uid"}));
    cluster.put(*encoding::parse_yaml(fmt::format(
        "{{apiVersion: v1, kind: Event, metadata: {{name: e, namespace: default}}, involvedObject: "
        "{{uid: {}}}, reason: {}, message: m}}",
        uid, reason)));
    cluster.set_status(
        key, *encoding::parse_yaml(fmt::format("{{conditions: [{{type: {}, status: 'True', reason: {}}}]}}",
                                               condition, reason)));
    cluster.drop(key);
  }
};

TEST_F(EdgeOfAJobTest, OneThatRemovedItselfWasDone) {
  const Plan made = plan(kJobAndWhatComesAfterIt);
  auto run = start(made);
  end("Complete", "Completed");
  const Execution execution = run.get();
  EXPECT_TRUE(execution.ok()) << execution.failure->to_line();
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "c"));
}

TEST_F(EdgeOfAJobTest, OneThatFailedAndRemovedItselfFailed) {
  const Plan made = plan(kJobAndWhatComesAfterIt);
  auto run = start(made);
  end("Failed", "BackoffLimitExceeded");
  const Execution execution = run.get();
  ASSERT_FALSE(execution.ok());
  EXPECT_EQ(execution.failure->message, "Job default/once failed");
  EXPECT_THAT(execution.failure->because, HasSubstr("BackoffLimitExceeded"));
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "c"));
}

TEST_F(EdgeOfAJobTest, NothingWaitsForOneThatIsGoneSinceAnEarlierRevision) {
  Plan made = plan(kJobAndWhatComesAfterIt);
  made.writes[0].kind = ActionKind::Unchanged;
  made.writes[0].live.finished = true;
  const Execution execution = start(made).get();
  EXPECT_TRUE(execution.ok()) << execution.failure->to_line();
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "c"));
  EXPECT_EQ(watches(), 0u);
}

TEST_F(EdgeWaitTest, AStateFromBeforeTheWriteDoesNotCount) {
  // Ready in the cluster, but as it was before this plan changes it.
  const Plan first =
      plan("{apiVersion: apps/v1, kind: Deployment, metadata: {name: db}, spec: {replicas: 1}}");
  ASSERT_TRUE(execute_writes(cluster, first, {}, events, Context()).ok());
  set_ready("db", 1);
  const Plan made = plan(
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: db}, spec: {replicas: 2}}\n---\n"
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {mistletoe.dev/after: "
      "Deployment/db@ready}}}");
  auto run = start(made);
  until([&] { return watches() == 1; });
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "c"));
  Value status = Value::object({{"observedGeneration", 2},
                                {"replicas", 2},
                                {"updatedReplicas", 2},
                                {"readyReplicas", 2},
                                {"availableReplicas", 2}});
  cluster.set_status({{"apps", "Deployment"}, "default", "db"}, std::move(status));
  EXPECT_TRUE(run.get().ok());
}

TEST_F(EdgeWaitTest, AnUnchangedObjectWaitsForNothing) {
  cluster.set_instant_controllers(true);
  const Plan first = plan(kDatabaseAndJob);
  ASSERT_TRUE(execute_writes(cluster, first, {}, events, Context()).ok());
  set_ready("db", 0);
  cluster.clear_calls();
  const Plan again = plan(kDatabaseAndJob);
  EXPECT_TRUE(again.changes_nothing());
  EXPECT_TRUE(execute_writes(cluster, again, {}, events, Context()).ok());
  EXPECT_EQ(watches(), 0u);
}

TEST_F(EdgeWaitTest, AFailedSourceEndsTheWaitAtOnce) {
  const Plan made = plan(R"(
{apiVersion: batch/v1, kind: Job, metadata: {name: migrate}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {mistletoe.dev/after: Job/migrate@ready}}}
)");
  auto run = start(made);
  until([&] { return watches() == 1; });
  cluster.set_status(
      {{"batch", "Job"}, "default", "migrate"},
      Value::object({{"conditions", Value::array({Value::object({{"type", "Failed"},
                                                                 {"status", "True"},
                                                                 {"reason", "BackoffLimitExceeded"},
                                                                 {"message", "it failed too often"}})})}}));
  const Execution execution = run.get();
  ASSERT_FALSE(execution.ok());
  EXPECT_EQ(execution.failure->message, "Job default/migrate failed");
  EXPECT_THAT(execution.failure->because, HasSubstr("BackoffLimitExceeded"));
  EXPECT_THAT(execution.failure->frames,
              Contains("while ConfigMap default/c waits for Job default/migrate to be ready"));
}

TEST_F(EdgeWaitTest, ADeletedSourceEndsTheWait) {
  const Plan made = plan(kDatabaseAndJob);
  auto run = start(made);
  until([&] { return watches() == 1; });
  cluster.drop({{"apps", "Deployment"}, "default", "db"});
  const Execution execution = run.get();
  ASSERT_FALSE(execution.ok());
  EXPECT_THAT(execution.failure->message, HasSubstr("Deployment default/db was deleted"));
}

// Of several objects the watch selects by our label, so this looks like a deletion.
TEST_F(EdgeWaitTest, ASourceThatLosesOurLabelEndsTheWaitAndIsNotCalledDeleted) {
  for (const bool deletes : {false, true}) {
    const Plan made = plan(R"(
{apiVersion: apps/v1, kind: Deployment, metadata: {name: db}, spec: {replicas: 1}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: cache}, spec: {replicas: 1}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {mistletoe.dev/after: 'Deployment/db@ready, Deployment/cache@ready'}}}
)");
    auto run = start(made);
    until([&] { return cluster.has("Deployment.apps", "default", "cache") && watches() >= 1; });
    const ObjectKey db{{"apps", "Deployment"}, "default", "db"};
    until([&] { return cluster.find(db).has_value(); });
    if (deletes) {
      cluster.drop(db);
    } else {
      const auto resource = cluster.resource_for(db.group_kind, "v1", Context());
      const Value patch = Value::object(
          {{"metadata", Value::object({{"labels", Value::object({{kPartOfLabel, Value()}})}})}});
      ASSERT_TRUE(cluster.merge_patch({*resource, db.ns, db.name}, patch, Context()).ok());
    }
    set_ready("cache", 1);  // what can go on goes on
    const Execution execution = run.get();
    ASSERT_FALSE(execution.ok());
    EXPECT_THAT(execution.failure->message,
                HasSubstr(deletes ? "Deployment default/db was deleted while it was waited for"
                                  : "Deployment default/db lost the label applyset.kubernetes.io/part-of"));
    for (const std::string_view name : {"db", "cache"})
      cluster.drop({db.group_kind, "default", std::string(name)});
  }
}

TEST_F(EdgeWaitTest, OutsideObjectsAreWaitedForByWatch) {
  const Plan made = plan(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {mistletoe.dev/after: "
      "'outside:secret/creds, outside:ConfigMap/old@absent'}}}");
  cluster.put(Value::object({{"apiVersion", "v1"},
                             {"kind", "ConfigMap"},
                             {"metadata", Value::object({{"name", "old"}, {"namespace", "default"}})}}));
  auto run = start(made);
  until([&] { return watches() == 2; });
  cluster.put(Value::object({{"apiVersion", "v1"},
                             {"kind", "Secret"},
                             {"metadata", Value::object({{"name", "creds"}, {"namespace", "default"}})}}));
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "c"));
  cluster.drop({{"", "ConfigMap"}, "default", "old"});
  EXPECT_TRUE(run.get().ok());
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "c"));
}

// Waits until ConfigMaps are gone, and what becomes of that.
class AbsenceWaits {
 public:
  explicit AbsenceWaits(FakeCluster& cluster)
      : resource_(*cluster.resource_for({"", "ConfigMap"}, "v1", Context())),
        waits_(cluster, kId,
               {.changed =
                    [this](std::size_t id, const std::string& detail) {
                      const std::scoped_lock lock(mutex_);
                      details_[id] = detail;
                    },
                .ended =
                    [this](std::size_t id, const WaitEnd& end) {
                      const std::scoped_lock lock(mutex_);
                      ended_.emplace(id, end.how);
                    }},
               Context()) {}

  void begin(std::size_t id, std::string name) {
    ObjectWait wait{.key = {{"", "ConfigMap"}, "default", std::move(name)},
                    .resource = resource_,
                    .judge =
                        [](const Value* live) {
                          return live == nullptr ? Readiness{}
                                                 : Readiness{Health::InProgress,
                                                             std::string(live->string_at({"data", "is"}))};
                        },
                    .ours = false,
                    .asks_pods = false,
                    .limit = std::chrono::minutes(1)};
    std::vector<std::pair<ObjectWaits::Id, ObjectWait>> one;
    one.emplace_back(id, std::move(wait));
    waits_.begin(std::move(one));
  }
  std::string detail(std::size_t id) {
    const std::scoped_lock lock(mutex_);
    return details_[id];
  }
  std::optional<WaitEnd::How> end(std::size_t id) {
    const std::scoped_lock lock(mutex_);
    const auto found = ended_.find(id);
    return found == ended_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const kube::ResourceInfo resource_;
  std::mutex mutex_;
  std::map<std::size_t, std::string> details_;
  std::map<std::size_t, WaitEnd::How> ended_;
  ObjectWaits waits_;  // last: it calls the functions above
};

// The watch that goes on when a second wait begins asked for the first one's object alone.
TEST_F(EdgeWaitTest, AnAbsenceIsJudgedByAListingThatAskedForTheObject) {
  const auto put = [&](std::string_view name, std::string_view is) {
    cluster.put(*encoding::parse_yaml(fmt::format(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}, namespace: default}}, data: {{is: {}}}}}",
        name, is)));
  };
  put("one", "there");
  put("two", "there");
  AbsenceWaits waits(cluster);
  waits.begin(0, "one");
  until([&] { return waits.detail(0) == "there"; });
  put("one", "changed");
  until([&] { return waits.detail(0) == "changed"; });  // the listing has ended
  waits.begin(1, "two");
  until([&] { return waits.end(1) || waits.detail(1) == "there"; });
  EXPECT_FALSE(waits.end(1)) << "it is there";
  cluster.drop({{"", "ConfigMap"}, "default", "two"});
  until([&] { return waits.end(1).has_value(); });
  EXPECT_EQ(waits.end(1), WaitEnd::How::Met);
  // An object that isn't there when its wait begins is asked for again.
  waits.begin(2, "three");
  until([&] { return waits.end(2).has_value(); });
  EXPECT_EQ(waits.end(2), WaitEnd::How::Met);
  cluster.drop({{"", "ConfigMap"}, "default", "one"});
  until([&] { return waits.end(0).has_value(); });
  EXPECT_EQ(waits.end(0), WaitEnd::How::Met);
}

TEST_F(EdgeWaitTest, AMissingOptionalOutsideObjectIsNotWaitedFor) {
  const Plan made = plan(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {mistletoe.dev/after: "
      "'outside:Secret/creds?'}}}");
  EXPECT_TRUE(start(made).get().ok());
}

TEST_F(EdgeWaitTest, AnUnknownOutsideKindIsNamed) {
  const Plan made = plan(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {mistletoe.dev/after: "
      "'outside:Sekret/creds'}}}");
  const Execution execution = start(made).get();
  ASSERT_FALSE(execution.ok());
  EXPECT_THAT(execution.failure->message, HasSubstr("the cluster has no kind Sekret"));
}

TEST_F(EdgeWaitTest, ManyWaitsOfOneKindShareAWatchAndHoldNoWorker) {
  std::string yaml;
  for (int i = 0; i < 20; ++i)
    yaml += fmt::format(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: d{0}}}, spec: {{replicas: 1}}}}\n---\n"
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{0}, annotations: {{mistletoe.dev/after: "
        "Deployment/d{0}@ready}}}}}}\n---\n",
        i);
  yaml += "{apiVersion: v1, kind: ConfigMap, metadata: {name: free}}";
  const Plan made = plan(yaml);
  auto run = start(made, {.parallel = 2});
  until([&] {
    // With two workers, whichever is written last.
    for (int i = 0; i < 20; ++i)
      if (!cluster.has("Deployment.apps", "default", fmt::format("d{}", i))) return false;
    return cluster.has("ConfigMap", "default", "free");
  });
  for (int i = 0; i < 20; ++i) set_ready(fmt::format("d{}", i), 1);
  EXPECT_TRUE(run.get().ok());
  EXPECT_LE(watches(), 4u);  // the first may have begun with one object, and ended before the next came
}

TEST_F(EdgeWaitTest, StoppingEndsEveryWait) {
  const Plan made = plan(kDatabaseAndJob);
  std::stop_source stop;
  auto run = start(made, {}, Context(stop.get_token()));
  until([&] { return watches() == 1; });
  stop.request_stop();
  const Execution execution = run.get();
  ASSERT_FALSE(execution.ok());
  EXPECT_EQ(execution.failure->kind, ErrorKind::Cancelled);
  EXPECT_THAT(execution.failure->frames, ::testing::Not(Contains(HasSubstr("cut off"))));
}

TEST_F(EdgeWaitTest, CrdsAreAwaitedByOneWatchAndOnlyWhenTheirKindIsNew) {
  const std::string yaml = R"(
{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, versions: [{name: v1, served: true, storage: true}]}}
)";
  cluster.set_establish_crds(false);
  const Plan made = plan(yaml);
  auto run = start(made);
  until([&] { return watches() == 1; });
  cluster.establish("widgets.example.com");
  EXPECT_TRUE(run.get().ok());
  cluster.clear_calls();
  cluster.drop({{"example.com", "Widget"}, "default", "one"});
  const Plan again = plan(yaml);
  EXPECT_TRUE(execute_writes(cluster, again, {}, events, Context()).ok());
  EXPECT_EQ(watches(), 0u);
}

TEST_F(EdgeWaitTest, WhatAnApiServiceServesIsWrittenWhereItsServerSays) {
  const Plan made = plan(R"(
{apiVersion: example.com/v1, kind: Region, metadata: {name: north}}
---
{apiVersion: example.com/v1, kind: Tally, metadata: {name: implied}}
---
{apiVersion: example.com/v1, kind: Tally, metadata: {name: named, namespace: kube-system}}
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.example.com}, spec: {group: example.com, version: v1}}
)");
  auto run = start(made);
  until([&] { return watches() == 1; });
  const auto condition = Value::object({{"type", "Available"}, {"status", "True"}});
  cluster.set_status({{"apiregistration.k8s.io", "APIService"}, "", "v1.example.com"},
                     Value::object({{"conditions", Value::array({condition})}}));
  // Available a moment before discovery tells.
  const std::vector<std::string> verbs{"get", "list", "patch", "delete"};
  cluster.register_kind({{"example.com", "v1", "Tally"}, "tallies", true, verbs});
  cluster.register_kind({{"example.com", "v1", "Region"}, "regions", false, verbs});
  const Execution execution = run.get();
  ASSERT_TRUE(execution.ok()) << execution.failure->to_line();
  EXPECT_TRUE(cluster.has("Region.example.com", "", "north"));
  EXPECT_TRUE(cluster.has("Tally.example.com", "default", "implied"));
  EXPECT_TRUE(cluster.has("Tally.example.com", "kube-system", "named"));
  std::vector<std::string> recorded;
  for (const InventoryItem& item : inventory_after(made, execution))
    recorded.push_back(item.key.ns + "/" + item.key.name);
  EXPECT_EQ(recorded,
            (std::vector<std::string>{"/north", "default/implied", "kube-system/named", "/v1.example.com"}));
}

}  // namespace
}  // namespace mist::apply
