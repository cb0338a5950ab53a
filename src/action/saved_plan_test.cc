#include "action/saved_plan.h"

#include <algorithm>
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "action/recover.h"
#include "action/uninstall.h"
#include "crypto/digest.h"
#include "encoding/json.h"
#include "package/objects.h"
#include "release/lock.h"
#include "testing/fake_cluster.h"
#include "testing/laptop_clock.h"

namespace mist::action {
namespace {

using testing::FakeCluster;
using ::testing::HasSubstr;

constexpr std::string_view kOne = "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: '1'}}";
constexpr std::string_view kTwo = "{apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {a: '1'}}";
constexpr std::string_view kTwoNew =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {a: '2'}}";

class SavedPlanTest : public ::testing::Test {
 protected:
  Environment environment() { return {cluster, clock, random, events, "tester"}; }
  Render rendering(const std::vector<std::string_view>& documents) {
    std::string text;
    for (const std::string_view document : documents) text += fmt::format("{}\n---\n", document);
    return [this, text](const ReleaseState&) -> Result<RenderedRelease> {
      ++renders;
      MIST_TRY(auto objects, package::parse_objects({{"all.yaml", text}}, events));
      return RenderedRelease{
          {"test:1", "test", "1", "sha256:1"}, encoding::Value::object(), std::move(objects)};
    };
  }
  void install(const std::vector<std::string_view>& documents) {
    const auto done = deploy(environment(), id, install_intent(rendering(documents)), {}, Context());
    ASSERT_TRUE(done.ok()) << done.error().to_line();
  }
  // Through the text of a file.
  SavedPlan planned(const std::vector<std::string_view>& documents, const DeployOptions& options = {}) {
    const auto seen = look(environment(), id, preview_intent(rendering(documents)), options, Context());
    EXPECT_TRUE(seen.ok()) << seen.error().to_line();
    const auto saved = save_plan(environment(), *seen, Context());
    EXPECT_TRUE(saved.ok()) << saved.error().to_line();
    auto read = saved_plan_from(to_text(*saved), "web.plan");
    EXPECT_TRUE(read.ok()) << read.error().to_line();
    return *std::move(read);
  }
  Result<DeployReport> carry_out(const SavedPlan& plan) {
    const Environment here = environment();
    return deploy(here, plan.id, saved_plan_intent(here, plan, Context()), plan.options, Context());
  }
  void change(std::string_view name, std::string_view value, std::string_view manager = "mistctl") {
    auto object = *cluster.find("ConfigMap", "default", name);
    object["data"].set("a", value);
    cluster.put(object, manager);
  }
  void expect_stale(const SavedPlan& plan, std::string_view words) {
    cluster.clear_calls();
    const auto done = carry_out(plan);
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind, ErrorKind::Conflict);
    EXPECT_THAT(done.error().to_line(), HasSubstr("the plan is stale"));
    EXPECT_THAT(done.error().to_line(), HasSubstr(words));
    EXPECT_EQ(cluster.writes(), 0u);
  }

  FakeCluster cluster;
  SystemClock clock;
  SystemRandom random;
  NullEventSink events;
  release::ReleaseId id{"default", "web"};
  int renders = 0;
};

TEST_F(SavedPlanTest, AnInstallIsCarriedOutWithoutRenderingAgain) {
  const SavedPlan plan = planned({kOne, kTwo});
  EXPECT_EQ(cluster.writes(), 0u);
  renders = 0;
  const auto done = carry_out(plan);
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(renders, 0);
  EXPECT_EQ(done->plan.count(apply::ActionKind::Create), 2u);
  const auto state = read_release(environment(), id, Context());
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->birth.seed.reveal(), plan.birth.seed.reveal()) << "born with what it was rendered with";
  EXPECT_EQ(state->deployed->action, "install");
  expect_stale(plan, "was installed since");
}

TEST_F(SavedPlanTest, AnUpgradeIsCarriedOutOnce) {
  install({kOne, kTwo});
  const SavedPlan plan = planned({kTwoNew});
  const auto done = carry_out(plan);
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_EQ(cluster.find("ConfigMap", "default", "two")->string_at({"data", "a"}), "2");
  expect_stale(plan, "is at revision 1");
}

TEST_F(SavedPlanTest, WhatMovedSinceIsNamed) {
  install({kOne, kTwo});
  const SavedPlan plan = planned({kOne, kTwoNew}, {.force_conflicts = true});
  const SavedPlan careful = planned({kOne, kTwoNew});
  change("two", "3");
  expect_stale(plan, "ConfigMap default/two changed at .data.a");
  expect_stale(careful, "ConfigMap default/two would be conflict now");
  change("one", "5");
  expect_stale(plan, "also: ConfigMap default/two changed");
  expect_stale(plan, "ConfigMap default/one would be update now");
}

TEST_F(SavedPlanTest, AnObjectThatWasMadeAnewIsAnother) {
  install({kOne, kTwo});
  const SavedPlan plan = planned({kOne, kTwoNew});
  auto object = *cluster.find("ConfigMap", "default", "two");
  cluster.drop({{"", "ConfigMap"}, "default", "two"});
  expect_stale(plan, "ConfigMap default/two is gone");
  object["metadata"].erase("uid");
  object["metadata"].erase("resourceVersion");
  cluster.put(object, "mistctl");
  expect_stale(plan, "ConfigMap default/two was deleted and created anew");
}

TEST_F(SavedPlanTest, APlanWithConflictsIsNotSaved) {
  cluster.put(encoding::Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", encoding::Value::object({{"name", "one"}, {"namespace", "default"}})}}));
  const auto seen = look(environment(), id, preview_intent(rendering({kOne})), {}, Context());
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->plan.count(apply::ActionKind::Conflict), 1u);
  EXPECT_FALSE(save_plan(environment(), *seen, Context()).ok());
}

TEST_F(SavedPlanTest, DamagedAndNewerFilesAreRefused) {
  const auto seen = look(environment(), id, preview_intent(rendering({kOne})), {}, Context());
  ASSERT_TRUE(seen.ok());
  const auto saved = save_plan(environment(), *seen, Context());
  ASSERT_TRUE(saved.ok());
  const std::string text = to_text(*saved);
  for (std::size_t i = 0; i < text.size(); i += 7) {
    std::string broken = text;
    broken[i] = broken[i] == 'x' ? 'y' : 'x';
    const auto read = saved_plan_from(broken, "web.plan");
    EXPECT_FALSE(read.ok()) << i;
    EXPECT_FALSE(saved_plan_from(text.substr(0, i), "web.plan").ok()) << i;
  }
  EXPECT_FALSE(saved_plan_from("apiVersion: v1", "web.plan").ok());
  const auto newer =
      saved_plan_from("{\"kind\":\"MistletoePlan\",\"format\":3,\"digest\":\"\"}\n{}\n", "web.plan");
  EXPECT_THAT(newer.error().message, HasSubstr("format 3"));
}

// Clusters are told apart by the uid of namespace kube-system.
class OtherClusterTest : public SavedPlanTest {
 protected:
  const apimachinery::ObjectKey system{{"", "Namespace"}, "", "kube-system"};
  // From now on it is another cluster, with the same address.
  void replace_cluster() {
    encoding::Value made = *cluster.find(system);
    cluster.drop(system);
    made["metadata"].erase("uid");
    cluster.put(made);
  }
  void hide(ErrorKind kind) {
    cluster.set_before([this, kind](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb == "get" && call.key == system) return error(kind, "cannot get Namespace kube-system");
      return std::nullopt;
    });
  }
  void expect_refused(const SavedPlan& plan, std::string_view why) {
    cluster.clear_calls();
    const auto done = carry_out(plan);
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind, ErrorKind::Conflict);
    EXPECT_THAT(
        done.error().message,
        HasSubstr(fmt::format("made for another cluster, {}, and this is fake cluster", plan.cluster)));
    EXPECT_THAT(done.error().because, HasSubstr(why));
    EXPECT_THAT(done.error().hint, HasSubstr("--context"));
    EXPECT_EQ(cluster.writes(), 0u);
  }
};

TEST_F(OtherClusterTest, AnInstallIsRefusedThereAndBothAreNamed) {
  SavedPlan plan = planned({kOne});
  const std::string there = plan.cluster_uid;
  EXPECT_EQ(there, cluster.find(system)->string_at({"metadata", "uid"}));
  replace_cluster();
  const std::string here(cluster.find(system)->string_at({"metadata", "uid"}));
  ASSERT_NE(there, here);
  expect_refused(plan, fmt::format("uid {} there and {} here", there, here));
  plan.cluster_uid = here;
  plan.cluster = "https://by.another.name:6443 (context other)";
  EXPECT_TRUE(carry_out(plan).ok()) << "an address is not a cluster";
}

TEST_F(OtherClusterTest, PlanningAndCarryingOutAskOnceAndNobodyElseDoes) {
  const auto asked = [this] {
    const auto calls = cluster.calls();
    cluster.clear_calls();
    return std::ranges::count(calls, system, &testing::FakeCall::key);
  };
  install({kOne});
  EXPECT_EQ(asked(), 0);
  const SavedPlan plan = planned({kTwo});
  EXPECT_EQ(asked(), 1);
  ASSERT_TRUE(carry_out(plan).ok());
  EXPECT_EQ(asked(), 1);
}

// Who may not see that namespace, on either side, has the server's address to go by.
TEST_F(OtherClusterTest, TheAddressCountsWhereTheUidIsNotKnown) {
  for (const ErrorKind kind : {ErrorKind::Forbidden, ErrorKind::NotFound}) {
    hide(kind);
    SavedPlan blind = planned({kOne});
    EXPECT_EQ(blind.cluster_uid, "");
    cluster.set_before({});
    blind.cluster = "https://by.another.name:6443 (context fake)";
    expect_refused(blind, "is not known of the plan's cluster");
    SavedPlan seeing = planned({kOne});
    EXPECT_NE(seeing.cluster_uid, "");
    hide(kind);
    seeing.cluster = blind.cluster;
    expect_refused(seeing, "is not known here");
    cluster.set_before({});
  }
  hide(ErrorKind::Forbidden);
  SavedPlan same = planned({kOne});
  same.cluster = "fake (context that was renamed)";
  EXPECT_TRUE(carry_out(same).ok());
  // A release that is there has an anchor, whose uid no other cluster has.
  SavedPlan upgrade = planned({kTwo});
  upgrade.cluster = "https://by.another.name:6443 (context other)";
  EXPECT_TRUE(carry_out(upgrade).ok());
}

TEST_F(OtherClusterTest, AnythingElseThatGoesWrongIsNoAnswer) {
  const SavedPlan plan = planned({kOne});
  hide(ErrorKind::Retryable);
  const auto done = carry_out(plan);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(done.error().to_line(), HasSubstr("which cluster"));
  const auto seen = look(environment(), id, preview_intent(rendering({kOne})), {}, Context());
  ASSERT_TRUE(seen.ok());
  EXPECT_FALSE(save_plan(environment(), *seen, Context()).ok());
}

TEST_F(OtherClusterTest, APlanOfFormat1IsReadAndGoesByTheAddress) {
  const auto seen = look(environment(), id, preview_intent(rendering({kOne})), {}, Context());
  ASSERT_TRUE(seen.ok());
  const auto saved = save_plan(environment(), *seen, Context());
  ASSERT_TRUE(saved.ok());
  const std::string text = to_text(*saved);
  auto body = encoding::parse_json(text.substr(text.find('\n') + 1));
  ASSERT_TRUE(body.ok());
  body->erase("clusterUid");
  const std::string old = encoding::to_json(*body);
  auto read =
      saved_plan_from(fmt::format("{{\"kind\":\"MistletoePlan\",\"format\":1,\"digest\":\"{}\"}}\n{}\n",
                                  crypto::sha256(old).str(), old),
                      "web.plan");
  ASSERT_TRUE(read.ok()) << read.error().to_line();
  SavedPlan elsewhere = *read;
  elsewhere.cluster = "https://by.another.name:6443";
  expect_refused(elsewhere, "addresses differ");
  const auto done = carry_out(*read);
  EXPECT_TRUE(done.ok()) << done.error().to_line();
}

// Moving objects between releases.
class TakeOverTest : public SavedPlanTest {
 protected:
  const release::ReleaseId theirs{"default", "theirs"};
  DeployOptions taking() { return {.take_over_from = theirs}; }
  void install_theirs() {
    const auto done = deploy(environment(), theirs, install_intent(rendering({kOne, kTwo})), {}, Context());
    ASSERT_TRUE(done.ok()) << done.error().to_line();
  }
  std::vector<std::string> inventory(const release::ReleaseId& release) {
    std::vector<std::string> names;
    const auto state = read_release(environment(), release, Context());
    if (state.ok() && state->anchor)
      for (const release::InventoryItem& item : state->owned()) names.push_back(item.key.name);
    return names;
  }
  std::string owner(std::string_view name) {
    const auto object = cluster.find("ConfigMap", "default", name);
    return object ? std::string(object->string_at({"metadata", "annotations", release::kReleaseAnnotation}))
                  : "";
  }
};

TEST_F(TakeOverTest, MovesWhatIsWantedAndLeavesTheRest) {
  install_theirs();
  const std::string uid(cluster.find("ConfigMap", "default", "two")->string_at({"metadata", "uid"}));
  const auto done = deploy(environment(), id, install_intent(rendering({kTwo})), taking(), Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_EQ(done->plan.writes[0].kind, apply::ActionKind::Adopt);
  EXPECT_EQ(done->plan.writes[0].owner, "default/theirs");
  EXPECT_EQ(cluster.find("ConfigMap", "default", "two")->string_at({"metadata", "uid"}), uid);
  EXPECT_EQ(owner("two"), "default/web");
  EXPECT_THAT(inventory(id), ::testing::ElementsAre("two"));
  EXPECT_THAT(inventory(theirs), ::testing::ElementsAre("one"));
  const auto plan = plan_uninstall(environment(), theirs, {}, Context());
  ASSERT_TRUE(plan.ok()) << plan.error().to_line();
  ASSERT_TRUE(uninstall(environment(), *plan, {}, Context()).ok());
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
  const auto done = deploy(environment(), id, install_intent(rendering({kTwo})), taking(), Context());
  ASSERT_TRUE(done.ok()) << done.error().to_line();
  EXPECT_THAT(inventory(theirs), ::testing::ElementsAre("one"));
  EXPECT_EQ(chunks(), 0);
}

TEST_F(TakeOverTest, LeavesTheOtherRecordAloneOnceItsLockRanOut) {
  install_theirs();
  testing::LaptopClock laptop;
  cluster.set_after([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && call.key.name == "two") laptop.suspend(std::chrono::minutes(20));
    return std::nullopt;
  });
  cluster.clear_calls();
  const Environment here{cluster, laptop, random, events, "tester"};
  EXPECT_FALSE(deploy(here, id, install_intent(rendering({kTwo})), taking(), Context()).ok());
  EXPECT_EQ(owner("two"), "default/web");
  for (const testing::FakeCall& call : cluster.calls())
    EXPECT_FALSE(call.writes() && call.key.name.starts_with("mistletoe.theirs.v")) << call.verb;
}

// Going back from an upgrade that failed deletes nothing that was there before it.
TEST_F(TakeOverTest, UndoingKeepsWhatWasTaken) {
  install_theirs();
  const auto mine = [](std::string_view name) {
    return fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}}}}}", name);
  };
  const std::string first = mine("mine"), last = mine("zzz");
  install({first});
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && call.key.name == "zzz") return error(ErrorKind::Forbidden, "quota exceeded");
    return std::nullopt;
  });
  DeployOptions options = taking();
  options.rollback_on_failure = true;
  const auto failed =
      deploy(environment(), id, upgrade_intent(rendering({first, kTwo, last})), options, Context());
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().to_line(), HasSubstr("rolled back"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "two"));
  EXPECT_EQ(owner("two"), "default/web") << "retained";
}

TEST_F(TakeOverTest, IsRefusedWhileTheOtherReleaseIsBusy) {
  install_theirs();
  release::Store store(cluster);
  const auto anchor = store.read_anchor(theirs, Context());
  const auto lock = release::ReleaseLock::acquire({store, cluster, clock, random, events}, **anchor, {},
                                                  {"somebody", "upgrade"}, Context());
  ASSERT_TRUE(lock.ok());
  cluster.clear_calls();
  const auto refused = deploy(environment(), id, install_intent(rendering({kTwo})), taking(), Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_line(), HasSubstr("somebody"));
  EXPECT_THAT(refused.error().to_line(), HasSubstr("default/theirs"));
  EXPECT_EQ(owner("two"), "default/theirs");
  EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web"));
}

// Who took over locks the other release first, and may die there.
TEST_F(TakeOverTest, RecoverOfTheOtherReleaseFreesItFromTheLockOfTheDead) {
  install_theirs();
  release::Store store(cluster);
  std::atomic<bool> dead{false};
  const auto kill = [&](const testing::FakeCall&) -> std::optional<Error> {
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
  EXPECT_THAT(inventory(theirs), ::testing::UnorderedElementsAre("one", "two"));
}

// Killed at each request in turn: the object is there, belongs to the release that its mark names, that one
// has it in its record, and uninstalling the other one leaves it alone.
TEST_F(TakeOverTest, WhereverTheProcessDiesTheObjectHasOneOwner) {
  for (std::size_t point = 1; point < 60; ++point) {
    FakeCluster fresh;
    const Environment here{
        fresh, clock, random, events, "tester", std::chrono::milliseconds(150), std::chrono::seconds(20)};
    ASSERT_TRUE(deploy(here, theirs, install_intent(rendering({kOne, kTwo})), {}, Context()).ok());
    const std::size_t begin = fresh.calls().size();
    std::atomic<bool> dead{false};
    fresh.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.number >= begin + point) dead = true;
      if (dead) return error(ErrorKind::Retryable, "the process is gone");
      return std::nullopt;
    });
    const bool survived = deploy(here, id, install_intent(rendering({kTwo})), taking(), Context()).ok();
    fresh.set_before({});
    const auto object = fresh.find("ConfigMap", "default", "two");
    ASSERT_TRUE(object.has_value()) << point;
    const std::string label(object->string_at({"metadata", "labels", release::kPartOfLabel}));
    const bool ours = label == release::apply_set_id(id);
    ASSERT_TRUE(ours || label == release::apply_set_id(theirs)) << point;
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
        deploy(here, id, survived ? upgrade_intent(rendering({kTwo})) : install_intent(rendering({kTwo})),
               taking(), Context());
    ASSERT_TRUE(again.ok()) << point << ": " << again.error().to_line();
    EXPECT_EQ(
        fresh.find("ConfigMap", "default", "two")->string_at({"metadata", "labels", release::kPartOfLabel}),
        release::apply_set_id(id));
    if (survived) {
      EXPECT_GT(point, 8u);
      return;
    }
  }
  FAIL() << "never survived";
}

}  // namespace
}  // namespace mist::action
