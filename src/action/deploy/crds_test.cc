#include "action/deploy/crds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "action/deploy/deploy.h"
#include "action/recover/rollback.h"
#include "package/objects.h"
#include "testing/api_refusal.h"
#include "testing/fake_cluster.h"

namespace mist::action {
namespace {

using ::testing::HasSubstr;

std::string crd(std::string_view field) {
  return fmt::format(
      "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: "
      "things.example.com}}, spec: {{group: example.com, scope: Namespaced, names: {{kind: Thing, plural: "
      "things}}, "
      "versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, "
      "properties: "
      "{{{}: {{type: string}}}}}}}}}}]}}}}",
      field);
}

class CrdsTest : public ::testing::Test {
 protected:
  Result<DeployReport> deploy_now(const std::string& crd, bool install, const DeployOptions& options = {},
                                  const std::string& engine = "helm",
                                  const std::string& file = "chart/crds/thing.yaml") {
    const auto render = [=, this](const ReleaseState&) -> Result<RenderedRelease> {
      MIST_TRY(auto objects,
               package::parse_objects(
                   {{file, crd},
                    {"chart/templates/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"}},
                   events));
      return RenderedRelease{.package = {"test:1", "test", "1", "sha256:" + crd, engine},
                             .user_values = encoding::Value::object(),
                             .objects = std::move(objects)};
    };
    return deploy({cluster, clock, random, events, "tester"}, id,
                  install ? install_intent(render) : upgrade_intent(render), options, Context());
  }

  /// A CRD with that field, and a Thing that has it.
  static std::string with_thing(std::string_view field) {
    return fmt::format("{}\n---\n{{apiVersion: example.com/v1, kind: Thing, metadata: {{name: t}}, {}: x}}",
                       crd(field), field);
  }

  /// The server refuses the first `times` writes of Things.
  void refuse_things(int times) {
    cluster.set_before([this, times](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "apply" || call.dry_run || call.key.group_kind.kind != "Thing") return {};
      if (++thing_writes > times) return {};
      return testing::api_refusal(ErrorKind::Invalid, "cannot apply", ".color: field not declared in schema");
    });
  }

  bool has_crd() {
    return cluster.has("CustomResourceDefinition.apiextensions.k8s.io", "", "things.example.com");
  }

  testing::FakeCluster cluster;
  SystemClock clock;
  SystemRandom random;
  NullEventSink events;
  release::ReleaseId id{"default", "web"};
  int thing_writes = 0;
};

TEST_F(CrdsTest, AChangeThatNarrowsIsRefusedUnlessItIsForced) {
  ASSERT_TRUE(deploy_now(crd("size"), true).ok());
  const auto refused = deploy_now(crd("color"), false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().to_line(), HasSubstr("in v1, .size is removed"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--force-crds"));
  const auto forced = deploy_now(crd("color"), false, {.force_crds = true});
  EXPECT_TRUE(forced.ok()) << forced.error().to_line();
}

TEST_F(CrdsTest, OfOtherPackagesTheyAreTheirAuthorsBusiness) {
  ASSERT_TRUE(deploy_now(crd("size"), true, {}, "").ok());
  EXPECT_TRUE(deploy_now(crd("color"), false, {}, "").ok());
}

TEST_F(CrdsTest, SkipCrdsLeavesThemAsTheyAre) {
  ASSERT_TRUE(deploy_now(crd("size"), true, {.skip_crds = true}).ok());
  EXPECT_FALSE(has_crd());
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "a"));
  ASSERT_TRUE(deploy_now(crd("size"), false).ok());
  ASSERT_TRUE(deploy_now(crd("color"), false, {.skip_crds = true}).ok());
  EXPECT_TRUE(has_crd());
}

TEST_F(CrdsTest, SkipCrdsAppliesThoseOfTemplates) {
  ASSERT_TRUE(
      deploy_now(crd("size"), true, {.skip_crds = true}, "helm", "chart/templates/crds/thing.yaml").ok());
  EXPECT_TRUE(has_crd());
}

TEST_F(CrdsTest, SkipCrdsWinsOverDeleteCrds) {
  ASSERT_TRUE(deploy_now(crd("size"), true).ok());
  const auto upgraded =
      deploy_now(crd("color"), false, {.allowed = {.prune = {.delete_crds = true}}, .skip_crds = true});
  ASSERT_TRUE(upgraded.ok()) << upgraded.error().to_line();
  EXPECT_TRUE(has_crd());
  ASSERT_EQ(upgraded->plan.removals.size(), 1u);
  EXPECT_THAT(upgraded->plan.removals[0].reason, HasSubstr("--skip-crds"));
  // A run that finishes that revision's work, or goes back to it, leaves the CRD too.
  ASSERT_TRUE(deploy_now(crd("size"), false).ok());
  const Environment with_sink{cluster, clock, random, events, "tester"};
  const auto back = deploy(with_sink, id, rollback_intent(with_sink, 1, Context()),
                           {.allowed = {.prune = {.delete_crds = true}}}, Context());
  ASSERT_TRUE(back.ok()) << back.error().to_line();
  EXPECT_TRUE(has_crd());
  // A CRD that the chart no longer has goes, if that is wanted.
  ASSERT_TRUE(deploy_now("", false, {.allowed = {.prune = {.delete_crds = true}}, .skip_crds = true}).ok());
  EXPECT_FALSE(has_crd());
}

// The server's handler of a kind learns of a change a moment after the CRD was written.
TEST_F(CrdsTest, WhatIsHeldAgainstTheCrdBeforeIsTriedAgain) {
  ASSERT_TRUE(deploy_now(with_thing("size"), true).ok());
  refuse_things(2);
  const auto upgraded = deploy_now(with_thing("color"), false, {.force_crds = true});
  EXPECT_TRUE(upgraded.ok()) << upgraded.error().to_line();
  EXPECT_EQ(thing_writes, 3);
  EXPECT_TRUE(cluster.find("Thing.example.com", "default", "t")->find("color") != nullptr);
}

TEST_F(CrdsTest, WhatIsRefusedByACrdThatStaysIsNotTriedAgain) {
  ASSERT_TRUE(deploy_now(crd("size"), true).ok());
  refuse_things(1);
  EXPECT_FALSE(deploy_now(with_thing("size"), false).ok());
  EXPECT_EQ(thing_writes, 1);
}

}  // namespace
}  // namespace mist::action
