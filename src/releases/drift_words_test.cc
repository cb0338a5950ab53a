#include "releases/drift_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/api_refusal.h"
#include "testing/release_fixture.h"

namespace mist::releases {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kFailing = R"(
---
apiVersion: v1
kind: ConfigMap
metadata: {name: extra}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: broken}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: x, image: x, envFrom: [{configMapRef: {name: extra}}]}]}
)";

class DriftWordsTest : public testing::ReleaseFixture {
 protected:
  void SetUp() override { ASSERT_TRUE(install_now(std::string(testing::kTwoConfigMaps)).ok()); }

  action::DriftReport drifted() {
    auto report = action::drift(environment(), id, Context());
    EXPECT_TRUE(report.ok()) << report.error().to_line();
    return *std::move(report);
  }
  action::DeployReport fixed() {
    auto report = action::fix_drift(environment(), id, {}, Context());
    EXPECT_TRUE(report.ok()) << report.error().to_line();
    return *std::move(report);
  }
  void edit(std::string_view name) {
    encoding::Value object = *cluster.find("ConfigMap", "default", name);
    object["data"].set(name == "one" ? "a" : "b", "edited");
    cluster.put(std::move(object), "kubectl-edit");
  }
  /// An upgrade makes ConfigMap extra, and fails.
  void leave_extra() {
    refuse("broken", "apply", ErrorKind::Invalid);
    ASSERT_FALSE(upgrade_now(std::string(testing::kTwoConfigMaps) + std::string(kFailing)).ok());
    ASSERT_TRUE(cluster.has("ConfigMap", "default", "extra"));
  }
  void refuse(const std::string& name, const std::string& verb, ErrorKind kind) {
    cluster.set_before([=](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.key.name != name || call.verb != verb || call.dry_run) return std::nullopt;
      return error(kind, "cannot {} {}", verb, name).with_because("admission webhook \"w\" says no");
    });
  }
  /// Of two that were edited, where that is the answer to the write of the one.
  void leaves_one(ErrorKind kind) {
    edit("one");
    edit("two");
    refuse("one", "apply", kind);
    const action::DriftReport before = drifted();
    EXPECT_THAT(drift_words(before), StartsWith("2 objects"));
    const std::string left = left_words(before, fixed());
    EXPECT_THAT(left, AllOf(StartsWith("1 object changed by others: ConfigMap default/one"),
                            HasSubstr("; ConfigMap default/one is left as it is: "), HasSubstr("says no"),
                            Not(HasSubstr("default/two"))));
    // The next look says no more than that.
    const std::string after = drift_words(drifted());
    EXPECT_TRUE(tells_drift(left, after)) << left << "\n" << after;
    EXPECT_FALSE(tells_drift(drift_words(before), after));
  }
};

TEST_F(DriftWordsTest, AFixThatLeavesNothingSaysNothing) {
  edit("one");
  const action::DriftReport before = drifted();
  EXPECT_THAT(drift_words(before),
              AllOf(StartsWith("1 object changed by others: ConfigMap default/one (.data.a by kubectl-edit"),
                    Not(HasSubstr("edited"))));
  EXPECT_EQ(left_words(before, fixed()), "");
  EXPECT_EQ(drift_words(drifted()), "");
}

TEST_F(DriftWordsTest, ARefusedWriteIsLeft) { leaves_one(ErrorKind::Invalid); }

TEST_F(DriftWordsTest, AWriteThatAdmissionDeniesIsLeft) { leaves_one(ErrorKind::Forbidden); }

TEST_F(DriftWordsTest, AWriteWithoutTheRightToItFails) {
  edit("one");
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.key.name != "one" || call.verb != "apply" || call.dry_run) return std::nullopt;
    return testing::api_refusal(ErrorKind::Forbidden, "cannot apply",
                                "configmaps \"one\" is forbidden: User \"web\" cannot patch resource "
                                "\"configmaps\" in API group \"\" in the namespace \"default\"");
  });
  EXPECT_FALSE(action::fix_drift(environment(), id, {}, Context()).ok());
}

TEST_F(DriftWordsTest, ARefusedDeleteIsLeft) {
  leave_extra();
  refuse("extra", "delete", ErrorKind::Forbidden);
  const action::DriftReport before = drifted();
  EXPECT_THAT(drift_words(before), HasSubstr("ConfigMap default/extra is left over"));
  EXPECT_THAT(left_words(before, fixed()),
              AllOf(HasSubstr("ConfigMap default/extra is left over"),
                    HasSubstr("; ConfigMap default/extra is left as it is: "), HasSubstr("says no")));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "extra"));
}

TEST(TellsDrift, TheReasonsOfAFixAreNoOtherDrift) {
  EXPECT_TRUE(tells_drift("1 object", "1 object"));
  EXPECT_TRUE(tells_drift("1 object; it is left", "1 object"));
  EXPECT_FALSE(tells_drift("1 object and more", "1 object"));
  EXPECT_FALSE(tells_drift("", "1 object"));
}

}  // namespace
}  // namespace mist::releases
