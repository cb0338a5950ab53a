#include "apimachinery/built_in_groups.h"

#include <algorithm>
#include <array>

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

}  // namespace

bool is_built_in_group(std::string_view group) { return std::ranges::binary_search(kBuiltInGroups, group); }

}  // namespace mist::apimachinery
