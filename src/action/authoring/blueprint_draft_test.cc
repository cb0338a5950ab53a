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

}  // namespace
}  // namespace mist::action
