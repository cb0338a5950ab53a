#include "apply/immutable.h"

#include <algorithm>
#include <array>
#include <span>

namespace mist::apply {
namespace {

using apimachinery::GroupKind;
using apimachinery::ObjectKey;

enum class Change : std::uint8_t {
  Never,         ///< can't change
  IfImmutable,   ///< can't change once `immutable: true` is set
  AskTheServer,  ///< may change in some ways
};

// From the validation code of Kubernetes 1.36 (pkg/apis/*/validation): what Validate…Update compares.
struct Rule {
  std::string_view group, kind;
  std::string_view path;
  std::array<std::string_view, 8> except = {};  // below `path`, what may change
  Change change = Change::Never;
};

constexpr std::array kRules{
    Rule{"apps",
         "StatefulSet",
         ".spec",
         {".spec.replicas", ".spec.ordinals", ".spec.template", ".spec.updateStrategy",
          ".spec.revisionHistoryLimit", ".spec.persistentVolumeClaimRetentionPolicy",
          ".spec.minReadySeconds"}},
    Rule{"apps", "Deployment", ".spec.selector"},
    Rule{"apps", "DaemonSet", ".spec.selector"},
    Rule{"apps", "ReplicaSet", ".spec.selector"},
    Rule{"apps", "ControllerRevision", ".data"},
    Rule{"batch", "Job", ".spec.selector"},
    Rule{"batch", "Job", ".spec.template"},
    Rule{"batch", "Job", ".spec.completions"},
    Rule{"batch", "Job", ".spec.completionMode"},
    Rule{"batch", "Job", ".spec.podFailurePolicy"},
    Rule{"batch", "Job", ".spec.backoffLimitPerIndex"},
    Rule{"batch", "Job", ".spec.managedBy"},
    Rule{"batch", "Job", ".spec.successPolicy"},
    Rule{"", "Pod", ".spec"},
    Rule{"", "Service", ".spec.clusterIP"},
    Rule{"", "Service", ".spec.clusterIPs"},
    Rule{"", "Service", ".spec.ipFamilies", {}, Change::AskTheServer},
    Rule{"", "Service", ".spec.type", {}, Change::AskTheServer},
    Rule{"", "Service", ".spec.loadBalancerClass", {}, Change::AskTheServer},
    Rule{"", "Service", ".spec.healthCheckNodePort", {}, Change::AskTheServer},
    Rule{"",
         "PersistentVolumeClaim",
         ".spec",
         {".spec.resources.requests", ".spec.volumeAttributesClassName"}},
    Rule{"", "PersistentVolumeClaim", ".spec.resources.requests", {}, Change::AskTheServer},
    Rule{"", "PersistentVolumeClaim", ".spec.volumeAttributesClassName", {}, Change::AskTheServer},
    Rule{"", "PersistentVolume", ".spec", {}, Change::AskTheServer},
    Rule{"", "Secret", ".type"},
    Rule{"", "Secret", ".data", {}, Change::IfImmutable},
    Rule{"", "Secret", ".immutable", {}, Change::IfImmutable},
    Rule{"", "ConfigMap", ".data", {}, Change::IfImmutable},
    Rule{"", "ConfigMap", ".binaryData", {}, Change::IfImmutable},
    Rule{"", "ConfigMap", ".immutable", {}, Change::IfImmutable},
    Rule{"", "ResourceQuota", ".spec.scopes"},
    Rule{"rbac.authorization.k8s.io", "RoleBinding", ".roleRef"},
    Rule{"rbac.authorization.k8s.io", "ClusterRoleBinding", ".roleRef"},
    Rule{"storage.k8s.io", "StorageClass", ".parameters"},
    Rule{"storage.k8s.io", "StorageClass", ".provisioner"},
    Rule{"storage.k8s.io", "StorageClass", ".reclaimPolicy"},
    Rule{"storage.k8s.io", "StorageClass", ".volumeBindingMode"},
    Rule{"storage.k8s.io", "CSIDriver", ".spec", {}, Change::AskTheServer},
    Rule{"storage.k8s.io", "VolumeAttachment", ".spec"},
    Rule{"apiextensions.k8s.io", "CustomResourceDefinition", ".spec.scope"},
    Rule{"apiextensions.k8s.io", "CustomResourceDefinition", ".spec.names.plural"},
    Rule{"apiextensions.k8s.io", "CustomResourceDefinition", ".spec.names.kind"},
    Rule{"scheduling.k8s.io", "PriorityClass", ".value"},
    Rule{"scheduling.k8s.io", "PriorityClass", ".preemptionPolicy"},
    Rule{"networking.k8s.io", "IngressClass", ".spec.controller"},
    Rule{"node.k8s.io", "RuntimeClass", ".handler"},
    Rule{"discovery.k8s.io", "EndpointSlice", ".addressType"},
    Rule{"certificates.k8s.io", "CertificateSigningRequest", ".spec"},
};

// Kinds of which everything else may change.
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kFree{{
    {"", "Namespace"},
    {"", "ServiceAccount"},
    {"", "LimitRange"},
    {"", "Endpoints"},
    {"", "ReplicationController"},
    {"", "PodTemplate"},
    {"batch", "CronJob"},
    {"autoscaling", "HorizontalPodAutoscaler"},
    {"policy", "PodDisruptionBudget"},
    {"networking.k8s.io", "Ingress"},
    {"networking.k8s.io", "NetworkPolicy"},
    {"rbac.authorization.k8s.io", "Role"},
    {"rbac.authorization.k8s.io", "ClusterRole"},
    {"coordination.k8s.io", "Lease"},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration"},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"},
    {"apiregistration.k8s.io", "APIService"},
}};

// Whether `path` is `place` or below it.
bool within(std::string_view path, std::string_view place) {
  if (!path.starts_with(place)) return false;
  return path.size() == place.size() || path[place.size()] == '.' || path[place.size()] == '[';
}

bool hits(const Rule& rule, std::string_view path) {
  if (!within(path, rule.path) && !within(rule.path, path)) return false;
  return std::ranges::none_of(rule.except,
                              [&](std::string_view free) { return !free.empty() && within(path, free); });
}

bool known(const GroupKind& kind) {
  const auto is = [&](std::string_view group, std::string_view name) {
    return kind.group == group && kind.kind == name;
  };
  return std::ranges::any_of(kRules, [&](const Rule& rule) { return is(rule.group, rule.kind); }) ||
         std::ranges::any_of(kFree, [&](const auto& free) { return is(free.first, free.second); });
}

}  // namespace

Immutability immutable_fields(const ObjectKey& key, const Value& live,
                              const std::vector<FieldDifference>& differences) {
  Immutability result;
  const Value* flag = live.find("immutable");
  const bool sealed = flag != nullptr && *flag == Value(true);
  const bool known_kind = known(key.group_kind);
  for (const FieldDifference& difference : differences) {
    if (within(difference.path, ".metadata")) continue;
    if (!known_kind) result.ask = true;
    for (const Rule& rule : kRules) {
      if (key.group_kind != GroupKind{std::string(rule.group), std::string(rule.kind)}) continue;
      if (!hits(rule, difference.path)) continue;
      if (rule.change == Change::AskTheServer) {
        result.ask = true;
      } else if (rule.change == Change::Never || sealed) {
        result.fields.push_back(difference.path);
        break;
      }
    }
  }
  return result;
}

}  // namespace mist::apply
