#include "action/query/drift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "action/recover/rollback.h"
#include "apply/reserved_metadata.h"
#include "package/objects.h"
#include "release/store.h"
#include "testing/api_refusal.h"
#include "testing/fake_cluster.h"

namespace mist::action {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using testing::FakeCluster;
using ::testing::IsEmpty;

constexpr std::string_view kObjects = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 3
  template: {spec: {containers: [{name: web, image: "web:1"}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {color: blue, size: small}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: default}
spec: {ttlSecondsAfterFinished: 0}
)";

class DriftTest : public ::testing::Test {
 protected:
  DriftTest() {
    const auto report =
        deploy(environment(), id, install_intent(rendering(std::string(kObjects))), {}, Context());
    EXPECT_TRUE(report.ok()) << report.error().to_line();
    cluster.clear_calls();
  }
  Render rendering(std::string yaml) {
    return [this, yaml = std::move(yaml)](const ReleaseState&) -> Result<RenderedRelease> {
      MIST_TRY(auto objects, package::parse_objects({{"all.yaml", yaml}}, events));
      return RenderedRelease{{"test:1", "test", "1", "sha256:1"}, Value::object(), std::move(objects)};
    };
  }
  Environment environment() { return {cluster, clock, random, events, "tester"}; }
  DriftReport drifted() {
    auto report = drift(environment(), id, Context());
    EXPECT_TRUE(report.ok()) << report.error().to_line();
    return *std::move(report);
  }
  std::size_t revisions() { return release::Store(cluster).list_revisions(id, Context())->size(); }
  // As somebody with an editor would.
  void edit(std::string_view kind, std::string_view name, const std::function<void(Value&)>& change) {
    Value object = *cluster.find(kind, "default", name);
    change(object);
    cluster.put(std::move(object), "kubectl-edit");
  }

  FakeCluster cluster;
  SystemClock clock;
  SystemRandom random;
  NullEventSink events;
  release::ReleaseId id{"default", "web"};
};

TEST_F(DriftTest, NothingDriftsByItself) {
  const DriftReport report = drifted();
  EXPECT_THAT(report.found, IsEmpty());
  EXPECT_EQ(report.objects, 3u);
  EXPECT_FALSE(report.drifted(true));
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(DriftTest, ChangedAndRemovedFieldsNameWhoDidIt) {
  edit("Deployment.apps", "web", [](Value& web) { web["spec"].set("replicas", 7); });
  edit("ConfigMap", "settings", [](Value& settings) { settings["data"].erase("size"); });
  const DriftReport report = drifted();
  ASSERT_EQ(report.found.size(), 2u);
  const ObjectDrift& web = report.found[0];
  EXPECT_EQ(web.kind, DriftKind::Changed);
  EXPECT_EQ(web.file, "all.yaml");
  ASSERT_EQ(web.fields.size(), 1u);
  EXPECT_EQ(web.fields[0].path, ".spec.replicas");
  EXPECT_EQ(web.fields[0].recorded, Value(3));
  EXPECT_EQ(web.fields[0].live, Value(7));
  EXPECT_THAT(web.fields[0].managers, ElementsAre("kubectl-edit"));
  ASSERT_EQ(report.found[1].fields.size(), 1u);
  EXPECT_EQ(report.found[1].fields[0].path, ".data.size");
  EXPECT_TRUE(report.found[1].fields[0].live.is_null());
  EXPECT_TRUE(report.drifted(false));
}

// The plan would write the label of the revision that repairs it.
TEST_F(DriftTest, OfTheVersionLabelTheDeployedRevisionsIsRecorded) {
  edit("ConfigMap", "settings",
       [](Value& settings) { settings["metadata"]["labels"].erase(apply::kVersionLabel); });
  const DriftReport report = drifted();
  ASSERT_EQ(report.found.size(), 1u);
  ASSERT_EQ(report.found[0].fields.size(), 1u);
  EXPECT_EQ(report.found[0].fields[0].recorded, Value("v0"));
}

TEST_F(DriftTest, FieldsThatOnlyOthersSetAreToldButAreNoDriftUnlessAskedFor) {
  edit("ConfigMap", "settings", [](Value& settings) { settings["data"].set("extra", "x"); });
  const DriftReport report = drifted();
  ASSERT_EQ(report.found.size(), 1u);
  EXPECT_EQ(report.found[0].kind, DriftKind::Foreign);
  ASSERT_EQ(report.found[0].foreign.size(), 1u);
  EXPECT_EQ(report.found[0].foreign[0].path, ".data.extra");
  EXPECT_EQ(report.found[0].foreign[0].manager, "kubectl-edit");
  EXPECT_FALSE(report.drifted(false));
  EXPECT_TRUE(report.drifted(true));
}

TEST_F(DriftTest, WhatControllersSetIsNotTold) {
  Value web = *cluster.find("Deployment.apps", "default", "web");
  web["metadata"]["annotations"].set("deployment.kubernetes.io/revision", "1");
  cluster.put(std::move(web), "kube-controller-manager");
  EXPECT_THAT(drifted().found, IsEmpty());
}

TEST_F(DriftTest, DeletedObjectsAreMissingButJobsThatRemovedThemselves) {
  cluster.drop({{"", "ConfigMap"}, "default", "settings"});
  cluster.drop({{"batch", "Job"}, "default", "once"});
  const DriftReport report = drifted();
  ASSERT_EQ(report.found.size(), 2u);
  EXPECT_EQ(report.found[0].kind, DriftKind::Missing);
  EXPECT_EQ(report.found[0].key.display(), "ConfigMap default/settings");
  EXPECT_EQ(report.found[1].kind, DriftKind::Finished);
  EXPECT_EQ(report.found[1].reason, "finished; removed by its ttlSecondsAfterFinished");
  EXPECT_EQ(report.count(DriftKind::Finished), 1u);
}

TEST_F(DriftTest, AJobThatRemovedItselfIsNoDrift) {
  cluster.drop({{"batch", "Job"}, "default", "once"});
  EXPECT_FALSE(drifted().drifted(false));
  EXPECT_FALSE(drifted().drifted(true));
  const auto fixed = fix_drift(environment(), id, {}, Context());
  ASSERT_TRUE(fixed.ok()) << fixed.error().to_line();
  EXPECT_FALSE(fixed->changed);
}

TEST_F(DriftTest, AnotherObjectOfTheSameNameIsNotOurs) {
  cluster.drop({{"", "ConfigMap"}, "default", "settings"});
  cluster.put(Value::object({{"apiVersion", "v1"},
                             {"kind", "ConfigMap"},
                             {"metadata", Value::object({{"name", "settings"}, {"namespace", "default"}})}}));
  ASSERT_EQ(drifted().found.size(), 1u);
  EXPECT_EQ(drifted().found[0].kind, DriftKind::NotOurs);
  EXPECT_FALSE(fix_drift(environment(), id, {}, Context()).ok());
  const auto fixed = fix_drift(environment(), id, {.adopt = true}, Context());
  ASSERT_TRUE(fixed.ok()) << fixed.error().to_line();
  EXPECT_THAT(drifted().found, IsEmpty());
}

TEST_F(DriftTest, RepairPutsEverythingBackAsANewRevisionAndOnlyOnce) {
  edit("Deployment.apps", "web", [](Value& web) { web["spec"].set("replicas", 7); });
  cluster.drop({{"", "ConfigMap"}, "default", "settings"});
  const auto fixed = fix_drift(environment(), id, {}, Context());
  ASSERT_TRUE(fixed.ok()) << fixed.error().to_line();
  EXPECT_EQ(fixed->revision, 1);
  EXPECT_EQ(*cluster.find("Deployment.apps", "default", "web")->at_path({"spec", "replicas"}), Value(3));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "settings"));
  EXPECT_THAT(drifted().found, IsEmpty());
  cluster.clear_calls();
  const auto again = fix_drift(environment(), id, {}, Context());
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->changed);
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(DriftTest, ARepairKeepsAsManyRevisionsAsItIsTold) {
  const auto fixes = [&](int max) {
    edit("ConfigMap", "settings", [](Value& settings) { settings["data"].set("color", "red"); });
    const auto fixed = fix_drift(environment(), id, {.history_max = max}, Context());
    ASSERT_TRUE(fixed.ok()) << fixed.error().to_line();
    ASSERT_TRUE(fixed->changed);
  };
  for (int i = 0; i < 12; ++i) fixes(0);
  EXPECT_EQ(release::Store(cluster).list_revisions(id, Context())->size(), 13u);
  fixes(3);
  EXPECT_EQ(release::Store(cluster).list_revisions(id, Context())->size(), 3u);
}

// As a policy does: the write decides, each time.
TEST_F(DriftTest, ARepairThatTheServerRefusesAsAWholeLeavesNoRevision) {
  edit("ConfigMap", "settings", [](Value& settings) { settings["data"].set("color", "red"); });
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.dry_run || call.key.name != "settings") return std::nullopt;
    return testing::api_refusal(ErrorKind::Invalid, "cannot apply", "it stays red");
  });
  for (int round = 0; round < 2; ++round) {
    const auto fixed = fix_drift(environment(), id, {}, Context());
    ASSERT_TRUE(fixed.ok()) << fixed.error().to_line();
    EXPECT_FALSE(fixed->changed);
    EXPECT_EQ(fixed->revision, 0);
    EXPECT_EQ(fixed->left().size(), 1u);
    EXPECT_EQ(revisions(), 1u);
  }
  const auto state = read_release(environment(), id, Context());
  ASSERT_TRUE(state.ok()) << state.error().to_line();
  EXPECT_EQ(state->anchor->head.latest, 0);
  EXPECT_EQ(state->anchor->head.status, release::RevisionStatus::Deployed);
  EXPECT_FALSE(state->anchor->lock);
  EXPECT_TRUE(state->unfinished.empty());
  // Other drift is repaired, as a revision.
  edit("Deployment.apps", "web", [](Value& web) { web["spec"].set("replicas", 7); });
  const auto other = fix_drift(environment(), id, {}, Context());
  ASSERT_TRUE(other.ok()) << other.error().to_line();
  EXPECT_TRUE(other->changed);
  EXPECT_EQ(other->revision, 1);
  EXPECT_EQ(other->left().size(), 1u);
  cluster.set_before({});
  const auto whole = fix_drift(environment(), id, {}, Context());
  ASSERT_TRUE(whole.ok()) << whole.error().to_line();
  EXPECT_EQ(whole->revision, 2);
  EXPECT_THAT(drifted().found, IsEmpty());
}

// A rollback left it.
TEST_F(DriftTest, WhatTheServerAlwaysForbidsToDeleteLeavesNoRevision) {
  const std::string extra =
      "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: extra, namespace: default}}\n";
  const auto upgraded =
      deploy(environment(), id, upgrade_intent(rendering(std::string(kObjects) + extra)), {}, Context());
  ASSERT_TRUE(upgraded.ok()) << upgraded.error().to_line();
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "delete" || call.key.name != "extra") return std::nullopt;
    return testing::api_refusal(ErrorKind::Forbidden, "cannot delete",
                                "admission webhook \"usages.example.com\" denied the request: in use");
  });
  const Environment here = environment();
  const Context context;
  const auto back = deploy(here, id, rollback_intent(here, {}, context), {}, context);
  ASSERT_TRUE(back.ok()) << back.error().to_line();
  ASSERT_EQ(back->revision, 2);
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(drifted().count(DriftKind::LeftOver), 1u);
    const auto fixed = fix_drift(environment(), id, {}, Context());
    ASSERT_TRUE(fixed.ok()) << fixed.error().to_line();
    EXPECT_FALSE(fixed->changed);
    EXPECT_EQ(fixed->revision, 2);
    EXPECT_EQ(fixed->left().size(), 1u);
    EXPECT_EQ(revisions(), 3u);
  }
  edit("ConfigMap", "extra",
       [](Value& object) { object["metadata"].set("finalizers", Value::array({"example.com/held"})); });
  cluster.set_before({});
  const auto begun = fix_drift(environment(), id, {}, Context());
  ASSERT_TRUE(begun.ok()) << begun.error().to_line();
  EXPECT_TRUE(begun->changed) << "it is being deleted now";
  EXPECT_EQ(begun->revision, 3);
  EXPECT_TRUE(begun->left().empty());
  EXPECT_THAT(drifted().found, IsEmpty());
}

TEST_F(DriftTest, WhatMayNotBeReadIsUnknownAndCountsOnlyIfAskedFor) {
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.key.group_kind.kind != "Deployment") return std::nullopt;
    return error(ErrorKind::Forbidden, "deployments is forbidden");
  });
  const DriftReport report = drifted();
  ASSERT_EQ(report.found.size(), 1u);
  EXPECT_EQ(report.found[0].kind, DriftKind::Unknown);
  EXPECT_EQ(report.found[0].key.name, "web");
  EXPECT_EQ(report.found[0].reason, "you may not read it");
  EXPECT_EQ(report.found[0].file, "all.yaml");
  EXPECT_FALSE(report.drifted(false));
  EXPECT_TRUE(report.drifted(true));
  edit("ConfigMap", "settings", [](Value& object) { object["data"].set("color", "red"); });
  EXPECT_TRUE(drifted().drifted(false)) << "what can be seen is still compared";
  const auto fixed = fix_drift(environment(), id, {}, Context());
  ASSERT_FALSE(fixed.ok());
  EXPECT_EQ(fixed.error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(DriftTest, ThereMustBeSuchARelease) {
  const auto report = drift(environment(), {"default", "none"}, Context());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace mist::action
