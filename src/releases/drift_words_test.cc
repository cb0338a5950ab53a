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
    const action::DeployReport done = fixed();
    const std::string left = left_words(before, done);
    EXPECT_THAT(left, AllOf(StartsWith("1 object changed by others: ConfigMap default/one"),
                            HasSubstr("; ConfigMap default/one is left as it is: "), HasSubstr("says no"),
                            Not(HasSubstr("default/two"))));
    // The next look sees no more than that.
    const action::DriftReport after = drifted();
    EXPECT_THAT(left, StartsWith(drift_words(after)));
    EXPECT_EQ(drift_facts(left_of(before, done)), drift_facts(after));
    EXPECT_NE(drift_facts(before), drift_facts(after));
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

action::FieldDrift field(std::string path, std::vector<std::string> managers) {
  action::FieldDrift drift;
  drift.path = std::move(path);
  drift.managers = std::move(managers);
  return drift;
}
action::ObjectDrift changed(std::string name, std::vector<action::FieldDrift> fields) {
  action::ObjectDrift drift;
  drift.key = {{"", "ConfigMap"}, "default", std::move(name)};
  drift.fields = std::move(fields);
  return drift;
}
std::string facts_of(std::vector<action::ObjectDrift> found) {
  action::DriftReport report;
  report.found = std::move(found);
  return drift_facts(report);
}

TEST(DriftFacts, AreTheSameForTheSameDrift) {
  const action::FieldDrift a = field(".data.a", {"kubectl-edit", "helm"}), b = field(".data.b", {});
  action::FieldDrift again = field(".data.a", {"kubectl-edit"});
  again.live = encoding::Value("3");
  again.time = "2026-01-02T00:00:00Z";
  EXPECT_EQ(facts_of({changed("one", {a, b}), changed("two", {})}),
            facts_of({changed("two", {}), changed("one", {b, again})}));
}

TEST(DriftFacts, DifferWhereAnotherObjectFieldManagerOrKindOfDriftIsThere) {
  const action::FieldDrift a = field(".data.a", {"kubectl-edit"});
  const std::string facts = facts_of({changed("one", {a})});
  EXPECT_NE(facts, facts_of({changed("two", {a})}));
  EXPECT_NE(facts, facts_of({changed("one", {field(".data.b", {"kubectl-edit"})})}));
  EXPECT_NE(facts, facts_of({changed("one", {field(".data.a", {"helm"})})}));
  action::ObjectDrift missing = changed("one", {a});
  missing.kind = action::DriftKind::Missing;
  EXPECT_NE(facts, facts_of({missing}));
}

// More than drift_words() have room for.
TEST(DriftFacts, NameEveryObject) {
  std::vector<action::ObjectDrift> many;
  for (int i = 0; i < 9; ++i) many.push_back(changed(fmt::format("c{}", i), {}));
  std::vector<action::ObjectDrift> others = many;
  others.back().key.name = "other";
  EXPECT_NE(facts_of(many), facts_of(others));
}

TEST(DriftFacts, LeaveOutWhatIsNoDrift) {
  action::ObjectDrift foreign = changed("one", {});
  foreign.kind = action::DriftKind::Foreign;
  EXPECT_EQ(facts_of({foreign}), "");
}

}  // namespace
}  // namespace mist::releases
