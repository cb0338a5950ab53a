// In which order a Plan is carried out where the graph leaves a choice. What each write says and what becomes
// of failures: action/deploy_test.cc and action/durability_test.cc.

#include "apply/execute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/plan_of.h"

namespace mist::apply {
namespace {

using ::testing::ElementsAre;
using testing::FakeCall;
using testing::FakeCluster;

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

}  // namespace
}  // namespace mist::apply
