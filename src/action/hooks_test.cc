// Hooks of a chart through the life of its release: which run, when, what becomes of them, and what is left
// when they fail.

#include "apply/plan/hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "action/deploy/prepare.h"
#include "action/deploy/saved_plan.h"
#include "action/query/drift.h"
#include "action/query/graph.h"
#include "action/query/status.h"
#include "action/recover/recover.h"
#include "apply/reserved_metadata.h"
#include "encoding/yaml.h"
#include "testing/client_with_logs.h"
#include "testing/recorded_events.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using ::testing::ElementsAre;
using testing::FakeCall;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string job(std::string_view name, std::string_view events, std::string_view more = "") {
  return fmt::format(
      "---\n{{apiVersion: batch/v1, kind: Job, metadata: {{name: {}, annotations: {{helm.sh/hook: "
      "\"{}\"{}}}}}, "
      "spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}}}}}}}\n",
      name, events, more);
}
std::string policy(std::string_view policies) {
  return fmt::format(", helm.sh/hook-delete-policy: \"{}\"", policies);
}
std::string weight(int value) { return fmt::format(", helm.sh/hook-weight: \"{}\"", value); }
std::string claim_hook(std::string_view events, std::string_view more = "") {
  return fmt::format(
      "---\n{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: data, annotations: "
      "{{helm.sh/hook: \"{}\"{}}}}}, spec: {{accessModes: [ReadWriteOnce]}}}}\n",
      events, more);
}
std::string config_map(std::string_view name, std::string_view text = "x") {
  return fmt::format(
      "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}}}, data: {{text: '{}'}}}}\n", name, text);
}

class HooksTest : public testing::ReleaseFixture {
 protected:
  HooksTest() { cluster.set_instant_controllers(true); }

  Render rendering(std::string yaml, std::string engine = "helm") {
    return ReleaseFixture::rendering(std::move(yaml), {"test:1", "test", "1", "sha256:1", std::move(engine)});
  }
  Result<DeployReport> install_now(const std::string& yaml, const DeployOptions& options = {}) {
    return deploy(environment(), id, install_intent(rendering(yaml)), options, Context());
  }
  Result<DeployReport> upgrade_now(const std::string& yaml, const DeployOptions& options = {}) {
    return deploy(environment(), id, upgrade_intent(rendering(yaml)), options, Context());
  }
  Status uninstall_now(UninstallOptions options = {}) {
    options.timeout = std::chrono::milliseconds(200);
    auto report = ReleaseFixture::uninstall_now(options);
    return report.ok() ? Status() : Status(std::move(report).error());
  }
  // The objects that were written and deleted since, but the record: "+name", "-name".
  std::vector<std::string> writes() {
    std::vector<std::string> result;
    for (const FakeCall& call : cluster.calls()) {
      if (!call.writes() || call.key.group_kind.kind == "Secret") continue;
      result.push_back((call.verb == "delete" ? "-" : "+") + call.key.name);
    }
    cluster.clear_calls();
    return result;
  }
  // The Job fails as soon as it is written.
  void fail_job(const std::string& name) {
    cluster.set_after([this, name](const FakeCall& call) -> std::optional<Error> {
      if (call.verb == "apply" && call.key.name == name && call.executed_ok) {
        const encoding::Value failed = encoding::Value::object({{"type", "Failed"},
                                                                {"status", "True"},
                                                                {"reason", "BackoffLimitExceeded"},
                                                                {"message", "it failed too often"}});
        cluster.set_status(call.key,
                           encoding::Value::object({{"conditions", encoding::Value::array({failed})}}));
      }
      return std::nullopt;
    });
  }
  // Puts an object there as Helm does, which marks no hooks. Returns its uid.
  std::string put_by_helm(const std::string& yaml) {
    encoding::Value object = *encoding::parse_yaml(yaml);
    object["metadata"].set("namespace", "default");
    return std::string(cluster.put(std::move(object), "helm").string_at({"metadata", "uid"}));
  }
  std::string uid_of(std::string_view kind, std::string_view name) {
    const auto object = cluster.find(kind, "default", name);
    return object ? std::string(object->string_at({"metadata", "uid"})) : "absent";
  }
  bool has_job(std::string_view name) { return cluster.has("Job.batch", "default", name); }
};

TEST_F(HooksTest, OfInstallRunInHelmsOrderAroundEverythingElse) {
  const auto report =
      install_now(config_map("a") + job("post", "post-install") + job("pre-b", "pre-install") +
                  job("pre-a", "pre-install") + job("first", "pre-install", weight(-5)) +
                  job("up", "pre-upgrade,post-upgrade"));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(writes(), ElementsAre("+first", "+pre-a", "+pre-b", "+a", "+post"));
  EXPECT_EQ(report->plan.writes[0].reason, "pre-install hook, weight -5");
}

TEST_F(HooksTest, OfOnlyChartsAreHooks) {
  const std::string yaml = config_map("a") + job("pre", "pre-upgrade");
  ASSERT_TRUE(deploy(environment(), id, install_intent(rendering(yaml, "")), {}, Context()).ok());
  EXPECT_TRUE(has_job("pre")) << "plain YAML may carry the annotation for Helm's own use";
}

TEST_F(HooksTest, ThatHelmDoesNotKnowAreNotApplied) {
  ASSERT_TRUE(install_now(config_map("a") + job("old", "crd-install")).ok());
  EXPECT_THAT(writes(), ElementsAre("+a"));
}

TEST_F(HooksTest, OfOtherMomentsStayAsTheyAre) {
  const std::string hooks = job("pre", "pre-install") + job("up", "post-upgrade");
  ASSERT_TRUE(install_now(config_map("a") + hooks).ok());
  writes();
  ASSERT_TRUE(upgrade_now(config_map("a", "y") + hooks).ok());
  EXPECT_THAT(writes(), ElementsAre("+a", "+up"));
  EXPECT_TRUE(has_job("pre"));
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_THAT(cluster.objects(), IsEmpty()) << "hooks are the release's";
}

TEST_F(HooksTest, ThatTheChartNoLongerHasArePruned) {
  ASSERT_TRUE(install_now(config_map("a") + job("pre", "pre-install") + job("pre-2", "pre-install")).ok());
  ASSERT_TRUE(upgrade_now(config_map("a", "y") + job("pre", "pre-install")).ok());
  EXPECT_TRUE(has_job("pre"));
  EXPECT_FALSE(has_job("pre-2"));
}

TEST_F(HooksTest, OfAnUpgradeRunAgainByBeingReplaced) {
  const std::string hook = job("up", "pre-upgrade");
  ASSERT_TRUE(install_now(config_map("a") + hook).ok());
  ASSERT_TRUE(upgrade_now(config_map("a", "2") + hook).ok());
  const std::string uid(cluster.find("Job.batch", "default", "up")->string_at({"metadata", "uid"}));
  writes();
  const auto report = upgrade_now(config_map("a", "3") + hook);
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->plan.writes[0].kind, apply::ActionKind::Replace);
  EXPECT_THAT(report->plan.writes[0].reason,
              HasSubstr("pre-upgrade hook, weight 0; what an earlier run left"));
  EXPECT_THAT(writes(), ElementsAre("-up", "+up", "+a"));
  EXPECT_NE(cluster.find("Job.batch", "default", "up")->string_at({"metadata", "uid"}), uid);
}

TEST_F(HooksTest, DoNotRunWhenNothingChanges) {
  const std::string yaml = config_map("a") + job("up", "pre-upgrade") + job("in", "pre-install");
  ASSERT_TRUE(install_now(yaml).ok());
  writes();
  const auto report = upgrade_now(yaml);
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_FALSE(report->changed);
  EXPECT_THAT(writes(), IsEmpty());
  // One that the chart has again is a change.
  ASSERT_TRUE(upgrade_now(yaml + job("new", "post-upgrade")).ok());
  EXPECT_THAT(writes(), ElementsAre("+up", "+new"));
}

TEST_F(HooksTest, ThatRunTwiceAreMadeTwice) {
  ASSERT_TRUE(install_now(config_map("a") + job("both", "pre-install,post-install")).ok());
  EXPECT_THAT(writes(), ElementsAre("+both", "+a", "-both", "+both"));
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_THAT(cluster.objects(), IsEmpty());
}

TEST_F(HooksTest, ThatRunTwiceAndHoldDataAreMadeOnce) {
  const std::string yaml = config_map("a") + claim_hook("pre-install,post-install,pre-upgrade,post-upgrade");
  ASSERT_TRUE(install_now(yaml).ok());
  EXPECT_THAT(writes(), ElementsAre("+data", "+a"));
  const std::string uid = uid_of("PersistentVolumeClaim", "data");
  const auto report = upgrade_now(config_map("a", "y") +
                                  claim_hook("pre-install,post-install,pre-upgrade,post-upgrade", weight(1)));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(writes(), ElementsAre("+data", "+a"));
  EXPECT_EQ(uid_of("PersistentVolumeClaim", "data"), uid);
  EXPECT_THAT(report->plan.writes.back().reason, HasSubstr("stays as the first run left it"));
}

// It goes by its own policy between the two runs.
TEST_F(HooksTest, AClaimWhosePolicyDeletesItIsMadeForEachRun) {
  ASSERT_TRUE(
      install_now(config_map("a") + claim_hook("pre-install,post-install", policy("hook-succeeded"))).ok());
  EXPECT_THAT(writes(), ElementsAre("+data", "-data", "+a", "+data", "-data"));
}

TEST_F(HooksTest, AClaimOfNobodysIsAdoptedAndNeverReplaced) {
  for (const std::string_view moments : {"pre-install", "pre-install,post-install"}) {
    const std::string yaml = claim_hook(moments, policy("hook-succeeded"));
    const std::string uid = put_by_helm(yaml);
    const auto report = install_now(config_map("a") + yaml, {.allowed = {.adopt = true}});
    ASSERT_TRUE(report.ok()) << report.error().to_line();
    EXPECT_EQ(report->plan.writes[0].kind, apply::ActionKind::Adopt) << report->plan.writes[0].reason;
    EXPECT_EQ(uid_of("PersistentVolumeClaim", "data"), uid) << moments;
    EXPECT_THAT(writes(), Not(::testing::Contains("-data")));
    ASSERT_TRUE(uninstall_now().ok());
    cluster.drop({{"", "PersistentVolumeClaim"}, "default", "data"});
    writes();
  }
}

std::string secret_hook(std::string_view events, std::string_view key = "a2V5") {
  return fmt::format(
      "---\n{{apiVersion: v1, kind: Secret, metadata: {{name: key, annotations: {{helm.sh/hook: \"{}\", "
      "helm.sh/hook-delete-policy: before-hook-creation}}}}, data: {{key: {}}}}}\n",
      events, key);
}

// Keys of databases are made so.
TEST_F(HooksTest, ASecretOfNobodysIsAdoptedAndGivenBack) {
  const std::string uid = put_by_helm(secret_hook("pre-install", "b2xk"));
  fail_job("post");
  const std::string yaml =
      config_map("a") + secret_hook("pre-install,post-install") + job("post", "post-install");
  const auto failed = install_now(yaml, {.allowed = {.adopt = true}});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(uid_of("Secret", "key"), uid);
  EXPECT_EQ(cluster.find("Secret", "default", "key")->string_at({"data", "key"}), "a2V5");
  cluster.set_after({});
  const auto undone = recover(environment(), id, {.undo = true, .deploy = {}}, Context());
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_EQ(uid_of("Secret", "key"), uid);
  EXPECT_EQ(cluster.find("Secret", "default", "key")->string_at({"data", "key"}), "b2xk");
  EXPECT_EQ(cluster.find("Secret", "default", "key")->at_path({"metadata", "labels", apply::kPartOfLabel}),
            nullptr);
}

// As from-helm.md adopts: without hooks, so the first revision only has their names.
struct LaterAdoptedHookTest : HooksTest {
  void SetUp() override {
    uid = put_by_helm(secret_hook("pre-install", "b2xk"));
    put_by_helm(config_map("a"));
    ASSERT_TRUE(install_now(config_map("a") + hook, {.allowed = {.adopt = true}, .no_hooks = true}).ok());
    ASSERT_EQ(key(), "b2xk");
  }
  Result<DeployReport> adopt_in_upgrade(DeployOptions options = {}) {
    options.allowed.adopt = true;
    return upgrade_now(config_map("a", "y") + hook + job("post", "post-upgrade"), options);
  }
  std::string key() {
    const auto secret = cluster.find("Secret", "default", "key");
    return secret ? std::string(secret->string_at({"data", "key"})) : "absent";
  }
  void expect_given_back() {
    EXPECT_EQ(uid_of("Secret", "key"), uid);
    EXPECT_EQ(key(), "b2xk");
    EXPECT_EQ(cluster.find("Secret", "default", "key")->at_path({"metadata", "labels", apply::kPartOfLabel}),
              nullptr);
  }
  const std::string hook = secret_hook("pre-install,pre-upgrade");
  std::string uid;
};

TEST_F(LaterAdoptedHookTest, IsGivenBackWhenTheUpgradeIsUndone) {
  fail_job("post");
  ASSERT_FALSE(adopt_in_upgrade().ok());
  ASSERT_EQ(key(), "a2V5");
  cluster.set_after({});
  const auto undone = recover(environment(), id, {.undo = true, .deploy = {}}, Context());
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  expect_given_back();
}

TEST_F(LaterAdoptedHookTest, IsGivenBackWhenTheUpgradeUndoesItself) {
  fail_job("post");
  ASSERT_FALSE(adopt_in_upgrade({.rollback_on_failure = true}).ok());
  expect_given_back();
}

TEST_F(LaterAdoptedHookTest, IsGivenBackByARollback) {
  const auto upgraded = adopt_in_upgrade();
  ASSERT_TRUE(upgraded.ok()) << upgraded.error().to_line();
  ASSERT_EQ(key(), "a2V5");
  const auto back = rollback_now(0);
  ASSERT_TRUE(back.ok()) << back.error().to_line();
  expect_given_back();
}

TEST_F(LaterAdoptedHookTest, StaysWithTheReleaseWhenItRests) {
  ASSERT_TRUE(adopt_in_upgrade().ok());
  ASSERT_TRUE(upgrade_now(config_map("a", "z") + hook, {.no_hooks = true}).ok());
  EXPECT_EQ(key(), "a2V5");
  ASSERT_TRUE(rollback_now(1).ok());
  EXPECT_EQ(key(), "a2V5");
}

TEST_F(HooksTest, AnAdoptedSecretIsNotReplacedLaterEither) {
  const std::string yaml = secret_hook("pre-install,pre-upgrade");
  const std::string uid = put_by_helm(yaml);
  fail_job("post");
  ASSERT_FALSE(
      install_now(config_map("a") + yaml + job("post", "post-install"), {.allowed = {.adopt = true}}).ok());
  cluster.set_after({});
  // The same command again finishes it.
  ASSERT_TRUE(
      install_now(config_map("a") + yaml + job("post", "post-install"), {.allowed = {.adopt = true}}).ok());
  EXPECT_EQ(uid_of("Secret", "key"), uid);
  ASSERT_TRUE(upgrade_now(config_map("a", "y") + yaml).ok());
  EXPECT_EQ(uid_of("Secret", "key"), uid);
}

// The upgrade that is undone did not adopt it.
TEST_F(HooksTest, AnAdoptedSecretOutlivesTheUndoOfALaterUpgrade) {
  const std::string yaml = secret_hook("pre-install");
  const std::string uid = put_by_helm(yaml);
  ASSERT_TRUE(install_now(config_map("a") + yaml, {.allowed = {.adopt = true}}).ok());
  fail_job("post");
  ASSERT_FALSE(upgrade_now(config_map("a", "y") + yaml + job("post", "post-upgrade")).ok());
  cluster.set_after({});
  const auto undone = recover(environment(), id, {.undo = true, .deploy = {}}, Context());
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_EQ(uid_of("Secret", "key"), uid);
  for (const std::string value : {"z", "zz"}) {
    ASSERT_TRUE(upgrade_now(config_map("a", value) + yaml).ok());
    EXPECT_EQ(uid_of("Secret", "key"), uid);
  }
  ASSERT_TRUE(rollback_now(0).ok());
  EXPECT_EQ(uid_of("Secret", "key"), uid);
}

TEST_F(HooksTest, ASecretThatTheReleaseMadeIsStillMadeForEachRun) {
  const std::string yaml = secret_hook("pre-install,pre-upgrade");
  ASSERT_TRUE(install_now(config_map("a") + yaml).ok());
  const std::string uid = uid_of("Secret", "key");
  ASSERT_TRUE(upgrade_now(config_map("a", "y") + yaml).ok());
  EXPECT_NE(uid_of("Secret", "key"), uid);
}

TEST_F(HooksTest, ASecretOfAnEarlierLifeIsNotReplaced) {
  const std::string yaml = secret_hook("pre-install,pre-upgrade");
  ASSERT_TRUE(install_now(config_map("a") + yaml).ok());
  const std::string uid = uid_of("Secret", "key");
  const auto lose_record = [&] {
    cluster.drop({{"", "Secret"}, "default", apply::anchor_name(id)});
    for (const int number : {0, 1, 2, 3})
      cluster.drop({{"", "Secret"}, "default", release::revision_name(id, number)});
  };
  lose_record();
  const auto again = install_now(config_map("a") + yaml);
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_EQ(uid_of("Secret", "key"), uid);
  ASSERT_TRUE(upgrade_now(config_map("a", "y") + yaml).ok());
  EXPECT_EQ(uid_of("Secret", "key"), uid);
  // The record of an install without hooks names it all the same.
  lose_record();
  ASSERT_TRUE(install_now(config_map("a") + yaml, {.no_hooks = true}).ok());
  ASSERT_TRUE(upgrade_now(config_map("a", "y") + yaml, {.no_hooks = true}).ok());
  const auto expect_it_stays = [&] {
    for (const std::string value : {"z", "zz"}) {
      const auto upgraded = upgrade_now(config_map("a", value) + yaml);
      ASSERT_TRUE(upgraded.ok()) << upgraded.error().to_line();
      EXPECT_EQ(uid_of("Secret", "key"), uid);
    }
  };
  expect_it_stays();
  // So does that of one that failed, and the next install may run it or not.
  for (const bool no_hooks : {false, true}) {
    lose_record();
    cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
      if (call.verb != "apply" || call.dry_run || call.key.name != "a") return std::nullopt;
      return error(ErrorKind::Forbidden, "not now");
    });
    ASSERT_FALSE(install_now(config_map("a") + yaml, {.no_hooks = true}).ok());
    cluster.set_before({});
    const auto installed = install_now(config_map("a") + yaml, {.no_hooks = no_hooks});
    ASSERT_TRUE(installed.ok()) << installed.error().to_line();
    expect_it_stays();
  }
}

// The record of its only run has no uid.
TEST_F(HooksTest, ASecretWhoseMakingWasNotAnsweredIsNoneOfAnEarlierLife) {
  const std::string yaml = secret_hook("pre-upgrade");
  ASSERT_TRUE(install_now(config_map("a") + yaml).ok());
  cluster.set_after([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.dry_run || call.key.name != "key") return std::nullopt;
    return error(ErrorKind::Forbidden, "the answer is lost");
  });
  ASSERT_FALSE(upgrade_now(config_map("a", "y") + yaml).ok());
  cluster.set_after({});
  const std::string uid = uid_of("Secret", "key");
  ASSERT_NE(uid, "absent");
  const auto undone = recover(environment(), id, {.undo = true, .deploy = {}}, Context());
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  ASSERT_TRUE(upgrade_now(config_map("a", "z") + yaml).ok());
  EXPECT_NE(uid_of("Secret", "key"), uid);
}

// The record of the first install doesn't tell whether its hook ran, but that it was to run.
TEST_F(HooksTest, NorIsOneThatAFirstInstallMade) {
  const std::string yaml = secret_hook("pre-install,pre-upgrade");
  cluster.set_after([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.dry_run || call.key.name != "key") return std::nullopt;
    return error(ErrorKind::Forbidden, "the answer is lost");
  });
  ASSERT_FALSE(install_now(config_map("a") + yaml).ok());
  cluster.set_after({});
  ASSERT_TRUE(install_now(config_map("a") + yaml).ok());
  const std::string uid = uid_of("Secret", "key");
  ASSERT_TRUE(upgrade_now(config_map("a", "y") + yaml).ok());
  EXPECT_NE(uid_of("Secret", "key"), uid);
}

TEST_F(HooksTest, AJobOfNobodysThatIsMarkedToStayIsNotReplaced) {
  const std::string uid = put_by_helm(job("pre", "pre-install", ", mistletoe.dev/keep: \"true\""));
  const auto report = install_now(config_map("a") + job("pre", "pre-install"), {.allowed = {.adopt = true}});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(uid_of("Job.batch", "pre"), uid);
}

TEST_F(HooksTest, ThatSucceededGoWhenAllOfTheirPhaseHaveEnded) {
  const std::string yaml = config_map("a") + job("pre-1", "pre-install", policy("hook-succeeded")) +
                           job("pre-2", "pre-install") +
                           job("post", "post-install", policy("before-hook-creation,hook-succeeded"));
  ASSERT_TRUE(install_now(yaml).ok());
  EXPECT_THAT(writes(), ElementsAre("+pre-1", "+pre-2", "-pre-1", "+a", "+post", "-post"));
  const auto seen = status(environment(), id, Context());
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->count(ObjectHealth::Missing), 0u);
  EXPECT_EQ(seen->objects.size(), 2u) << "pre-2 and a";
  const auto drifted = drift(environment(), id, Context());
  ASSERT_TRUE(drifted.ok());
  EXPECT_FALSE(drifted->drifted(true));
}

TEST_F(HooksTest, AnOrdinaryObjectMayHaveTheNameOfAHookThatIsGone) {
  const std::string account =
      "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: sa, annotations: {helm.sh/hook: "
      "pre-install, "
      "helm.sh/hook-delete-policy: hook-succeeded}}}\n---\n{apiVersion: v1, kind: ServiceAccount, metadata: "
      "{name: sa}}\n";
  ASSERT_TRUE(install_now(account).ok());
  EXPECT_THAT(writes(), ElementsAre("+sa", "-sa", "+sa"));
  ASSERT_TRUE(upgrade_now(account + config_map("a")).ok());
  EXPECT_THAT(writes(), ElementsAre("+a"));
}

TEST_F(HooksTest, AFailedOneFailsTheInstallAndKeepsEverythingElseFromBeingWritten) {
  fail_job("pre-2");
  const auto report = install_now(config_map("a") + job("pre-1", "pre-install", policy("hook-succeeded")) +
                                  job("pre-2", "pre-install") + job("pre-3", "pre-install"));
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().to_line(), HasSubstr("Job default/pre-2 failed"));
  EXPECT_THAT(writes(), ElementsAre("+pre-1", "+pre-2", "-pre-1"));
  EXPECT_TRUE(has_job("pre-2")) << "to be looked at";
  cluster.set_after({});
  const auto again = install_now(config_map("a") + job("pre-2", "pre-install"));
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_THAT(writes(), ElementsAre("-pre-2", "+pre-2", "+a"));
}

TEST_F(HooksTest, WhatTheyPrintedIsShownWhereTheirPolicyWantsThat) {
  testing::ClientWithLogs client(cluster);
  std::vector<std::string> told;
  struct Told final : EventSink {
    explicit Told(std::vector<std::string>& list) : lines(list) {}
    void message(const Message& event) override { lines.push_back(event.text); }
    void began(const ActivityBegan&) override {}
    void ended(const ActivityEnded&) override {}
    void object(const ObjectProgress& event) override { lines.push_back(event.object + " " + event.state); }
    std::vector<std::string>& lines;
  } sink(told);
  const Environment with_sink{client, clock, random, sink, "tester"};
  // A controller that makes each Job's Pod.
  const auto make_pod = [&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.key.group_kind.kind != "Job" || !call.executed_ok) return std::nullopt;
    const std::string name = call.key.name + "-x";
    auto pod = encoding::parse_yaml(fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default, labels: "
        "{{batch.kubernetes.io/job-name: {}}}, ownerReferences: [{{apiVersion: batch/v1, kind: Job, name: "
        "{}, uid: "
        "{}}}]}}, spec: {{containers: [{{name: c, image: i}}]}}}}",
        name, call.key.name, call.key.name, cluster.find(call.key)->string_at({"metadata", "uid"})));
    cluster.put(*pod);
    client.set_log(name, "c", fmt::format("{} did it\nwell\n", call.key.name));
    return std::nullopt;
  };
  cluster.set_after(make_pod);
  const auto log = [](std::string_view policies) {
    return fmt::format(", helm.sh/hook-output-log-policy: \"{}\"", policies);
  };
  const std::string yaml =
      config_map("a") +
      job("pre-1", "pre-install", log(" Hook-Succeeded,hook-failed") + policy("hook-succeeded")) +
      job("pre-2", "pre-install", log("hook-failed")) + job("pre-3", "pre-install");
  const auto report = deploy(with_sink, id, install_intent(rendering(yaml)), {}, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  std::erase_if(told, [](const std::string& line) { return line.find("default/pre-2") != line.npos; });
  EXPECT_THAT(told, ElementsAre("Job default/pre-1 created", "Job default/pre-1 succeeded",
                                "Job default/pre-1, c │ pre-1 did it", "Job default/pre-1, c │ well",
                                "Job default/pre-3 created", "Job default/pre-3 succeeded",
                                "Job default/pre-1 deleted", "ConfigMap default/a created"));
}

TEST_F(HooksTest, AFailedOneGoesIfItsPolicySaysSo) {
  fail_job("post");
  ASSERT_FALSE(install_now(config_map("a") + job("post", "post-install", policy("hook-failed"))).ok());
  EXPECT_THAT(writes(), ElementsAre("+a", "+post", "-post"));
  cluster.set_after({});
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_THAT(cluster.objects(), IsEmpty());
}

TEST_F(HooksTest, OneThatDoesNotEndTimesOut) {
  cluster.set_instant_controllers(false);
  const auto report =
      install_now(config_map("a") + job("slow", "pre-install"), {.timeout = std::chrono::milliseconds(50)});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::Timeout);
  EXPECT_THAT(report.error().to_line(), HasSubstr("the hook Job default/slow has not ended"));
  EXPECT_THAT(writes(), ElementsAre("+slow"));
}

TEST_F(HooksTest, ComeLastOnlyWhenAllIsReadyIfThatIsWaitedFor) {
  const std::string pod =
      "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}\n";
  cluster.set_instant_controllers(false);
  const auto report = install_now(pod + job("post", "post-install"),
                                  {.wait = true, .timeout = std::chrono::milliseconds(50)});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(writes(), ElementsAre("+p")) << "the Pod never became ready";
}

// The wait before them knows what the run wrote, as the wait after it does where there are no hooks.
TEST_F(HooksTest, OfAnUpgradeAreNotPreventedByAnEarlierFailure) {
  const std::string rollout =
      "---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 1}}\n";
  cluster.set_instant_controllers(false);
  ASSERT_TRUE(install_now(config_map("a") + rollout).ok());
  cluster.set_status(
      {{"apps", "Deployment"}, "default", "d"},
      *encoding::parse_yaml("{observedGeneration: 1, conditions: [{type: Progressing, status: "
                            "'False', reason: ProgressDeadlineExceeded, lastUpdateTime: '1'}]}"));
  const auto report = upgrade_now(config_map("a", "2") + rollout + job("post", "post-upgrade"),
                                  {.wait = true, .timeout = std::chrono::milliseconds(50)});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::Timeout) << report.error().to_line();
}

TEST_F(HooksTest, NoHooksRunsNone) {
  const std::string hooks = job("pre", "pre-install,pre-upgrade,pre-delete") + job("post", "post-delete");
  ASSERT_TRUE(install_now(config_map("a") + hooks, {.no_hooks = true}).ok());
  ASSERT_TRUE(upgrade_now(config_map("a", "2") + hooks, {.no_hooks = true}).ok());
  ASSERT_TRUE(uninstall_now({.rules = {}, .no_hooks = true}).ok());
  EXPECT_THAT(writes(), ElementsAre("+a", "+a", "-a"));
}

TEST_F(HooksTest, OfRollbackAreThoseOfTheRevisionThatItGoesBackTo) {
  ASSERT_TRUE(install_now(config_map("a") + job("back", "pre-rollback") + job("up", "pre-upgrade")).ok());
  ASSERT_TRUE(upgrade_now(config_map("a", "2") + job("other", "pre-rollback")).ok());
  writes();
  const auto report = rollback_now(0);
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(writes(), ElementsAre("+back", "+a"));
}

TEST_F(HooksTest, RecoverGoesOnWithoutRunningAgainWhatRan) {
  const std::string yaml =
      config_map("a") + config_map("b") + job("pre", "pre-install") + job("post", "post-install");
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run && call.key.name == "b")
      return error(ErrorKind::Forbidden, "quota exceeded");
    return std::nullopt;
  });
  ASSERT_FALSE(install_now(yaml).ok());
  cluster.set_before({});
  writes();
  const auto report = recover(environment(), id, {}, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(writes(), ElementsAre("+b", "+post"));
  EXPECT_THAT(report->deployment->plan.writes[0].reason, HasSubstr("begun by v0, which this finishes"));
}

TEST_F(HooksTest, UndoOfAnUpgradeRunsTheRollbackHooks) {
  const std::string hooks = job("back", "post-rollback") + job("up", "pre-upgrade");
  ASSERT_TRUE(install_now(config_map("a") + hooks).ok());
  fail_job("up");
  writes();
  ASSERT_FALSE(upgrade_now(config_map("a", "2") + hooks, {.rollback_on_failure = true}).ok());
  EXPECT_THAT(writes(), ElementsAre("+up", "+back"));
  cluster.set_after({});
  const auto seen = status(environment(), id, Context());
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->anchor.head.status, release::RevisionStatus::Deployed);
  EXPECT_EQ(seen->count(ObjectHealth::Failed), 0u) << "a hook is not a part of the release's health";
}

TEST_F(HooksTest, OfUninstallRunAroundIt) {
  const std::string yaml = config_map("a") + job("before", "pre-delete") +
                           job("after", "post-delete", policy("hook-succeeded")) +
                           job("after-2", "post-delete");
  ASSERT_TRUE(install_now(yaml).ok());
  writes();
  ASSERT_TRUE(uninstall_now().ok());
  const std::vector<std::string> done = writes();
  ASSERT_EQ(done.size(), 7u) << ::testing::PrintToString(done);
  EXPECT_EQ(done[0], "+before");
  EXPECT_THAT((std::vector<std::string>(done.begin() + 1, done.begin() + 3)),
              ::testing::UnorderedElementsAre("-a", "-before"));
  EXPECT_THAT((std::vector<std::string>(done.begin() + 3, done.end())),
              ElementsAre("+after", "+after-2", "-after", "-after-2"));
  EXPECT_THAT(cluster.objects(), IsEmpty());
}

struct HelmsHooksTest : HooksTest {
  static std::string of_helm(std::string yaml) {
    const std::string_view marks =
        "labels: {app.kubernetes.io/managed-by: Helm, app.kubernetes.io/instance: web}, ";
    return yaml.insert(yaml.find("annotations: "), marks);
  }
  void adopt() {
    put_by_helm(config_map("a"));
    ASSERT_TRUE(install_now(config_map("a") + hooks, {.allowed = {.adopt = true}, .no_hooks = true}).ok());
    writes();
  }
  const std::string up = of_helm(job("up", "pre-upgrade"));
  const std::string before = of_helm(job("before", "pre-delete"));
  const std::string hooks = up + before;
};

TEST_F(HelmsHooksTest, RunAgainInAReleaseThatWasHelms) {
  put_by_helm(up);
  put_by_helm(before);
  adopt();
  const auto report = upgrade_now(config_map("a", "y") + hooks);
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(writes(), ElementsAre("-up", "+up", "+a"));
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_THAT(cluster.objects(), IsEmpty());
}

TEST_F(HelmsHooksTest, AreRefusedInAReleaseThatWasNot) {
  put_by_helm(up);
  put_by_helm(before);
  ASSERT_TRUE(install_now(config_map("a") + hooks).ok());
  const auto report = upgrade_now(config_map("a", "y") + hooks);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(report.error().hint, "take it into the release with --adopt, or run no hooks with --no-hooks");
  const Status uninstalled = uninstall_now();
  ASSERT_FALSE(uninstalled.ok());
  EXPECT_THAT(uninstalled.error().hint, HasSubstr("delete it if nobody needs it"));
  EXPECT_THAT(uninstalled.error().hint, HasSubstr("mistctl uninstall web"));
  EXPECT_THAT(uninstalled.error().hint, HasSubstr("--no-hooks"));
  EXPECT_THAT(uninstalled.error().hint, Not(HasSubstr("--adopt")));
}

TEST_F(HooksTest, AnUninstallThatTheyStopAdvisesToDeleteNoData) {
  const std::string hook =
      "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, annotations: {helm.sh/hook: "
      "\"pre-install,pre-delete\", mistletoe.dev/keep: 'true'}}, data: {text: x}}\n";
  ASSERT_TRUE(install_now(config_map("a") + hook).ok());
  encoding::Value edited = *cluster.find("ConfigMap", "default", "kept");
  edited["data"].set("text", "edited");
  cluster.put(edited, "kubectl-edit");
  const Status refused = uninstall_now();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().hint, HasSubstr("--no-hooks"));
  EXPECT_THAT(refused.error().hint, Not(HasSubstr("delete it")));
}

TEST_F(HelmsHooksTest, AreNotWhatMerelyHasTheirName) {
  adopt();
  const auto with = [&](std::string yaml, std::string_view from, std::string_view to) {
    yaml.replace(yaml.find(from), from.size(), to);
    return yaml;
  };
  for (const std::string& other :
       {with(up, "pre-upgrade", "post-upgrade"), with(up, "instance: web", "instance: other"),
        with(up, "annotations: {", "annotations: {meta.helm.sh/release-name: web, ")}) {
    put_by_helm(other);
    const auto report = upgrade_now(config_map("a", "y") + hooks);
    EXPECT_FALSE(report.ok()) << other;
    cluster.drop({{"batch", "Job"}, "default", "up"});
  }
}

// On the way back to Helm, say.
TEST_F(HooksTest, OfUninstallAreWarnedOfWhereAllElseStays) {
  const std::string kept =
      "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, annotations: {mistletoe.dev/keep: "
      "'true'}}}\n";
  const auto warned = [&](const std::string& yaml, const UninstallOptions& options) {
    EXPECT_TRUE(install_now(yaml).ok());
    testing::RecordedEvents heard;
    const Environment here{cluster, clock, random, heard, "tester"};
    EXPECT_TRUE(plan_uninstall(here, id, options, Context()).ok());
    EXPECT_TRUE(uninstall_now({.rules = {}, .no_hooks = true}).ok());
    return heard.has("every object of release default/web stays, but the chart's delete hooks run");
  };
  const std::string hooks =
      job("up", "pre-install") + job("before", "pre-delete") + job("after", "post-delete");
  for (const bool dry_run : {true, false}) {
    UninstallOptions options;
    options.dry_run = dry_run;
    EXPECT_TRUE(warned(kept + hooks, options));
    EXPECT_FALSE(warned(kept + config_map("goes") + hooks, options));
    EXPECT_FALSE(warned(kept + job("up", "pre-install"), options));
    options.no_hooks = true;
    EXPECT_FALSE(warned(kept + hooks, options));
  }
}

// A backup, say: a claim, and a Job that fills it.
TEST_F(HooksTest, AClaimThatADeleteHookMakesStaysWithoutItsFlag) {
  for (const std::string_view phase : {"pre-delete", "post-delete"}) {
    for (const bool delete_pvcs : {false, true}) {
      const std::string claim = fmt::format(
          "---\n{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: backup, annotations: "
          "{{helm.sh/hook: {}, helm.sh/hook-weight: '-1'}}}}, spec: {{accessModes: [ReadWriteOnce]}}}}\n",
          phase);
      ASSERT_TRUE(install_now(config_map("a") + claim + job("fill", phase)).ok());
      UninstallOptions options{.rules = {.delete_pvcs = delete_pvcs}};
      options.timeout = std::chrono::milliseconds(200);
      const auto report = ReleaseFixture::uninstall_now(options);
      ASSERT_TRUE(report.ok()) << report.error().to_line();
      EXPECT_EQ(cluster.has("PersistentVolumeClaim", "default", "backup"), !delete_pvcs) << phase;
      EXPECT_EQ(report->retained, delete_pvcs ? 0u : 1u) << phase;
      EXPECT_FALSE(has_job("fill"));
      EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web"));
      cluster.drop({{"", "PersistentVolumeClaim"}, "default", "backup"});
    }
  }
}

// It goes neither by itself nor with the namespace that the release made.
TEST_F(HooksTest, AClaimThatADeleteHookMakesKeepsItsNamespace) {
  const std::string ns = "---\n{apiVersion: v1, kind: Namespace, metadata: {name: extra}}\n";
  const std::string claim =
      "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: backup, namespace: extra, "
      "annotations: {helm.sh/hook: pre-delete}}, spec: {accessModes: [ReadWriteOnce]}}\n";
  ASSERT_TRUE(install_now(config_map("a") + ns + claim).ok());
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "extra", "backup"));
  EXPECT_TRUE(cluster.has("Namespace", "", "extra"));
}

TEST_F(HooksTest, APreDeleteHookThatFailsKeepsEverythingWhereItIs) {
  ASSERT_TRUE(install_now(config_map("a") + job("before", "pre-delete")).ok());
  fail_job("before");
  writes();
  const Status failed = uninstall_now();
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().hint, HasSubstr("--no-hooks"));
  EXPECT_THAT(writes(), ElementsAre("+before"));
  // Not again by itself: it failed, so it is recreated.
  cluster.set_after({});
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_THAT(cluster.objects(), IsEmpty());
}

TEST_F(HooksTest, APostDeleteHookThatFailsIsTriedAgainOrLeftOut) {
  for (const bool no_hooks : {false, true}) {
    ASSERT_TRUE(install_now(config_map("a") + job("after", "post-delete")).ok());
    fail_job("after");
    ASSERT_FALSE(uninstall_now().ok());
    if (!no_hooks) cluster.set_after({});
    ASSERT_TRUE(uninstall_now({.rules = {}, .no_hooks = no_hooks}).ok());
    EXPECT_THAT(cluster.objects(), IsEmpty());
    cluster.set_after({});
  }
}

TEST_F(HooksTest, UndoingAFirstInstallRunsNoDeleteHooks) {
  fail_job("post");
  ASSERT_FALSE(install_now(config_map("a") + job("post", "post-install") + job("del", "pre-delete"),
                           {.rollback_on_failure = true})
                   .ok());
  EXPECT_THAT(cluster.objects(), IsEmpty());
  EXPECT_THAT(writes(), Not(::testing::Contains("+del")));
}

TEST_F(HooksTest, TestHooksAreTests) {
  ASSERT_TRUE(install_now(config_map("a") + job("check", "test") + job("old", "test-success") +
                          job("both", "post-install,test"))
                  .ok());
  EXPECT_THAT(writes(), ElementsAre("+a", "+both"));
  const auto state = read_release(environment(), id, Context());
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->deployed->tests.size(), 3u);
  EXPECT_EQ(state->deployed->hooks.size(), 1u);
  const auto restored = recorded_release(*state->deployed);
  EXPECT_EQ(restored.objects.size(), 4u) << "what is both is there once";
}

TEST_F(HooksTest, ResourcePolicyKeepIsKeep) {
  ASSERT_TRUE(install_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: "
                          "{helm.sh/resource-policy: keep}}}")
                  .ok());
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "a"));
}

// kubectl annotate: Helm's upgrade looks at the live object, and so do people who come from Helm.
TEST_F(HooksTest, ResourcePolicyOfALiveObjectIsKeepToo) {
  ASSERT_TRUE(install_now(config_map("a") + config_map("b")).ok());
  encoding::Value kept = *cluster.find("ConfigMap", "default", "a");
  kept["metadata"]["annotations"].set("helm.sh/resource-policy", " Keep");
  cluster.put(std::move(kept));
  const auto report = upgrade_now(config_map("c"));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "a"));
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "b"));
  EXPECT_THAT(report->plan.removals,
              ::testing::Contains(::testing::Field(
                  &apply::PlannedAction::reason, "it carries the annotation helm.sh/resource-policy: keep")));
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "a"));
}

// Their own policies decide when hooks are deleted, as with Helm; nothing else deletes one that is to be
// kept.
TEST_F(HooksTest, ResourcePolicyKeepsAHookFromAllButItsOwnPolicies) {
  constexpr std::string_view kKept = ", helm.sh/resource-policy: keep";
  const std::string again = job("again", "pre-install,pre-upgrade", kKept);
  const std::string once = job("once", "post-install", policy("hook-succeeded") + std::string(kKept));
  ASSERT_TRUE(install_now(config_map("a") + again + once).ok());
  EXPECT_THAT(writes(), ElementsAre("+again", "+a", "+once", "-once"));
  ASSERT_TRUE(upgrade_now(config_map("b") + again).ok());
  EXPECT_THAT(writes(), ElementsAre("-again", "+again", "+b", "-a"));
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_TRUE(cluster.has("Job.batch", "default", "again"));
}

TEST_F(HooksTest, AreInASavedPlan) {
  const std::string yaml =
      config_map("a") + job("pre", "pre-install") + job("both", "pre-install,post-install");
  const auto seen = prepare(environment(), id, preview_intent(rendering(yaml)), {}, Context());
  ASSERT_TRUE(seen.ok());
  const auto saved = save_plan(environment(), *seen, Context());
  ASSERT_TRUE(saved.ok());
  const auto read = saved_plan_from(to_text(*saved), "file");
  ASSERT_TRUE(read.ok()) << read.error().to_line();
  const Environment here = environment();
  const auto report = deploy(here, id, saved_plan_intent(here, *read, Context()), read->options, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(writes(), ElementsAre("+both", "+pre", "+a", "-both", "+both"));
}

TEST_F(HooksTest, TheGraphSaysWhy) {
  ASSERT_TRUE(install_now(config_map("a") + job("pre", "pre-install", weight(-5))).ok());
  const auto graph = graph_of_release(environment(), id, Context());
  ASSERT_TRUE(graph.ok()) << graph.error().to_line();
  EXPECT_EQ(graph->objects[0].object.key().display(), "Job default/pre");
  EXPECT_EQ(graph->order.graph.edges()[0].reason, "pre-install hook, weight -5");
  EXPECT_EQ(apply::predicate_of(graph->order.graph.edges()[0]), apply::EdgePredicate::Done);
}

// Installs the objects that a chart's files give, and returns what was written.
struct ChartHooksTest : HooksTest {
  std::vector<std::string> writes_of(const std::map<std::string, std::string>& files) {
    const auto render = [&](const ReleaseState&) -> Result<RenderedRelease> {
      MIST_TRY(auto objects, package::parse_objects(files, events));
      return RenderedRelease{.package = {"test:1", "test", "1", "sha256:1", "helm"},
                             .user_values = encoding::Value::object(),
                             .objects = std::move(objects)};
    };
    const auto report = deploy(environment(), id, install_intent(render), {}, Context());
    EXPECT_TRUE(report.ok()) << report.error().to_line();
    return writes();
  }

  const std::string crd =
      "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "
      "things.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Thing, plural: "
      "things}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: "
      "object}}}]}}";
};

TEST_F(ChartHooksTest, ComeAfterTheCrdsOfTheChartAndTheirNamespace) {
  EXPECT_THAT(writes_of({{"chart/crds/thing.yaml", crd},
                         {"chart/templates/x.yaml",
                          config_map("a") + job("pre", "pre-install") +
                              "---\n{apiVersion: example.com/v1, kind: Thing, metadata: {name: t, "
                              "annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: '-1'}}}\n"}}),
              ElementsAre("+things.example.com", "+t", "+pre", "+a"));
}

// Charts that were for Helm 2 too have crd-install there; Helm 3 never reads it.
TEST_F(ChartHooksTest, AreNotLookedForInCrds) {
  std::string annotated = crd;
  const std::string name = "{name: things.example.com}";
  annotated.replace(annotated.find(name), name.size(),
                    "{name: things.example.com, annotations: {helm.sh/hook: crd-install}}");
  EXPECT_THAT(writes_of({{"chart/crds/thing.yaml", annotated}, {"chart/templates/x.yaml", config_map("a")}}),
              ElementsAre("+things.example.com", "+a"));
  const auto state = read_release(environment(), id, Context());
  ASSERT_TRUE(state.ok());
  EXPECT_THAT(state->deployed->hooks, IsEmpty());
}

TEST_F(ChartHooksTest, ThatAreNotOfTheReleaseAreLeftToTheirOwnerWithAFlag) {
  const std::map<std::string, std::string> files{{"chart/crds/thing.yaml", crd}};
  const auto refused = [&](const release::ReleaseId& other) {
    const auto render = [&](const ReleaseState&) -> Result<RenderedRelease> {
      MIST_TRY(auto objects, package::parse_objects(files, events));
      return RenderedRelease{.package = {"test:1", "test", "1", "sha256:1", "helm"},
                             .user_values = encoding::Value::object(),
                             .objects = std::move(objects)};
    };
    const auto report = deploy(environment(), other, install_intent(render), {}, Context());
    EXPECT_FALSE(report.ok());
    return report.ok() ? std::string() : report.error().hint;
  };
  cluster.put(*encoding::parse_yaml(crd), "helm");
  EXPECT_EQ(refused(id), "leave it as it is with --skip-crds, or take it into the release with --adopt");
  cluster.drop({apimachinery::kCustomResourceDefinition, "", "things.example.com"});
  writes_of(files);
  EXPECT_EQ(refused({"default", "second"}), "leave it to its owner with --skip-crds");
}

// As with Helm: only crds/ comes first, and a template may be in a directory of that name.
TEST_F(ChartHooksTest, ComeBeforeTheCrdsOfTemplates) {
  EXPECT_THAT(writes_of({{"chart/templates/crds/thing.yaml", crd},
                         {"chart/templates/x.yaml", job("pre", "pre-install")}}),
              ElementsAre("+pre", "+things.example.com"));
}

}  // namespace
}  // namespace mist::action
