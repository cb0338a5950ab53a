#include "action/deploy.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "action/look.h"
#include "action/status.h"
#include "action/uninstall.h"
#include "encoding/yaml.h"
#include "package/objects.h"
#include "testing/fake_cluster.h"

namespace mist::action {
namespace {

using ::testing::Contains;
using testing::FakeCall;
using testing::FakeCluster;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kConfigMaps = R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
data: {b: "2"}
)";

class DeployTest : public ::testing::Test {
 protected:
  Environment environment() { return {cluster, clock, random, events, "tester"}; }

  Render rendering(std::string yaml, std::string digest = "sha256:1",
                   const encoding::Value& values = encoding::Value::object()) {
    return [=, this](const ReleaseState&) -> Result<RenderedRelease> {
      MIST_TRY(auto objects, package::parse_objects({{"all.yaml", yaml}}, events));
      return RenderedRelease{{"test:1", "test", "1", digest}, values, std::move(objects), {}};
    };
  }
  Result<DeployReport> install_now(std::string yaml, const DeployOptions& options = {}) {
    return deploy(environment(), id, install_intent(rendering(std::move(yaml))), options, Context());
  }
  Result<DeployReport> upgrade_now(std::string yaml, const DeployOptions& options = {}) {
    return deploy(environment(), id, upgrade_intent(rendering(std::move(yaml))), options, Context());
  }
  Result<UninstallReport> uninstall_now(const UninstallOptions& options = {}) {
    auto plan = plan_uninstall(environment(), id, options, Context());
    if (!plan.ok()) return std::move(plan).error();
    return uninstall(environment(), *plan, options, Context());
  }
  std::string label(std::string_view kind, std::string_view ns, std::string_view name) {
    const auto object = cluster.find(kind, ns, name);
    return object ? std::string(object->string_at({"metadata", "labels", release::kVersionLabel})) : "absent";
  }
  std::size_t object_writes() const {
    std::size_t count = 0;
    for (const FakeCall& call : cluster.calls())
      count += call.writes() && call.key.group_kind.kind != "Secret";
    return count;
  }

  FakeCluster cluster;
  SystemClock clock;
  SystemRandom random;
  NullEventSink events;
  release::ReleaseId id{"default", "web"};
};

TEST_F(DeployTest, FirstInstallMarksEveryObjectWithNameAndV0) {
  const auto report = install_now(std::string(kConfigMaps));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->revision, 0);
  const auto one = cluster.find("ConfigMap", "default", "one");
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->string_at({"metadata", "labels", release::kNameLabel}), "web");
  EXPECT_EQ(one->string_at({"metadata", "labels", release::kVersionLabel}), "v0");
  EXPECT_EQ(one->string_at({"metadata", "annotations", release::kReleaseAnnotation}), "default/web");
  const auto state = status(environment(), id, Context());
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->anchor.head.deployed, 0);
  EXPECT_FALSE(state->locked);
  EXPECT_EQ(state->count(ObjectHealth::Ready), 2u);
}

TEST_F(DeployTest, InstallOfAnExistingReleaseNamesUpgrade) {
  ASSERT_TRUE(install_now(std::string(kConfigMaps)).ok());
  const auto again = install_now(std::string(kConfigMaps));
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(again.error().hint, HasSubstr("upgrade"));
}

TEST_F(DeployTest, UnchangedUpgradeWritesNothing) {
  ASSERT_TRUE(install_now(std::string(kConfigMaps)).ok());
  cluster.clear_calls();
  const auto report = upgrade_now(std::string(kConfigMaps));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_FALSE(report->changed);
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(DeployTest, UpgradeTouchesOnlyWhatChangedAndPrunesTheRest) {
  ASSERT_TRUE(install_now(std::string(kConfigMaps) + R"(
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
  ASSERT_TRUE(install_now(std::string(kConfigMaps)).ok());
  ASSERT_TRUE(upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {}}").ok());
  EXPECT_TRUE(cluster.find("ConfigMap", "default", "one")->at_path({"data", "a"}) == nullptr);
}

TEST_F(DeployTest, ForeignFieldsAreLeftAlone) {
  ASSERT_TRUE(install_now(std::string(kConfigMaps)).ok());
  auto one = *cluster.find("ConfigMap", "default", "one");
  one["data"].set("theirs", "x");
  cluster.put(one);
  cluster.clear_calls();
  ASSERT_TRUE(upgrade_now(std::string(kConfigMaps)).ok());
  EXPECT_EQ(cluster.writes(), 0u);
  EXPECT_EQ(cluster.find("ConfigMap", "default", "one")->string_at({"data", "theirs"}), "x");
}

TEST_F(DeployTest, ObjectsOfOthersAreRefusedBeforeAnyWrite) {
  cluster.put(encoding::Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", encoding::Value::object({{"name", "two"}, {"namespace", "default"}})}}));
  cluster.clear_calls();
  const auto report = install_now(std::string(kConfigMaps));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(report.error().message, HasSubstr("ConfigMap default/two exists already"));
  EXPECT_EQ(report.error().where->line, 7u);
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(DeployTest, AllConflictsAreNamedAtOnce) {
  for (const std::string_view name : {"one", "two"})
    cluster.put(encoding::Value::object(
        {{"apiVersion", "v1"},
         {"kind", "ConfigMap"},
         {"metadata", encoding::Value::object({{"name", name}, {"namespace", "default"}})}}));
  const auto report = install_now(std::string(kConfigMaps));
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().to_line(), HasSubstr("also: ConfigMap default/two exists already"));
  EXPECT_THAT(report.error().to_line(), HasSubstr("(all.yaml:7)"));
  EXPECT_THAT(report.error().hint, HasSubstr("--adopt"));
}

TEST_F(DeployTest, AdoptTakesWhatBelongsToNobodyAndSaysWhatDiffers) {
  encoding::Value data = encoding::Value::object({{"b", "theirs"}});
  cluster.put(encoding::Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", encoding::Value::object({{"name", "two"}, {"namespace", "default"}})},
       {"data", data}}));
  const auto report =
      install_now(std::string(kConfigMaps), {.force_conflicts = true, .prune = {}, .adopt = true});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  const apply::PlannedAction& adopted = report->plan.writes[1];
  EXPECT_EQ(adopted.kind, apply::ActionKind::Adopt);
  EXPECT_TRUE(std::ranges::any_of(adopted.differences, [](const apply::FieldDifference& d) {
    return d.path == ".data.b" && d.before == encoding::Value("theirs");
  }));
  EXPECT_EQ(label("ConfigMap", "default", "two"), "v0");
  const auto state = read_release(environment(), id, Context());
  ASSERT_TRUE(state.ok());
  EXPECT_TRUE(std::ranges::any_of(state->deployed->inventory, [](const release::InventoryItem& item) {
    return item.key.name == "two" && item.adopted;
  }));
}

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
  return error(ErrorKind::Invalid, "cannot apply")
      .with_because("Deployment.apps \"web\" is invalid: spec.selector: Invalid value: field is immutable");
}

TEST_F(DeployTest, WhatCantBeChangedIsRefusedWithTheFieldAndTheFlag) {
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

TEST_F(DeployTest, WithReplaceItIsDeletedAndCreatedAnew) {
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
        {.replace = !by_annotation});
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
TEST_F(DeployTest, AReplacementThatWasInterruptedIsFinishedByTheNextWrite) {
  for (std::size_t point = 1; point < 60; ++point) {
    FakeCluster fresh;
    const auto before = fresh.objects();
    const Environment here{
        fresh, clock, random, events, "tester", std::chrono::milliseconds(200), std::chrono::seconds(20)};
    ASSERT_TRUE(deploy(here, id, install_intent(rendering(selecting("a"))), {}, Context()).ok());
    std::atomic<bool> dead{false};
    const std::size_t begin = fresh.calls().size();
    fresh.set_before([&](const FakeCall& call) -> std::optional<Error> {
      if (call.number >= begin + point) dead = true;
      if (dead) return error(ErrorKind::Retryable, "the process is gone");
      return immutable_selector(call);
    });
    const bool survived =
        deploy(here, id, upgrade_intent(rendering(selecting("b"))), {.replace = true}, Context()).ok();
    fresh.set_before({});
    // Pruned by the next write although only its mark tells which of the two it is.
    const std::string other = "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}";
    if (point % 2 == 0) {
      const auto next = deploy(here, id, upgrade_intent(rendering(other)), {.prune = {}}, Context());
      ASSERT_TRUE(next.ok()) << point << ": " << next.error().to_line();
      EXPECT_FALSE(fresh.has("Deployment.apps", "default", "web")) << point;
    } else {
      const auto next =
          deploy(here, id, upgrade_intent(rendering(selecting("b"))), {.replace = true}, Context());
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

TEST_F(DeployTest, KeptObjectsAndClaimsAreNotReplacedWithoutTheirFlag) {
  const auto claim = [](std::string_view mode) {
    return fmt::format(
        "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: data}}, spec: {{accessModes: [{}], "
        "resources: {{requests: {{storage: 1Gi}}}}}}}}",
        mode);
  };
  ASSERT_TRUE(install_now(claim("ReadWriteOnce")).ok());
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || !call.dry_run) return std::nullopt;
    return error(ErrorKind::Invalid, "cannot apply").with_because("spec is immutable after creation");
  });
  const auto refused = upgrade_now(claim("ReadWriteMany"), {.replace = true});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().hint, HasSubstr("--delete-pvcs"));
  const auto replaced =
      upgrade_now(claim("ReadWriteMany"), {.prune = {.delete_pvcs = true}, .replace = true});
  EXPECT_TRUE(replaced.ok()) << replaced.error().to_line();
}

TEST_F(DeployTest, FieldsOfOthersAreAConflictThatNamesManagerAndField) {
  ASSERT_TRUE(install_now(std::string(kConfigMaps)).ok());
  auto two = *cluster.find("ConfigMap", "default", "two");
  two["data"].set("b", "edited");
  cluster.put(two, "kubectl-edit");
  cluster.clear_calls();
  const auto refused = upgrade_now(std::string(kConfigMaps));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("ConfigMap default/two has fields that other managers own"));
  EXPECT_THAT(refused.error().message, HasSubstr("kubectl-edit"));
  EXPECT_THAT(refused.error().message, HasSubstr(".data.b"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--force-conflicts"));
  EXPECT_EQ(refused.error().where->line, 7u);
  EXPECT_EQ(cluster.writes(), 0u);
  ASSERT_TRUE(upgrade_now(std::string(kConfigMaps), {.force_conflicts = true}).ok());
  EXPECT_EQ(cluster.find("ConfigMap", "default", "two")->string_at({"data", "b"}), "2");
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

TEST_F(DeployTest, AdoptDoesNotTakeFromOtherReleases) {
  ASSERT_TRUE(install_now(std::string(kConfigMaps)).ok());
  DeployOptions options;
  options.adopt = true;
  const auto other = deploy(environment(), {"default", "other"},
                            install_intent(rendering(std::string(kConfigMaps))), options, Context());
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().hint, HasSubstr("--take-over-from default/web"));
}

// Whatever a record says, the mark on the live object decides whose it is.
TEST_F(DeployTest, WhatAnotherReleaseMarkedIsNeitherPrunedNorUninstalled) {
  ASSERT_TRUE(install_now(std::string(kConfigMaps)).ok());
  auto two = *cluster.find("ConfigMap", "default", "two");
  two["metadata"]["labels"].set(release::kPartOfLabel, release::apply_set_id({"default", "other"}));
  cluster.put(two);
  ASSERT_TRUE(upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}").ok());
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "two"));
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "two"));
}

TEST_F(DeployTest, AnotherReleasesObjectNamesItsOwner) {
  ASSERT_TRUE(install_now(std::string(kConfigMaps)).ok());
  const auto other = deploy(environment(), {"default", "other"},
                            install_intent(rendering(std::string(kConfigMaps))), {}, Context());
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("belongs to release default/web"));
}

TEST_F(DeployTest, BadDocumentsWriteNothingAndNameTheirLine) {
  for (const auto& [yaml, words] : std::vector<std::pair<std::string, std::string>>{
           {"apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", "no metadata.name"},
           {std::string(kConfigMaps) + "---" + std::string(kConfigMaps), "twice"},
           {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {applyset.kubernetes.io/part-of: "
            "x}}\n",
            "belongs to Mistletoe"},
           {"apiVersion: v1\nkind: Namespace\nmetadata: {name: a, namespace: b}\n", "not namespaced"},
           {"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n", "Widget"}}) {
    cluster.clear_calls();
    const auto report = install_now(yaml);
    ASSERT_FALSE(report.ok()) << yaml;
    EXPECT_THAT(report.error().to_line(), HasSubstr(words));
    EXPECT_EQ(cluster.writes(), 0u) << yaml;
  }
}

TEST_F(DeployTest, DefinitionsComeBeforeTheirObjects) {
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

TEST_F(DeployTest, MissingNamespaceIsNamedAndCanBeCreated) {
  id = {"shop", "web"};
  const auto refused = install_now(std::string(kConfigMaps));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().hint, HasSubstr("--create-namespace"));
  const auto report = install_now(std::string(kConfigMaps), {.create_namespace = true});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_TRUE(cluster.has("ConfigMap", "shop", "one"));
}

TEST_F(DeployTest, ReapplyingRestoresWhatIsRecordedWithoutRendering) {
  ASSERT_TRUE(install_now(std::string(kConfigMaps)).ok());
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
  EXPECT_FALSE(reapply()->changed) << "marks are added once";
}

TEST_F(DeployTest, ReapplyingNeedsADeployedRevision) {
  const auto missing = deploy(environment(), id, reapply_intent(), {}, Context());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply") return error(ErrorKind::Forbidden, "quota exceeded");
    return std::nullopt;
  });
  ASSERT_FALSE(install_now(std::string(kConfigMaps)).ok());
  const auto never = deploy(environment(), id, reapply_intent(), {}, Context());
  ASSERT_FALSE(never.ok());
  EXPECT_THAT(never.error().message, HasSubstr("never deployed"));
}

TEST_F(DeployTest, LookingWritesNothing) {
  id = {"shop", "web"};
  const auto seen = look(environment(), id, install_intent(rendering(std::string(kConfigMaps))),
                         {.create_namespace = true}, Context());
  ASSERT_TRUE(seen.ok()) << seen.error().to_line();
  EXPECT_TRUE(seen->namespace_missing);
  EXPECT_EQ(seen->plan.count(apply::ActionKind::Create), 2u);
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(DeployTest, AReleaseMayBringItsOwnNamespace) {
  id = {"shop", "web"};
  const std::string yaml =
      "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n---" + std::string(kConfigMaps);
  const auto report = install_now(yaml, {.create_namespace = true});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->plan.writes[0].kind, apply::ActionKind::Adopt) << report->plan.writes[0].reason;
}

TEST_F(DeployTest, DryRunWritesNothing) {
  const auto report = install_now(std::string(kConfigMaps), {.dry_run = DryRun::Client});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->plan.count(apply::ActionKind::Create), 2u);
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(DeployTest, UninstallLeavesNothing) {
  const auto before = cluster.objects();
  ASSERT_TRUE(install_now(std::string(kConfigMaps) +
                          "---\n{apiVersion: v1, kind: Namespace, metadata: {name: extra}}")
                  .ok());
  const auto report = uninstall_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->deleted, 3u);
  EXPECT_EQ(cluster.objects(), before);
}

TEST_F(DeployTest, UninstallKeepsClaimsDefinitionsAndWhatIsMarked) {
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

TEST_F(DeployTest, NamespaceWithForeignObjectsStaysUnlessAskedFor) {
  ASSERT_TRUE(install_now("{apiVersion: v1, kind: Namespace, metadata: {name: extra}}").ok());
  cluster.put(encoding::Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", encoding::Value::object({{"name", "theirs"}, {"namespace", "extra"}})}}));
  const auto plan = plan_uninstall(environment(), id, {}, Context());
  ASSERT_TRUE(plan.ok()) << plan.error().to_line();
  EXPECT_THAT(plan->foreign.at("extra"), Contains("ConfigMap extra/theirs"));
  EXPECT_EQ(plan->removals[0].kind, apply::ActionKind::Retain);
  UninstallOptions options;
  options.rules.delete_namespaces = true;
  ASSERT_TRUE(uninstall_now(options).ok());
  EXPECT_FALSE(cluster.has("Namespace", "", "extra"));
}

TEST_F(DeployTest, PrunedClaimIsRetainedInTheInventory) {
  const std::string claim =
      "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: "
      "[ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n---\n";
  ASSERT_TRUE(install_now(claim + std::string(kConfigMaps)).ok());
  ASSERT_TRUE(upgrade_now(std::string(kConfigMaps)).ok());
  EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "default", "data"));
  const auto state = status(environment(), id, Context());
  const auto retained =
      std::ranges::find_if(state->objects, [](const ObjectStatus& object) { return object.retained; });
  ASSERT_NE(retained, state->objects.end());
  EXPECT_EQ(retained->key.name, "data");
  ASSERT_TRUE(upgrade_now(std::string(kConfigMaps), {.prune = {.delete_pvcs = true}}).ok());
  EXPECT_FALSE(cluster.has("PersistentVolumeClaim", "default", "data"));
}

TEST_F(DeployTest, RefusedObjectFailsTheRevisionAndKeepsEverythingOwned) {
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && call.key.name == "two") return error(ErrorKind::Forbidden, "quota exceeded");
    return std::nullopt;
  });
  const auto failed = install_now(std::string(kConfigMaps));
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().to_line(), HasSubstr("quota exceeded"));
  cluster.set_before({});
  const auto state = status(environment(), id, Context());
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->anchor.head.status, release::RevisionStatus::Failed);
  EXPECT_FALSE(state->locked);
  ASSERT_TRUE(install_now(std::string(kConfigMaps)).ok());
  EXPECT_EQ(label("ConfigMap", "default", "one"), "v0");
  EXPECT_EQ(label("ConfigMap", "default", "two"), "v1");
}

// Killed at each request in turn: the next run finishes, nothing is left over, nothing is written twice with
// effect.
TEST_F(DeployTest, NothingIsLostWhereverTheProcessDies) {
  for (std::size_t point = 1; point < 60; ++point) {
    FakeCluster fresh;
    const auto before = fresh.objects();
    Environment dying{fresh, clock, random, events, "dying", std::chrono::milliseconds(200)};
    std::atomic<bool> dead{false};
    fresh.set_before([&](const FakeCall& call) -> std::optional<Error> {
      if (call.number >= point) dead = true;
      if (dead) return error(ErrorKind::Retryable, "the process is gone");
      return std::nullopt;
    });
    const bool survived =
        deploy(dying, id, install_intent(rendering(std::string(kConfigMaps))), {}, Context()).ok();
    fresh.set_before({});
    if (survived) {
      EXPECT_GT(point, 6u);
      return;
    }
    Environment next{
        fresh, clock, random, events, "next", std::chrono::milliseconds(200), std::chrono::seconds(5)};
    const auto report = deploy(next, id, install_intent(rendering(std::string(kConfigMaps))), {}, Context());
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
  const auto report = install_now(std::string(kConfigMaps));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
}

TEST_F(DeployTest, LivingHolderIsNamed) {
  ASSERT_TRUE(install_now(std::string(kConfigMaps)).ok());
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

TEST_F(DeployTest, LargeRecordsAreStoredInChunksAndSweptWhenOrphaned) {
  release::Store store(cluster, 200);
  ASSERT_TRUE(install_now(std::string(kConfigMaps)).ok());
  auto anchor = **store.read_anchor(id, Context());
  auto revision = **store.read_revision(id, 0, Context());
  revision.number = 7;
  revision.attempt = "abcd";
  ASSERT_TRUE(store.create_revision(anchor, revision, Context()).ok());
  revision.status = release::RevisionStatus::Deployed;
  ASSERT_TRUE(store.finish_revision(anchor, revision, Context()).ok());
  const auto back = store.read_revision(id, 7, Context());
  ASSERT_TRUE(back.ok() && back->has_value()) << back.error().to_line();
  EXPECT_EQ((*back)->objects.size(), 2u);
  EXPECT_EQ((*back)->inventory.size(), revision.inventory.size());
  cluster.drop({{"", "Secret"}, "default", "mistletoe.web.v7"});
  ASSERT_TRUE(store.sweep_chunks(id, Context()).ok());
  for (const auto& key : cluster.objects()) EXPECT_THAT(key.name, Not(HasSubstr(".v7.")));
}

}  // namespace
}  // namespace mist::action
