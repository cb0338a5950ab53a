#include "apimachinery/kube_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::apimachinery {
namespace {

constexpr std::string_view kTable = R"({
  "kubernetes": "v1.36.3",
  "lifecycle": [
    {"group": "extensions", "version": "v1beta1", "kind": "Ingress", "deprecated": 14, "removed": 22,
     "replacement": {"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"}},
    {"group": "flow", "version": "v1beta1", "kind": "FlowSchema", "deprecated": 23, "removed": 26,
     "replacement": {"group": "flow", "version": "v1beta3", "kind": "FlowSchema"}},
    {"group": "flow", "version": "v1beta3", "kind": "FlowSchema", "deprecated": 29, "removed": 32,
     "replacement": {"group": "flow", "version": "v1", "kind": "FlowSchema"}},
    {"group": "resource.k8s.io", "version": "v1beta1", "kind": "DeviceClass", "deprecated": 35, "removed": 38},
    {"group": "resource.k8s.io", "version": "v1beta2", "kind": "DeviceClass", "deprecated": 37, "removed": 40}
  ],
  "schemas": {
    "a.Deployment": {
      "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Deployment"}],
      "type": "object", "required": ["spec"],
      "properties": {"metadata": {"$ref": "#/components/schemas/a.Meta"},
        "spec": {"$ref": "#/components/schemas/a.Spec"}, "status": {"$ref": "#/components/schemas/a.Spec"}}},
    "a.Spec": {"type": "object", "required": ["selector"],
      "properties": {"replicas": {"type": "integer"}, "selector": {"type": "object"}}},
    "a.Meta": {"type": "object", "properties": {"name": {"type": "string"}}},
    "a.Ingress": {"x-kubernetes-group-version-kind": [
      {"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"},
      {"group": "flow", "version": "v1", "kind": "FlowSchema"},
      {"group": "autoscaling", "version": "v1", "kind": "HorizontalPodAutoscaler"},
      {"group": "autoscaling", "version": "v2", "kind": "HorizontalPodAutoscaler"},
      {"group": "resource.k8s.io", "version": "v1", "kind": "DeviceClass"},
      {"group": "resource.k8s.io", "version": "v1beta1", "kind": "DeviceClass"},
      {"group": "resource.k8s.io", "version": "v1beta2", "kind": "DeviceClass"}]}
  }})";

const KubeTypes& types() {
  static const KubeTypes kTypes = *KubeTypes::parse(kTable);
  return kTypes;
}

std::string words(std::string group, std::string version, std::string kind) {
  return types().facts({std::move(group), std::move(version), std::move(kind)}).words;
}
KindState state(std::string group, std::string version, std::string kind) {
  return types().facts({std::move(group), std::move(version), std::move(kind)}).state;
}

TEST(KubeTypes, NamesWhatReplacesARemovedVersion) {
  EXPECT_EQ(words("extensions", "v1beta1", "Ingress"),
            "Kubernetes has no extensions/v1beta1 Ingress since 1.22; use networking.k8s.io/v1");
  EXPECT_EQ(state("extensions", "v1beta1", "Ingress"), KindState::Gone);
  // Its replacement is gone too.
  EXPECT_EQ(words("flow", "v1beta1", "FlowSchema"),
            "Kubernetes has no flow/v1beta1 FlowSchema since 1.26; use flow/v1");
}

TEST(KubeTypes, NamesTheVersionThatThereIsWhereNobodyRecordedTheEnd) {
  EXPECT_EQ(words("autoscaling", "v2beta2", "HorizontalPodAutoscaler"),
            "Kubernetes 1.36 has no autoscaling/v2beta2 HorizontalPodAutoscaler; use autoscaling/v2");
  EXPECT_EQ(state("autoscaling", "v2beta2", "HorizontalPodAutoscaler"), KindState::Unknown);
}

TEST(KubeTypes, NamesTheGroupOrTheKindThatWasMeant) {
  EXPECT_EQ(words("", "v1", "Deployment"), "Kubernetes 1.36 has no v1 Deployment; use apps/v1");
  EXPECT_EQ(words("apps", "v1", "Deploymnet"),
            "Kubernetes 1.36 has no apps/v1 Deploymnet (did you mean Deployment?)");
  EXPECT_EQ(words("policy", "v1beta1", "PodSecurityPolicy"),
            "Kubernetes 1.36 has no policy/v1beta1 PodSecurityPolicy");
}

TEST(KubeTypes, WarnsOfWhatIsGoing) {
  EXPECT_EQ(
      words("resource.k8s.io", "v1beta1", "DeviceClass"),
      "resource.k8s.io/v1beta1 DeviceClass is deprecated since Kubernetes 1.35, and ends with 1.38; use "
      "resource.k8s.io/v1");
  // Not yet.
  EXPECT_EQ(state("resource.k8s.io", "v1beta2", "DeviceClass"), KindState::Known);
  EXPECT_EQ(words("apps", "v1", "Deployment"), "");
}

TEST(KubeTypes, KindsOfOthersAreForeign) {
  EXPECT_EQ(state("monitoring.coreos.com", "v1", "ServiceMonitor"), KindState::Foreign);
  EXPECT_EQ(state("gateway.networking.k8s.io", "v1", "Gateway"), KindState::Foreign);
}

// No CustomResourceDefinition can have a group without a dot.
TEST(KubeTypes, AGroupThatNobodyCanHaveIsMisspelled) {
  EXPECT_EQ(state("rbac", "v1", "Shop"), KindState::Unknown);
  EXPECT_EQ(state("App", "v1", "Deployment"), KindState::Unknown);
  EXPECT_THAT(words("App", "v1", "Deployment"), ::testing::HasSubstr("use apps/v1"));
  EXPECT_EQ(state("resource.k8s.oi", "v1", "DeviceClass"), KindState::Unknown);
  EXPECT_THAT(words("resource.k8s.oi", "v1", "DeviceClass"), ::testing::HasSubstr("use resource.k8s.io/v1"));
  EXPECT_EQ(state("resource.k8s.oi", "v1", "Shop"), KindState::Foreign);
}

TEST(KubeTypes, RequiresWhatTheSchemaRequires) {
  const auto problems = [](std::string_view rest) {
    const std::string text =
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}" + std::string(rest) + "}";
    std::vector<std::string> result;
    for (const SchemaProblem& each : types().problems(*Object::from_value(testing::yaml(text))))
      result.push_back(each.words());
    return result;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(problems(", spec: {selector: {}}"), Words{});
  EXPECT_EQ(problems(", spec: {replcas: 1}"),
            (Words{"spec.replcas: there is no such field (did you mean replicas?)",
                   "spec.selector: it is required, and missing"}));
  EXPECT_EQ(problems(""), Words{"spec: it is required, and missing"});
  EXPECT_EQ(problems(", spec: {selector: null}"), Words{"spec.selector: it is required, and missing"});
  // Controllers write it.
  EXPECT_EQ(problems(", spec: {selector: {}}, status: {}"), Words{});
}

TEST(KubeTypes, ReadsMinors) {
  EXPECT_EQ(KubeMinor::parse("v1.36.3")->number, 36);
  EXPECT_EQ(KubeMinor::parse("1.9")->text(), "1.9");
  EXPECT_EQ(KubeMinor::parse("v1.31.7-gke.100")->number, 31);
  EXPECT_EQ(KubeMinor::parse("v1.33+")->number, 33);
  for (const std::string_view wrong : {"", "v2.0.0", "1", "1.", "1.x", "1.3x", "latest"})
    EXPECT_FALSE(KubeMinor::parse(wrong)) << wrong;
}

TEST(KubeTypes, WhatIsNoTableIsRefused) {
  for (const std::string_view wrong : {"", "[]", "{}", R"({"kubernetes": "v1.36.0", "schemas": {}})"})
    EXPECT_FALSE(KubeTypes::parse(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace mist::apimachinery
