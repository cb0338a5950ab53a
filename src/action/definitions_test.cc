#include "action/definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "action/deploy.h"
#include "package/objects.h"
#include "testing/fake_cluster.h"

namespace mist::action {
namespace {

using ::testing::HasSubstr;

std::string definition(std::string_view field) {
  return fmt::format(
      "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: "
      "things.example.com}}, spec: {{group: example.com, scope: Namespaced, names: {{kind: Thing, plural: "
      "things}}, "
      "versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, "
      "properties: "
      "{{{}: {{type: string}}}}}}}}}}]}}}}",
      field);
}

class DefinitionsTest : public ::testing::Test {
 protected:
  Result<DeployReport> deploy_now(const std::string& crd, bool install, const DeployOptions& options = {},
                                  const std::string& engine = "helm") {
    const auto render = [=, this](const ReleaseState&) -> Result<RenderedRelease> {
      MIST_TRY(auto objects,
               package::parse_objects(
                   {{"chart/crds/thing.yaml", crd},
                    {"chart/templates/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"}},
                   events));
      return RenderedRelease{.package = {"test:1", "test", "1", "sha256:" + crd, engine},
                             .user_values = encoding::Value::object(),
                             .objects = std::move(objects)};
    };
    return deploy({cluster, clock, random, events, "tester"}, id,
                  install ? install_intent(render) : upgrade_intent(render), options, Context());
  }

  testing::FakeCluster cluster;
  SystemClock clock;
  SystemRandom random;
  NullEventSink events;
  release::ReleaseId id{"default", "web"};
};

TEST_F(DefinitionsTest, AChangeThatNarrowsIsRefusedUnlessItIsForced) {
  ASSERT_TRUE(deploy_now(definition("size"), true).ok());
  const auto refused = deploy_now(definition("color"), false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().to_line(), HasSubstr("in v1, .size is removed"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--force-crds"));
  const auto forced = deploy_now(definition("color"), false, {.force_crds = true});
  EXPECT_TRUE(forced.ok()) << forced.error().to_line();
}

TEST_F(DefinitionsTest, OfOtherPackagesTheyAreTheirAuthorsBusiness) {
  ASSERT_TRUE(deploy_now(definition("size"), true, {}, "").ok());
  EXPECT_TRUE(deploy_now(definition("color"), false, {}, "").ok());
}

TEST_F(DefinitionsTest, SkipCrdsLeavesThemAsTheyAre) {
  ASSERT_TRUE(deploy_now(definition("size"), true, {.skip_crds = true}).ok());
  EXPECT_FALSE(cluster.has("CustomResourceDefinition.apiextensions.k8s.io", "", "things.example.com"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "a"));
  ASSERT_TRUE(deploy_now(definition("size"), false).ok());
  ASSERT_TRUE(deploy_now(definition("color"), false, {.skip_crds = true}).ok());
  EXPECT_TRUE(cluster.has("CustomResourceDefinition.apiextensions.k8s.io", "", "things.example.com"));
}

}  // namespace
}  // namespace mist::action
