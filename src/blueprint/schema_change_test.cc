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
           {"{type: array, items: {type: string}}",
            "{type: array, x-kubernetes-list-type: atomic, items: {type: string}}"},
           {"{type: array, x-kubernetes-list-type: atomic, items: {type: string}}",
            "{type: array, items: {type: string}}"},
           {"{type: object, properties: {a: {type: string}}}",
            "{type: object, additionalProperties: {type: string}}"},
           {"{type: object, additionalProperties: {type: integer}}",
            "{type: object, additionalProperties: {type: integer}, properties: {a: {type: number}}}"},
           {"{type: object, properties: {a: {type: string}}}",
            "{type: object, properties: {a: {type: string}}, x-kubernetes-validations: [{rule: "
            "'!has(oldSelf.a) || "
            "has(self.a)'}]}"},
           {"{type: object, x-kubernetes-preserve-unknown-fields: true}",
            "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: "
            "{x-kubernetes-preserve-unknown-fields: true}}}"}})
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
           {"{type: object, x-kubernetes-preserve-unknown-fields: true}",
            "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}",
            "spec.a: it becomes string, and was anything"},
           {"{type: object, additionalProperties: {type: integer}}",
            "{type: object, additionalProperties: {type: integer}, properties: {a: {type: string}}}",
            "spec.a: it becomes string, and was integer"},
           {"{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a], items: {type: "
            "object}}",
            "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b], items: {type: "
            "object}}",
            "spec: its x-kubernetes-list-map-keys becomes [\"b\"]"},
           {"{type: array, x-kubernetes-list-type: set, items: {type: string}}",
            "{type: array, x-kubernetes-list-type: atomic, items: {type: string}}",
            "spec: its x-kubernetes-list-type becomes atomic"},
           {"{type: array, x-kubernetes-list-type: set, items: {type: string}}",
            "{type: array, items: {type: string}}", "spec: its x-kubernetes-list-type becomes atomic"},
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
  EXPECT_THAT(breaking_changes(live, yaml(crd_with("v1beta1, served: true", "v1beta1, served: false"))),
              ElementsAre("version v1beta1 is no longer served, and clients may use it"));
  Value stored_in_one = live;
  stored_in_one["status"].set("storedVersions", Value::array({"v1"}));
  EXPECT_THAT(breaking_changes(stored_in_one, yaml(crd_with("v1beta1, served", "v1beta2, served"))),
              ElementsAre("version v1beta1 is gone, and clients may use it"));
}

TEST(SchemaChange, OfTheStatusOnlyTypesCountForTheServerReadsByThem) {
  const Value live = yaml(kLive);
  for (const std::string_view harmless :
       {"{}", "{seen: {type: integer, minimum: 5}}", "{seen: {type: integer, enum: [1]}}",
        "{seen: {type: number}}", "{seen: {type: integer}, more: {type: string}}"})
    EXPECT_THAT(breaking_changes(live, yaml(crd_with("{seen: {type: integer}}", harmless))), IsEmpty())
        << harmless;
  EXPECT_THAT(breaking_changes(live, yaml(crd_with("{seen: {type: integer}}", "{seen: {type: string}}"))),
              ElementsAre("version v1: status.seen: it becomes string, and was integer"));
  const Value list =
      yaml(crd_with("{seen: {type: integer}}", "{seen: {type: array, items: {type: string}}}"));
  EXPECT_THAT(
      breaking_changes(
          list, yaml(crd_with("{seen: {type: integer}}",
                              "{seen: {type: array, x-kubernetes-list-type: set, items: {type: string}}}"))),
      ElementsAre("version v1: status.seen: its x-kubernetes-list-type becomes \"set\""));
  const Value open =
      yaml(crd_with("properties: {seen: {type: integer}}", "x-kubernetes-preserve-unknown-fields: true"));
  EXPECT_THAT(breaking_changes(open, live),
              ElementsAre("version v1: status.seen: it becomes integer, and was anything"));
}

TEST(SchemaChange, AnAwaitedCrdTakesTheStatusThatTheOperatorWrites) {
  const std::string_view seen = "properties: {seen: {type: integer}}";
  const std::string conditions =
      "conditions: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type], items: "
      "{type: "
      "object, required: [type, status], properties: {type: {type: string}, status: {type: string}}}}";
  const Value wanted =
      yaml(crd_with(seen, fmt::format("properties: {{seen: {{type: integer}}, {}}}", conditions)));
  const auto apart = [&](std::string_view status) { return misfits(yaml(crd_with(seen, status)), wanted); };
  EXPECT_THAT(apart(seen), ElementsAre("version v1: status.conditions: the field is gone, and its values "
                                       "would be dropped"));
  // Bounds and patterns, as controller-gen writes them, are for the values; a list may be an atomic one.
  EXPECT_THAT(
      apart("properties: {seen: {type: integer, minimum: 0}, other: {type: string}, conditions: {type: "
            "array, items: {type: object, required: [type], properties: {type: {type: string, pattern: "
            "a, maxLength: 316}, status: {type: string, enum: ['True']}}}}}"),
      IsEmpty());
  EXPECT_THAT(
      apart("properties: {seen: {type: integer}, conditions: {type: array, x-kubernetes-list-type: atomic, "
            "items: {type: object, properties: {type: {type: string}, status: {type: string}}}}}"),
      IsEmpty());
  EXPECT_THAT(apart("x-kubernetes-preserve-unknown-fields: true"), IsEmpty());
  EXPECT_THAT(apart(fmt::format("properties: {{seen: {{type: string}}, {}}}", conditions)),
              ElementsAre("version v1: status.seen: it becomes string, and was integer"));
  EXPECT_THAT(apart(fmt::format("required: [phase, seen], properties: {{phase: {{type: string}}, seen: "
                                "{{type: integer}}, {}}}",
                                conditions)),
              ElementsAre("version v1: status.phase: it has to be set now"));
  EXPECT_THAT(
      misfits(yaml(crd_with("          status: {type: object, properties: {seen: {type: integer}}}\n", "")),
              wanted),
      ElementsAre("version v1: status: the schema has no such field, so it can't be written"));
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

TEST(SchemaChange, AnAwaitedCrdThatIsInUseMayLackWhatOlderOperatorsDidNotAskFor) {
  const std::string_view size = "{type: integer, default: 1}", seen = "properties: {seen: {type: integer}}";
  const Value wanted = yaml(
      crd_with(size,
               "{type: integer, default: 1}, tags: {type: array, x-kubernetes-list-type: set, items: {type: "
               "string}}, open: {type: object, x-kubernetes-preserve-unknown-fields: true}"));
  std::string live =
      crd_with(size,
               "{type: integer}, tags: {type: array, items: {type: string}}, open: {type: object, "
               "x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}");
  live.replace(live.find(seen), seen.size(), "properties: {}");
  std::vector<std::string> tolerated;
  EXPECT_THAT(misfits_in_force(yaml(live), wanted, tolerated),
              ElementsAre("version v1: spec.size: it has no default"));
  EXPECT_THAT(tolerated,
              ElementsAre("version v1: spec.tags: its x-kubernetes-list-type becomes atomic",
                          "version v1: spec.open.a: it becomes string, and was anything",
                          "version v1: status.seen: the field is gone, and its values would be dropped"));
  EXPECT_EQ(misfits(yaml(live), wanted).size(), 4U);
}

// Operators before this one wrote no rule of Rule into a CRD.
TEST(SchemaChange, RulesThatTheLiveCrdLacksAreLeftOut) {
  const auto crd = [](std::string_view a, std::string_view b) {
    return yaml(fmt::format(
        "{{spec: {{versions: [{{name: v1, schema: {{openAPIV3Schema: {{properties: {{spec: {{"
        "properties: {{a: {{type: string{}}}, b: {{type: array, items: {{type: integer{}}}}}}}}}}}}}}}"
        "}}]}}}}",
        a, b));
  };
  const std::string_view both =
      ", x-kubernetes-validations: [{rule: self == oldSelf}, {rule: self != 'x', message: m}]";
  const std::string_view one = ", x-kubernetes-validations: [{rule: self > 0}]";
  Value wanted = crd(both, one);
  EXPECT_THAT(leave_out_late_rules(crd(", x-kubernetes-validations: [{rule: self == oldSelf}]", ""), wanted),
              ElementsAre("version v1: spec.a: the CRD lacks the rule self != 'x'",
                          "version v1: spec.b[]: the CRD lacks the rule self > 0"));
  EXPECT_EQ(wanted, crd(", x-kubernetes-validations: [{rule: self == oldSelf}]", ""));
  wanted = crd(both, one);
  EXPECT_THAT(leave_out_late_rules(crd(both, one), wanted), IsEmpty());
  EXPECT_EQ(wanted, crd(both, one));
  EXPECT_THAT(leave_out_late_rules(yaml("{spec: {versions: []}}"), wanted), IsEmpty());
  EXPECT_EQ(wanted, crd(both, one)) << "a version that is new has no object";
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
