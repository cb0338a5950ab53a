// Rollback, recover, --rollback-on-failure and history on a cluster in memory. durability_test.cc kills and
// fails them at each of their requests.

#include "action/recover/recover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "action/query/drift.h"
#include "action/query/history.h"
#include "action/query/status.h"
#include "encoding/json.h"
#include "testing/api_refusal.h"
#include "testing/recorded_events.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using release::RevisionStatus;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeCall;
using ::testing::HasSubstr;

std::string text_map(std::string_view name, std::string_view text) {
  return fmt::format(
      "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}}}, data: {{text: '{}'}}}}\n", name, text);
}
const std::string kFirstYaml = text_map("shared", "first") + text_map("only-first", "x");
const std::string kSecondYaml = text_map("shared", "second") + text_map("only-second", "x");
const std::string kThirdYaml = text_map("shared", "third") + text_map("only-third", "x");
constexpr std::string_view kCrd = R"(---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: VERSION}}}]
)";

std::string crd(std::string_view version) {
  std::string text(kCrd);
  return text.replace(text.find("VERSION"), 7, version);
}

class RecoverTest : public testing::ReleaseFixture {
 protected:
  Render rendering(std::string yaml, const std::string& version) {
    return ReleaseFixture::rendering(std::move(yaml),
                                     {"test:" + version, "test", version, "sha256:" + version},
                                     encoding::Value::object({{"version", version}}));
  }
  Result<DeployReport> install_now(std::string yaml, const DeployOptions& options = {}) {
    return deploy(environment(), id, install_intent(rendering(std::move(yaml), "1")), options, Context());
  }
  Result<DeployReport> upgrade_now(std::string yaml, const std::string& version,
                                   const DeployOptions& options = {}) {
    return deploy(environment(), id, upgrade_intent(rendering(std::move(yaml), version)), options, Context());
  }
  Result<RecoverReport> recover_now(const RecoverOptions& options = {}) {
    return recover(environment(), id, options, Context());
  }
  // The process "somebody" dies before its second write, with the lock in its hand.
  void die_in_first_install() {
    std::atomic<bool> dead = false;
    cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
      if (call.verb == "apply" && call.key.name == "only-first" && !call.dry_run) dead = true;
      return dead ? std::optional(error(ErrorKind::Retryable, "connection reset")) : std::nullopt;
    });
    Environment dying{cluster, no_expiry, random, events, "dying", std::chrono::milliseconds(200)};
    dying.process = "somebody";
    ASSERT_FALSE(deploy(dying, id, install_intent(rendering(kFirstYaml, "1")), {}, Context()).ok());
    cluster.set_before({});
    ASSERT_TRUE(now().anchor->lock);
  }
  void refuse(const std::string& name) {
    cluster.set_before([name](const FakeCall& call) -> std::optional<Error> {
      // Used up since the server was asked.
      if (call.verb == "apply" && call.key.name == name && !call.dry_run)
        return error(ErrorKind::Forbidden, "quota exceeded");
      return std::nullopt;
    });
  }
  static Error invalid() {
    return testing::api_refusal(ErrorKind::Invalid, "cannot apply", "it may not shrink");
  }
  enum class Answers : std::uint8_t { Always, ToWrites };
  void find_invalid(std::string name, Answers answers) {
    cluster.set_before([name = std::move(name), answers](const FakeCall& call) -> std::optional<Error> {
      if (call.verb != "apply" || call.key.name != name) return std::nullopt;
      return answers == Answers::ToWrites && call.dry_run ? std::nullopt : std::optional(invalid());
    });
  }
  static std::string left(const DeployReport& report) {
    std::string names;
    for (const apply::PlannedAction& write : report.plan.writes)
      if (write.recorded.left) names += write.key.name;
    return names;
  }
  static std::string left_of(const release::Revision& revision, std::string_view name) {
    for (const apply::InventoryItem& item : revision.inventory)
      if (item.key.name == name) return item.left;
    return "no such object";
  }
  std::string text(std::string_view name) {
    const auto object = cluster.find("ConfigMap", "default", name);
    return object ? std::string(object->string_at({"data", "text"})) : "absent";
  }
  std::vector<std::string> texts() { return {text("shared"), text("only-first"), text("only-second")}; }
  std::vector<int> kept() {
    std::vector<int> numbers;
    for (const auto& revision : *release::Store(cluster).list_revisions(id, Context()))
      numbers.push_back(revision.number);
    return numbers;
  }
};

// rollback

TEST_F(RecoverTest, RollbackRestoresPackageValuesAndObjectsFromTheRecordAsANewRevision) {
  ASSERT_TRUE(install_now(kFirstYaml + crd("one")).ok());
  ASSERT_TRUE(upgrade_now(kSecondYaml + crd("two"), "2").ok());
  renders = 0;
  const auto report = rollback_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(renders, 0);
  EXPECT_EQ(report->revision, 2);
  EXPECT_EQ(report->restores, 0);
  EXPECT_EQ(report->package.reference, "test:1");
  EXPECT_THAT(texts(), ElementsAre("first", "x", "absent"));
  const auto crd = cluster.find("CustomResourceDefinition.apiextensions.k8s.io", "", "widgets.example.com");
  EXPECT_THAT(encoding::to_json(*crd), HasSubstr("\"one\""));
  const ReleaseState state = now();
  EXPECT_EQ(state.deployed->number, 2);
  EXPECT_EQ(state.deployed->action, "rollback");
  EXPECT_EQ(state.deployed->restores, 0);
  EXPECT_EQ(state.deployed->user_values.string_at("version"), "1");
  EXPECT_EQ(state.anchor->head.package, "test:1");
  // And a rollback can be rolled back: to the last good one before it.
  ASSERT_TRUE(rollback_now().ok());
  EXPECT_THAT(texts(), ElementsAre("second", "absent", "x"));
}

TEST_F(RecoverTest, RollbackAfterAFailedUpgradeGoesToWhatIsDeployed) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  ASSERT_TRUE(upgrade_now(kSecondYaml, "2").ok());
  refuse("only-third");
  ASSERT_FALSE(upgrade_now(kThirdYaml, "3").ok());
  cluster.set_before({});
  const auto report = rollback_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->restores, 1);
  EXPECT_THAT(texts(), ElementsAre("second", "absent", "x"));
  EXPECT_EQ(text("only-third"), "absent");
  EXPECT_TRUE(now().unfinished.empty());
}

// v1 is bad, and deployed. Its rollback failed: once more, it goes where that was to go.
TEST_F(RecoverTest, ARollbackThatFailedIsRepeatedAndNotTurnedBack) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  ASSERT_TRUE(upgrade_now(kSecondYaml, "2").ok());
  refuse("only-first");
  ASSERT_FALSE(rollback_now().ok());
  EXPECT_EQ(now().unfinished.back().restores, 0);
  ASSERT_FALSE(recover_now().ok()) << "v3 finishes v2, and fails too";
  ASSERT_FALSE(rollback_now().ok());
  cluster.set_before({});
  const auto report = rollback_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->restores, 0);
  EXPECT_THAT(texts(), ElementsAre("first", "x", "absent"));
  // Now that it has ended, the next one goes back from it.
  ASSERT_TRUE(rollback_now().ok());
  EXPECT_THAT(texts(), ElementsAre("second", "absent", "x"));
}

// Each recovery is to finish the one before, and the first of them the upgrade, which isn't kept any more.
TEST_F(RecoverTest, RollbackAfterManyRecoveriesOfAnUpgradeGoesToWhatIsDeployed) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  ASSERT_TRUE(upgrade_now(kSecondYaml, "2").ok());
  refuse("only-third");
  ASSERT_FALSE(upgrade_now(kThirdYaml, "3").ok());
  for (int i = 0; i < 2; ++i) ASSERT_FALSE(recover_now({.deploy = {.history_max = 2}}).ok());
  EXPECT_THAT(kept(), ::testing::UnorderedElementsAre(1, 3, 4));
  cluster.set_before({});
  const auto report = rollback_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->restores, 1);
  EXPECT_THAT(texts(), ElementsAre("second", "absent", "x"));
}

// v1 is bad, and where its rollback was to go isn't known any more.
TEST_F(RecoverTest, RollbackAfterManyRecoveriesOfARollbackIsNotTurnedBack) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  ASSERT_TRUE(upgrade_now(kSecondYaml, "2").ok());
  refuse("only-first");
  ASSERT_FALSE(rollback_now().ok());
  for (int i = 0; i < 2; ++i) ASSERT_FALSE(recover_now({.deploy = {.history_max = 2}}).ok());
  cluster.set_before({});
  const auto refused = rollback_now();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(refused.error().hint, HasSubstr("choose among v1"));
}

TEST_F(RecoverTest, ARollbackThatWasKilledIsRepeatedAndNotTurnedBack) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  ASSERT_TRUE(upgrade_now(kSecondYaml, "2").ok());
  std::atomic<bool> dead = false;
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && call.key.name == "only-first" && !call.dry_run) dead = true;
    return dead ? std::optional(error(ErrorKind::Retryable, "connection reset")) : std::nullopt;
  });
  const Environment dying{cluster, no_expiry, random, events, "dying", std::chrono::milliseconds(200)};
  ASSERT_FALSE(deploy(dying, id, rollback_intent(dying, {}, Context()), {}, Context()).ok());
  cluster.set_before({});
  EXPECT_EQ(now().unfinished.back().status, RevisionStatus::Pending);
  const Environment next{
      cluster, no_expiry, random, events, "next", std::chrono::milliseconds(200), std::chrono::seconds(60)};
  const auto report = deploy(next, id, rollback_intent(next, {}, Context()), {}, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->restores, 0);
  EXPECT_THAT(texts(), ElementsAre("first", "x", "absent"));
}

TEST_F(RecoverTest, ARollbackThatDiedBeforeItsRevisionWasStoredIsRepeated) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  ASSERT_TRUE(upgrade_now(kSecondYaml, "2").ok());
  release::Anchor anchor = *now().anchor;
  release::AnchorChange announced;
  announced.head = anchor.head;
  announced.head->latest = 2;
  announced.head->action = "rollback";
  announced.head->status = RevisionStatus::Pending;
  ASSERT_TRUE(release::Store(cluster).change_anchor(anchor, announced, Context()).ok());
  const auto report = rollback_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->restores, 0);
}

TEST_F(RecoverTest, RollbackRefusesWhatIsUnknownFailedOrNotKeptAndListsTheGoodOnes) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  const auto none = rollback_now();
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("no revision before v0"));
  EXPECT_THAT(none.error().hint, HasSubstr("mistctl uninstall web -n default removes"));
  ASSERT_TRUE(upgrade_now(kSecondYaml, "2").ok());
  refuse("only-third");
  ASSERT_FALSE(upgrade_now(kThirdYaml, "3").ok());
  cluster.set_before({});
  cluster.clear_calls();
  const auto unknown = rollback_now(9);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(unknown.error().message, HasSubstr("no revision v9"));
  EXPECT_THAT(unknown.error().hint, HasSubstr("v1 (test:2), v0 (test:1)"));
  const auto failed = rollback_now(2);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("v2 of release default/web failed"));
  EXPECT_THAT(failed.error().because, HasSubstr("quota exceeded"));
  EXPECT_EQ(cluster.writes(), 0u);
  ASSERT_TRUE(upgrade_now(kThirdYaml, "3", {.history_max = 2}).ok());
  ASSERT_TRUE(upgrade_now(kFirstYaml, "4", {.history_max = 2}).ok());
  const auto trimmed = rollback_now(0);
  ASSERT_FALSE(trimmed.ok());
  EXPECT_THAT(trimmed.error().message, HasSubstr("not kept any more"));
}

TEST_F(RecoverTest, RollbackToWhatIsThereWritesNothing) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  cluster.clear_calls();
  const auto report = rollback_now(0);
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_FALSE(report->changed);
  EXPECT_EQ(cluster.writes(), 0u);
  const auto dry = rollback_now(0, {.dry_run = DryRun::Client});
  ASSERT_TRUE(dry.ok());
}

TEST_F(RecoverTest, RollbackLeavesClaimsThatTheLaterRevisionBrought) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  ASSERT_TRUE(upgrade_now(kFirstYaml + R"(---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}
)",
                          "2", {.allowed = {.prune = {.delete_pvcs = true}}})
                  .ok());
  ASSERT_TRUE(rollback_now().ok());
  EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "default", "data")) << "permission isn't inherited";
  ASSERT_TRUE(rollback_now(1).ok());
  ASSERT_TRUE(rollback_now(0, {.allowed = {.prune = {.delete_pvcs = true}}}).ok());
  EXPECT_FALSE(cluster.has("PersistentVolumeClaim", "default", "data"));
}

// history

TEST_F(RecoverTest, HistoryTellsWhatWasDoneFromMetadata) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  ASSERT_TRUE(upgrade_now(kSecondYaml, "2").ok());
  ASSERT_TRUE(rollback_now().ok());
  refuse("only-third");
  ASSERT_FALSE(upgrade_now(kThirdYaml, "3").ok());
  cluster.set_before({});
  cluster.clear_calls();
  const auto seen = history(environment(), id, Context());
  ASSERT_TRUE(seen.ok()) << seen.error().to_line();
  ASSERT_EQ(seen->entries.size(), 4u);
  std::vector<std::string> rows;
  for (const HistoryEntry& entry : seen->entries)
    rows.push_back(fmt::format("v{} {} {} {} {} {}", entry.revision.number, entry.revision.action,
                               to_string(entry.status), entry.revision.package, entry.revision.objects,
                               entry.revision.description));
  EXPECT_THAT(rows, ElementsAre("v0 install superseded test:1 2 ", "v1 upgrade superseded test:2 2 ",
                                "v2 rollback deployed test:1 2 back to v0", "v3 upgrade failed test:3 2 "));
  EXPECT_THAT(seen->entries[3].revision.message, HasSubstr("quota exceeded"));
  EXPECT_FALSE(seen->entries[0].revision.finished.empty());
  EXPECT_EQ(cluster.count("get"), 1u) << "the anchor";
  EXPECT_EQ(cluster.count("list"), 1u);
  for (const FakeCall& call : cluster.calls()) EXPECT_EQ(call.metadata_only, call.verb == "list");
}

TEST_F(RecoverTest, HistoryIsTrimmedUnderTheLockWithItsChunks) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  for (int i = 1; i <= 5; ++i)
    ASSERT_TRUE(upgrade_now(kFirstYaml, fmt::format("v{}", i), {.history_max = 3}).ok());
  EXPECT_THAT(kept(), ElementsAre(3, 4, 5));
  for (int i = 6; i <= 9; ++i) {
    refuse("only-second");
    ASSERT_FALSE(upgrade_now(kSecondYaml, fmt::format("{}", i), {.history_max = 2}).ok());
  }
  cluster.set_before({});
  EXPECT_THAT(kept(), ElementsAre(5, 8, 9)) << "the deployed one and the last two";
  EXPECT_EQ(now().unfinished.size(), 2u);
  ASSERT_TRUE(upgrade_now(kSecondYaml, "10", {.history_max = 0}).ok());
  EXPECT_THAT(kept(), ElementsAre(5, 8, 9, 10));
  EXPECT_THAT(texts(), ElementsAre("second", "absent", "x"));
}

TEST_F(RecoverTest, ManyFailuresInARowLoseNoObject) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  for (int i = 1; i <= 12; ++i) {
    refuse(fmt::format("zz-{}", i));
    // Each try makes one object more and fails at its last one.
    ASSERT_FALSE(upgrade_now(kFirstYaml + text_map(fmt::format("made-{}", i), "x") +
                                 text_map(fmt::format("zz-{}", i), "x"),
                             fmt::format("{}", i), {.history_max = 2})
                     .ok());
  }
  cluster.set_before({});
  EXPECT_EQ(kept().size(), 3u);
  ASSERT_TRUE(upgrade_now(kFirstYaml, "end").ok());
  for (int i = 1; i <= 12; ++i) EXPECT_EQ(text(fmt::format("made-{}", i)), "absent") << i;
}

// recover

TEST_F(RecoverTest, NothingUnfinishedIsNothingToDo) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  cluster.clear_calls();
  for (const bool undo : {false, true}) {
    const auto report = recover_now({.undo = undo, .deploy = {}});
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    EXPECT_EQ(report->outcome, Recovered::Nothing);
    EXPECT_EQ(report->revision, 0);
  }
  EXPECT_EQ(cluster.writes(), 0u);
  id.name = "none";
  EXPECT_EQ(recover_now().error().kind, ErrorKind::NotFound);
}

TEST_F(RecoverTest, AReleaseThatIsSettledIsKeptByTheSameRelease) {
  Environment managed = environment();
  managed.managing_release = "shop/web";
  managed.managing_release_uid = "first";
  const auto done = deploy(managed, id, install_intent(rendering(kFirstYaml, "1")), {}, Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  // An upgrade died before it stored its revision.
  release::Anchor anchor = *now().anchor;
  release::AnchorChange announced;
  announced.head = anchor.head;
  announced.head->latest = 1;
  announced.head->status = RevisionStatus::Pending;
  ASSERT_TRUE(release::Store(cluster).change_anchor(anchor, announced, Context()).ok());
  const auto report = recover_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->outcome, Recovered::Settled);
  EXPECT_EQ(now().anchor->head.kept_by, "shop/web");
  EXPECT_EQ(now().anchor->head.kept_by_uid, "first");
}

TEST_F(RecoverTest, AFailedUpgradeIsFinishedFromItsRecordWithItsOptions) {
  ASSERT_TRUE(install_now(kFirstYaml + R"(---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}
)")
                  .ok());
  refuse("only-second");
  ASSERT_FALSE(upgrade_now(kSecondYaml, "2", {.allowed = {.prune = {.delete_pvcs = true}}}).ok());
  cluster.set_before({});
  renders = 0;
  const auto dry = recover_now({.undo = false, .deploy = {.dry_run = DryRun::Client}});
  ASSERT_TRUE(dry.ok());
  EXPECT_EQ(dry->outcome, Recovered::Finished);
  EXPECT_EQ(text("only-second"), "absent");
  const auto report = recover_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->outcome, Recovered::Finished);
  EXPECT_THAT(report->found, HasSubstr("v1 (upgrade) failed"));
  EXPECT_EQ(report->revision, 2);
  EXPECT_EQ(renders, 0);
  EXPECT_THAT(texts(), ElementsAre("second", "absent", "x"));
  EXPECT_FALSE(cluster.has("PersistentVolumeClaim", "default", "data")) << "it was allowed to go";
  EXPECT_EQ(now().deployed->package.reference, "test:2");
  EXPECT_EQ(now().deployed->description, "finishes v1 (upgrade)");
}

// A wait that timed out is waited for again: otherwise a rollback would return to what never worked.
TEST_F(RecoverTest, WhatWasWaitedForInVainIsDeployedOnlyOnceItIsReady) {
  constexpr std::chrono::milliseconds kShort(30);
  const std::string pod =
      "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}\n";
  cluster.set_instant_controllers(false);
  ASSERT_FALSE(install_now(kFirstYaml + pod, {.wait = true, .timeout = kShort}).ok());
  for (int number = 0; number < 2; ++number) {
    ASSERT_EQ(now().unfinished.back().number, number);
    const auto early = recover_now({.undo = false, .deploy = {.timeout = kShort}});
    ASSERT_FALSE(early.ok()) << "it isn't ready yet";
    EXPECT_EQ(early.error().kind, ErrorKind::Timeout);
    EXPECT_EQ(now().anchor->head.status, RevisionStatus::Failed);
    EXPECT_FALSE(now().deployed);
  }
  cluster.set_status(
      {{"", "Pod"}, "default", "p"},
      *encoding::parse_json(R"({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})"));
  const auto report = recover_now({.undo = false, .deploy = {.timeout = kShort}});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(now().deployed->number, 3);
}

TEST_F(RecoverTest, AFailedUpgradeIsUndone) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  refuse("only-second");
  ASSERT_FALSE(upgrade_now(kSecondYaml, "2").ok());
  cluster.set_before({});
  EXPECT_EQ(text("shared"), "second");
  const auto report = recover_now({.undo = true, .deploy = {}});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->outcome, Recovered::Undone);
  EXPECT_THAT(texts(), ElementsAre("first", "x", "absent"));
  const ReleaseState state = now();
  EXPECT_EQ(state.deployed->number, 2);
  EXPECT_EQ(state.deployed->action, "undo");
  EXPECT_EQ(state.deployed->package.reference, "test:1");
  EXPECT_TRUE(state.unfinished.empty());
}

TEST_F(RecoverTest, AFailedFirstInstallIsRemovedOnceApproved) {
  const auto before = cluster.objects();
  refuse("only-first");
  ASSERT_FALSE(install_now(kFirstYaml).ok());
  cluster.set_before({});
  RecoverOptions options{.undo = true, .deploy = {}};
  options.approve = [](const UninstallPlan& plan) -> Result<bool> {
    EXPECT_EQ(plan.deletes(), 1u);
    return false;
  };
  const auto refused = recover_now(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden) << "that is not an interruption";
  EXPECT_EQ(text("shared"), "first");
  options.approve = {};
  const auto report = recover_now(options);
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->outcome, Recovered::Removed);
  EXPECT_EQ(cluster.objects(), before);
}

// Its term takes 15 seconds, which nobody waits for to say no.
TEST_F(RecoverTest, UndoingAFirstInstallAsksBeforeItWaitsForTheLockOfTheDead) {
  die_in_first_install();
  testing::RecordedEvents heard;
  Environment next{
      cluster, no_expiry, random, heard, "next", std::chrono::milliseconds(200), std::chrono::seconds(60)};
  next.life = [](std::string_view process) {
    return process == "somebody" ? ProcessLife::Dead : ProcessLife::Unknown;
  };
  const auto waited = [&] { return !heard.messages.empty() && heard.has("taking over the lock"); };
  int asked = 0;
  RecoverOptions options{.undo = true, .deploy = {}};
  options.approve = [&](const UninstallPlan& plan) -> Result<bool> {
    ++asked;
    EXPECT_FALSE(waited());
    EXPECT_EQ(plan.deletes(), 1u);
    return asked > 1;
  };
  EXPECT_EQ(recover(next, id, options, Context()).error().kind, ErrorKind::Forbidden);
  EXPECT_FALSE(waited()) << "the answer was no";
  const auto report = recover(next, id, options, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(asked, 2) << "each run asks once";
  EXPECT_TRUE(waited());
  EXPECT_EQ(report->outcome, Recovered::Removed);
  EXPECT_EQ(text("shared"), "absent");
}

// Nobody agreed to delete an object that appeared during the wait.
TEST_F(RecoverTest, UndoingAFirstInstallAsksAgainAboutWhatAppearsDuringTheWait) {
  die_in_first_install();
  Environment next = environment();
  next.life = [](std::string_view) { return ProcessLife::Dead; };
  std::vector<std::size_t> asked;
  RecoverOptions options{.undo = true, .deploy = {}};
  options.approve = [&](const UninstallPlan& plan) -> Result<bool> {
    asked.push_back(plan.deletes());
    if (asked.size() > 1) return false;
    // A write of the dead run, which arrives late.
    auto late = *cluster.find("ConfigMap", "default", "shared");
    late.find("metadata")->set("name", encoding::Value("only-first"));
    late.find("metadata")->erase("uid");
    cluster.put(late);
    return true;
  };
  EXPECT_EQ(recover(next, id, options, Context()).error().kind, ErrorKind::Forbidden);
  EXPECT_THAT(asked, ElementsAre(1u, 2u));
  EXPECT_EQ(text("shared"), "first");
}

TEST_F(RecoverTest, AHalfUninstalledReleaseIsUninstalledOrAppliedAgain) {
  const auto before = cluster.objects();
  const auto half = [&] {
    cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
      if (call.verb == "delete" && call.key.name == "shared") return error(ErrorKind::Forbidden, "not you");
      return std::nullopt;
    });
    const UninstallOptions options;
    auto plan = plan_uninstall(environment(), id, options, Context());
    ASSERT_FALSE(uninstall(environment(), *std::move(plan), options, Context()).ok());
    cluster.set_before({});
    ASSERT_EQ(now().anchor->head.status, RevisionStatus::Uninstalling);
  };
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  half();
  EXPECT_EQ(text("only-first"), "absent");
  const auto refused = upgrade_now(kSecondYaml, "2");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().hint, HasSubstr("--undo"));
  const auto again = recover_now({.undo = true, .deploy = {}});
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_EQ(again->outcome, Recovered::Undone);
  EXPECT_THAT(texts(), ElementsAre("first", "x", "absent"));
  EXPECT_EQ(now().anchor->head.status, RevisionStatus::Deployed);
  EXPECT_TRUE(now().anchor->head.options.is_null());
  half();
  const auto done = recover_now();
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(done->outcome, Recovered::Uninstalled);
  EXPECT_EQ(cluster.objects(), before);
}

// --rollback-on-failure

TEST_F(RecoverTest, AFailingUpgradeRollsItselfBackAndStillFails) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  refuse("only-second");
  const auto report = upgrade_now(kSecondYaml, "2", {.rollback_on_failure = true});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().to_line(), HasSubstr("quota exceeded"));
  EXPECT_THAT(report.error().frames, Contains("rolled back to v0, as v2"));
  EXPECT_THAT(texts(), ElementsAre("first", "x", "absent"));
  EXPECT_EQ(now().deployed->number, 2);
  EXPECT_TRUE(now().unfinished.empty());
}

// One object that can't be changed back doesn't keep the others from going back.

TEST_F(RecoverTest, RollbackLeavesWhatTheServerRefusesAndEverybodyIsTold) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  ASSERT_TRUE(upgrade_now(kSecondYaml, "2").ok());
  find_invalid("shared", Answers::Always);
  const auto dry = rollback_now({}, {.dry_run = DryRun::Client});
  ASSERT_TRUE(dry.ok()) << dry.error().to_line();
  EXPECT_EQ(left(*dry), "shared");
  const auto report = rollback_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(texts(), ElementsAre("second", "x", "absent"));
  EXPECT_EQ(left(*report), "shared");
  EXPECT_THAT(left_of(*now().deployed, "shared"), HasSubstr("may not shrink"));
  EXPECT_EQ(left_of(*now().deployed, "only-first"), "");
  EXPECT_EQ(history(environment(), id, Context())->entries.back().revision.message,
            "left as it was: ConfigMap default/shared");
  const auto seen = status(environment(), id, Context());
  ASSERT_TRUE(seen.ok());
  EXPECT_TRUE(std::ranges::any_of(seen->objects, [](const ObjectStatus& each) {
    return each.key.name == "shared" && each.revision == 1 && each.detail.find("left as it was") == 0;
  }));
  const auto drifted = drift(environment(), id, Context());
  ASSERT_TRUE(drifted.ok());
  ASSERT_EQ(drifted->found.size(), 1u);
  EXPECT_EQ(drifted->found[0].kind, DriftKind::Changed);
  // Once more it changes nothing and says the same.
  const auto again = rollback_now(0);
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_FALSE(again->changed);
  EXPECT_EQ(left(*again), "shared");
  const auto fixed = fix_drift(environment(), id, {}, Context());
  ASSERT_TRUE(fixed.ok()) << fixed.error().to_line();
  EXPECT_EQ(left(*fixed), "shared");
  // And when the server takes it, it is as recorded.
  cluster.set_before({});
  const auto done = fix_drift(environment(), id, {}, Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(left(*done), "");
  EXPECT_EQ(text("shared"), "first");
  EXPECT_EQ(left_of(*now().deployed, "shared"), "");
}

TEST_F(RecoverTest, WhatTheServerRefusesOnlyWhenItIsWrittenIsLeftToo) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  ASSERT_TRUE(upgrade_now(kSecondYaml, "2").ok());
  find_invalid("shared", Answers::ToWrites);
  const auto report = rollback_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(texts(), ElementsAre("second", "x", "absent"));
  EXPECT_EQ(left(*report), "shared");
  EXPECT_THAT(left_of(*now().deployed, "shared"), HasSubstr("may not shrink"));
}

TEST_F(RecoverTest, AFailingUpgradeRollsBackAllButWhatTheServerRefuses) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.dry_run) return std::nullopt;
    if (call.key.name == "only-second") return error(ErrorKind::Forbidden, "quota exceeded");
    return std::nullopt;
  });
  ASSERT_FALSE(upgrade_now(kSecondYaml, "2").ok());
  ASSERT_EQ(text("shared"), "second");
  find_invalid("shared", Answers::Always);
  const auto undone = recover_now({.undo = true, .deploy = {}});
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_EQ(undone->outcome, Recovered::Undone);
  EXPECT_EQ(left(*undone->deployment), "shared");
  EXPECT_TRUE(now().unfinished.empty());
  // The same, asked for before.
  std::atomic<bool> failed{false};
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.dry_run) return std::nullopt;
    if (call.key.name == "only-third") failed = true;
    if (call.key.name == "only-third") return error(ErrorKind::Forbidden, "quota exceeded");
    return failed && call.key.name == "shared" ? std::optional(invalid()) : std::nullopt;
  });
  const auto report = upgrade_now(text_map("shared", "third") +
                                      "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: only-third, "
                                      "annotations: {mistletoe.dev/after: ConfigMap/shared}}}\n",
                                  "3", {.rollback_on_failure = true});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().frames, Contains(HasSubstr(", but for 1 object")));
  EXPECT_THAT(report.error().frames, Contains(HasSubstr("ConfigMap default/shared is left as it is: ")));
  EXPECT_TRUE(now().unfinished.empty());
}

TEST_F(RecoverTest, FinishingARevisionLeavesNothing) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  find_invalid("shared", Answers::ToWrites);
  ASSERT_FALSE(upgrade_now(kSecondYaml, "2").ok());
  const auto finished = recover_now();
  ASSERT_FALSE(finished.ok());
  EXPECT_THAT(finished.error().to_line(), HasSubstr("may not shrink"));
}

// Conflicts of ownership stay errors: no refusal of the server decides them.
TEST_F(RecoverTest, RollbackStillRefusesWhatBelongsToOthers) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  ASSERT_TRUE(upgrade_now(kSecondYaml, "2").ok());
  auto taken = *cluster.find("ConfigMap", "default", "shared");
  taken["data"].set("text", "theirs");
  cluster.put(taken, "kubectl-edit");
  const auto refused = rollback_now();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_line(), HasSubstr("kubectl-edit"));
  EXPECT_THAT(texts(), ElementsAre("theirs", "absent", "x"));
}

TEST_F(RecoverTest, AFailingFirstInstallRemovesAllThatItMade) {
  const auto before = cluster.objects();
  refuse("only-first");
  const auto report = install_now(kFirstYaml + crd("one") + R"(---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}
)",
                                  {.rollback_on_failure = true});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().frames, Contains(HasSubstr("rolled back: 3 objects deleted")));
  EXPECT_EQ(cluster.objects(), before);
}

TEST_F(RecoverTest, AFailingFirstInstallTakesAlongItsNamespaceOnlyIfItMadeIt) {
  id = {"shop", "web"};
  const std::string yaml = kFirstYaml + "---\n{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n";
  refuse("only-first");
  for (const bool was_there : {true, false}) {
    cluster.drop({{"", "Namespace"}, "", "shop"});
    if (was_there)
      cluster.put(encoding::Value::object({{"apiVersion", "v1"},
                                           {"kind", "Namespace"},
                                           {"metadata", encoding::Value::object({{"name", "shop"}})}}));
    for (const bool once_more : {false, true}) {
      const auto report =
          install_now(yaml, {.create_namespace = !was_there, .rollback_on_failure = once_more});
      ASSERT_FALSE(report.ok());
      EXPECT_EQ(cluster.has("Namespace", "", "shop"), was_there || !once_more) << report.error().to_line();
    }
  }
}

// A release that is installed again finds what its uninstall left, with its own mark on it.
constexpr std::string_view kClaim =
    "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: NAME}, spec: {accessModes: "
    "[ReadWriteOnce]}}\n";
std::string claim(std::string_view name) {
  std::string text(kClaim);
  return text.replace(text.find("NAME"), 4, name);
}

TEST_F(RecoverTest, AFailingFirstInstallLeavesWhatAnEarlierLifeOfTheReleaseLeft) {
  const std::string lasting = crd("one") + claim("data") + R"(---
{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, annotations: {mistletoe.dev/keep: "true"}}}
)";
  ASSERT_TRUE(install_now(kFirstYaml + lasting).ok());
  ASSERT_TRUE(uninstall_now().ok());
  const auto before = cluster.objects();
  ASSERT_EQ(before.size(), 3u);
  refuse("only-first");
  const std::string again = kFirstYaml + crd("two") + claim("data") + claim("fresh") +
                            "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}}\n";
  const auto report = install_now(again, {.rollback_on_failure = true});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().frames, Contains("rolled back: 2 objects deleted, 3 retained"));
  EXPECT_EQ(cluster.objects(), before);

  // The same by hand, with a permission that is meant for what this install made.
  ASSERT_FALSE(install_now(again).ok());
  const auto undone = recover_now(
      {.undo = true, .deploy = {.allowed = {.prune = {.delete_crds = true, .delete_pvcs = true}}}});
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_EQ(undone->outcome, Recovered::Removed);
  EXPECT_EQ(cluster.objects(), before);

  // Once installed, they are the release's like any other.
  cluster.set_before({});
  ASSERT_TRUE(install_now(again).ok());
  ASSERT_TRUE(uninstall_now({.rules = {.delete_crds = true, .delete_pvcs = true}}).ok());
  EXPECT_TRUE(cluster.objects().empty());
}

TEST_F(RecoverTest, AnUndoneUpgradeLeavesWhatAnEarlierLifeOfTheReleaseLeft) {
  ASSERT_TRUE(install_now(kFirstYaml + claim("data")).ok());
  ASSERT_TRUE(uninstall_now().ok());
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  refuse("only-second");
  const auto report = upgrade_now(kSecondYaml + claim("data") + claim("fresh"), "2",
                                  {.allowed = {.prune = {.delete_pvcs = true}}, .rollback_on_failure = true});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().frames, Contains("rolled back to v0, as v2"));
  EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "default", "data"));
  EXPECT_FALSE(cluster.has("PersistentVolumeClaim", "default", "fresh"));
}

// A claim among a chart's hooks of another moment: this life of the release never ran it.
TEST_F(RecoverTest, AFailingFirstInstallLeavesWhatHooksOfAnEarlierLifeMade) {
  const std::string chart = kFirstYaml + R"(---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: dump, annotations: {helm.sh/hook: pre-upgrade}}
spec: {accessModes: [ReadWriteOnce]}
)";
  const auto run = [&](Intent (*intent)(Render), const std::string& yaml, const std::string& version,
                       const DeployOptions& options) {
    return deploy(
        environment(), id,
        intent(ReleaseFixture::rendering(yaml, {"test:" + version, "test", version, "sha256:" + version,
                                                std::string(apply::kChartEngine)})),
        options, Context());
  };
  cluster.set_instant_controllers(true);
  ASSERT_TRUE(run(install_intent, chart, "1", {}).ok());
  const auto upgraded = run(upgrade_intent, chart + text_map("more", "x"), "2", {});
  ASSERT_TRUE(upgraded.ok()) << upgraded.error().to_line();
  ASSERT_TRUE(uninstall_now().ok());
  ASSERT_TRUE(cluster.has("PersistentVolumeClaim", "default", "dump"));
  refuse("only-first");
  const auto report = run(install_intent, chart, "1", {.rollback_on_failure = true});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().frames, Contains(HasSubstr("rolled back")));
  EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "default", "dump"));
  EXPECT_EQ(text("shared"), "absent");
}

TEST_F(RecoverTest, WhatFailsBeforeAnythingWasWrittenIsNotRolledBack) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  const auto report =
      upgrade_now("{apiVersion: v1, kind: Unknown, metadata: {name: a}}", "2", {.rollback_on_failure = true});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(now().anchor->head.latest, 0);
}

TEST_F(RecoverTest, RollingBackThatFailsTooSaysHowToGoOn) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    const bool bad =
        ((call.verb == "apply" && !call.dry_run) || call.verb == "delete") && call.key.name == "only-second";
    return bad || (call.verb == "apply" && !call.dry_run && call.key.name == "shared")
               ? std::optional(error(ErrorKind::Forbidden, "quota exceeded"))
               : std::nullopt;
  });
  cluster.drop({{"", "ConfigMap"}, "default", "shared"});
  const auto report = upgrade_now(kSecondYaml, "2", {.rollback_on_failure = true});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().to_line(), HasSubstr("rolling back failed too"));
  EXPECT_THAT(report.error().hint, HasSubstr("mistctl recover web -n default --undo"));
  cluster.set_before({});
  ASSERT_TRUE(recover_now({.undo = true, .deploy = {}}).ok());
  EXPECT_THAT(texts(), ElementsAre("first", "x", "absent"));
}

TEST_F(RecoverTest, WhatSomebodyElseDidMeanwhileIsNotUndone) {
  ASSERT_TRUE(install_now(kFirstYaml).ok());
  refuse("only-second");
  ASSERT_FALSE(upgrade_now(kSecondYaml, "2").ok());
  cluster.set_before({});
  const std::string attempt = now().unfinished.back().attempt;
  ASSERT_TRUE(upgrade_now(kThirdYaml, "3").ok());
  const auto undone = undo_revision(environment(), id, 1, attempt, {}, Context());
  ASSERT_FALSE(undone.ok());
  EXPECT_EQ(undone.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(text("shared"), "third");
}

}  // namespace
}  // namespace mist::action
