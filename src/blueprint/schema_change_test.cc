#include "blueprint/schema_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::blueprint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::yaml;

std::vector<std::string> narrower(std::string_view before, std::string_view after) {
  return narrowings(yaml(before), yaml(after), "spec");
}

TEST(SchemaChange, WhatTakesMoreBreaksNothing) {
  for (const auto& [before, after] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"{type: integer}", "{type: number}"},
           {"{type: integer, minimum: 1}", "{type: integer}"},
           {"{type: integer, minimum: 1}", "{type: integer, minimum: 0}"},
           {"{type: integer, minimum: 1}", "{type: integer, minimum: 0, exclusiveMinimum: true}"},
           {"{type: string, enum: [a]}", "{type: string, enum: [a, b]}"},
           {"{type: string, pattern: a}", "{type: string}"},
           {"{type: string}", "{x-kubernetes-int-or-string: true}"},
           {"{type: string}", "{x-kubernetes-preserve-unknown-fields: true}"},
           {"{type: object, properties: {a: {type: string}}}",
            "{type: object, properties: {a: {type: string}, b: {type: string}}}"},
           {"{type: object, properties: {a: {type: string}}}",
            "{type: object, required: [b], properties: {a: {type: string}, b: {type: string, default: x}}}"},
           {"{type: object, required: [a], properties: {a: {type: string}}}",
            "{type: object, properties: {a: {type: string, nullable: true}}}"},
           {"{type: object, properties: {a: {type: string}}}",
            "{type: object, additionalProperties: {type: string}}"}})
    EXPECT_THAT(narrower(before, after), IsEmpty()) << before << " → " << after;
}

TEST(SchemaChange, SaysWhereAndWhyAnObjectIsRefusedOrLosesFields) {
  struct Case {
    std::string_view before, after, said;
  };
  for (const Case& each : std::initializer_list<Case>{
           {"{type: integer}", "{type: string}", "spec: it becomes string, and was integer"},
           {"{type: number}", "{type: integer}", "spec: it becomes integer, and was number"},
           {"{type: integer}", "{type: integer, minimum: 1}", "spec: its minimum becomes 1"},
           {"{type: string, maxLength: 9}", "{type: string, maxLength: 8}", "spec: its maxLength becomes 8"},
           {"{type: integer, minimum: 1}", "{type: integer, minimum: 1, exclusiveMinimum: true}",
            "spec: its bound can no longer be reached"},
           {"{type: string, enum: [a, b]}", "{type: string, enum: [a]}", "spec: it can no longer be \"b\""},
           {"{type: string}", "{type: string, enum: [a]}", "spec: it can only be one of [\"a\"] now"},
           {"{type: string, pattern: a}", "{type: string, pattern: b}", "spec: its pattern becomes \"b\""},
           {"{type: string, nullable: true}", "{type: string}", "spec: it can no longer be null"},
           {"{type: object, properties: {a: {type: string}}}", "{type: object, properties: {}}",
            "spec.a: the field is gone, and its values would be dropped"},
           {"{type: object, properties: {a: {type: string}}}",
            "{type: object, required: [a], properties: {a: {type: string}}}", "spec.a: it has to be set now"},
           {"{type: object, additionalProperties: {type: string}}", "{type: object, properties: {}}",
            "spec: fields of any name are dropped"},
           {"{type: object, additionalProperties: {type: string}}",
            "{type: object, additionalProperties: {type: integer}}",
            "spec.*: it becomes integer, and was string"},
           {"{type: array, items: {type: integer}}", "{type: array, items: {type: integer, maximum: 3}}",
            "spec[]: its maximum becomes 3"},
           {"{type: array, items: {type: string}}",
            "{type: array, x-kubernetes-list-type: set, items: {type: string}}",
            "spec: its x-kubernetes-list-type becomes \"set\""},
           {"{type: object, x-kubernetes-preserve-unknown-fields: true}", "{type: object, properties: {}}",
            "spec: fields that the schema doesn't name are dropped"},
           {"{type: integer}", "{type: integer, x-kubernetes-validations: [{rule: self > 1}]}",
            "spec: it has a new rule, self > 1"}})
    EXPECT_THAT(narrower(each.before, each.after), ElementsAre(std::string(each.said))) << each.before;
}

constexpr std::string_view kLive = R"(
spec:
  group: example.com
  scope: Namespaced
  names: {kind: App, plural: apps}
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, default: 1}}}
          status: {type: object, properties: {seen: {type: integer}}}
  - {name: v1beta1, served: true, schema: {openAPIV3Schema: {type: object}}}
status: {storedVersions: [v1beta1, v1]}
)";

std::string crd_with(std::string_view from, std::string_view to) {
  std::string text(kLive);
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(SchemaChange, ACrdBreaksWithItsNamesItsStoredVersionsAndItsSpec) {
  const Value live = yaml(kLive);
  EXPECT_THAT(breaking_changes(live, live), IsEmpty());
  EXPECT_THAT(breaking_changes(live, yaml(crd_with("plural: apps", "plural: applis"))),
              ElementsAre("its plural is apps, and would be applis"));
  EXPECT_THAT(breaking_changes(live, yaml(crd_with("v1beta1, served", "v1beta2, served"))),
              ElementsAre("version v1beta1 is gone, and objects may be stored in it"));
  EXPECT_THAT(breaking_changes(live, yaml(crd_with("{type: integer, default", "{type: string, default"))),
              ElementsAre("version v1: spec.size: it becomes string, and was integer"));
  EXPECT_THAT(breaking_changes(live, yaml(crd_with("{seen: {type: integer}}", "{}"))), IsEmpty())
      << "the status is the operator's own";
}

TEST(SchemaChange, AnAwaitedCrdServesTheVersionsTakesWhatTheContractTakesAndGivesItsDefaults) {
  const Value wanted = yaml(kLive);
  EXPECT_THAT(misfits(wanted, wanted), IsEmpty());
  EXPECT_THAT(misfits(yaml(crd_with("type: integer, default: 1", "type: integer")), wanted),
              ElementsAre(HasSubstr("spec.size: it has no default")));
  EXPECT_THAT(
      misfits(yaml(crd_with("type: integer, default: 1", "type: integer, minimum: 5, default: 5")), wanted),
      ElementsAre(HasSubstr("its minimum becomes 5")));
  EXPECT_THAT(misfits(yaml(crd_with("v1beta1, served: true", "v1beta1, served: false")), wanted),
              ElementsAre("it doesn't serve version v1beta1"));
  EXPECT_THAT(
      misfits(yaml(crd_with("properties: {size", "properties: {other: {type: string}, size")), wanted),
      IsEmpty());
}

TEST(SchemaChange, VersionsDifferByAllButTheirDocumentation) {
  const Value one =
      yaml("{type: object, properties: {a: {type: string, description: x}, b: {type: string}}}");
  EXPECT_THAT(
      schema_differences(
          one, yaml("{type: object, properties: {a: {type: string, description: y}, b: {type: string}}}"),
          "spec"),
      IsEmpty());
  EXPECT_THAT(schema_differences(
                  one, yaml("{type: object, properties: {a: {type: string, default: z}, c: {type: string}}}"),
                  "spec"),
              ElementsAre("spec.a differs", "only one has spec.b", "only one has spec.c"));
}

}  // namespace
}  // namespace mist::blueprint
