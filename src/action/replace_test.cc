// Changes that the API server refuses in place: refused with the flag that allows them, or deleted and
// created again, wherever the process dies.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "testing/api_refusal.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using testing::FakeCall;
using testing::FakeCluster;
using ::testing::HasSubstr;

class ReplaceTest : public testing::ReleaseFixture {};

std::string selecting(std::string_view app, std::string_view annotations = "{}") {
  return fmt::format(
      "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, annotations: {1}}}, spec: {{selector: "
      "{{matchLabels: {{app: {0}}}}}, template: {{metadata: {{labels: {{app: {0}}}}}, spec: {{containers: "
      "[{{name: a, "
      "image: b}}]}}}}}}}}",
      app, annotations);
}

// As the API server says it; the cluster in memory has no such rules.
std::optional<Error> immutable_selector(const FakeCall& call) {
  if (call.verb != "apply" || !call.dry_run || call.key.group_kind.kind != "Deployment") return std::nullopt;
  return testing::api_refusal(
      ErrorKind::Invalid, "cannot apply",
      "Deployment.apps \"web\" is invalid: spec.selector: Invalid value: field is immutable");
}

TEST_F(ReplaceTest, WhatCantBeChangedIsRefusedWithTheFieldAndTheFlag) {
  ASSERT_TRUE(install_now(selecting("a")).ok());
  cluster.set_before(immutable_selector);
  cluster.clear_calls();
  const auto refused = upgrade_now(selecting("b"));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("Deployment default/web can't change .spec.selector"));
  EXPECT_THAT(refused.error().message, HasSubstr("field is immutable"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--replace"));
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(ReplaceTest, WithReplaceItIsDeletedAndCreatedAnew) {
  for (const bool by_annotation : {false, true}) {
    FakeCluster fresh;
    const Environment here{fresh, clock, random, events, "tester"};
    const auto run = [&](const Intent& intent, const DeployOptions& options) {
      return deploy(here, id, intent, options, Context());
    };
    ASSERT_TRUE(run(install_intent(rendering(selecting("a"))), {}).ok());
    const std::string before(fresh.find("Deployment.apps", "default", "web")->string_at({"metadata", "uid"}));
    fresh.set_before(immutable_selector);
    const auto report = run(
        upgrade_intent(rendering(selecting("b", by_annotation ? "{mistletoe.dev/replace: 'true'}" : "{}"))),
        {.allowed = {.replace = !by_annotation}});
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    EXPECT_EQ(report->plan.writes[0].kind, apply::ActionKind::Replace);
    const auto live = fresh.find("Deployment.apps", "default", "web");
    ASSERT_TRUE(live.has_value());
    EXPECT_NE(live->string_at({"metadata", "uid"}), before);
    EXPECT_EQ(live->string_at({"spec", "selector", "matchLabels", "app"}), "b");
    const auto state = read_release(here, id, Context());
    ASSERT_TRUE(state.ok());
    EXPECT_EQ(state->deployed->inventory[0].uid, live->string_at({"metadata", "uid"}));
    EXPECT_FALSE(state->deployed->inventory[0].replacing);
  }
}

// Killed at each request of a replacement: the object is there in the end, once, and uninstalling removes it.
TEST_F(ReplaceTest, AReplacementThatWasInterruptedIsFinishedByTheNextWrite) {
  for (std::size_t point = 1; point < 60; ++point) {
    FakeCluster fresh;
    const auto before = fresh.objects();
    const Environment here{
        fresh, no_expiry, random, events, "tester", std::chrono::milliseconds(200), std::chrono::seconds(60)};
    ASSERT_TRUE(deploy(here, id, install_intent(rendering(selecting("a"))), {}, Context()).ok());
    std::atomic<bool> dead{false};
    const std::size_t begin = fresh.calls().size();
    fresh.set_before([&](const FakeCall& call) -> std::optional<Error> {
      if (call.number >= begin + point) dead = true;
      if (dead) return error(ErrorKind::Retryable, "the process is gone");
      return immutable_selector(call);
    });
    const bool survived =
        deploy(here, id, upgrade_intent(rendering(selecting("b"))), {.allowed = {.replace = true}}, Context())
            .ok();
    fresh.set_before({});
    // Pruned by the next write although only its mark tells which of the two it is.
    const std::string other = "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}";
    if (point % 2 == 0) {
      const auto next =
          deploy(here, id, upgrade_intent(rendering(other)), {.allowed = {.prune = {}}}, Context());
      ASSERT_TRUE(next.ok()) << point << ": " << next.error().to_line();
      EXPECT_FALSE(fresh.has("Deployment.apps", "default", "web")) << point;
    } else {
      const auto next = deploy(here, id, upgrade_intent(rendering(selecting("b"))),
                               {.allowed = {.replace = true}}, Context());
      ASSERT_TRUE(next.ok()) << point << ": " << next.error().to_line();
      EXPECT_TRUE(fresh.has("Deployment.apps", "default", "web")) << point;
    }
    const auto plan = plan_uninstall(here, id, {}, Context());
    ASSERT_TRUE(plan.ok());
    ASSERT_TRUE(uninstall(here, *plan, {}, Context()).ok());
    EXPECT_EQ(fresh.objects(), before) << point;
    if (survived) {
      EXPECT_GT(point, 8u);
      return;
    }
  }
  FAIL() << "never survived";
}

// An object that is left as it is, and the objects that it still uses.

// Pods that mount a ConfigMap of this name, as whose account it names a key to images.
std::string using_its_own(std::string_view app, std::string_view suffix) {
  return fmt::format(
      "---\n{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web}}, spec: {{selector: "
      "{{matchLabels: {{app: {0}}}}}, template: {{metadata: {{labels: {{app: {0}}}}}, spec: "
      "{{serviceAccountName: account-{1}, containers: [{{name: a, image: b}}], volumes: [{{name: c, "
      "configMap: {{name: config-{1}}}}}]}}}}}}}}\n"
      "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: config-{1}}}}}\n"
      "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: unused-{1}}}}}\n"
      "---\n{{apiVersion: v1, kind: ServiceAccount, metadata: {{name: account-{1}}}, imagePullSecrets: "
      "[{{name: key-{1}}}]}}\n"
      "---\n{{apiVersion: v1, kind: Secret, metadata: {{name: key-{1}}}}}\n",
      app, suffix);
}

class UsedByLeftTest : public ReplaceTest {
 protected:
  void expect_used(const DeployReport& report) {
    EXPECT_TRUE(cluster.has("ConfigMap", "default", "config-b"));
    EXPECT_TRUE(cluster.has("ServiceAccount", "default", "account-b"));
    EXPECT_TRUE(cluster.has("Secret", "default", "key-b")) << "the account, which stays, names it";
    EXPECT_FALSE(cluster.has("ConfigMap", "default", "unused-b"));
    EXPECT_TRUE(cluster.has("ConfigMap", "default", "config-a"));
    EXPECT_EQ(report.but_for_left(), ", but for 4 objects");
    EXPECT_EQ(reason(report, "config-b"), "Deployment default/web, which is left as it is, uses it");
    EXPECT_EQ(reason(report, "key-b"), "ServiceAccount default/account-b, which stays, uses it");
    const ReleaseState state = now();
    for (const apply::InventoryItem& item : state.deployed->inventory) {
      EXPECT_EQ(item.retained, item.key.name.ends_with("-b")) << item.key.display();
      EXPECT_EQ(item.left.empty(), !item.retained && item.key.name != "web") << item.key.display();
    }
  }
  void expect_gone() {
    for (const std::string_view kind : {"ConfigMap", "ServiceAccount", "Secret"})
      for (const std::string_view name : {"config-b", "account-b", "key-b"})
        EXPECT_FALSE(cluster.has(kind, "default", name)) << name;
  }
  static std::string reason(const DeployReport& report, std::string_view name) {
    for (const apply::PlannedAction& removal : report.plan.removals)
      if (removal.key.name == name && removal.kind == apply::ActionKind::Retain) return removal.reason;
    return "not retained";
  }
};

TEST_F(UsedByLeftTest, WhatIsLeftKeepsWhatItUses) {
  ASSERT_TRUE(install_now(using_its_own("a", "a")).ok());
  cluster.set_before(immutable_selector);
  ASSERT_TRUE(upgrade_now(using_its_own("b", "b"), {.allowed = {.replace = true}}).ok());
  const auto dry = rollback_now(0, {.dry_run = DryRun::Client});
  ASSERT_TRUE(dry.ok()) << dry.error().to_line();
  EXPECT_EQ(dry->but_for_left(), ", but for 4 objects");
  const auto report = rollback_now(0);
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  expect_used(*report);
  // Once more it changes nothing.
  const auto again = rollback_now(0);
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_FALSE(again->changed);
  const auto replaced = rollback_now(0, {.allowed = {.replace = true}});
  ASSERT_TRUE(replaced.ok()) << replaced.error().to_line();
  EXPECT_EQ(replaced->but_for_left(), "");
  expect_gone();
}

TEST_F(UsedByLeftTest, SoDoesWhatTheServerRefusesOnlyWhenItIsWritten) {
  ASSERT_TRUE(install_now(using_its_own("a", "a")).ok());
  ASSERT_TRUE(upgrade_now(using_its_own("a", "b")).ok());
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.dry_run || call.key.group_kind.kind != "Deployment") return std::nullopt;
    return testing::api_refusal(ErrorKind::Invalid, "cannot apply", "it may not change");
  });
  const auto report = rollback_now(0);
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  expect_used(*report);
  cluster.set_before({});
  const auto done = rollback_now(0);
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(done->but_for_left(), "");
  expect_gone();
}

TEST_F(ReplaceTest, KeptObjectsAndClaimsAreNotReplacedWithoutTheirFlag) {
  const auto claim = [](std::string_view mode) {
    return fmt::format(
        "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: data}}, spec: {{accessModes: [{}], "
        "resources: {{requests: {{storage: 1Gi}}}}}}}}",
        mode);
  };
  ASSERT_TRUE(install_now(claim("ReadWriteOnce")).ok());
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || !call.dry_run) return std::nullopt;
    return testing::api_refusal(ErrorKind::Invalid, "cannot apply", "spec is immutable after creation");
  });
  const auto refused = upgrade_now(claim("ReadWriteMany"), {.allowed = {.replace = true}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().hint, HasSubstr("--delete-pvcs"));
  const auto replaced =
      upgrade_now(claim("ReadWriteMany"), {.allowed = {.prune = {.delete_pvcs = true}, .replace = true}});
  EXPECT_TRUE(replaced.ok()) << replaced.error().to_line();
}

}  // namespace
}  // namespace mist::action
