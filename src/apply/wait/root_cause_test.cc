#include "apply/wait/root_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apply/wait/readiness.h"
#include "testing/client_with_logs.h"
#include "testing/fake_cluster.h"
#include "testing/yaml.h"

namespace mist::apply {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::yaml;

struct RootCause : ::testing::Test {
  RootCause() { cluster.put(yaml("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")); }
  // A Deployment of one replica, and its ReplicaSet at revision 10; another one is older.
  void put_deployment() {
    deployment =
        cluster.put(yaml(R"({apiVersion: apps/v1, kind: Deployment, metadata: {name: api, namespace: shop},
      spec: {replicas: 1, selector: {matchLabels: {app: api}}, template: {spec: {containers: [{name: main}]}}}})"));
    for (const auto& [name, revision] : {std::pair("api-old", "9"), {"api-new", "10"}})
      sets[name] = cluster.put(yaml(fmt::format(
          R"({{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: {}, namespace: shop, labels: {{app: api}},
          annotations: {{deployment.kubernetes.io/revision: "{}"}}, ownerReferences: [{{uid: {}}}]}}}})",
          name, revision, uid(deployment))));
  }
  void put_pod(std::string_view name, const Value& owner, std::string_view status,
               std::string_view spec = "") {
    pods[std::string(name)] = cluster.put(yaml(fmt::format(
        R"({{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: shop, labels: {{app: api}},
        ownerReferences: [{{uid: {}}}]}}, spec: {{containers: [{{name: main, image: "example.com/api:1",
        resources: {{limits: {{memory: 64Mi}}}}}}]{}}}, status: {}}})",
        name, uid(owner), spec, status)));
  }
  void put_event(const Value& about, std::string_view type, std::string_view reason, std::string_view message,
                 std::string_view time = "2026-01-01T00:00:00Z", int count = 1) {
    cluster.put(yaml(fmt::format(
        R"({{apiVersion: v1, kind: Event, metadata: {{name: e{}, namespace: shop}}, involvedObject: {{uid: {}}},
        type: {}, reason: {}, message: "{}", lastTimestamp: "{}", count: {}}})",
        ++events, uid(about), type, reason, message, time, count)));
  }
  static std::string uid(const Value& object) { return std::string(object.string_at({"metadata", "uid"})); }

  Diagnosis object(const Value& live, std::string detail = "0 of 1 replicas are available") {
    const auto parsed = apimachinery::Object::from_value(live);
    const Diagnosis all =
        diagnose(client, "Release", "shop/web",
                 {{parsed->key(), {parsed->gvk(), "x", true, {}}, live, std::move(detail)}}, Context());
    EXPECT_EQ(all.children.size(), 1u);
    return all.children.at(0);
  }

  testing::FakeCluster cluster;
  testing::ClientWithLogs client{cluster};
  Value deployment;
  std::map<std::string, Value> sets, pods;
  int events = 0;
};

constexpr std::string_view kCrashing =
    R"({phase: Running, conditions: [{type: Ready, status: "False"}], containerStatuses: [{name: main, restartCount: 7,
    state: {waiting: {reason: CrashLoopBackOff, message: back-off}}, lastState: {terminated: {exitCode: 3, reason: Error}}}]})";

TEST_F(RootCause, OfACrashLoopIsTheContainerWithItsExitCodeAndLastWords) {
  put_deployment();
  put_pod("api-new-1", sets["api-new"], kCrashing);
  put_pod("api-new-2", sets["api-new"], R"({phase: Running, conditions: [{type: Ready, status: "True"}]})");
  put_pod("api-old-1", sets["api-old"], R"({phase: Pending})");
  put_event(pods["api-new-1"], "Warning", "BackOff", "Back-off restarting failed container",
            "2026-01-01T00:00:00Z", 5);
  put_event(pods["api-new-1"], "Normal", "Pulled", "not worth telling");
  std::string log;
  for (int i = 1; i <= 30; ++i) log += fmt::format("line {}\n", i);
  client.set_log("api-new-1", "main", log + "panic: no database\n", true);
  client.set_log("api-new-1", "main", "the wrong run\n");

  const Diagnosis found = object(deployment);
  EXPECT_EQ(found.kind, "Deployment");
  EXPECT_EQ(found.name, "shop/api");
  ASSERT_EQ(found.children.size(), 1u);
  const Diagnosis& set = found.children[0];
  EXPECT_EQ(set.name, "shop/api-new");
  ASSERT_EQ(set.children.size(), 1u)
      << "the pod that is ready, and that of the old ReplicaSet, are not to blame";
  const Diagnosis& pod = set.children[0];
  EXPECT_EQ(pod.state, "Running, not ready");
  ASSERT_EQ(pod.events.size(), 1u);
  EXPECT_EQ(pod.events[0].count, 5);
  ASSERT_EQ(pod.children.size(), 1u);
  const Diagnosis& container = pod.children[0];
  EXPECT_EQ(container.kind, "container");
  EXPECT_EQ(container.reason, "CrashLoopBackOff");
  EXPECT_EQ(container.exit_code, 3);
  EXPECT_EQ(container.state, "CrashLoopBackOff, 7 restarts: ended with exit code 3");
  EXPECT_TRUE(container.log_is_previous);
  ASSERT_EQ(container.log.size(), 10u);
  EXPECT_EQ(container.log.front(), "line 22");
  EXPECT_EQ(container.log.back(), "panic: no database");
  EXPECT_EQ(in_one_line(found),
            "Deployment shop/api: 0 of 1 replicas are available; container main: CrashLoopBackOff, 7 "
            "restarts: ended "
            "with exit code 3");
}

TEST_F(RootCause, OfAnOutOfMemoryKillNamesTheLimit) {
  put_deployment();
  put_pod(
      "api-new-1", sets["api-new"],
      R"({phase: Running, containerStatuses: [{name: main, restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}},
          lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]})");
  const Diagnosis found = object(deployment);
  const Diagnosis& container = found.children[0].children[0].children[0];
  EXPECT_EQ(container.reason, "OOMKilled");
  EXPECT_EQ(container.state,
            "CrashLoopBackOff, 2 restarts: killed because it used more memory than its limit of 64Mi "
            "(OOMKilled, exit "
            "code 137: SIGKILL)");
  EXPECT_THAT(container.notes, ElementsAre(HasSubstr("its log could not be read")));
}

TEST_F(RootCause, OfAnImageIsThePullersMessage) {
  put_deployment();
  put_pod("api-new-1", sets["api-new"],
          R"({phase: Pending, containerStatuses: [{name: main, image: "example.com/api:1",
          state: {waiting: {reason: ImagePullBackOff, message: "no such tag"}}}]})");
  const Diagnosis container = object(deployment).children[0].children[0].children[0];
  EXPECT_EQ(container.state, "ImagePullBackOff: no such tag");
  EXPECT_THAT(container.notes, ElementsAre("its image is example.com/api:1"));
  EXPECT_TRUE(container.log.empty());
  EXPECT_EQ(client.reads(), 0u) << "there can be none";
}

TEST_F(RootCause, OfAPodWithoutNodeIsTheSchedulersMessageAndItsClaims) {
  put_deployment();
  const Value claim =
      cluster.put(yaml("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: "
                       "shop}, status: {phase: Pending}}"));
  put_event(claim, "Normal", "ExternalProvisioning", "waiting for the provisioner");
  put_pod("api-new-1", sets["api-new"],
          R"({phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable,
          message: "0/3 nodes are available"}]})",
          ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}, {name: e, persistentVolumeClaim: "
          "{claimName: gone}}]");
  const Diagnosis found = object(deployment);
  const Diagnosis& pod = found.children[0].children[0];
  EXPECT_EQ(pod.state, "no node takes it: 0/3 nodes are available");
  ASSERT_EQ(pod.children.size(), 2u);
  ASSERT_EQ(pod.children[0].events.size(), 1u);
  EXPECT_EQ(pod.children[0].events[0].message, "waiting for the provisioner");
  EXPECT_EQ(pod.children[1].state, "it does not exist");
  EXPECT_THAT(in_one_line(found), HasSubstr("PersistentVolumeClaim shop/gone: it does not exist"));
}

TEST_F(RootCause, OfRefusedPodsIsTheReplicaSetsEvent) {
  put_deployment();
  put_event(sets["api-new"], "Warning", "FailedCreate", "exceeded quota: few", "2026-01-01T00:00:02Z");
  put_event(sets["api-new"], "Warning", "FailedCreate", "exceeded quota: few", "2026-01-01T00:00:01Z");
  put_event(sets["api-new"], "Warning", "FailedCreate", "denied by webhook", "2026-01-01T00:00:03Z");
  const Diagnosis found = object(deployment);
  ASSERT_EQ(found.children.size(), 1u);
  ASSERT_EQ(found.children[0].events.size(), 2u) << "what says the same is said once, the newest last";
  EXPECT_EQ(found.children[0].events[0].message, "exceeded quota: few");
  EXPECT_EQ(found.children[0].events[1].message, "denied by webhook");
  EXPECT_THAT(in_one_line(found), HasSubstr("FailedCreate: denied by webhook"));
}

TEST_F(RootCause, TriesOfOneRefusalAreToldOnce) {
  put_deployment();
  const std::string quota = R"(pods \"api-new-{}\" is forbidden: exceeded quota: few)";
  const auto tried = [&](std::string_view before, std::string_view pod, int second, int count) {
    Value event = yaml(fmt::format(
        R"({{apiVersion: v1, kind: Event, metadata: {{name: t{}, namespace: shop}}, involvedObject: {{uid: {}, name: api-new}},
        type: Warning, reason: FailedCreate, message: "{}{}", lastTimestamp: "2026-01-01T00:00:0{}Z", count: {}}})",
        second, uid(sets["api-new"]), before, fmt::format(fmt::runtime(quota), pod), second, count));
    cluster.put(std::move(event));
  };
  tried("Error creating: ", "aaaaa", 1, 1);
  tried("Error creating: ", "bbbbb", 2, 1);
  tried("(combined from similar events): Error creating: ", "ccccc", 3, 4);
  const Diagnosis found = object(deployment);
  ASSERT_EQ(found.children.size(), 1u);
  ASSERT_EQ(found.children[0].events.size(), 1u);
  EXPECT_EQ(found.children[0].events[0].count, 6) << "as often as all of them";
  // Where the condition says it already, nothing is left to say of its ReplicaSet.
  const Diagnosis told =
      object(deployment, "0 of 1: FailedCreate: pods \"api-new-ddddd\" is forbidden: exceeded quota: few");
  EXPECT_THAT(in_one_line(told), HasSubstr("exceeded quota: few"));
}

TEST_F(RootCause, PodsThatFailAlikeAreShownOnce) {
  put_deployment();
  for (int i = 0; i < 40; ++i) put_pod(fmt::format("api-new-{}", i), sets["api-new"], kCrashing);
  put_pod("api-new-odd", sets["api-new"],
          R"({phase: Pending, containerStatuses: [{name: main, state: {waiting:
      {reason: CreateContainerConfigError, message: 'secret "key" not found'}}}]})");
  const Diagnosis found = object(deployment);
  const Diagnosis& set = found.children[0];
  ASSERT_EQ(set.children.size(), 2u);
  std::string text;
  for (const Diagnosis& pod : set.children) text += in_one_line(pod) + "\n";
  EXPECT_THAT(text, HasSubstr("CreateContainerConfigError: secret \"key\" not found"));
  EXPECT_THAT(set.children[0].notes.size() + set.children[1].notes.size(), 1u);
  EXPECT_EQ(client.reads(), 1u);
}

TEST_F(RootCause, WhatMayNotBeReadIsANote) {
  put_deployment();
  put_pod("api-new-1", sets["api-new"], kCrashing);
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.key.group_kind.kind != "Event") return std::nullopt;
    return error(ErrorKind::Forbidden, "not allowed").with_because("user eve may not");
  });
  client.refuse(error(ErrorKind::Forbidden, "not allowed").with_because("user eve may not"));
  const Diagnosis found = object(deployment);
  const Diagnosis& pod = found.children[0].children[0];
  EXPECT_THAT(pod.notes, ElementsAre("its events may not be read: user eve may not"));
  EXPECT_THAT(pod.children[0].notes, ElementsAre("its log may not be read: user eve may not"));
  EXPECT_EQ(pod.children[0].exit_code, 3);
}

TEST_F(RootCause, OfAJobIsItsPod) {
  const Value job = cluster.put(yaml(
      R"({apiVersion: batch/v1, kind: Job, metadata: {name: api, namespace: shop}, spec: {selector: {matchLabels: {app: api}},
      template: {spec: {containers: [{name: main}]}}}})"));
  put_pod("api-1", job, R"({phase: Failed, containerStatuses: [{name: main, state: {terminated: {exitCode: 2,
      reason: Error, message: "no such table"}}}]})");
  client.set_log("api-1", "main", "select * from nowhere\n");
  const Diagnosis found = object(job, "BackoffLimitExceeded");
  const Diagnosis& container = found.children[0].children[0];
  EXPECT_EQ(container.state, "ended with exit code 2: no such table");
  EXPECT_FALSE(container.log_is_previous);
  EXPECT_THAT(container.log, ElementsAre("select * from nowhere"));
}

// A StatefulSet of two whose template is of the revision api-2, with `more` in its spec.
Value stateful_set_of_two(testing::FakeCluster& cluster, std::string_view more = "") {
  return cluster.put(yaml(fmt::format(
      R"({{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: api, namespace: shop}}, spec: {{replicas: 2,
      selector: {{matchLabels: {{app: api}}}}, template: {{spec: {{containers: [{{name: main}}]}}}}{}}},
      status: {{observedGeneration: 100, currentRevision: api-1, updateRevision: api-2}}}})",
      more)));
}

Value pod_of_set(testing::FakeCluster& cluster, const Value& set, std::string_view name,
                 std::string_view revision, std::string_view status = kCrashing) {
  return cluster.put(yaml(fmt::format(
      R"({{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: shop, labels: {{app: api,
      controller-revision-hash: {}}}, ownerReferences: [{{uid: {}}}]}}, status: {}}})",
      name, revision, set.string_at({"metadata", "uid"}), status)));
}

TEST_F(RootCause, OfAnOrderedStatefulSetIsThePodThatItDoesNotReplace) {
  const Value set = stateful_set_of_two(cluster);
  pod_of_set(cluster, set, "api-0", "api-1");
  pod_of_set(cluster, set, "api-1", "api-2");
  const Diagnosis found = object(set, "0 of 2 replicas are ready");
  EXPECT_EQ(found.state,
            "0 of 2 replicas are ready; Pod api-0 is of an earlier revision, and replaced only when ready");
  EXPECT_THAT(in_one_line(found), HasSubstr("CrashLoopBackOff"));
  EXPECT_EQ(found.remedy,
            "if Pod api-0 can't become ready, kubectl delete pod api-0 -n shop: StatefulSet shop/api waits "
            "for it before it goes on");
  EXPECT_EQ(with_remedy("fix the cause", {.kind = {}, .name = {}, .state = {}, .children = {found}}),
            "fix the cause; " + found.remedy);
  EXPECT_EQ(with_remedy({}, found), found.remedy);
  EXPECT_EQ(with_remedy("fix the cause", {}), "fix the cause");
  EXPECT_THAT(cause_in_one_line(found), StartsWith(found.remedy + "; container main: CrashLoopBackOff"));
}

TEST_F(RootCause, AStatefulSetThatReplacesItsPodsHoldsNone) {
  for (const std::string_view more :
       {", podManagementPolicy: Parallel", ", updateStrategy: {type: OnDelete}",
        ", updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}", ", ordinals: {start: 1}"}) {
    const Value set = stateful_set_of_two(cluster, more);
    pod_of_set(cluster, set, "api-0", "api-1");
    EXPECT_EQ(object(set, "1 of 2").state, "1 of 2") << more;
  }
  const Value set = stateful_set_of_two(cluster);
  pod_of_set(cluster, set, "api-0", "api-2");
  EXPECT_EQ(object(set, "1 of 2").state, "1 of 2") << "it has the revision";
  pod_of_set(cluster, set, "api-0", "api-1", "{phase: Failed}");
  EXPECT_EQ(object(set, "1 of 2").state, "1 of 2") << "it has ended";
}

TEST_F(RootCause, WhatIsReplacedIsUnknownUntilTheControllerHasSeenTheTemplate) {
  Value set = stateful_set_of_two(cluster);
  pod_of_set(cluster, set, "api-0", "api-1");
  set["metadata"].set("generation", 101);
  EXPECT_EQ(object(set, "1 of 2").state, "1 of 2");
  set["metadata"].set("generation", 100);
  EXPECT_NE(object(set, "1 of 2").state, "1 of 2");
}

TEST_F(RootCause, OfAnInitContainerAndOfOneThatIsNeverReady) {
  const Diagnosis init = describe_pod(yaml(
      R"({metadata: {name: p, namespace: n}, spec: {initContainers: [{name: first}], containers: [{name: main}]},
      status: {phase: Pending, initContainerStatuses: [{name: first, restartCount: 1, state: {waiting: {reason:
      CrashLoopBackOff}}, lastState: {terminated: {exitCode: 127, reason: StartError}}}],
      containerStatuses: [{name: main, state: {waiting: {reason: PodInitializing}}}]}})"));
  ASSERT_EQ(init.children.size(), 1u) << "who waits for the init container is not to blame";
  EXPECT_EQ(init.children[0].kind, "init container");
  EXPECT_EQ(init.children[0].state,
            "CrashLoopBackOff, 1 restart: ended with exit code 127: its command was not found (StartError)");
  const Diagnosis never = describe_pod(yaml(
      R"({metadata: {name: p}, status: {phase: Running, containerStatuses: [{name: main, ready: false, started: true,
      state: {running: {}}}]}})"));
  ASSERT_EQ(never.children.size(), 1u);
  EXPECT_EQ(never.children[0].state, "running, but not ready");
}

TEST_F(RootCause, LooksIntoTheFirstTenOfMany) {
  std::vector<Unready> objects;
  for (int i = 0; i < 30; ++i)
    objects.push_back(
        {{{"example.com", "Widget"}, "shop", fmt::format("w{:02}", i)}, {}, {}, "it is not there yet"});
  const Diagnosis all = diagnose(client, "Release", "shop/web", objects, Context());
  EXPECT_EQ(all.children.size(), 30u);
  EXPECT_EQ(all.state, "30 objects are not ready");
  EXPECT_THAT(all.notes, ElementsAre("only the first 10 objects were looked into"));
  EXPECT_EQ(all.children[29].state, "it is not there yet");
}

}  // namespace
}  // namespace mist::apply
