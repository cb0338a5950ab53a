#include "apply/reserved_metadata.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::apply {
namespace {

using ::testing::HasSubstr;
using testing::yaml;

std::string found(std::string_view text) {
  const auto object = yaml(text);
  const auto reserved = find_reserved(object);
  if (!reserved) return "nothing";
  EXPECT_NE(reserved->at, nullptr);
  return reserved->words;
}

TEST(Keeping, IsByOurAnnotationOrByHelms) {
  const auto by = [](std::string_view annotation) {
    return keeping_annotation(yaml(
        fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{annotations: {{{}}}}}}}", annotation)));
  };
  EXPECT_EQ(by("mistletoe.dev/keep: 'true'"), "mistletoe.dev/keep");
  EXPECT_EQ(by("mistletoe.dev/keep: 'false'"), "");
  EXPECT_EQ(by("mistletoe.dev/keep: ''"), "");
  EXPECT_EQ(by("helm.sh/resource-policy: keep"), "helm.sh/resource-policy: keep");
  EXPECT_EQ(by("helm.sh/resource-policy: ' Keep '"), "helm.sh/resource-policy: keep");
  EXPECT_EQ(by("helm.sh/resource-policy: delete"), "");
  EXPECT_EQ(by("mistletoe.dev/keep: 'false', helm.sh/resource-policy: keep"),
            "helm.sh/resource-policy: keep");
  EXPECT_EQ(keeping_annotation(yaml("{apiVersion: v1, kind: ConfigMap}")), "");
}

TEST(Reserved, MarksOfRecordsAndOfOwnedObjectsAreFoundOnAnyObject) {
  EXPECT_EQ(
      found("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {mistletoe.dev/record: anchor}}}"),
      "sets the label mistletoe.dev/record, which belongs to Mistletoe");
  for (const std::string_view mark :
       {kPartOfLabel, kNameLabel, kVersionLabel, kReleaseAnnotation, kRecordOfLabel, kRevisionLabel,
        kHeadAnnotation, kLockAnnotation, kStatusAnnotation, kAttemptAnnotation, kApplySetIdLabel,
        kGroupKindsAnnotation, kInstanceLabel, kHashAnnotation}) {
    for (const std::string_view where : {"labels", "annotations"})
      EXPECT_THAT(found(fmt::format("{{apiVersion: v1, kind: Service, metadata: {{name: a, {}: {{{}: x}}}}}}",
                                    where, mark)),
                  HasSubstr(mark));
  }
}

TEST(Reserved, MarksAreFoundInTemplatesFromWhichControllersMakeObjects) {
  EXPECT_THAT(
      found("{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {volumeClaimTemplates: "
            "[{metadata: {name: d, labels: {applyset.kubernetes.io/part-of: x}}}]}}"),
      HasSubstr("at spec.volumeClaimTemplates.metadata.labels"));
  EXPECT_THAT(
      found("{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: a}, spec: {secretTemplate: "
            "{labels: {mistletoe.dev/release-name: web}}}}"),
      HasSubstr("mistletoe.dev/release-name at spec.secretTemplate.labels"));
  EXPECT_THAT(found("{apiVersion: x.io/v1, kind: SealedSecret, metadata: {name: a}, spec: {template: {type: "
                    "mistletoe.dev/release}}}"),
              HasSubstr("has the type mistletoe.dev/release at spec.template.type"));
}

TEST(Reserved, SecretsThatLookLikeRecordsAreFoundByTypeAndName) {
  EXPECT_THAT(found("{apiVersion: v1, kind: Secret, type: mistletoe.dev/release, metadata: {name: a}}"),
              HasSubstr("has the type mistletoe.dev/release"));
  EXPECT_THAT(found("{apiVersion: v1, kind: Secret, metadata: {name: mistletoe.web}}"),
              HasSubstr("has a name"));
  EXPECT_THAT(found("{apiVersion: v1, kind: Secret, metadata: {name: mistletoe.web.v3.ab.1}}"),
              HasSubstr("has a name"));
  EXPECT_THAT(found("{apiVersion: v1, kind: Secret, metadata: {name: a, generateName: mistletoe.}}"),
              HasSubstr("has a name"));
}

TEST(Reserved, ReferencesToRecordsAreFoundWhereverPodsNameSecrets) {
  const auto pod = [](std::string_view spec) {
    return found(fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{{}}}}}", spec));
  };
  EXPECT_THAT(pod("volumes: [{name: v, secret: {secretName: mistletoe.db}}]"),
              HasSubstr("refers to Secret mistletoe.db at spec.volumes.secret.secretName"));
  EXPECT_THAT(pod("volumes: [{name: v, projected: {sources: [{secret: {name: mistletoe.db}}]}}]"),
              HasSubstr("refers to"));
  EXPECT_THAT(pod("containers: [{name: c, envFrom: [{secretRef: {name: mistletoe.db}}]}]"),
              HasSubstr("refers to"));
  EXPECT_THAT(
      pod("containers: [{name: c, env: [{name: S, valueFrom: {secretKeyRef: {name: mistletoe.db, key: "
          "seed}}}]}]"),
      HasSubstr("refers to"));
  EXPECT_THAT(pod("imagePullSecrets: [{name: mistletoe.db}]"), HasSubstr("refers to"));
  EXPECT_THAT(pod("volumes: [{name: v, csi: {driver: d, nodePublishSecretRef: {name: mistletoe.db}}}]"),
              HasSubstr("refers to"));
}

TEST(Reserved, WhatOnlySelectsOrIsMeantForPackagesIsNoMatter) {
  EXPECT_EQ(
      found(
          "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {podSelector: "
          "{matchLabels: {mistletoe.dev/tied-to-install-name: web}}}}"),
      "nothing");
  EXPECT_EQ(
      found(
          "{apiVersion: v1, kind: ConfigMap, metadata: {name: mistletoe.dev, labels: {app: a}, annotations: "
          "{mistletoe.dev/keep: 'true', mistletoe.dev/after: Service/a, mistletoe.dev/test: 'true'}}}"),
      "nothing");
  EXPECT_EQ(found("{apiVersion: v1, kind: Secret, metadata: {name: web}, type: Opaque}"), "nothing");
}

}  // namespace
}  // namespace mist::apply
