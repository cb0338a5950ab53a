#include "releases/status_write.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "releases/resource.h"
#include "testing/api_refusal.h"
#include "testing/fake_cluster.h"
#include "testing/yaml.h"

namespace mist::releases {
namespace {

constexpr std::string_view kGivenUp =
    "{attempt: {inputs: 'sha256:1', failures: 2, reason: RolledBack, message: it crashed}, conditions: "
    "[{type: "
    "Ready, status: 'False'}]}";

class ReleaseStatusWrite : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.register_kind(kind_);
    cluster_.put(testing::yaml(
        "{apiVersion: mistletoe.dev/v1alpha1, kind: Release, metadata: {name: web, namespace: default}}"));
  }
  // As the server answers an apply with a field that the schema lacks.
  void refuse(int times) {
    cluster_.set_before([left = std::make_shared<int>(times)](
                            const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "apply" || (*left)-- <= 0) return std::nullopt;
      return testing::api_refusal(ErrorKind::Invalid, "cannot apply",
                                  "failed to create typed patch object (default/web; mistletoe.dev/v1alpha1, "
                                  "Kind=Release): errors:\n  .status.attempt.message: field not declared in "
                                  "schema\n  .status.attempt.reason: field not declared in schema");
    });
  }
  Value there() const { return *cluster_.find("Release.mistletoe.dev", "default", "web"); }
  Result<StatusWritten> write(std::string_view status) {
    Value identity = testing::yaml(
        "{apiVersion: mistletoe.dev/v1alpha1, kind: Release, metadata: {name: web, namespace: default}}");
    identity["metadata"].set("uid", there().string_at({"metadata", "uid"}));
    return write_status(cluster_, {kind_, "default", "web"}, identity, testing::yaml(status), Context());
  }

  kube::ResourceInfo kind_{
      {std::string(kGroup), std::string(kVersion), std::string(kKind)}, "releases", true, {}, true};
  testing::FakeCluster cluster_;
};

TEST_F(ReleaseStatusWrite, CountsFailuresAlsoInTheCrdOfAnOlderOperator) {
  refuse(1);
  const auto written = write(kGivenUp);
  ASSERT_TRUE(written.ok()) << written.error().to_line();
  EXPECT_TRUE(written->is_crd_older);
  EXPECT_EQ(*there().at_path({"status", "attempt"}), testing::yaml("{inputs: 'sha256:1', failures: 2}"));
  EXPECT_EQ(attempt_of(written->object), (Attempt{"sha256:1", 2}));
}

TEST_F(ReleaseStatusWrite, LeavesOutThatItHadTheReleaseInTheCrdOfAnOlderOperator) {
  refuse(1);
  const auto written = write("{owned: true, conditions: [{type: Ready, status: 'False'}]}");
  ASSERT_TRUE(written.ok()) << written.error().to_line();
  EXPECT_TRUE(written->is_crd_older);
  EXPECT_EQ(there().at_path({"status", "owned"}), nullptr);
}

// The CRD of the version before has all fields but one: the others are not lost with it.
TEST_F(ReleaseStatusWrite, LeavesOutNoMoreThanTheCrdOfAnOlderOperatorLacks) {
  refuse(1);
  const auto written = write("{owned: true, driftDigest: 'sha256:1', conditions: [{type: Drifted}]}");
  ASSERT_TRUE(written.ok()) << written.error().to_line();
  EXPECT_TRUE(written->is_crd_older);
  EXPECT_EQ(*there().find("status"), testing::yaml("{owned: true, conditions: [{type: Drifted}]}"));
  refuse(2);
  ASSERT_TRUE(write("{owned: true, driftDigest: 'sha256:1', conditions: [{type: Drifted}]}").ok());
  EXPECT_EQ(there().at_path({"status", "owned"}), nullptr) << "that of the first version lacks that, too";
}

TEST_F(ReleaseStatusWrite, WritesAllWhereTheCrdHasAll) {
  const auto written = write(kGivenUp);
  ASSERT_TRUE(written.ok()) << written.error().to_line();
  EXPECT_FALSE(written->is_crd_older);
  EXPECT_EQ(*there().find("status"), testing::yaml(kGivenUp));
}

TEST_F(ReleaseStatusWrite, FailsWhereTheCrdLacksAnotherField) {
  refuse(2);
  EXPECT_FALSE(write(kGivenUp).ok());
  refuse(1);
  EXPECT_FALSE(write("{conditions: [{type: Ready, status: 'False'}]}").ok())
      << "there is nothing to leave out";
}

}  // namespace
}  // namespace mist::releases
