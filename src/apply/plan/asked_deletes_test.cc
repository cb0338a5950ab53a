#include "apply/plan/asked_deletes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "encoding/yaml.h"
#include "testing/api_refusal.h"
#include "testing/plan_of.h"

namespace mist::apply {
namespace {

using ::testing::HasSubstr;

class AskedDeletesTest : public ::testing::Test {
 protected:
  AskedDeletesTest() {
    cluster.put(
        *encoding::parse_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: old, namespace: default}}"),
        "mistctl");
    PlannedAction removal;
    removal.kind = ActionKind::Delete;
    removal.key = {{"", "ConfigMap"}, "default", "old"};
    removal.resource.gvk = {"", "v1", "ConfigMap"};
    removal.uid = cluster.find("ConfigMap", "default", "old")->string_at({"metadata", "uid"});
    removal.reason = "it is no longer wanted";
    plan.removals.push_back(std::move(removal));
    plan.writes.front().kind = ActionKind::Unchanged;
  }

  PlannedAction asked(const std::optional<std::string>& words, const PlanRules& rules = {},
                      bool leaves = false) {
    cluster.set_before([words](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "delete") return std::nullopt;
      EXPECT_TRUE(call.dry_run);
      if (!words) return std::nullopt;
      return testing::api_refusal(ErrorKind::Forbidden, "cannot delete it", *words);
    });
    Plan each = plan;
    EXPECT_TRUE(ask_about_deletes(cluster, each, rules, leaves, Context()).ok());
    EXPECT_TRUE(cluster.find("ConfigMap", "default", "old").has_value());
    return each.removals.front();
  }

  testing::FakeCluster cluster;
  Plan plan = testing::plan_of(cluster, {"default", "web"},
                               "{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}");
  const std::string denied = "admission webhook \"a.b\" denied the request: it is in use";
  const std::string no_right =
      "configmaps \"old\" is forbidden: User \"ann\" cannot delete resource \"configmaps\"";
};

TEST_F(AskedDeletesTest, WhatTheServerLetsPassIsDeleted) {
  EXPECT_EQ(asked(std::nullopt).kind, ActionKind::Delete);
  EXPECT_EQ(asked(std::nullopt).reason, "it is no longer wanted");
}

TEST_F(AskedDeletesTest, ADenialIsFinalWhereNothingElseChanges) {
  const PlannedAction removal = asked(denied);
  EXPECT_EQ(removal.kind, ActionKind::Conflict);
  EXPECT_EQ(removal.refusal.cause, ConflictCause::Denied);
  EXPECT_THAT(removal.reason, HasSubstr("it is in use"));
  plan.removals.front() = removal;
  const Status refused = refuse_conflicts(plan);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("ConfigMap default/old is no longer wanted"));
}

TEST_F(AskedDeletesTest, ADenialMayEndWithWhatIsWritten) {
  plan.writes.front().kind = ActionKind::Update;
  const PlannedAction removal = asked(denied);
  EXPECT_EQ(removal.kind, ActionKind::Delete);
  EXPECT_THAT(removal.reason, HasSubstr("it is in use"));
}

TEST_F(AskedDeletesTest, ADenialByAPolicyEndsOnlyWithItAndItsParameters) {
  const std::string policy =
      "configmaps \"old\" is forbidden: ValidatingAdmissionPolicy 'held' with binding 'all' denied request: "
      "no";
  plan.writes.front().kind = ActionKind::Update;
  cluster.put(
      *encoding::parse_yaml("{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, "
                            "metadata: {name: held}, spec: {paramKind: {apiVersion: v1, kind: Secret}}}"),
      "kubectl");
  EXPECT_EQ(asked(policy).kind, ActionKind::Conflict);
  EXPECT_EQ(asked(policy, {}, true).kind, ActionKind::Delete);
  plan.writes.front().key.group_kind.kind = "Secret";
  EXPECT_EQ(asked(policy).kind, ActionKind::Delete);
}

TEST_F(AskedDeletesTest, RightsThatAreMissingStopAWriteAndNoLook) {
  plan.writes.front().kind = ActionKind::Update;
  EXPECT_EQ(asked(no_right).refusal.cause, ConflictCause::NoRight);
  EXPECT_EQ(asked(no_right, {.read_only = true}).kind, ActionKind::Delete);
}

class AskedUninstallTest : public AskedDeletesTest {
 protected:
  AskedUninstallTest() {
    cluster.put(*encoding::parse_yaml(
                    "{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: default}}"),
                "mistctl");
    PlannedAction other = plan.removals.front();
    other.key.name = "other";
    other.uid = cluster.find("ConfigMap", "default", "other")->string_at({"metadata", "uid"});
    plan.removals.push_back(std::move(other));
  }

  // Of the deletes of "other" the server says `words`.
  std::vector<PlannedAction> asked_to_uninstall(const std::string& words, ErrorKind kind) {
    asked_.clear();
    cluster.set_before([&, words, kind](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "delete") return std::nullopt;
      const std::scoped_lock lock(mutex_);
      asked_.push_back(call.key.name);
      if (call.key.name != "other" || words.empty()) return std::nullopt;
      return testing::api_refusal(kind, "cannot delete it", words);
    });
    std::vector<PlannedAction> removals = plan.removals;
    EXPECT_TRUE(ask_about_deletes(cluster, removals, live, false, Context()).ok());
    return removals;
  }

  void judge_deletes(const std::string& group) {
    cluster.put(
        *encoding::parse_yaml(
            "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: "
            "{name: held}, spec: {matchConstraints: {resourceRules: [{apiGroups: [\"" +
            group + "\"], operations: [DELETE], resources: ['*']}]}}}"),
        "kubectl");
  }

  LiveState live;
  std::mutex mutex_;
  std::vector<std::string> asked_;
  const std::string policy =
      "configmaps \"other\" is forbidden: ValidatingAdmissionPolicy 'held' with binding 'all' denied "
      "request: "
      "no";
};

TEST_F(AskedUninstallTest, OneOfAKindTellsOfRightsWhereNothingJudgesDeletes) {
  judge_deletes("apps");
  asked_to_uninstall("", ErrorKind::Forbidden);
  EXPECT_EQ(asked_.size(), 2) << "few are asked about all the same";
  for (int i = 0; i < 10; ++i) plan.removals.push_back(plan.removals.back());
  asked_to_uninstall("", ErrorKind::Forbidden);
  EXPECT_EQ(asked_.size(), 1);
}

TEST_F(AskedUninstallTest, WhatAPolicyForbidsStopsIt) {
  judge_deletes("");
  const auto removals = asked_to_uninstall(policy, ErrorKind::Invalid);
  EXPECT_EQ(asked_.size(), 2);
  EXPECT_EQ(removals[0].kind, ActionKind::Delete);
  EXPECT_EQ(removals[1].refusal.cause, ConflictCause::Denied);
  const Status refused = refuse_undeletable(removals);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("with binding 'all' denied request"));
}

TEST_F(AskedUninstallTest, WhatGoesTooGoesFirst) {
  judge_deletes("");
  PlannedAction gate = plan.removals.front();
  gate.key = {{"admissionregistration.k8s.io", "ValidatingAdmissionPolicy"}, "", "held"};
  gate.uid.clear();
  plan.removals.push_back(std::move(gate));
  const auto removals = asked_to_uninstall(policy, ErrorKind::Invalid);
  EXPECT_EQ(removals[1].kind, ActionKind::Delete);
  EXPECT_THAT(removals[1].reason, HasSubstr("ValidatingAdmissionPolicy held is deleted first"));
  EXPECT_TRUE(removals[2].first);
}

TEST_F(AskedUninstallTest, AnotherWebhookMayAllowItLater) {
  judge_deletes("");
  EXPECT_EQ(asked_to_uninstall(denied, ErrorKind::Conflict)[1].kind, ActionKind::Delete);
}

TEST_F(AskedUninstallTest, AWebhookThatDoesNotAnswerStopsIt) {
  judge_deletes("");
  const auto removals = asked_to_uninstall(
      "Internal error occurred: failed calling webhook \"a.b\": failed to call webhook: Post "
      "\"https://hook.shop.svc:443/?timeout=1s\": dial tcp: refused",
      ErrorKind::Retryable);
  EXPECT_EQ(removals[1].refusal.cause, ConflictCause::Denied);
  EXPECT_THAT(removals[1].reason, HasSubstr("can't delete it now"));
}

}  // namespace
}  // namespace mist::apply
