#include "catalog/remove_marked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/recorded_events.h"
#include "testing/release_fixture.h"
#include "testing/yaml.h"

namespace mist::catalog {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kPackage = R"(
{apiVersion: v1, kind: ConfigMap, metadata: {name: inside}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: elsewhere, namespace: kube-public}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ours, annotations: {helm.sh/resource-policy: keep}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: judge, annotations: {mistletoe.dev/keep: 'true'}}
)";
constexpr std::string_view kTheirs = R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: theirs, annotations: {mistletoe.dev/release: default/other}}
)";

class RemoveMarkedTest : public mist::testing::ReleaseFixture {
 protected:
  Result<std::vector<std::string>> remove_now() {
    return remove_marked(environment(), id, std::chrono::seconds(30), Context());
  }
};

TEST_F(RemoveMarkedTest, WithoutARecordWhatIsOutsideGoesAndNobodyElses) {
  cluster.put(mist::testing::yaml(kTheirs));
  ASSERT_TRUE(install_now(std::string(kPackage)).ok());
  cluster.drop({apimachinery::kSecret, "default", "mistletoe.web"});
  const auto removed = remove_now();
  ASSERT_TRUE(removed.ok()) << removed.error().to_line();
  EXPECT_THAT(*removed, IsEmpty());
  EXPECT_FALSE(cluster.has("ClusterRole.rbac.authorization.k8s.io", "", "ours"));
  EXPECT_TRUE(cluster.has("ClusterRole.rbac.authorization.k8s.io", "", "theirs"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "inside")) << "it goes with the namespace";
}

TEST_F(RemoveMarkedTest, AWebhookGoesFirstSinceItMayRefuseTheRest) {
  ASSERT_TRUE(install_now(std::string(kPackage)).ok());
  bool is_refused = false;
  cluster.set_before([&](const mist::testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "delete" || call.key.name == "judge" ||
        !cluster.has("ValidatingWebhookConfiguration.admissionregistration.k8s.io", "", "judge"))
      return std::nullopt;
    is_refused = true;
    return error(ErrorKind::Internal, "failed calling webhook");
  });
  const auto removed = remove_now();
  ASSERT_TRUE(removed.ok()) << removed.error().to_line();
  EXPECT_FALSE(is_refused);
  EXPECT_FALSE(cluster.has("ConfigMap", "kube-public", "elsewhere"));
}

TEST_F(RemoveMarkedTest, WhatTheServerRefusesIsNamed) {
  ASSERT_TRUE(install_now(std::string(kPackage)).ok());
  cluster.set_before([](const mist::testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "delete" || call.key.name != "ours") return std::nullopt;
    return error(ErrorKind::Forbidden, "it stays");
  });
  const auto removed = remove_now();
  ASSERT_FALSE(removed.ok());
  EXPECT_EQ(removed.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(removed.error().message, HasSubstr("ClusterRole ours (it stays)"));
  EXPECT_FALSE(cluster.has("ValidatingWebhookConfiguration.admissionregistration.k8s.io", "", "judge"));
}

// The server of another package's APIService, or of one that is down: discovery may show its kinds all the
// same.
TEST_F(RemoveMarkedTest, AForeignServerThatListsNothingHoldsNobodyUp) {
  cluster.register_kind(
      {{"tally.example.com", "v1", "Tally"}, "tallies", true, {"list", "create", "delete"}});
  for (const ErrorKind kind : {ErrorKind::Retryable, ErrorKind::Timeout}) {
    cluster.set_before({});
    ASSERT_TRUE(install_now(std::string(kPackage)).ok());
    cluster.set_before([=](const mist::testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "list" || call.key.group_kind.kind != "Tally") return std::nullopt;
      return error(kind, "cannot list").with_because("the server is currently unable to handle the request");
    });
    mist::testing::RecordedEvents heard;
    const auto removed =
        remove_marked({cluster, clock, random, heard, "tester"}, id, std::chrono::seconds(30), Context());
    ASSERT_TRUE(removed.ok()) << removed.error().to_line();
    EXPECT_THAT(*removed, IsEmpty());
    EXPECT_TRUE(heard.has("tallies.tally.example.com can't be listed"));
    EXPECT_FALSE(cluster.has("ClusterRole.rbac.authorization.k8s.io", "", "ours"));
    ASSERT_TRUE(uninstall_now().ok());
  }
}

TEST_F(RemoveMarkedTest, AKindOfKubernetesThatCannotBeListedIsAnError) {
  ASSERT_TRUE(install_now(std::string(kPackage)).ok());
  cluster.set_before([](const mist::testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list" || call.key.group_kind.kind != "ClusterRole") return std::nullopt;
    return error(ErrorKind::Retryable, "cannot list");
  });
  const auto removed = remove_now();
  ASSERT_FALSE(removed.ok());
  EXPECT_EQ(removed.error().kind, ErrorKind::Retryable);
}

}  // namespace
}  // namespace mist::catalog
