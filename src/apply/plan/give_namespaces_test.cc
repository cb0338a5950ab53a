#include "apply/plan/give_namespaces.h"

#include <gtest/gtest.h>

#include "testing/fake_cluster.h"
#include "testing/yaml.h"

namespace mist::apply {
namespace {

using testing::yaml;

TEST(GiveNamespaces, OnlyToNamespacedKindsThatNameNone) {
  testing::FakeCluster cluster;
  encoding::Value made = yaml(
      "[{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, "
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: other}}, "
      "{apiVersion: v1, kind: Namespace, metadata: {name: c}}]");
  EXPECT_TRUE(give_namespaces(made, "shop", cluster, Context()).empty());
  EXPECT_EQ(made, yaml("[{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}, "
                       "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: other}}, "
                       "{apiVersion: v1, kind: Namespace, metadata: {name: c}}]"));
  encoding::Value late = yaml(
      "[{apiVersion: example.com/v1, kind: Late, metadata: {name: a}}, "
      "{apiVersion: example.com/v1, kind: Later, metadata: {name: a, namespace: other}}, "
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]");
  EXPECT_EQ(give_namespaces(late, "shop", cluster, Context()),
            (std::set<apimachinery::GroupKind>{{"example.com", "Late"}}));
}

}  // namespace
}  // namespace mist::apply
