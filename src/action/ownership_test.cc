// Objects that belong to nobody, to another release or to another field manager.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "action/drift.h"
#include "action/status.h"
#include "testing/release_world.h"

namespace mist::action {
namespace {

using ::testing::HasSubstr;

class OwnershipTest : public testing::ReleaseWorld {
 protected:
  std::string label(std::string_view kind, std::string_view ns, std::string_view name) {
    const auto object = cluster.find(kind, ns, name);
    return object ? std::string(object->string_at({"metadata", "labels", release::kVersionLabel})) : "absent";
  }
};

TEST_F(OwnershipTest, ObjectsOfOthersAreRefusedBeforeAnyWrite) {
  cluster.put(encoding::Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", encoding::Value::object({{"name", "two"}, {"namespace", "default"}})}}));
  cluster.clear_calls();
  const auto report = install_now(std::string(testing::kTwoConfigMaps));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(report.error().message, HasSubstr("ConfigMap default/two exists already"));
  EXPECT_EQ(report.error().where->line, 7u);
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(OwnershipTest, AllConflictsAreNamedAtOnce) {
  for (const std::string_view name : {"one", "two"})
    cluster.put(encoding::Value::object(
        {{"apiVersion", "v1"},
         {"kind", "ConfigMap"},
         {"metadata", encoding::Value::object({{"name", name}, {"namespace", "default"}})}}));
  const auto report = install_now(std::string(testing::kTwoConfigMaps));
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().to_line(), HasSubstr("also: ConfigMap default/two exists already"));
  EXPECT_THAT(report.error().to_line(), HasSubstr("(all.yaml:7)"));
  EXPECT_THAT(report.error().hint, HasSubstr("--adopt"));
}

TEST_F(OwnershipTest, AdoptTakesWhatBelongsToNobodyAndSaysWhatDiffers) {
  encoding::Value data = encoding::Value::object({{"b", "theirs"}});
  cluster.put(encoding::Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", encoding::Value::object({{"name", "two"}, {"namespace", "default"}})},
       {"data", data}}));
  const auto report = install_now(std::string(testing::kTwoConfigMaps),
                                  {.force_conflicts = true, .prune = {}, .adopt = true});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  const apply::PlannedAction& adopted = report->plan.writes[1];
  EXPECT_EQ(adopted.kind, apply::ActionKind::Adopt);
  EXPECT_TRUE(std::ranges::any_of(adopted.differences, [](const apply::FieldDifference& d) {
    return d.path == ".data.b" && d.before == encoding::Value("theirs");
  }));
  EXPECT_EQ(label("ConfigMap", "default", "two"), "v0");
  const auto state = read_release(environment(), id, Context());
  ASSERT_TRUE(state.ok());
  EXPECT_TRUE(std::ranges::any_of(state->deployed->inventory, [](const release::InventoryItem& item) {
    return item.key.name == "two" && item.adopted;
  }));
}

TEST_F(OwnershipTest, FieldsOfOthersAreAConflictThatNamesManagerAndField) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  auto two = *cluster.find("ConfigMap", "default", "two");
  two["data"].set("b", "edited");
  cluster.put(two, "kubectl-edit");
  cluster.clear_calls();
  const auto refused = upgrade_now(std::string(testing::kTwoConfigMaps));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("ConfigMap default/two has fields that other managers own"));
  EXPECT_THAT(refused.error().message, HasSubstr("kubectl-edit"));
  EXPECT_THAT(refused.error().message, HasSubstr(".data.b"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--force-conflicts"));
  EXPECT_EQ(refused.error().where->line, 7u);
  EXPECT_EQ(cluster.writes(), 0u);
  ASSERT_TRUE(upgrade_now(std::string(testing::kTwoConfigMaps), {.force_conflicts = true}).ok());
  EXPECT_EQ(cluster.find("ConfigMap", "default", "two")->string_at({"data", "b"}), "2");
}

TEST_F(OwnershipTest, AdoptDoesNotTakeFromOtherReleases) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  DeployOptions options;
  options.adopt = true;
  const auto other =
      deploy(environment(), {"default", "other"},
             install_intent(rendering(std::string(testing::kTwoConfigMaps))), options, Context());
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().hint, HasSubstr("--take-over-from default/web"));
}

// Whatever a record says, the mark on the live object decides whose it is.
TEST_F(OwnershipTest, WhatAnotherReleaseMarkedIsNeitherPrunedNorUninstalled) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  auto two = *cluster.find("ConfigMap", "default", "two");
  two["metadata"]["labels"].set(release::kPartOfLabel, release::apply_set_id({"default", "other"}));
  cluster.put(two);
  ASSERT_TRUE(upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}").ok());
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "two"));
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "two"));
}

// A restored backup, `kubectl replace --force`: the release's mark with another uid.
TEST_F(OwnershipTest, WhatWasMadeAnewFromACopyStaysTheReleases) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  const auto make_anew = [&](std::string_view name) {
    auto object = *cluster.find("ConfigMap", "default", name);
    const std::string uid(object.string_at({"metadata", "uid"}));
    object["metadata"].erase("uid");
    object["metadata"].erase("managedFields");
    cluster.drop({{"", "ConfigMap"}, "default", std::string(name)});
    EXPECT_NE(cluster.put(object, "restore").string_at({"metadata", "uid"}), uid);
  };
  make_anew("one");
  make_anew("two");
  const auto seen = status(environment(), id, Context());
  ASSERT_TRUE(seen.ok()) << seen.error().to_line();
  EXPECT_EQ(seen->count(ObjectHealth::Ready), 2u);
  const auto upgraded = upgrade_now(std::string(testing::kTwoConfigMaps));
  ASSERT_TRUE(upgraded.ok()) << upgraded.error().to_line();
  EXPECT_EQ(now().deployed->number, 1) << "its uids are recorded";
  EXPECT_EQ(now().deployed->inventory[0].uid,
            cluster.find("ConfigMap", "default", "one")->string_at({"metadata", "uid"}));
  EXPECT_TRUE(drift(environment(), id, Context())->found.empty());

  make_anew("two");
  ASSERT_TRUE(upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}").ok());
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "two")) << "pruned";
  make_anew("one");
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_TRUE(cluster.objects().empty());
}

TEST_F(OwnershipTest, AnotherReleasesObjectNamesItsOwner) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  const auto other = deploy(environment(), {"default", "other"},
                            install_intent(rendering(std::string(testing::kTwoConfigMaps))), {}, Context());
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("belongs to release default/web"));
}

}  // namespace
}  // namespace mist::action
