#include "action/cluster_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fake_cluster.h"
#include "testing/yaml.h"

namespace mist::action {
namespace {

using encoding::Value;
using ::testing::HasSubstr;
using testing::yaml;

class LookupTest : public ::testing::Test {
 protected:
  LookupTest() {
    for (const char* ns : {"shop", "other"})
      put(fmt::format("{{apiVersion: v1, kind: Namespace, metadata: {{name: {}}}}}", ns));
    put(
        fmt::format("{{apiVersion: v1, kind: Secret, metadata: {{name: own, namespace: shop, labels: {{"
                    "applyset.kubernetes.io/part-of: {}}}}}, data: {{p: b3du}}}}",
                    apply::apply_set_id(scope.release)));
    put(
        fmt::format("{{apiVersion: v1, kind: Secret, metadata: {{name: theirs, namespace: shop, labels: {{"
                    "applyset.kubernetes.io/part-of: {}}}}}}}",
                    apply::apply_set_id({"shop", "else"})));
    put("{apiVersion: v1, kind: Secret, metadata: {name: nobodys, namespace: shop}}");
    put("{apiVersion: v1, kind: Secret, type: mistletoe.dev/release, metadata: {name: mistletoe.web, "
        "namespace: shop}}");
    put("{apiVersion: v1, kind: Secret, type: mistletoe.dev/release, metadata: {name: forged, namespace: "
        "shop}}");
    put("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}");
    put("{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: other}}");
    cluster.clear_calls();
  }
  void put(const std::string& object) { cluster.put(yaml(object), "test"); }
  Result<Value> ask(std::string_view request) {
    auto answer = cluster_lookup(cluster, scope, asker, yaml(request), Context());
    if (!answer.ok()) return std::move(answer).error();
    to_be_taken = answer->to_be_taken;
    return std::move(answer->value);
  }
  void expect_refused(std::string_view request, std::string_view hint) {
    const auto refused = ask(request);
    ASSERT_FALSE(refused.ok()) << request;
    EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden) << request;
    EXPECT_THAT(refused.error().hint, HasSubstr(std::string(hint))) << request;
  }

  testing::FakeCluster cluster;
  render::LookupScope scope{.release = {"shop", "web"}};
  package::LookupAsker asker{.reference = "./chart", .is_chart = true};
  std::vector<apimachinery::ObjectKey> to_be_taken;
};

TEST_F(LookupTest, WithoutAGrantOnlyWhatTheReleaseOwnsIsAnswered) {
  EXPECT_EQ(ask("{apiVersion: v1, kind: Secret, namespace: shop, name: own}")->string_at({"data", "p"}),
            "b3du");
  for (const char* name : {"theirs", "nobodys"})
    expect_refused(fmt::format("{{apiVersion: v1, kind: Secret, namespace: shop, name: {}}}", name),
                   fmt::format("--allow-lookup-secrets shop/{}", name));
  expect_refused("{apiVersion: v1, kind: ConfigMap, namespace: shop, name: a}",
                 "--allow-lookup shop/ConfigMap/a");
  expect_refused("{apiVersion: v1, kind: ConfigMap}", "--allow-lookup '*/ConfigMap'");
  expect_refused("{apiVersion: v1, kind: Secret, namespace: shop}", "--allow-lookup-secrets shop");
  // A namespace in the request grants nothing that is in none.
  expect_refused("{apiVersion: v1, kind: Namespace, namespace: shop, name: other}",
                 "--allow-lookup '*/Namespace/other'");
}

TEST_F(LookupTest, WhatIsNotThereIsAnsweredAsSuch) {
  const auto nothing = ask("{apiVersion: v1, kind: Secret, namespace: shop, name: none}");
  ASSERT_TRUE(nothing.ok()) << nothing.error().to_line();
  EXPECT_TRUE(nothing->is_null());
  EXPECT_TRUE(ask("{apiVersion: v1, kind: ServiceAccount, namespace: nowhere}")->find("items")->empty());
}

TEST_F(LookupTest, AGrantGivesExactlyWhatItNames) {
  scope.grants.objects = {"other/ConfigMap/b"};
  EXPECT_TRUE(ask("{apiVersion: v1, kind: ConfigMap, namespace: other, name: b}")->is_object());
  expect_refused("{apiVersion: v1, kind: ConfigMap, namespace: shop, name: a}", "--allow-lookup");
  scope.grants.objects = {"*"};
  EXPECT_TRUE(ask("{apiVersion: v1, kind: ConfigMap, namespace: shop, name: a}")->is_object());
  EXPECT_TRUE(ask("{apiVersion: v1, kind: Namespace, name: other}")->is_object());
  expect_refused("{apiVersion: v1, kind: Secret, namespace: shop, name: theirs}", "--allow-lookup-secrets");
  scope.grants.secrets = {"shop/theirs"};
  EXPECT_TRUE(ask("{apiVersion: v1, kind: Secret, namespace: shop, name: theirs}")->is_object());
  expect_refused("{apiVersion: v1, kind: Secret, namespace: shop, name: nobodys}", "shop/nobodys");
}

TEST_F(LookupTest, RecordsOfReleasesAreNeverAnswered) {
  scope.grants = {{"*"}, {"*"}};
  for (const char* name : {"mistletoe.web", "forged"}) {
    const auto refused =
        ask(fmt::format("{{apiVersion: v1, kind: Secret, namespace: shop, name: {}}}", name));
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
  }
  EXPECT_EQ(ask("{apiVersion: v1, kind: Secret, namespace: shop}")->find("items")->size(), 3U);
}

TEST_F(LookupTest, APackageThatIsNoChartDeclaresWhatItReads) {
  asker.is_chart = false;
  scope.grants.objects = {"shop/ConfigMap/a"};
  expect_refused("{apiVersion: v1, kind: ConfigMap, namespace: shop, name: a}",
                 "spec.needs.clusterRead: [\"./ConfigMap/a\"]");
  asker.needs = {"./ConfigMap"};
  EXPECT_TRUE(ask("{apiVersion: v1, kind: ConfigMap, namespace: shop, name: a}").ok());
  scope.grants = {};
  expect_refused("{apiVersion: v1, kind: ConfigMap, namespace: shop, name: a}", "--allow-lookup");
}

TEST_F(LookupTest, WhatIsAboutToBeTakenIsAnsweredAndNamed) {
  scope.adopt = true;
  EXPECT_TRUE(ask("{apiVersion: v1, kind: Secret, namespace: shop, name: nobodys}")->is_object());
  ASSERT_EQ(to_be_taken.size(), 1U);
  EXPECT_EQ(to_be_taken[0].name, "nobodys");
  expect_refused("{apiVersion: v1, kind: Secret, namespace: shop, name: theirs}", "--allow-lookup-secrets");
  scope.take_over_from = release::ReleaseId{"shop", "else"};
  EXPECT_TRUE(ask("{apiVersion: v1, kind: Secret, namespace: shop, name: theirs}")->is_object());
}

TEST_F(LookupTest, RefusesOtherForms) {
  for (const char* request : {"{kind: ConfigMap, namespace: shop}", "{apiVersion: v1, namespace: shop}",
                              "{apiVersion: v1, kind: 3, namespace: shop}",
                              "{apiVersion: apps/v1/x, kind: Deployment, namespace: shop, name: a}",
                              "{apiVersion: none/v1, kind: Nothing, namespace: shop, name: a}"}) {
    const auto refused = ask(request);
    ASSERT_FALSE(refused.ok()) << request;
    EXPECT_EQ(refused.error().kind, ErrorKind::Invalid) << request;
  }
}

}  // namespace
}  // namespace mist::action
