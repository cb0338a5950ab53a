#include "action/query/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/release_fixture.h"
#include "testing/yaml.h"

namespace mist::action {
namespace {

using encoding::Value;
using ::testing::HasSubstr;

std::string deployment_yaml(std::string_view name) {
  return fmt::format(
      "---\n{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {0}}}, spec: {{replicas: 1, selector: "
      "{{matchLabels: {{app: {0}}}}}, template: {{metadata: {{labels: {{app: {0}}}}}, spec: {{containers: "
      "[{{name: main, image: i}}]}}}}}}}}\n",
      name);
}

class StatusTest : public testing::ReleaseFixture {
 protected:
  ReleaseStatus seen() {
    cluster.clear_calls();
    auto found = status(environment(), id, Context());
    EXPECT_TRUE(found.ok()) << found.error().to_line();
    return *std::move(found);
  }
  void put(std::string_view text) { cluster.put(testing::yaml(text)); }
  // The objects that controllers would have made of the Deployment, up to the puller of images.
  void put_pod_without_image(std::string_view name) {
    const std::string uid(cluster.find("Deployment.apps", "default", name)->string_at({"metadata", "uid"}));
    put(fmt::format(
        R"({{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: {0}-1, namespace: default, labels: {{app: {0}}},
          annotations: {{deployment.kubernetes.io/revision: "1"}}, ownerReferences: [{{uid: {1}}}]}}}})",
        name, uid));
    const std::string set(cluster.find("ReplicaSet.apps", "default", fmt::format("{}-1", name))
                              ->string_at({"metadata", "uid"}));
    put(fmt::format(
        R"({{apiVersion: v1, kind: Pod, metadata: {{name: {0}-1-x, namespace: default, labels: {{app: {0}}},
          ownerReferences: [{{uid: {1}}}]}}, spec: {{containers: [{{name: main, image: i}}]}}, status: {{phase: Pending,
          containerStatuses: [{{name: main, image: i,
          state: {{waiting: {{reason: ImagePullBackOff, message: "no such tag"}}}}}}]}}}})",
        name, set));
  }
};

TEST_F(StatusTest, OfWhatIsNotReadyTellsTheCause) {
  ASSERT_TRUE(install_now(deployment_yaml("api")).ok());
  put_pod_without_image("api");
  const ReleaseStatus state = seen();
  EXPECT_EQ(state.count(ObjectHealth::InProgress), 1u);
  ASSERT_TRUE(state.diagnosis);
  EXPECT_EQ(state.diagnosis->name, "default/web");
  const Diagnosis* part = &*state.diagnosis;
  for (const std::string_view kind : {"Deployment", "ReplicaSet", "Pod", "container"}) {
    ASSERT_EQ(part->children.size(), 1u) << kind;
    part = &part->children[0];
    EXPECT_EQ(part->kind, kind);
  }
  EXPECT_EQ(part->state, "ImagePullBackOff: no such tag");
}

TEST_F(StatusTest, AJobThatRemovedItselfIsNotMissing) {
  ASSERT_TRUE(
      install_now(
          "{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {ttlSecondsAfterFinished: 0}}\n"
          "---\n{apiVersion: batch/v1, kind: Job, metadata: {name: kept}, spec: {}}\n")
          .ok());
  for (const char* name : {"once", "kept"}) cluster.drop({{"batch", "Job"}, "default", name});
  const ReleaseStatus state = seen();
  ASSERT_EQ(state.objects.size(), 2u);
  for (const ObjectStatus& object : state.objects) {
    const bool once = object.key.name == "once";
    EXPECT_EQ(object.health, once ? ObjectHealth::Ready : ObjectHealth::Missing);
    EXPECT_EQ(object.detail, once ? "finished; removed by its ttlSecondsAfterFinished"
                                  : "it was deleted outside of Mistletoe");
  }
}

TEST_F(StatusTest, WhatAFailedRunDeletedIsNotBlamedOnOthers) {
  const std::string two(testing::kTwoConfigMaps);
  ASSERT_TRUE(install_now(two).ok());
  cluster.drop({{"", "ConfigMap"}, "default", "one"});
  const auto detail = [&] {
    const ReleaseStatus state = seen();
    const auto one = std::ranges::find(
        state.objects, "one", [](const ObjectStatus& each) -> std::string_view { return each.key.name; });
    return one == state.objects.end() ? std::string() : one->detail;
  };
  EXPECT_EQ(detail(), "it was deleted outside of Mistletoe");
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run && call.key.group_kind.kind == "ConfigMap")
      return error(ErrorKind::Invalid, "no");
    return std::nullopt;
  });
  ASSERT_FALSE(upgrade_now(two + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: three}}\n").ok());
  cluster.set_before({});
  EXPECT_EQ(detail(), "it is gone");
}

TEST_F(StatusTest, NothingMoreIsAskedForAReleaseThatIsReady) {
  cluster.set_instant_controllers(true);
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps) + deployment_yaml("api")).ok());
  const ReleaseStatus state = seen();
  EXPECT_EQ(state.count(ObjectHealth::Ready), 3u);
  EXPECT_FALSE(state.diagnosis);
  std::size_t lists = 0;
  for (const testing::FakeCall& call : cluster.calls())
    if (call.verb == "list" && call.key.group_kind.kind != "Secret") ++lists;
  EXPECT_EQ(lists, 2u) << "one for each kind";
}

TEST_F(StatusTest, LooksIntoTheFirstTenAndTheFailedOnesBeforeTheOthers) {
  std::string all;
  for (int i = 10; i < 25; ++i) all += deployment_yaml(fmt::format("api-{}", i));
  ASSERT_TRUE(install_now(all).ok());
  cluster.set_status({{"apps", "Deployment"}, "default", "api-24"},
                     testing::yaml("{observedGeneration: 1, conditions: [{type: Progressing, status: "
                                   "\"False\", reason: ProgressDeadlineExceeded}]}"));
  const ReleaseStatus state = seen();
  EXPECT_EQ(state.count(ObjectHealth::Failed), 1u);
  EXPECT_EQ(state.count(ObjectHealth::InProgress), 14u);
  ASSERT_TRUE(state.diagnosis);
  EXPECT_EQ(state.diagnosis->state, "15 objects are not ready");
  ASSERT_EQ(state.diagnosis->children.size(), 10u);
  EXPECT_EQ(state.diagnosis->children[0].name, "default/api-24");
  EXPECT_EQ(state.diagnosis->children[1].name, "default/api-10");
}

TEST_F(StatusTest, ACauseThatCannotBeReadIsNoError) {
  ASSERT_TRUE(install_now(deployment_yaml("api")).ok());
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    const std::string& kind = call.key.group_kind.kind;
    if (kind != "Pod" && kind != "ReplicaSet" && kind != "Event") return std::nullopt;
    return error(ErrorKind::Forbidden, "pods is forbidden");
  });
  const ReleaseStatus state = seen();
  ASSERT_TRUE(state.diagnosis);
  EXPECT_EQ(state.diagnosis->children.size(), 1u);
}

TEST_F(StatusTest, WhatMayNotBeReadIsUnknownAndTheRestIsShown) {
  const std::string all =
      std::string(testing::kTwoConfigMaps) +
      "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: web}}\n"
      "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: web2}}\n";
  ASSERT_TRUE(install_now(all).ok());
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.key.group_kind.kind != "ClusterRole") return std::nullopt;
    return error(ErrorKind::Forbidden, "clusterroles is forbidden");
  });
  const ReleaseStatus state = seen();
  EXPECT_EQ(state.count(ObjectHealth::Ready), 2u);
  EXPECT_EQ(state.count(ObjectHealth::Unknown), 2u);
  EXPECT_EQ(state.count(ObjectHealth::Missing), 0u);
  for (const ObjectStatus& object : state.objects) {
    if (object.health == ObjectHealth::Unknown) {
      EXPECT_EQ(object.detail, "you may not read it");
    }
  }
  cluster.clear_calls();
  const auto upgraded = upgrade_now(std::string(testing::kTwoConfigMaps));
  ASSERT_FALSE(upgraded.ok());
  EXPECT_EQ(upgraded.error().kind, ErrorKind::Forbidden);
  const auto removed = uninstall_now();
  ASSERT_FALSE(removed.ok());
  EXPECT_EQ(removed.error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(cluster.writes(), 0u) << "who writes must see everything";
}

TEST(HolderLifeTest, IsTakenFromTheLastRenewalWithDoubt) {
  const release::Lock lock{.holder = "alice",
                           .token = "t",
                           .operation = "upgrade",
                           .acquired = "2026-03-01T09:00:00Z",
                           .renewed = "2026-03-01T09:30:00.500000Z",
                           .term_ms = 15000};
  using State = HolderLife::State;
  const auto state_at = [&](std::string_view now) { return holder_life(lock, *parse_time(now)).state; };
  EXPECT_EQ(state_at("2026-03-01T09:30:02Z"), State::Alive);
  EXPECT_EQ(state_at("2026-03-01T09:29:59Z"), State::Alive) << "its clock may be a little ahead";
  EXPECT_EQ(state_at("2026-03-01T09:30:17Z"), State::Silent);
  EXPECT_EQ(state_at("2026-03-01T09:20:00Z"), State::Unsure);
  EXPECT_EQ(holder_life(lock, *parse_time("2026-03-01T09:30:17.5Z")).silent, std::chrono::seconds(17));
  EXPECT_EQ(holder_life({}, WallTime()).state, State::Unsure);
}

}  // namespace
}  // namespace mist::action
