// The state of a release after a run whose revision could not be stored.

#include "action/recover/record_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using testing::FakeCall;
using ::testing::HasSubstr;

using RecordHeadTest = testing::ReleaseFixture;

// A quota on Secrets, say.
TEST_F(RecordHeadTest, ARevisionThatCouldNotBeStoredLeavesTheReleaseAsItWas) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  const release::Anchor before = *now().anchor;
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "create" && call.key.name == "mistletoe.web.v1")
      return error(ErrorKind::Forbidden, "exceeded quota");
    return std::nullopt;
  });
  const auto refused =
      upgrade_now("{apiVersion: apps/v1, kind: Deployment, metadata: {name: new, namespace: default}}");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_line(), HasSubstr("exceeded quota"));
  const release::Anchor after = *now().anchor;
  EXPECT_EQ(after.head, before.head);
  EXPECT_EQ(after.group_kinds, before.group_kinds);
  EXPECT_FALSE(after.lock.has_value());
  const auto same = upgrade_now(std::string(testing::kTwoConfigMaps));
  ASSERT_TRUE(same.ok()) << same.error().to_line();
  EXPECT_FALSE(same->changed);
}

// Should its answer have been lost, it may be there: then its number is not free.
TEST_F(RecordHeadTest, ARevisionThatMayHaveBeenStoredStaysAnnounced) {
  ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "create" && call.key.name == "mistletoe.web.v1")
      return error(ErrorKind::Timeout, "nobody answered");
    return std::nullopt;
  });
  ASSERT_FALSE(upgrade_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}").ok());
  EXPECT_EQ(now().anchor->head.latest, 1);
  EXPECT_EQ(now().anchor->head.deployed, 0);
}

TEST_F(RecordHeadTest, AnInstallWhoseRevisionCouldNotBeStoredLeavesNoRelease) {
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "create" && call.key.name == "mistletoe.web.v0")
      return error(ErrorKind::Forbidden, "exceeded quota");
    return std::nullopt;
  });
  ASSERT_FALSE(install_now(std::string(testing::kTwoConfigMaps)).ok());
  EXPECT_THAT(cluster.objects(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace mist::action
