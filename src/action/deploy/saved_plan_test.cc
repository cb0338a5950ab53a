#include "action/deploy/saved_plan.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crypto/digest.h"
#include "encoding/json.h"
#include "package/objects.h"
#include "testing/fake_cluster.h"

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
    const auto seen = prepare(environment(), id, preview_intent(rendering(documents)), options, Context());
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
  EXPECT_EQ(state->fixed.seed.reveal(), plan.fixed.seed.reveal()) << "born with what it was rendered with";
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
  const SavedPlan plan = planned({kOne, kTwoNew}, {.allowed = {.force_conflicts = true}});
  const SavedPlan careful = planned({kOne, kTwoNew});
  change("two", "3");
  expect_stale(plan, "ConfigMap default/two changed at .data.a");
  expect_stale(careful, "ConfigMap default/two: now \"conflict\"");
  change("one", "5");
  expect_stale(plan, "also: ConfigMap default/two changed");
  expect_stale(plan, "ConfigMap default/one: now \"update\"");
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
  expect_stale(plan, "ConfigMap default/two was deleted and recreated");
}

TEST_F(SavedPlanTest, APlanWithConflictsIsNotSaved) {
  cluster.put(encoding::Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", encoding::Value::object({{"name", "one"}, {"namespace", "default"}})}}));
  const auto seen = prepare(environment(), id, preview_intent(rendering({kOne})), {}, Context());
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->plan.count(apply::ActionKind::Conflict), 1u);
  EXPECT_FALSE(save_plan(environment(), *seen, Context()).ok());
}

TEST_F(SavedPlanTest, DamagedAndNewerFilesAreRefused) {
  const auto seen = prepare(environment(), id, preview_intent(rendering({kOne})), {}, Context());
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

// A caller that may not see that namespace, on either side, has the server's address to go by.
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
  const auto seen = prepare(environment(), id, preview_intent(rendering({kOne})), {}, Context());
  ASSERT_TRUE(seen.ok());
  EXPECT_FALSE(save_plan(environment(), *seen, Context()).ok());
}

TEST_F(OtherClusterTest, APlanOfFormat1IsReadAndGoesByTheAddress) {
  const auto seen = prepare(environment(), id, preview_intent(rendering({kOne})), {}, Context());
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

}  // namespace
}  // namespace mist::action
