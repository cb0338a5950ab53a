// Objects that move from the release default/theirs to default/web, that don't get there, and that go back.

#include "action/deploy/take_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "action/deploy/unfinished_moves.h"
#include "action/query/drift.h"
#include "action/query/status.h"
#include "action/recover/recover.h"
#include "apply/reserved_metadata.h"
#include "base/text.h"
#include "testing/api_refusal.h"
#include "testing/laptop_clock.h"
#include "testing/release_fixture.h"
#include "testing/yaml.h"

namespace mist::action {
namespace {

using encoding::Value;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeCall;
using testing::FakeCluster;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::string valued_map(std::string_view name, std::string_view value) {
  return fmt::format("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}}}, data: {{a: '{}'}}}}\n",
                     name, value);
}
const std::string kTheirs = valued_map("one", "1") + valued_map("two", "1");
const std::string kTaken = valued_map("two", "2");
const std::string kTakenAndLast = kTaken + valued_map("zzz", "1");

class TakeOverTest : public testing::ReleaseFixture {
 protected:
  const release::ReleaseId theirs{"default", "theirs"};
  DeployOptions taking() { return {.allowed = {.take_over_from = theirs}}; }

  void install_theirs(const std::string& yaml = kTheirs) {
    const auto done = deploy(environment(), theirs, install_intent(rendering(yaml)), {}, Context());
    ASSERT_TRUE(done.ok()) << done.error().to_line();
  }
  Result<DeployReport> upgrade_theirs(const std::string& yaml, const DeployOptions& options = {}) {
    return deploy(environment(), theirs, upgrade_intent(rendering(yaml)), options, Context());
  }
  // An install of ours that takes "two" and fails at "zzz".
  void fail_to_install(const DeployOptions& options) {
    refuse("zzz");
    const auto failed = install_now(kTakenAndLast, options);
    ASSERT_FALSE(failed.ok());
    frames = failed.error().frames;
    cluster.set_before({});
  }
  void refuse(std::string name) {
    cluster.set_before([name = std::move(name)](const FakeCall& call) -> std::optional<Error> {
      if (call.verb == "apply" && !call.dry_run && call.key.name == name)
        return error(ErrorKind::Forbidden, "quota exceeded");
      return std::nullopt;
    });
  }
  Result<RecoverReport> undo_now(DeployOptions options = {}) {
    return recover(environment(), id, {.undo = true, .deploy = std::move(options)}, Context());
  }
  Result<UninstallReport> uninstall_theirs() {
    MIST_TRY(UninstallPlan plan, plan_uninstall(environment(), theirs, {}, Context()));
    return uninstall(environment(), std::move(plan), {}, Context());
  }

  std::vector<std::string> inventory(const release::ReleaseId& release) {
    std::vector<std::string> names;
    const auto state = read_release(environment(), release, Context());
    if (state.ok() && state->anchor)
      for (const apply::InventoryItem& item : state->owned()) names.push_back(item.key.name);
    return names;
  }
  std::string owner(std::string_view name, std::string_view kind = "ConfigMap") {
    const auto object = cluster.find(kind, "default", name);
    if (!object) return "absent";
    const std::string marked(object->string_at({"metadata", "annotations", apply::kReleaseAnnotation}));
    for (const release::ReleaseId& each : {theirs, id}) {
      const bool label = object->string_at({"metadata", "labels", apply::kPartOfLabel}) == apply_set_id(each);
      EXPECT_EQ(label, marked == each.display());
    }
    return marked;
  }
  std::string value(std::string_view name) {
    const auto object = cluster.find("ConfigMap", "default", name);
    return object ? std::string(object->string_at({"data", "a"})) : "absent";
  }
  // As if nobody had ever taken anything.
  void theirs_is_whole() {
    EXPECT_EQ(owner("two"), "default/theirs");
    EXPECT_EQ(value("two"), "1");
    EXPECT_THAT(inventory(theirs), UnorderedElementsAre("one", "two"));
    const auto state = read_release(environment(), theirs, Context());
    ASSERT_TRUE(state.ok());
    EXPECT_FALSE(state->anchor->lock.has_value());
    const auto drifted = drift(environment(), theirs, Context());
    ASSERT_TRUE(drifted.ok()) << drifted.error().to_line();
    EXPECT_THAT(drifted->found, IsEmpty());
    const auto same = upgrade_theirs(kTheirs);
    ASSERT_TRUE(same.ok()) << same.error().to_line();
    EXPECT_FALSE(same->changed);
  }
  void ours_is_gone() {
    EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web"));
    EXPECT_FALSE(cluster.has("ConfigMap", "default", "zzz"));
  }

  std::vector<std::string> frames;  // of the last failure
};

TEST_F(TakeOverTest, MovesWhatIsWantedAndLeavesTheRest) {
  install_theirs();
  const std::string uid(cluster.find("ConfigMap", "default", "two")->string_at({"metadata", "uid"}));
  const auto done = install_now(kTaken, taking());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(done->plan.writes[0].kind, apply::ActionKind::Adopt);
  EXPECT_EQ(done->plan.writes[0].owner, "default/theirs");
  EXPECT_EQ(cluster.find("ConfigMap", "default", "two")->string_at({"metadata", "uid"}), uid);
  EXPECT_EQ(owner("two"), "default/web");
  EXPECT_THAT(inventory(id), ElementsAre("two"));
  EXPECT_THAT(inventory(theirs), ElementsAre("one"));
  ASSERT_TRUE(uninstall_theirs().ok());
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "two"));
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
}

// Its inventory may have chunks; what is written instead is whole, and nothing is left of the old one.
TEST_F(TakeOverTest, WritesALargeInventoryAnew) {
  install_theirs();
  const auto chunks = [&] {
    return std::ranges::count_if(cluster.objects(), [](const apimachinery::ObjectKey& key) {
      return key.name.starts_with("mistletoe.theirs.v0.");
    });
  };
  auto before = read_release(environment(), theirs, Context());
  ASSERT_TRUE(before.ok());
  release::Store small(cluster, {.inline_bytes = 100, .chunk_bytes = 100});
  ASSERT_TRUE(small.finish_revision(*before->anchor, *before->deployed, Context()).ok());
  ASSERT_GT(chunks(), 1);
  const auto done = install_now(kTaken, taking());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_THAT(inventory(theirs), ElementsAre("one"));
  EXPECT_EQ(chunks(), 0);
}

TEST_F(TakeOverTest, LeavesTheOtherRecordAloneOnceItsLockRanOut) {
  for (const std::string_view last : {"apply two", "patch mistletoe.web"}) {
    FakeCluster fresh;
    testing::LaptopClock laptop;
    const Environment here{fresh, laptop, random, events, "tester"};
    ASSERT_TRUE(deploy(here, theirs, install_intent(rendering(kTheirs)), {}, Context()).ok());
    std::atomic<bool> recorded = last != "patch mistletoe.web";  // by which ours ends
    fresh.set_after([&](const FakeCall& call) -> std::optional<Error> {
      if (call.verb == "patch" && call.key.name == "mistletoe.web.v0") recorded = true;
      if (recorded && call.verb + " " + call.key.name == last) laptop.suspend(std::chrono::minutes(20));
      return std::nullopt;
    });
    fresh.clear_calls();
    const auto done = deploy(here, id, install_intent(rendering(kTaken)), taking(), Context());
    EXPECT_EQ(done.ok(), last == "patch mistletoe.web");
    EXPECT_EQ(
        fresh.find("ConfigMap", "default", "two")->string_at({"metadata", "labels", apply::kPartOfLabel}),
        apply_set_id(id));
    for (const FakeCall& call : fresh.calls())
      EXPECT_FALSE(call.writes() && call.key.name.starts_with("mistletoe.theirs.v")) << call.verb;
  }
}

// A take-over that does not end goes back, whichever way out is taken.

TEST_F(TakeOverTest, AFailedInstallThatIsRolledBackGivesBack) {
  install_theirs();
  DeployOptions options = taking();
  options.rollback_on_failure = true;
  fail_to_install(options);
  EXPECT_THAT(frames, Contains("rolled back: 0 objects deleted, 1 given back"));
  ours_is_gone();
  theirs_is_whole();
}

TEST_F(TakeOverTest, AFailedInstallLeavesTheObjectInBothRecordsUntilItIsUndone) {
  install_theirs();
  fail_to_install(taking());
  EXPECT_EQ(owner("two"), "default/web");
  EXPECT_EQ(value("two"), "2");
  EXPECT_THAT(inventory(theirs), UnorderedElementsAre("one", "two"));
  EXPECT_FALSE(read_release(environment(), theirs, Context())->anchor->lock.has_value());
  const auto seen = status(environment(), theirs, Context());
  ASSERT_TRUE(seen.ok()) << seen.error().to_line();
  const auto two =
      std::ranges::find(seen->objects, "two", [](const ObjectStatus& each) { return each.key.name; });
  ASSERT_NE(two, seen->objects.end());
  EXPECT_EQ(two->health, ObjectHealth::Missing);
  EXPECT_EQ(two->detail, "it belongs to release default/web by now");
  const auto refused = upgrade_theirs(kTheirs);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("ConfigMap default/two belongs to release default/web"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--take-over-from default/web"));
  const auto* const others = refused.error().detail<apply::OtherOwners>();
  ASSERT_NE(others, nullptr);
  EXPECT_THAT(others->releases, ElementsAre("default/web"));

  const auto dry = undo_now({.dry_run = DryRun::Client});
  ASSERT_TRUE(dry.ok()) << dry.error().to_line();
  ASSERT_EQ(dry->removal->plan.removals.size(), 1u);
  EXPECT_EQ(dry->removal->plan.removals[0].kind, apply::ActionKind::Retain);
  EXPECT_THAT(dry->removal->plan.removals[0].reason, HasSubstr("it goes back to release default/theirs"));
  const auto undone = undo_now();
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_EQ(undone->outcome, Recovered::Removed);
  EXPECT_EQ(undone->removal->given_back, 1u);
  ours_is_gone();
  theirs_is_whole();
}

TEST_F(TakeOverTest, AFailedUpgradeThatIsRolledBackGivesBack) {
  install_theirs();
  ASSERT_TRUE(install_now(valued_map("mine", "1")).ok());
  refuse("zzz");
  DeployOptions options = taking();
  options.rollback_on_failure = true;
  const auto failed = upgrade_now(valued_map("mine", "2") + kTakenAndLast, options);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().frames, Contains("rolled back to v0, as v2"));
  EXPECT_EQ(value("mine"), "1");
  EXPECT_THAT(inventory(id), ElementsAre("mine"));
  theirs_is_whole();
}

// A Secret of a hook that ran for the first time when ours took it: our deployed revision only names it.
class TakenHookTest : public TakeOverTest {
 protected:
  static constexpr std::string_view kHook = "helm.sh/hook: 'pre-install,pre-upgrade'";

  Render chart(std::string_view value, std::string_view annotation, const std::string& others) {
    return rendering(
        fmt::format("{{apiVersion: v1, kind: Secret, metadata: {{name: key, annotations: {{{}}}}}, "
                    "stringData: {{key: {}}}}}\n{}",
                    annotation, value, others),
        {"test:1", "test", "1", "sha256:1", "helm"});
  }
  void install_both(std::string_view annotation_of_theirs) {
    const auto first =
        deploy(environment(), theirs,
               install_intent(chart("theirs", annotation_of_theirs, valued_map("one", "1"))), {}, Context());
    ASSERT_TRUE(first.ok()) << first.error().to_line();
    const auto second =
        deploy(environment(), id, install_intent(chart("ours", kHook, valued_map("mine", "1"))),
               {.no_hooks = true}, Context());
    ASSERT_TRUE(second.ok()) << second.error().to_line();
  }
  void fail_to_take(const DeployOptions& options) {
    refuse("zzz");
    const auto failed = deploy(
        environment(), id, upgrade_intent(chart("ours", kHook, valued_map("zzz", "1"))), options, Context());
    ASSERT_FALSE(failed.ok());
    cluster.set_before({});
  }
  std::string key() {
    const auto secret = cluster.find("Secret", "default", "key");
    return secret ? std::string(secret->string_at({"data", "key"})) : "absent";
  }
  void is_given_back(std::string_view annotation_of_theirs) {
    EXPECT_EQ(owner("key", "Secret"), "default/theirs");
    EXPECT_EQ(key(), base64_encode("theirs"));
    const auto upgraded =
        deploy(environment(), theirs,
               upgrade_intent(chart("theirs", annotation_of_theirs, valued_map("one", "2"))), {}, Context());
    ASSERT_TRUE(upgraded.ok()) << upgraded.error().to_line();
    ASSERT_TRUE(uninstall_now().ok());
    EXPECT_EQ(owner("key", "Secret"), "default/theirs");
  }
};

TEST_F(TakenHookTest, IsGivenBackWhenTheUpgradeIsUndone) {
  install_both("a: b");
  fail_to_take(taking());
  ASSERT_EQ(owner("key", "Secret"), "default/web");
  ASSERT_EQ(key(), base64_encode("ours"));
  const auto undone = undo_now();
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  is_given_back("a: b");
}

TEST_F(TakenHookTest, IsGivenBackWhenTheUpgradeUndoesItself) {
  install_both("a: b");
  DeployOptions options = taking();
  options.rollback_on_failure = true;
  fail_to_take(options);
  is_given_back("a: b");
}

TEST_F(TakenHookTest, IsGivenBackToAReleaseOfWhichItIsAHookToo) {
  install_both(kHook);
  fail_to_take(taking());
  ASSERT_EQ(owner("key", "Secret"), "default/web");
  const auto undone = undo_now();
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  is_given_back(kHook);
}

TEST_F(TakeOverTest, NeitherUninstallNorAnotherUpgradeDeletesWhatWasNeverQuiteTaken) {
  install_theirs();
  fail_to_install(taking());
  const auto gone = uninstall_now();
  ASSERT_TRUE(gone.ok()) << gone.error().to_line();
  EXPECT_EQ(gone->given_back, 1u);
  ours_is_gone();
  theirs_is_whole();

  fail_to_install(taking());
  const auto without = install_now(valued_map("mine", "1"));
  ASSERT_TRUE(without.ok()) << without.error().to_line();
  EXPECT_THAT(inventory(id), ElementsAre("mine"));
  theirs_is_whole();
}

TEST_F(TakeOverTest, FinishingWhatFailedEndsTheMove) {
  install_theirs();
  for (const bool again : {false, true}) {
    fail_to_install(taking());
    // The same command again, without the flag: what moved is ours by now. Or from the record.
    const Status done = again ? [&] {
      auto installed = install_now(kTakenAndLast);
      return installed.ok() ? Status() : Status(std::move(installed).error());
    }()
                              : [&] {
                                  auto finished = recover(environment(), id, {}, Context());
                                  return finished.ok() ? Status() : Status(std::move(finished).error());
                                }();
    ASSERT_TRUE(done.ok()) << done.error().to_line();
    EXPECT_THAT(inventory(theirs), ElementsAre("one"));
    EXPECT_THAT(inventory(id), UnorderedElementsAre("two", "zzz"));
    // And all the way back.
    const auto back = upgrade_theirs(kTheirs, {.allowed = {.take_over_from = id}});
    ASSERT_TRUE(back.ok()) << back.error().to_line();
    ASSERT_TRUE(uninstall_now().ok());
    theirs_is_whole();
  }
}

// An object that the other release had dropped and only retained isn't in its record.
TEST_F(TakeOverTest, WhatTheOtherReleaseOnlyRetainedGoesBackAsItIs) {
  const std::string claim =
      "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: "
      "[ReadWriteOnce]}}\n";
  install_theirs(kTheirs + claim);
  ASSERT_TRUE(upgrade_theirs(kTheirs).ok());
  refuse("zzz");
  ASSERT_FALSE(install_now(claim + valued_map("zzz", "1"), taking()).ok());
  cluster.set_before({});
  EXPECT_EQ(owner("data", "PersistentVolumeClaim"), "default/web");
  const auto undone = undo_now({.allowed = {.prune = {.delete_pvcs = true}}});
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_EQ(owner("data", "PersistentVolumeClaim"), "default/theirs");
  EXPECT_THAT(inventory(theirs), UnorderedElementsAre("one", "two", "data"));
  ours_is_gone();
}

// A later change by somebody else is kept; the undoing reports it and can be repeated.
TEST_F(TakeOverTest, FieldsOfOthersAreNotOverwrittenOnTheWayBack) {
  install_theirs();
  fail_to_install(taking());
  auto two = *cluster.find("ConfigMap", "default", "two");
  two["data"].set("a", "edited");
  cluster.put(two, "kubectl-edit");
  const auto refused = undo_now();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_line(), HasSubstr("while giving ConfigMap default/two back to release"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--force-conflicts"));
  EXPECT_EQ(value("two"), "edited");
  const auto undone = undo_now({.allowed = {.force_conflicts = true}});
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  ours_is_gone();
  theirs_is_whole();
}

TEST_F(TakeOverTest, WhatTheOtherReleaseHasDroppedMeanwhileStays) {
  install_theirs();
  fail_to_install(taking());
  const Intent without =
      upgrade_intent(rendering(valued_map("one", "1"), {"test:2", "test", "2", "sha256:2"}));
  ASSERT_TRUE(deploy(environment(), theirs, without, {}, Context()).ok());
  EXPECT_THAT(inventory(theirs), ElementsAre("one"));
  const auto undone = undo_now();
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_EQ(undone->removal->retained, 1u);
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "two"));
  // Nobody's record names it; its mark still tells how to take it.
  ASSERT_TRUE(upgrade_theirs(kTheirs, {.allowed = {.take_over_from = id}}).ok());
  EXPECT_EQ(owner("two"), "default/theirs");
}

TEST_F(TakeOverTest, IsRefusedWhileTheOtherReleaseIsBusy) {
  install_theirs();
  release::Store store(cluster);
  const auto anchor = store.read_anchor(theirs, Context());
  const auto lock = release::ReleaseLock::acquire({store, cluster, clock, random, events}, **anchor, {},
                                                  {"somebody", "upgrade"}, Context());
  ASSERT_TRUE(lock.ok());
  cluster.clear_calls();
  const auto refused = deploy(environment(), id, install_intent(rendering(kTaken)), taking(), Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_line(), HasSubstr("somebody"));
  EXPECT_THAT(refused.error().to_line(), HasSubstr("default/theirs"));
  EXPECT_EQ(owner("two"), "default/theirs");
  EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web"));
}

// A run that takes over locks the other release first, and may die there.
TEST_F(TakeOverTest, RecoverOfTheOtherReleaseFreesItFromTheLockOfTheDead) {
  install_theirs();
  release::Store store(cluster);
  std::atomic<bool> dead{false};
  const auto kill = [&](const FakeCall&) -> std::optional<Error> {
    return dead ? std::optional(error(ErrorKind::Retryable, "the process is gone")) : std::nullopt;
  };
  {
    const auto anchor = store.read_anchor(theirs, Context());
    const auto lock = release::ReleaseLock::acquire(
        {store, cluster, clock, random, events}, **anchor, {},
        {"somebody", "take-over by default/web", std::chrono::milliseconds(100)}, Context());
    ASSERT_TRUE(lock.ok());
    dead = true;
    cluster.set_before(kill);
  }
  cluster.set_before({});
  Environment here = environment();
  here.lock_wait = std::chrono::seconds(20);
  const auto dry = recover(here, theirs, {.undo = false, .deploy = {.dry_run = DryRun::Client}}, Context());
  ASSERT_TRUE(dry.ok()) << dry.error().to_line();
  EXPECT_THAT(dry->found, HasSubstr("holds its lock"));
  EXPECT_TRUE((*store.read_anchor(theirs, Context()))->lock.has_value()) << "a dry run writes nothing";
  for (const auto expected : {Recovered::Settled, Recovered::Nothing}) {
    const auto report = recover(here, theirs, {}, Context());
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    EXPECT_EQ(report->outcome, expected);
    EXPECT_EQ(report->revision, 0);
    if (expected == Recovered::Settled) {
      EXPECT_EQ(report->found.find("somebody, who has been running \"take-over by default/web\" since "), 0u);
    }
  }
  const auto after = store.read_anchor(theirs, Context());
  EXPECT_FALSE((*after)->lock.has_value());
  EXPECT_EQ((*after)->head.status, release::RevisionStatus::Deployed);
  EXPECT_THAT(inventory(theirs), UnorderedElementsAre("one", "two"));
}

// Killed at each request in turn: the object is there, belongs to the release that its mark names, that one
// has it in its record, and uninstalling the other one leaves it alone.
TEST_F(TakeOverTest, WhereverTheProcessDiesTheObjectHasOneOwner) {
  for (std::size_t point = 1; point < 60; ++point) {
    FakeCluster fresh;
    const Environment here{
        fresh, no_expiry, random, events, "tester", std::chrono::milliseconds(150), std::chrono::seconds(60)};
    ASSERT_TRUE(deploy(here, theirs, install_intent(rendering(kTheirs)), {}, Context()).ok());
    const std::size_t begin = fresh.calls().size();
    std::atomic<bool> dead{false};
    fresh.set_before([&](const FakeCall& call) -> std::optional<Error> {
      if (call.number >= begin + point) dead = true;
      if (dead) return error(ErrorKind::Retryable, "the process is gone");
      return std::nullopt;
    });
    const bool survived = deploy(here, id, install_intent(rendering(kTaken)), taking(), Context()).ok();
    fresh.set_before({});
    const auto object = fresh.find("ConfigMap", "default", "two");
    ASSERT_TRUE(object.has_value()) << point;
    const std::string label(object->string_at({"metadata", "labels", apply::kPartOfLabel}));
    const bool ours = label == apply::apply_set_id(id);
    ASSERT_TRUE(ours || label == apply::apply_set_id(theirs)) << point;
    const auto state = read_release(here, ours ? id : theirs, Context());
    ASSERT_TRUE(state.ok());
    EXPECT_TRUE(std::ranges::any_of(state->owned(), [](const auto& item) { return item.key.name == "two"; }))
        << point;
    // The release that doesn't own it goes, and it stays.
    const release::ReleaseId other = ours ? theirs : id;
    const auto plan = plan_uninstall(here, other, {}, Context());
    if (plan.ok()) {
      ASSERT_TRUE(uninstall(here, *plan, {}, Context()).ok()) << point;
    } else {
      EXPECT_EQ(plan.error().kind, ErrorKind::NotFound);
    }
    EXPECT_TRUE(fresh.has("ConfigMap", "default", "two")) << point;
    // And the same command again ends it.
    const auto again =
        deploy(here, id, survived ? upgrade_intent(rendering(kTaken)) : install_intent(rendering(kTaken)),
               taking(), Context());
    ASSERT_TRUE(again.ok()) << point << ": " << again.error().to_line();
    EXPECT_EQ(
        fresh.find("ConfigMap", "default", "two")->string_at({"metadata", "labels", apply::kPartOfLabel}),
        apply::apply_set_id(id));
    if (survived) {
      EXPECT_GT(point, 8u);
      return;
    }
  }
  FAIL() << "never survived";
}

// Killed at each request in turn of the taking, and then of the undoing, which is repeated: theirs is whole.
TEST_F(TakeOverTest, WhereverTheProcessDiesUndoingGivesBack) {
  enum class Dies : std::uint8_t { Taking, Undoing };
  for (const Dies dies : {Dies::Taking, Dies::Undoing}) {
    bool survived = false;
    for (std::size_t point = 1; point < 80 && !survived; ++point) {
      FakeCluster fresh;
      const Environment here{fresh,
                             no_expiry,
                             random,
                             events,
                             "tester",
                             std::chrono::milliseconds(100),
                             std::chrono::seconds(60)};
      const auto run_dying = [&](bool for_real, const std::function<bool()>& work) {
        const std::size_t begin = fresh.calls().size();
        std::atomic<bool> dead{false};
        fresh.set_before([&](const FakeCall& call) -> std::optional<Error> {
          if (for_real && call.number >= begin + point) dead = true;
          if (dead) return error(ErrorKind::Retryable, "the process is gone");
          if (call.verb == "apply" && !call.dry_run && call.key.name == "zzz")
            return error(ErrorKind::Forbidden, "quota exceeded");
          return std::nullopt;
        });
        (void)work();
        fresh.set_before({});
        return !dead;
      };
      const auto undo = [&] {
        const auto undone = recover(here, id, {.undo = true, .deploy = {}}, Context());
        return undone.ok() || undone.error().kind == ErrorKind::NotFound;
      };
      ASSERT_TRUE(deploy(here, theirs, install_intent(rendering(kTheirs)), {}, Context()).ok());
      survived = run_dying(dies == Dies::Taking, [&] {
        return deploy(here, id, install_intent(rendering(kTakenAndLast)), taking(), Context()).ok();
      });
      if (dies == Dies::Undoing) survived = run_dying(true, undo);
      ASSERT_TRUE(undo()) << point;
      const auto two = *fresh.find("ConfigMap", "default", "two");
      EXPECT_EQ(two.string_at({"metadata", "labels", apply::kPartOfLabel}), apply_set_id(theirs)) << point;
      EXPECT_EQ(two.string_at({"data", "a"}), "1") << point;
      EXPECT_FALSE(fresh.has("Secret", "default", "mistletoe.web")) << point;
      EXPECT_FALSE(fresh.has("ConfigMap", "default", "zzz")) << point;
      const auto recovered = recover(here, theirs, {}, Context());  // the lock of who died
      ASSERT_TRUE(recovered.ok()) << point << ": " << recovered.error().to_line();
      const auto same = deploy(here, theirs, upgrade_intent(rendering(kTheirs)), {}, Context());
      ASSERT_TRUE(same.ok()) << point << ": " << same.error().to_line();
      EXPECT_FALSE(same->changed) << point;
      EXPECT_THAT(drift(here, theirs, Context())->found, IsEmpty()) << point;
    }
    EXPECT_TRUE(survived);
  }
}

// Killed at each request in turn. Once ours is deployed, its objects leave the other record with whatever is
// done next on either of the two.
TEST_F(TakeOverTest, WhereverTheProcessDiesOnceOursIsDeployedTheOtherRecordForgets) {
  enum class Next : std::uint8_t { RecoverTheirs, RecoverOurs, Drop, Uninstall };
  for (const Next next : {Next::RecoverTheirs, Next::RecoverOurs, Next::Drop, Next::Uninstall}) {
    std::size_t deployed = 0;
    bool survived = false;
    for (std::size_t point = 1; point < 60 && !survived; ++point) {
      FakeCluster fresh;
      const Environment here{fresh,
                             no_expiry,
                             random,
                             events,
                             "tester",
                             std::chrono::milliseconds(100),
                             std::chrono::seconds(60)};
      ASSERT_TRUE(deploy(here, theirs, install_intent(rendering(kTheirs)), {}, Context()).ok());
      const std::size_t begin = fresh.calls().size();
      std::atomic<bool> dead{false};
      fresh.set_before([&](const FakeCall& call) -> std::optional<Error> {
        if (call.number >= begin + point) dead = true;
        if (dead) return error(ErrorKind::Retryable, "the process is gone");
        return std::nullopt;
      });
      (void)deploy(here, id, install_intent(rendering(kTaken)), taking(), Context());
      fresh.set_before({});
      survived = !dead;
      const auto ours = read_release(here, id, Context());
      ASSERT_TRUE(ours.ok());
      const release::Revision* const settled = ours->anchor ? settled_revision(*ours) : nullptr;
      if (settled == nullptr) continue;
      ++deployed;
      const bool behind = !ours->deployed;
      if (next == Next::RecoverTheirs || next == Next::RecoverOurs) {
        const release::ReleaseId& which = next == Next::RecoverTheirs ? theirs : id;
        const auto recovered = recover(here, which, {}, Context());
        ASSERT_TRUE(recovered.ok()) << point << ": " << recovered.error().to_line();
        EXPECT_TRUE(fresh.has("ConfigMap", "default", "two"));
        const auto again = recover(here, which, {}, Context());
        ASSERT_TRUE(again.ok()) << point << ": " << again.error().to_line();
        EXPECT_EQ(again->outcome, Recovered::Nothing) << point << ": " << again->found;
        EXPECT_EQ(read_release(here, id, Context())->deployed->number, 0) << point;
      } else if (next == Next::Drop) {
        const auto dropped =
            deploy(here, id, upgrade_intent(rendering(valued_map("mine", "1"))), {}, Context());
        ASSERT_TRUE(dropped.ok()) << point << ": " << dropped.error().to_line();
        // Objects that are not known to be deployed go back.
        EXPECT_EQ(fresh.has("ConfigMap", "default", "two"), behind) << point;
        if (behind) continue;
      } else {
        const auto plan = plan_uninstall(here, id, {}, Context());
        ASSERT_TRUE(plan.ok()) << point << ": " << plan.error().to_line();
        ASSERT_TRUE(uninstall(here, *plan, {}, Context()).ok()) << point;
        EXPECT_EQ(fresh.has("ConfigMap", "default", "two"), behind) << point;
        if (behind) continue;
      }
      const auto state = read_release_to_write(here, theirs, "test", Context());
      ASSERT_TRUE(state.ok());
      const std::vector<apply::InventoryItem> owned = state->owned();
      ASSERT_EQ(owned.size(), 1u) << point << " " << static_cast<int>(next);
      EXPECT_EQ(owned[0].key.name, "one");
      const auto drifted = drift(here, theirs, Context());
      ASSERT_TRUE(drifted.ok()) << drifted.error().to_line();
      EXPECT_THAT(drifted->found, IsEmpty()) << point;
    }
    EXPECT_TRUE(survived);
    EXPECT_GE(deployed, 4u);
  }
}

// Taken back by a run that died as well: both records name it as taken from the other, and its label decides.
TEST_F(TakeOverTest, RecoverForgetsNothingThatCameBack) {
  install_theirs();
  const auto forgets = [this](std::string record) {
    cluster.set_before([record = std::move(record)](const FakeCall& call) -> std::optional<Error> {
      const bool writes = call.writes() && call.verb != "apply" && call.key.name == record;
      return writes ? std::optional(error(ErrorKind::Retryable, "connection reset")) : std::nullopt;
    });
  };
  forgets("mistletoe.theirs.v0");
  ASSERT_TRUE(install_now(kTaken + valued_map("mine", "1"), taking()).ok());
  forgets("mistletoe.web.v0");
  ASSERT_TRUE(upgrade_theirs(kTheirs, {.allowed = {.take_over_from = id}}).ok());
  cluster.set_before({});
  EXPECT_EQ(owner("two"), "default/theirs");
  for (const release::ReleaseId& which : {id, theirs}) {
    const auto recovered = recover(environment(), which, {}, Context());
    ASSERT_TRUE(recovered.ok()) << recovered.error().to_line();
    EXPECT_EQ(recovered->outcome, which == id ? Recovered::Settled : Recovered::Nothing);
  }
  EXPECT_THAT(inventory(theirs), UnorderedElementsAre("one", "two"));
  EXPECT_THAT(inventory(id), ElementsAre("mine"));
}

// Dead between the end of ours and the other's forgetting: the next upgrade of ours makes up for that.
TEST_F(TakeOverTest, WhatTheOtherReleaseDidNotForgetItForgetsWithTheNextUpgrade) {
  install_theirs();
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    const bool forgets = call.writes() && call.verb != "apply" && call.key.name == "mistletoe.theirs.v0";
    return forgets ? std::optional(error(ErrorKind::Retryable, "connection reset")) : std::nullopt;
  });
  ASSERT_TRUE(install_now(kTaken, taking()).ok());
  cluster.set_before({});
  EXPECT_EQ(owner("two"), "default/web");
  EXPECT_THAT(inventory(theirs), UnorderedElementsAre("one", "two"));
  ASSERT_TRUE(upgrade_now(valued_map("two", "3")).ok());
  EXPECT_THAT(inventory(theirs), ElementsAre("one"));
  // It is ours for good: what undoes a later upgrade gives nothing back.
  refuse("zzz");
  ASSERT_FALSE(upgrade_now(valued_map("two", "4") + valued_map("zzz", "1"),
                           {.allowed = {.take_over_from = theirs}, .rollback_on_failure = true})
                   .ok());
  cluster.set_before({});
  EXPECT_EQ(owner("two"), "default/web");
  EXPECT_EQ(value("two"), "3");
}

// The revision that took is long gone, as are those that were to give back and could not.
TEST_F(TakeOverTest, ATrimmedHistoryDoesNotForgetWhereThingsCameFrom) {
  install_theirs();
  ASSERT_TRUE(install_now(valued_map("mine", "1")).ok());
  refuse("zzz");
  const std::string wanted = valued_map("mine", "2") + kTakenAndLast;
  ASSERT_FALSE(upgrade_now(wanted, {.allowed = {.take_over_from = theirs}, .history_max = 2}).ok());
  for (int i = 0; i < 4; ++i) ASSERT_FALSE(upgrade_now(wanted, {.history_max = 2}).ok());
  refuse("two");
  for (int i = 0; i < 4; ++i) ASSERT_FALSE(undo_now({.history_max = 2}).ok());
  cluster.set_before({});
  for (const release::Revision& revision : now().unfinished) {
    EXPECT_GT(revision.number, 5);
    EXPECT_TRUE(revision.options.string_at({"takeOverFrom", "name"}).empty());
  }
  ASSERT_TRUE(undo_now().ok());
  EXPECT_EQ(value("mine"), "1");
  EXPECT_THAT(inventory(id), ElementsAre("mine"));
  theirs_is_whole();
}

TEST_F(TakeOverTest, AfterATrimmedHistoryNeitherUpgradeNorUninstallDeletesIt) {
  for (const bool upgrades : {true, false}) {
    install_theirs();
    ASSERT_TRUE(install_now(valued_map("mine", "1")).ok());
    refuse("zzz");
    ASSERT_FALSE(upgrade_now(kTakenAndLast, {.allowed = {.take_over_from = theirs}, .history_max = 2}).ok());
    for (int i = 0; i < 4; ++i) ASSERT_FALSE(upgrade_now(kTakenAndLast, {.history_max = 2}).ok());
    cluster.set_before({});
    if (upgrades) {
      ASSERT_TRUE(upgrade_now(valued_map("mine", "2")).ok());
    }
    ASSERT_TRUE(uninstall_now().ok());
    ours_is_gone();
    theirs_is_whole();
    ASSERT_TRUE(uninstall_theirs().ok());
  }
}

// A backup brought it back with our mark: it is ours, and so on its way, whatever its uid.
TEST_F(TakeOverTest, WhatWasMadeAnewFromACopyGoesBack) {
  for (const bool undoes : {true, false}) {
    install_theirs();
    fail_to_install(taking());
    const apimachinery::ObjectKey key{{"", "ConfigMap"}, "default", "two"};
    Value two = *cluster.find(key);
    cluster.drop(key);
    for (const std::string_view field : {"uid", "resourceVersion", "managedFields"})
      two["metadata"].erase(field);
    cluster.put(two, "velero");
    if (undoes) {
      const auto undone = undo_now({.allowed = {.force_conflicts = true}});
      ASSERT_TRUE(undone.ok()) << undone.error().to_line();
      EXPECT_EQ(undone->removal->given_back, 1u);
    } else {
      UninstallOptions options;
      options.force_conflicts = true;
      const auto gone = uninstall_now(options);
      ASSERT_TRUE(gone.ok()) << gone.error().to_line();
      EXPECT_EQ(gone->given_back, 1u);
    }
    ours_is_gone();
    theirs_is_whole();
    ASSERT_TRUE(uninstall_theirs().ok());
  }
}

// An object that can't be changed in place was deleted and recreated, and so it is on its way back.
TEST_F(TakeOverTest, WhatATakeOverReplacedGoesBackAsItWas) {
  const auto selecting = [](std::string_view app) {
    return fmt::format(
        "---\n{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: api}}, spec: {{selector: "
        "{{matchLabels: "
        "{{app: {0}}}}}, template: {{metadata: {{labels: {{app: {0}}}}}, spec: {{containers: [{{name: a, "
        "image: "
        "b}}]}}}}}}}}\n",
        app);
  };
  const auto selector = [&] {
    const auto there = cluster.find("Deployment.apps", "default", "api");
    return there ? std::string(there->string_at({"spec", "selector", "matchLabels", "app"})) : "absent";
  };
  install_theirs(kTheirs + selecting("theirs"));
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply") return std::nullopt;
    if (call.key.name == "zzz" && !call.dry_run) return error(ErrorKind::Forbidden, "quota exceeded");
    if (call.key.name == "api" && selector() != "absent")
      return testing::api_refusal(ErrorKind::Invalid, "cannot apply", "spec.selector: field is immutable");
    return std::nullopt;
  });
  DeployOptions options = taking();
  options.allowed.replace = true;
  ASSERT_FALSE(install_now(selecting("ours") + valued_map("zzz", "1"), options).ok());
  EXPECT_EQ(owner("api", "Deployment.apps"), "default/web");
  EXPECT_EQ(selector(), "ours");
  const auto undone = undo_now();
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_EQ(undone->removal->given_back, 1u);
  cluster.set_before({});
  EXPECT_EQ(owner("api", "Deployment.apps"), "default/theirs");
  EXPECT_EQ(selector(), "theirs");
  ours_is_gone();
  EXPECT_THAT(drift(environment(), theirs, Context())->found, IsEmpty());
  EXPECT_FALSE(upgrade_theirs(kTheirs + selecting("theirs"))->changed);
}

// On its way back a StatefulSet is replaced as on its way here: what it owns is left for the other one, or it
// is not replaced at all.
class StatefulReturnTest : public TakeOverTest {
 protected:
  static std::string stateful(std::string_view app, std::string_view service) {
    return fmt::format(
        "---\n{{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: db}}, spec: {{serviceName: {1}, "
        "selector: {{matchLabels: {{app: {0}}}}}, template: {{metadata: {{labels: {{app: {0}}}}}, spec: "
        "{{containers: [{{name: a, image: b}}]}}}}}}}}\n",
        app, service);
  }
  // Ours takes the set, replaces it with `ours`, and fails; a claim is its own by then.
  void fail_after_replacing(std::string_view ours) {
    install_theirs(kTheirs + stateful("a", "theirs"));
    cluster.set_before([this](const FakeCall& call) -> std::optional<Error> {
      if (call.verb != "apply") return std::nullopt;
      if (call.key.name == "zzz" && !call.dry_run) return error(ErrorKind::Forbidden, "quota exceeded");
      if (call.key.name == "db" && cluster.has("StatefulSet.apps", "default", "db"))
        return testing::api_refusal(ErrorKind::Invalid, "cannot apply", "spec: field is immutable");
      return std::nullopt;
    });
    DeployOptions options = taking();
    options.allowed.replace = true;
    ASSERT_FALSE(install_now(std::string(ours) + valued_map("zzz", "1"), options).ok());
    ASSERT_EQ(owner("db", "StatefulSet.apps"), "default/web");
    cluster.put(testing::yaml(fmt::format(
        "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: data-db-0, namespace: default, "
        "ownerReferences: [{{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: {}}}]}}, spec: "
        "{{accessModes: [ReadWriteOnce]}}}}",
        cluster.find("StatefulSet.apps", "default", "db")->string_at({"metadata", "uid"}))));
  }
};

TEST_F(StatefulReturnTest, ThePodsAndClaimsOfTheReplacedSetAreLeftForTheOldOne) {
  fail_after_replacing(stateful("a", "ours"));
  const auto undone = undo_now();
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_EQ(owner("db", "StatefulSet.apps"), "default/theirs");
  EXPECT_EQ(cluster.find("StatefulSet.apps", "default", "db")->string_at({"spec", "serviceName"}), "theirs");
  EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "default", "data-db-0"));
}

TEST_F(StatefulReturnTest, ASetThatSelectsOthersIsNotReplacedIfItsClaimsWouldGo) {
  fail_after_replacing(stateful("b", "ours"));
  const auto refused = undo_now();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_line(), HasSubstr("PersistentVolumeClaim default/data-db-0"));
  EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "default", "data-db-0"));
  EXPECT_TRUE(cluster.has("StatefulSet.apps", "default", "db"));
  // Nothing is lost with it any more.
  cluster.drop({{"", "PersistentVolumeClaim"}, "default", "data-db-0"});
  const auto undone = undo_now();
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_EQ(owner("db", "StatefulSet.apps"), "default/theirs");
}

// Records of earlier versions don't say of each object where it came from.
TEST_F(TakeOverTest, ARecordWithoutOriginsGivesBackWhatTheOtherReleaseNames) {
  install_theirs();
  fail_to_install(taking());
  ReleaseState state = now();
  for (apply::InventoryItem& item : state.unfinished[0].inventory) item.taken_from.clear();
  release::Store store(cluster);
  ASSERT_TRUE(store.finish_revision(*state.anchor, state.unfinished[0], Context()).ok());
  ASSERT_TRUE(undo_now().ok());
  ours_is_gone();
  theirs_is_whole();
}

// Two at once.

// Somebody else acts right before the first request of this kind: once.
class MeanwhileTest : public TakeOverTest {
 protected:
  void meanwhile(const std::string& verb, const std::string& name, const std::function<void()>& work) {
    const auto done = std::make_shared<std::atomic<bool>>(false);
    cluster.set_before([=](const FakeCall& call) -> std::optional<Error> {
      if (call.verb != verb || call.key.name != name || call.dry_run) return std::nullopt;
      if (!done->exchange(true)) work();
      return std::nullopt;
    });
  }
  void third_installs(const DeployOptions& options) {
    const auto done =
        deploy(environment(), third, install_intent(rendering(valued_map("two", "3"))), options, Context());
    ASSERT_TRUE(done.ok()) << done.error().to_line();
  }
  std::string mark(std::string_view name) {
    return std::string(cluster.find("ConfigMap", "default", name)
                           ->string_at({"metadata", "annotations", apply::kReleaseAnnotation}));
  }
  const release::ReleaseId third{"default", "third"};
};

// Between our look and our lock of theirs.
TEST_F(MeanwhileTest, WhatAThirdReleaseTookIsLookedAtAgain) {
  install_theirs();
  meanwhile("patch", "mistletoe.theirs", [&] { third_installs(taking()); });
  const auto refused = install_now(kTaken, taking());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("ConfigMap default/two belongs to release default/third"));
  EXPECT_EQ(mark("two"), "default/third");
  EXPECT_EQ(value("two"), "3");
  EXPECT_THAT(inventory(third), ElementsAre("two"));
  EXPECT_THAT(inventory(theirs), ElementsAre("one"));
  EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web"));
}

// Its lock does not tell: an earlier life of theirs left the object, and only the write finds out.
TEST_F(MeanwhileTest, WhatAThirdReleaseTookIsNotOverwritten) {
  const std::string claim =
      "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: two}, spec: {accessModes: "
      "[ReadWriteOnce]}}\n";
  install_theirs(kTheirs + claim);
  ASSERT_TRUE(uninstall_theirs().ok());
  meanwhile("apply", "two", [&] {
    const auto done = deploy(environment(), third, install_intent(rendering(claim)), taking(), Context());
    ASSERT_TRUE(done.ok()) << done.error().to_line();
  });
  const auto refused = install_now(claim, taking());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              HasSubstr("PersistentVolumeClaim default/two now belongs to release default/third"));
  EXPECT_EQ(cluster.find("PersistentVolumeClaim", "default", "two")
                ->string_at({"metadata", "labels", apply::kPartOfLabel}),
            apply_set_id(third));
  ASSERT_TRUE(uninstall_now({.rules = {.delete_pvcs = true}}).ok());
  EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "default", "two"));
}

TEST_F(MeanwhileTest, OfTwoThatAdoptOnlyOneDoes) {
  cluster.put(
      testing::yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: "
                    "default}, data: {a: '2'}}"));
  meanwhile("apply", "two", [&] { third_installs({.allowed = {.adopt = true, .force_conflicts = true}}); });
  const auto refused = install_now(kTaken, {.allowed = {.adopt = true, .force_conflicts = true}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("two now belongs to release default/third"));
  EXPECT_EQ(mark("two"), "default/third");
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_EQ(value("two"), "3");
}

// Replacing it begins with a delete.
TEST_F(MeanwhileTest, WhatAThirdReleaseAdoptedIsNotReplaced) {
  cluster.put(testing::yaml(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: default}, data: {a: '2'}}"));
  const std::string uid(cluster.find("ConfigMap", "default", "two")->string_at({"metadata", "uid"}));
  bool adopted = false;
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    if (call.key.name != "two") return std::nullopt;
    if (call.verb == "apply" && call.dry_run && !adopted)
      return testing::api_refusal(ErrorKind::Invalid, "cannot apply", "data: field is immutable");
    if (call.verb != "delete" || adopted) return std::nullopt;
    adopted = true;
    third_installs({.allowed = {.adopt = true, .force_conflicts = true}});
    return std::nullopt;
  });
  const auto refused =
      install_now(kTaken, {.allowed = {.adopt = true, .replace = true, .force_conflicts = true}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("two now belongs to release default/third"));
  EXPECT_EQ(cluster.find("ConfigMap", "default", "two")->string_at({"metadata", "uid"}), uid);
}

// Its status changes all the time.
TEST_F(MeanwhileTest, OtherChangesDoNotKeepItFromBeingTaken) {
  install_theirs();
  meanwhile("apply", "two", [&] {
    auto two = *cluster.find("ConfigMap", "default", "two");
    two["metadata"]["annotations"].set("seen", "now");
    cluster.put(two, "somebody");
  });
  const auto done = install_now(kTaken, taking());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(owner("two"), "default/web");
  EXPECT_THAT(inventory(theirs), ElementsAre("one"));
}

// Our own first try: its answer was lost, and the client sent it again.
TEST_F(MeanwhileTest, ALostAnswerIsNoOtherRelease) {
  install_theirs();
  meanwhile("apply", "two", [&] {
    auto two = *cluster.find("ConfigMap", "default", "two");
    two["metadata"]["labels"].set(apply::kPartOfLabel, apply_set_id(id));
    two["metadata"]["annotations"].set(apply::kReleaseAnnotation, id.display());
    two["metadata"]["labels"].set(apply::kNameLabel, id.name);
    cluster.put(two, "mistctl");
  });
  DeployOptions options = taking();
  options.allowed.force_conflicts = true;
  const auto done = install_now(kTaken, options);
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(owner("two"), "default/web");
}

// The release that something was taken from goes on without it.

TEST_F(TakeOverTest, TheSourceIsUndoneRolledBackAndRepairedWithoutIt) {
  install_theirs(kTheirs + valued_map("edited", "1"));
  ASSERT_TRUE(install_now(kTaken, taking()).ok());
  EXPECT_THAT(drift(environment(), theirs, Context())->found, IsEmpty());
  auto edited = *cluster.find("ConfigMap", "default", "edited");
  edited["data"].set("a", "2");
  cluster.put(edited, "kubectl-edit");
  const auto repaired = fix_drift(environment(), theirs, {}, Context());
  ASSERT_TRUE(repaired.ok()) << repaired.error().to_line();
  EXPECT_EQ(value("edited"), "1");

  refuse("zzz");
  const std::string more = valued_map("one", "2") + valued_map("zzz", "1");
  const auto failed = upgrade_theirs(more, {.rollback_on_failure = true});
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().frames, Contains(HasSubstr("rolled back to v1, as v3")));
  ASSERT_FALSE(upgrade_theirs(more).ok());
  cluster.set_before({});
  const auto undone = recover(environment(), theirs, {.undo = true, .deploy = {}}, Context());
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_EQ(value("one"), "1");
  EXPECT_EQ(owner("two"), "default/web");
  EXPECT_THAT(inventory(theirs), UnorderedElementsAre("one", "edited"));
}

// The kind comes with the release, so its object is rendered without a namespace.
TEST_F(TakeOverTest, TheSourceKeepsWhatHasNoNamespaceInItsRecord) {
  const std::string with_kind = R"(---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.example.com}
spec:
  group: example.com
  names: {plural: toys, singular: toy, kind: Toy}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
{apiVersion: example.com/v1, kind: Toy, metadata: {name: bear}}
)";
  install_theirs(kTheirs + with_kind);
  ASSERT_TRUE(install_now(kTaken, taking()).ok());
  cluster.drop({{"example.com", "Toy"}, "default", "bear"});
  const auto repaired = fix_drift(environment(), theirs, {}, Context());
  ASSERT_TRUE(repaired.ok()) << repaired.error().to_line();
  EXPECT_TRUE(cluster.has("Toy.example.com", "default", "bear"));
  EXPECT_TRUE(cluster.has("CustomResourceDefinition.apiextensions.k8s.io", "", "toys.example.com"));
}

// Undoing takes nothing: what the failed run was to take, and did not, stays where it is.
TEST_F(TakeOverTest, AMoveThatFailedIsNotMadeByUndoingIt) {
  ASSERT_TRUE(install_now(kTaken + valued_map("mine", "1")).ok());
  // Theirs has it, and ours never forgot.
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    const bool forgets = call.writes() && call.verb != "apply" && call.key.name == "mistletoe.web.v0";
    return forgets ? std::optional(error(ErrorKind::Retryable, "connection reset")) : std::nullopt;
  });
  const auto moved = deploy(environment(), theirs, install_intent(rendering(kTheirs)),
                            {.allowed = {.take_over_from = id}}, Context());
  ASSERT_TRUE(moved.ok()) << moved.error().to_line();
  bool refused = false;
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.dry_run || call.key.name != "two" || refused) return std::nullopt;
    refused = true;
    return error(ErrorKind::Forbidden, "quota exceeded");
  });
  DeployOptions options = taking();
  options.rollback_on_failure = true;
  ASSERT_FALSE(upgrade_now(kTaken + valued_map("mine", "2"), options).ok());
  cluster.set_before({});
  EXPECT_EQ(owner("two"), "default/theirs");
  EXPECT_THAT(inventory(theirs), UnorderedElementsAre("one", "two"));
  for (const release::Revision& revision : now().unfinished) {
    if (revision.action == "undo") {
      EXPECT_TRUE(revision.options.string_at({"takeOverFrom", "name"}).empty());
    }
  }
}

// Two that take from each other lock each other out again and again, each between the other's look and lock.
TEST_F(TakeOverTest, WhoWaitsForLocksOutlastsManyChangesOfItsRelease) {
  ASSERT_TRUE(install_now(valued_map("mine", "1")).ok());
  install_theirs();
  for (const Duration wait : {Duration(0), Duration(std::chrono::seconds(20))}) {
    std::atomic<int> moves{0};
    cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
      if (call.verb != "patch" || call.key.name != "mistletoe.web" || moves.fetch_add(1) >= 6)
        return std::nullopt;
      Value anchor = *cluster.find("Secret", "default", "mistletoe.web");
      anchor["metadata"]["annotations"].set("moved", fmt::format("{}", moves.load()));
      cluster.put(anchor);
      return std::nullopt;
    });
    Environment here = environment();
    here.lock_wait = wait;
    const auto done = deploy(here, id, upgrade_intent(rendering(kTaken)), taking(), Context());
    cluster.set_before({});
    EXPECT_EQ(done.ok(), wait > Duration(0)) << (done.ok() ? "" : done.error().to_line());
    if (done.ok()) continue;
    EXPECT_EQ(done.error().kind, ErrorKind::Conflict);
    EXPECT_THAT(done.error().message, HasSubstr("was changed by others each time"));
    EXPECT_EQ(owner("two"), "default/theirs");
    EXPECT_FALSE(read_release(environment(), theirs, Context())->anchor->lock.has_value());
  }
  EXPECT_EQ(owner("two"), "default/web");
}

// Nothing moves: its record is repaired when it can be, and until then the upgrade is none of its business.
TEST_F(TakeOverTest, AnUpgradeGoesOnWhileTheOtherReleaseIsBusy) {
  install_theirs();
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    const bool forgets = call.writes() && call.verb != "apply" && call.key.name == "mistletoe.theirs.v0";
    return forgets ? std::optional(error(ErrorKind::Retryable, "connection reset")) : std::nullopt;
  });
  ASSERT_TRUE(install_now(kTaken, taking()).ok());
  cluster.set_before({});
  release::Store store(cluster);
  {
    const auto anchor = store.read_anchor(theirs, Context());
    const auto lock = release::ReleaseLock::acquire({store, cluster, clock, random, events}, **anchor, {},
                                                    {"somebody", "upgrade"}, Context());
    ASSERT_TRUE(lock.ok());
    Environment here = environment();
    here.lock_wait = std::chrono::minutes(5);
    const auto began = std::chrono::steady_clock::now();
    const auto done = deploy(here, id, upgrade_intent(rendering(valued_map("two", "3"))), {}, Context());
    ASSERT_TRUE(done.ok()) << done.error().to_line();
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
    EXPECT_THAT(inventory(theirs), UnorderedElementsAre("one", "two"));
  }
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    const bool locks = call.verb == "patch" && call.key.name == "mistletoe.theirs";
    return locks ? std::optional(error(ErrorKind::Forbidden, "cannot patch Secrets")) : std::nullopt;
  });
  ASSERT_TRUE(upgrade_now(valued_map("two", "4")).ok());
  cluster.set_before({});
  EXPECT_EQ(value("two"), "4");
  EXPECT_THAT(inventory(theirs), UnorderedElementsAre("one", "two"));
  ASSERT_TRUE(upgrade_now(valued_map("two", "5")).ok());
  EXPECT_THAT(inventory(theirs), ElementsAre("one"));
  // And then nobody asks any more.
  ASSERT_TRUE(upgrade_now(valued_map("two", "6")).ok());
  cluster.clear_calls();
  ASSERT_TRUE(upgrade_now(valued_map("two", "7")).ok());
  for (const FakeCall& call : cluster.calls()) EXPECT_NE(call.key.name, "mistletoe.theirs");
}

// The command line refuses it; a record may have it.
TEST_F(TakeOverTest, ItsOwnReleaseIsNoOther) {
  ASSERT_TRUE(install_now(valued_map("mine", "1")).ok());
  cluster.put(testing::yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: default}}"));
  refuse("zzz");
  ASSERT_FALSE(upgrade_now(kTakenAndLast, {.allowed = {.adopt = true, .take_over_from = id}}).ok());
  cluster.set_before({});
  ASSERT_TRUE(upgrade_now(valued_map("mine", "2")).ok());
  // Adopted by what failed, it was never the release's.
  const auto two = cluster.find("ConfigMap", "default", "two");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->at_path({"metadata", "labels", apply::kPartOfLabel}), nullptr);
}

}  // namespace
}  // namespace mist::action
