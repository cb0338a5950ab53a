#include "apimachinery/built_in_groups.h"

#include <gtest/gtest.h>

#include <string>

namespace mist::apimachinery {
namespace {

TEST(BuiltInGroups, KindsThatBelongToTheClusterHaveNoNamespace) {
  const GroupKind kinds[] = {
      {"", "Node"},
      {"authentication.k8s.io", "TokenReview"},
      {"authorization.k8s.io", "SelfSubjectAccessReview"},
      {"authorization.k8s.io", "SubjectAccessReview"},
      {"certificates.k8s.io", "ClusterTrustBundle"},
      {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"},
      {"internal.apiserver.k8s.io", "StorageVersion"},
      {"networking.k8s.io", "IPAddress"},
      {"networking.k8s.io", "ServiceCIDR"},
      {"policy", "PodSecurityPolicy"},
      {"resource.k8s.io", "DeviceClass"},
      {"resource.k8s.io", "DeviceTaintRule"},
      {"resource.k8s.io", "ResourceSlice"},
      {"storage.k8s.io", "VolumeAttributesClass"},
      {"storagemigration.k8s.io", "StorageVersionMigration"},
  };
  for (const GroupKind& kind : kinds) {
    EXPECT_TRUE(is_cluster_scoped(kind)) << kind.group << " " << kind.kind;
    EXPECT_TRUE(is_built_in_group(kind.group)) << kind.group;
  }
}

TEST(BuiltInGroups, OthersHaveOne) {
  const GroupKind kinds[] = {
      {"", "Pod"},
      {"authorization.k8s.io", "LocalSubjectAccessReview"},
      {"certificates.k8s.io", "PodCertificateRequest"},
      {"example.com", "ClusterRole"},
      {"policy", "PodDisruptionBudget"},
      {"resource.k8s.io", "ResourceClaim"},
      {"storage.k8s.io", "CSIStorageCapacity"},
      {"storage.k8s.io", ""},
  };
  for (const GroupKind& kind : kinds) EXPECT_FALSE(is_cluster_scoped(kind)) << kind.group << " " << kind.kind;
}

}  // namespace
}  // namespace mist::apimachinery
