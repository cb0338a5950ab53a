#include "apply/order/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "encoding/yaml.h"

namespace mist::apply {
namespace {

using apimachinery::Object;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

struct Objects {
  explicit Objects(std::string_view yaml) {
    auto documents = encoding::parse_yaml_documents(yaml);
    EXPECT_TRUE(documents.ok()) << documents.error().to_line();
    for (encoding::Value& document : *documents) {
      lines.push_back(document.position().line);
      objects.push_back(*Object::from_value(std::move(document)));
    }
  }
  std::vector<OrderedObject> ordered() const {
    std::vector<OrderedObject> result;
    for (std::size_t i = 0; i < objects.size(); ++i)
      result.push_back({&objects[i], "all.yaml", {"all.yaml", lines[i], 0, {}}});
    return result;
  }
  std::string name(const Order& order, graph::Node node) const {
    switch (order.role(node)) {
      case NodeRole::Object:
        return objects[node].key().display();
      case NodeRole::Barrier:
        return "barrier";
      case NodeRole::Outside:
        return "outside " + order.outside_at(node).display() + (order.outside_at(node).optional ? "?" : "");
    }
    return {};
  }

  std::vector<Object> objects;
  std::vector<std::uint32_t> lines;
};

// "Before → after" for each edge, "Before →ready after" where it asks for more than presence.
std::vector<std::string> edges(std::string_view yaml) {
  const Objects objects(yaml);
  const auto order = infer_order(objects.ordered());
  if (!order.ok()) return {order.error().to_line()};
  std::vector<std::string> result;
  for (const graph::Edge& edge : order->graph.edges()) {
    const EdgePredicate predicate = predicate_of(edge);
    result.push_back(
        fmt::format("{} →{} {}", objects.name(*order, edge.before),
                    predicate == EdgePredicate::Present ? std::string_view() : to_string(predicate),
                    objects.name(*order, edge.after)));
  }
  return result;
}

Error mistake(std::string_view yaml) {
  const Objects objects(yaml);
  auto order = infer_order(objects.ordered());
  EXPECT_FALSE(order.ok());
  return order.ok() ? Error{} : std::move(order).error();
}

TEST(Order, PodTemplatesComeAfterWhatTheyReferTo) {
  EXPECT_THAT(
      edges(R"(
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
      UnorderedElementsAre("Namespace shop → ServiceAccount shop/sa", "Namespace shop → ConfigMap shop/cm",
                           "Namespace shop → Secret shop/key", "Namespace shop → CronJob shop/job",
                           "ServiceAccount shop/sa → CronJob shop/job",
                           "ConfigMap shop/cm → CronJob shop/job", "Secret shop/key → CronJob shop/job"));
}

TEST(Order, EveryPlaceWhereAPodNamesAnotherObjectCounts) {
  // One object for each place; each must come before the Pod, and the one that nothing names must not.
  std::string yaml = R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ns}
spec:
  priorityClassName: prio
  runtimeClassName: run
  imagePullSecrets: [{name: s-pull}]
  volumes:
  - {name: a, configMap: {name: c-volume}}
  - {name: b, secret: {secretName: s-volume}}
  - {name: c, persistentVolumeClaim: {claimName: claim}}
  - name: d
    projected: {sources: [{configMap: {name: c-projected}}, {secret: {name: s-projected}}, {downwardAPI: {}}]}
  - {name: e, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: class}}}}
  - {name: f, csi: {nodePublishSecretRef: {name: s-csi}}}
  initContainers: [{name: i, envFrom: [{secretRef: {name: s-init}}]}]
  ephemeralContainers: [{name: t, env: [{name: X, valueFrom: {configMapKeyRef: {name: c-ephemeral, key: k}}}]}]
  containers: [{name: m, envFrom: [{configMapRef: {name: c-env}}]}]
)";
  std::vector<std::string> expected;
  const auto add = [&](std::string_view api, std::string_view kind, std::string_view name,
                       bool cluster = false) {
    yaml += fmt::format("---\n{{apiVersion: {}, kind: {}, metadata: {{name: {}{}}}}}\n", api, kind, name,
                        cluster ? "" : ", namespace: ns");
    if (name != "unused")
      expected.push_back(fmt::format("{} {}{} → Pod ns/p", kind, cluster ? "" : "ns/", name));
  };
  for (const char* name : {"c-volume", "c-projected", "c-ephemeral", "c-env", "unused"})
    add("v1", "ConfigMap", name);
  for (const char* name : {"s-pull", "s-volume", "s-projected", "s-csi", "s-init"}) add("v1", "Secret", name);
  add("v1", "PersistentVolumeClaim", "claim");
  add("scheduling.k8s.io/v1", "PriorityClass", "prio", true);
  add("node.k8s.io/v1", "RuntimeClass", "run", true);
  add("storage.k8s.io/v1", "StorageClass", "class", true);
  EXPECT_THAT(edges(yaml), ::testing::UnorderedElementsAreArray(expected));
}

TEST(Order, BindingsComeAfterRolesAndSubjectsAndBeforeThePodsWithTheirRights) {
  EXPECT_THAT(edges(R"(
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b, namespace: ns}, roleRef: {kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: s}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: ns}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: cb}, roleRef: {kind: ClusterRole, name: cr}, subjects: [{kind: ServiceAccount, name: s, namespace: ns}, {kind: User, name: s}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: cr}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: s, namespace: ns}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: ns}, spec: {template: {spec: {serviceAccountName: s}}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: other, namespace: ns}, spec: {template: {spec: {}}}}
)"),
              UnorderedElementsAre(
                  "Role ns/r → RoleBinding ns/b", "ServiceAccount ns/s → RoleBinding ns/b",
                  "ClusterRole cr → ClusterRoleBinding cb", "ServiceAccount ns/s → ClusterRoleBinding cb",
                  "ServiceAccount ns/s → Deployment ns/d", "RoleBinding ns/b → Deployment ns/d",
                  "ClusterRoleBinding cb → Deployment ns/d"));
}

TEST(Order, NetworkAndScaling) {
  EXPECT_THAT(edges(R"(
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i, namespace: ns}, spec: {ingressClassName: c, rules: [{http: {paths: [{backend: {service: {name: svc}}}]}}]}}
---
{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: c}}
---
{apiVersion: v1, kind: Service, metadata: {name: svc, namespace: ns}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: ns}, spec: {parentRefs: [{name: g}], rules: [{backendRefs: [{name: svc}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g, namespace: ns}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: ns}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: ns}, spec: {selector: {matchLabels: {app: d}}}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: all, namespace: ns}, spec: {podSelector: {}}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: others, namespace: ns}, spec: {podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [d]}]}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: ns}, spec: {template: {metadata: {labels: {app: d}}}}}
)"),
              UnorderedElementsAre("Service ns/svc → Ingress ns/i", "IngressClass c → Ingress ns/i",
                                   "Service ns/svc → HTTPRoute ns/r", "Gateway ns/g → HTTPRoute ns/r",
                                   "Deployment ns/d → HorizontalPodAutoscaler ns/h",
                                   "Deployment ns/d → PodDisruptionBudget ns/b",
                                   "NetworkPolicy ns/all → Deployment ns/d"));
}

TEST(Order, StorageClassesComeBeforeClaims) {
  EXPECT_THAT(edges(R"(
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: ns}, spec: {storageClassName: fast, volumeName: v}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {storageClassName: fast}}
)"),
              UnorderedElementsAre("StorageClass fast → PersistentVolumeClaim ns/c",
                                   "PersistentVolume v → PersistentVolumeClaim ns/c",
                                   "StorageClass fast → PersistentVolume v"));
}

constexpr std::string_view kWebhook = R"(
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: [{clientConfig: {service: {name: s, namespace: ns}}}]}
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: ns}, spec: {selector: {app: hook}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: ns}, spec: {template: {metadata: {labels: {app: hook, tier: back}}}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns}}
)";

TEST(Order, WebhooksComeLastAfterWhatAnswersForThem) {
  EXPECT_THAT(edges(kWebhook),
              UnorderedElementsAre("barrier → ValidatingWebhookConfiguration w", "ConfigMap ns/c → barrier",
                                   "Service ns/s → barrier", "Deployment ns/d → barrier",
                                   "Service ns/s → ValidatingWebhookConfiguration w",
                                   "Deployment ns/d → ValidatingWebhookConfiguration w"));
}

// It may be what refuses the rest.
TEST(Order, AWebhookThatRefusesLessThanBeforeComesFirst) {
  const Objects objects(kWebhook);
  std::vector<OrderedObject> ordered = objects.ordered();
  ordered[0].lets_pass = true;
  const auto order = infer_order(ordered);
  ASSERT_TRUE(order.ok()) << order.error().to_line();
  std::vector<std::string> edges;
  for (const graph::Edge& edge : order->graph.edges())
    edges.push_back(
        fmt::format("{} → {}", objects.name(*order, edge.before), objects.name(*order, edge.after)));
  EXPECT_THAT(edges,
              UnorderedElementsAre("ValidatingWebhookConfiguration w → barrier", "barrier → ConfigMap ns/c",
                                   "barrier → Service ns/s", "barrier → Deployment ns/d"));
}

TEST(Order, ApiServicesComeBeforeTheirObjectsAndAfterTheRestAndWebhooksBehindAll) {
  EXPECT_THAT(edges(R"(
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: w}}
---
{apiVersion: metrics.example.com/v1, kind: Gauge, metadata: {name: g, namespace: ns}}
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.metrics.example.com}, spec: {group: metrics.example.com, version: v1, service: {name: s, namespace: ns}}}
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: ns}}
)"),
              UnorderedElementsAre("APIService v1.metrics.example.com →available Gauge ns/g",
                                   "Service ns/s → APIService v1.metrics.example.com",
                                   "Service ns/s → barrier", "barrier → APIService v1.metrics.example.com",
                                   // before the webhook, through the second barrier:
                                   "Service ns/s → barrier", "Gauge ns/g → barrier",
                                   "APIService v1.metrics.example.com → barrier",
                                   "barrier → MutatingWebhookConfiguration w"));
}

TEST(Order, APolicyComesBeforeItsBindingThoughBothComeLast) {
  EXPECT_THAT(edges(R"(
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}}
)"),
              UnorderedElementsAre("ValidatingAdmissionPolicy p → ValidatingAdmissionPolicyBinding b"));
}

TEST(Order, AWishGivesWayToANeed) {
  // The account lists its token, and the token needs the account: only one order works.
  const Objects objects(R"(
{apiVersion: v1, kind: ServiceAccount, metadata: {name: s, namespace: ns}, secrets: [{name: token}]}
---
{apiVersion: v1, kind: Secret, metadata: {name: token, namespace: ns, annotations: {kubernetes.io/service-account.name: s}}, type: kubernetes.io/service-account-token}
)");
  const auto order = infer_order(objects.ordered());
  ASSERT_TRUE(order.ok()) << order.error().to_line();
  ASSERT_EQ(order->graph.edges().size(), 1u);
  EXPECT_EQ(order->graph.edges()[0].reason, "the account of its token");
  ASSERT_EQ(order->dropped.size(), 1u);
  EXPECT_EQ(order->dropped[0].reason, "a secret of it");
}

// Annotations.

constexpr std::string_view kShop = R"(
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  namespace: shop
  annotations:
    mistletoe.dev/{}: {}
---
{{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: db, namespace: shop}}}}
---
{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: shop}}}}
---
{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: "system:x"}}}}
---
{{apiVersion: v1, kind: ConfigMap, metadata: {{name: far, namespace: other}}}}
)";
std::string shop(std::string_view annotation, std::string_view text) {
  return fmt::format(kShop, annotation, encoding::to_yaml(encoding::Value(text)));
}

TEST(DeclaredOrder, AfterAndBeforeMakeEdges) {
  EXPECT_THAT(edges(shop("after", "statefulset/db@ready, ClusterRole.rbac.authorization.k8s.io/system:x")),
              UnorderedElementsAre("StatefulSet shop/db →ready Job shop/migrate",
                                   "ClusterRole system:x → Job shop/migrate"));
  EXPECT_THAT(edges(shop("before", "Deployment/shop/web@ready,ConfigMap/other/far")),
              UnorderedElementsAre("Job shop/migrate →ready Deployment shop/web",
                                   "Job shop/migrate → ConfigMap other/far"));
}

TEST(DeclaredOrder, OptionalTargetsMayBeMissing) {
  EXPECT_THAT(edges(shop("after", "Service/none?, StatefulSet/db@ready?")),
              ElementsAre("StatefulSet shop/db →ready Job shop/migrate"));
}

TEST(DeclaredOrder, OutsideObjectsAreNodesOfTheirOwn) {
  EXPECT_THAT(edges(shop("after",
                         "outside:Secret/creds, outside:Certificate.cert-manager.io/infra/tls@ready?, "
                         "outside:Job/old@absent")),
              UnorderedElementsAre("outside Secret shop/creds → Job shop/migrate",
                                   "outside Certificate infra/tls? →ready Job shop/migrate",
                                   "outside Job shop/old →absent Job shop/migrate"));
}

TEST(DeclaredOrder, AnUnknownTargetNamesTheNearestWithFileAndLine) {
  const Error failure = mistake(shop("after", "StatefulSet/dbs@ready"));
  EXPECT_EQ(failure.kind, ErrorKind::Invalid);
  EXPECT_EQ(failure.message, "\"StatefulSet/dbs@ready\" is not part of the release");
  EXPECT_THAT(failure.hint, HasSubstr("did you mean StatefulSet/db?"));
  EXPECT_THAT(failure.hint, HasSubstr("outside:StatefulSet/dbs@ready"));
  EXPECT_THAT(failure.frames, ElementsAre("in mistletoe.dev/after of Job shop/migrate"));
  ASSERT_TRUE(failure.where);
  EXPECT_EQ(failure.where->file, "all.yaml");
  EXPECT_EQ(failure.where->line, 8u);
  EXPECT_THAT(mistake(shop("after", "ConfigMap/far")).hint, HasSubstr("did you mean ConfigMap/other/far?"));
}

TEST(DeclaredOrder, MistakesSayWhatIsWrong) {
  const auto says = [](std::string_view annotation, std::string_view text, std::string_view what) {
    const Error failure = mistake(shop(annotation, text));
    EXPECT_THAT(failure.to_line() + failure.hint, HasSubstr(what)) << text;
  };
  says("after", "db", "it has no /");
  says("after", "StatefulSet/shop/db/x", "too many /");
  says("after", "StatefulSet/db@soon", "there is no \"@soon\"");
  says("after", "StatefulSet/db Deployment/web", "separated by commas");
  says("after", "StatefulSet./db", "a part of it is empty");
  says("after", "Job/migrate", "can't come after itself");
  says("after", "StatefulSet/db@absent", "never absent");
  says("before", "StatefulSet/db@absent", "never absent");
  says("before", "outside:Secret/x", "nothing outside of the release");
}

TEST(DeclaredOrder, ACycleNamesItsPathTheReasonsAndThePlace) {
  const Error failure = mistake(R"(
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations: {mistletoe.dev/after: Job/migrate@ready}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {volumes: [{configMap: {name: settings}}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: migrate, annotations: {mistletoe.dev/after: Deployment/web, mistletoe.dev/before: ConfigMap/settings}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {mistletoe.dev/after: ConfigMap/b}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {mistletoe.dev/after: ConfigMap/a}}}
)");
  // The Deployment's volume is only a wish, and gives way; what somebody declared doesn't.
  EXPECT_EQ(failure.message, "the order has a cycle: ConfigMap a → ConfigMap b → ConfigMap a");
  EXPECT_EQ(failure.because,
            "ConfigMap b comes after ConfigMap a: mistletoe.dev/after\n"
            "ConfigMap a comes after ConfigMap b: mistletoe.dev/after");
  ASSERT_TRUE(failure.where);
  EXPECT_EQ(failure.where->line, 14u);
}

TEST(RemovalOrder, IsTheOrderTurnedRound) {
  const Objects objects(kWebhook);
  std::vector<const Object*> pointers;
  for (const Object& object : objects.objects) pointers.push_back(&object);
  const graph::SequenceGraph order = removal_order(pointers);
  const auto sorted = order.topological_order([](graph::Node) { return std::string(); });
  ASSERT_TRUE(sorted.ok());
  EXPECT_EQ(sorted->front(), 0u);  // the webhook goes first, or it would refuse the rest
}

TEST(RemovalOrder, NothingThatIsStoredCanKeepItFromWorking) {
  const Objects objects(R"(
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {mistletoe.dev/after: ConfigMap/b}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {mistletoe.dev/after: ConfigMap/a}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {mistletoe.dev/after: "no target at all", mistletoe.dev/before: ConfigMap/gone}}}
)");
  std::vector<const Object*> pointers;
  for (const Object& object : objects.objects) pointers.push_back(&object);
  EXPECT_TRUE(removal_order(pointers).cycles().empty());
}

TEST(Order, EdgesDoNotDependOnTheOrderOfTheObjects) {
  Objects objects(kWebhook);
  const auto names = [&] {
    const auto order = infer_order(objects.ordered());
    std::vector<std::string> result;
    for (const graph::Edge& edge : order->graph.edges())
      result.push_back(objects.name(*order, edge.before) + objects.name(*order, edge.after) + edge.reason);
    std::ranges::sort(result);
    return result;
  };
  const std::vector<std::string> first = names();
  std::ranges::reverse(objects.objects);
  EXPECT_EQ(names(), first);
}

// Objects that are made to be compared with each other: `count` of each of two kinds.
Objects two_kinds(int count, std::string_view rule, std::string_view workload) {
  std::string yaml;
  for (int i = 0; i < count; ++i) yaml += fmt::format(fmt::runtime(rule), i) + "\n---\n";
  for (int i = 0; i < count; ++i) yaml += fmt::format(fmt::runtime(workload), i) + "\n---\n";
  return Objects(yaml);
}

constexpr std::string_view kLabelled =
    "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: w{0}, namespace: a}}, "
    "spec: {{template: {{metadata: {{labels: {{app: all, own: w{0}}}}}}}}}}}";

struct Product {
  std::string_view rule;
  bool rule_comes_first;
};

// The edges of what acts on everything would be as many as pairs.
TEST(Order, EdgesGrowWithTheObjectsAndNotWithTheirPairs) {
  const std::vector<Product> cases = {
      {"{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: r{0}, namespace: a}}, "
       "spec: {{selector: {{matchLabels: {{app: all}}}}}}}}",
       false},
      {"{{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {{name: r{0}, namespace: a}}, "
       "spec: {{podSelector: {{}}}}}}",
       true},
      {"{{apiVersion: v1, kind: LimitRange, metadata: {{name: r{0}, namespace: a}}}}", true},
      {"{{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {{name: r{0}, namespace: "
       "a}}, "
       "subjects: [{{kind: ServiceAccount, name: default}}]}}",
       true},
  };
  constexpr int kCount = 700;
  for (const Product& each : cases) {
    const Objects objects = two_kinds(kCount, each.rule, kLabelled);
    const auto order = infer_order(objects.ordered());
    ASSERT_TRUE(order.ok());
    EXPECT_LT(order->graph.edges().size(), 210'000U) << each.rule;
    for (const graph::Node rule : {0, kCount - 1}) {
      for (const graph::Node workload : {kCount, 2 * kCount - 1}) {
        const auto path = each.rule_comes_first ? order->graph.explain(rule, workload)
                                                : order->graph.explain(workload, rule);
        EXPECT_FALSE(path.empty()) << each.rule;
      }
    }
  }
}

TEST(Order, WebhooksBehindOneServiceDoNotMultiplyItsWorkloads) {
  Objects objects =
      two_kinds(700,
                "{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, "
                "metadata: {{name: "
                "r{0}}}, webhooks: [{{clientConfig: {{service: {{name: s, namespace: a}}}}}}]}}",
                kLabelled);
  objects.objects.push_back(*Object::from_value(*encoding::parse_yaml(
      "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: a}, spec: {selector: {app: all}}}")));
  objects.lines.push_back(1);
  const auto order = infer_order(objects.ordered());
  ASSERT_TRUE(order.ok());
  EXPECT_LT(order->graph.edges().size(), 220'000U);
  EXPECT_FALSE(order->graph.explain(700, 0).empty());
}

}  // namespace
}  // namespace mist::apply
