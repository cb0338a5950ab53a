// What an uninstall deletes, and what it leaves.

#include "action/uninstall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/release_world.h"

namespace mist::action {
namespace {

using ::testing::Contains;

class UninstallTest : public testing::ReleaseWorld {};

TEST_F(UninstallTest, UninstallLeavesNothing) {
  const auto before = cluster.objects();
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps) +
                          "---\n{apiVersion: v1, kind: Namespace, metadata: {name: extra}}")
                  .ok());
  const auto report = uninstall_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->deleted, 3u);
  EXPECT_EQ(cluster.objects(), before);
}

TEST_F(UninstallTest, UninstallKeepsClaimsDefinitionsAndWhatIsMarked) {
  ASSERT_TRUE(install_now(R"(
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, annotations: {mistletoe.dev/keep: "true"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gone}
)")
                  .ok());
  const auto report = uninstall_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->retained, 2u);
  EXPECT_TRUE(cluster.has("PersistentVolumeClaim", "default", "data"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "kept"));
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "gone"));
}

TEST_F(UninstallTest, NamespaceWithForeignObjectsStaysUnlessAskedFor) {
  ASSERT_TRUE(install_now("{apiVersion: v1, kind: Namespace, metadata: {name: extra}}").ok());
  cluster.put(encoding::Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", encoding::Value::object({{"name", "theirs"}, {"namespace", "extra"}})}}));
  const auto plan = plan_uninstall(environment(), id, {}, Context());
  ASSERT_TRUE(plan.ok()) << plan.error().to_line();
  EXPECT_THAT(plan->foreign.at("extra"), Contains("ConfigMap extra/theirs"));
  EXPECT_EQ(plan->removals[0].kind, apply::ActionKind::Retain);
  UninstallOptions options;
  options.rules.delete_namespaces = true;
  ASSERT_TRUE(uninstall_now(options).ok());
  EXPECT_FALSE(cluster.has("Namespace", "", "extra"));
}

}  // namespace
}  // namespace mist::action
