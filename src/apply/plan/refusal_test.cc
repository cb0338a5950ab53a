#include "apply/plan/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apply/plan/settle.h"
#include "testing/api_refusal.h"
#include "testing/plan_of.h"

namespace mist::apply {
namespace {

using ::testing::HasSubstr;

// A policy that looks at the ConfigMap `limits`, whose new version is written before the object that it
// refuses.
constexpr std::string_view kAfterLimits = R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: limits}
data: {most: "9"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: judged, annotations: {mistletoe.dev/after: ConfigMap/limits}}
data: {a: "9"}
)";

class RefusalTest : public ::testing::Test {
 protected:
  // The plan for `judged` when it is to be adopted, and the server refuses it.
  PlannedAction judged(std::string_view yaml, Error refusal) {
    cluster.put(*encoding::parse_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: judged, namespace: "
                                      "default}, data: {a: '1'}}"),
                "kubectl-create");
    cluster.set_before([=](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.dry_run && call.key.name == "judged") return refusal;
      return std::nullopt;
    });
    std::vector<RenderedObject> objects;
    for (Value& document : *encoding::parse_yaml_documents(yaml))
      objects.push_back({*apimachinery::Object::from_value(std::move(document)), "all.yaml", 1});
    auto desired = prepare(std::move(objects), id, cluster, Context());
    EXPECT_TRUE(desired.ok()) << desired.error().to_line();
    auto live = observe(cluster, id, *desired, {}, Context(), {.adopt = true});
    const PlanRules rules{.allowed = {.adopt = true}};
    auto plan = make_plan(id, *std::move(desired), {}, *live, 0, rules);
    EXPECT_TRUE(plan.ok()) << plan.error().to_line();
    EXPECT_TRUE(settle(cluster, *plan, *live, rules, Context()).ok());
    return *std::ranges::find(plan->writes, "judged",
                              [](const PlannedAction& each) { return each.key.name; });
  }

  testing::FakeCluster cluster;
  const Owner id{"default", "web"};
  const Error denied =
      error(ErrorKind::Invalid, "cannot apply").with_because("the policy denied the request");
};

TEST_F(RefusalTest, IsNotFinalWhereSomethingIsWrittenBefore) {
  const PlannedAction action = judged(kAfterLimits, denied);
  EXPECT_EQ(action.kind, ActionKind::Adopt);
  EXPECT_THAT(action.reason, HasSubstr("the policy denied the request"));
  EXPECT_THAT(action.reason, HasSubstr("it is written after ConfigMap default/limits"));
}

TEST_F(RefusalTest, IsFinalOfFieldsThatAreWrong) {
  const PlannedAction action =
      judged(kAfterLimits, testing::api_refusal(ErrorKind::Invalid, "cannot apply", "it is wrong",
                                                {{"FieldValueInvalid", "spec.replicas"}}));
  EXPECT_EQ(action.kind, ActionKind::Conflict);
  EXPECT_EQ(action.refusal.cause, ConflictCause::Refused);
}

TEST_F(RefusalTest, IsFinalWhereNothingElseChanges) {
  const PlannedAction action = judged("{apiVersion: v1, kind: ConfigMap, metadata: {name: judged}}", denied);
  EXPECT_EQ(action.kind, ActionKind::Conflict);
}

TEST_F(RefusalTest, IsNotFinalWhereAQuotaOfItsNamespaceChanges) {
  const PlannedAction action = judged(R"(
{apiVersion: v1, kind: ResourceQuota, metadata: {name: all}, spec: {hard: {configmaps: "9"}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: judged}}
)",
                                      denied);
  EXPECT_EQ(action.kind, ActionKind::Adopt);
  EXPECT_THAT(action.reason, HasSubstr("ResourceQuota default/all changes with it"));
}

// Policies are written last: what is refused by the old one needs an order that says otherwise.
TEST_F(RefusalTest, NamesTheAnnotationWhereThePolicyComesLater) {
  const PlannedAction action = judged(R"(
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hooks}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: judged}}
)",
                                      denied);
  EXPECT_EQ(action.kind, ActionKind::Conflict);
  EXPECT_THAT(action.refusal.hint, HasSubstr("mistletoe.dev/after: ValidatingWebhookConfiguration/hooks"));
}

}  // namespace
}  // namespace mist::apply
