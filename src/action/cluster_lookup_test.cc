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
    for (const char* ns : {"shop", "other"}) {
      cluster.put(yaml(fmt::format("{{apiVersion: v1, kind: Namespace, metadata: {{name: {}}}}}", ns)),
                  "test");
      cluster.put(yaml(fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: {}}}, "
                                   "data: {{of: {}}}}}",
                                   ns, ns)),
                  "test");
    }
    cluster.clear_calls();
  }
  Result<Value> ask(std::string_view request, std::vector<std::string> more = {}) {
    return cluster_lookup(cluster, {"shop", std::move(more)}, yaml(request), Context());
  }

  testing::FakeCluster cluster;
};

TEST_F(LookupTest, SeesTheReleasesNamespace) {
  const auto object = ask("{apiVersion: v1, kind: ConfigMap, namespace: shop, name: a}");
  ASSERT_TRUE(object.ok()) << object.error().to_line();
  EXPECT_EQ(object->string_at({"data", "of"}), "shop");
  const auto nothing = ask("{apiVersion: v1, kind: ConfigMap, namespace: shop, name: b}");
  ASSERT_TRUE(nothing.ok());
  EXPECT_TRUE(nothing->is_null());
  const auto list = ask("{apiVersion: v1, kind: ConfigMap, namespace: shop, name: ''}");
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->string_at("kind"), "ConfigMapList");
  EXPECT_EQ(list->find("items")->size(), 2U) << "and kube-root-ca.crt";
}

TEST_F(LookupTest, EverythingElseIsAnErrorAndAsksNobody) {
  for (const char* request : {"{apiVersion: v1, kind: ConfigMap, namespace: other, name: a}",
                              "{apiVersion: v1, kind: ConfigMap, namespace: '', name: ''}",
                              "{apiVersion: v1, kind: Namespace, name: shop}"}) {
    const auto refused = ask(request);
    ASSERT_FALSE(refused.ok()) << request;
    EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
    EXPECT_THAT(refused.error().hint, HasSubstr("--allow-lookup"));
  }
  EXPECT_TRUE(cluster.calls().empty());
}

TEST_F(LookupTest, MoreIsGrantedByName) {
  EXPECT_EQ(ask("{apiVersion: v1, kind: ConfigMap, namespace: other, name: a}", {"other"})
                ->string_at({"data", "of"}),
            "other");
  EXPECT_FALSE(ask("{apiVersion: v1, kind: Namespace, name: shop}", {"other"}).ok());
  EXPECT_TRUE(ask("{apiVersion: v1, kind: Namespace, name: shop}", {"*"}).ok());
  EXPECT_GT(ask("{apiVersion: v1, kind: ConfigMap}", {"*"})->find("items")->size(), 2U);
}

// Its path has no namespace, so the server would answer.
TEST_F(LookupTest, ANamespaceInTheRequestGrantsNothingThatIsInNone) {
  for (const char* request : {"{apiVersion: v1, kind: Namespace, namespace: shop, name: other}",
                              "{apiVersion: v1, kind: Namespace, namespace: shop, name: ''}"}) {
    const auto refused = ask(request, {"other"});
    ASSERT_FALSE(refused.ok()) << request;
    EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
    EXPECT_THAT(refused.error().hint, HasSubstr("--allow-lookup '*'"));
    EXPECT_EQ(cluster.count("get") + cluster.count("list"), 0U);
    EXPECT_TRUE(ask(request, {"*"}).ok()) << request;
    cluster.clear_calls();
  }
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
