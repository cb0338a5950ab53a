#include "apply/fields/stored_forms.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "apimachinery/built_in_groups.h"
#include "apimachinery/quantity.h"
#include "base/clock.h"
#include "base/text.h"
#include "encoding/json.h"

namespace mist::apply {

using encoding::Value;
using stored_forms::Kind;
using stored_forms::Row;

namespace {

// Kinds whose schemas lead to a place of note; the type of each has its name.
constexpr std::array kKinds{
    Kind{"", "ConfigMap"},
    Kind{"", "Event"},
    Kind{"", "LimitRange"},
    Kind{"", "Node"},
    Kind{"", "PersistentVolume"},
    Kind{"", "PersistentVolumeClaim"},
    Kind{"", "Pod"},
    Kind{"", "PodTemplate"},
    Kind{"", "ReplicationController"},
    Kind{"", "ResourceQuota"},
    Kind{"", "Secret"},
    Kind{"admissionregistration.k8s.io", "MutatingWebhookConfiguration"},
    Kind{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"},
    Kind{"apiextensions.k8s.io", "CustomResourceDefinition"},
    Kind{"apiregistration.k8s.io", "APIService"},
    Kind{"apps", "DaemonSet"},
    Kind{"apps", "Deployment"},
    Kind{"apps", "ReplicaSet"},
    Kind{"apps", "StatefulSet"},
    Kind{"autoscaling", "HorizontalPodAutoscaler"},
    Kind{"batch", "CronJob"},
    Kind{"batch", "Job"},
    Kind{"certificates.k8s.io", "CertificateSigningRequest"},
    Kind{"certificates.k8s.io", "PodCertificateRequest"},
    Kind{"coordination.k8s.io", "Lease"},
    Kind{"coordination.k8s.io", "LeaseCandidate"},
    Kind{"events.k8s.io", "Event"},
    Kind{"networking.k8s.io", "NetworkPolicy"},
    Kind{"node.k8s.io", "RuntimeClass"},
    Kind{"rbac.authorization.k8s.io", "ClusterRole"},
    Kind{"rbac.authorization.k8s.io", "ClusterRoleBinding"},
    Kind{"rbac.authorization.k8s.io", "Role"},
    Kind{"rbac.authorization.k8s.io", "RoleBinding"},
    Kind{"resource.k8s.io", "DeviceTaintRule"},
    Kind{"resource.k8s.io", "ResourceClaim"},
    Kind{"resource.k8s.io", "ResourceClaimTemplate"},
    Kind{"resource.k8s.io", "ResourceSlice"},
    Kind{"storage.k8s.io", "CSIStorageCapacity"},
    Kind{"storage.k8s.io", "VolumeAttachment"},
};
static_assert(std::ranges::is_sorted(kKinds));

// By type and member. Types of the same name in two groups or versions have one set of rows: where one of
// them lacks a member, nothing is written there. `status` is the server's, and isn't here.
constexpr std::array kRows{
    Row{"APIService", "spec", "APIServiceSpec"},
    Row{"APIServiceSpec", "caBundle", "Bytes"},
    Row{"BasicDevice", "capacity", "DeviceCapacity", Row::kMap},
    Row{"BasicDevice", "consumesCounters", "DeviceCounterConsumption"},
    Row{"BasicDevice", "nodeAllocatableResourceMappings", "NodeAllocatableResourceMapping", Row::kMap},
    Row{"BasicDevice", "taints", "DeviceTaint"},
    Row{"CSIStorageCapacity", "capacity", "Quantity"},
    Row{"CSIStorageCapacity", "maximumVolumeSize", "Quantity"},
    Row{"CapacityRequestPolicy", "default", "Quantity"},
    Row{"CapacityRequestPolicy", "validRange", "CapacityRequestPolicyRange"},
    Row{"CapacityRequestPolicy", "validValues", "Quantity"},
    Row{"CapacityRequestPolicyRange", "max", "Quantity"},
    Row{"CapacityRequestPolicyRange", "min", "Quantity"},
    Row{"CapacityRequestPolicyRange", "step", "Quantity"},
    Row{"CapacityRequirements", "requests", "Quantity", Row::kMap},
    Row{"CertificateSigningRequest", "spec", "CertificateSigningRequestSpec"},
    Row{"CertificateSigningRequestSpec", "request", "Bytes"},
    Row{"ClusterRole", "rules", "List"},
    Row{"ClusterRoleBinding", "subjects", "List"},
    Row{"ConfigMap", "binaryData", "Bytes", Row::kMap},
    Row{"Container", "env", "EnvVar"},
    Row{"Container", "resources", "ResourceRequirements"},
    Row{"ContainerResourceMetricSource", "target", "MetricTarget"},
    Row{"Counter", "value", "Quantity"},
    Row{"CounterSet", "counters", "Counter", Row::kMap},
    Row{"CronJob", "spec", "CronJobSpec"},
    Row{"CronJobSpec", "jobTemplate", "JobTemplateSpec"},
    Row{"CustomResourceConversion", "webhook", "WebhookConversion"},
    Row{"CustomResourceDefinition", "spec", "CustomResourceDefinitionSpec"},
    Row{"CustomResourceDefinitionSpec", "conversion", "CustomResourceConversion"},
    Row{"DaemonSet", "spec", "DaemonSetSpec"},
    Row{"DaemonSetSpec", "template", "PodTemplateSpec"},
    Row{"Deployment", "spec", "DeploymentSpec"},
    Row{"DeploymentSpec", "template", "PodTemplateSpec"},
    Row{"Device", "basic", "BasicDevice"},
    Row{"Device", "capacity", "DeviceCapacity", Row::kMap},
    Row{"Device", "consumesCounters", "DeviceCounterConsumption"},
    Row{"Device", "nodeAllocatableResourceMappings", "NodeAllocatableResourceMapping", Row::kMap},
    Row{"Device", "taints", "DeviceTaint"},
    Row{"DeviceCapacity", "requestPolicy", "CapacityRequestPolicy"},
    Row{"DeviceCapacity", "value", "Quantity"},
    Row{"DeviceClaim", "requests", "DeviceRequest"},
    Row{"DeviceCounterConsumption", "counters", "Counter", Row::kMap},
    Row{"DeviceRequest", "capacity", "CapacityRequirements"},
    Row{"DeviceRequest", "exactly", "ExactDeviceRequest"},
    Row{"DeviceRequest", "firstAvailable", "DeviceSubRequest"},
    Row{"DeviceSubRequest", "capacity", "CapacityRequirements"},
    Row{"DeviceTaint", "timeAdded", "Time"},
    Row{"DeviceTaintRule", "spec", "DeviceTaintRuleSpec"},
    Row{"DeviceTaintRuleSpec", "taint", "DeviceTaint"},
    Row{"DownwardAPIProjection", "items", "DownwardAPIVolumeFile"},
    Row{"DownwardAPIVolumeFile", "resourceFieldRef", "ResourceFieldSelector"},
    Row{"DownwardAPIVolumeSource", "items", "DownwardAPIVolumeFile"},
    Row{"EmptyDirVolumeSource", "sizeLimit", "Quantity"},
    Row{"EnvVar", "valueFrom", "EnvVarSource"},
    Row{"EnvVarSource", "resourceFieldRef", "ResourceFieldSelector"},
    Row{"EphemeralContainer", "env", "EnvVar"},
    Row{"EphemeralContainer", "resources", "ResourceRequirements"},
    Row{"EphemeralVolumeSource", "volumeClaimTemplate", "PersistentVolumeClaimTemplate"},
    Row{"Event", "deprecatedFirstTimestamp", "Time"},
    Row{"Event", "deprecatedLastTimestamp", "Time"},
    Row{"Event", "eventTime", "Time"},
    Row{"Event", "firstTimestamp", "Time"},
    Row{"Event", "lastTimestamp", "Time"},
    Row{"Event", "series", "EventSeries"},
    Row{"EventSeries", "lastObservedTime", "Time"},
    Row{"ExactDeviceRequest", "capacity", "CapacityRequirements"},
    Row{"ExternalMetricSource", "target", "MetricTarget"},
    Row{"HPAScalingRules", "tolerance", "Quantity"},
    Row{"HorizontalPodAutoscaler", "spec", "HorizontalPodAutoscalerSpec"},
    Row{"HorizontalPodAutoscalerBehavior", "scaleDown", "HPAScalingRules"},
    Row{"HorizontalPodAutoscalerBehavior", "scaleUp", "HPAScalingRules"},
    Row{"HorizontalPodAutoscalerSpec", "behavior", "HorizontalPodAutoscalerBehavior"},
    Row{"HorizontalPodAutoscalerSpec", "metrics", "MetricSpec"},
    Row{"Job", "spec", "JobSpec"},
    Row{"JobSpec", "template", "PodTemplateSpec"},
    Row{"JobTemplateSpec", "metadata", "ObjectMeta"},
    Row{"JobTemplateSpec", "spec", "JobSpec"},
    Row{"Lease", "spec", "LeaseSpec"},
    Row{"LeaseCandidate", "spec", "LeaseCandidateSpec"},
    Row{"LeaseCandidateSpec", "pingTime", "Time"},
    Row{"LeaseCandidateSpec", "renewTime", "Time"},
    Row{"LeaseSpec", "acquireTime", "Time"},
    Row{"LeaseSpec", "renewTime", "Time"},
    Row{"LimitRange", "spec", "LimitRangeSpec"},
    Row{"LimitRangeItem", "default", "Quantity", Row::kMap},
    Row{"LimitRangeItem", "defaultRequest", "Quantity", Row::kMap},
    Row{"LimitRangeItem", "max", "Quantity", Row::kMap},
    Row{"LimitRangeItem", "maxLimitRequestRatio", "Quantity", Row::kMap},
    Row{"LimitRangeItem", "min", "Quantity", Row::kMap},
    Row{"LimitRangeSpec", "limits", "LimitRangeItem"},
    Row{"MetricSpec", "containerResource", "ContainerResourceMetricSource"},
    Row{"MetricSpec", "external", "ExternalMetricSource"},
    Row{"MetricSpec", "object", "ObjectMetricSource"},
    Row{"MetricSpec", "pods", "PodsMetricSource"},
    Row{"MetricSpec", "resource", "ResourceMetricSource"},
    Row{"MetricTarget", "averageValue", "Quantity"},
    Row{"MetricTarget", "value", "Quantity"},
    Row{"MutatingWebhook", "clientConfig", "WebhookClientConfig"},
    Row{"MutatingWebhookConfiguration", "webhooks", "MutatingWebhook"},
    Row{"NetworkPolicy", "spec", "NetworkPolicySpec"},
    Row{"NetworkPolicySpec", "egress", "List"},
    Row{"NetworkPolicySpec", "ingress", "List"},
    Row{"Node", "spec", "NodeSpec"},
    Row{"NodeAllocatableResourceMapping", "allocationMultiplier", "Quantity"},
    Row{"NodeSpec", "taints", "Taint"},
    Row{"ObjectMeta", "creationTimestamp", "Time"},
    Row{"ObjectMeta", "deletionTimestamp", "Time"},
    Row{"ObjectMetricSource", "target", "MetricTarget"},
    Row{"Overhead", "podFixed", "Quantity", Row::kMap},
    Row{"PersistentVolume", "spec", "PersistentVolumeSpec"},
    Row{"PersistentVolumeClaim", "metadata", "ObjectMeta"},
    Row{"PersistentVolumeClaim", "spec", "PersistentVolumeClaimSpec"},
    Row{"PersistentVolumeClaimSpec", "resources", "VolumeResourceRequirements"},
    Row{"PersistentVolumeClaimTemplate", "metadata", "ObjectMeta"},
    Row{"PersistentVolumeClaimTemplate", "spec", "PersistentVolumeClaimSpec"},
    Row{"PersistentVolumeSpec", "capacity", "Quantity", Row::kMap},
    Row{"Pod", "spec", "PodSpec"},
    Row{"PodCertificateRequest", "spec", "PodCertificateRequestSpec"},
    Row{"PodCertificateRequestSpec", "pkixPublicKey", "Bytes"},
    Row{"PodCertificateRequestSpec", "proofOfPossession", "Bytes"},
    Row{"PodCertificateRequestSpec", "stubPKCS10Request", "Bytes"},
    Row{"PodSpec", "containers", "Container"},
    Row{"PodSpec", "ephemeralContainers", "EphemeralContainer"},
    Row{"PodSpec", "initContainers", "Container"},
    Row{"PodSpec", "overhead", "Quantity", Row::kMap},
    Row{"PodSpec", "resources", "ResourceRequirements"},
    Row{"PodSpec", "volumes", "Volume"},
    Row{"PodTemplate", "template", "PodTemplateSpec"},
    Row{"PodTemplateSpec", "metadata", "ObjectMeta"},
    Row{"PodTemplateSpec", "spec", "PodSpec"},
    Row{"PodsMetricSource", "target", "MetricTarget"},
    Row{"ProjectedVolumeSource", "sources", "VolumeProjection"},
    Row{"ReplicaSet", "spec", "ReplicaSetSpec"},
    Row{"ReplicaSetSpec", "template", "PodTemplateSpec"},
    Row{"ReplicationController", "spec", "ReplicationControllerSpec"},
    Row{"ReplicationControllerSpec", "template", "PodTemplateSpec"},
    Row{"ResourceClaim", "spec", "ResourceClaimSpec"},
    Row{"ResourceClaimSpec", "devices", "DeviceClaim"},
    Row{"ResourceClaimTemplate", "spec", "ResourceClaimTemplateSpec"},
    Row{"ResourceClaimTemplateSpec", "metadata", "ObjectMeta"},
    Row{"ResourceClaimTemplateSpec", "spec", "ResourceClaimSpec"},
    Row{"ResourceFieldSelector", "divisor", "Quantity"},
    Row{"ResourceMetricSource", "target", "MetricTarget"},
    Row{"ResourceQuota", "spec", "ResourceQuotaSpec"},
    Row{"ResourceQuotaSpec", "hard", "Quantity", Row::kMap},
    Row{"ResourceRequirements", "limits", "Quantity", Row::kMap},
    Row{"ResourceRequirements", "requests", "Quantity", Row::kMap},
    Row{"ResourceSlice", "spec", "ResourceSliceSpec"},
    Row{"ResourceSliceSpec", "devices", "Device"},
    Row{"ResourceSliceSpec", "sharedCounters", "CounterSet"},
    Row{"Role", "rules", "List"},
    Row{"RoleBinding", "subjects", "List"},
    Row{"RuntimeClass", "overhead", "Overhead"},
    Row{"Secret", "data", "Bytes", Row::kMap},
    Row{"StatefulSet", "spec", "StatefulSetSpec"},
    Row{"StatefulSetSpec", "template", "PodTemplateSpec"},
    Row{"StatefulSetSpec", "volumeClaimTemplates", "PersistentVolumeClaim"},
    Row{"Taint", "timeAdded", "Time"},
    Row{"ValidatingWebhook", "clientConfig", "WebhookClientConfig"},
    Row{"ValidatingWebhookConfiguration", "webhooks", "ValidatingWebhook"},
    Row{"Volume", "downwardAPI", "DownwardAPIVolumeSource"},
    Row{"Volume", "emptyDir", "EmptyDirVolumeSource"},
    Row{"Volume", "ephemeral", "EphemeralVolumeSource"},
    Row{"Volume", "projected", "ProjectedVolumeSource"},
    Row{"VolumeAttachment", "spec", "VolumeAttachmentSpec"},
    Row{"VolumeAttachmentSource", "inlineVolumeSpec", "PersistentVolumeSpec"},
    Row{"VolumeAttachmentSpec", "source", "VolumeAttachmentSource"},
    Row{"VolumeProjection", "downwardAPI", "DownwardAPIProjection"},
    Row{"VolumeResourceRequirements", "limits", "Quantity", Row::kMap},
    Row{"VolumeResourceRequirements", "requests", "Quantity", Row::kMap},
    Row{"WebhookClientConfig", "caBundle", "Bytes"},
    Row{"WebhookConversion", "clientConfig", "WebhookClientConfig"},
};
constexpr bool before(const Row& a, const Row& b) {
  return a.type != b.type ? a.type < b.type : a.member < b.member;
}
static_assert(std::ranges::is_sorted(kRows, before));

std::string text_of(const Value& value) {
  return value.is_string() ? value.as_string() : encoding::to_json(value);
}

bool same_bytes(const std::string& a, const std::string& b) {
  std::string compact = a, first, second;
  std::erase_if(compact, [](char c) { return c == '\n' || c == '\r'; });
  return base64_decode(compact, first) && base64_decode(b, second) && first == second;
}

bool same_whole_number(const Value& whole, double other) {
  if (std::trunc(other) != other || other < -0x1p63 || other >= 0x1p64) return false;
  if (whole.is_int()) return other < 0x1p63 && static_cast<std::int64_t>(other) == whole.as_int();
  return other >= 0 && static_cast<std::uint64_t>(other) == whole.as_uint();
}

void drop_nulls_below(Value& value, const TypedPlace& place) {
  if (value.is_array()) {
    for (Value& item : value.as_array()) drop_nulls_below(item, place);
    return;
  }
  if (!value.is_object()) return;
  std::erase_if(value.as_object(), [&](const Value::Member& member) {
    return member.value.is_null() && place.member(member.key).form() != StoredForm::List;
  });
  for (Value::Member& member : value.as_object()) {
    const TypedPlace below = place.member(member.key);
    if (member.value.is_null()) {
      const encoding::Position position = member.value.position();
      member.value = Value::array();
      member.value.set_position(position);
    } else {
      drop_nulls_below(member.value, below);
    }
  }
}

}  // namespace

TypedPlace TypedPlace::object(std::string_view group, std::string_view kind) {
  return std::ranges::binary_search(kKinds, Kind{group, kind}) ? TypedPlace(kind, false) : TypedPlace();
}

TypedPlace TypedPlace::member(std::string_view name) const {
  if (type_.empty()) return {};
  if (map_) return {type_, false};
  const Row wanted{type_, name, {}};
  const auto* const row = std::ranges::lower_bound(kRows, wanted, before);
  if (row == kRows.end() || row->type != type_ || row->member != name) return {};
  return {row->target, row->map};
}

StoredForm TypedPlace::form() const {
  if (map_) return StoredForm::Json;
  if (type_ == "Quantity") return StoredForm::Quantity;
  if (type_ == "Bytes") return StoredForm::Bytes;
  if (type_ == "Time") return StoredForm::Time;
  if (type_ == "List") return StoredForm::List;
  return StoredForm::Json;
}

void drop_nulls(Value& object) {
  const std::string_view version = object.string_at("apiVersion"), kind = object.string_at("kind");
  const auto slash = version.find('/');
  const std::string_view group =
      slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
  if (!apimachinery::is_built_in_group(group)) return;
  drop_nulls_below(object, TypedPlace::object(group, kind));
  if (group == "rbac.authorization.k8s.io" && kind == "ClusterRole") {
    const Value* aggregation = object.find("aggregationRule");
    const Value* rules = object.find("rules");
    if (aggregation != nullptr && !aggregation->empty() && rules != nullptr && rules->empty())
      object.erase("rules");
  }
}

bool stored_as(StoredForm form, const Value& wanted, const Value& stored) {
  if (!stored.is_string()) return false;
  switch (form) {
    case StoredForm::Quantity:
      return (wanted.is_string() || wanted.is_number()) &&
             apimachinery::quantity_stored_as(text_of(wanted), stored.as_string());
    case StoredForm::Bytes:
      return wanted.is_string() && same_bytes(wanted.as_string(), stored.as_string());
    case StoredForm::Time: {
      if (!wanted.is_string()) return false;
      const auto a = parse_time(wanted.as_string()), b = parse_time(stored.as_string());
      return a && b && *a == *b;
    }
    case StoredForm::Json:
    case StoredForm::List:
      return false;
  }
  return false;
}

bool same_number(const Value& a, const Value& b) {
  if (a.kind() == b.kind()) return a == b;
  if (a.kind() == Value::Kind::Double) return same_whole_number(b, a.as_double());
  return b.kind() == Value::Kind::Double && same_whole_number(a, b.as_double());
}

namespace stored_forms {
std::span<const Kind> kinds() { return kKinds; }
std::span<const Row> rows() { return kRows; }
}  // namespace stored_forms

}  // namespace mist::apply
