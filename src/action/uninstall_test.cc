// The objects that an uninstall deletes, and those that it leaves.

#include "action/uninstall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "encoding/yaml.h"
#include "testing/laptop_clock.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using ::testing::Contains;

const apimachinery::ObjectKey kExtra{{"", "Namespace"}, "", "extra"};

class UninstallTest : public testing::ReleaseFixture {};

TEST_F(UninstallTest, UninstallLeavesNothing) {
  const auto before = cluster.objects();
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps) +
                          "---\n{apiVersion: v1, kind: Namespace, metadata: {name: extra}}")
                  .ok());
  const auto report = uninstall_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->deleted, 3u);
  EXPECT_EQ(cluster.objects(), before);
}

TEST_F(UninstallTest, UninstallKeepsClaimsCrdsAndWhatIsMarked) {
  ASSERT_TRUE(install_now(R"(
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, annotations: {mistletoe.dev/keep: "true"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gone}
)")
                  .ok());
  const auto report = uninstall_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->retained, 2u);
  EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "default", "data"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "kept"));
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "gone"));
}

TEST_F(UninstallTest, NamespaceWithForeignObjectsStaysUnlessAskedFor) {
  ASSERT_TRUE(install_now("{apiVersion: v1, kind: Namespace, metadata: {name: extra}}").ok());
  cluster.put(encoding::Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", encoding::Value::object({{"name", "theirs"}, {"namespace", "extra"}})}}));
  const auto plan = plan_uninstall(environment(), id, {}, Context());
  ASSERT_TRUE(plan.ok()) << plan.error().to_line();
  EXPECT_THAT(plan->containers.foreign().at(kExtra), Contains("ConfigMap extra/theirs"));
  EXPECT_EQ(plan->removals[0].kind, apply::ActionKind::Retain);
  UninstallOptions options;
  options.rules.delete_namespaces = true;
  ASSERT_TRUE(uninstall_now(options).ok());
  EXPECT_FALSE(cluster.has("Namespace", "", "extra"));
}

// Adopted without being asked for (the release's own), or because somebody said so.
TEST_F(UninstallTest, NamespaceThatWasThereBeforeTheReleaseStaysUnlessAskedFor) {
  id.ns = "home";
  const auto make = [&](std::string_view name) {
    cluster.put(encoding::Value::object({{"apiVersion", "v1"},
                                         {"kind", "Namespace"},
                                         {"metadata", encoding::Value::object({{"name", name}})}}));
  };
  const std::string package =
      "{apiVersion: v1, kind: Namespace, metadata: {name: home}}\n---\n"
      "{apiVersion: v1, kind: Namespace, metadata: {name: extra}}\n---\n"
      "{apiVersion: v1, kind: Namespace, metadata: {name: made}}\n---\n"
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: ours, namespace: extra}}\n";
  make("home");
  make("extra");
  ASSERT_TRUE(install_now(package, {.allowed = {.adopt = true}}).ok());
  const auto report = uninstall_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->deleted, 2u);
  EXPECT_EQ(report->retained, 2u);
  for (const apply::PlannedAction& each : report->plan.removals) {
    if (each.kind == apply::ActionKind::Delete) continue;
    EXPECT_EQ(each.reason, "it was there before the release: --delete-namespaces removes it");
  }
  EXPECT_TRUE(cluster.has("Namespace", "", "home"));
  EXPECT_TRUE(cluster.has("Namespace", "", "extra"));
  EXPECT_FALSE(cluster.has("Namespace", "", "made"));
  EXPECT_FALSE(cluster.has("ConfigMap", "extra", "ours"));
  EXPECT_FALSE(cluster.has("Secret", "home", "mistletoe.web"));

  // They are nobody's again, so another release may have them.
  for (const std::string_view name : {"home", "extra"})
    EXPECT_EQ(apply::live_owner_of(*cluster.find("Namespace", "", name)), apply::LiveOwner());
  id.name = "other";
  ASSERT_TRUE(install_now(package, {.allowed = {.adopt = true}}).ok());
  ASSERT_TRUE(uninstall_now({.rules = {.delete_namespaces = true}}).ok());
  EXPECT_FALSE(cluster.has("Namespace", "", "home"));
  EXPECT_FALSE(cluster.has("Namespace", "", "extra"));
}

// Between the look that somebody agreed to and the end of a namespace there is a prompt, and all the rest.
TEST_F(UninstallTest, NamespaceThatSomethingWasPutIntoMeanwhileStays) {
  id.ns = "home";
  constexpr std::string_view kNamespaces = R"(
{apiVersion: v1, kind: Namespace, metadata: {name: home}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: extra}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: ours, namespace: extra}}
)";
  const auto put = [&](std::string_view ns) {
    cluster.put(encoding::Value::object(
        {{"apiVersion", "v1"},
         {"kind", "ConfigMap"},
         {"metadata", encoding::Value::object({{"name", "theirs"}, {"namespace", ns}})}}));
  };
  for (const std::string_view late : {"extra", "home"}) {
    ASSERT_TRUE(install_now(std::string(kNamespaces), {.create_namespace = true}).ok());
    auto plan = plan_uninstall(environment(), id, {}, Context());
    ASSERT_TRUE(plan.ok()) << plan.error().to_line();
    EXPECT_EQ(plan->deletes(), 3u);
    // In the release's own namespace, the last thing that goes, it appears while the rest is being deleted.
    if (late == "extra") put(late);
    cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
      if (late == "home" && call.verb == "delete" && call.key.name == "ours") put(late);
      return std::nullopt;
    });
    const auto report = uninstall(environment(), *std::move(plan), {}, Context());
    cluster.set_before({});
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    EXPECT_TRUE(cluster.has("ConfigMap", late, "theirs"));
    EXPECT_TRUE(cluster.has("Namespace", "", late));
    EXPECT_FALSE(cluster.has("ConfigMap", "extra", "ours"));
    EXPECT_FALSE(cluster.has("Secret", "home", "mistletoe.web")) << "the record goes all the same";
    EXPECT_EQ(cluster.has("Namespace", "", "home"), late == "home");
    EXPECT_EQ(report->deleted, 2u);
    EXPECT_EQ(report->retained, 1u);
    const auto stays = std::ranges::find(report->plan.removals, late,
                                         [](const apply::PlannedAction& each) { return each.key.name; });
    EXPECT_EQ(stays->kind, apply::ActionKind::Retain);
    EXPECT_EQ(stays->reason,
              fmt::format("since the plan, 1 object in it is not the release's (ConfigMap {}/theirs)", late));
    UninstallOptions all;
    all.rules.delete_namespaces = true;
    ASSERT_TRUE(install_now(std::string(kNamespaces), {.create_namespace = true}).ok());
    plan = plan_uninstall(environment(), id, all, Context());
    ASSERT_TRUE(plan.ok());
    ASSERT_TRUE(uninstall(environment(), *std::move(plan), all, Context()).ok());
    EXPECT_FALSE(cluster.has("Namespace", "", late));
  }
}

// The record, and the lock in it, are gone before the namespace is.
TEST_F(UninstallTest, WaitsForItsOwnNamespaceWithoutTheLock) {
  id.ns = "home";
  ASSERT_TRUE(
      install_now("{apiVersion: v1, kind: Namespace, metadata: {name: home}}", {.create_namespace = true})
          .ok());
  testing::LaptopClock laptop;
  const Environment here{cluster, laptop, random, events, "tester"};
  const UninstallOptions options{.rules = {.delete_namespaces = true}, .wait = true};
  auto plan = plan_uninstall(here, id, options, Context());
  ASSERT_TRUE(plan.ok()) << plan.error().to_line();
  cluster.set_hold_namespaces(true);
  std::atomic<bool> deleted = false;
  cluster.set_after([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "delete" || call.dry_run || call.key.name != "home") return std::nullopt;
    deleted = true;
    // So long that a lock would have run out.
    laptop.suspend(std::chrono::minutes(20));
    return std::nullopt;
  });
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (deleted && call.verb == "list" && call.key.group_kind.kind == "Namespace")
      cluster.finish_namespaces();
    return std::nullopt;
  });
  const auto report = uninstall(here, *std::move(plan), options, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_TRUE(report->held.empty());
  EXPECT_FALSE(cluster.has("Namespace", "", "home"));
}

// Neither keeps its namespace: what is being deleted, and what nobody owns any more.
TEST_F(UninstallTest, NamespaceWithOnlyWhatIsGoingAnywayGoes) {
  ASSERT_TRUE(install_now("{apiVersion: v1, kind: Namespace, metadata: {name: extra}}").ok());
  const auto pod = [](std::string_view name, std::string_view more) {
    return *encoding::parse_yaml(
        fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: extra, {}}}, spec: {{}}}}",
                    name, more));
  };
  cluster.put(pod("dying", "finalizers: [example.com/wait]"));
  ASSERT_TRUE(cluster.remove({{{"", "v1", "Pod"}, "pods", true, {}}, "extra", "dying"}, {}, Context()).ok());
  cluster.put(
      pod("orphan", "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: gone, uid: '1'}]"));
  auto plan = plan_uninstall(environment(), id, {}, Context());
  ASSERT_TRUE(plan.ok()) << plan.error().to_line();
  EXPECT_EQ(plan->removals[0].kind, apply::ActionKind::Delete);
  // Somebody whom this namespace can't tell of.
  cluster.put(pod("static", "ownerReferences: [{apiVersion: v1, kind: Node, name: there, uid: '2'}]"));
  plan = plan_uninstall(environment(), id, {}, Context());
  EXPECT_THAT(plan->containers.foreign().at(kExtra), ::testing::ElementsAre("Pod extra/static"));
}

// Crossplane's Usage answers 409.
TEST_F(UninstallTest, WhatAWebhookKeepsFromBeingDeletedStaysTheReleases) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  const auto deny = [](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "delete" || call.key.name != "two") return std::nullopt;
    return error(ErrorKind::Conflict, "cannot delete ConfigMap default/two")
        .with_because("admission webhook \"usages.example.com\" denied the request: in use");
  };
  const auto names_it = [&] {
    return std::ranges::any_of(now().owned(),
                               [](const apply::InventoryItem& item) { return item.key.name == "two"; });
  };
  cluster.set_before(deny);
  const auto upgrade =
      upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: '1'}}");
  ASSERT_FALSE(upgrade.ok());
  EXPECT_THAT(upgrade.error().because, ::testing::HasSubstr("denied the request: in use"));
  EXPECT_TRUE(names_it());
  const auto removed = uninstall_now();
  ASSERT_FALSE(removed.ok());
  EXPECT_THAT(removed.error().because, ::testing::HasSubstr("denied the request: in use"));
  EXPECT_TRUE(names_it());
  cluster.set_before({});
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "two"));
}

}  // namespace
}  // namespace mist::action
