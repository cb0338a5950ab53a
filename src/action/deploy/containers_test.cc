// A container is never deleted while something in it stays, by any command and whatever flags say.

#include "action/deploy/containers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "action/recover/recover.h"
#include "encoding/yaml.h"
#include "testing/api_refusal.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using apply::ActionKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kBase = "{apiVersion: v1, kind: ConfigMap, metadata: {name: base}}\n";
constexpr std::string_view kNamespace = "---\n{apiVersion: v1, kind: Namespace, metadata: {name: extra}}\n";
constexpr std::string_view kInside =
    "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: inside, namespace: extra}}\n";
constexpr std::string_view kOther = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}\n";
constexpr std::string_view kCrd = R"(---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
)";
constexpr std::string_view kThing =
    "---\n{apiVersion: example.com/v1, kind: Thing, metadata: {name: one, namespace: default}}\n";

std::string text(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all += part;
  return all;
}

class ContainersTest : public testing::ReleaseFixture {
 protected:
  static DeployOptions all_flags() {
    return {.allowed = {.prune = {.delete_crds = true, .delete_namespaces = true}}};
  }
  bool upgrade_or_install(const std::string& wanted) {
    return (now().deployed ? upgrade_now(wanted) : install_now(wanted)).ok();
  }
  encoding::Value put(std::string_view yaml) { return cluster.put(*encoding::parse_yaml(std::string(yaml))); }
  static const apply::PlannedAction& removal(const std::vector<apply::PlannedAction>& removals,
                                             std::string_view kind) {
    static const apply::PlannedAction kNone;
    const auto found = std::ranges::find_if(
        removals, [&](const apply::PlannedAction& each) { return each.key.group_kind.kind == kind; });
    return found == removals.end() ? kNone : *found;
  }
  /// An upgrade to `wanted` with every flag that deletes containers keeps the one of `kind` for that reason.
  void expect_kept(std::string_view wanted, std::string_view kind, std::string_view reason) {
    const auto report = upgrade_now(std::string(wanted), all_flags());
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    const apply::PlannedAction& kept = removal(report->plan.removals, kind);
    EXPECT_EQ(kept.kind, ActionKind::Retain);
    EXPECT_THAT(kept.reason, HasSubstr(reason));
    EXPECT_TRUE(owns_retained(kind));
  }
  bool owns_retained(std::string_view kind) {
    const auto owned = now().owned();
    return std::ranges::any_of(owned, [&](const apply::InventoryItem& item) {
      return item.key.group_kind.kind == kind && item.retained;
    });
  }
};

// Nothing else would name what doesn't go: not its own finalizer holds it, but what is in it.
TEST_F(ContainersTest, ACrdWhoseObjectsFinalizersHoldIsTheReleasesUntilItIsGone) {
  const apimachinery::ObjectKey key{
      {"apiextensions.k8s.io", "CustomResourceDefinition"}, "", "things.example.com"};
  for (const bool held : {false, true}) {
    ASSERT_TRUE(upgrade_or_install(std::string(kBase) + std::string(kCrd)));
    encoding::Value crd = *cluster.find(key);
    crd["metadata"].set("finalizers", encoding::Value::array({"customresourcecleanup.apiextensions.k8s.io"}));
    cluster.put(std::move(crd));
    if (held)
      put("{apiVersion: example.com/v1, kind: Thing, metadata: {name: one, namespace: default, finalizers: "
          "[example.com/hold]}}");
    const auto report = upgrade_now(std::string(kBase), all_flags());
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    EXPECT_EQ(now().owned().size(), held ? 2u : 1u);
    const apply::PlannedAction& removed = removal(report->plan.removals, "CustomResourceDefinition");
    EXPECT_EQ(removed.kind, held ? ActionKind::Retain : ActionKind::Delete);
    if (held) {
      EXPECT_THAT(removed.reason, HasSubstr("finalizers hold Thing default/one"));
    }
    cluster.drop(key);
  }
}

// Conversion webhooks of the kind are often among what was just deleted.
TEST_F(ContainersTest, ACrdWhoseObjectsCannotBeReadIsTheReleasesUntilItIsGone) {
  const apimachinery::ObjectKey key{
      {"apiextensions.k8s.io", "CustomResourceDefinition"}, "", "things.example.com"};
  ASSERT_TRUE(install_now(text({kBase, kCrd})).ok());
  encoding::Value crd = *cluster.find(key);
  crd["metadata"].set("finalizers", encoding::Value::array({"customresourcecleanup.apiextensions.k8s.io"}));
  cluster.put(std::move(crd));
  bool deleted = false;
  cluster.set_after([&](const testing::FakeCall& call) -> std::optional<Error> {
    deleted = deleted || (call.verb == "delete" && !call.dry_run && call.key == key);
    return std::nullopt;
  });
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (!deleted || call.verb != "list" || call.key.group_kind.kind != "Thing") return std::nullopt;
    return error(ErrorKind::Retryable, "conversion webhook failed");
  });
  const auto report = upgrade_now(std::string(kBase), all_flags());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(removal(report->plan.removals, "CustomResourceDefinition").reason,
              HasSubstr("whether finalizers hold any can't be read"));
  EXPECT_TRUE(owns_retained("CustomResourceDefinition"));
}

// So is what can't be looked at once it was deleted, also because the run was stopped in that moment.
TEST_F(ContainersTest, WhatCannotBeReadAfterItsDeletionIsTheReleasesUntilItIsGone) {
  const apimachinery::ObjectKey thing{{"example.com", "Thing"}, "default", "one"};
  cluster.set_hold_namespaces(true);
  for (const std::string_view kind : {"Thing", "Namespace"}) {
    ASSERT_TRUE(upgrade_or_install(text({kBase, kCrd, kind == "Thing" ? kThing : kNamespace})));
    if (kind == "Thing") {
      encoding::Value held = *cluster.find(thing);
      held["metadata"].set("finalizers", encoding::Value::array({"example.com/hold"}));
      cluster.put(std::move(held));
    }
    bool deleted = false;
    cluster.set_after([&](const testing::FakeCall& call) -> std::optional<Error> {
      deleted = deleted || (call.verb == "delete" && !call.dry_run && call.key.group_kind.kind == kind);
      return std::nullopt;
    });
    cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
      if (!deleted || call.verb != "get" || call.key.group_kind.kind != kind) return std::nullopt;
      return error(ErrorKind::Retryable, "conversion webhook failed");
    });
    const auto report = upgrade_now(text({kBase, kCrd}), all_flags());
    cluster.set_after({});
    cluster.set_before({});
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    const apply::PlannedAction& removed = removal(report->plan.removals, kind);
    EXPECT_EQ(removed.kind, ActionKind::Retain) << kind;
    EXPECT_THAT(removed.reason, HasSubstr("whether it is gone can't be read"));
    EXPECT_TRUE(owns_retained(kind)) << kind;

    if (kind == "Thing") cluster.drop(thing);
    cluster.finish_namespaces();
    ASSERT_TRUE(upgrade_now(text({kBase, kCrd, kOther})).ok());
    EXPECT_EQ(now().owned().size(), 3u) << "it is forgotten once it is gone";
  }
}

TEST_F(ContainersTest, ANamespaceIsTheReleasesUntilItIsGone) {
  const apimachinery::ObjectKey key{{"", "Namespace"}, "", "extra"};
  cluster.set_hold_namespaces(true);
  // Its controller looks into it seconds after it was deleted; until then it has no conditions.
  for (const bool looked_at : {false, true}) {
    ASSERT_TRUE(upgrade_or_install(std::string(kBase) + std::string(kNamespace)));
    cluster.set_after([this, key, looked_at](const testing::FakeCall& call) -> std::optional<Error> {
      if (looked_at && call.verb == "delete" && !call.dry_run && call.key == key)
        cluster.set_status(key, *encoding::parse_yaml("{phase: Terminating, conditions: [{type: "
                                                      "NamespaceContentRemaining, status: 'True', message: "
                                                      "one Widget is left}]}"));
      return std::nullopt;
    });
    const auto report = upgrade_now(std::string(kBase), all_flags());
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    const apply::PlannedAction& removed = removal(report->plan.removals, "Namespace");
    EXPECT_EQ(removed.kind, looked_at ? ActionKind::Retain : ActionKind::Delete);
    if (looked_at) {
      EXPECT_THAT(removed.reason, HasSubstr("one Widget is left"));
    }
    EXPECT_TRUE(owns_retained("Namespace")) << looked_at;

    // Upgrades work on meanwhile.
    const auto again = upgrade_now(std::string(kBase), all_flags());
    ASSERT_TRUE(again.ok()) << again.error().to_line();
    EXPECT_FALSE(again->changed);
    ASSERT_TRUE(upgrade_now(text({kBase, kOther})).ok());
    EXPECT_TRUE(owns_retained("Namespace")) << looked_at;
    cluster.finish_namespaces();
    ASSERT_TRUE(upgrade_now(std::string(kBase)).ok());
    EXPECT_EQ(now().owned().size(), 1u) << "it is forgotten once it is gone";
  }
}

// One of the same name that comes later is another.
TEST_F(ContainersTest, ANamespaceThatIsMadeAnewIsNotTheReleases) {
  ASSERT_TRUE(install_now(text({kBase, kNamespace})).ok());
  cluster.set_hold_namespaces(true);
  ASSERT_TRUE(upgrade_now(std::string(kBase), all_flags()).ok());
  cluster.finish_namespaces();
  put("{apiVersion: v1, kind: Namespace, metadata: {name: extra}}");
  ASSERT_TRUE(upgrade_now(text({kBase, kOther}), all_flags()).ok());
  EXPECT_TRUE(cluster.has("Namespace", "", "extra"));
  EXPECT_EQ(now().owned().size(), 2u);
}

TEST_F(ContainersTest, ANamespaceOfWhatIsStillWantedStays) {
  ASSERT_TRUE(install_now(text({kBase, kNamespace, kInside})).ok());
  expect_kept(text({kBase, kInside}), "Namespace", "with it would go ConfigMap extra/inside, which is still");
  EXPECT_TRUE(cluster.has("ConfigMap", "extra", "inside"));
  EXPECT_TRUE(cluster.has("Namespace", "", "extra"));
  // Nothing is new about it.
  const auto again = upgrade_now(text({kBase, kInside}), all_flags());
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->changed);
  // Without it the namespace goes.
  ASSERT_TRUE(upgrade_now(text({kBase}), all_flags()).ok());
  EXPECT_FALSE(cluster.has("Namespace", "", "extra"));
}

// There may be any number of them.
TEST_F(ContainersTest, NobodyLooksAtTheEventsOfANamespaceThatGoes) {
  ASSERT_TRUE(install_now(text({kBase, kNamespace})).ok());
  put("{apiVersion: v1, kind: Event, metadata: {name: e, namespace: extra}}");
  cluster.clear_calls();
  ASSERT_TRUE(upgrade_now(std::string(kBase), all_flags()).ok());
  EXPECT_FALSE(cluster.has("Namespace", "", "extra"));
  for (const testing::FakeCall& call : cluster.calls())
    EXPECT_FALSE(call.verb == "list" && call.key.group_kind.kind == "Event");
}

TEST_F(ContainersTest, TheNamespaceOfTheRecordStaysOnAnUpgrade) {
  id.ns = "home";
  const std::string home = "---\n{apiVersion: v1, kind: Namespace, metadata: {name: home}}\n";
  ASSERT_TRUE(install_now(text({kBase, home}), {.create_namespace = true}).ok());
  expect_kept(kBase, "Namespace", "the record of the release");
  EXPECT_TRUE(cluster.has("Secret", "home", "mistletoe.web"));
}

TEST_F(ContainersTest, WhatIsRetainedKeepsItsNamespace) {
  for (const std::string_view kept :
       {"---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: extra}}\n",
        "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: data, namespace: extra, annotations: "
        "{mistletoe.dev/keep: 'true'}}}\n"}) {
    ASSERT_TRUE(install_now(text({kBase, kNamespace, kInside, kept})).ok());
    expect_kept(kBase, "Namespace", "extra/data, which stays");
    EXPECT_FALSE(cluster.has("ConfigMap", "extra", "inside"));
    // An uninstall forgets it, but deletes it as little.
    const auto gone = uninstall_now({.rules = all_flags().allowed.prune});
    ASSERT_TRUE(gone.ok()) << gone.error().to_line();
    EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "extra", "data") ||
                cluster.has("ConfigMap", "extra", "data"));
    cluster.drop({{"", "PersistentVolumeClaim"}, "extra", "data"});
    cluster.drop({{"", "ConfigMap"}, "extra", "data"});
    cluster.drop({{"", "Namespace"}, "", "extra"});
  }
}

TEST_F(ContainersTest, OtherReleasesKeepTheirNamespaceWhateverFlagsSay) {
  const release::ReleaseId ours = id;
  ASSERT_TRUE(install_now(text({kBase, kNamespace, kInside})).ok());
  id = {"extra", "other"};
  ASSERT_TRUE(install_now(std::string(kBase)).ok());
  id = ours;
  expect_kept(kBase, "Namespace", "belongs to release extra/other");
  ASSERT_TRUE(upgrade_now(text({kBase, kNamespace})).ok());
  const auto removed = uninstall_now({.rules = all_flags().allowed.prune});
  ASSERT_TRUE(removed.ok()) << removed.error().to_line();
  EXPECT_TRUE(cluster.has("ConfigMap", "extra", "base"));
  EXPECT_TRUE(cluster.has("Secret", "extra", "mistletoe.other"));
}

TEST_F(ContainersTest, WhatIsNobodysGoesWithItsNamespaceAndIsListed) {
  ASSERT_TRUE(install_now(text({kBase, kNamespace, kInside})).ok());
  put("{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: extra}}");
  DeployOptions dry = all_flags();
  dry.dry_run = DryRun::Client;
  const auto plan = upgrade_now(std::string(kBase), dry);
  ASSERT_TRUE(plan.ok());
  const apply::PlannedAction& planned = removal(plan->plan.removals, "Namespace");
  EXPECT_EQ(planned.kind, ActionKind::Delete);
  EXPECT_THAT(planned.with_it, ElementsAre("ConfigMap extra/theirs"));
  EXPECT_THAT(planned.reason,
              HasSubstr("with it go, though the release does not own them: ConfigMap extra/theirs"));
  // Nobody agreed to lose objects that come after the plan.
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "delete" && call.key.name == "inside")
      put("{apiVersion: v1, kind: ConfigMap, metadata: {name: late, namespace: extra}}");
    return std::nullopt;
  });
  const auto report = upgrade_now(std::string(kBase), all_flags());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(removal(report->plan.removals, "Namespace").kind, ActionKind::Retain);
  EXPECT_THAT(removal(report->plan.removals, "Namespace").reason,
              HasSubstr("since the plan, 1 object in it is not the release's (ConfigMap extra/late)"));
  EXPECT_TRUE(cluster.has("ConfigMap", "extra", "late"));
  cluster.set_before({});
  ASSERT_TRUE(upgrade_now(std::string(kBase), all_flags()).ok());
  EXPECT_FALSE(cluster.has("Namespace", "", "extra"));
}

TEST_F(ContainersTest, ACrdOfWhatIsStillWantedStays) {
  ASSERT_TRUE(install_now(text({kBase, kCrd, kThing})).ok());
  expect_kept(text({kBase, kThing}), "CustomResourceDefinition",
              "with it would go Thing default/one, which is still wanted");
  EXPECT_TRUE(cluster.has("Thing.example.com", "default", "one"));
}

TEST_F(ContainersTest, OtherReleasesAndKeptObjectsKeepTheirCrd) {
  ASSERT_TRUE(install_now(text({kBase, kCrd})).ok());
  const release::ReleaseId ours = id;
  id.name = "other";
  ASSERT_TRUE(install_now(std::string(kThing)).ok());
  id = ours;
  expect_kept(kBase, "CustomResourceDefinition", "which belongs to release default/other");
  id.name = "other";
  ASSERT_TRUE(uninstall_now().ok());
  id = ours;
  put("{apiVersion: example.com/v1, kind: Thing, metadata: {name: two, namespace: default, annotations: "
      "{mistletoe.dev/keep: 'true'}}}");
  const auto kept = uninstall_now({.rules = all_flags().allowed.prune});
  ASSERT_TRUE(kept.ok()) << kept.error().to_line();
  EXPECT_THAT(removal(kept->plan.removals, "CustomResourceDefinition").reason,
              HasSubstr("which carries the annotation mistletoe.dev/keep"));
  EXPECT_TRUE(cluster.has("Thing.example.com", "default", "two"));
}

// As a Helm release leaves it behind.
TEST_F(ContainersTest, HelmsResourcePolicyKeepsTheNamespaceToo) {
  ASSERT_TRUE(install_now(text({kBase, kNamespace, kInside})).ok());
  put("{apiVersion: v1, kind: ConfigMap, metadata: {name: left, namespace: extra, annotations: "
      "{helm.sh/resource-policy: keep}}}");
  expect_kept(kBase, "Namespace", "which carries the annotation helm.sh/resource-policy: keep");
}

TEST_F(ContainersTest, WhatIsNobodysGoesWithItsCrdAndIsListed) {
  ASSERT_TRUE(install_now(text({kBase, kCrd})).ok());
  put("{apiVersion: example.com/v1, kind: Thing, metadata: {name: two, namespace: default}}");
  const auto report = upgrade_now(std::string(kBase), all_flags());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(removal(report->plan.removals, "CustomResourceDefinition").with_it,
              ElementsAre("Thing default/two"));
  EXPECT_FALSE(cluster.has("CustomResourceDefinition.apiextensions.k8s.io", "", "things.example.com"));
}

// An operator's objects, made by its users, own what they store.
class CrdOfOwnersTest : public ContainersTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(install_now(text({kBase, kCrd})).ok());
    put("{apiVersion: v1, kind: Namespace, metadata: {name: elsewhere}}");
    const auto owner =
        put("{apiVersion: example.com/v1, kind: Thing, metadata: {name: two, namespace: elsewhere}}");
    put(fmt::format(
        "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: data, namespace: elsewhere, "
        "ownerReferences: [{{apiVersion: example.com/v1, kind: Thing, name: two, uid: {}}}], "
        "annotations: {{mistletoe.dev/keep: 'true'}}}}, spec: {{accessModes: [ReadWriteOnce]}}}}",
        owner.string_at({"metadata", "uid"})));
  }
  void expect_to_stay_when_uninstalled() {
    const auto report = uninstall_now({.rules = all_flags().allowed.prune});
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    EXPECT_THAT(removal(report->plan.removals, "CustomResourceDefinition").reason,
                AllOf(HasSubstr("with it would go PersistentVolumeClaim elsewhere/data, which carries the"),
                      HasSubstr("has its owner there")));
    EXPECT_TRUE(cluster.has("CustomResourceDefinition.apiextensions.k8s.io", "", "things.example.com"));
    EXPECT_TRUE(cluster.has("Thing.example.com", "elsewhere", "two"));
  }
};

TEST_F(CrdOfOwnersTest, StaysForKeptDataOfTheirs) { expect_to_stay_when_uninstalled(); }

TEST_F(CrdOfOwnersTest, StaysThoughDataMayBeListedOnlyInTheirNamespaces) {
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list" || !call.key.ns.empty() || call.key.group_kind.kind != "PersistentVolumeClaim")
      return std::nullopt;
    return error(ErrorKind::Forbidden, "cannot list PersistentVolumeClaims in all namespaces");
  });
  expect_to_stay_when_uninstalled();
}

TEST_F(CrdOfOwnersTest, StaysThoughTheyCannotBeRead) {
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.key.group_kind.kind != "Thing") return std::nullopt;
    return error(ErrorKind::Retryable, "cannot {}", call.verb).with_because("conversion webhook failed");
  });
  expect_to_stay_when_uninstalled();
}

// Nobody knows then in which namespaces they are, nor whose the owner of the data is.
TEST_F(CrdOfOwnersTest, StaysThoughNeitherTheyNorTheOwnerOfKeptDataCanBeRead) {
  cluster.register_kind({{"example.com", "v1", "Shard"}, "shards", true, {"get", "list", "patch", "delete"}});
  put("{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: elsewhere, ownerReferences: "
      "[{apiVersion: example.com/v1, kind: Shard, name: shard, uid: 0-1}], "
      "annotations: {mistletoe.dev/keep: 'true'}}}");
  cluster.drop({{"", "PersistentVolumeClaim"}, "elsewhere", "data"});
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.key.group_kind.kind != "Thing" && call.key.group_kind.kind != "Shard") return std::nullopt;
    return error(ErrorKind::Retryable, "cannot {}", call.verb).with_because("conversion webhook failed");
  });
  const auto report = uninstall_now({.rules = all_flags().allowed.prune});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(removal(report->plan.removals, "CustomResourceDefinition").reason,
              AllOf(HasSubstr("with it may go Secret elsewhere/key, which carries the annotation"),
                    HasSubstr("Shard shard, which can't be read (conversion webhook failed)")));
  EXPECT_TRUE(cluster.has("CustomResourceDefinition.apiextensions.k8s.io", "", "things.example.com"));
}

// Objects that are made again have other uids.
TEST_F(CrdOfOwnersTest, IsNotReplacedForKeptDataOfTheirs) {
  std::string cluster_wide(kCrd);
  cluster_wide.replace(cluster_wide.find("Namespaced"), 10, "Cluster");
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || !call.dry_run || call.key.name != "things.example.com") return std::nullopt;
    return testing::api_refusal(ErrorKind::Invalid, "cannot apply", "spec.scope: field is immutable");
  });
  DeployOptions options = all_flags();
  options.allowed.replace = true;
  const auto refused = upgrade_now(text({kBase, cluster_wide}), options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("with it would go PersistentVolumeClaim elsewhere/data"));
  EXPECT_TRUE(cluster.has("Thing.example.com", "elsewhere", "two"));
}

TEST_F(CrdOfOwnersTest, GoesIfNothingKeptIsTheirs) {
  cluster.drop({{"", "PersistentVolumeClaim"}, "elsewhere", "data"});
  const auto report = uninstall_now({.rules = all_flags().allowed.prune});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_FALSE(cluster.has("CustomResourceDefinition.apiextensions.k8s.io", "", "things.example.com"));
}

// Nothing else tells whether other releases' objects are among what can't be looked at.
TEST_F(ContainersTest, WhatCannotBeLookedAtKeepsANamespaceUnlessAFlagSaysOtherwise) {
  cluster.register_kind(
      {{"tally.example.com", "v1", "Tally"}, "tallies", true, {"list", "create", "delete"}});
  ASSERT_TRUE(install_now(text({kBase, kNamespace, kInside})).ok());
  cluster.set_api_down("tally.example.com");
  auto plan = plan_uninstall(environment(), id, {}, Context());
  ASSERT_TRUE(plan.ok()) << plan.error().to_line();
  EXPECT_EQ(removal(plan->removals, "Namespace").kind, ActionKind::Retain);
  EXPECT_THAT(removal(plan->removals, "Namespace").reason,
              AllOf(HasSubstr("v1.tally.example.com, which doesn't answer (FailedDiscoveryCheck"),
                    HasSubstr("--delete-namespaces")));
  cluster.set_api_down("");
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list" || call.key.group_kind.kind != "Tally") return std::nullopt;
    return error(ErrorKind::Retryable, "cannot list").with_because("conversion webhook failed");
  });
  plan = plan_uninstall(environment(), id, {}, Context());
  ASSERT_TRUE(plan.ok()) << plan.error().to_line();
  EXPECT_THAT(removal(plan->removals, "Namespace").reason,
              HasSubstr("it may hold Tally objects, which can't be listed (conversion webhook failed)"));
  plan = plan_uninstall(environment(), id, {.rules = {.delete_namespaces = true}}, Context());
  ASSERT_TRUE(plan.ok()) << plan.error().to_line();
  EXPECT_EQ(removal(plan->removals, "Namespace").kind, ActionKind::Delete);
  EXPECT_THAT(removal(plan->removals, "Namespace").reason, HasSubstr("Tally objects"));
  cluster.set_before({});
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_FALSE(cluster.has("Namespace", "", "extra"));
}

TEST_F(ContainersTest, AnOwnerOfWhatStaysStays) {
  const std::string owner = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}\n";
  ASSERT_TRUE(install_now(text({kBase, owner})).ok());
  const auto live = cluster.find("ConfigMap", "default", "owner");
  encoding::Value base = *cluster.find("ConfigMap", "default", "base");
  base["metadata"].set(
      "ownerReferences",
      encoding::Value::array({encoding::Value::object({{"apiVersion", "v1"},
                                                       {"kind", "ConfigMap"},
                                                       {"name", "owner"},
                                                       {"uid", live->string_at({"metadata", "uid"})}})}));
  cluster.put(std::move(base), "controller");
  const auto report = upgrade_now(std::string(kBase));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(removal(report->plan.removals, "ConfigMap").reason,
              HasSubstr("ConfigMap default/base, which is still wanted and has it as its owner"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "base"));
}

// An object in `ns` whose only owner is ConfigMap default/owner, or the one of that name in `ns`.
encoding::Value owned(std::string_view kind, std::string_view ns, const encoding::Value& owner,
                      std::string_view metadata) {
  return *encoding::parse_yaml(
      fmt::format("{{apiVersion: v1, kind: {}, metadata: {{name: data, namespace: {}, ownerReferences: "
                  "[{{apiVersion: v1, kind: "
                  "ConfigMap, name: owner, uid: {}}}], {}}}, spec: {{accessModes: [ReadWriteOnce]}}}}",
                  kind, ns, owner.string_at({"metadata", "uid"}), metadata));
}
constexpr std::string_view kKeep = "annotations: {mistletoe.dev/keep: 'true'}";

TEST_F(ContainersTest, TheLastOwnerOfWhatIsKeptStaysThoughTheReleaseDoesNotKnowIt) {
  const std::string owner = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}\n";
  ASSERT_TRUE(install_now(text({kBase, owner})).ok());
  const auto live = cluster.find("ConfigMap", "default", "owner");
  cluster.put(owned("PersistentVolumeClaim", "default", *live, kKeep));
  const auto report = upgrade_now(std::string(kBase));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(removal(report->plan.removals, "ConfigMap").reason,
              HasSubstr("with it would go PersistentVolumeClaim default/data, which carries the annotation"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "owner"));
  // A claim without the annotation is garbage-collected with its owner, as usual.
  cluster.drop({{"", "PersistentVolumeClaim"}, "default", "data"});
  cluster.put(owned("PersistentVolumeClaim", "default", *live, "labels: {a: b}"));
  const auto again = upgrade_now(std::string(kBase));
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_THAT(removal(again->plan.removals, "ConfigMap").reason,
              HasSubstr("with it go, since it owns them: PersistentVolumeClaim default/data"));
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "owner"));
}

std::optional<Error> unavailable(const testing::FakeCall& call, std::string_view verb,
                                 std::string_view kind) {
  if (call.verb != verb || call.key.group_kind.kind != kind) return std::nullopt;
  return error(ErrorKind::Retryable, "cannot {} {}", verb, kind).with_because("etcd has no leader");
}

// Nobody knows then whether it owns something that is kept.
TEST_F(ContainersTest, NothingIsDeletedWhileTheServerDoesNotListData) {
  const std::string owner = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}\n";
  ASSERT_TRUE(install_now(text({kBase, owner})).ok());
  cluster.put(
      owned("PersistentVolumeClaim", "default", *cluster.find("ConfigMap", "default", "owner"), kKeep));
  cluster.set_before(
      [](const testing::FakeCall& call) { return unavailable(call, "list", "PersistentVolumeClaim"); });
  const auto failed = upgrade_now(std::string(kBase));
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().to_line(), HasSubstr("etcd has no leader"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "owner"));
}

TEST_F(ContainersTest, DataThatTheUserMayNotListKeepsNothing) {
  const std::string owner = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}\n";
  ASSERT_TRUE(install_now(text({kBase, owner})).ok());
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list" || call.key.group_kind.kind != "PersistentVolumeClaim") return std::nullopt;
    return error(ErrorKind::Forbidden, "cannot list PersistentVolumeClaims");
  });
  ASSERT_TRUE(upgrade_now(std::string(kBase)).ok());
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "owner"));
}

TEST_F(ContainersTest, AnOwnerThatIsGoneKeepsNothingAlive) {
  const std::string owner = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}\n";
  ASSERT_TRUE(install_now(text({kBase, owner})).ok());
  put(fmt::format(
      "{{apiVersion: v1, kind: Secret, metadata: {{name: data, namespace: default, ownerReferences: "
      "[{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {}}}, "
      "{{apiVersion: v1, kind: Service, name: gone, uid: 0-0}}], {}}}}}",
      cluster.find("ConfigMap", "default", "owner")->string_at({"metadata", "uid"}), kKeep));
  const auto report = upgrade_now(std::string(kBase));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(removal(report->plan.removals, "ConfigMap").reason,
              HasSubstr("with it would go Secret default/data"));
}

// As an operator makes it: a database owns its Service, and that owns the kept data.
class OwnersChainTest : public ContainersTest {
 protected:
  void SetUp() override {
    cluster.register_kind(
        {{"example.com", "v1", "Database"}, "databases", true, {"get", "list", "patch", "delete"}});
    ASSERT_TRUE(install_now(text({kBase, kDatabase})).ok());
    const auto database = cluster.find("Database.example.com", "default", "db");
    ASSERT_TRUE(database.has_value());
    const auto middle = put(fmt::format(
        "{{apiVersion: v1, kind: Service, metadata: {{name: middle, namespace: default, ownerReferences: "
        "[{{apiVersion: example.com/v1, kind: Database, name: db, uid: {}}}]}}}}",
        database->string_at({"metadata", "uid"})));
    put(fmt::format(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: data, namespace: default, ownerReferences: "
        "[{{apiVersion: v1, kind: Service, name: middle, uid: {}}}], {}}}}}",
        middle.string_at({"metadata", "uid"}), kKeep));
  }
  static constexpr std::string_view kDatabase =
      "---\n{apiVersion: example.com/v1, kind: Database, metadata: {name: db}, spec: {}}\n";
};

TEST_F(OwnersChainTest, NothingIsDeletedWhileTheServerDoesNotAnswerForAnOwner) {
  cluster.set_before([](const testing::FakeCall& call) { return unavailable(call, "get", "Service"); });
  const auto failed = upgrade_now(std::string(kBase));
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().to_line(), HasSubstr("etcd has no leader"));
  EXPECT_TRUE(cluster.has("Database.example.com", "default", "db"));
}

// Its conversion webhook is down, and the upgrade may be what repairs it.
TEST_F(OwnersChainTest, AnUnansweredOwnerOfACustomKindStopsNothing) {
  cluster.register_kind({{"example.com", "v1", "Shard"}, "shards", true, {"get", "list", "patch", "delete"}});
  put(fmt::format(
      "{{apiVersion: v1, kind: Secret, metadata: {{name: data, namespace: default, ownerReferences: "
      "[{{apiVersion: example.com/v1, kind: Shard, name: shard, uid: 0-1}}], {}}}}}",
      kKeep));
  cluster.set_before([](const testing::FakeCall& call) { return unavailable(call, "get", "Shard"); });
  const std::string changed =
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: base}, data: {webhook: repaired}}\n";
  const auto report = upgrade_now(changed);
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(cluster.find("ConfigMap", "default", "base")->string_at({"data", "webhook"}), "repaired");
  EXPECT_THAT(removal(report->plan.removals, "Database").reason,
              AllOf(HasSubstr("with it may go Secret default/data"),
                    HasSubstr("Shard shard, which can't be read (etcd has no leader)")));
  EXPECT_TRUE(cluster.has("Database.example.com", "default", "db"));
}

TEST_F(OwnersChainTest, WhatMayOwnAnUnreadableOwnerOfKeptDataStays) {
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "get" || call.key.group_kind.kind != "Service") return std::nullopt;
    return error(ErrorKind::Forbidden, "cannot get Service").with_because("you may not");
  });
  const auto report = upgrade_now(std::string(kBase));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(removal(report->plan.removals, "Database").reason,
              AllOf(HasSubstr("with it may go Secret default/data, which carries the annotation"),
                    HasSubstr("Service middle, which can't be read (you may not)")));
  EXPECT_TRUE(cluster.has("Database.example.com", "default", "db"));
}

// As where an operator copies the labels of a release onto hundreds of Secrets.
class ManyOwnersTest : public OwnersChainTest {
 protected:
  void SetUp() override {
    OwnersChainTest::SetUp();
    for (int i = 0; i < 250; ++i) {
      const auto owner = put(fmt::format(
          "{{apiVersion: v1, kind: Service, metadata: {{name: owner-{}, namespace: default}}}}", i));
      put(fmt::format(
          "{{apiVersion: v1, kind: Secret, metadata: {{name: data-{0}, namespace: default, ownerReferences: "
          "[{{apiVersion: v1, kind: Service, name: owner-{0}, uid: {1}}}], {2}}}}}",
          i, owner.string_at({"metadata", "uid"}), kKeep));
    }
    cluster.clear_calls();
  }
  std::size_t gets_of_services() const {
    const auto calls = cluster.calls();
    return static_cast<std::size_t>(std::ranges::count_if(calls, [](const testing::FakeCall& call) {
      return call.verb == "get" && call.key.group_kind.kind == "Service";
    }));
  }
};

TEST_F(ManyOwnersTest, KeepNothingThatIsNotAmongThem) {
  cluster.drop({{"", "Secret"}, "default", "data"});
  const auto report = upgrade_now(std::string(kBase));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(removal(report->plan.removals, "Database").kind, ActionKind::Delete);
  EXPECT_FALSE(cluster.has("Database.example.com", "default", "db"));
  EXPECT_EQ(gets_of_services(), 0U);
}

TEST_F(ManyOwnersTest, AreLookedThroughForTheOneThatGoes) {
  const auto report = upgrade_now(std::string(kBase));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(removal(report->plan.removals, "Database").reason,
              HasSubstr("with it would go Secret default/data, which carries the annotation"));
}

TEST_F(ManyOwnersTest, ThatMayNotBeListedMayBelongToWhatGoes) {
  cluster.drop({{"", "Secret"}, "default", "data"});
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list" || call.key.group_kind.kind != "Service") return std::nullopt;
    return error(ErrorKind::Forbidden, "cannot list Services").with_because("you may not");
  });
  const auto report = upgrade_now(std::string(kBase));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(removal(report->plan.removals, "Database").reason,
              HasSubstr("which can't be read (you may not)"));
}

// Between both may be anything, and the release need not know it.
TEST_F(ContainersTest, AnOwnerStaysForWhatIsKeptAtTheEndOfAChain) {
  const std::string owner = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}\n";
  for (const std::string_view between : {"ConfigMap", "Service"}) {
    ASSERT_TRUE(upgrade_or_install(text({kBase, owner})));
    const auto middle = put(fmt::format(
        "{{apiVersion: v1, kind: {}, metadata: {{name: middle, namespace: default, ownerReferences: "
        "[{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {}}}]}}}}",
        between, cluster.find("ConfigMap", "default", "owner")->string_at({"metadata", "uid"})));
    put(fmt::format(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: data, namespace: default, ownerReferences: "
        "[{{apiVersion: v1, kind: {}, name: middle, uid: {}}}], {}}}}}",
        between, middle.string_at({"metadata", "uid"}), kKeep));
    const auto report = upgrade_now(std::string(kBase));
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    EXPECT_THAT(removal(report->plan.removals, "ConfigMap").reason,
                HasSubstr("with it would go Secret default/data, which carries the annotation"))
        << between;
    cluster.drop({{"", "Secret"}, "default", "data"});
    cluster.drop({{"", std::string(between)}, "default", "middle"});
  }
}

TEST_F(ContainersTest, AnOwnerWithoutANamespaceStaysToo) {
  const std::string role =
      "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: owner}, rules: "
      "[]}\n";
  ASSERT_TRUE(install_now(text({kBase, role})).ok());
  put(fmt::format(
      "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: data, namespace: default, "
      "ownerReferences: [{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: owner, uid: "
      "{}}}], {}}}, spec: {{accessModes: [ReadWriteOnce]}}}}",
      cluster.find("ClusterRole.rbac.authorization.k8s.io", "", "owner")->string_at({"metadata", "uid"}),
      kKeep));
  const auto report = upgrade_now(std::string(kBase));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(removal(report->plan.removals, "ClusterRole").reason,
              HasSubstr("with it would go PersistentVolumeClaim default/data"));
}

// As operators for tenants do it: an object without a namespace owns what was made for it elsewhere.
TEST_F(ContainersTest, AnOwnerWithoutANamespaceStaysForDataElsewhere) {
  cluster.register_kind(
      {{"example.com", "v1", "Tenant"}, "tenants", false, {"get", "list", "patch", "delete"}});
  const std::string tenant =
      "---\n{apiVersion: example.com/v1, kind: Tenant, metadata: {name: owner}, spec: {}}\n";
  put("{apiVersion: v1, kind: Namespace, metadata: {name: elsewhere}}");
  for (const std::string_view mark : {kKeep, std::string_view()}) {
    ASSERT_TRUE(upgrade_or_install(text({kBase, tenant})));
    put(fmt::format(
        "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: data, namespace: elsewhere, "
        "ownerReferences: [{{apiVersion: example.com/v1, kind: Tenant, name: owner, uid: {}}}], {}}}, "
        "spec: {{accessModes: [ReadWriteOnce]}}}}",
        cluster.find("Tenant.example.com", "", "owner")->string_at({"metadata", "uid"}), mark));
    const auto report = upgrade_now(std::string(kBase));
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    EXPECT_THAT(
        removal(report->plan.removals, "Tenant").reason,
        HasSubstr(mark.empty() ? "with it go, since it owns them: PersistentVolumeClaim elsewhere/data"
                               : "with it would go PersistentVolumeClaim elsewhere/data"));
  }
}

constexpr std::string_view kVolumeAndClaim = R"(---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: disk}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce]}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {volumeName: disk, accessModes: [ReadWriteOnce]}}
)";

class BoundVolumeTest : public ContainersTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(install_now(text({kBase, kVolumeAndClaim})).ok());
    encoding::Value volume = *cluster.find("PersistentVolume", "", "disk");
    volume["spec"].set(
        "claimRef", encoding::Value::object({{"namespace", "default"},
                                             {"name", "data"},
                                             {"uid", cluster.find("PersistentVolumeClaim", "default", "data")
                                                         ->string_at({"metadata", "uid"})}}));
    cluster.put(std::move(volume), "controller");
    cluster.set_status({{"", "PersistentVolume"}, "", "disk"}, encoding::Value::object({{"phase", "Bound"}}));
  }
};

TEST_F(BoundVolumeTest, StaysWithItsClaim) {
  const auto report = upgrade_now(std::string(kBase));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(removal(report->plan.removals, "PersistentVolume").kind, ActionKind::Retain);
  EXPECT_EQ(removal(report->plan.removals, "PersistentVolume").reason,
            "PersistentVolumeClaim default/data, which stays, is bound to it");
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_TRUE(cluster.has("PersistentVolume", "", "disk"));
}

TEST_F(BoundVolumeTest, GoesWithItsClaim) {
  UninstallOptions options;
  options.rules.delete_pvcs = true;
  const auto gone = uninstall_now(options);
  ASSERT_TRUE(gone.ok()) << gone.error().to_line();
  EXPECT_FALSE(cluster.has("PersistentVolume", "", "disk"));
}

TEST_F(BoundVolumeTest, IsNotReplaced) {
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || !call.dry_run || call.key.name != "disk") return std::nullopt;
    return testing::api_refusal(ErrorKind::Invalid, "cannot apply", "spec: Forbidden: field is immutable");
  });
  std::string wanted(kVolumeAndClaim);
  wanted.replace(wanted.find("1Gi"), 3, "2Gi");
  const auto refused = upgrade_now(text({kBase, wanted}), {.allowed = {.replace = true}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_line(),
              HasSubstr("PersistentVolumeClaim default/data, which stays, is bound to it"));
  EXPECT_TRUE(cluster.has("PersistentVolume", "", "disk"));
}

// Their controllers delete them with what they are made for.
TEST_F(ContainersTest, WhatControllersMakeOfThemStaysWithItsAccountAndService) {
  const std::string wanted = R"(---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}
---
{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: token, annotations: {kubernetes.io/service-account.name: robot, mistletoe.dev/keep: 'true'}}}
---
{apiVersion: v1, kind: Service, metadata: {name: db}}
---
{apiVersion: v1, kind: Endpoints, metadata: {name: db, annotations: {mistletoe.dev/keep: 'true'}}}
)";
  ASSERT_TRUE(install_now(text({kBase, wanted})).ok());
  const auto report = upgrade_now(std::string(kBase));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(removal(report->plan.removals, "ServiceAccount").reason,
            "with it would go Secret default/token, which stays");
  EXPECT_EQ(removal(report->plan.removals, "Service").reason,
            "with it would go Endpoints default/db, which stays");
}

TEST_F(ContainersTest, TheLastOwnerOfWhatIsKeptIsNotReplaced) {
  const auto fixed = [](int value) {
    return fmt::format(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: owner}}, immutable: true, data: {{a: '{}'}}}}",
        value);
  };
  ASSERT_TRUE(install_now(fixed(1)).ok());
  cluster.put(
      owned("PersistentVolumeClaim", "default", *cluster.find("ConfigMap", "default", "owner"), kKeep));
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || !call.dry_run || call.key.name != "owner") return std::nullopt;
    return testing::api_refusal(
        ErrorKind::Invalid, "cannot apply",
        "ConfigMap \"owner\" is invalid: data: Forbidden: field is immutable when `immutable` is set");
  });
  const auto refused = upgrade_now(fixed(2), {.allowed = {.replace = true}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_line(), HasSubstr("PersistentVolumeClaim default/data"));
  cluster.drop({{"", "PersistentVolumeClaim"}, "default", "data"});
  EXPECT_TRUE(upgrade_now(fixed(2), {.allowed = {.replace = true}}).ok());
}

std::string stateful(std::string_view app, std::string_view service = "db") {
  return fmt::format(
      "{{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: db}}, spec: {{serviceName: {1}, selector: "
      "{{matchLabels: {{app: {0}}}}}, template: {{metadata: {{labels: {{app: {0}}}}}, spec: {{containers: "
      "[{{name: a, image: b}}]}}}}}}}}",
      app, service);
}

// As the API server says it; the cluster in memory has no such rules.
std::optional<Error> stateful_sets_stay(const testing::FakeCall& call) {
  if (call.verb != "apply" || !call.dry_run || call.key.group_kind.kind != "StatefulSet") return std::nullopt;
  return testing::api_refusal(ErrorKind::Invalid, "cannot apply",
                              "StatefulSet.apps \"db\" is invalid: spec: Forbidden: updates to statefulset "
                              "spec for fields other than 'replicas' are forbidden");
}

encoding::Value claim_of_set(const encoding::Value& set, std::string_view metadata) {
  return *encoding::parse_yaml(fmt::format(
      "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: data-db-0, namespace: "
      "default, ownerReferences: [{{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: {}}}], "
      "{}}}, spec: {{accessModes: [ReadWriteOnce]}}}}",
      set.string_at({"metadata", "uid"}), metadata));
}

// A StatefulSet that selects others is deleted with all that only it owns.
TEST_F(ContainersTest, ClaimsThatGoWithAReplacedStatefulSetAreNamed) {
  ASSERT_TRUE(install_now(stateful("a")).ok());
  cluster.put(claim_of_set(*cluster.find("StatefulSet.apps", "default", "db"), "labels: {a: b}"));
  cluster.set_before(stateful_sets_stay);
  const auto report = upgrade_now(stateful("b"), {.allowed = {.replace = true}});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->plan.writes[0].kind, ActionKind::Replace);
  EXPECT_THAT(report->plan.writes[0].reason,
              HasSubstr("with it go, since it owns them: PersistentVolumeClaim default/data-db-0"));
  EXPECT_THAT(report->plan.writes[0].with_it, ElementsAre("PersistentVolumeClaim default/data-db-0"));
  EXPECT_FALSE(cluster.has("PersistentVolumeClaim", "default", "data-db-0"));
}

TEST_F(ContainersTest, AStatefulSetThatSelectsOthersIsNotReplacedIfItOwnsWhatIsKept) {
  ASSERT_TRUE(install_now(stateful("a")).ok());
  cluster.put(claim_of_set(*cluster.find("StatefulSet.apps", "default", "db"), kKeep));
  cluster.set_before(stateful_sets_stay);
  const auto refused = upgrade_now(stateful("b"), {.allowed = {.replace = true}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_line(), HasSubstr("PersistentVolumeClaim default/data-db-0"));
  EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "default", "data-db-0"));
}

TEST_F(ContainersTest, AStatefulSetThatSelectsTheSameLosesNothingWhenItIsReplaced) {
  ASSERT_TRUE(install_now(stateful("a")).ok());
  cluster.put(claim_of_set(*cluster.find("StatefulSet.apps", "default", "db"), kKeep));
  cluster.set_before(stateful_sets_stay);
  const auto report = upgrade_now(stateful("a", "other"), {.allowed = {.replace = true}});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->plan.writes[0].kind, ActionKind::Replace);
  EXPECT_THAT(report->plan.writes[0].reason, Not(HasSubstr("with it go")));
  EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "default", "data-db-0"));
}

TEST_F(ContainersTest, WhatStaysKeepsItsNamespaceThoughWhatGoesOwnsIt) {
  const std::string owner =
      "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: owner, namespace: extra}}\n";
  for (const std::string_view mark :
       {kKeep, std::string_view(
                   "labels: {applyset.kubernetes.io/part-of: other}, annotations: {mistletoe.dev/release: "
                   "default/other}")}) {
    ASSERT_TRUE(install_now(text({kBase, kNamespace, owner})).ok());
    cluster.put(owned("PersistentVolumeClaim", "extra", *cluster.find("ConfigMap", "extra", "owner"), mark));
    const auto removed = uninstall_now({.rules = all_flags().allowed.prune});
    ASSERT_TRUE(removed.ok()) << removed.error().to_line();
    EXPECT_TRUE(cluster.has("Namespace", "", "extra")) << mark;
    EXPECT_TRUE(cluster.has("ConfigMap", "extra", "owner")) << mark;
    for (const std::string_view kind : {"PersistentVolumeClaim", "ConfigMap"})
      for (const std::string_view name : {"data", "owner"})
        cluster.drop({{"", std::string(kind)}, "extra", std::string(name)});
    cluster.drop({{"", "Namespace"}, "", "extra"});
  }
}

// A controller copies the owner's annotations to the objects it creates: nobody asked to keep those.
TEST_F(ContainersTest, CopiesOfMarksKeepNothing) {
  ASSERT_TRUE(install_now(text({kBase, kNamespace, kInside})).ok());
  const auto live = cluster.find("ConfigMap", "extra", "inside");
  put(fmt::format(
      "{{apiVersion: v1, kind: Pod, metadata: {{name: data, namespace: extra, {}, ownerReferences: "
      "[{{apiVersion: v1, kind: ConfigMap, name: inside, uid: {}, controller: true}}]}}, spec: {{}}}}",
      kKeep, live->string_at({"metadata", "uid"})));
  const auto removed = uninstall_now({.rules = all_flags().allowed.prune});
  ASSERT_TRUE(removed.ok()) << removed.error().to_line();
  EXPECT_FALSE(cluster.has("Namespace", "", "extra"));
}

TEST_F(ContainersTest, AFailingFirstInstallLeavesAKindThatOthersUseByNow) {
  cluster.set_before([this](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.dry_run || call.key.name != "one") return std::nullopt;
    put("{apiVersion: example.com/v1, kind: Thing, metadata: {name: theirs, namespace: default}}");
    return testing::api_refusal(ErrorKind::Invalid, "cannot apply", "no");
  });
  const auto failed = install_now(text({kBase, kCrd, kThing}), {.rollback_on_failure = true});
  cluster.set_before({});
  ASSERT_FALSE(failed.ok());
  EXPECT_TRUE(cluster.has("Thing.example.com", "default", "theirs")) << failed.error().to_line();
  EXPECT_TRUE(cluster.has("CustomResourceDefinition.apiextensions.k8s.io", "", "things.example.com"));
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "base"));
}

TEST_F(ContainersTest, RollingBackAndUndoingKeepThemToo) {
  ASSERT_TRUE(install_now(std::string(kBase)).ok());
  ASSERT_TRUE(upgrade_now(text({kBase, kNamespace, kInside})).ok());
  const release::ReleaseId ours = id;
  id = {"extra", "other"};
  ASSERT_TRUE(install_now(std::string(kBase)).ok());
  id = ours;
  const auto back = rollback_now({}, all_flags());
  ASSERT_TRUE(back.ok()) << back.error().to_line();
  EXPECT_THAT(removal(back->plan.removals, "Namespace").reason, HasSubstr("release extra/other"));
  // An upgrade that ends half way, with the namespace in it again.
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run && call.key.name == "inside")
      return testing::api_refusal(ErrorKind::Invalid, "cannot apply", "no");
    return std::nullopt;
  });
  ASSERT_FALSE(upgrade_now(text({kBase, kNamespace, kInside})).ok());
  cluster.set_before({});
  const auto undone = recover(environment(), id, {.undo = true, .deploy = all_flags()}, Context());
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_TRUE(cluster.has("ConfigMap", "extra", "base"));
  EXPECT_TRUE(cluster.has("Secret", "extra", "mistletoe.other"));
}

TEST_F(ContainersTest, ACrdIsReplacedOnlyIfAllOfItsObjectsComeBack) {
  ASSERT_TRUE(install_now(text({kBase, kCrd, kThing})).ok());
  std::string cluster_wide(kCrd);
  cluster_wide.replace(cluster_wide.find("Namespaced"), 10, "Cluster");
  const std::string wide_thing = "---\n{apiVersion: example.com/v1, kind: Thing, metadata: {name: one}}\n";
  const release::ReleaseId ours = id;
  id.name = "other";
  ASSERT_TRUE(
      install_now("{apiVersion: example.com/v1, kind: Thing, metadata: {name: two, namespace: default}}")
          .ok());
  id = ours;
  // As the API server says it; the cluster in memory has no such rules.
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || !call.dry_run || call.key.name != "things.example.com") return std::nullopt;
    return testing::api_refusal(ErrorKind::Invalid, "cannot apply", "spec.scope: field is immutable");
  });
  DeployOptions options = all_flags();
  options.allowed.replace = true;
  const auto refused = upgrade_now(text({kBase, cluster_wide, wide_thing}), options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("which belongs to release default/other"));
  EXPECT_TRUE(cluster.has("Thing.example.com", "default", "two"));
}

}  // namespace
}  // namespace mist::action
