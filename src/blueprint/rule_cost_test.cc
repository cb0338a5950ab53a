#include "blueprint/rule_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::blueprint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::yaml;

std::vector<std::string> refused(const std::string& text) {
  Value schema = yaml(text);
  make_structural(schema);
  std::vector<std::string> words;
  for (const SchemaPlace& each : refused_rules(schema)) words.push_back(each.path + ": " + each.what);
  return words;
}

constexpr std::string_view kUnchangedHere = "x-kubernetes-validations: [{rule: self == oldSelf}]";

// A list of records with a key and `value`; `more` is about the list.
std::string list_of(std::string_view value, std::string_view more) {
  return fmt::format(
      "{{type: object, required: [l], properties: {{l: {{type: array, x-kubernetes-list-type: map, "
      "x-kubernetes-list-map-keys: [k], {}items: {{type: object, required: [k, v], properties: {{k: {{type: "
      "string}}, v: {{{}, {}}}}}}}}}}}}}",
      more, value, kUnchangedHere);
}

// The bounds are those at which kube-apiserver 1.37 changes its mind: tests/e2e/test_blueprint_crds.py.
TEST(RuleCost, ATextThatCannotBeChangedNeedsABoundWithinAList) {
  EXPECT_THAT(refused(list_of("type: string", "maxItems: 31, ")), IsEmpty());
  EXPECT_THAT(refused(list_of("type: string", "maxItems: 32, ")),
              ElementsAre(".l[].v: the API server estimates that the rule self == oldSelf costs 1.01 times "
                          "what it allows: bound the text with MaxLength"));
  EXPECT_THAT(refused(list_of("type: string", "")),
              ElementsAre(HasSubstr("more than 100 times what it allows: bound l with MaxItems, the text "
                                    "with MaxLength")));
  EXPECT_THAT(refused(list_of("type: string, maxLength: 17", "")), IsEmpty());
  EXPECT_THAT(refused(list_of("type: string, maxLength: 18", "")),
              ElementsAre(HasSubstr("bound l with MaxItems")));
}

TEST(RuleCost, NumbersTruthsAndRecordsCostLittle) {
  for (const std::string_view each :
       {"type: integer", "type: number", "type: boolean", "type: object, properties: {a: {type: string}}"})
    EXPECT_THAT(refused(list_of(each, "")), IsEmpty()) << each;
}

TEST(RuleCost, WordsAreAsLongAsTheLongest) {
  EXPECT_THAT(refused(list_of("type: string, enum: [on, off]", "")), IsEmpty());
  EXPECT_THAT(refused(list_of(fmt::format("type: string, enum: [{}]", std::string(100, 'w')), "")),
              ElementsAre(HasSubstr(".l[].v: ")));
}

TEST(RuleCost, OutsideOfListsATextNeedsNoBound) {
  EXPECT_THAT(
      refused(fmt::format("{{type: object, properties: {{a: {{type: string, {}}}}}}}", kUnchangedHere)),
      IsEmpty());
}

TEST(RuleCost, MapsCountTheirEntries) {
  const auto map = [](std::string_view more) {
    return fmt::format(
        "{{type: object, required: [m], properties: {{m: {{type: object, {}additionalProperties: {{type: "
        "string, {}}}}}}}}}",
        more, kUnchangedHere);
  };
  EXPECT_THAT(refused(map("")), ElementsAre(HasSubstr("bound m with MaxFields, the text with MaxLength")));
  EXPECT_THAT(refused(map("maxProperties: 31, ")), IsEmpty());
}

TEST(RuleCost, ThatAFieldIsNotRemovedCostsItsPath) {
  std::string inner = fmt::format("{{type: integer, {}}}", kUnchangedHere);
  for (int depth = 0; depth < 5; ++depth)
    inner = fmt::format("{{type: object, properties: {{f: {}}}}}", inner);
  const std::string list = fmt::format(
      "{{type: object, required: [l], properties: {{l: {{type: array, x-kubernetes-list-type: map, "
      "x-kubernetes-list-map-keys: [k], items: {{type: object, required: [k], properties: {{k: {{type: "
      "string}}, deep: {}}}}}}}}}}}",
      inner);
  const std::vector<std::string> found = refused(list);
  ASSERT_EQ(found.size(), 4U) << "the rules of the deepest cost little";
  EXPECT_THAT(found[0], HasSubstr(".l[]: the API server estimates that the rule !(has(oldSelf.deep)"));
  EXPECT_THAT(found[3], HasSubstr(".l[].deep.f.f: the API server estimates that the rule !(has(oldSelf.f) && "
                                  "has(oldSelf.f.f) && has(oldSelf.f.f.f)) ||"));
}

TEST(RuleCost, ManyRulesTogetherCostTooMuch) {
  std::string fields;
  for (int i = 0; i < 11; ++i)
    fields += fmt::format(
        "l{}: {{type: array, maxItems: 31, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], "
        "items: {{type: object, required: [k, v], properties: {{k: {{type: string}}, v: {{type: string, "
        "{}}}}}}}}}, ",
        i, kUnchangedHere);
  EXPECT_THAT(refused(fmt::format("{{type: object, properties: {{{}}}}}", fields)),
              ElementsAre(HasSubstr(": the API server estimates that its rules together cost 1.08 times")));
}

TEST(RuleCost, NoRuleIsAboutAnything) {
  EXPECT_THAT(refused(fmt::format("{{type: object, properties: {{a: {{{}}}}}}}", kUnchangedHere)),
              ElementsAre(HasSubstr(".a: the API server takes no rule")));
  EXPECT_THAT(
      refused(fmt::format("{{type: object, properties: {{a: {{type: array, {}}}}}}}", kUnchangedHere)),
      ElementsAre(HasSubstr(".a: the API server takes no rule")));
}

TEST(RuleCost, HugeBoundsDoNotOverflow) {
  EXPECT_THAT(
      refused(list_of("type: string, maxLength: 9223372036854775807", "maxItems: 9223372036854775807, ")),
      ElementsAre(HasSubstr("more than 100 times what it allows: lower the bounds")));
}

}  // namespace
}  // namespace mist::blueprint
