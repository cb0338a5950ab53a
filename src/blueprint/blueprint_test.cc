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

graph::Closure wanted(const Blueprint& blueprint, std::string_view instance) {
  return blueprint.wanted(yaml(instance), [](graph::Node) { return graph::Truth::Unknown; });
}

TEST(Blueprint, OrdersItsNodesBySequence) {
  const auto blueprint = parsed(fmt::format("{}sequence: [{{from: c, to: b}}, {{from: b, to: a}}]", kAlso));
  ASSERT_TRUE(blueprint.ok()) << blueprint.error().to_line();
  std::string order;
  for (const graph::Node node : blueprint->order()) order += blueprint->name_of(node);
  EXPECT_EQ(order, "cba");
  EXPECT_EQ(blueprint->nodes()[2].type, NodeType::Read);
}

TEST(Blueprint, APackageIsKeptAndReadyBeforeWhatComesAfterIt) {
  const auto blueprint = Blueprint::parse(
      yaml("kind: {group: example.com, version: v1, kind: App}\nnodes: {a: package, b: own}\n"
           "also: [{from: instance, to: a}, {from: instance, to: b}]\n"
           "sequence: [{from: a, to: b, extract: {host: exports.host}}]"));
  ASSERT_TRUE(blueprint.ok()) << blueprint.error().to_line();
  const Node& package = blueprint->nodes()[0];
  EXPECT_EQ(package.type, NodeType::Package);
  EXPECT_TRUE(package.keeps_objects() && package.writes_objects() && package.names_objects());
  EXPECT_EQ(blueprint->sequence()[0].until, Condition::Ready);
  EXPECT_EQ(word(package.type), "package");
}

TEST(Blueprint, OnlyActsRunAtTeardownAndNothingElseComesAfterThem) {
  const auto refused = [](std::string_view nodes, std::string_view sequence) {
    const auto blueprint = Blueprint::parse(
        yaml(fmt::format("kind: {{group: example.com, version: v1, kind: App}}\nnodes: {}\n"
                         "also: [{{from: instance, to: a}}, {{from: instance, to: b}}]\nsequence: {}",
                         nodes, sequence)));
    return blueprint.ok() ? std::string() : blueprint.error().to_line();
  };
  EXPECT_EQ(refused("{a: own, b: {type: act, teardown: true}}", "[{from: a, to: b}]"), "");
  EXPECT_EQ(refused("{a: {type: act, teardown: true}, b: {type: act, teardown: true}}", "[{from: a, to: b}]"),
            "");
  EXPECT_THAT(refused("{a: {type: own, teardown: true}, b: own}", "[]"), HasSubstr("only an act can run"));
  EXPECT_THAT(refused("{a: own, b: {type: act, teardown: true}}", "[{from: b, to: a}]"),
              HasSubstr("runs when the instance is deleted"));
}

TEST(Blueprint, MayHaveADeadlineForItsInstances) {
  EXPECT_EQ(parsed(kAlso)->progress_deadline(), std::nullopt);
  const auto blueprint = parsed(fmt::format("{}progress_deadline: 10m", kAlso));
  ASSERT_TRUE(blueprint.ok()) << blueprint.error().to_line();
  EXPECT_EQ(blueprint->progress_deadline(), std::chrono::minutes(10));
  for (const char* wrong : {"soon", "0s", "-1m", "10ms", "600", "[10m]"})
    EXPECT_EQ(refusal(fmt::format("{}progress_deadline: {}", kAlso, wrong)),
              "progress_deadline is not a time of 1s or more, such as \"10m\"")
        << wrong;
}

TEST(Blueprint, WantsWhatAlsoLeadsToWhileTheGuardHolds) {
  const auto blueprint = parsed(kAlso);
  ASSERT_TRUE(blueprint.ok());
  EXPECT_EQ(wanted(*blueprint, "{spec: {c: true}}").wanted(2), graph::Truth::True);
  EXPECT_EQ(wanted(*blueprint, "{spec: {c: false}}").wanted(2), graph::Truth::False);
  EXPECT_EQ(wanted(*blueprint, "{spec: {}}").wanted(2), graph::Truth::False);
  EXPECT_EQ(wanted(*blueprint, "{spec: {}}").wanted(1), graph::Truth::True);
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

// Operators before this one took them, and waited without end.
TEST(Blueprint, RefusesPathsThatCanNeverHaveAValueUnlessItIsInForce) {
  const std::string indexed =
      fmt::format("{}sequence: [{{from: a, to: b, extract: {{ip: 'status.nodes[0].ip'}}}}]", kAlso);
  EXPECT_THAT(refusal(indexed), HasSubstr("from a to b: status.nodes[0].ip looks for a field that is called "
                                          "nodes[0]"));
  EXPECT_THAT(
      refusal(fmt::format("{}sequence: [{{from: a, to: b, extract: {{ip: 'status.nodes[*].ip'}}}}]", kAlso)),
      HasSubstr("nodes[*]"));
  for (const std::string_view path : {"status.nodes.0.ip", R"(data.a\[0].b)", "data.a[0]b", "data.a[x]"})
    EXPECT_EQ(refusal(fmt::format("{}sequence: [{{from: a, to: b, extract: {{ip: '{}'}}}}]", kAlso, path)),
              "")
        << path;
  const auto guarded = [](std::string_view when) {
    return fmt::format("also: [{{from: instance, to: a}}, {{from: a, to: b}}, {{from: b, to: c, when: {}}}]",
                       when);
  };
  EXPECT_THAT(refusal(guarded("instance.spec.on")), HasSubstr("from b to c never holds"));
  EXPECT_THAT(refusal(guarded("enabled")), HasSubstr("no instance has a field enabled"));
  for (const std::string_view good : {"spec.on", "metadata.labels.on", "status.on", "."})
    EXPECT_EQ(refusal(guarded(good)), "") << good;

  for (const std::string& text : {indexed, guarded("enabled")}) {
    const auto kept = Blueprint::parse(yaml(fmt::format("{}{}", kHead, text)), Standing::InForce);
    ASSERT_TRUE(kept.ok()) << kept.error().to_line();
    EXPECT_THAT(kept->warnings(), ::testing::Contains(HasSubstr("field")));
  }
}

TEST(Blueprint, GuardsByValueNodesAreUnknownUntilTheValueIsKnown) {
  const auto blueprint =
      Blueprint::parse(yaml("kind: {group: g, version: v1, kind: K}\nnodes: {a: own, v: value}\n"
                            "also: [{from: instance, to: v}, {from: instance, to: a, given: v}]\n"));
  ASSERT_TRUE(blueprint.ok()) << blueprint.error().to_line();
  EXPECT_TRUE(blueprint->has_value_guards());
  const auto target = [&](graph::Truth value) {
    return blueprint->wanted(yaml("{}"), [&](graph::Node) { return value; }).wanted(0);
  };
  EXPECT_EQ(target(graph::Truth::Unknown), graph::Truth::Unknown);
  EXPECT_EQ(target(graph::Truth::True), graph::Truth::True);
  EXPECT_EQ(target(graph::Truth::False), graph::Truth::False);
}

TEST(Blueprint, AnEdgeAsksWhatIsUsualForTheTypeOfItsBeginning) {
  const auto blueprint = Blueprint::parse(
      yaml("kind: {group: g, version: v1, kind: K}\n"
           "nodes: {act: act, end: own, gone: absent, list: list, own: own, value: value}\n"
           "also: [{from: instance, to: act}, {from: instance, to: end}, {from: instance, to: gone}, "
           "{from: instance, to: list}, {from: instance, to: own}, {from: instance, to: value}]\n"
           "sequence: [{from: act, to: end}, {from: gone, to: end}, {from: list, to: end}, "
           "{from: own, to: end}, {from: value, to: end}]\n"));
  ASSERT_TRUE(blueprint.ok()) << blueprint.error().to_line();
  std::vector<Condition> asked;
  for (const SequenceEdge& edge : blueprint->sequence()) asked.push_back(edge.until);
  EXPECT_EQ(asked, (std::vector{Condition::Done, Condition::Gone, Condition::Present, Condition::Ready,
                                Condition::Present}));
  EXPECT_FALSE(blueprint->sequence()[1].teardown) << "waiting until it is gone is no dependency";
}

TEST(Blueprint, RefusesConditionsThatANodeCannotHave) {
  const auto refused = [](std::string_view edge) {
    return refusal(fmt::format("{}sequence: [{}]", kAlso, edge));
  };
  EXPECT_THAT(refused("{from: a, to: b, until: done}"), HasSubstr("only an act can be done"));
  EXPECT_THAT(refused("{from: a, to: b, gate: soft, extract: {x: data.x}}"), HasSubstr("gives x no default"));
  EXPECT_EQ(refused("{from: a, to: b, gate: soft, extract: {x: {path: data.x, default: 1}}}"), "");
  EXPECT_THAT(refusal("also: [{from: instance, to: a}, {from: a, to: b, given: c}, {from: a, to: c}]"),
              HasSubstr("isn't a value"));
}

TEST(Blueprint, ASoftEdgeMayCloseACycle) {
  const auto blueprint =
      parsed(fmt::format("{}sequence: [{{from: a, to: b}}, {{from: b, to: a, gate: soft, extract: {{x: "
                         "{{path: m, default: 0}}}}}}]",
                         kAlso));
  ASSERT_TRUE(blueprint.ok()) << blueprint.error().to_line();
  EXPECT_FALSE(blueprint->sequence()[0].cyclic);
  EXPECT_TRUE(blueprint->sequence()[1].cyclic);
  EXPECT_TRUE(blueprint->precedes(0, 1));
  EXPECT_THAT(blueprint->warnings(), ::testing::Contains(HasSubstr("from b to a closes a cycle")));
  EXPECT_FALSE(blueprint->precedes(1, 0));
}

TEST(Blueprint, WarnsOfGuardsThatDependOnWhatTheyGuardAndOfValuesThatMayBeMissing) {
  const auto blueprint = Blueprint::parse(
      yaml("kind: {group: g, version: v1, kind: K}\nnodes: {a: own, b: own, v: value}\n"
           "also: [{from: instance, to: v}, {from: instance, to: a, given: v}, {from: instance, to: b}]\n"
           "sequence: [{from: a, to: v, extract: {x: m}}, {from: a, to: b, extract: {x: m}}]\n"));
  ASSERT_TRUE(blueprint.ok()) << blueprint.error().to_line();
  const auto warnings = blueprint->warnings();
  EXPECT_THAT(warnings, ::testing::Contains(HasSubstr("a is wanted given v, and v depends on a")));
  EXPECT_THAT(warnings, ::testing::Contains(HasSubstr("b needs values of a, which may not be wanted")));
}

TEST(Blueprint, ReadFindsEveryFaultAndParseTellsTheFirst) {
  const Value description = yaml(
      "kind: {group: g, version: v1, kind: K}\nnodes: {a: own, b: own, v: what}\n"
      "also: [{from: instance, to: x}, {from: instance, to: a, given: b}]\n"
      "sequence: [{from: a, to: b, extract: {p: '', q: m}}, {from: a, to: z}, {from: b, to: a}, "
      "{from: a, to: b, until: done}]\n");
  std::vector<Error> faults;
  const Blueprint read = Blueprint::read(description, faults);
  std::vector<std::string> words;
  for (const Error& each : faults) words.push_back(each.message);
  EXPECT_THAT(words, ::testing::ElementsAre(HasSubstr("node v is of no type"), HasSubstr("\"x\""),
                                            HasSubstr("isn't a value"), HasSubstr("path of a field"),
                                            HasSubstr("\"z\""), HasSubstr("only an act can be done"),
                                            HasSubstr("a → b → a")));
  EXPECT_EQ(read.nodes().size(), 3U);
  EXPECT_EQ(Blueprint::parse(description).error().message, words.front());
}

TEST(Blueprint, WithoutGuardsEveryNodeIsWanted) {
  const auto blueprint = parsed(kAlso);
  ASSERT_TRUE(blueprint.ok());
  const Blueprint all = blueprint->without_guards();
  EXPECT_EQ(wanted(all, "{spec: {}}").wanted(2), graph::Truth::True);
  EXPECT_EQ(wanted(*blueprint, "{spec: {}}").wanted(2), graph::Truth::False);
  EXPECT_EQ(all.also().edges().back().reason, "when spec.c");
}

TEST(FieldPath, ReadsListsByIndexAndByField) {
  const Value object = yaml("{ports: [{port: 80}, {port: 81, name: x}], ip: 10.0.0.1}");
  EXPECT_EQ(**FieldPath::parse("ports.1.port")->read(object), Value(81));
  EXPECT_EQ(**FieldPath::parse("ports.port")->read(object), Value::array({80, 81}));
  EXPECT_EQ(**FieldPath::parse("ports.name")->read(object), Value::array({"x"}));
  EXPECT_EQ(**FieldPath::parse(".")->read(object), object);
  EXPECT_FALSE(FieldPath::parse("ports.2.port")->read(object)->has_value());
  EXPECT_FALSE(FieldPath::parse("status.ip")->read(object)->has_value());
  EXPECT_THAT(FieldPath::parse("ip.v4")->read(object).error().message, HasSubstr("leads through a string"));
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
