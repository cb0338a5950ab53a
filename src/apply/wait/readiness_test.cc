#include "apply/wait/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apply/wait/binding_modes.h"
#include "apply/wait/waiting_rules.h"
#include "encoding/yaml.h"

namespace mist::apply {
namespace {

struct HealthCase {
  const char* yaml;
  Health health;
  const char* detail;
};

class ReadinessTest : public ::testing::TestWithParam<HealthCase> {};

TEST_P(ReadinessTest, FollowsTheRule) {
  const auto live = encoding::parse_yaml(GetParam().yaml);
  ASSERT_TRUE(live.ok()) << live.error().to_line();
  const Readiness result = readiness(*live);
  EXPECT_EQ(result.health, GetParam().health) << GetParam().yaml;
  EXPECT_EQ(result.detail, GetParam().detail);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ReadinessTest,
    ::testing::Values(
        HealthCase{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", Health::Ready, ""},
        HealthCase{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, deletionTimestamp: x}}",
                   Health::InProgress, "it is being deleted"},
        HealthCase{"{apiVersion: mistletoe.dev/v1alpha1, kind: Release, metadata: {generation: 1}}",
                   Health::InProgress, "its controller has not seen the change yet"},
        HealthCase{"{apiVersion: mistletoe.dev/v1alpha1, kind: Release, metadata: {generation: 2}, status: "
                   "{observedGeneration: 2, conditions: [{type: Ready, status: 'True', observedGeneration: "
                   "1}]}}",
                   Health::InProgress, "its condition Ready is about an older generation"},
        HealthCase{"{apiVersion: mistletoe.dev/v1alpha1, kind: Release, metadata: {generation: 2}, status: "
                   "{observedGeneration: 2, conditions: [{type: Suspended, status: 'True'}]}}",
                   Health::InProgress, "no operator has looked at it yet"},
        HealthCase{"{apiVersion: mistletoe.dev/v1alpha1, kind: Release, metadata: {generation: 2}, status: "
                   "{observedGeneration: 2, conditions: [{type: Ready, status: 'True', observedGeneration: "
                   "2}]}}",
                   Health::Ready, ""},
        HealthCase{"{apiVersion: v1, kind: Namespace, metadata: {name: a}, status: {phase: Active}}",
                   Health::Ready, ""},
        HealthCase{"{apiVersion: v1, kind: Namespace, metadata: {name: a}}", Health::InProgress,
                   "it has no phase yet"},
        HealthCase{"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 1}, "
                   "status: {observedGeneration: 1}}",
                   Health::InProgress, "its controller has not seen the change yet"},
        HealthCase{"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 2}, "
                   "status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, "
                   "availableReplicas: 1, readyReplicas: 1}}",
                   Health::InProgress, "1 of 2 replicas are available"},
        HealthCase{"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 2}, "
                   "status: {observedGeneration: 1, replicas: 3, updatedReplicas: 2}}",
                   Health::InProgress, "1 old replica is still there"},
        HealthCase{"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 0}, "
                   "status: {observedGeneration: 1}}",
                   Health::Ready, ""},
        HealthCase{"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {}, status: "
                   "{observedGeneration: 1, conditions: [{type: Progressing, status: 'False', "
                   "reason: ProgressDeadlineExceeded, message: too slow}]}}",
                   Health::Failed, "ProgressDeadlineExceeded: too slow"},
        HealthCase{"{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 1}, "
                   "status: {observedGeneration: 1, replicas: 1, readyReplicas: 1, updatedReplicas: 0, "
                   "currentRevision: a, updateRevision: b}}",
                   Health::InProgress, "0 of 1 replicas are updated"},
        HealthCase{"{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 2, "
                   "updateStrategy: {type: OnDelete}}, status: {observedGeneration: 1, replicas: 0}}",
                   Health::InProgress, "0 of 2 replicas are ready"},
        HealthCase{"{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 1, "
                   "updateStrategy: {type: OnDelete}}, status: {observedGeneration: 1, replicas: 1, "
                   "readyReplicas: 1, currentRevision: a, updateRevision: b}}",
                   Health::Ready, ""},
        HealthCase{
            "{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: "
            "1, desiredNumberScheduled: 3, currentNumberScheduled: 3, updatedNumberScheduled: 3, "
            "numberReady: 1, numberAvailable: 1}}",
            Health::InProgress, "1 of 3 pods are ready"},
        HealthCase{
            "{apiVersion: batch/v1, kind: Job, metadata: {}, status: {conditions: [{type: Complete, status: "
            "'True'}]}}",
            Health::Ready, ""},
        HealthCase{
            "{apiVersion: batch/v1, kind: Job, metadata: {}, status: {conditions: [{type: Failed, status: "
            "'True', reason: BackoffLimitExceeded}]}}",
            Health::Failed, "BackoffLimitExceeded"},
        HealthCase{
            "{apiVersion: batch/v1, kind: Job, metadata: {}, spec: {suspend: true}, status: {conditions: "
            "[{type: Suspended, status: 'True'}]}}",
            Health::Ready, "it is suspended"},
        // Resumed just now: its controller has not looked yet.
        HealthCase{
            "{apiVersion: batch/v1, kind: Job, metadata: {}, spec: {suspend: false}, status: {conditions: "
            "[{type: Suspended, status: 'True'}]}}",
            Health::InProgress, "0 of 1 completions"},
        HealthCase{"{apiVersion: batch/v1, kind: Job, metadata: {}, status: {failed: 2}}", Health::InProgress,
                   "0 of 1 completions, 2 pods failed so far"},
        HealthCase{"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {}, status: {phase: Lost}}",
                   Health::Failed, "its volume was lost"},
        HealthCase{
            "{apiVersion: v1, kind: Service, metadata: {}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}}",
            Health::InProgress, "its load balancer has no address yet"},
        HealthCase{
            "{apiVersion: v1, kind: Pod, metadata: {}, status: {phase: Failed, reason: Evicted, message: "
            "'The node "
            "was low on memory'}}",
            Health::Failed, "the pod failed: Evicted: The node was low on memory"},
        HealthCase{
            "{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 3, "
            "updateStrategy: "
            "{rollingUpdate: {partition: 2}}}, status: {observedGeneration: 1, replicas: 3, readyReplicas: "
            "3, "
            "updatedReplicas: 1, currentRevision: a, updateRevision: b}}",
            Health::Ready, ""},
        HealthCase{
            "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 1, paused: "
            "true}, "
            "status: {observedGeneration: 1, replicas: 1}}",
            Health::InProgress, "0 of 1 replicas are updated: its rollout is paused"},
        HealthCase{
            "{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {}, status: {conditions: "
            "[{type: "
            "Available, status: 'False', reason: MissingEndpoints, message: no endpoints}]}}",
            Health::InProgress, "MissingEndpoints: no endpoints"},
        HealthCase{
            "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {}, status: {conditions: "
            "[{type: "
            "ScalingActive, status: 'False', reason: FailedGetResourceMetric}]}}",
            Health::Ready, "FailedGetResourceMetric"},
        HealthCase{
            "{apiVersion: example.com/v1, kind: Widget, metadata: {}, status: {conditions: [{type: Ready, "
            "status: "
            "'False', reason: Starting, message: be patient}]}}",
            Health::InProgress, "it is not Ready: Starting: be patient"},
        HealthCase{
            "{apiVersion: example.com/v1, kind: Widget, metadata: {generation: 3}, status: {conditions: "
            "[{type: "
            "Ready, status: 'True', observedGeneration: 2}]}}",
            Health::InProgress, "its condition Ready is about an older generation"},
        HealthCase{
            "{apiVersion: example.com/v1, kind: Widget, metadata: {annotations: {mistletoe.dev/ready-when: "
            "'{.status.phase}=Running'}}, status: {phase: Pending}}",
            Health::InProgress, "{.status.phase} is Pending, not Running"},
        HealthCase{
            "{apiVersion: example.com/v1, kind: Widget, metadata: {annotations: {mistletoe.dev/ready-when: "
            "'{.status.phase}=Running'}}, status: {phase: Running, conditions: [{type: Ready, status: "
            "'False'}]}}",
            Health::Ready, ""},
        HealthCase{
            "{apiVersion: example.com/v1, kind: Widget, metadata: {annotations: {mistletoe.dev/ready-when: "
            "'{.status.phase}=Running'}}, status: {phase: Running, conditions: [{type: Stalled, status: "
            "'True', "
            "reason: Stuck}]}}",
            Health::Failed, "Stuck"},
        HealthCase{
            "{apiVersion: example.com/v1, kind: Widget, metadata: {annotations: {mistletoe.dev/ready-when: "
            "'{'}}}",
            Health::InProgress, "the annotation mistletoe.dev/ready-when can't be read"},
        HealthCase{
            "{apiVersion: batch/v1, kind: Job, metadata: {annotations: {mistletoe.dev/ready-when: "
            "'{.status.active}=1'}}, status: {conditions: [{type: Failed, status: 'True', reason: Late}]}}",
            Health::Failed, "Late"},
        HealthCase{
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {}, status: "
            "{conditions: [{type: NamesAccepted, status: 'False', reason: "
            "Conflict}]}}",
            Health::Failed, "Conflict"}));

TEST(Readiness, OfAClaimThatBindsLateIsNoMatterOfBinding) {
  const auto claim = [](std::string_view annotations) {
    return *encoding::parse_yaml(
        fmt::format("{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: a, "
                    "annotations: {{{}}}}}, spec: {{storageClassName: late}}, status: "
                    "{{phase: Pending}}}}",
                    annotations));
  };
  const BindsLate late = [](std::string_view name) { return name == "late"; };
  EXPECT_EQ(readiness(claim("")).health, Health::InProgress);
  EXPECT_EQ(readiness(claim(""), late).health, Health::Ready);
  EXPECT_EQ(readiness(claim(""), [](std::string_view) { return false; }).health, Health::InProgress);
  // A Pod uses it, and a volume is being made.
  EXPECT_EQ(readiness(claim("volume.kubernetes.io/selected-node: n"), late).health, Health::InProgress);
}

TEST(Readiness, WhatIsBeingDeletedSaysWhatHoldsIt) {
  const auto why = [](std::string_view text) {
    return why_terminating(*encoding::parse_yaml(std::string(text)));
  };
  EXPECT_EQ(why("{metadata: {deletionTimestamp: x}}"), "it is being deleted");
  EXPECT_EQ(why("{metadata: {finalizers: [example.com/hold]}}"),
            "it is being deleted, and its finalizer example.com/hold holds it");
  EXPECT_EQ(why("{metadata: {finalizers: [foregroundDeletion]}}"), "it is being deleted, after what it owns");
  EXPECT_EQ(why("{metadata: {finalizers: [foregroundDeletion, a, b, 3]}}"),
            "it is being deleted, after what it owns, and its finalizers a, b hold it");
  EXPECT_EQ(why("{metadata: {finalizers: x}}"), "it is being deleted");
  EXPECT_EQ(
      why("{kind: Namespace, spec: {finalizers: [kubernetes]}, status: {phase: Terminating, conditions: ["
          "{type: NamespaceDeletionContentFailure, status: 'False', reason: ContentDeleted},"
          "{type: NamespaceContentRemaining, status: 'True', reason: SomeResourcesRemain, message: "
          "'configmaps. "
          "has 1 resource instances'}]}}"),
      "it is being deleted; SomeResourcesRemain: configmaps. has 1 resource instances");
  const Readiness state =
      readiness(*encoding::parse_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {deletionTimestamp: x, "
                                      "finalizers: [example.com/hold]}}"));
  EXPECT_EQ(state.health, Health::InProgress);
  EXPECT_EQ(state.detail, "it is being deleted, and its finalizer example.com/hold holds it");
}

TEST(Readiness, IsWorthWaitingForWhereItIsMoreThanBeingThere) {
  for (const auto& [yaml, worth] : std::vector<std::pair<std::string, bool>>{
           {"{apiVersion: v1, kind: ConfigMap}", false},
           {"{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {mistletoe.dev/ready-when: "
            "'{.data.a}'}}}",
            true},
           {"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role}", false},
           {"{apiVersion: apps/v1, kind: Deployment}", true},
           {"{apiVersion: v1, kind: Service, spec: {type: ClusterIP}}", false},
           {"{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}}", true},
           {"{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway}", true},
           {"{apiVersion: example.com/v1, kind: Widget}", true}})
    EXPECT_EQ(is_worth_waiting(*encoding::parse_yaml(yaml)), worth) << yaml;
}

}  // namespace
}  // namespace mist::apply
