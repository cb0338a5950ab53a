// The order in which a Plan is carried out where the graph leaves a choice. action/deploy/deploy_test.cc and
// action/durability_test.cc test the content of each write, and failures.

#include "apply/execute/execute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "apply/reserved_metadata.h"
#include "testing/api_refusal.h"
#include "testing/client_with_logs.h"
#include "testing/crd.h"
#include "testing/fake_clock.h"
#include "testing/plan_of.h"
#include "testing/yaml.h"

namespace mist::apply {
namespace {

using ::testing::ElementsAre;
using testing::FakeCall;
using testing::FakeCluster;
using ::testing::HasSubstr;

// The Job's Pods are in the network policy's hands, so it comes after it.
constexpr std::string_view kMixed = R"(
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: Service, metadata: {name: b}, spec: {ports: [{port: 80}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: c}, spec: {template: {spec: {serviceAccountName: e}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: d}, spec: {template: {spec: {containers: [{name: c}]}}}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: e}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: f}, spec: {podSelector: {}}}
)";

// One after another, so that the order can be seen.
std::vector<std::string> written(bool urgent) {
  FakeCluster cluster;
  NullEventSink events;
  const Plan plan = testing::plan_of(cluster, {"default", "shop"}, kMixed);
  const Execution done = execute_writes(cluster, plan, {.parallel = 1, .urgent = urgent}, events, Context());
  EXPECT_TRUE(done.ok()) << done.failure->to_line();
  std::vector<std::string> names;
  for (const FakeCall& call : cluster.calls())
    if (call.verb == "apply") names.push_back(call.key.name);
  return names;
}

TEST(Execute, WhatTakesLongToBecomeReadyBeginsFirstWhenThatIsWaitedFor) {
  EXPECT_THAT(written(true), ElementsAre("f", "d", "e", "c", "a", "b"));
}

TEST(Execute, TheLongestChainBeginsFirstWhenNothingIsWaitedFor) {
  EXPECT_THAT(written(false), ElementsAre("e", "f", "a", "b", "c", "d"));
}

// Admission asks for the quota's status, which its controller writes a moment after the spec.
TEST(Execute, AQuotaOfTheSamePlanIsWaitedFor) {
  constexpr std::string_view kMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}";
  const std::string quota =
      "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: '1'}}}\n---\n";
  const auto run = [](const std::string& yaml, const std::string& refusal) {
    FakeCluster cluster;
    NullEventSink events;
    const Plan plan = testing::plan_of(cluster, {"default", "shop"}, yaml);
    std::atomic<int> refused = 0;
    cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
      if (call.verb != "apply" || call.key.name != "one" || ++refused > 3) return std::nullopt;
      return testing::api_refusal(ErrorKind::Forbidden, "cannot apply it", refusal);
    });
    return execute_writes(cluster, plan, {}, events, Context()).ok();
  };
  EXPECT_TRUE(run(quota + std::string(kMap), "configmaps is forbidden: exceeded quota: q"));
  EXPECT_FALSE(run(std::string(kMap), "configmaps is forbidden: exceeded quota: q"));
  EXPECT_FALSE(run(quota + std::string(kMap), "configmaps is forbidden: User \"a\" cannot patch resource"));
}

// A server judges by a policy a moment after it was written, so what an earlier run wrote may refuse only
// now.
class OwnPolicies : public ::testing::Test {
 protected:
  static std::string objects(int number, const std::string& annotations = "{}") {
    return fmt::format(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: one}}, data: {{n: '{0}'}}}}\n---\n"
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: two}}, data: {{n: '{0}'}}}}\n---\n"
        "{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, "
        "metadata: {{name: most, annotations: {1}}}, spec: {{n: {0}}}}}\n",
        number, annotations);
  }

  OwnPolicies() {
    EXPECT_TRUE(execute_writes(cluster, planned(objects(1)), {}, events, Context()).ok());
    cluster.clear_calls();
    cluster.set_before([this](const FakeCall& call) -> std::optional<Error> {
      const bool change = call.verb == "apply" || call.verb == "delete" || call.verb == "merge_patch";
      if (change && call.key.name == "most") changed = true;
      if (!change || call.key.name == "most" || (changed && ++stale > 2)) return std::nullopt;
      return testing::api_refusal(
          ErrorKind::Invalid, "cannot apply it",
          "ValidatingAdmissionPolicy 'most' with binding 'most-binding' denied request: too new");
    });
  }

  Plan planned(const std::string& yaml) { return testing::plan_of(cluster, {"default", "shop"}, yaml); }

  std::vector<std::string> applied() const {
    std::vector<std::string> names;
    for (const FakeCall& call : cluster.calls())
      if (call.verb == "apply") names.push_back(call.key.name);
    return names;
  }

  FakeCluster cluster;
  NullEventSink events;
  std::atomic<bool> changed = false;
  std::atomic<int> stale = 0;
};

TEST_F(OwnPolicies, TheirChangeIsSentFirstWhenTheyRefuse) {
  const Plan plan = planned(objects(2));
  const Execution done = execute_writes(cluster, plan, {.parallel = 1}, events, Context());
  ASSERT_TRUE(done.ok()) << done.failure->to_line();
  EXPECT_THAT(done.writes, ::testing::Each(Outcome::Done));
  EXPECT_THAT(applied(), ElementsAre("one", "most", "one", "one", "one", "two"));
}

TEST_F(OwnPolicies, ADeclaredOrderStands) {
  const Plan plan = planned(objects(2, "{mistletoe.dev/after: ConfigMap/one}"));
  const Execution done = execute_writes(cluster, plan, {.parallel = 1}, events, Context());
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.failure->to_line(), HasSubstr("too new"));
  EXPECT_EQ(done.writes[2], Outcome::NotStarted);
  EXPECT_FALSE(changed);
}

TEST_F(OwnPolicies, OneThatIsNotChangedStands) {
  std::string yaml = objects(2);
  yaml.replace(yaml.find("{n: 2}"), 6, "{n: 1}");
  const Execution done = execute_writes(cluster, planned(yaml), {.parallel = 1}, events, Context());
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(applied(), std::vector<std::string>({"one", "two"}));
}

TEST_F(OwnPolicies, OneThatGoesIsDeletedFirst) {
  Plan plan = planned(objects(2));
  PlannedAction policy = plan.writes[2];
  policy.kind = ActionKind::Delete;
  plan.writes[2].kind = ActionKind::Unchanged;  // so that it can't be what is sent
  plan.removals.push_back(policy);
  int deleted = 0;
  const auto delete_gate = [&](const PlannedAction& gate) -> Status {
    EXPECT_EQ(gate.key.name, "most");
    ++deleted;
    changed = true;
    return {};
  };
  EXPECT_TRUE(
      execute_writes(cluster, plan, {.parallel = 4, .delete_gate = delete_gate}, events, Context()).ok());
  EXPECT_EQ(deleted, 1);
}

struct Outdated : ::testing::Test {
  Outdated() {
    EXPECT_TRUE(execute_writes(cluster, plan_with("1"), {}, events, Context()).ok());
    plan = plan_with("2");
  }
  Plan plan_with(std::string_view value) {
    return testing::plan_of(
        cluster, id,
        fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: one}}, data: {{a: '{}'}}}}",
                    value));
  }
  Value live() { return *cluster.find("ConfigMap", "default", "one"); }

  const Owner id{"default", "shop"};
  FakeCluster cluster;
  NullEventSink events;
  Plan plan;
};

// Controllers write all the time.
TEST_F(Outdated, AnObjectThatChangedSinceTheLookIsLookedAtAgain) {
  Value changed = live();
  changed["metadata"]["annotations"].set("example.com/seen", "now");
  cluster.put(changed, "controller");
  cluster.clear_calls();
  const Execution done = execute_writes(cluster, plan, {}, events, Context());
  ASSERT_TRUE(done.ok()) << done.failure->to_line();
  EXPECT_EQ(live().string_at({"data", "a"}), "2");
  EXPECT_EQ(cluster.count("apply"), 2U);
  EXPECT_EQ(cluster.count("get"), 1U);
}

TEST_F(Outdated, AnObjectThatChangesAtEachLookIsGivenUpAfterAMoment) {
  int writes = 0;
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply") return std::nullopt;
    Value changed = live();
    changed["metadata"]["annotations"].set("example.com/seen", fmt::to_string(++writes));
    cluster.put(changed, "controller");
    return std::nullopt;
  });
  testing::FakeClock clock;
  const Execution done = execute_writes(cluster, plan, {}, events, Context().with_clock(clock));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.failure->kind, ErrorKind::Conflict);
  EXPECT_EQ(writes, 55);
  EXPECT_EQ(clock.slept(), std::chrono::milliseconds(20 + 40 + 80 + 160 + 50 * 200));
}

// It would be recorded as deployed, and be gone once its finalizer is.
TEST_F(Outdated, AnObjectThatIsBeingDeletedSinceTheLookIsNotWritten) {
  Value held = live();
  held["metadata"].set("finalizers", Value::array({"example.com/held"}));
  cluster.put(held, "controller");
  const auto resource = cluster.resource_for({"", "ConfigMap"}, "v1", Context());
  ASSERT_TRUE(cluster.remove({*resource, "default", "one"}, {}, Context()).ok());
  const Execution done = execute_writes(cluster, plan, {}, events, Context());
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.failure->kind, ErrorKind::Conflict);
  EXPECT_THAT(done.failure->message, HasSubstr("ConfigMap default/one began to be deleted"));
  EXPECT_THAT(done.failure->because, HasSubstr("example.com/held"));
  EXPECT_EQ(live().string_at({"data", "a"}), "1");
}

TEST_F(Outdated, AnObjectThatSomebodyTookSinceTheLookIsNotWritten) {
  Value taken = live();
  taken["metadata"]["labels"].set(kPartOfLabel, "applyset-theirs");
  cluster.put(taken, "somebody");
  const Execution done = execute_writes(cluster, plan, {}, events, Context());
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.failure->message, HasSubstr("now belongs to"));
  EXPECT_EQ(live().string_at({"data", "a"}), "1");
}

// The hint for a 409 depends on what the server says it is about.
TEST(Execute, OnlyFieldsOfOtherManagersAreToBeForced) {
  constexpr std::string_view kOne =
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: '1'}}";
  const Owner id{"default", "shop"};
  FakeCluster cluster;
  NullEventSink events;
  const Plan first = testing::plan_of(cluster, id, kOne);
  ASSERT_TRUE(execute_writes(cluster, first, {}, events, Context()).ok());
  const auto changed = [&] {
    Plan plan = testing::plan_of(cluster, id,
                                 "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: '2'}}");
    EXPECT_EQ(plan.writes[0].kind, ActionKind::Update);
    return plan;
  };
  const auto hint = [&](const Plan& plan) {
    const Execution done = execute_writes(cluster, plan, {}, events, Context());
    EXPECT_FALSE(done.ok());
    return done.failure ? done.failure->hint : std::string();
  };
  const Plan edited = changed(), again = changed(), gone = changed();

  auto object = *cluster.find("ConfigMap", "default", "one");
  object["data"].set("a", "theirs");
  cluster.put(object, "kubectl-edit");
  EXPECT_THAT(hint(edited), HasSubstr("--force-conflicts"));

  const ObjectKey key{{"", "ConfigMap"}, "default", "one"};
  cluster.drop(key);
  EXPECT_EQ(hint(gone), "it was deleted or recreated since the plan: run the command again");
  object["metadata"].erase("uid");
  cluster.put(object, "kubectl-edit");
  EXPECT_EQ(hint(again), "it was deleted or recreated since the plan: run the command again");
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply") return std::nullopt;
    return error(ErrorKind::Conflict, "refused").with_because("the object has been modified");
  });
  EXPECT_EQ(hint(again), "somebody else was writing it: run the command again");
}

std::string gate(std::string_view secrets) {
  return fmt::format(
      "{{apiVersion: example.com/v1, kind: Gate, metadata: {{name: g}}, spec: {{secrets: {}}}}}", secrets);
}

struct Gates : ::testing::Test {
  Gates() {
    cluster.put(testing::yaml(testing::crd_yaml("Gate", "gates")));
    EXPECT_TRUE(carried_out(gate("[{name: alice}]"), {}).ok());
  }
  Execution carried_out(std::string_view yaml, const ExecuteOptions& options) {
    return execute_writes(cluster, testing::plan_of(cluster, id, yaml), options, events, Context());
  }
  Value secrets() {
    const Value live = *cluster.find("Gate.example.com", "default", "g");
    const Value* found = live.at_path({"spec", "secrets"});
    return found == nullptr ? Value() : *found;
  }
  const Owner id{"default", "shop"};
  FakeCluster cluster;
  NullEventSink events;
};

TEST_F(Gates, AListOfACustomResourceIsEmptiedFirst) {
  cluster.clear_calls();
  const Execution done = carried_out(gate("[]"), {});
  ASSERT_TRUE(done.ok()) << done.failure->to_line();
  EXPECT_EQ(secrets(), testing::yaml("[]"));
  EXPECT_EQ(cluster.count("patch"), 1U);
  EXPECT_EQ(testing::plan_of(cluster, id, gate("[]")).writes[0].kind, ActionKind::Unchanged);
}

std::string config_maps(int count) {
  std::string yaml;
  for (int i = 0; i < count; ++i)
    yaml += fmt::format("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{}}}}}\n", i);
  return yaml;
}

// An admission that takes our label away.
class Stripping final : public testing::ClientWithLogs {
 public:
  using ClientWithLogs::ClientWithLogs;
  Result<Value> apply(const kube::ObjectRef& ref, const Value& object, const kube::ApplyOptions& options,
                      const Context& context) override {
    Value stripped = object;
    stripped["metadata"]["labels"].erase(kPartOfLabel);
    return ClientWithLogs::apply(ref, stripped, options, context);
  }
};

TEST(Execute, AnObjectThatIsStoredWithoutOurLabelIsAFailure) {
  FakeCluster cluster;
  NullEventSink events;
  Stripping client(cluster);
  const Plan plan = testing::plan_of(cluster, {"default", "shop"}, config_maps(1));
  const Execution done = execute_writes(client, plan, {}, events, Context());
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(
      done.failure->message,
      "ConfigMap default/c0 was stored without the label applyset.kubernetes.io/part-of, by which it is the "
      "release's");
  EXPECT_THAT(done.failure->hint, HasSubstr("have admission leave the label"));
  EXPECT_FALSE(done.uids[0].empty()) << "it is there, and recorded";
}

class ObjectStates final : public EventSink {
 public:
  void message(const Message&) override {}
  void began(const ActivityBegan&) override {}
  void ended(const ActivityEnded&) override {}
  void object(const ObjectProgress& event) override {
    const std::scoped_lock lock(mutex_);
    told.push_back(fmt::format("{}: {} ({})", event.object, event.state, event.detail));
  }
  std::vector<std::string> told;

 private:
  std::mutex mutex_;
};

TEST(Execute, AReasonIsToldAtEachObjectAndOnceInTheEnd) {
  FakeCluster cluster;
  ObjectStates events;
  const Plan plan = testing::plan_of(cluster, {"default", "shop"}, config_maps(9));
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply") return std::nullopt;
    return error(ErrorKind::Forbidden, "cannot apply ConfigMap {} on http://x", call.key.name)
        .with_because(call.key.name == "c8"
                          ? "something else"
                          : fmt::format("configmaps \"{}\" is forbidden:\nno quota", call.key.name));
  });
  const Execution done = execute_writes(cluster, plan, {}, events, Context());
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(events.told, ::testing::Contains(
                               "ConfigMap default/c3: failed (configmaps \"c3\" is forbidden:; no quota)"));
  EXPECT_EQ(done.failure->because, "configmaps \"c0\" is forbidden:\nno quota");
  EXPECT_THAT(done.failure->frames,
              ElementsAre("while applying ConfigMap default/c0",
                          "also failed, for the same reason: ConfigMap default/c1, ConfigMap default/c2, "
                          "ConfigMap default/c3, ConfigMap default/c4, ConfigMap default/c5 and 2 more",
                          ::testing::StartsWith("also failed: ")));
}

TEST(Execute, WhatBecameOfARequestThatWasCutOffIsUnknown) {
  FakeCluster cluster;
  ObjectStates events;
  const Plan plan = testing::plan_of(cluster, {"default", "shop"}, config_maps(1));
  std::stop_source stop;
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply") return std::nullopt;
    stop.request_stop();
    return error(ErrorKind::Cancelled, "stopped on request");
  });
  const Execution done = execute_writes(cluster, plan, {}, events, Context(stop.get_token()));
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(events.told, ElementsAre("ConfigMap default/c0: unknown (stopped on request)"));
}

}  // namespace
}  // namespace mist::apply
