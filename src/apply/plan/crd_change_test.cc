#include "apply/plan/crd_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"
#include "testing/yaml.h"

namespace mist::apply {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::yaml;

std::string version(std::string_view name, std::string_view schema, bool served = true) {
  return fmt::format("{{name: {}, served: {}, storage: true, schema: {{openAPIV3Schema: {}}}}}", name, served,
                     schema);
}
Value crd(const std::string& versions, const std::string& stored = "v1") {
  return yaml(
      fmt::format("{{spec: {{versions: [{}]}}, status: {{storedVersions: [{}]}}}}", versions, stored));
}
std::vector<std::string> problems(std::string_view before, std::string_view after) {
  return crd_problems(crd(version("v1", before)), crd(version("v1", after)), {});
}

TEST(CrdChange, WhatOnlyGrowsIsNoProblem) {
  EXPECT_THAT(problems("{type: object, properties: {a: {type: string}}}",
                       "{type: object, properties: {a: {type: string}, b: {type: integer}}}"),
              IsEmpty());
  EXPECT_THAT(problems("{type: object, properties: {a: {type: integer}}}",
                       "{type: object, properties: {a: {type: number}}}"),
              IsEmpty());
  EXPECT_THAT(problems("{type: object, properties: {a: {type: string}}}",
                       "{type: object, required: [b], properties: {a: {type: string}, b: {type: string, "
                       "default: x}}}"),
              IsEmpty());
}

TEST(CrdChange, WhatNarrowsIsNamedByItsPath) {
  EXPECT_THAT(
      problems("{type: object, properties: {spec: {type: object, properties: {a: {type: string}, b: "
               "{type: array, items: {type: string}}}}}}",
               "{type: object, properties: {spec: {type: object, required: [c], properties: {b: "
               "{type: array, items: {type: integer}}, c: {type: string}}}}}"),
      ElementsAre("in v1, .spec.a is removed", "in v1, .spec.b[] was of type string and is of type integer",
                  "in v1, .spec.c is required, and was not"));
  EXPECT_THAT(
      problems("{type: object, x-kubernetes-preserve-unknown-fields: true}", "{type: object}"),
      ElementsAre("in v1, the object kept fields that its schema does not name, and keeps them no more"));
}

TEST(CrdChange, AVersionThatObjectsAreStoredInCanNotGo) {
  const Value live = crd(version("v1", "{type: object}") + ", " + version("v2", "{type: object}"), "v1, v2");
  const Value wanted = crd(version("v2", "{type: object}"));
  EXPECT_THAT(unserved_versions(live, wanted), ElementsAre("v1"));
  EXPECT_THAT(crd_problems(live, wanted, {}),
              ElementsAre("version v1 is removed, and objects may be stored in it (status.storedVersions)"));
}

TEST(CrdChange, AVersionThatSomebodyWritesCanNotGo) {
  const Value live = crd(version("v1", "{type: object}") + ", " + version("v2", "{type: object}"), "v2");
  const Value wanted =
      crd(version("v1", "{type: object}", false) + ", " + version("v2", "{type: object}"), "v2");
  EXPECT_THAT(unserved_versions(live, wanted), ElementsAre("v1"));
  EXPECT_THAT(crd_problems(live, wanted, {}), IsEmpty());
  EXPECT_THAT(crd_problems(live, wanted, {{"v1", "Thing shop/a"}}),
              ElementsAre("version v1 is no longer served, and Thing shop/a was last written in it"));
}

}  // namespace
}  // namespace mist::apply
