#include "apply/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"

namespace mist::apply {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Value yaml(std::string_view text) {
  auto value = encoding::parse_yaml(text);
  EXPECT_TRUE(value.ok()) << value.error().to_line();
  return *std::move(value);
}

std::vector<std::string> paths(std::string_view desired, std::string_view live) {
  std::vector<std::string> result;
  for (const FieldDifference& difference : differences(yaml(desired), yaml(live), "mistctl"))
    result.push_back(difference.path);
  return result;
}

constexpr std::string_view kLive = R"(
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  uid: u1
  generation: 3
  managedFields:
  - manager: mistctl
    operation: Apply
    fieldsV1:
      f:spec:
        f:replicas: {}
        f:template:
          f:spec:
            f:containers:
              k:{"name":"web"}:
                .: {}
                f:name: {}
                f:image: {}
                f:resources: {f:limits: {f:cpu: {}}}
                f:ports:
                  k:{"containerPort":80,"protocol":"TCP"}: {.: {}, f:containerPort: {}}
  - manager: other
    operation: Apply
    fieldsV1: {f:spec: {f:paused: {}}}
spec:
  replicas: 2
  paused: true
  template:
    spec:
      containers:
      - name: sidecar
        image: injected
      - name: web
        image: nginx:1
        imagePullPolicy: IfNotPresent
        resources: {limits: {cpu: 500m}}
        ports: [{containerPort: 80, protocol: TCP}]
status: {replicas: 2}
)";

TEST(Differences, DefaultsInjectionsAndOtherManagersAreNone) {
  EXPECT_THAT(paths(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, creationTimestamp: null}
spec:
  replicas: 2
  strategy: {}
  template: {spec: {containers: [{name: web, image: "nginx:1", resources: {limits: {cpu: 0.5}}, ports: [{containerPort: 80}]}]}}
)",
                    kLive),
              IsEmpty());
}

TEST(Differences, NameTheFieldInsideAKeyedList) {
  EXPECT_THAT(paths(R"(
spec:
  replicas: 3
  template: {spec: {containers: [{name: web, image: "nginx:2", resources: {limits: {cpu: 500m}}, ports: [{containerPort: 80}]}]}}
)",
                    kLive),
              ElementsAre(".spec.replicas", ".spec.template.spec.containers[name=web].image"));
}

TEST(Differences, WhatWeOwnAndNoLongerWantIsOne) {
  EXPECT_THAT(
      paths("spec: {replicas: 2, template: {spec: {containers: [{name: web, image: 'nginx:1'}]}}}", kLive),
      ElementsAre(".spec.template.spec.containers[name=web].resources",
                  ".spec.template.spec.containers[name=web].ports"));
}

TEST(Differences, RenamedContainerIsARemovalAndAnAddition) {
  EXPECT_THAT(
      paths("spec: {replicas: 2, template: {spec: {containers: [{name: app, image: 'nginx:1'}]}}}", kLive),
      ElementsAre(".spec.template.spec.containers[name=web]", ".spec.template.spec.containers[0]"));
}

TEST(Differences, AtomicListsCompareElementByElement) {
  constexpr std::string_view kAtomic =
      "spec: {args: [a, b]}\nmetadata: {managedFields: [{manager: mistctl, operation: Apply, fieldsV1: "
      "{f:spec: {f:args: {}}}}]}";
  EXPECT_THAT(paths("spec: {args: [a, b]}", kAtomic), IsEmpty());
  EXPECT_THAT(paths("spec: {args: [a, c]}", kAtomic), ElementsAre(".spec.args[1]"));
  EXPECT_THAT(paths("spec: {args: [a]}", kAtomic), ElementsAre(".spec.args"));
}

TEST(Differences, SetsCompareWithoutOrder) {
  constexpr std::string_view kSet =
      "metadata: {finalizers: [b, a, theirs], managedFields: [{manager: mistctl, operation: Apply, fieldsV1: "
      "{f:metadata: {f:finalizers: {'v:\"a\"': {}, 'v:\"b\"': {}}}}}]}";
  EXPECT_THAT(paths("metadata: {finalizers: [a, b]}", kSet), IsEmpty());
  EXPECT_THAT(paths("metadata: {finalizers: [a]}", kSet), ElementsAre(".metadata.finalizers[]"));
}

TEST(Differences, EmptiedMapRemovesWhatWeOwned) {
  constexpr std::string_view kData =
      "data: {a: '1', theirs: '2'}\nmetadata: {managedFields: [{manager: mistctl, operation: Apply, "
      "fieldsV1: {f:data: {f:a: {}}}}]}";
  EXPECT_THAT(paths("data: {}", kData), ElementsAre(".data.a"));
  EXPECT_THAT(paths("metadata: {}", kData), ElementsAre(".data"));
}

TEST(Differences, QuantitiesCountOnlyWhereQuantitiesStand) {
  EXPECT_THAT(paths("data: {memory: 1024Mi}", "data: {memory: 1Gi}"), ElementsAre(".data.memory"));
  EXPECT_THAT(paths("spec: {resources: {requests: {memory: 1024Mi}}}",
                    "spec: {resources: {requests: {memory: 1Gi}}}"),
              IsEmpty());
}

}  // namespace
}  // namespace mist::apply
