#include "apply/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::apply {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::yaml;

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

TEST(Differences, SetsCompareByValueAndOrder) {
  constexpr std::string_view kSet =
      "metadata: {finalizers: [b, a, theirs], managedFields: [{manager: mistctl, operation: Apply, fieldsV1: "
      "{f:metadata: {f:finalizers: {'v:\"a\"': {}, 'v:\"b\"': {}}}}}]}";
  EXPECT_THAT(paths("metadata: {finalizers: [b, a]}", kSet), IsEmpty());
  EXPECT_THAT(paths("metadata: {finalizers: [a, b]}", kSet), ElementsAre(".metadata.finalizers"));
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

TEST(Differences, FalseZeroAndEmptyAreNotStoredByBuiltInTypes) {
  constexpr std::string_view kPod =
      "{apiVersion: v1, kind: Pod, metadata: {managedFields: [{manager: mistctl, operation: Apply, fieldsV1: "
      "{f:spec: {f:hostNetwork: {}, f:priority: {}, f:hostname: {}}}}]}, spec: {nodeName: a}}";
  EXPECT_THAT(paths("{apiVersion: v1, spec: {hostNetwork: false, priority: 0, hostname: ''}}", kPod),
              IsEmpty());
  EXPECT_THAT(paths("{apiVersion: v1, spec: {hostNetwork: true, priority: 0, hostname: ''}}", kPod),
              ElementsAre(".spec.hostNetwork"));
  // Never applied before: it may be a field where false isn't absent.
  EXPECT_THAT(
      paths("{apiVersion: v1, spec: {hostNetwork: false, priority: 0, hostname: '', hostIPC: false}}", kPod),
      ElementsAre(".spec.hostIPC"));
  constexpr std::string_view kCustom =
      "{apiVersion: x.dev/v1, kind: X, metadata: {managedFields: [{manager: mistctl, operation: Apply, "
      "fieldsV1: "
      "{f:spec: {f:flag: {}}}}]}, spec: {a: b}}";
  EXPECT_THAT(paths("{apiVersion: x.dev/v1, spec: {flag: false}}", kCustom), ElementsAre(".spec.flag"));
}

constexpr std::string_view kWhole =
    "{apiVersion: v1, kind: Pod, metadata: {managedFields: [{manager: mistctl, operation: Apply, fieldsV1: "
    "{f:spec: {f:fieldRef: {}}}}]}, spec: {fieldRef: {apiVersion: v1, fieldPath: a, extra: b}}}";

TEST(Differences, InsideOfWhatIsOwnedAsAWholeLeftoversGoAndDefaultsStay) {
  EXPECT_THAT(paths("{apiVersion: v1, spec: {fieldRef: {fieldPath: a}}}", kWhole),
              ElementsAre(".spec.fieldRef.extra"));
  EXPECT_THAT(paths("{apiVersion: v1, spec: {fieldRef: {fieldPath: a, extra: b}}}", kWhole), IsEmpty());
}

TEST(Differences, BytesAreComparedDecoded) {
  EXPECT_THAT(paths("{apiVersion: v1, kind: Secret, data: {a: \"aGVs\\nbG8=\"}}",
                    "{apiVersion: v1, kind: Secret, data: {a: aGVsbG8=}}"),
              IsEmpty());
}

TEST(Differences, OrderOfOurItemsInAKeyedListCounts) {
  constexpr std::string_view kEnv =
      "{apiVersion: v1, kind: Pod, metadata: {managedFields: [{manager: mistctl, operation: Apply, fieldsV1: "
      "{f:env: {'k:{\"name\":\"A\"}': {.: {}, f:name: {}}, 'k:{\"name\":\"B\"}': {.: {}, f:name: {}}}}}]}, "
      "env: "
      "[{name: A}, {name: X}, {name: B}]}";
  EXPECT_THAT(paths("{apiVersion: v1, env: [{name: A}, {name: B}]}", kEnv), IsEmpty());
  const Value live = yaml(kEnv);
  const auto found =
      differences(yaml("{apiVersion: v1, env: [{name: B}, {name: A, value: x}]}"), live, "mistctl");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, ".env");
  EXPECT_EQ(found[1].path, ".env[name=A].value");
  const Value after = with_differences(live, found);
  EXPECT_EQ(after.find("env")->as_array()[0].string_at("name"), "B");
  EXPECT_EQ(after.find("env")->as_array()[1].string_at("name"), "X");
  EXPECT_EQ(after.find("env")->as_array()[2].string_at("value"), "x");
}

TEST(Differences, NameWhoElseOwnsTheField) {
  const auto found =
      differences(yaml("{apiVersion: apps/v1, spec: {replicas: 2, paused: false, template: {spec: "
                       "{containers: [{name: web, image: 'nginx:1', resources: {limits: {cpu: 500m}}, "
                       "ports: [{containerPort: 80}]}]}}}}"),
                  yaml(kLive), "mistctl");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, ".spec.paused");
  EXPECT_THAT(found[0].managers, ElementsAre("other"));
}

}  // namespace
}  // namespace mist::apply
