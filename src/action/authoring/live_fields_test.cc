#include "action/authoring/live_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "action/authoring/blueprint_draft.h"
#include "testing/yaml.h"

namespace mist::action {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct WithoutLiveFields {
  encoding::Value value;
  std::vector<std::string> taken;
};

WithoutLiveFields without_live_fields(std::string_view text) {
  auto object = apimachinery::Object::from_value(testing::yaml(text));
  EXPECT_TRUE(object.ok()) << object.error().message;
  std::vector<std::string> taken = take_live_fields(*object);
  return {object->value(), std::move(taken)};
}

TEST(LiveFields, AreWhatAClusterGaveTheObjectAndNotItsAuthor) {
  const WithoutLiveFields service = without_live_fields(R"(
apiVersion: v1
kind: Service
metadata: {name: web, ownerReferences: [{kind: App, name: a, uid: u}], finalizers: [service.kubernetes.io/load-balancer-cleanup]}
spec:
  clusterIP: 10.0.0.1
  clusterIPs: [10.0.0.1]
  healthCheckNodePort: 30001
  ports: [{port: 80, nodePort: 30000}, {port: 81}]
)");
  EXPECT_EQ(service.value, testing::yaml(R"(
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}, {port: 81}]}
)"));
  EXPECT_THAT(service.taken,
              ElementsAre("metadata.ownerReferences", "metadata.finalizers", "spec.clusterIP",
                          "spec.clusterIPs", "spec.healthCheckNodePort", "spec.ports[].nodePort"));

  const WithoutLiveFields claim = without_live_fields(
      "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, annotations: "
      "{pv.kubernetes.io/bind-completed: 'yes', volume.kubernetes.io/selected-node: node-1}}, spec: "
      "{volumeName: "
      "pv}}");
  EXPECT_EQ(claim.value.at_path({"metadata", "annotations"}), nullptr);
  EXPECT_THAT(claim.taken,
              ElementsAre("spec.volumeName", "metadata.annotations[pv.kubernetes.io/bind-completed]",
                          "metadata.annotations[volume.kubernetes.io/selected-node]"));

  EXPECT_THAT(
      without_live_fields("{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, secrets: [{name: "
                          "a-token}]}")
          .taken,
      ElementsAre("secrets"));
  EXPECT_THAT(
      without_live_fields("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: node-1}}").taken,
      ElementsAre("spec.nodeName"));

  const WithoutLiveFields job = without_live_fields(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: once, labels: {app: once, controller-uid: u}}
spec:
  selector: {matchLabels: {batch.kubernetes.io/controller-uid: u}}
  template: {metadata: {labels: {app: once, job-name: once, batch.kubernetes.io/controller-uid: u}}, spec: {}}
)");
  EXPECT_EQ(job.value, testing::yaml(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: once, labels: {app: once}}
spec: {template: {metadata: {labels: {app: once}}, spec: {}}}
)"));
}

TEST(LiveFields, WhatAnAuthorMeansStays) {
  EXPECT_THAT(
      without_live_fields("{apiVersion: v1, kind: Service, metadata: {name: db}, spec: {clusterIP: None}}")
          .taken,
      IsEmpty());
  EXPECT_THAT(
      without_live_fields("{apiVersion: batch/v1, kind: Job, metadata: {name: once, labels: {job-name: x}}, "
                          "spec: {manualSelector: true, selector: {matchLabels: {a: b}}}}")
          .taken,
      IsEmpty());
  EXPECT_THAT(
      without_live_fields("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: "
                          "{matchLabels: {a: b}}}}")
          .taken,
      IsEmpty());
}

TEST(LiveFields, AreNotDraftedAndTheDraftSaysWhich) {
  const auto objects = objects_of_manifests({{"web.yaml",
                                              "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: "
                                              "{clusterIP: 10.0.0.1, selector: {a: b}, "
                                              "ports: [{port: 80}]}}"}});
  ASSERT_TRUE(objects.ok());
  const auto draft = draft_blueprint(*objects, {"web", "example.com", "Web"});
  ASSERT_TRUE(draft.ok()) << draft.error().to_line();
  EXPECT_THAT(draft->files.at("blueprint.ncl"), Not(HasSubstr("10.0.0.1")));
  EXPECT_THAT(draft->warnings,
              ::testing::Contains(HasSubstr("Service web is drafted without spec.clusterIP")));
}

}  // namespace
}  // namespace mist::action
