#include "apply/plan/admission_gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"
#include "testing/plan_of.h"

namespace mist::apply {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kObjects = R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: judged}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: most}
spec: {paramKind: {apiVersion: v1, kind: Secret}}
---
apiVersion: v1
kind: Secret
metadata: {name: limits}
)";

class AdmissionGatesTest : public ::testing::Test {
 protected:
  AdmissionGatesTest() {
    for (PlannedAction& action : plan.writes) action.kind = ActionKind::Unchanged;
    PlannedAction& judged = write("judged");
    judged.kind = ActionKind::Conflict;
    judged.refusal.cause = ConflictCause::Denied;
    judged.refusal.arguable = true;
    judged.reason = "it is forbidden";
    judged.refusal.denied_by = {"most", "most-binding"};
  }

  // The policy is loosened.
  void change_policy(std::string path = ".spec.validations") {
    write("most").kind = ActionKind::Update;
    write("most").differences.push_back({.path = std::move(path), .after = Value("new")});
  }

  PlannedAction& write(std::string_view name) {
    return *std::ranges::find(plan.writes, name, [](const PlannedAction& each) { return each.key.name; });
  }

  // Whether `judged` waits for it.
  bool comes_before(std::string_view name) {
    std::vector<graph::Node> open{static_cast<graph::Node>(&write("judged") - plan.writes.data())};
    std::set<graph::Node> seen;
    while (!open.empty()) {
      const graph::Node node = open.back();
      open.pop_back();
      if (node < plan.writes.size() && plan.writes[node].key.name == name) return true;
      for (const std::size_t edge : plan.order.graph.edges_in(node))
        if (const graph::Node before = plan.order.graph.edges()[edge].before; seen.insert(before).second)
          open.push_back(before);
    }
    return false;
  }

  void removal(std::string kind, std::string name) {
    PlannedAction action;
    action.kind = ActionKind::Delete;
    action.key = {{"admissionregistration.k8s.io", std::move(kind)}, "", std::move(name)};
    action.uid = "u";
    plan.removals.push_back(std::move(action));
  }

  testing::FakeCluster cluster;
  Plan plan = testing::plan_of(cluster, {"default", "web"}, kObjects);
  LiveState live;
};

TEST_F(AdmissionGatesTest, APolicyThatChangesComesBeforeWhatItRefuses) {
  change_policy();
  ASSERT_TRUE(put_gates_first(cluster, plan, live, Context()).ok());
  EXPECT_EQ(write("judged").kind, ActionKind::Update);
  EXPECT_EQ(write("judged").refusal.cause, ConflictCause::None);
  EXPECT_THAT(write("judged").reason, HasSubstr("ValidatingAdmissionPolicy most is written first"));
  EXPECT_TRUE(comes_before("most"));
  EXPECT_FALSE(comes_before("other"));
  EXPECT_THAT(names_of_first(plan), ElementsAre("most", "most-binding"));
}

TEST_F(AdmissionGatesTest, SoDoItsParameters) {
  write("limits").kind = ActionKind::Create;
  ASSERT_TRUE(put_gates_first(cluster, plan, live, Context()).ok());
  EXPECT_EQ(write("judged").kind, ActionKind::Update);
  EXPECT_TRUE(comes_before("limits"));
}

TEST_F(AdmissionGatesTest, WhatAPolicyThatStaysRefusesStaysRefused) {
  write("other").kind = ActionKind::Update;
  ASSERT_TRUE(put_gates_first(cluster, plan, live, Context()).ok());
  EXPECT_EQ(write("judged").kind, ActionKind::Conflict);
  write("most").kind = ActionKind::Create;  // nobody was judged by what isn't there
  ASSERT_TRUE(put_gates_first(cluster, plan, live, Context()).ok());
  EXPECT_EQ(write("judged").kind, ActionKind::Conflict);
}

TEST_F(AdmissionGatesTest, APolicyOfWhichOnlyALabelChangesIsNoGate) {
  change_policy(".metadata.labels.version");
  EXPECT_FALSE(changes_admission(plan));
  ASSERT_TRUE(put_gates_first(cluster, plan, live, Context()).ok());
  EXPECT_EQ(write("judged").kind, ActionKind::Conflict);
}

TEST_F(AdmissionGatesTest, ParametersOfSomebodyElsesPolicyAreGates) {
  cluster.put(*encoding::parse_yaml(
                  "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, "
                  "metadata: {name: foreign}, spec: {paramKind: {apiVersion: v1, kind: ConfigMap}}}"),
              "kubectl");
  write("judged").refusal.denied_by = {"foreign", "foreign-binding"};
  write("other").kind = ActionKind::Create;
  ASSERT_TRUE(put_gates_first(cluster, plan, live, Context()).ok());
  EXPECT_EQ(write("judged").kind, ActionKind::Update);
  EXPECT_TRUE(comes_before("other"));
}

TEST_F(AdmissionGatesTest, AGateThatIsToComeLaterIsNone) {
  change_policy();
  Plan& reordered = plan;
  for (DesiredObject& each : reordered.desired)
    if (each.key.name == "most")
      each.rendered.object = *apimachinery::Object::from_value(
          *encoding::parse_yaml("{apiVersion: admissionregistration.k8s.io/v1, kind: "
                                "ValidatingAdmissionPolicy, metadata: {name: most, "
                                "annotations: {mistletoe.dev/after: ConfigMap/judged}}}"));
  ASSERT_TRUE(put_gates_first(cluster, plan, live, Context()).ok());
  EXPECT_EQ(write("judged").kind, ActionKind::Conflict);
  EXPECT_THAT(write("judged").refusal.hint, HasSubstr("apply ValidatingAdmissionPolicy most first"));
}

TEST_F(AdmissionGatesTest, ABindingThatGoesIsDeletedFirst) {
  removal("ValidatingAdmissionPolicyBinding", "other-binding");
  removal("ValidatingAdmissionPolicyBinding", "most-binding");
  ASSERT_TRUE(put_gates_first(cluster, plan, live, Context()).ok());
  EXPECT_EQ(write("judged").kind, ActionKind::Update);
  EXPECT_FALSE(plan.removals[0].first);
  EXPECT_TRUE(plan.removals[1].first);
}

TEST_F(AdmissionGatesTest, AWebhookIsFoundByItsConfiguration) {
  write("judged").refusal.denied_by = {"deny.example.com"};
  removal("ValidatingWebhookConfiguration", "hooks");
  live.emplace(
      plan.removals[0].key,
      LiveObject{*encoding::parse_yaml("{webhooks: [{name: a.example.com}, {name: deny.example.com}]}"),
                 true});
  ASSERT_TRUE(put_gates_first(cluster, plan, live, Context()).ok());
  EXPECT_EQ(write("judged").kind, ActionKind::Update);
  EXPECT_TRUE(plan.removals[0].first);
  EXPECT_TRUE(names_of_first(plan).contains("deny.example.com"));
}

}  // namespace
}  // namespace mist::apply
