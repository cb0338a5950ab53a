#include "operator/instance_status.h"

#include <gtest/gtest.h>

#include "testing/fake_cluster.h"
#include "testing/yaml.h"

namespace mist::operator_ {
namespace {

// Its CRD asked for a number of tables once, and asks for a text now.
class InstanceStatusTest : public ::testing::Test {
 protected:
  void make(bool has_status) {
    app_.has_status = has_status;
    cluster_.register_kind(app_);
    cluster_.put(
        testing::yaml("{apiVersion: example.com/v1, kind: App, metadata: {name: web, namespace: default}, "
                      "spec: {size: 1}}"));
    cluster_.set_status({{"example.com", "App"}, "default", "web"},
                        testing::yaml("{tables: 3, gone: x, conditions: [{type: Ready, status: 'True'}]}"));
    refuse_numbers();
    identity_ =
        testing::yaml("{apiVersion: example.com/v1, kind: App, metadata: {name: web, namespace: default}}");
    identity_["metadata"].set("uid", there().string_at({"metadata", "uid"}));
  }
  void refuse_numbers() {
    cluster_.set_unreadable([](const Value& live) {
      const Value* const tables = live.at_path({"status", "tables"});
      return tables != nullptr && tables->is_number();
    });
  }
  Value there() const { return *cluster_.find("App.example.com", "default", "web"); }
  Result<Value> put(const Value& status) {
    return put_status(cluster_, {app_, "default", "web"}, identity_, status, Context());
  }

  kube::ResourceInfo app_{{"example.com", "v1", "App"}, "apps", true, {}, true};
  testing::FakeCluster cluster_;
  Value identity_;
};

TEST_F(InstanceStatusTest, IsReplacedWhereTheOneThatIsThereDoesNotFitTheCrdAnyMore) {
  const Value status = testing::yaml("{tables: three, conditions: [{type: Ready, status: 'False'}]}");
  for (const bool has_status : {true, false}) {
    make(has_status);
    const auto answer = put(status);
    ASSERT_TRUE(answer.ok()) << answer.error().to_line();
    EXPECT_EQ(*there().find("status"), status) << has_status;
    EXPECT_EQ(*there().at_path({"spec", "size"}), Value(1));
    // It is applied, so that what isn't said any more goes.
    ASSERT_TRUE(put(testing::yaml("{tables: three}")).ok());
    EXPECT_EQ(*there().find("status"), testing::yaml("{tables: three}")) << has_status;
    cluster_.drop({{"example.com", "App"}, "default", "web"});
  }
}

// Others who applied the object's fields can still remove them.
TEST_F(InstanceStatusTest, IsReplacedWithoutTakingFieldsFromTheirOwners) {
  make(true);
  Value app = testing::yaml(
      "{apiVersion: example.com/v1, kind: App, metadata: {name: web, namespace: default}, "
      "spec: {color: red}}");
  cluster_.set_unreadable({});
  ASSERT_TRUE(cluster_.apply({app_, "default", "web"}, app, {.field_manager = "argocd"}, Context()).ok());
  refuse_numbers();
  ASSERT_TRUE(put(testing::yaml("{tables: three}")).ok());
  app.erase("spec");
  ASSERT_TRUE(cluster_.apply({app_, "default", "web"}, app, {.field_manager = "argocd"}, Context()).ok());
  EXPECT_EQ(*there().find("spec"), testing::yaml("{size: 1}"));
}

TEST_F(InstanceStatusTest, OfAnotherObjectOfThatNameStays) {
  make(true);
  identity_["metadata"].set("uid", "another");
  EXPECT_FALSE(put(testing::yaml("{tables: three}")).ok());
  EXPECT_EQ(*there().at_path({"status", "tables"}), Value(3));
}

}  // namespace
}  // namespace mist::operator_
