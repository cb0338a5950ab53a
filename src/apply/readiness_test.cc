#include "apply/readiness.h"

#include <gtest/gtest.h>

#include "encoding/yaml.h"

namespace mist::apply {
namespace {

struct Case {
  const char* yaml;
  Health health;
  const char* detail;
};

class ReadinessTest : public ::testing::TestWithParam<Case> {};

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
        Case{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", Health::Ready, ""},
        Case{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, deletionTimestamp: x}}",
             Health::InProgress, "it is being deleted"},
        Case{"{apiVersion: v1, kind: Namespace, metadata: {name: a}, status: {phase: Active}}", Health::Ready,
             ""},
        Case{"{apiVersion: v1, kind: Namespace, metadata: {name: a}}", Health::InProgress,
             "it has no phase yet"},
        Case{"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 1}, "
             "status: {observedGeneration: 1}}",
             Health::InProgress, "its controller has not seen the change yet"},
        Case{"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 2}, "
             "status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, "
             "availableReplicas: 1, readyReplicas: 1}}",
             Health::InProgress, "1 of 2 replicas are available"},
        Case{"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 2}, "
             "status: {observedGeneration: 1, replicas: 3, updatedReplicas: 2}}",
             Health::InProgress, "1 old replica is still there"},
        Case{"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 0}, "
             "status: {observedGeneration: 1}}",
             Health::Ready, ""},
        Case{"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {}, status: "
             "{observedGeneration: 1, conditions: [{type: Progressing, status: 'False', "
             "reason: ProgressDeadlineExceeded, message: too slow}]}}",
             Health::Failed, "ProgressDeadlineExceeded: too slow"},
        Case{"{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 1}, "
             "status: {observedGeneration: 1, readyReplicas: 1, updatedReplicas: 0, "
             "currentRevision: a, updateRevision: b}}",
             Health::InProgress, "0 of 1 replicas are updated"},
        Case{"{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: "
             "1, desiredNumberScheduled: 3, updatedNumberScheduled: 3, "
             "numberReady: 1, numberAvailable: 1}}",
             Health::InProgress, "1 of 3 pods are ready"},
        Case{"{apiVersion: batch/v1, kind: Job, metadata: {}, status: {conditions: [{type: Complete, status: "
             "'True'}]}}",
             Health::Ready, ""},
        Case{"{apiVersion: batch/v1, kind: Job, metadata: {}, status: {conditions: [{type: Failed, status: "
             "'True', reason: BackoffLimitExceeded}]}}",
             Health::Failed, "BackoffLimitExceeded"},
        Case{"{apiVersion: batch/v1, kind: Job, metadata: {}, status: {failed: 2}}", Health::InProgress,
             "0 of 1 completions, 2 pods failed so far"},
        Case{"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {}, status: {phase: Lost}}",
             Health::Failed, "its volume was lost"},
        Case{"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {}, status: "
             "{conditions: [{type: NamesAccepted, status: 'False', reason: "
             "Conflict}]}}",
             Health::Failed, "Conflict"}));

}  // namespace
}  // namespace mist::apply
