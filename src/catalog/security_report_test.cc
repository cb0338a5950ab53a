#include "catalog/security_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"

namespace mist::catalog {
namespace {

using encoding::Value;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Value report(std::string_view yaml) {
  std::vector<release::RenderedObject> objects;
  for (Value& document : *encoding::parse_yaml_documents(yaml))
    objects.push_back({.object = *apimachinery::Object::from_value(std::move(document)), .file = "all.yaml"});
  return security_report(objects);
}

// "Role web: get pods" of a list.
std::vector<std::string> lines(const Value& report, std::string_view list) {
  std::vector<std::string> found;
  for (const Value& each : report.find(list)->as_array()) {
    const Value* const broad = each.find("broad");
    found.push_back(fmt::format("{}: {}{}", each.string_at("object"), each.string_at("text"),
                                broad != nullptr && *broad == Value(true) ? " (broad)" : ""));
  }
  return found;
}

TEST(SecurityReport, SaysWhichLevelPodsNeedAndWhy) {
  const Value found = report(R"(
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [{name: main, image: "nginx:1"}]}}}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {template: {spec: {hostNetwork: true, containers: [{name: main, image: "a@sha256:0123"}]}}}}
)");
  EXPECT_EQ(found.string_at("level"), "privileged");
  const Value::Array& workloads = found.find("workloads")->as_array();
  ASSERT_EQ(workloads.size(), 2U);
  EXPECT_EQ(workloads[0].string_at("object"), "DaemonSet agent");
  EXPECT_EQ(workloads[0].find("because")->as_array(), Value::Array{Value("hostNetwork is true")})
      << "only what needs that level";
  EXPECT_EQ(workloads[1].string_at("level"), "baseline");
  EXPECT_EQ(workloads[1].find("because")->size(), 4U);
  EXPECT_EQ(*found.find("images"),
            Value::array({Value::object({{"image", "a@sha256:0123"}, {"fixed", Value(true)}}),
                          Value::object({{"image", "nginx:1"}, {"fixed", Value(false)}})}));
}

TEST(SecurityReport, TellsBroadRightsFromOthers) {
  EXPECT_THAT(lines(report(R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get, list]}
- {apiGroups: [""], resources: [secrets], verbs: [get]}
- {apiGroups: [""], resources: [secrets], verbs: [get], resourceNames: [own]}
- {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}
- {apiGroups: [""], resources: [pods/exec], verbs: [create]}
- {apiGroups: [rbac.authorization.k8s.io], resources: [roles], verbs: [escalate]}
- {nonResourceURLs: [/metrics], verbs: [get]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {kind: ClusterRole, name: cluster-admin}}
)"),
                    "rights"),
              ::testing::ElementsAre(
                  "ClusterRoleBinding b: everything that the ClusterRole cluster-admin may do (broad)",
                  "Role r: get, list pods", "Role r: get secrets (broad)", "Role r: get secrets, only own",
                  "Role r: everything with all resources of all API groups (broad)",
                  "Role r: create pods/exec (broad)",
                  "Role r: escalate roles of rbac.authorization.k8s.io (broad)", "Role r: get /metrics"));
}

TEST(SecurityReport, NamesWhatConcernsTheClusterAndTheOutside) {
  const Value found = report(R"(
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: m}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: apps.example.com}, spec: {names: {kind: App}}}
---
{apiVersion: v1, kind: Service, metadata: {name: in}}
---
{apiVersion: v1, kind: Service, metadata: {name: out}, spec: {type: LoadBalancer}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}}
)");
  EXPECT_THAT(
      lines(found, "cluster"),
      ::testing::ElementsAre(
          "CustomResourceDefinition apps.example.com: defines the kind App for the whole cluster",
          "MutatingWebhookConfiguration m: is asked about objects that others write, and may change them"));
  EXPECT_THAT(lines(found, "exposed"),
              ::testing::ElementsAre("Ingress i: takes requests from outside of the cluster",
                                     "Service out: has an address outside of the cluster (LoadBalancer)"));
  EXPECT_EQ(found.find("level"), nullptr);
  EXPECT_THAT(security_section(found).text(),
              AllOf(HasSubstr("It brings no Pods."), Not(HasSubstr("<h3>Pods"))));
}

TEST(SecurityReport, OfWhatIsNoneNothingIsShown) {
  EXPECT_THAT(security_section({}).text(), IsEmpty());
  for (const char* text : {"[]", "3"})
    EXPECT_THAT(security_section(*encoding::parse_yaml(text)).text(), IsEmpty());
  EXPECT_THAT(security_section(
                  *encoding::parse_yaml("{workloads: [3, null, {because: 4}], rights: {}, images: [[]]}"))
                  .text(),
              HasSubstr("id=\"security\""));
}

}  // namespace
}  // namespace mist::catalog
