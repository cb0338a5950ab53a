#include "apply/fields/immutable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::apply {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Immutability of(std::string group, std::string kind, std::vector<std::string> paths,
                const Value& live = Value::object()) {
  std::vector<FieldDifference> found;
  for (std::string& path : paths) found.push_back({.path = std::move(path)});
  return immutable_fields({{std::move(group), std::move(kind)}, "shop", "a"}, live, found);
}

TEST(Immutable, StatefulSetsLetSomeFieldsChange) {
  EXPECT_THAT(
      of("apps", "StatefulSet",
         {".spec.replicas", ".spec.template.spec.containers[name=a].image", ".metadata.labels.a",
          ".spec.serviceName", ".spec.volumeClaimTemplates[0].spec.resources.requests.storage"})
          .fields,
      ElementsAre(".spec.serviceName", ".spec.volumeClaimTemplates[0].spec.resources.requests.storage"));
  EXPECT_THAT(of("apps", "StatefulSet", {".spec.templateX"}).fields, ElementsAre(".spec.templateX"));
}

TEST(Immutable, WhatHoldsAnImmutableFieldCountsToo) {
  EXPECT_THAT(of("apps", "Deployment", {".spec"}).fields, ElementsAre(".spec"));
  EXPECT_THAT(of("apps", "Deployment", {".spec.selector.matchLabels.app", ".spec.replicas"}).fields,
              ElementsAre(".spec.selector.matchLabels.app"));
  EXPECT_THAT(of("apps", "Deployment", {".spec.selectors"}).fields, IsEmpty());
}

TEST(Immutable, DataIsUntilItIsSealed) {
  EXPECT_THAT(of("", "ConfigMap", {".data.a"}).fields, IsEmpty());
  EXPECT_THAT(of("", "ConfigMap", {".data.a"}, Value::object({{"immutable", true}})).fields,
              ElementsAre(".data.a"));
  EXPECT_THAT(of("", "Secret", {".type"}).fields, ElementsAre(".type"));
}

TEST(Immutable, KindsThatOnlyTheServerKnowsAreAskedFor) {
  EXPECT_TRUE(of("example.com", "Widget", {".spec.size"}).ask);
  EXPECT_FALSE(of("example.com", "Widget", {".metadata.labels.a"}).ask);
  EXPECT_TRUE(of("", "PersistentVolumeClaim", {".spec.resources.requests.storage"}).ask);
  EXPECT_FALSE(of("networking.k8s.io", "Ingress", {".spec.rules[0].host"}).ask);
}

}  // namespace
}  // namespace mist::apply
