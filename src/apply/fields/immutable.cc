#include "apply/fields/immutable.h"

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
struct ImmutableField {
  std::string_view group, kind;
  std::string_view path;
  std::array<std::string_view, 8> except = {};  // below `path`, what may change
  Change change = Change::Never;
};

constexpr std::array kImmutableFields{
    ImmutableField{"apps",
                   "StatefulSet",
                   ".spec",
                   {".spec.replicas", ".spec.ordinals", ".spec.template", ".spec.updateStrategy",
                    ".spec.revisionHistoryLimit", ".spec.persistentVolumeClaimRetentionPolicy",
                    ".spec.minReadySeconds"}},
    ImmutableField{"apps", "Deployment", ".spec.selector"},
    ImmutableField{"apps", "DaemonSet", ".spec.selector"},
    ImmutableField{"apps", "ReplicaSet", ".spec.selector"},
    ImmutableField{"apps", "ControllerRevision", ".data"},
    ImmutableField{"batch", "Job", ".spec.selector"},
    ImmutableField{"batch", "Job", ".spec.template"},
    ImmutableField{"batch", "Job", ".spec.completions"},
    ImmutableField{"batch", "Job", ".spec.completionMode"},
    ImmutableField{"batch", "Job", ".spec.podFailurePolicy"},
    ImmutableField{"batch", "Job", ".spec.backoffLimitPerIndex"},
    ImmutableField{"batch", "Job", ".spec.managedBy"},
    ImmutableField{"batch", "Job", ".spec.successPolicy"},
    ImmutableField{"", "Pod", ".spec"},
    ImmutableField{"", "Service", ".spec.clusterIP"},
    ImmutableField{"", "Service", ".spec.clusterIPs"},
    ImmutableField{"", "Service", ".spec.ipFamilies", {}, Change::AskTheServer},
    ImmutableField{"", "Service", ".spec.type", {}, Change::AskTheServer},
    ImmutableField{"", "Service", ".spec.loadBalancerClass", {}, Change::AskTheServer},
    ImmutableField{"", "Service", ".spec.healthCheckNodePort", {}, Change::AskTheServer},
    ImmutableField{"",
                   "PersistentVolumeClaim",
                   ".spec",
                   {".spec.resources.requests", ".spec.volumeAttributesClassName"}},
    ImmutableField{"", "PersistentVolumeClaim", ".spec.resources.requests", {}, Change::AskTheServer},
    ImmutableField{"", "PersistentVolumeClaim", ".spec.volumeAttributesClassName", {}, Change::AskTheServer},
    ImmutableField{"", "PersistentVolume", ".spec", {}, Change::AskTheServer},
    ImmutableField{"", "Secret", ".type"},
    ImmutableField{"", "Secret", ".data", {}, Change::IfImmutable},
    ImmutableField{"", "Secret", ".immutable", {}, Change::IfImmutable},
    ImmutableField{"", "ConfigMap", ".data", {}, Change::IfImmutable},
    ImmutableField{"", "ConfigMap", ".binaryData", {}, Change::IfImmutable},
    ImmutableField{"", "ConfigMap", ".immutable", {}, Change::IfImmutable},
    ImmutableField{"", "ResourceQuota", ".spec.scopes"},
    ImmutableField{"rbac.authorization.k8s.io", "RoleBinding", ".roleRef"},
    ImmutableField{"rbac.authorization.k8s.io", "ClusterRoleBinding", ".roleRef"},
    ImmutableField{"storage.k8s.io", "StorageClass", ".parameters"},
    ImmutableField{"storage.k8s.io", "StorageClass", ".provisioner"},
    ImmutableField{"storage.k8s.io", "StorageClass", ".reclaimPolicy"},
    ImmutableField{"storage.k8s.io", "StorageClass", ".volumeBindingMode"},
    ImmutableField{"storage.k8s.io", "CSIDriver", ".spec", {}, Change::AskTheServer},
    ImmutableField{"storage.k8s.io", "VolumeAttachment", ".spec"},
    ImmutableField{"apiextensions.k8s.io", "CustomResourceDefinition", ".spec.scope"},
    ImmutableField{"apiextensions.k8s.io", "CustomResourceDefinition", ".spec.names.plural"},
    ImmutableField{"apiextensions.k8s.io", "CustomResourceDefinition", ".spec.names.kind"},
    ImmutableField{"scheduling.k8s.io", "PriorityClass", ".value"},
    ImmutableField{"scheduling.k8s.io", "PriorityClass", ".preemptionPolicy"},
    ImmutableField{"networking.k8s.io", "IngressClass", ".spec.controller"},
    ImmutableField{"node.k8s.io", "RuntimeClass", ".handler"},
    ImmutableField{"discovery.k8s.io", "EndpointSlice", ".addressType"},
    ImmutableField{"certificates.k8s.io", "CertificateSigningRequest", ".spec"},
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

bool hits(const ImmutableField& rule, std::string_view path) {
  if (!within(path, rule.path) && !within(rule.path, path)) return false;
  return std::ranges::none_of(rule.except,
                              [&](std::string_view free) { return !free.empty() && within(path, free); });
}

bool known(const GroupKind& kind) {
  const auto is = [&](std::string_view group, std::string_view name) {
    return kind.group == group && kind.kind == name;
  };
  return std::ranges::any_of(kImmutableFields,
                             [&](const ImmutableField& rule) { return is(rule.group, rule.kind); }) ||
         std::ranges::any_of(kFree, [&](const auto& free) { return is(free.first, free.second); });
}

}  // namespace

Immutability immutable_fields(const ObjectKey& key, const Value& live,
                              const std::vector<FieldDifference>& differences) {
  Immutability result;
  const Value* flag = live.find("immutable");
  const bool sealed = flag != nullptr && *flag == Value(true);
  const bool known_kind = known(key.group_kind);
  // Of a list that is written as a whole the server fills in defaults again: they are to blame only where
  // nothing else is.
  std::vector<std::string> may_be_defaults;
  for (const FieldDifference& difference : differences) {
    if (within(difference.path, ".metadata")) continue;
    if (!known_kind) result.ask = true;
    for (const ImmutableField& rule : kImmutableFields) {
      if (key.group_kind != GroupKind{std::string(rule.group), std::string(rule.kind)}) continue;
      if (!hits(rule, difference.path)) continue;
      if (rule.change == Change::AskTheServer) {
        result.ask = true;
      } else if (rule.change == Change::Never || sealed) {
        const bool may_be_default = difference.removal() && difference.in_whole;
        (may_be_default ? may_be_defaults : result.fields).push_back(difference.path);
        break;
      }
    }
  }
  if (result.fields.empty()) result.fields = std::move(may_be_defaults);
  return result;
}

}  // namespace mist::apply
