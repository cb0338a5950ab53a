#include "action/authoring/blueprint_live.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::action {
namespace {

using graph::Truth;
using ::testing::ElementsAre;
using testing::yaml;

TEST(NamedObject, IsAKindAndAName) {
  const auto named = NamedObject::parse("deployments.apps/web");
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->kind, "deployments.apps");
  EXPECT_EQ(named->name, "web");
  for (const std::string_view text : {"web", "/web", "app/", "a/b/c", ""})
    EXPECT_EQ(NamedObject::parse(text).error().kind, ErrorKind::Usage) << text;
}

TEST(Reasons, NameTheEdgesThatLeadThereOrWhyTheyDoNot) {
  InstanceGraph graph{
      .blueprint_name = "b",
      .blueprint_ns = "default",
      .blueprint = *blueprint::Blueprint::parse(
          yaml("kind: {group: g, version: v1, kind: K}\nnodes: {a: own, b: own, c: own, v: value}\n"
               "also: [{from: instance, to: a}, {from: a, to: b, when: spec.b}, {from: b, to: c}, "
               "{from: instance, to: v}, {from: instance, to: c, given: v}]\n")),
      .instance = {}};
  const auto look = [&](std::string_view instance, Truth value) {
    const graph::Closure closure = graph.blueprint.wanted(yaml(instance), [&](graph::Node) { return value; });
    graph.wanted.clear();
    graph.path.clear();
    for (graph::Node node = 0; node < graph.blueprint.nodes().size(); ++node) {
      graph.wanted.push_back(closure.wanted(node));
      graph.path.push_back(closure.why(node));
    }
  };
  look("{spec: {}}", Truth::False);
  EXPECT_THAT(reasons(graph, 0), ElementsAre("instance → a"));
  EXPECT_THAT(reasons(graph, 1), ElementsAre("a → b (when spec.b): that isn't so"));
  EXPECT_THAT(reasons(graph, 2),
              ElementsAre("b → c: b isn't wanted either", "a → b (when spec.b): that isn't so",
                          "instance → c (given v): that isn't so"));
  look("{spec: {}}", Truth::Unknown);
  EXPECT_THAT(reasons(graph, 2),
              ElementsAre("b → c: b isn't wanted either", "a → b (when spec.b): that isn't so",
                          "instance → c (given v): that isn't known yet"));
  look("{spec: {b: true}}", Truth::Unknown);
  EXPECT_THAT(reasons(graph, 2), ElementsAre("instance → a → b (when spec.b) → c"));
}

}  // namespace
}  // namespace mist::action
