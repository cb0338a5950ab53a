#include "apimachinery/built_in_groups.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mist::apimachinery {
namespace {

constexpr std::array<std::string_view, 24> kBuiltInGroups{"",
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
                                                          "networking.k8s.io",
                                                          "node.k8s.io",
                                                          "policy",
                                                          "rbac.authorization.k8s.io",
                                                          "resource.k8s.io",
                                                          "scheduling.k8s.io",
                                                          "storage.k8s.io",
                                                          "storagemigration.k8s.io"};
static_assert(std::ranges::is_sorted(kBuiltInGroups));

constexpr std::array<std::pair<std::string_view, std::string_view>, 23> kClusterScoped{{
    {"", "Namespace"},
    {"", "Node"},
    {"", "PersistentVolume"},
    {"", "ComponentStatus"},
    {"rbac.authorization.k8s.io", "ClusterRole"},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding"},
    {"apiextensions.k8s.io", "CustomResourceDefinition"},
    {"apiregistration.k8s.io", "APIService"},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration"},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"},
    {"admissionregistration.k8s.io", "MutatingAdmissionPolicy"},
    {"admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"},
    {"scheduling.k8s.io", "PriorityClass"},
    {"storage.k8s.io", "StorageClass"},
    {"storage.k8s.io", "VolumeAttachment"},
    {"storage.k8s.io", "CSIDriver"},
    {"storage.k8s.io", "CSINode"},
    {"node.k8s.io", "RuntimeClass"},
    {"networking.k8s.io", "IngressClass"},
    {"certificates.k8s.io", "CertificateSigningRequest"},
    {"flowcontrol.apiserver.k8s.io", "FlowSchema"},
}};

}  // namespace

bool is_built_in_group(std::string_view group) { return std::ranges::binary_search(kBuiltInGroups, group); }

bool is_cluster_scoped(const GroupKind& kind) {
  return std::ranges::find(kClusterScoped, std::pair<std::string_view, std::string_view>(
                                               kind.group, kind.kind)) != kClusterScoped.end();
}

}  // namespace mist::apimachinery
