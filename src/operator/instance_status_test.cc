#include "operator/instance_status.h"

#include <gtest/gtest.h>

#include "testing/api_refusal.h"
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
    cluster_.set_before([this](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "apply" || !there().at_path({"status", "tables"})->is_number()) return std::nullopt;
      return testing::api_refusal(ErrorKind::Invalid, "cannot apply",
                                  "failed to create typed live object (default/web; example.com/v1, "
                                  "Kind=App): .status.tables: expected string, got "
                                  "&value.valueUnstructured{Value:3}");
    });
    identity_ =
        testing::yaml("{apiVersion: example.com/v1, kind: App, metadata: {name: web, namespace: default}}");
    identity_["metadata"].set("uid", there().string_at({"metadata", "uid"}));
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
    cluster_.drop({{"example.com", "App"}, "default", "web"});
  }
}

TEST_F(InstanceStatusTest, OfAnotherObjectOfThatNameStays) {
  make(true);
  identity_["metadata"].set("uid", "another");
  EXPECT_FALSE(put(testing::yaml("{tables: three}")).ok());
  EXPECT_EQ(*there().at_path({"status", "tables"}), Value(3));
}

}  // namespace
}  // namespace mist::operator_
