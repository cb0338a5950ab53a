#include "action/deploy/dangling_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "action/query/drift.h"
#include "apply/plan/left_as_is.h"
#include "testing/release_fixture.h"
#include "testing/yaml.h"

namespace mist::action {
namespace {

using ::testing::HasSubstr;

class DanglingOwners : public testing::ReleaseFixture {
 protected:
  void SetUp() override {
    cluster.put(
        testing::yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: owner, namespace: default}}"));
    uid_ = cluster.find("ConfigMap", "default", "owner")->string_at({"metadata", "uid"});
  }
  static std::string owned(std::string_view name, std::string_view uid) {
    return fmt::format(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: owned\n  ownerReferences:\n  - {{apiVersion: "
        "v1, kind: "
        "ConfigMap, name: {}, uid: {}}}\ndata: {{a: \"1\"}}\n",
        name, uid);
  }
  std::string uid_;
};

TEST_F(DanglingOwners, AreRefusedBeforeAnythingIsWritten) {
  const auto missing = install_now(owned("gone", "u-old"));
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().to_line(),
              HasSubstr("names an owner that is not there: ConfigMap gone with uid u-old"));
  EXPECT_EQ(missing.error().where.value().line, 6U);
  const auto another = install_now(owned("owner", "u-old"));
  ASSERT_FALSE(another.ok());
  EXPECT_THAT(another.error().to_line(), HasSubstr("ConfigMap owner is another one"));
  EXPECT_FALSE(cluster.find("ConfigMap", "default", "owned"));
}

TEST_F(DanglingOwners, OwnersThatAreThereAndKindsThatNobodyKnowsPass) {
  EXPECT_TRUE(install_now(owned("owner", uid_)).ok());
  id.name = "other";
  std::string unknown = owned("x", "u");
  unknown.replace(unknown.find("kind: ConfigMap, name"), 15, "kind: Unheard");
  unknown.replace(unknown.find("name: owned"), 11, "name: strange");
  EXPECT_TRUE(install_now(unknown).ok());
}

// Nobody can change what is recorded, and what is there holds data.
TEST_F(DanglingOwners, GoingBackLeavesWhatWouldGetOne) {
  ASSERT_TRUE(install_now(owned("owner", uid_)).ok());
  ASSERT_TRUE(upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: owned}, data: {a: '2'}}").ok());
  const kube::ResourceInfo maps{{"", "v1", "ConfigMap"}, "configmaps", true, {}};
  ASSERT_TRUE(cluster.remove({maps, "default", "owner"}, {}, Context()).ok());
  const auto back = rollback_now(0);
  ASSERT_TRUE(back.ok()) << back.error().to_line();
  EXPECT_EQ(apply::count_left(back->plan), 1U);
  EXPECT_EQ(cluster.find("ConfigMap", "default", "owned")->at_path({"metadata", "ownerReferences"}), nullptr);
}

TEST_F(DanglingOwners, AreNoReasonNotToLook) {
  ASSERT_TRUE(install_now(owned("owner", uid_)).ok());
  const kube::ResourceInfo maps{{"", "v1", "ConfigMap"}, "configmaps", true, {}};
  ASSERT_TRUE(cluster.remove({maps, "default", "owner"}, {}, Context()).ok());
  ASSERT_FALSE(cluster.find("ConfigMap", "default", "owned")) << "the garbage collector was there";
  const auto report = drift(environment(), id, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->count(DriftKind::Missing), 1U);
}

}  // namespace
}  // namespace mist::action
