#include "blueprint/structural_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::blueprint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::yaml;

Value structural(std::string_view text) {
  Value schema = yaml(text);
  EXPECT_THAT(make_structural(schema), IsEmpty()) << text;
  return schema;
}

std::vector<std::string> refused_words(std::string_view text) {
  std::vector<std::string> words;
  for (const SchemaPlace& each : refused_by_server(yaml(text))) words.push_back(each.path + ": " + each.what);
  return words;
}

TEST(StructuralSchema, HasATypeEverywhereOrTakesAnything) {
  EXPECT_EQ(structural("{type: object, properties: {a: {}, b: {type: array}, c: {type: object}}}"), yaml(R"(
type: object
properties:
  a: {x-kubernetes-preserve-unknown-fields: true}
  b: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}
  c: {type: object, x-kubernetes-preserve-unknown-fields: true}
)"));
  EXPECT_EQ(structural("{x-kubernetes-preserve-unknown-fields: true, x-kubernetes-int-or-string: true}"),
            yaml("{x-kubernetes-int-or-string: true}"));
}

TEST(StructuralSchema, PatternsThatRepeatTooOftenForGoAndRulesWithoutCelAreRefused) {
  EXPECT_THAT(refused_words("{type: object, properties: {a: {type: string, pattern: '^a{1,2000}$'}, "
                            "b: {type: string, allOf: [{pattern: '(a{40}){40}'}]}, "
                            "c: {type: string, pattern: 'a{1000}'}, "
                            "d: {type: string, x-kubernetes-validations: [{rule: ' '}]}}}"),
              ElementsAre(HasSubstr(".a: the pattern ^a{1,2000}$ repeats something more than 1000 times"),
                          HasSubstr(".b: the pattern (a{40}){40}"), ".d: a Rule has no cel"));
}

TEST(StructuralSchema, NullsThatAFieldCannotHaveAreDroppedBeforeDefaultsAreFilledIn) {
  Value value = yaml("{a: null, b: null, c: null, m: {x: null, y: z}, list: [{a: null}, null], free: null}");
  fill_defaults(yaml(R"(
type: object
properties:
  a: {type: string, default: x}
  b: {type: string, nullable: true, default: x}
  c: {type: string}
  d: {type: string, nullable: true, default: null}
  m: {type: object, additionalProperties: {type: string}}
  list: {type: array, items: {type: object, properties: {a: {type: integer, default: 1}}}}
)"),
                value);
  EXPECT_EQ(value, yaml("{a: x, b: null, m: {y: z}, list: [{a: 1}, null], free: null}"));
}

TEST(StructuralSchema, KnowsTheFieldThatAClosedRecordLacks) {
  const Value schema = yaml(R"(
type: object
properties:
  ingress: {type: object, properties: {enabled: {type: boolean}}}
  open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}
  map: {type: object, additionalProperties: {type: string}}
)");
  const auto unknown = [&](std::vector<std::string> path) {
    const auto found = unknown_field(schema, path);
    return found ? found->name : std::string();
  };
  EXPECT_EQ(unknown({"ingres", "enabled"}), "ingres");
  EXPECT_EQ(unknown({"ingress", "on"}), "on");
  EXPECT_EQ(unknown({"ingress", "enabled"}), "");
  EXPECT_EQ(unknown({"open", "b"}), "");
  EXPECT_EQ(unknown({"map", "b"}), "");
  EXPECT_THAT(unknown_field(schema, std::vector<std::string>{"x"})->known,
              ElementsAre("ingress", "open", "map"));
}

TEST(StructuralSchema, OfAMapAndARecordOnlyTheRecordIsAsked) {
  Value schema = yaml(
      "{type: object, properties: {m: {type: object, properties: {a: {type: string}}, additionalProperties: "
      "{type: string}}}}");
  const std::vector<SchemaPlace> unasked = make_structural(schema);
  ASSERT_EQ(unasked.size(), 1U);
  EXPECT_EQ(unasked.front().path, ".m");
  EXPECT_EQ(schema.at_path({"properties", "m", "additionalProperties"}), nullptr);
}

TEST(StructuralSchema, AFieldThatCannotBeChangedCannotBeRemovedEither) {
  const Value schema = structural(R"(
type: object
required: [name]
properties:
  name: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}
  size: {type: integer, default: 1, x-kubernetes-validations: [{rule: self == oldSelf}]}
  zone-id: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}
  disk:
    type: object
    required: [class]
    properties: {class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}
)");
  EXPECT_EQ(*schema.find("x-kubernetes-validations"), yaml(R"(
- {rule: '!has(oldSelf.zone__dash__id) || has(self.zone__dash__id)', message: zone-id can't be removed once it is set}
- rule: '!(has(oldSelf.disk) && has(oldSelf.disk.class)) || (has(self.disk) && has(self.disk.class))'
  message: disk.class can't be removed once it is set
)"));
  EXPECT_EQ(schema.at_path({"properties", "disk", "x-kubernetes-validations"}), nullptr)
      << "class is required";
  for (const Value& each : schema.find("x-kubernetes-validations")->as_array())
    EXPECT_TRUE(keeps_unchanged(each));
  EXPECT_FALSE(asks_of_empty(schema)) << "there is no value before a default";
}

// The server skips the rule of a value that is null.
TEST(StructuralSchema, NullIsNoWayToChangeAFieldThatCannotBeChanged) {
  const Value schema = structural(R"(
type: object
required: [name]
properties:
  name: {type: string, nullable: true, x-kubernetes-validations: [{rule: self == oldSelf}]}
  disk:
    type: object
    nullable: true
    properties: {class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}
)");
  EXPECT_EQ(*schema.find("x-kubernetes-validations"), yaml(R"(
- rule: '!(has(oldSelf.name) && dyn(oldSelf.name) != null) || (has(self.name) && dyn(self.name) != null)'
  message: name can't be removed once it is set
- rule: '!(has(oldSelf.disk) && dyn(oldSelf.disk) != null && has(oldSelf.disk.class)) || (has(self.disk) && dyn(self.disk) != null && has(self.disk.class))'
  message: disk.class can't be removed once it is set
)"));
  for (const Value& each : schema.find("x-kubernetes-validations")->as_array())
    EXPECT_TRUE(keeps_unchanged(each));
}

TEST(StructuralSchema, SaysThatEntriesWhichCannotBeChangedCanBeMadeAnew) {
  constexpr std::string_view kFixed = "{type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}";
  const auto places = [](const std::string& text) {
    Value schema = yaml(text);
    std::vector<std::string> found;
    for (const SchemaPlace& each : make_structural(schema)) {
      EXPECT_THAT(each.what, HasSubstr("an entry can't be removed and added again"));
      found.push_back(each.path);
    }
    return found;
  };
  EXPECT_THAT(
      places(fmt::format("{{type: object, properties: {{m: {{type: object, additionalProperties: {{type: "
                         "object, properties: {{a: {}}}}}}}}}}}",
                         kFixed)),
      ElementsAre(".m.*"));
  const std::string list = fmt::format(
      "type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {{type: object, "
      "required: "
      "[k], properties: {{k: {{type: string}}, v: {}}}}}",
      kFixed);
  EXPECT_THAT(places(fmt::format("{{type: object, properties: {{l: {{{}}}}}}}", list)), ElementsAre(".l[]"));
  EXPECT_THAT(
      places(fmt::format("{{type: object, required: [l], properties: {{l: {{{}, x-kubernetes-validations: "
                         "[{{rule: self == oldSelf}}]}}}}}}",
                         list)),
      IsEmpty())
      << "the list can't be changed at all";
}

TEST(StructuralSchema, ADefaultThatRulesAreHeldAgainstIsWhole) {
  const Value schema = structural(R"(
type: object
properties:
  plain: {type: object, default: {}, properties: {a: {type: integer, default: 1}}}
  ruled:
    type: object
    default: {}
    properties: {a: {type: integer, default: 1}}
    x-kubernetes-validations: [{rule: self.a > 0}]
)");
  EXPECT_EQ(*schema.at_path({"properties", "plain", "default"}), Value::object());
  EXPECT_EQ(*schema.at_path({"properties", "ruled", "default"}), yaml("{a: 1}"));
}

TEST(StructuralSchema, SaysWhatTheServerRefuses) {
  const std::string_view map =
      "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: ";
  for (const auto& [items, said] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"{type: object, properties: {k: {type: string}}}}",
            ": k, the key of KeyedBy, has to be required or have a default"},
           {"{type: object, properties: {k: {type: string, default: a, nullable: true}}}}",
            ": k, the key of KeyedBy, can't be null"},
           {"{type: object, properties: {k: {type: array, default: []}}}}",
            ": k, the key of KeyedBy, has to be a text, a number or a boolean"},
           {"{type: object, x-kubernetes-preserve-unknown-fields: true}}",
            ": its items have no field k, the key of KeyedBy"},
           {"{type: object, nullable: true, required: [k], properties: {k: {type: string}}}}",
            ": items of a list with KeyedBy can't be null"}})
    EXPECT_THAT(refused_words(std::string(map) + std::string(items)), ElementsAre(std::string(said)));
  EXPECT_THAT(
      refused_words("{type: array, x-kubernetes-list-type: set, items: {type: string, nullable: true}}"),
      ElementsAre(": items of a list with Unique can't be null"));
  EXPECT_THAT(
      refused_words("{type: array, x-kubernetes-list-type: set, items: {type: object, properties: {}}}"),
      ElementsAre(": items of a list with Unique are texts, numbers or booleans; for records there is "
                  "KeyedBy"));
  const std::string_view fixed = "{type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}";
  EXPECT_THAT(
      refused_words(fmt::format("{{type: array, items: {{type: object, properties: {{a: {}}}}}}}", fixed)),
      ElementsAre("[].a: a rule about the value before, as Unchanged is, can't be within a list without "
                  "KeyedBy: nothing says which item was which"));
}

TEST(StructuralSchema, NothingElseIsRefused) {
  EXPECT_THAT(
      refused_words(
          "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, l], items: {type: "
          "object, required: [k], properties: {k: {type: string}, l: {type: integer, default: 1}, v: "
          "{type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}}"),
      IsEmpty());
  EXPECT_THAT(
      refused_words(
          "{type: object, additionalProperties: {type: string, x-kubernetes-validations: [{rule: self "
          "== oldSelf}]}}"),
      IsEmpty());
}

}  // namespace
}  // namespace mist::blueprint
