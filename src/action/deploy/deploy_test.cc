// Install and upgrade on a cluster in memory: which objects are written or not, and what a dead run leaves.
// Owners of objects: ownership_test.cc; fields that can't be changed in place: replace_test.cc.

#include "action/deploy/deploy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "action/deploy/prepare.h"
#include "action/query/status.h"
#include "action/uninstall.h"
#include "apply/reserved_metadata.h"
#include "base/diagnosis.h"
#include "encoding/yaml.h"
#include "testing/api_refusal.h"
#include "testing/laptop_clock.h"
#include "testing/recorded_events.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using testing::FakeCall;
using testing::FakeCluster;
using ::testing::HasSubstr;
using ::testing::Not;

class DeployTest : public testing::ReleaseFixture {
 protected:
  std::string label(std::string_view kind, std::string_view ns, std::string_view name) {
    const auto object = cluster.find(kind, ns, name);
    return object ? std::string(object->string_at({"metadata", "labels", apply::kVersionLabel})) : "absent";
  }
  std::size_t object_writes() const {
    std::size_t count = 0;
    for (const FakeCall& call : cluster.calls())
      count += call.writes() && call.key.group_kind.kind != "Secret";
    return count;
  }
};

TEST_F(DeployTest, FirstInstallMarksEveryObjectWithNameAndV0) {
  const auto report = install_now(std::string(testing::kTwoConfigMaps));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->revision, 0);
  const auto one = cluster.find("ConfigMap", "default", "one");
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->string_at({"metadata", "labels", apply::kNameLabel}), "web");
  EXPECT_EQ(one->string_at({"metadata", "labels", apply::kVersionLabel}), "v0");
  EXPECT_EQ(one->string_at({"metadata", "annotations", apply::kReleaseAnnotation}), "default/web");
  const auto state = status(environment(), id, Context());
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->anchor.head.deployed, 0);
  EXPECT_FALSE(state->locked);
  EXPECT_EQ(state->count(ObjectHealth::Ready), 2u);
}

TEST_F(DeployTest, InstallOfAnExistingReleaseNamesUpgrade) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  const auto again = install_now(std::string(testing::kTwoConfigMaps));
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(again.error().hint, HasSubstr("upgrade"));
}

// A wrong path or an empty file makes nothing as well.
TEST_F(DeployTest, APackageThatMakesNothingTakesNothingAwayUnlessItIsMeant) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  const auto refused = upgrade_now("");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("all 2 objects of release default/web would go"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--allow-empty"));
  EXPECT_TRUE(cluster.find("ConfigMap", "default", "one"));
  DeployOptions meant;
  meant.allow_empty = true;
  ASSERT_TRUE(upgrade_now("", meant).ok());
  EXPECT_FALSE(cluster.find("ConfigMap", "default", "one"));
  EXPECT_TRUE(upgrade_now("").ok()) << "there is nothing left to lose";
}

TEST_F(DeployTest, UnchangedUpgradeWritesNothing) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  cluster.clear_calls();
  const auto report = upgrade_now(std::string(testing::kTwoConfigMaps));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_FALSE(report->changed);
  EXPECT_EQ(cluster.writes(), 0u);
}

// A number of a chart's file is a float, as with Helm; one of --set isn't.
TEST_F(DeployTest, AnUpgradeToTheSameValuesFromAFileWritesNothing) {
  const auto upgrade_to = [&](encoding::Value values) {
    return deploy(environment(), id,
                  upgrade_or_install_intent(rendering(std::string(testing::kTwoConfigMaps),
                                                      {"test:1", "test", "1", "sha256:1"},
                                                      encoding::Value::object({{"a", std::move(values)}}))),
                  {}, Context());
  };
  ASSERT_TRUE(upgrade_to(2).ok());
  cluster.clear_calls();
  const auto same = upgrade_to(2.0);
  ASSERT_TRUE(same.ok()) << same.error().to_line();
  EXPECT_FALSE(same->changed);
  EXPECT_EQ(cluster.writes(), 0u);
  const auto other = upgrade_to("2");
  ASSERT_TRUE(other.ok()) << other.error().to_line();
  EXPECT_TRUE(other->changed);
}

TEST_F(DeployTest, TheRecordNamesTheManagingReleaseByNameAndUid) {
  Environment managed = environment();
  managed.managing_release = "shop/web";
  for (const std::string uid : {"first", "second"}) {
    managed.managing_release_uid = uid;
    const Intent same = upgrade_or_install_intent(rendering(std::string(testing::kTwoConfigMaps)));
    const auto report = deploy(managed, id, same, {}, Context());
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    EXPECT_EQ(now().anchor->head.kept_by_uid, uid);
  }
  ASSERT_TRUE(upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}").ok());
  EXPECT_EQ(now().anchor->head.kept_by, "shop/web");
  EXPECT_EQ(now().anchor->head.kept_by_uid, "second");
}

TEST_F(DeployTest, TheRecordNamesAManagingReleaseThatChangesNothingElse) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  Environment managed = environment();
  managed.managing_release = "shop/web";
  for (const std::size_t writes : {1u, 0u}) {
    cluster.clear_calls();
    const auto report =
        deploy(managed, id, upgrade_intent(rendering(std::string(testing::kTwoConfigMaps))), {}, Context());
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    EXPECT_FALSE(report->changed);
    EXPECT_EQ(cluster.writes(), writes);
    EXPECT_EQ(now().anchor->head.kept_by, "shop/web");
    EXPECT_EQ(now().anchor->head.latest, 0);
  }
}

std::string job_that_removes_itself(std::string_view spec = "") {
  return fmt::format(
      "---\n{{apiVersion: batch/v1, kind: Job, metadata: {{name: once}}, spec: "
      "{{ttlSecondsAfterFinished: 0{}}}}}\n",
      spec);
}

TEST_F(DeployTest, AJobThatRemovedItselfIsNotRunAgainUntilItChanges) {
  const auto there = [&] { return cluster.has("Job.batch", "default", "once"); };
  ASSERT_TRUE(install_now(job_that_removes_itself()).ok());
  cluster.drop({{"batch", "Job"}, "default", "once"});
  cluster.clear_calls();
  const auto same = upgrade_now(job_that_removes_itself(), {.wait = true});
  ASSERT_TRUE(same.ok()) << same.error().to_line();
  EXPECT_FALSE(same->changed);
  EXPECT_EQ(cluster.writes(), 0u);
  // Nor when something else changes, however often.
  for (int i = 0; i < 2; ++i) {
    const std::string more =
        fmt::format("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{}}}}}\n", i);
    const auto other = upgrade_now(job_that_removes_itself() + more, {.wait = true});
    ASSERT_TRUE(other.ok()) << other.error().to_line();
    EXPECT_TRUE(other->changed);
    EXPECT_FALSE(there());
  }
  ASSERT_TRUE(upgrade_now(job_that_removes_itself(", backoffLimit: 2")).ok());
  EXPECT_TRUE(there());
}

// It may have failed: nobody saw it complete.
TEST_F(DeployTest, AJobThatRemovedItselfRunsAgainAfterARevisionThatFailed) {
  const std::string bad = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}\n";
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run && call.key.name == "c")
      return error(ErrorKind::Invalid, "cannot apply it");
    return std::nullopt;
  });
  ASSERT_FALSE(install_now(job_that_removes_itself() + bad).ok());
  cluster.drop({{"batch", "Job"}, "default", "once"});
  cluster.set_before(nullptr);
  ASSERT_TRUE(upgrade_now(job_that_removes_itself() + bad).ok());
  EXPECT_TRUE(cluster.has("Job.batch", "default", "once"));
}

// Its time to live can't be over yet, whether or not it ended: somebody deleted it.
TEST_F(DeployTest, AJobThatIsDeletedBeforeItsTimeToLiveIsOverRunsAgain) {
  const std::string job =
      "{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {ttlSecondsAfterFinished: 86400}}\n";
  ASSERT_TRUE(install_now(job).ok());
  cluster.drop({{"batch", "Job"}, "default", "once"});
  const auto again = upgrade_now(job);
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_TRUE(cluster.has("Job.batch", "default", "once"));
}

TEST_F(DeployTest, AJobWithoutATtlThatIsGoneRunsAgain) {
  const std::string job = "{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {}}\n";
  ASSERT_TRUE(install_now(job).ok());
  cluster.drop({{"batch", "Job"}, "default", "once"});
  ASSERT_TRUE(upgrade_now(job).ok());
  EXPECT_TRUE(cluster.has("Job.batch", "default", "once"));
}

TEST_F(DeployTest, UpgradeTouchesOnlyWhatChangedAndPrunesTheRest) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps) + R"(
---
apiVersion: v1
kind: ConfigMap
metadata: {name: three}
)")
                  .ok());
  cluster.clear_calls();
  const auto report = upgrade_now(R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
data: {b: "changed"}
)");
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(object_writes(), 2u) << "one apply, one delete";
  EXPECT_EQ(label("ConfigMap", "default", "one"), "v0");
  EXPECT_EQ(label("ConfigMap", "default", "two"), "v1");
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "three"));
  EXPECT_EQ(report->plan.writes[1].differences[0].path, ".data.b");
}

TEST_F(DeployTest, RemovedFieldIsADifference) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  ASSERT_TRUE(upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {}}").ok());
  EXPECT_TRUE(cluster.find("ConfigMap", "default", "one")->at_path({"data", "a"}) == nullptr);
}

TEST_F(DeployTest, ForeignFieldsAreLeftAlone) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  auto one = *cluster.find("ConfigMap", "default", "one");
  one["data"].set("theirs", "x");
  cluster.put(one);
  cluster.clear_calls();
  ASSERT_TRUE(upgrade_now(std::string(testing::kTwoConfigMaps)).ok());
  EXPECT_EQ(cluster.writes(), 0u);
  EXPECT_EQ(cluster.find("ConfigMap", "default", "one")->string_at({"data", "theirs"}), "x");
}

// A field that the server drops looks like a difference for ever; the server's word ends it.
TEST_F(DeployTest, WhatTheServerFindsEqualIsNotWritten) {
  const std::string yaml =
      "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: 1, dropped: 2}}";
  cluster.register_kind(
      {{"example.com", "v1", "Widget"}, "widgets", true, {"get", "list", "patch", "delete"}});
  ASSERT_TRUE(install_now(yaml).ok());
  auto widget = *cluster.find("Widget.example.com", "default", "w");
  widget["spec"].erase("dropped");
  cluster.put(widget, "mistctl");
  cluster.clear_calls();
  const auto report = upgrade_now(yaml);
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_TRUE(std::ranges::any_of(cluster.calls(), [](const FakeCall& call) { return call.dry_run; }));
}

TEST_F(DeployTest, BadDocumentsWriteNothingAndNameTheirLine) {
  for (const auto& [yaml, words] : std::vector<std::pair<std::string, std::string>>{
           {"apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", "no metadata.name"},
           {std::string(testing::kTwoConfigMaps) + "---" + std::string(testing::kTwoConfigMaps), "twice"},
           {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {applyset.kubernetes.io/part-of: "
            "x}}\n",
            "belongs to Mistletoe"},
           {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}, {port: 80}]}\n",
            "spec.ports has port=80, protocol=TCP twice"},
           {"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n", "Widget"}}) {
    cluster.clear_calls();
    const auto report = install_now(yaml);
    ASSERT_FALSE(report.ok()) << yaml;
    EXPECT_THAT(report.error().to_line(), HasSubstr(words));
    EXPECT_EQ(cluster.writes(), 0u) << yaml;
  }
}

TEST_F(DeployTest, CrdsComeBeforeTheirObjects) {
  const auto report = install_now(R"(
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
spec: {size: 1}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
)");
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_TRUE(cluster.has("Widget.example.com", "default", "w"));
}

// Discovery is remembered for minutes, by this program and by the server.
TEST_F(DeployTest, ACrdThatIsGoneComesAgainBeforeItsObjects) {
  const auto forget = [this](const std::string& name) {
    cluster.freeze_discovery();
    ASSERT_TRUE(cluster
                    .remove({{{"apiextensions.k8s.io", "v1", "CustomResourceDefinition"},
                              "customresourcedefinitions",
                              false,
                              {}},
                             "",
                             name},
                            {}, Context())
                    .ok());
  };
  const std::string both = R"(
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
)";
  ASSERT_TRUE(install_now(both).ok());
  forget("widgets.example.com");
  // The first moment of a new CRD, when its kind has no handler yet.
  int early = 0;
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.dry_run || call.key.group_kind.kind != "Widget" || early++ > 0)
      return {};
    return error(ErrorKind::NotFound, "cannot apply").with_because("404 page not found");
  });
  id = {"default", "again"};
  const auto report = install_now(both);
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(early, 2);
  EXPECT_TRUE(cluster.has("Widget.example.com", "default", "w"));

  // A release without the CRD is refused before anything is written.
  forget("widgets.example.com");
  cluster.clear_calls();
  id = {"default", "third"};
  const auto refused = install_now(R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: first}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
)");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::NotFound);
  ASSERT_TRUE(refused.error().where.has_value());
  EXPECT_EQ(refused.error().where->line, 6u);
  EXPECT_EQ(cluster.writes(), 0u);
}

// An object whose version is no longer served is there all the same.
TEST_F(DeployTest, AnObjectOfAVersionThatIsGoneIsNotForgotten) {
  const auto crd = [](std::string_view version) {
    return *encoding::parse_yaml(fmt::format(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.example.com}}
spec:
  group: example.com
  scope: Namespaced
  names: {{kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}}
  versions: [{{name: {}, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}]
)",
                                             version));
  };
  for (const bool pruned : {true, false}) {
    cluster.put(crd("v1alpha1"));
    cluster.invalidate_discovery();
    ASSERT_TRUE(install_now(R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: example.com/v1alpha1
kind: Widget
metadata: {name: w}
)")
                    .ok());
    ASSERT_TRUE(cluster.has("Widget.example.com", "default", "w"));
    cluster.freeze_discovery();
    cluster.put(crd("v1"));
    if (pruned) {
      const auto report = upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
      ASSERT_TRUE(report.ok()) << report.error().to_line();
      EXPECT_FALSE(cluster.has("Widget.example.com", "default", "w"));
      cluster.freeze_discovery();
    }
    const auto gone = uninstall_now();
    ASSERT_TRUE(gone.ok()) << gone.error().to_line();
    EXPECT_FALSE(cluster.has("Widget.example.com", "default", "w"));
  }
}

TEST_F(DeployTest, MissingNamespaceIsNamedAndCanBeCreated) {
  id = {"shop", "web"};
  const auto refused = install_now(std::string(testing::kTwoConfigMaps));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().hint, HasSubstr("--create-namespace"));
  const auto report = install_now(std::string(testing::kTwoConfigMaps), {.create_namespace = true});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_TRUE(cluster.has("ConfigMap", "shop", "one"));
}

TEST_F(DeployTest, ReapplyingRestoresWhatIsRecordedWithoutRendering) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  ASSERT_TRUE(upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: x}}").ok());
  const auto reapply = [&] { return deploy(environment(), id, reapply_intent(), {}, Context()); };
  const auto nothing = reapply();
  ASSERT_TRUE(nothing.ok()) << nothing.error().to_line();
  EXPECT_FALSE(nothing->changed) << "what is recorded is there";
  cluster.drop({{"", "ConfigMap"}, "default", "one"});
  const auto report = reapply();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->revision, 2);
  EXPECT_EQ(report->package.reference, "test:1");
  EXPECT_EQ(cluster.find("ConfigMap", "default", "one")->string_at({"data", "a"}), "x");
  EXPECT_EQ(label("ConfigMap", "default", "one"), "v2");
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "two"));
  EXPECT_FALSE(reapply()->changed) << "ownership labels are added once";
}

TEST_F(DeployTest, ReapplyingNeedsADeployedRevision) {
  const auto missing = deploy(environment(), id, reapply_intent(), {}, Context());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run) return error(ErrorKind::Forbidden, "quota exceeded");
    return std::nullopt;
  });
  ASSERT_FALSE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  const auto never = deploy(environment(), id, reapply_intent(), {}, Context());
  ASSERT_FALSE(never.ok());
  EXPECT_THAT(never.error().message, HasSubstr("never deployed"));
}

TEST_F(DeployTest, LookingWritesNothing) {
  id = {"shop", "web"};
  const auto seen =
      prepare(environment(), id, install_intent(rendering(std::string(testing::kTwoConfigMaps))),
              {.create_namespace = true}, Context());
  ASSERT_TRUE(seen.ok()) << seen.error().to_line();
  EXPECT_TRUE(seen->namespace_missing);
  EXPECT_EQ(seen->plan.count(apply::ActionKind::Create), 2u);
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(DeployTest, AReleaseMayBringItsOwnNamespace) {
  id = {"shop", "web"};
  const std::string yaml =
      "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n---" + std::string(testing::kTwoConfigMaps);
  const auto report = install_now(yaml, {.create_namespace = true});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->plan.writes[0].kind, apply::ActionKind::Adopt) << report->plan.writes[0].reason;
}

TEST_F(DeployTest, DryRunWritesNothing) {
  const auto report = install_now(std::string(testing::kTwoConfigMaps), {.dry_run = DryRun::Client});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->plan.count(apply::ActionKind::Create), 2u);
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(DeployTest, PrunedClaimIsRetainedInTheInventory) {
  const std::string claim =
      "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: "
      "[ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n---\n";
  ASSERT_TRUE(install_now(claim + std::string(testing::kTwoConfigMaps)).ok());
  ASSERT_TRUE(upgrade_now(std::string(testing::kTwoConfigMaps)).ok());
  EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "default", "data"));
  const auto state = status(environment(), id, Context());
  const auto retained =
      std::ranges::find_if(state->objects, [](const ObjectStatus& object) { return object.retained; });
  ASSERT_NE(retained, state->objects.end());
  EXPECT_EQ(retained->key.name, "data");
  ASSERT_TRUE(
      upgrade_now(std::string(testing::kTwoConfigMaps), {.allowed = {.prune = {.delete_pvcs = true}}}).ok());
  EXPECT_FALSE(cluster.has("PersistentVolumeClaim", "default", "data"));
}

TEST_F(DeployTest, RefusedObjectFailsTheRevisionAndKeepsEverythingOwned) {
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run && call.key.name == "two")
      return error(ErrorKind::Forbidden, "quota exceeded");
    return std::nullopt;
  });
  const auto failed = install_now(std::string(testing::kTwoConfigMaps));
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().to_line(), HasSubstr("quota exceeded"));
  cluster.set_before({});
  const auto state = status(environment(), id, Context());
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->anchor.head.status, release::RevisionStatus::Failed);
  EXPECT_FALSE(state->locked);
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  EXPECT_EQ(label("ConfigMap", "default", "one"), "v0");
  EXPECT_EQ(label("ConfigMap", "default", "two"), "v1");
}

TEST_F(DeployTest, WhyItFailedIsRecordedOnce) {
  constexpr std::string_view kJob =
      "{apiVersion: batch/v1, kind: Job, metadata: {name: job}, spec: {template: {spec: {containers: [{name: "
      "c}]}}}}";
  cluster.set_after([&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run && call.key.group_kind.kind == "Job")
      cluster.set_status(call.key,
                         *encoding::parse_yaml("{conditions: [{type: Failed, status: 'True', "
                                               "reason: BackoffLimitExceeded, message: it gave up}]}"));
    return std::nullopt;
  });
  const auto failed = install_now(std::string(kJob), {.wait = true});
  ASSERT_FALSE(failed.ok());
  ASSERT_NE(diagnosis_of(failed.error()), nullptr);
  const std::string message = now().unfinished.back().message;
  EXPECT_THAT(message, ::testing::StartsWith("Job default/job failed (Job default/job"));
  EXPECT_THAT(message, HasSubstr("it gave up"));
  EXPECT_THAT(message, Not(HasSubstr("while waiting")));
  EXPECT_THAT(message, Not(HasSubstr("Release default/web")));
}

TEST_F(DeployTest, AStopWhileItWaitsIsRecordedAsOne) {
  constexpr std::string_view kJob =
      "{apiVersion: batch/v1, kind: Job, metadata: {name: job}, spec: {template: {spec: {containers: [{name: "
      "c}]}}}}";
  std::stop_source stop;
  cluster.set_after([&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "watch") stop.request_stop();
    return std::nullopt;
  });
  const auto stopped = deploy(environment(), id, install_intent(rendering(std::string(kJob))), {.wait = true},
                              Context(stop.get_token()));
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::Cancelled);
  EXPECT_THAT(stopped.error().hint, HasSubstr("recover web -n default --undo"));
  EXPECT_THAT(now().unfinished.back().message,
              ::testing::StartsWith("stopped on request while 1 object was not ready"));
}

TEST_F(DeployTest, WhatTakesTimeAtAFarClusterIsNamed) {
  testing::RecordedEvents seen;
  const Environment with_sink{cluster, clock, random, seen, "tester"};
  DeployOptions checked;
  checked.dry_run = DryRun::Server;
  const Intent intent = install_intent(rendering(std::string(testing::kTwoConfigMaps)));
  ASSERT_TRUE(deploy(with_sink, id, intent, checked, Context()).ok());
  EXPECT_THAT(std::exchange(seen.activities, {}),
              ::testing::ElementsAre("reading release default/web", "reading the cluster",
                                     "checking with the server"));
  ASSERT_TRUE(deploy(with_sink, id, intent, {}, Context()).ok());
  EXPECT_THAT(std::exchange(seen.activities, {}),
              ::testing::ElementsAre("reading release default/web", "reading the cluster",
                                     "recording revision v0", "applying 2 objects", "recording the outcome"));
  ASSERT_TRUE(status(with_sink, id, Context()).ok());
  EXPECT_THAT(seen.activities, ::testing::ElementsAre("reading release default/web", "reading the cluster"));
}

TEST_F(DeployTest, AServersDryRunLeavesOutWhatIsInANamespaceToBeCreated) {
  id = {"shop", "web"};
  testing::RecordedEvents seen;
  const Environment with_sink{cluster, clock, random, seen, "tester"};
  const Intent intent = install_intent(rendering(std::string(testing::kTwoConfigMaps)));
  const auto report =
      deploy(with_sink, id, intent, {.dry_run = DryRun::Server, .create_namespace = true}, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->plan.count(apply::ActionKind::Create), 2u);
  EXPECT_TRUE(seen.has("ConfigMap shop/one was not checked by the server: its namespace does not exist yet"));
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(DeployTest, AServersDryRunForgivesWhatTheWriteGetsOver) {
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || !call.dry_run || call.key.name != "one") return std::nullopt;
    return testing::api_refusal(
        ErrorKind::Invalid, "cannot apply",
        "admission webhook \"a.b\" does not support dry run because the sideEffects field is not None");
  });
  testing::RecordedEvents seen;
  const Environment with_sink{cluster, clock, random, seen, "tester"};
  const Intent intent = install_intent(rendering(std::string(testing::kTwoConfigMaps)));
  const auto report = deploy(with_sink, id, intent, {.dry_run = DryRun::Server}, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_TRUE(
      seen.has("ConfigMap default/one was not checked by the server: a webhook that looks at it "
               "supports no dry runs"));
}

// Killed at each request in turn: the next run finishes, nothing is left over, nothing is written twice with
// effect.
TEST_F(DeployTest, NothingIsLostWhereverTheProcessDies) {
  for (std::size_t point = 1; point < 60; ++point) {
    FakeCluster fresh;
    const auto before = fresh.objects();
    Environment dying{fresh, no_expiry, random, events, "dying", std::chrono::milliseconds(200)};
    std::atomic<bool> dead{false};
    fresh.set_before([&](const FakeCall& call) -> std::optional<Error> {
      if (call.number >= point) dead = true;
      if (dead) return error(ErrorKind::Retryable, "the process is gone");
      return std::nullopt;
    });
    const bool survived =
        deploy(dying, id, install_intent(rendering(std::string(testing::kTwoConfigMaps))), {}, Context())
            .ok();
    fresh.set_before({});
    if (survived) {
      EXPECT_GT(point, 6u);
      return;
    }
    Environment next{
        fresh, no_expiry, random, events, "next", std::chrono::milliseconds(200), std::chrono::seconds(60)};
    const auto report =
        deploy(next, id, install_intent(rendering(std::string(testing::kTwoConfigMaps))), {}, Context());
    if (!report.ok()) {
      // Only when the first run had finished in all but its answer.
      const auto state = status(next, id, Context());
      ASSERT_TRUE(state.ok() && state->anchor.head.deployed >= 0)
          << "point " << point << ": " << report.error().to_line();
    }
    EXPECT_TRUE(fresh.has("ConfigMap", "default", "one") && fresh.has("ConfigMap", "default", "two"))
        << point;
    auto plan = plan_uninstall(next, id, {}, Context());
    ASSERT_TRUE(plan.ok());
    ASSERT_TRUE(uninstall(next, *plan, {}, Context()).ok()) << point;
    EXPECT_EQ(fresh.objects(), before) << "point " << point;
  }
  FAIL() << "the install never survived";
}

TEST_F(DeployTest, LostAnswersOfCreatesAreRecognisedAsOurOwn) {
  std::atomic<int> lost{0};
  cluster.set_after([&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && call.executed_ok && lost++ == 0)
      return error(ErrorKind::Conflict, "the object exists already");
    return std::nullopt;
  });
  const auto report = install_now(std::string(testing::kTwoConfigMaps));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
}

TEST_F(DeployTest, LivingHolderIsNamed) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  release::Store store(cluster);
  auto anchor = store.read_anchor(id, Context());
  const auto lock =
      release::ReleaseLock::acquire({store, cluster, clock, random, events}, **anchor, {},
                                    {.holder = "alice@laptop", .operation = "upgrade"}, Context());
  ASSERT_TRUE(lock.ok());
  const auto refused = upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("alice@laptop"));
}

// The machine slept while the last object was written: by now somebody else may have finished that revision.
TEST_F(DeployTest, WhoseLockRanOutDoesNotFinishTheRevision) {
  testing::LaptopClock laptop;
  cluster.set_after([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && call.key.name == "two") laptop.suspend(std::chrono::minutes(20));
    return std::nullopt;
  });
  const Environment here{cluster, laptop, random, events, "tester"};
  const auto report =
      deploy(here, id, install_intent(rendering(std::string(testing::kTwoConfigMaps))), {}, Context());
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, HasSubstr("the lock of release default/web ran out"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "two"));
  for (const testing::FakeCall& call : cluster.calls())
    EXPECT_FALSE(call.verb == "patch" && call.key.name == "mistletoe.web.v0");
}

// The machine slept once it had the lock. The Secret there is the next holder's: nobody is told to delete it.
TEST_F(DeployTest, WhoseLockRanOutBeforeTheRevisionIsStoredSaysThat) {
  testing::LaptopClock laptop;
  const Environment here{cluster, laptop, random, events, "tester"};
  const auto fails_after = [&](std::string_view verb, const Intent& intent) {
    bool locked = false, slept = false;
    cluster.set_after([&](const testing::FakeCall& call) -> std::optional<Error> {
      locked |= call.writes() && call.key.name == "mistletoe.web";
      if (locked && call.verb == verb && !std::exchange(slept, true))
        laptop.suspend(std::chrono::minutes(20));
      return std::nullopt;
    });
    const auto report = deploy(here, id, intent, {}, Context());
    cluster.set_after({});
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.error().message, HasSubstr("the lock of release default/web ran out"));
    EXPECT_EQ(report.error().because, "");
    EXPECT_EQ(report.error().hint, "run the command again");
  };
  fails_after("create", install_intent(rendering(std::string(testing::kTwoConfigMaps))));
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  const std::string one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}";
  fails_after("list", upgrade_intent(rendering(one)));
}

// Of what a finalizer holds nobody else would know any more.
TEST_F(DeployTest, WhatIsBeingDeletedIsTheReleasesUntilItIsGone) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  encoding::Value held = *cluster.find("ConfigMap", "default", "two");
  held["metadata"].set("finalizers", encoding::Value::array({"example.com/hold"}));
  cluster.put(std::move(held));
  const std::string one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}";
  const auto pruned = upgrade_now(one);
  ASSERT_TRUE(pruned.ok()) << pruned.error().to_line();
  ASSERT_EQ(pruned->plan.removals.size(), 1u);
  EXPECT_EQ(pruned->plan.removals[0].kind, apply::ActionKind::Retain);
  EXPECT_THAT(pruned->plan.removals[0].reason, HasSubstr("example.com/hold"));
  ASSERT_EQ(now().owned().size(), 2u);
  const auto again = upgrade_now(one);
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_FALSE(again->changed);
  cluster.drop({{"", "ConfigMap"}, "default", "two"});
  ASSERT_TRUE(upgrade_now(one + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: three}}").ok());
  EXPECT_EQ(now().owned().size(), 2u) << "it is forgotten once it is gone";
}

// Also if it is deleted before everything else, for what it refuses.
TEST_F(DeployTest, APolicyThatIsBeingDeletedIsTheReleasesUntilItIsGone) {
  const std::string policy =
      "---\n{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: "
      "most}}\n";
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps) + policy).ok());
  const apimachinery::ObjectKey key{
      {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy"}, "", "most"};
  encoding::Value held = *cluster.find(key);
  held["metadata"].set("finalizers", encoding::Value::array({"example.com/hold"}));
  cluster.put(std::move(held));
  std::atomic<bool> deleted = false;
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "delete" && !call.dry_run && call.key == key) deleted = true;
    if (call.verb != "apply" || call.key.name != "one" || deleted) return std::nullopt;
    return testing::api_refusal(
        ErrorKind::Forbidden, "cannot apply",
        "ValidatingAdmissionPolicy 'most' with binding 'most-binding' denied request: too new");
  });
  const std::string one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: new}}";
  const auto report = upgrade_now(one);
  cluster.set_before({});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  const auto removed = std::ranges::find(report->plan.removals, key, &apply::PlannedAction::key);
  ASSERT_NE(removed, report->plan.removals.end());
  EXPECT_TRUE(removed->first);
  EXPECT_EQ(removed->kind, apply::ActionKind::Retain);
  EXPECT_THAT(removed->reason, HasSubstr("example.com/hold"));
  EXPECT_EQ(now().owned().size(), 2u);
  cluster.drop(key);
  ASSERT_TRUE(upgrade_now(one + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: three}}").ok());
  EXPECT_EQ(now().owned().size(), 2u) << "it is forgotten once it is gone";
}

TEST_F(DeployTest, LargeRecordsAreStoredInChunksAndSweptWhenOrphaned) {
  release::Store store(cluster, {.inline_bytes = 200, .chunk_bytes = 200});
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  auto anchor = **store.read_anchor(id, Context());
  auto revision = **store.read_revision(anchor, 0, Context());
  revision.number = 7;
  revision.attempt = "abcd";
  ASSERT_TRUE(store.create_revision(anchor, revision, *release::Store::pack(revision), Context()).ok());
  revision.status = release::RevisionStatus::Deployed;
  ASSERT_TRUE(store.finish_revision(anchor, revision, Context()).ok());
  const auto back = store.read_revision(anchor, 7, Context());
  ASSERT_TRUE(back.ok() && back->has_value()) << back.error().to_line();
  EXPECT_EQ((*back)->objects.size(), 2u);
  EXPECT_EQ((*back)->inventory.size(), revision.inventory.size());
  cluster.drop({{"", "Secret"}, "default", "mistletoe.web.v7"});
  ASSERT_TRUE(store.sweep_chunks(id, Context()).ok());
  for (const auto& key : cluster.objects()) EXPECT_THAT(key.name, Not(HasSubstr(".v7.")));
}

// Of a deployed revision, which is found by its name.
TEST_F(DeployTest, ARevisionThatLostItsLabelsGetsThemBackAndGoesWithTheRelease) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  encoding::Value secret = *cluster.find("Secret", "default", "mistletoe.web.v0");
  const encoding::Value labels = *secret.at_path({"metadata", "labels"});
  secret["metadata"].erase("labels");
  cluster.put(secret);
  ASSERT_TRUE(upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}").ok());
  EXPECT_EQ(*cluster.find("Secret", "default", "mistletoe.web.v0")->at_path({"metadata", "labels"}), labels);
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web.v0"));
}

TEST_F(DeployTest, ARevisionThatLostItsLabelsGoesWithTheReleaseAtOnce) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  encoding::Value secret = *cluster.find("Secret", "default", "mistletoe.web.v0");
  secret["metadata"].erase("labels");
  cluster.put(secret);
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web.v0"));
  EXPECT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
}

}  // namespace
}  // namespace mist::action
