#include "action/authoring/blueprint_rights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::action {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::yaml;

const OperatorAccount kOperator{.name = "mistletoe-operator", .ns = "home", .run_as = "worker"};

PackageRelease cache(std::string_view spec = "{}", std::string_view ns = "home") {
  return {"cache", yaml(fmt::format("apiVersion: mistletoe.dev/v1alpha1\nkind: Release\nmetadata: {{name: "
                                    "web-cache, namespace: {}}}\nspec: {}",
                                    ns, spec))};
}

// "Role shop/name -> account: resources, …".
std::vector<std::string> told(const std::vector<Value>& manifests) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i + 1 < manifests.size(); i += 2) {
    const Value &role = manifests[i], &binding = manifests[i + 1];
    EXPECT_EQ(binding.string_at({"roleRef", "name"}), role.string_at({"metadata", "name"}));
    const Value& subject = binding.find("subjects")->as_array().at(0);
    std::string line = fmt::format(
        "{} {}/{} -> {}/{}:", role.string_at("kind"), role.string_at({"metadata", "namespace"}),
        role.string_at({"metadata", "name"}), subject.string_at("namespace"), subject.string_at("name"));
    for (const Value& rule : role.find("rules")->as_array())
      line += " " + rule.find("resources")->as_array().at(0).as_string();
    lines.push_back(line);
  }
  return lines;
}

TEST(ReleaseRights, AreThoseToTheRecordAndToWhatThePackageMakesWhereItIs) {
  const std::vector<Value> objects{
      yaml("{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}"),
      yaml("{apiVersion: v1, kind: Secret, metadata: {name: a}}"),
      yaml("{apiVersion: v1, kind: Service, metadata: {name: a, namespace: other}}"),
      yaml("{apiVersion: v1, kind: Namespace, metadata: {name: other}}")};
  EXPECT_THAT(told(release_rights(cache(), objects, kOperator)),
              ElementsAre("ClusterRole /mistletoe-release-home-web-cache -> home/worker: namespaces",
                          "Role home/mistletoe-release-web-cache -> home/worker: secrets deployments",
                          "Role other/mistletoe-release-web-cache -> home/worker: services"));
  // The record is in the namespace of the release, and the account in that of the Release.
  EXPECT_THAT(told(release_rights(cache("{targetNamespace: shop, releaseName: c}"), {}, kOperator)),
              ElementsAre("Role shop/mistletoe-release-c -> home/worker: secrets"));
}

TEST(ReleaseRights, AreThoseOfTheAccountThatTheReleaseNames) {
  EXPECT_THAT(told(release_rights(cache("{serviceAccountName: deployer}", "shop"), {}, kOperator)),
              ElementsAre("Role shop/mistletoe-release-web-cache -> shop/deployer: secrets"));
  EXPECT_THAT(told(release_rights(cache(), {}, {.name = "operator", .ns = "home"})),
              ElementsAre("Role home/mistletoe-release-web-cache -> home/operator: secrets"));
  EXPECT_THAT(release_rights(cache("{}", "shop"), {}, kOperator), IsEmpty())
      << "accounts are never taken to another namespace";
}

TEST(ReleaseRights, IncludeReadingTheValuesThatTheReleaseNames) {
  PackageRelease made = cache();
  made.values_from = {{.secret = true, .name = "db", .key = "values.yaml"},
                      {.name = "size", .key = "values.yaml"},
                      {.name = "size", .key = "other.yaml", .optional = true, .text = "a: 1"}};
  const std::vector<Value> manifests = release_rights(made, {}, kOperator);
  EXPECT_THAT(told(manifests),
              ElementsAre("Role home/mistletoe-release-web-cache -> home/worker: secrets configmaps"));
  EXPECT_EQ(manifests.front().find("rules")->as_array().back(),
            yaml("{apiGroups: [''], resources: [configmaps], verbs: [get], resourceNames: [size]}"));
  EXPECT_THAT(made.missing_values(),
              ElementsAre("Secret db, key values.yaml", "ConfigMap size, key values.yaml"));
  // A right to all of a kind includes them.
  EXPECT_THAT(
      told(release_rights(made, {yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")}, kOperator)),
      ElementsAre("Role home/mistletoe-release-web-cache -> home/worker: secrets configmaps"));
  // They are where the Release is, which may not be where its objects are.
  made.release = cache("{targetNamespace: shop}").release;
  const std::vector<Value> apart = release_rights(made, {}, kOperator);
  EXPECT_THAT(told(apart),
              ElementsAre("Role home/mistletoe-release-web-cache -> home/worker: configmaps secrets",
                          "Role shop/mistletoe-release-web-cache -> home/worker: secrets"));
  EXPECT_EQ(apart.front().find("rules")->as_array().back(),
            yaml("{apiGroups: [''], resources: [secrets], verbs: [get], resourceNames: [db]}"));
}

}  // namespace
}  // namespace mist::action
