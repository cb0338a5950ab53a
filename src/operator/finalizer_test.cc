#include "operator/finalizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/api_refusal.h"
#include "testing/fake_cluster.h"
#include "testing/yaml.h"

namespace mist::operator_ {
namespace {

constexpr std::string_view kNote = "example.com/note";

class FinalizerTest : public ::testing::Test {
 protected:
  Value identity() const {
    Value object =
        testing::yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: app, namespace: default}}");
    object["metadata"].set("uid", there().string_at({"metadata", "uid"}));
    return object;
  }
  Value there() const { return *cluster_.find("ConfigMap", "default", "app"); }
  Result<Value> remove() {
    const auto maps = cluster_.resource_for({"", "ConfigMap"}, "v1", Context());
    return remove_finalizer(cluster_, {*maps, "default", "app"}, identity(), kNote, Context());
  }
  // As a backup has it.
  void restore() {
    cluster_.put(
        testing::yaml(fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: app, namespace: "
                                  "default, finalizers: [example.com/hold, {}], annotations: {{{}: x}}}}}}",
                                  kFinalizer, kNote)),
        "velero-server");
  }

  testing::FakeCluster cluster_;
};

TEST_F(FinalizerTest, IsGivenUpByOneRequestWhereNobodyElseHasIt) {
  const auto maps = cluster_.resource_for({"", "ConfigMap"}, "v1", Context());
  Value object =
      testing::yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: app, namespace: default}}");
  object["metadata"].set("finalizers", Value::array({kFinalizer}));
  object["metadata"]["annotations"].set(kNote, "x");
  ASSERT_TRUE(
      cluster_.apply({*maps, "default", "app"}, object, {.field_manager = std::string(kManager)}, Context())
          .ok());
  cluster_.clear_calls();
  ASSERT_TRUE(remove().ok());
  EXPECT_FALSE(has_finalizer(there()));
  EXPECT_EQ(cluster_.writes(), 1U);
}

TEST_F(FinalizerTest, IsRemovedWhereAnotherManagerHasItToo) {
  restore();
  const auto answer = remove();
  ASSERT_TRUE(answer.ok()) << answer.error().to_line();
  EXPECT_FALSE(has_finalizer(*answer));
  EXPECT_EQ(*there().at_path({"metadata", "finalizers"}), Value::array({"example.com/hold"}));
  EXPECT_EQ(there().string_at({"metadata", "annotations", kNote}), "");
}

TEST_F(FinalizerTest, IsRemovedWhereTheServerCanApplyNothing) {
  restore();
  cluster_.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply") return std::nullopt;
    return testing::api_refusal(
        ErrorKind::Invalid, "cannot apply",
        "failed to create typed live object (default/app; v1, Kind=ConfigMap): .status.tables: expected "
        "string, got &value.valueUnstructured{Value:3}");
  });
  const auto answer = remove();
  ASSERT_TRUE(answer.ok()) << answer.error().to_line();
  EXPECT_EQ(*there().at_path({"metadata", "finalizers"}), Value::array({"example.com/hold"}));
  EXPECT_EQ(there().string_at({"metadata", "annotations", kNote}), "");
}

TEST_F(FinalizerTest, IsRemovedAlsoWhereSomebodyWritesMeanwhile) {
  restore();
  int others = 2;
  cluster_.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "patch" || others-- <= 0) return std::nullopt;
    Value object = there();
    object["data"].set("n", fmt::format("{}", others));
    cluster_.put(object);
    return std::nullopt;
  });
  const auto answer = remove();
  ASSERT_TRUE(answer.ok()) << answer.error().to_line();
  EXPECT_FALSE(has_finalizer(there()));
  EXPECT_EQ(there().string_at({"data", "n"}), "0");
}

TEST_F(FinalizerTest, ThatComesBackEachTimeIsReported) {
  restore();
  cluster_.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "patch") return error(ErrorKind::Conflict, "it has been modified");
    return std::nullopt;
  });
  const auto answer = remove();
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(answer.error().message, ::testing::HasSubstr("ConfigMap default/app can't be removed"));
}

}  // namespace
}  // namespace mist::operator_
