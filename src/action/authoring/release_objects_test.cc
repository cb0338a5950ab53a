#include "action/authoring/release_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/release_fixture.h"
#include "testing/yaml.h"

namespace mist::action {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ReleaseObjects : public testing::ReleaseFixture {
 protected:
  // Of three nodes: no package, the release default/web, one that isn't installed.
  InstanceGraph looked_at() {
    InstanceGraph graph{
        .blueprint_name = "b",
        .blueprint_ns = "default",
        .blueprint = *blueprint::Blueprint::parse(testing::yaml(
            "kind: {group: g, version: v1, kind: K}\nnodes: {a: own, b: package, c: package}\n"
            "also: [{from: instance, to: a}, {from: instance, to: b}, {from: instance, to: c}]")),
        .instance = {}};
    graph.releases = {std::nullopt, std::pair("default", "web"), std::pair("default", "later")};
    const Status added = add_release_objects(environment(), graph, Context());
    EXPECT_TRUE(added.ok()) << added.error().to_line();
    return graph;
  }
};

TEST_F(ReleaseObjects, AreShownWithTheirStatesWhereTheReleaseIsThere) {
  ASSERT_TRUE(install_now("---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1'}}\n"
                          "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {x: '1'}}\n")
                  .ok());
  cluster.drop({{"", "ConfigMap"}, "default", "b"});
  const InstanceGraph graph = looked_at();
  ASSERT_EQ(graph.release_objects.size(), 3U);
  EXPECT_FALSE(graph.release_objects[0]);
  EXPECT_FALSE(graph.release_objects[2]) << "it isn't installed yet, which is no trouble";
  ASSERT_TRUE(graph.release_objects[1]);
  std::map<std::string, ObjectHealth> states;
  for (const ObjectStatus& each : *graph.release_objects[1]) states[each.key.name] = each.health;
  EXPECT_EQ(states,
            (std::map<std::string, ObjectHealth>{{"a", ObjectHealth::Ready}, {"b", ObjectHealth::Missing}}));
  EXPECT_THAT(graph.troubles, IsEmpty());
}

TEST_F(ReleaseObjects, ThatMayNotBeReadAreATroubleAndNoMore) {
  ASSERT_TRUE(
      install_now("---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1'}}\n").ok());
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.key.group_kind.kind != "Secret") return std::nullopt;
    return error(ErrorKind::Forbidden, "secrets are none of your business");
  });
  const InstanceGraph graph = looked_at();
  EXPECT_FALSE(graph.release_objects.at(1));
  ASSERT_FALSE(graph.troubles.empty());
  EXPECT_THAT(graph.troubles.front(), HasSubstr("the objects of release default/web: "));
  EXPECT_THAT(graph.troubles.front(), HasSubstr("none of your business"));
}

}  // namespace
}  // namespace mist::action
