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

TEST(SecurityReport, FindsBroadRightsInEachOfTheirSpellings) {
  for (const char* rule : {R"({apiGroups: [""], resources: ["*/exec"], verbs: [create]})",
                           R"({apiGroups: [""], resources: ["*/token"], verbs: [create]})",
                           R"({apiGroups: [""], resources: ["*/proxy"], verbs: [get]})",
                           R"({apiGroups: [""], resources: [pods/exec], verbs: [get]})",
                           R"({apiGroups: [""], resources: [pods/attach], verbs: [get]})",
                           R"({apiGroups: [""], resources: [pods/ephemeralcontainers], verbs: [patch]})"})
    EXPECT_THAT(lines(report(fmt::format("{{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: "
                                         "{{name: r}}, rules: [{}]}}",
                                         rule)),
                      "rights"),
                ::testing::ElementsAre(HasSubstr("(broad)")))
        << rule;
  for (const char* rule : {R"({apiGroups: [apps], resources: ["*/scale"], verbs: [update]})",
                           R"({apiGroups: [""], resources: [pods/log], verbs: [get]})"})
    EXPECT_THAT(lines(report(fmt::format("{{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: "
                                         "{{name: r}}, rules: [{}]}}",
                                         rule)),
                      "rights"),
                ::testing::ElementsAre(Not(HasSubstr("(broad)"))))
        << rule;
}

TEST(SecurityReport, FindsRightsThatGoToOthersOrComeFromThem) {
  EXPECT_THAT(
      lines(report(R"(
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}, rules: []}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: b, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}, rules: []}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: c}, roleRef: {kind: ClusterRole, name: own}, subjects: [{kind: Group, name: "system:authenticated"}, {kind: User, name: "system:anonymous"}, {kind: ServiceAccount, name: web}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: d}, roleRef: {kind: ClusterRole, name: "system:controller:clusterrole-aggregation-controller"}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: e}, roleRef: {kind: ClusterRole, name: "system:auth-delegator"}}
)"),
            "rights"),
      ::testing::ElementsAre(
          "ClusterRole a: everything that ClusterRoles with certain labels may do, now or later (broad)",
          "ClusterRole b: its rights, for everybody who has the ClusterRole view (broad)",
          "ClusterRoleBinding c: the rights of ClusterRole own, for everybody in system:authenticated "
          "(broad)",
          "ClusterRoleBinding c: the rights of ClusterRole own, for everybody in system:anonymous (broad)",
          "ClusterRoleBinding d: everything that the ClusterRole "
          "system:controller:clusterrole-aggregation-controller may do (broad)"));
}

TEST(SecurityReport, IsBoundedAndKeepsWhatIsBroad) {
  std::string role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}, rules: [";
  for (int i = 0; i < 300; ++i)
    role += fmt::format("{{apiGroups: [''], resources: [pods], verbs: [get, {}]}}, ", std::string(2000, 'x'));
  const Value found = report(role + "{apiGroups: [''], resources: [secrets], verbs: [list]}]}");
  const auto rights = lines(found, "rights");
  ASSERT_EQ(rights.size(), 200U);
  EXPECT_THAT(rights, ::testing::Contains("Role r: list secrets (broad)"));
  EXPECT_LE(found.find("rights")->as_array()[1].string_at("text").size(), 500U);
  const Value images = report(fmt::format(
      "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: [{{name: a, image: {}}}]}}}}",
      std::string(5000, 'i')));
  EXPECT_LE(images.find("images")->as_array()[0].string_at("image").size(), 500U);
}

TEST(SecurityReport, ACutKeepsWhatMattersMostAndIsCounted) {
  std::string yaml;
  for (int i = 0; i < 250; ++i)
    yaml += fmt::format(
        "{{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {{name: a{0}}}}}\n---\n"
        "{{apiVersion: v1, kind: Service, metadata: {{name: s{0}}}, spec: {{type: NodePort}}}}\n---\n"
        "{{apiVersion: v1, kind: Pod, metadata: {{name: p{0}}}, spec: {{containers: [{{name: a, image: "
        "'a{0}@sha256:1'}}]}}}}\n---\n",
        i);
  const Value found = report(
      yaml +
      "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: z}}\n---\n"
      "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: "
      "z}}\n---\n"
      "{apiVersion: v1, kind: Pod, metadata: {name: z}, spec: {hostNetwork: true, containers: [{name: a, "
      "image: 'z:1'}]}}");
  EXPECT_EQ(*found.find("leftOut"),
            *encoding::parse_yaml("{workloads: 51, cluster: 52, exposed: 50, images: 51}"));
  const auto cluster = lines(found, "cluster");
  ASSERT_EQ(cluster.size(), 200U);
  EXPECT_THAT(cluster, ::testing::IsSupersetOf({HasSubstr("MutatingWebhookConfiguration z"),
                                                HasSubstr("CustomResourceDefinition z")}));
  EXPECT_EQ(found.find("workloads")->as_array().back().string_at("object"), "Pod z");
  EXPECT_EQ(found.find("images")->as_array().back().string_at("image"), "z:1");
  EXPECT_THAT(security_section(found).text(),
              AllOf(HasSubstr("52 more are not shown."), HasSubstr("50 more are not shown.")));
  EXPECT_TRUE(report("{apiVersion: v1, kind: Service, metadata: {name: s}}").find("leftOut")->empty());
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
  EXPECT_THAT(
      security_section(
          *encoding::parse_yaml("{workloads: [3, null, {because: 4}], rights: {}, images: [[]], leftOut: 7}"))
          .text(),
      HasSubstr("id=\"security\""));
}

}  // namespace
}  // namespace mist::catalog
