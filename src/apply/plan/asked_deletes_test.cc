#include "apply/plan/asked_deletes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_EQ(removal.cause, ConflictCause::Denied);
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
  EXPECT_EQ(asked(no_right).cause, ConflictCause::NoRight);
  EXPECT_EQ(asked(no_right, {.only_looks = true}).kind, ActionKind::Delete);
}

}  // namespace
}  // namespace mist::apply
