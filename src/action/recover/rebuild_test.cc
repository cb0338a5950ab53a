// Records that are damaged or lost, on a cluster in memory. tests/e2e/test_backup.py does the same with a
// real garbage collector.

#include "action/recover/rebuild.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "action/query/revision_diff.h"
#include "action/query/status.h"
#include "action/recover/recover.h"
#include "encoding/yaml.h"
#include "testing/recorded_events.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using encoding::Value;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RebuildTest : public testing::ReleaseFixture {
 protected:
  static std::string map(std::string_view name, std::string_view text = "x") {
    return fmt::format(
        "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}}}, data: {{text: '{}'}}}}\n", name,
        text);
  }
  void install() {
    const auto done = install_now(map("one") + map("two"));
    ASSERT_TRUE(done.ok()) << done.error().to_line();
  }
  Result<RecoverReport> from_labels(bool trust = false) {
    RecoverOptions options;
    options.from_labels = true;
    options.trust_record = trust;
    return recover(environment(), id, options, Context());
  }
  Value secret(const std::string& name) { return *cluster.find("Secret", "default", name); }
  void lose_head() {
    Value anchor = secret("mistletoe.web");
    anchor["metadata"]["annotations"].erase("mistletoe.dev/head");
    cluster.put(anchor);
  }
  void damage(const std::string& revision) {
    Value broken = secret(revision);
    broken["data"].set("record", "bm9uc2Vuc2U=");
    cluster.put(broken);
  }
  void drop(const std::string& secret_name) { cluster.drop({{"", "Secret"}, "default", secret_name}); }
  bool has(std::string_view name) { return cluster.has("ConfigMap", "default", name); }
  // The release's record is gone, and an API is down of which discovery still lists one kind.
  void install_beside_stale_api(std::vector<std::string> verbs) {
    install();
    cluster.register_kind({{"packages.example.com", "v1", "Manifest"}, "manifests", true, std::move(verbs)});
    drop("mistletoe.web");
    drop("mistletoe.web.v0");
    cluster.set_api_down("packages.example.com", testing::DownKinds::Stale);
    cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.key.group_kind.kind != "Manifest") return std::nullopt;
      return error(ErrorKind::Retryable, "cannot list").with_because("service unavailable");
    });
  }
};

TEST_F(RebuildTest, AnAnchorWithoutItsHeadIsReadFromItsRevisions) {
  install();
  ASSERT_TRUE(upgrade_now(map("one") + map("three")).ok());
  lose_head();
  const auto seen = status(environment(), id, Context());
  ASSERT_TRUE(seen.ok()) << seen.error().to_line();
  EXPECT_EQ(seen->anchor.head.latest, 1);
  EXPECT_EQ(seen->anchor.head.deployed, 1);
  EXPECT_EQ(seen->objects.size(), 2u);
  const auto listed = release::Store(cluster).list_anchors("", Context());
  EXPECT_EQ(listed->at(0).head.status, release::RevisionStatus::Deployed);
  ASSERT_TRUE(upgrade_now(map("one")).ok());
  EXPECT_FALSE(has("three"));
  EXPECT_THAT(now().anchor->damage, IsEmpty());
}

TEST_F(RebuildTest, WhatIsRecordedAnewIsKeptByTheSameRelease) {
  Environment managed = environment();
  managed.managing_release = "shop/web";
  managed.managing_release_uid = "first";
  const auto done = deploy(managed, id, install_intent(rendering(map("one"))), {}, Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  damage("mistletoe.web.v0");
  const auto recorded = from_labels();
  ASSERT_TRUE(recorded.ok()) << recorded.error().to_line();
  EXPECT_EQ(recorded->outcome, Recovered::Rebuilt);
  EXPECT_EQ(now().anchor->head.kept_by, "shop/web");
  EXPECT_EQ(now().anchor->head.kept_by_uid, "first");
}

TEST_F(RebuildTest, UninstallingWithoutAHeadDeletesWhatTheReleaseHas) {
  install();
  lose_head();
  const auto gone = uninstall_now();
  ASSERT_TRUE(gone.ok()) << gone.error().to_line();
  EXPECT_EQ(gone->deleted, 2u);
  EXPECT_THAT(cluster.objects(), IsEmpty());
}

TEST_F(RebuildTest, UninstallingWithNeitherHeadNorRevisionsGoesByTheLabels) {
  install();
  lose_head();
  drop("mistletoe.web.v0");
  const auto gone = uninstall_now();
  ASSERT_TRUE(gone.ok()) << gone.error().to_line();
  EXPECT_EQ(gone->deleted, 2u);
  EXPECT_THAT(cluster.objects(), IsEmpty());
}

TEST_F(RebuildTest, ADamagedDeployedRevisionStopsOnlyWhatNeedsIt) {
  install();
  ASSERT_TRUE(upgrade_now(map("one", "changed") + map("three")).ok());
  damage("mistletoe.web.v1");
  const auto refused = upgrade_now(map("one"));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().because, HasSubstr("mistletoe.web.v1"));
  EXPECT_THAT(refused.error().hint, HasSubstr("mistctl recover web -n default --from-labels"));
  EXPECT_TRUE(has("three"));
  const auto seen = status(environment(), id, Context());
  ASSERT_TRUE(seen.ok()) << seen.error().to_line();
  EXPECT_EQ(seen->objects.size(), 2u);
  // Back to what can be read; what only the damaged one brought goes.
  const auto back = rollback_now(0);
  ASSERT_TRUE(back.ok()) << back.error().to_line();
  EXPECT_TRUE(has("two"));
  EXPECT_FALSE(has("three"));
  EXPECT_TRUE(upgrade_now(map("one")).ok());
}

TEST_F(RebuildTest, ADamagedDeployedRevisionIsUninstalledByTheLabels) {
  install();
  damage("mistletoe.web.v0");
  const auto gone = uninstall_now();
  ASSERT_TRUE(gone.ok()) << gone.error().to_line();
  EXPECT_THAT(cluster.objects(), IsEmpty());
}

TEST_F(RebuildTest, FromLabelsRecordsWhatIsThereAndEverythingWorksAgain) {
  install();
  damage("mistletoe.web.v0");
  const auto rebuilt = from_labels();
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().to_line();
  EXPECT_EQ(rebuilt->outcome, Recovered::Rebuilt);
  EXPECT_EQ(rebuilt->revision, 1);
  const ReleaseState state = now();
  ASSERT_TRUE(state.deployed.has_value());
  EXPECT_EQ(state.deployed->objects.size(), 2u);
  EXPECT_EQ(state.deployed->objects[0].object.value().string_at({"data", "text"}), "x");
  EXPECT_FALSE(state.anchor->lock.has_value());
  ASSERT_TRUE(upgrade_now(map("one") + map("three")).ok());
  EXPECT_FALSE(has("two"));
  // The recorded revision can be gone back to.
  ASSERT_TRUE(rollback_now(1).ok());
  EXPECT_TRUE(has("two"));
  EXPECT_FALSE(has("three"));
  EXPECT_EQ(from_labels()->outcome, Recovered::Nothing);
}

TEST_F(RebuildTest, FromLabelsMakesALostAnchorAnewFromTheRevisions) {
  install();
  drop("mistletoe.web");
  const auto again = install_now(map("one"));
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().hint, HasSubstr("--from-labels"));
  EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web"));
  const auto rebuilt = from_labels(true);
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().to_line();
  EXPECT_TRUE(rebuilt->rebuilt->new_seed);
  EXPECT_FALSE(rebuilt->rebuilt->values_lost);
  EXPECT_EQ(rebuilt->rebuilt->unproven, -1);
  EXPECT_EQ(now().deployed->package.reference, "test:1");
  EXPECT_EQ(now().fixed.seed.reveal().size(), 32u);
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_THAT(cluster.objects(), IsEmpty());
}

// The key of its seals went with the anchor, so whoever may write Secrets may have written it.
TEST_F(RebuildTest, ARevisionThatNothingProvesIsNotUsedUnlessItsUserVouchesForIt) {
  install();
  drop("mistletoe.web");
  const auto rebuilt = from_labels();
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().to_line();
  EXPECT_EQ(rebuilt->rebuilt->unproven, 0);
  EXPECT_TRUE(rebuilt->rebuilt->values_lost);
  EXPECT_EQ(now().deployed->number, 1);
  EXPECT_EQ(now().deployed->objects.size(), 2u) << "as the objects tell";
  const auto refused = rollback_now(0);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().because, HasSubstr("doesn't have the release's seal"));
  ASSERT_TRUE(upgrade_now(map("one")).ok());
  EXPECT_FALSE(has("two"));
}

TEST_F(RebuildTest, ARevisionThatNothingProvesCanBeLookedAt) {
  install();
  ASSERT_TRUE(upgrade_now(map("one")).ok());
  testing::RecordedEvents heard;
  const Environment listening{cluster, clock, random, heard, "tester"};
  // A healthy one beside a damaged one.
  const Value whole = secret("mistletoe.web.v1");
  damage("mistletoe.web.v1");
  auto seen = inspect_revision(listening, id, 0, Context());
  ASSERT_TRUE(seen.ok()) << seen.error().to_line();
  EXPECT_EQ(seen->revision.objects.size(), 2u);
  EXPECT_EQ(seen->anchor.head.latest, 1);
  EXPECT_THAT(heard.messages, IsEmpty());
  EXPECT_EQ(inspect_revision(listening, id, 1, Context()).error().kind, ErrorKind::Internal);
  // One with another seal, and one whose key is gone.
  Value forged = whole;
  forged["data"].set("recordSeal", "bm9uc2Vuc2U=");
  cluster.put(forged);
  seen = inspect_revision(listening, id, 1, Context());
  ASSERT_TRUE(seen.ok()) << seen.error().to_line();
  EXPECT_TRUE(heard.has("nothing proves that revision v1 is of release default/web: it doesn't have"));
  drop("mistletoe.web");
  seen = inspect_revision(listening, id, 0, Context());
  ASSERT_TRUE(seen.ok()) << seen.error().to_line();
  EXPECT_EQ(seen->revision.objects.size(), 2u);
  EXPECT_TRUE(heard.has("nothing proves that revision v0 is of release default/web: the Secret"));
  EXPECT_EQ(inspect_revision(listening, id, 7, Context()).error().kind, ErrorKind::NotFound);
}

TEST_F(RebuildTest, AnAnchorThatLostTheKeyOfItsSealsIsRefusedAndGetsANewOne) {
  install();
  Value anchor = secret("mistletoe.web");
  anchor["data"].erase("key");
  cluster.put(anchor);
  const auto refused = upgrade_now(map("one"));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().hint, HasSubstr("--from-labels"));
  ASSERT_TRUE(from_labels().ok());
  EXPECT_TRUE(now().anchor->seals.has_key());
  EXPECT_THAT(now().anchor->damage, IsEmpty());
  ASSERT_TRUE(upgrade_now(map("one")).ok());
  EXPECT_FALSE(has("two"));
}

// The objects are in another namespace than the record was.
TEST_F(RebuildTest, FromLabelsSaysThatTheNamespaceOfTheRecordIsNotThere) {
  ASSERT_TRUE(
      install_now("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: one}, "
                  "rules: []}\n")
          .ok());
  drop("mistletoe.web");
  drop("mistletoe.web.v0");
  const auto missing = status(environment(), id, Context());
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().hint, HasSubstr("mistctl recover web -n default --from-labels rebuilds it"));
  cluster.set_hold_namespaces(true);
  ASSERT_TRUE(
      cluster.remove({{{"", "v1", "Namespace"}, "namespaces", false, {}}, "", "default"}, {}, Context())
          .ok());
  const auto terminating = from_labels();
  ASSERT_FALSE(terminating.ok());
  EXPECT_EQ(terminating.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(terminating.error().message, HasSubstr("is being deleted"));
  cluster.finish_namespaces();
  ASSERT_FALSE(cluster.has("Namespace", "", "default"));
  const auto gone = from_labels();
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(gone.error().hint, HasSubstr("kubectl create namespace default"));
}

TEST_F(RebuildTest, FromLabelsMakesARecordOfObjectsAlone) {
  install();
  drop("mistletoe.web");
  drop("mistletoe.web.v0");
  const auto rebuilt = from_labels();
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().to_line();
  EXPECT_TRUE(rebuilt->rebuilt->values_lost);
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_THAT(cluster.objects(), IsEmpty());
  EXPECT_EQ(from_labels().error().kind, ErrorKind::NotFound);
}

TEST_F(RebuildTest, FromLabelsSaysThatItLookedInOneNamespaceOnly) {
  install();
  drop("mistletoe.web");
  drop("mistletoe.web.v0");
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list" || call.key.group_kind.kind != "ConfigMap" || !call.key.ns.empty())
      return std::nullopt;
    return error(ErrorKind::Forbidden, "configmaps is forbidden");
  });
  testing::RecordedEvents heard;
  RecoverOptions options;
  options.from_labels = true;
  const auto rebuilt = recover({cluster, clock, random, heard, "tester"}, id, options, Context());
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().to_line();
  EXPECT_TRUE(heard.has("you may list configmaps in namespace default only"));
  EXPECT_THAT(rebuilt->rebuilt->own_namespace_only, ::testing::ElementsAre("configmaps"));
  EXPECT_EQ(rebuilt->rebuilt->revision.inventory.size(), 2u);
  EXPECT_EQ(now().deployed->description,
            "recorded from the labels of 2 objects; configmaps looked for in namespace default only");
}

// Its record would name the other kinds alone, and no later look would go beyond these.
TEST_F(RebuildTest, FromLabelsRecordsNothingWhileAForeignKindCannotBeListed) {
  install();
  cluster.register_kind(
      {{"tally.example.com", "v1", "Tally"}, "tallies", true, {"list", "create", "delete"}});
  const auto silent = [](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list" || call.key.group_kind.kind != "Tally") return std::nullopt;
    return error(ErrorKind::Retryable, "cannot list").with_because("service unavailable");
  };
  Value names_no_kinds = secret("mistletoe.web");
  names_no_kinds["metadata"]["annotations"].erase(apply::kGroupKindsAnnotation);
  cluster.put(names_no_kinds);
  cluster.set_before(silent);
  EXPECT_EQ(from_labels().error().kind, ErrorKind::Retryable);
  drop("mistletoe.web");
  drop("mistletoe.web.v0");
  EXPECT_EQ(from_labels().error().kind, ErrorKind::Retryable);
  cluster.set_before({});
  EXPECT_FALSE(now().anchor.has_value());
  const auto rebuilt = from_labels();
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().to_line();
  EXPECT_EQ(rebuilt->rebuilt->revision.inventory.size(), 2u);
}

// The server doesn't even say what kinds it has.
TEST_F(RebuildTest, FromLabelsRecordsNothingWhileAForeignApiIsDown) {
  install();
  cluster.register_kind(
      {{"tally.example.com", "v1", "Tally"}, "tallies", true, {"list", "create", "delete"}});
  drop("mistletoe.web");
  drop("mistletoe.web.v0");
  cluster.set_api_down("tally.example.com");
  EXPECT_EQ(from_labels().error().kind, ErrorKind::Retryable);
  cluster.set_api_down("");
  EXPECT_TRUE(from_labels().ok());
}

// As OLM's packages: none of them is a release's.
TEST_F(RebuildTest, FromLabelsGoesOnWhileAnApiIsDownThatCanOnlyBeRead) {
  install_beside_stale_api({"get", "list"});
  const auto rebuilt = from_labels();
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().to_line();
  EXPECT_EQ(rebuilt->rebuilt->revision.inventory.size(), 2u);
}

// It may be listed still, and what it holds is not seen.
TEST_F(RebuildTest, FromLabelsRecordsNothingWhileAStaleApiMayHoldObjects) {
  install_beside_stale_api({"list", "create"});
  EXPECT_EQ(from_labels().error().kind, ErrorKind::Retryable);
}

TEST_F(RebuildTest, ANamespaceOfWhichNobodyKnowsWhoMadeItOutlivesTheRelease) {
  cluster.put(*encoding::parse_yaml("{apiVersion: v1, kind: Namespace, metadata: {name: extra}}"));
  ASSERT_TRUE(install_now(map("one") + "---\n{apiVersion: v1, kind: Namespace, metadata: {name: extra}}\n",
                          {.allowed = {.adopt = true}})
                  .ok());
  drop("mistletoe.web");
  drop("mistletoe.web.v0");
  ASSERT_TRUE(from_labels().ok());
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_FALSE(has("one"));
  EXPECT_TRUE(cluster.has("Namespace", "", "extra"));
}

TEST_F(RebuildTest, ALostSeedIsDrawnAnewOnlyWhenThatIsAskedFor) {
  install();
  Value anchor = secret("mistletoe.web");
  anchor["data"].erase("seed");
  cluster.put(anchor);
  ASSERT_TRUE(now().anchor.has_value());
  EXPECT_TRUE(now().fixed.seed.reveal().empty());
  const auto rebuilt = from_labels();
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().to_line();
  EXPECT_EQ(now().fixed.seed.reveal().size(), 32u);
  EXPECT_THAT(now().anchor->damage, IsEmpty());
}

TEST_F(RebuildTest, FromLabelsKeepsHowChartsDrewWhereARevisionTells) {
  install();
  ASSERT_TRUE(upgrade_now(map("one")).ok());
  damage("mistletoe.web.v1");
  ASSERT_TRUE(from_labels().ok());
  EXPECT_FALSE(now().deployed->drawn.own_chart_seeds) << "as v0 says";
}

TEST_F(RebuildTest, FromLabelsLetsEachChartDrawFromItsOwnSeedWhereNoneTells) {
  install();
  damage("mistletoe.web.v0");
  ASSERT_TRUE(from_labels().ok());
  EXPECT_TRUE(now().deployed->drawn.own_chart_seeds);
}

TEST_F(RebuildTest, WithANewSeedEachChartDrawsFromItsOwn) {
  install();
  Value anchor = secret("mistletoe.web");
  anchor["data"].erase("seed");
  cluster.put(anchor);
  ASSERT_TRUE(from_labels().ok());
  EXPECT_TRUE(now().deployed->drawn.own_chart_seeds);
}

// An object that a stopped process sent too late, or that somebody copied with its labels.
TEST_F(RebuildTest, WhatNoRecordNamesIsReportedAndTakenUp) {
  install();
  Value stray = *cluster.find("ConfigMap", "default", "one");
  for (const char* field : {"uid", "resourceVersion", "creationTimestamp", "managedFields"})
    stray["metadata"].erase(field);
  stray["metadata"].set("name", "stray");
  cluster.put(stray, "mistctl");
  testing::RecordedEvents heard;
  Environment with_sink{cluster, clock, random, heard, "tester"};
  ASSERT_TRUE(status(with_sink, id, Context()).ok());
  EXPECT_THAT(heard.messages, Contains(HasSubstr("ConfigMap default/stray")));
  const auto rebuilt = from_labels();
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().to_line();
  ASSERT_EQ(rebuilt->rebuilt->discovered.size(), 1u);
  EXPECT_EQ(rebuilt->rebuilt->discovered[0].name, "stray");
  // It is the release's and not wanted: the next write prunes it, as anything of that sort.
  ASSERT_TRUE(upgrade_now(map("one") + map("two")).ok());
  EXPECT_FALSE(has("stray"));
  EXPECT_TRUE(has("one"));
}

TEST_F(RebuildTest, RevisionsAreTiedToNothingThatARestoreWouldChange) {
  install();
  EXPECT_EQ(secret("mistletoe.web.v0").at_path({"metadata", "ownerReferences"}), nullptr);
  // Those of earlier versions lose their ties with the next write.
  Value tied = secret("mistletoe.web.v0");
  tied["metadata"].set(
      "ownerReferences",
      Value::array({Value::object({{"apiVersion", "v1"},
                                   {"kind", "Secret"},
                                   {"name", "mistletoe.web"},
                                   {"uid", secret("mistletoe.web").string_at({"metadata", "uid"})}})}));
  cluster.put(tied);
  ASSERT_TRUE(upgrade_now(map("one")).ok());
  const Value untied = secret("mistletoe.web.v0");
  const Value* const left = untied.at_path({"metadata", "ownerReferences"});
  EXPECT_TRUE(left == nullptr || left->size() == 0);
}

}  // namespace
}  // namespace mist::action
