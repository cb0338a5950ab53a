// A CRD is deleted and recreated with another scope, while discovery still says the old one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "action/deploy/prepare.h"
#include "apply/reserved_metadata.h"
#include "encoding/yaml.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

constexpr std::string_view kWidget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}";

class ScopeTest : public testing::ReleaseFixture {
 protected:
  void define(std::string_view scope) {
    cluster.put(*encoding::parse_yaml(fmt::format(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.example.com}}
spec:
  group: example.com
  scope: {}
  names: {{kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}}
  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}]
)",
                                                  scope)));
  }
  void redefine(std::string_view scope) {
    const kube::ResourceInfo crds{
        {"apiextensions.k8s.io", "v1", "CustomResourceDefinition"}, "customresourcedefinitions", false, {}};
    ASSERT_TRUE(cluster.remove({crds, "", "widgets.example.com"}, {}, Context()).ok());
    define(scope);
  }
  // The only one of the record.
  apply::InventoryItem recorded() { return now().deployed->inventory.front(); }
};

TEST_F(ScopeTest, WhatIsWrittenIsWhatIsRecorded) {
  for (const std::string_view scope : {"Cluster", "Namespaced"}) {
    SCOPED_TRACE(scope);
    const std::string ns = scope == "Cluster" ? "" : "default";
    id.name = scope == "Cluster" ? "one" : "two";
    if (scope == "Cluster")
      define("Namespaced");
    else
      redefine("Cluster");
    ASSERT_TRUE(install_now(std::string(kWidget)).ok());
    cluster.freeze_discovery();
    redefine(scope);
    const auto seen =
        prepare(environment(), id, upgrade_intent(rendering(std::string(kWidget))), {}, Context());
    ASSERT_TRUE(seen.ok()) << seen.error().to_line();
    EXPECT_EQ(seen->plan.writes[0].key.ns, ns);
    redefine(scope == "Cluster" ? "Namespaced" : "Cluster");
    cluster.freeze_discovery();
    redefine(scope);
    const auto upgraded = upgrade_now(std::string(kWidget));
    ASSERT_TRUE(upgraded.ok()) << upgraded.error().to_line();
    EXPECT_TRUE(cluster.has("Widget.example.com", ns, "w"));
    EXPECT_EQ(recorded().key.ns, ns);
    ASSERT_TRUE(uninstall_now().ok());
    EXPECT_FALSE(cluster.has("Widget.example.com", ns, "w"));
  }
}

// As records have it of a Mistletoe that believed what discovery had said before.
TEST_F(ScopeTest, WhatWasRecordedUnderTheOldScopeIsNotGone) {
  define("Namespaced");
  ASSERT_TRUE(install_now(std::string(kWidget)).ok());
  const auto uid = recorded().uid;
  redefine("Cluster");
  const auto widget = cluster.put(*encoding::parse_yaml(fmt::format(
      "{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: w, uid: {}, labels: {{{}: {}}}}}}}", uid,
      apply::kPartOfLabel, apply::apply_set_id(id))));
  const auto resource = apply::resource_of(cluster,
                                           {.key = {{"example.com", "Widget"}, "default", "w"},
                                            .version = "v1",
                                            .uid = std::string(widget.string_at({"metadata", "uid"}))},
                                           Context());
  ASSERT_TRUE(resource.ok());
  ASSERT_TRUE(resource->has_value());
  EXPECT_FALSE((*resource)->namespaced);
  const auto other = apply::resource_of(
      cluster, {.key = {{"example.com", "Widget"}, "default", "w"}, .version = "v1", .uid = "another"},
      Context());
  EXPECT_FALSE(other->has_value()) << "it went with its definition";
}

}  // namespace
}  // namespace mist::action
