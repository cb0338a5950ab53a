#include "apply/fields/field_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::apply {
namespace {

using ::testing::ElementsAre;
using testing::yaml;

constexpr std::string_view kOwnedLive = R"(
metadata:
  annotations: {note: theirs}
  managedFields:
  - manager: mistctl
    operation: Apply
    fieldsV1: {"f:spec": {"f:replicas": {}, "f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}}}}}
  - manager: kubectl-edit
    operation: Update
    time: "2026-01-02T03:04:05Z"
    fieldsV1:
      "f:metadata": {"f:annotations": {".": {}, "f:note": {}}}
      "f:spec":
        "f:replicas": {}
        "f:paused": {}
        "f:containers": {"k:{\"name\":\"web\"}": {"f:env": {"k:{\"name\":\"DEBUG\"}": {".": {}, "f:name": {}, "f:value": {}}}}}
        "f:finalizers": {"v:\"x/y\"": {}}
  - manager: mistctl
    operation: Apply
    subresource: scale
    fieldsV1: {"f:spec": {"f:replicas": {}}}
  - manager: scaler
    operation: Update
    subresource: scale
    fieldsV1: {"f:spec": {"f:replicas": {}}}
  - manager: controller
    operation: Update
    subresource: status
    fieldsV1: {"f:status": {"f:replicas": {}}}
spec:
  replicas: 5
  paused: true
  finalizers: [x/y]
  containers: [{name: web, image: a, env: [{name: DEBUG, value: "1"}]}]
)";

TEST(ForeignFields, TellWhoSetWhatAndWhetherWeWantItToo) {
  const Value desired = yaml("{spec: {replicas: 3, paused: true, containers: [{name: web, image: a}]}}");
  const auto fields = foreign_fields(desired, yaml(kOwnedLive), "mistctl");
  std::vector<std::string> told;
  for (const ForeignField& each : fields)
    told.push_back(fmt::format("{} {}{}{}", each.path, each.manager, each.wanted ? " wanted" : "",
                               each.shared ? " shared" : ""));
  EXPECT_THAT(told, ElementsAre(".metadata.annotations.note kubectl-edit",
                                ".spec.replicas kubectl-edit wanted shared",
                                ".spec.paused kubectl-edit wanted shared",
                                ".spec.containers[name=web].env[name=DEBUG].name kubectl-edit",
                                ".spec.containers[name=web].env[name=DEBUG].value kubectl-edit",
                                ".spec.finalizers[x/y] kubectl-edit", ".spec.replicas scaler wanted shared"));
  EXPECT_EQ(fields[1].live, Value(5));
  EXPECT_EQ(fields.back().subresource, "scale");
  EXPECT_EQ(fields[1].time, "2026-01-02T03:04:05Z");
}

TEST(ForeignFields, GarbageIsNoField) {
  EXPECT_TRUE(foreign_fields(
                  yaml("{}"),
                  yaml("{metadata: {managedFields: [{fieldsV1: [1]}, 3, {fieldsV1: {\"k:{\": {}, v: {}}}]}}"),
                  "mistctl")
                  .empty());
}

TEST(ForeignFields, PathsTouchWhenOneLiesInTheOther) {
  EXPECT_TRUE(paths_touch(".spec", ".spec.replicas"));
  EXPECT_TRUE(paths_touch(".spec.list[a=b]", ".spec.list"));
  EXPECT_TRUE(paths_touch(".a", ".a"));
  EXPECT_FALSE(paths_touch(".spec.replicas", ".spec.replicasMax"));
  EXPECT_FALSE(paths_touch(".a", ".b"));
}

}  // namespace
}  // namespace mist::apply
