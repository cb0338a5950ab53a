#include "reconcile/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"
#include "testing/yaml.h"

namespace mist::reconcile {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::yaml;

class ScenarioTest : public ::testing::Test {
 protected:
  static Simulation::Functions functions() {
    return {.make = [](const std::string& node, const Value& environment) -> Result<Value> {
              Value made = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}");
              made["metadata"].set("name", node);
              made["data"].set("size", *environment.at_path({"instance", "spec", "size"}));
              return made;
            },
            .check_node = {},
            .check_edge = {}};
  }
  static Result<Scenario> parsed(std::string_view text) { return Scenario::parse(text, "case.yaml"); }
  static std::string refusal(std::string_view text) {
    const auto scenario = parsed(text);
    return scenario.ok() ? "" : scenario.error().to_line() + " at " + scenario.error().where->text();
  }
  Result<Played> played(std::string_view text) {
    const auto scenario = parsed(text);
    EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().to_line());
    return play(blueprint, *scenario, functions());
  }

  blueprint::Blueprint blueprint =
      *blueprint::Blueprint::parse(yaml("kind: {group: example.com, version: v1, kind: App}\n"
                                        "nodes: {a: own, b: own}\n"
                                        "also: [{from: instance, to: a}, {from: a, to: b, when: spec.b}]\n"
                                        "sequence: [{from: a, to: b}]\n"));
};

constexpr std::string_view kInstance =
    "instance: {apiVersion: example.com/v1, kind: App, metadata: {name: x, namespace: shop}, spec: {size: 1, "
    "b: true}}\n";

TEST_F(ScenarioTest, PlaysEachEventUntilNothingIsLeftToDo) {
  const auto result = played(std::string(kInstance) +
                             "events:\n- remove: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
                             "- instance: {spec: {size: 2, b: false}}\n- deleteInstance: true\n");
  ASSERT_TRUE(result.ok()) << result.error().to_line();
  ASSERT_TRUE(result->settled());
  std::vector<std::string> events;
  for (const ScenarioStep& step : result->steps) events.push_back(step.event);
  EXPECT_THAT(events, ElementsAre("App shop/x appears", "ConfigMap a is removed", "App shop/x changes",
                                  "App shop/x is deleted"));
  const ScenarioStep& first = result->steps[0];
  EXPECT_THAT(first.rounds.front().actions, ElementsAre("create ConfigMap shop/a (node a)"));
  EXPECT_TRUE(is_blocked(first.rounds.front().nodes[1])) << "b waits for a";
  EXPECT_EQ(first.condition.string_at("reason"), "Ready");
  EXPECT_EQ(first.there.size(), 2U);
  EXPECT_THAT(result->steps[1].changed, IsEmpty()) << "it came back as it was";
  EXPECT_THAT(result->steps[1].rounds.front().actions, ElementsAre("create ConfigMap shop/a (node a)"));
  EXPECT_EQ(result->steps[2].there.size(), 1U);
  EXPECT_THAT(result->steps[3].there, IsEmpty());
  EXPECT_TRUE(result->steps[3].condition.is_null());
}

TEST_F(ScenarioTest, ShowsObjectsAsTheBlueprintMakesThem) {
  const auto result = played(kInstance);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->steps[0].changed.front(),
            yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {size: 1}}"));
  const auto again = played(kInstance);
  EXPECT_EQ(encoding::to_yaml(to_value(*result)), encoding::to_yaml(to_value(*again)));
}

TEST_F(ScenarioTest, OthersObjectsAppearAndChange) {
  const auto result =
      played(std::string(kInstance) +
             "events:\n- write: {apiVersion: v1, kind: Secret, metadata: {name: s}}\n"
             "- write: {apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: Yg==}}\n");
  ASSERT_TRUE(result.ok()) << result.error().to_line();
  EXPECT_EQ(result->steps[1].event, "Secret s appears");
  EXPECT_EQ(result->steps[2].event, "Secret s changes");
  EXPECT_EQ(result->steps[2].changed.size(), 1U);
}

TEST_F(ScenarioTest, RefusesWhatCannotBePlayed) {
  EXPECT_THAT(refusal("- {wait: 1}"), HasSubstr("no event wait"));
  EXPECT_THAT(refusal("- write: {kind: Secret}"), HasSubstr("metadata.name"));
  EXPECT_THAT(refusal("events:\n- instance: {}\n- remove: 1\n"), HasSubstr("at case.yaml:3:"));
  EXPECT_THAT(refusal("instances: {}"), HasSubstr("instances is nothing that a scenario has"));
  EXPECT_THAT(refusal("- deleteInstance: false"), HasSubstr("nothing but true"));
  EXPECT_THAT(refusal("- release: {node: a}"), HasSubstr("what it exports, or a failure"));
  EXPECT_THAT(refusal("releases: {a: {exports: {}, failure: x}}"),
              HasSubstr("what it exports, or a failure"));
  EXPECT_THAT(played(std::string(kInstance) + "releases: {a: {failure: x}}\n").error().message,
              HasSubstr("no package node a"));
  EXPECT_THAT(refusal("3"), HasSubstr("a list of events, or a record"));
  EXPECT_THAT(played("instance: {apiVersion: v1, kind: App, metadata: {name: x}}").error().message,
              HasSubstr("the blueprint is for App of example.com/v1"));
  EXPECT_THAT(played("instance: {apiVersion: example.com/v1, kind: App}").error().message,
              HasSubstr("no metadata.name"));
  const auto gone = played(std::string(kInstance) +
                           "events:\n- remove: {apiVersion: v1, kind: Secret, metadata: {name: s}}\n");
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().where->line, 3U);
}

TEST_F(ScenarioTest, AListAloneHasEventsAndNoInstance) {
  const auto scenario = parsed("- instance: {spec: {size: 2}}\n");
  ASSERT_TRUE(scenario.ok());
  EXPECT_TRUE(scenario->instance.is_null());
  EXPECT_EQ(scenario->events.size(), 1U);
  EXPECT_TRUE(scenario->controllers);
  EXPECT_FALSE(parsed("controllers: false")->controllers);
}

}  // namespace
}  // namespace mist::reconcile
