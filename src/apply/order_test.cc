#include "apply/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"

namespace mist::apply {
namespace {

using apimachinery::Object;

// "Before → after" for each edge between objects.
std::vector<std::string> edges(std::string_view yaml) {
  std::vector<Object> objects;
  auto documents = encoding::parse_yaml_documents(yaml);
  EXPECT_TRUE(documents.ok()) << documents.error().to_line();
  for (encoding::Value& document : *documents) objects.push_back(*Object::from_value(std::move(document)));
  std::vector<const Object*> pointers;
  for (const Object& object : objects) pointers.push_back(&object);
  const auto graph = infer_order(pointers);
  EXPECT_TRUE(graph.ok()) << graph.error().to_line();
  std::vector<std::string> result;
  for (const graph::Edge& edge : graph->edges()) {
    const auto name = [&](graph::Node node) {
      return node < objects.size() ? objects[node].key().display() : std::string("barrier");
    };
    result.push_back(name(edge.before) + " → " + name(edge.after));
  }
  return result;
}

TEST(Order, PodTemplatesComeAfterWhatTheyReferTo) {
  EXPECT_THAT(edges(R"(
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: sa, namespace: shop}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, namespace: shop}}
---
{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: shop}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: job, namespace: shop}
spec: {jobTemplate: {spec: {template: {spec: {serviceAccountName: sa, containers: [{name: c, envFrom: [{configMapRef: {name: cm}}], env: [{name: K, valueFrom: {secretKeyRef: {name: key, key: k}}}]}]}}}}}
)"),
              ::testing::UnorderedElementsAre(
                  "Namespace shop → ServiceAccount shop/sa", "Namespace shop → ConfigMap shop/cm",
                  "Namespace shop → Secret shop/key", "Namespace shop → CronJob shop/job",
                  "ServiceAccount shop/sa → CronJob shop/job", "ConfigMap shop/cm → CronJob shop/job",
                  "Secret shop/key → CronJob shop/job"));
}

TEST(Order, BindingsComeAfterRolesAndSubjectsIngressesAfterServicesScalersAfterTargets) {
  EXPECT_THAT(edges(R"(
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b, namespace: ns}, roleRef: {kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: s}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: ns}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: s, namespace: ns}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i, namespace: ns}, spec: {rules: [{http: {paths: [{backend: {service: {name: svc}}}]}}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: svc, namespace: ns}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: ns}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: ns}}
)"),
              ::testing::UnorderedElementsAre(
                  "Role ns/r → RoleBinding ns/b", "ServiceAccount ns/s → RoleBinding ns/b",
                  "Service ns/svc → Ingress ns/i", "Deployment ns/d → HorizontalPodAutoscaler ns/h"));
}

TEST(Order, WebhooksComeLast) {
  EXPECT_THAT(edges(R"(
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns}}
)"),
              ::testing::UnorderedElementsAre("barrier → ValidatingWebhookConfiguration w",
                                              "ConfigMap ns/c → barrier"));
}

}  // namespace
}  // namespace mist::apply
