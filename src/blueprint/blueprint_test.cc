#include "blueprint/blueprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::blueprint {
namespace {

using ::testing::HasSubstr;
using testing::yaml;

constexpr std::string_view kHead =
    "kind: {group: example.com, version: v1, kind: App}\nnodes: {a: own, b: own, c: read}\n";
constexpr std::string_view kAlso =
    "also: [{from: instance, to: a}, {from: a, to: b}, {from: b, to: c, when: spec.c}]\n";

Result<Blueprint> parsed(std::string_view rest) {
  return Blueprint::parse(yaml(fmt::format("{}{}", kHead, rest)));
}
std::string refusal(std::string_view rest) {
  const auto blueprint = parsed(rest);
  return blueprint.ok() ? "" : blueprint.error().to_line();
}

TEST(Blueprint, OrdersItsNodesBySequence) {
  const auto blueprint = parsed(fmt::format("{}sequence: [{{from: c, to: b}}, {{from: b, to: a}}]", kAlso));
  ASSERT_TRUE(blueprint.ok()) << blueprint.error().to_line();
  std::string order;
  for (const graph::Node node : blueprint->order()) order += blueprint->name_of(node);
  EXPECT_EQ(order, "cba");
  EXPECT_EQ(blueprint->nodes()[2].type, NodeType::Read);
}

TEST(Blueprint, WantsWhatAlsoLeadsToWhileTheGuardHolds) {
  const auto blueprint = parsed(kAlso);
  ASSERT_TRUE(blueprint.ok());
  EXPECT_EQ(blueprint->wanted(yaml("{spec: {c: true}}")).wanted(2), graph::Truth::True);
  EXPECT_EQ(blueprint->wanted(yaml("{spec: {c: false}}")).wanted(2), graph::Truth::False);
  EXPECT_EQ(blueprint->wanted(yaml("{spec: {}}")).wanted(2), graph::Truth::False);
  EXPECT_EQ(blueprint->wanted(yaml("{spec: {}}")).wanted(1), graph::Truth::True);
}

TEST(Blueprint, RefusesWhatCannotWorkAndSaysWhere) {
  EXPECT_THAT(refusal(fmt::format("{}sequence: [{{from: a, to: b}}, {{from: b, to: a}}]", kAlso)),
              HasSubstr("a → b → a"));
  EXPECT_THAT(refusal("also: [{from: instance, to: a}, {from: a, to: b}]"), HasSubstr("the node c"));
  EXPECT_THAT(refusal("also: [{from: instance, to: d}]"), HasSubstr("\"d\""));
  EXPECT_THAT(refusal(fmt::format("{}sequence: [{{from: a, to: b, extract: {{x: ''}}}}]", kAlso)),
              HasSubstr("path of a field"));
  EXPECT_THAT(refusal(fmt::format("{}sequence: [{{from: a, to: c, extract: {{x: m}}}}, "
                                  "{{from: b, to: c, extract: {{x: m}}}}]",
                                  kAlso)),
              HasSubstr("two values called x"));
  EXPECT_FALSE(Blueprint::parse(yaml("{}")).ok());
  EXPECT_FALSE(
      Blueprint::parse(yaml("{kind: {group: g, version: v1, kind: K}, nodes: {instance: own}}")).ok());
}

TEST(FieldPath, FindsFieldsWhoseNamesHaveDots) {
  const auto path = FieldPath::parse("metadata.annotations.example\\.com/x");
  ASSERT_TRUE(path.ok());
  const Value object = yaml("{metadata: {annotations: {example.com/x: z}}, none: null}");
  EXPECT_EQ(*path->find(object), Value("z"));
  EXPECT_EQ(FieldPath::parse("none")->find(object), nullptr);
  EXPECT_EQ(FieldPath::parse("metadata.labels.x")->find(object), nullptr);
  EXPECT_FALSE(FieldPath::parse("a..b").ok());
}

}  // namespace
}  // namespace mist::blueprint
