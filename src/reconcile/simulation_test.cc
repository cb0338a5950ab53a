#include "reconcile/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>

#include "testing/yaml.h"

namespace mist::reconcile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::yaml;

class SimulationTest : public ::testing::Test {
 protected:
  Simulation simulation(bool controllers) {
    return {blueprint,
            yaml("{apiVersion: example.com/v1, kind: App, metadata: {name: x, namespace: shop}, spec: {}}"),
            {.make = [](const std::string& node, const Value&) -> Result<Value> {
               if (node == "migrate") return yaml("{apiVersion: batch/v1, kind: Job, metadata: {name: m}}");
               return yaml("{apiVersion: apps/v1, kind: Deployment, metadata: {name: " + node +
                           "}, spec: {replicas: 2}}");
             },
             .check_node = {},
             .check_edge = {}},
            controllers};
  }
  static std::vector<std::string> verbs(const std::vector<Round>& rounds) {
    std::vector<std::string> all;
    for (const Round& round : rounds)
      for (const std::string& action : round.actions)
        if (!action.starts_with("write the record")) all.push_back(action);
    return all;
  }

  blueprint::Blueprint blueprint =
      *blueprint::Blueprint::parse(yaml("kind: {group: example.com, version: v1, kind: App}\n"
                                        "nodes: {migrate: act, web: own}\n"
                                        "also: [{from: instance, to: migrate}, {from: instance, to: web}]\n"
                                        "sequence: [{from: migrate, to: web}]\n"));
};

TEST_F(SimulationTest, PlaysUntilEverythingIsReadyAndGone) {
  Simulation play = simulation(true);
  const auto rounds = play.settle();
  ASSERT_TRUE(play.ended());
  const auto done = verbs(rounds);
  ASSERT_EQ(done.size(), 4U);
  EXPECT_TRUE(done[0].starts_with("create Job shop/m-"));
  EXPECT_EQ(done[1], "record that migrate is done");
  EXPECT_EQ(done[2], "create Deployment shop/web (node web)");
  EXPECT_TRUE(done[3].starts_with("let go of Job shop/m-")) << "its outcome is recorded";
  EXPECT_EQ(play.status().find("conditions")->as_array()[0].string_at("status"), "True");
  play.delete_instance();
  play.settle();
  EXPECT_TRUE(play.gone());
  EXPECT_THAT(play.objects(), IsEmpty());
}

TEST_F(SimulationTest, WithoutControllersItWaitsForEvents) {
  Simulation play = simulation(false);
  play.settle();
  ASSERT_EQ(play.objects().size(), 1U);
  EXPECT_EQ(play.status().find("conditions")->as_array()[0].string_at("reason"), "Progressing");
  Value job = play.objects().front();
  job["status"] = yaml("{conditions: [{type: Complete, status: 'True'}]}");
  play.write(job);
  play.settle();
  EXPECT_EQ(play.objects().size(), 2U);
  EXPECT_FALSE(play.remove(yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: none}}")).ok());
  ASSERT_TRUE(play.remove(yaml("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}")).ok());
  EXPECT_THAT(verbs(play.settle()), ElementsAre("create Deployment shop/web (node web)"));
}

// Of "a waits for b waits for c", c is what people have to know.
TEST(SimulationStatus, NamesTheFirstCause) {
  const blueprint::Blueprint blueprint = *blueprint::Blueprint::parse(
      yaml("kind: {group: example.com, version: v1, kind: App}\n"
           "nodes: {a: own, b: own, c: read}\n"
           "also: [{from: instance, to: a}, {from: instance, to: b}, {from: instance, to: c}]\n"
           "sequence: [{from: c, to: b, until: present}, {from: b, to: a, until: present}]\n"));
  Simulation play(
      blueprint,
      yaml("{apiVersion: example.com/v1, kind: App, metadata: {name: x, namespace: shop}, spec: {}}"),
      {.make = [](const std::string& node, const Value&) -> Result<Value> {
         return yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: " + node + "}}");
       },
       .check_node = {},
       .check_edge = {}},
      true);
  play.settle();
  EXPECT_EQ(play.status().find("conditions")->as_array()[0].string_at("message"),
            "ConfigMap shop/c: ConfigMap shop/c is not there");
  // A namespace is active at once, and a load balancer gets an address.
  play.write(yaml("{apiVersion: v1, kind: Namespace, metadata: {name: n}}"));
  play.write(yaml("{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: LoadBalancer}}"));
  play.write(yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"));
  play.settle();
  EXPECT_EQ(play.status().find("conditions")->as_array()[0].string_at("status"), "True");
  for (const Value& each : play.objects()) {
    if (each.string_at("kind") == "Namespace") {
      EXPECT_EQ(each.string_at({"status", "phase"}), "Active");
    }
    if (each.string_at("kind") == "Service") {
      EXPECT_EQ(each.at_path({"status", "loadBalancer", "ingress"})->size(), 1U);
    }
  }
}

class SimulatedServer : public ::testing::Test {
 protected:
  // One ConfigMap, which has what the instance says.
  Simulation simulation(const std::string& node) {
    blueprints.push_back(
        *blueprint::Blueprint::parse(yaml("kind: {group: example.com, version: v1, kind: App}\n"
                                          "nodes: {a: " +
                                          node + "}\nalso: [{from: instance, to: a}]\n")));
    return {blueprints.back(),
            yaml("{apiVersion: example.com/v1, kind: App, metadata: {name: x, namespace: shop}, spec: "
                 "{data: {a: '1'}}}"),
            {.make = [](const std::string&, const Value& given) -> Result<Value> {
               Value map = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
               for (const Value::Member& each : given.at_path({"instance", "spec"})->as_object())
                 map.set(each.key, each.value);
               return map;
             },
             .check_node = {},
             .check_edge = {}},
            true};
  }
  static std::vector<std::string> actions(Simulation& play) {
    std::vector<std::string> all;
    for (const Round& round : play.settle())
      for (const std::string& action : round.actions)
        if (!action.starts_with("write the record")) all.push_back(action);
    return all;
  }
  static void others_write(Simulation& play, const std::string& fields) {
    play.write(yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, " + fields + "}"));
  }
  static std::string ready(const Simulation& play) {
    const Value condition = play.status().find("conditions")->as_array()[0];
    return fmt::format("{}: {}", condition.string_at("reason"), condition.string_at("message"));
  }

  std::list<blueprint::Blueprint> blueprints;
};

TEST_F(SimulatedServer, LeavesFieldsToThoseWhoSetThem) {
  Simulation play = simulation("own");
  EXPECT_THAT(actions(play), ElementsAre("create ConfigMap shop/a (node a)"));
  others_write(play, "data: {b: '2'}");
  EXPECT_THAT(actions(play), IsEmpty()) << "nobody else wants that field";
  others_write(play, "data: {a: '2'}");
  EXPECT_THAT(actions(play), IsEmpty());
  EXPECT_EQ(ready(play),
            "Failed: ConfigMap shop/a: somebody else set .data.a, and the node doesn't force its values");
  others_write(play, "data: {a: '1'}");
  EXPECT_THAT(actions(play), IsEmpty());
  EXPECT_EQ(ready(play), "Ready: everything is as wanted");
}

TEST_F(SimulatedServer, GivesFieldsToANodeThatForcesThem) {
  Simulation play = simulation("{type: own, force: true}");
  play.settle();
  for (int i = 0; i < 2; ++i) {
    others_write(play, "data: {a: '2'}");
    EXPECT_THAT(actions(play), ElementsAre("change ConfigMap shop/a (node a)"));
    EXPECT_EQ(ready(play), "Ready: everything is as wanted");
  }
}

TEST_F(SimulatedServer, RemovesFieldsThatANodeNoLongerSets) {
  Simulation play = simulation("own");
  play.settle();
  others_write(play, "data: {b: '2'}");
  play.change_instance(yaml("{spec: {data: {a: null, c: '3'}}}"));
  EXPECT_THAT(actions(play), ElementsAre("change ConfigMap shop/a (node a)"));
  EXPECT_EQ(*play.objects().front().find("data"), yaml("{b: '2', c: '3'}"));
}

TEST_F(SimulatedServer, RefusesWhatCanNotBeChangedInPlace) {
  Simulation play = simulation("own");
  play.change_instance(yaml("{spec: {immutable: true}}"));
  play.settle();
  play.change_instance(yaml("{spec: {data: {a: '2'}}}"));
  EXPECT_THAT(actions(play), IsEmpty());
  EXPECT_EQ(ready(play), "Failed: ConfigMap shop/a: .data.a can't be changed in place");

  Simulation replacing = simulation("{type: own, replace: true}");
  replacing.change_instance(yaml("{spec: {immutable: true}}"));
  replacing.settle();
  replacing.change_instance(yaml("{spec: {data: {a: '2'}}}"));
  EXPECT_THAT(actions(replacing),
              ElementsAre("delete ConfigMap shop/a (node a)", "create ConfigMap shop/a (node a)"));
  EXPECT_EQ(ready(replacing), "Ready: everything is as wanted");
}

TEST_F(SimulatedServer, LetsAnObjectGoWithItsLastFinalizer) {
  Simulation play = simulation("own");
  play.settle();
  play.write(yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [example.com/hold]}}"));
  ASSERT_TRUE(play.remove(yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")).ok());
  EXPECT_THAT(actions(play), IsEmpty());
  play.write(yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: []}}"));
  EXPECT_THAT(actions(play), ElementsAre("create ConfigMap shop/a (node a)"));
}

}  // namespace
}  // namespace mist::reconcile
