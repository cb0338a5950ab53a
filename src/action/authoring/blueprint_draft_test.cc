#include "action/authoring/blueprint_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::action {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

BlueprintDraft draft_of(const std::string& manifests) {
  const auto objects = objects_of_manifests({{"all.yaml", manifests}});
  EXPECT_TRUE(objects.ok()) << objects.error().to_line();
  if (!objects.ok()) return {};
  auto draft = draft_blueprint(*objects, {"web", "example.com", "Web"});
  EXPECT_TRUE(draft.ok()) << draft.error().to_line();
  return draft.ok() ? *std::move(draft) : BlueprintDraft();
}

std::vector<std::string> names_of(const std::vector<DraftedField>& fields) {
  std::vector<std::string> names;
  for (const DraftedField& each : fields) names.push_back(each.name);
  return names;
}

TEST(BlueprintDraft, LeavesReplicasToTheAutoscalerThatScalesAnObject) {
  const std::string deployment =
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3}}\n";
  const std::string scaler =
      "---\n{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: "
      "{minReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}\n";
  const BlueprintDraft draft = draft_of(deployment + scaler);
  EXPECT_THAT(names_of(draft.fields), IsEmpty());
  EXPECT_THAT(draft.files.at("blueprint.ncl"), Not(HasSubstr(" replicas")));
  EXPECT_THAT(draft.files.at("blueprint.ncl"), HasSubstr("minReplicas = 2"));
  EXPECT_THAT(draft.warnings,
              Contains("Deployment web is drafted without spec.replicas: HorizontalPodAutoscaler web scales "
                       "it"));
  EXPECT_THAT(names_of(draft_of(deployment).fields), Contains("replicas"));
}

constexpr std::string_view kBinding =
    "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: web}, roleRef: "
    "{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}, subjects: [{kind: ServiceAccount, "
    "name: web, namespace: default}, {kind: ServiceAccount, name: robot, namespace: web}]}\n";

TEST(BlueprintDraft, BindsTheAccountOfTheInstancesNamespaceAndNamesOtherNamespaces) {
  const BlueprintDraft draft = draft_of(
      fmt::format("{{apiVersion: v1, kind: ServiceAccount, metadata: {{name: web}}}}\n{}", kBinding));
  const std::string& text = draft.files.at("blueprint.ncl");
  EXPECT_THAT(text, HasSubstr("namespace = instance.metadata.namespace"));
  EXPECT_THAT(text, Not(HasSubstr("\"default\"")));
  EXPECT_THAT(text, HasSubstr("namespace = \"web\""));
  EXPECT_THAT(draft.warnings,
              ::testing::ElementsAre("subjects[1].namespace of the node roleBinding is the namespace web in "
                                     "every instance, whichever that is in"));
}

TEST(BlueprintDraft, ASelectorOfTheOnlyNamespaceSelectsThatOfTheInstance) {
  const BlueprintDraft draft = draft_of(R"(
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: shop}
spec:
  podSelector: {}
  ingress:
  - from:
    - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}
    - namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [shop, other]}]}
)");
  EXPECT_THAT(draft.files.at("blueprint.ncl"), Not(HasSubstr("\"shop\"")));
  EXPECT_THAT(draft.warnings, ::testing::ElementsAre(
                                  "spec.ingress[0].from[1].namespaceSelector.matchExpressions[0].values[1] "
                                  "of the node networkPolicy is the namespace other in every instance, "
                                  "whichever that is in"));
}

TEST(BlueprintDraft, NothingThatCannotBeChangedInPlaceIsAFieldOfTheInstance) {
  const BlueprintDraft draft = draft_of(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: web-migrate}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "db:1"}]}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: 1Gi}}}}]
)");
  const std::string& text = draft.files.at("blueprint.ncl");
  EXPECT_THAT(names_of(draft.fields), ::testing::ElementsAre("image"));
  EXPECT_THAT(text, HasSubstr("job.act = fun"));
  EXPECT_THAT(text, HasSubstr("image = instance.spec.image"));
  EXPECT_THAT(text, HasSubstr("storage = \"1Gi\""));
  EXPECT_THAT(draft.warnings, Contains(HasSubstr("Job web-migrate is an act, in the node job")));
  EXPECT_THAT(draft.warnings, Contains(HasSubstr("volumeClaimTemplates[0].spec.resources.requests.storage of "
                                                 "the node statefulSet is the same in every instance")));
}

}  // namespace
}  // namespace mist::action
