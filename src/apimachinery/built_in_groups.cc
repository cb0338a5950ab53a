#include "apimachinery/built_in_groups.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mist::apimachinery {
namespace {

// tools/kube-schemas/make.py holds both lists against the paths of each Kubernetes that it reads. Kinds that
// newer ones no longer have stay.
constexpr std::array<std::string_view, 25> kBuiltInGroups{"",
                                                          "admissionregistration.k8s.io",
                                                          "apiextensions.k8s.io",
                                                          "apiregistration.k8s.io",
                                                          "apps",
                                                          "authentication.k8s.io",
                                                          "authorization.k8s.io",
                                                          "autoscaling",
                                                          "batch",
                                                          "certificates.k8s.io",
                                                          "coordination.k8s.io",
                                                          "discovery.k8s.io",
                                                          "events.k8s.io",
                                                          "extensions",
                                                          "flowcontrol.apiserver.k8s.io",
                                                          "internal.apiserver.k8s.io",
                                                          "lifecycle.k8s.io",
                                                          "networking.k8s.io",
                                                          "node.k8s.io",
                                                          "policy",
                                                          "rbac.authorization.k8s.io",
                                                          "resource.k8s.io",
                                                          "scheduling.k8s.io",
                                                          "storage.k8s.io",
                                                          "storagemigration.k8s.io"};
static_assert(std::ranges::is_sorted(kBuiltInGroups));

using Scoped = std::pair<std::string_view, std::string_view>;  // a group and a kind of it

constexpr std::array<Scoped, 42> kClusterScoped{{
    {"", "ComponentStatus"},
    {"", "Namespace"},
    {"", "Node"},
    {"", "PersistentVolume"},
    {"admissionregistration.k8s.io", "MutatingAdmissionPolicy"},
    {"admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"},
    {"apiextensions.k8s.io", "CustomResourceDefinition"},
    {"apiregistration.k8s.io", "APIService"},
    {"authentication.k8s.io", "SelfSubjectReview"},
    {"authentication.k8s.io", "TokenReview"},
    {"authorization.k8s.io", "SelfSubjectAccessReview"},
    {"authorization.k8s.io", "SelfSubjectRulesReview"},
    {"authorization.k8s.io", "SubjectAccessReview"},
    {"certificates.k8s.io", "CertificateSigningRequest"},
    {"certificates.k8s.io", "ClusterTrustBundle"},
    {"extensions", "PodSecurityPolicy"},
    {"flowcontrol.apiserver.k8s.io", "FlowSchema"},
    {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"},
    {"internal.apiserver.k8s.io", "StorageVersion"},
    {"networking.k8s.io", "IPAddress"},
    {"networking.k8s.io", "IngressClass"},
    {"networking.k8s.io", "ServiceCIDR"},
    {"node.k8s.io", "RuntimeClass"},
    {"policy", "PodSecurityPolicy"},
    {"rbac.authorization.k8s.io", "ClusterRole"},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding"},
    {"resource.k8s.io", "DeviceClass"},
    {"resource.k8s.io", "DeviceTaintRule"},
    {"resource.k8s.io", "ResourceClass"},
    {"resource.k8s.io", "ResourcePoolStatusRequest"},
    {"resource.k8s.io", "ResourceSlice"},
    {"scheduling.k8s.io", "PriorityClass"},
    {"storage.k8s.io", "CSIDriver"},
    {"storage.k8s.io", "CSINode"},
    {"storage.k8s.io", "StorageClass"},
    {"storage.k8s.io", "VolumeAttachment"},
    {"storage.k8s.io", "VolumeAttributesClass"},
    {"storagemigration.k8s.io", "StorageVersionMigration"},
}};
static_assert(std::ranges::is_sorted(kClusterScoped));

}  // namespace

bool is_built_in_group(std::string_view group) { return std::ranges::binary_search(kBuiltInGroups, group); }

bool is_cluster_scoped(const GroupKind& kind) {
  return std::ranges::binary_search(kClusterScoped, Scoped(kind.group, kind.kind));
}

}  // namespace mist::apimachinery
