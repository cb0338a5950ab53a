#include "testing/fake_kinds.h"

namespace mist::testing {
namespace {

enum Trait : unsigned { kCluster = 0, kNamespaced = 1, kStatus = 2, kGeneration = 4 };

struct Row {
  std::string_view group, version, kind, resource;
  unsigned traits;
};

constexpr unsigned kWorkload = kNamespaced | kStatus | kGeneration;
constexpr Row kRows[] = {
    {"", "v1", "Namespace", "namespaces", kCluster | kStatus},
    {"", "v1", "Node", "nodes", kCluster | kStatus},
    {"", "v1", "PersistentVolume", "persistentvolumes", kCluster | kStatus},
    {"", "v1", "ConfigMap", "configmaps", kNamespaced},
    {"", "v1", "Secret", "secrets", kNamespaced},
    {"", "v1", "Service", "services", kNamespaced | kStatus},
    {"", "v1", "ServiceAccount", "serviceaccounts", kNamespaced},
    {"", "v1", "Endpoints", "endpoints", kNamespaced},
    {"", "v1", "Event", "events", kNamespaced},
    {"", "v1", "LimitRange", "limitranges", kNamespaced},
    {"", "v1", "ResourceQuota", "resourcequotas", kNamespaced | kStatus},
    {"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", kNamespaced | kStatus},
    {"", "v1", "Pod", "pods", kWorkload},
    {"", "v1", "ReplicationController", "replicationcontrollers", kWorkload},
    {"apps", "v1", "Deployment", "deployments", kWorkload},
    {"apps", "v1", "StatefulSet", "statefulsets", kWorkload},
    {"apps", "v1", "DaemonSet", "daemonsets", kWorkload},
    {"apps", "v1", "ReplicaSet", "replicasets", kWorkload},
    {"apps", "v1", "ControllerRevision", "controllerrevisions", kNamespaced},
    {"batch", "v1", "Job", "jobs", kWorkload},
    {"batch", "v1", "CronJob", "cronjobs", kWorkload},
    {"autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", kNamespaced | kStatus},
    {"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", kWorkload},
    {"networking.k8s.io", "v1", "Ingress", "ingresses", kWorkload},
    {"networking.k8s.io", "v1", "IngressClass", "ingressclasses", kCluster | kGeneration},
    {"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", kNamespaced | kGeneration},
    {"rbac.authorization.k8s.io", "v1", "Role", "roles", kNamespaced},
    {"rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", kNamespaced},
    {"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", kCluster},
    {"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", kCluster},
    {"storage.k8s.io", "v1", "StorageClass", "storageclasses", kCluster},
    {"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", kCluster},
    {"coordination.k8s.io", "v1", "Lease", "leases", kNamespaced},
    {"discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", kNamespaced},
    {"apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions",
     kCluster | kStatus | kGeneration},
    {"apiregistration.k8s.io", "v1", "APIService", "apiservices", kCluster | kStatus},
    {"admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations",
     kCluster | kGeneration},
    {"admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration",
     "validatingwebhookconfigurations", kCluster | kGeneration},
    {"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies",
     kCluster | kStatus | kGeneration},
    {"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding",
     "validatingadmissionpolicybindings", kCluster | kGeneration},
};

}  // namespace

std::vector<FakeKind> built_in_kinds() {
  std::vector<FakeKind> kinds;
  for (const Row& row : kRows)
    kinds.push_back({.kind = {std::string(row.group), std::string(row.kind)},
                     .resource = std::string(row.resource),
                     .versions = {std::string(row.version)},
                     .namespaced = (row.traits & kNamespaced) != 0,
                     .status_subresource = (row.traits & kStatus) != 0,
                     .generation = (row.traits & kGeneration) != 0});
  return kinds;
}

FakeKind kind_of_crd(const Value& crd) {
  FakeKind kind;
  kind.kind = apimachinery::defined_kind(crd);
  kind.resource = crd.string_at({"spec", "names", "plural"});
  kind.namespaced = crd.string_at({"spec", "scope"}) != "Cluster";
  kind.generation = true;
  if (const Value* versions = crd.at_path({"spec", "versions"});
      versions != nullptr && versions->is_array()) {
    for (const Value& version : versions->as_array()) {
      const Value* served = version.find("served");
      if (served != nullptr && served->is_bool() && !served->as_bool()) continue;
      kind.versions.emplace_back(version.string_at("name"));
      if (version.at_path({"subresources", "status"}) != nullptr) kind.status_subresource = true;
    }
  }
  return kind;
}

Value ready_status(const Value& object) {
  const std::string_view kind = object.string_at("kind");
  const Value* generation = object.at_path({"metadata", "generation"});
  const Value* wanted = object.at_path({"spec", "replicas"});
  const Value replicas = wanted != nullptr && wanted->is_int() ? *wanted : Value(1);
  const auto condition = [](std::string_view type) {
    return Value::object({{"type", type}, {"status", "True"}, {"reason", "FakeController"}});
  };
  Value status;
  if (kind == "Deployment") {
    for (const std::string_view field : {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"})
      status[field] = replicas;
    status["conditions"] = Value::array({condition("Available"), condition("Progressing")});
  } else if (kind == "StatefulSet" || kind == "ReplicaSet") {
    for (const std::string_view field :
         {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "currentReplicas"})
      status[field] = replicas;
    status["currentRevision"] = status["updateRevision"] = "revision-1";
  } else if (kind == "DaemonSet") {
    for (const std::string_view field : {"desiredNumberScheduled", "currentNumberScheduled",
                                         "updatedNumberScheduled", "numberReady", "numberAvailable"})
      status[field] = 1;
  } else if (kind == "Job") {
    status["succeeded"] = 1;
    status["conditions"] = Value::array({condition("SuccessCriteriaMet"), condition("Complete")});
    return status;
  } else if (kind == "Pod") {
    status["phase"] = "Running";
    status["conditions"] = Value::array({condition("Ready")});
  } else if (kind == "PersistentVolumeClaim") {
    status["phase"] = "Bound";
    return status;
  } else {
    return status;
  }
  if (generation != nullptr) status["observedGeneration"] = *generation;
  return status;
}

}  // namespace mist::testing
