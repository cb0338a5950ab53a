#include "reconcile/permissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::reconcile {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using testing::yaml;

std::vector<std::string> lines(std::string_view nodes, const NodeKinds& kinds) {
  const Value described = yaml(nodes);
  std::string also;
  for (const Value::Member& node : described.as_object())
    also += fmt::format("{}{{from: instance, to: {}}}", also.empty() ? "" : ", ", node.key);
  Value description =
      yaml(fmt::format("kind: {{group: example.com, version: v1, kind: App}}\nalso: [{}]", also));
  description.set("nodes", described);
  const auto blueprint = blueprint::Blueprint::parse(description);
  EXPECT_TRUE(blueprint.ok()) << (blueprint.ok() ? "" : blueprint.error().to_line());
  std::vector<std::string> all;
  for (const Permission& each : permissions(*blueprint, kinds)) {
    std::string line = each.kind.kind + ":";
    for (const std::string& verb : each.verbs) line += " " + verb;
    all.push_back(line + (each.status ? " status" : ""));
  }
  return all;
}

TEST(Permissions, EachNodeNeedsWhatItsTypeDoes) {
  EXPECT_THAT(lines("{a: own, b: read, c: act, d: absent, e: list, v: value}", {{"a", {{"", "ConfigMap"}}},
                                                                                {"b", {{"", "Secret"}}},
                                                                                {"c", {{"batch", "Job"}}},
                                                                                {"d", {{"", "Pod"}}},
                                                                                {"e", {{"", "Node"}}}}),
              ElementsAre("ConfigMap: create delete get list patch watch", "Event: create list",
                          "Node: list watch", "Pod: delete get list watch", "Secret: list watch",
                          "Job: create delete get list patch watch", "App: list patch watch status"));
}

TEST(Permissions, WhatStaysIsNotDeletedAndNodesOfOneKindShareARule) {
  EXPECT_THAT(
      lines("{a: {type: own, policy: retain}, b: read}", {{"a", {{"", "Secret"}}}, {"b", {{"", "Secret"}}}}),
      ElementsAre("Event: create", "Secret: create get list patch watch", "App: list patch watch status"));
  EXPECT_THAT(lines("{a: {type: own, policy: orphan, replace: true}}", {{"a", {{"", "Secret"}}}}),
              ElementsAre("Event: create", "Secret: create delete get list patch watch",
                          "App: list patch watch status"));
}

TEST(Permissions, WhyPodsDoNotRunIsRead) {
  EXPECT_THAT(lines("{a: own, b: act}", {{"a", {{"apps", "Deployment"}}}, {"b", {{"batch", "Job"}}}}),
              ElementsAre("Event: create list", "Pod: list", "Deployment: create delete get list patch watch",
                          "ReplicaSet: list", "Job: create delete get list patch watch",
                          "App: list patch watch status"));
  EXPECT_THAT(lines("{a: read}", {{"a", {{"apps", "Deployment"}}}}),
              ElementsAre("Event: create", "Deployment: list watch", "App: list patch watch status"));
}

TEST(Permissions, APackageIsARelease) {
  EXPECT_THAT(lines("{a: package}", {{"a", {{"mistletoe.dev", "Release"}}}}),
              ElementsAre("Event: create", "App: list patch watch status",
                          "Release: create delete get list patch watch"));
}

TEST(Permissions, PluralsAreThoseOfKubernetes) {
  for (const auto& [kind, resource] : std::map<std::string, std::string>{{"Deployment", "deployments"},
                                                                         {"Ingress", "ingresses"},
                                                                         {"NetworkPolicy", "networkpolicies"},
                                                                         {"Endpoints", "endpoints"},
                                                                         {"StorageClass", "storageclasses"},
                                                                         {"Gateway", "gateways"},
                                                                         {"Proxy", "proxies"},
                                                                         {"Box", "boxes"},
                                                                         {"Batch", "batches"}})
    EXPECT_EQ(usual_resource(kind), resource);
}

}  // namespace
}  // namespace mist::reconcile
