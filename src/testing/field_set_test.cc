#include "testing/field_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::testing {
namespace {

using ::testing::ElementsAre;

const Value kPod = yaml(R"(
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {x: "1"}}
spec:
  nodeSelector: {zone: a}
  tolerations: [{key: k}]
  containers: [{name: web, args: [a], ports: [{containerPort: 80}]}]
)");

TEST(FieldSet, PathsAreThoseOfTheServer) {
  EXPECT_THAT(
      fields_of(kPod).paths(),
      ElementsAre(".metadata.labels.x", ".spec.containers[name=\"web\"]",
                  ".spec.containers[name=\"web\"].args", ".spec.containers[name=\"web\"].name",
                  ".spec.containers[name=\"web\"].ports[containerPort=80,protocol=\"TCP\"]",
                  ".spec.containers[name=\"web\"].ports[containerPort=80,protocol=\"TCP\"].containerPort",
                  ".spec.nodeSelector", ".spec.tolerations"));
}

TEST(FieldSet, SurvivesFieldsV1) {
  const FieldSet fields = fields_of(kPod);
  EXPECT_EQ(FieldSet::from_fields_v1(fields.to_fields_v1()), fields);
}

TEST(FieldSet, AlgebraKeepsWhatIsMeant) {
  const FieldSet a = fields_of(yaml("{data: {x: '1', z: '2'}}")),
                 b = fields_of(yaml("{data: {z: '3', w: '4'}}"));
  EXPECT_THAT(intersection(a, b).paths(), ElementsAre(".data.z"));
  EXPECT_THAT(difference(a, b).paths(), ElementsAre(".data.x"));
  FieldSet all = a;
  add(all, b);
  EXPECT_THAT(all.paths(), ElementsAre(".data.w", ".data.x", ".data.z"));
  EXPECT_TRUE(difference(a, a).empty());
}

TEST(FieldSet, ComparesItemByItem) {
  Value after = kPod;
  after["spec"]["containers"].push_back(Value::object({{"name", "side"}}));
  after["spec"]["nodeSelector"].set("zone", "b");
  after["metadata"]["labels"].erase("x");
  const FieldChanges changes = compare_fields(kPod, after);
  EXPECT_THAT(changes.written.paths(),
              ElementsAre(".spec.containers[name=\"side\"]", ".spec.containers[name=\"side\"].name",
                          ".spec.nodeSelector"));
  EXPECT_THAT(changes.removed.paths(), ElementsAre(".metadata.labels.x"));
}

TEST(FieldSet, RemovesOnlyWhatNobodyKeeps) {
  Value object = kPod;
  remove_fields(object, fields_of(kPod), fields_of(yaml("{spec: {containers: [{name: web}]}}")));
  EXPECT_EQ(object,
            yaml("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: web}]}}"));
}

}  // namespace
}  // namespace mist::testing
