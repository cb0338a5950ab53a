#include "action/authoring/release_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/release_fixture.h"
#include "testing/yaml.h"

namespace mist::action {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kOldMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: old}}";
constexpr std::string_view kNewMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}";
constexpr std::string_view kRoleOfAll =
    "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}, rules: []}";

class ReleaseTrialTest : public testing::ReleaseFixture {
 protected:
  ReleaseTrial trial() {
    return {here, id, {.say = [this](std::string_view text) { said.emplace_back(text); }}};
  }
  ReleaseTrial::Version version(std::string number, std::string_view yaml) {
    return {std::move(number), rendering(std::string(yaml))};
  }
  // Nobody makes it belong to the release.
  void put_map(std::string_view name) {
    cluster.put(testing::yaml(fmt::format(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}, namespace: default}}}}", name)));
  }

  const Environment here = environment();
  std::vector<std::string> said;
};

TEST_F(ReleaseTrialTest, InstallsUpgradesAndLeavesNothing) {
  const auto before = cluster.objects();
  const Render render = rendering(std::string(kNewMap));
  EXPECT_EQ(trial().dry_run(render, context).value_or(""), "the API server accepts 1 object");
  EXPECT_EQ(cluster.objects(), before);
  EXPECT_EQ(trial().install(render, context).value_or(""), "1 object ready");
  EXPECT_EQ(trial().test([](const TestResult&) {}, context).value_or(""), "it has none");
  const auto upgraded = trial().upgrade(version("1.0.0", kOldMap), version("1.1.0", kNewMap), context);
  ASSERT_TRUE(upgraded.ok()) << upgraded.error().to_line();
  EXPECT_THAT(*upgraded, HasSubstr("from 1.0.0"));
  EXPECT_THAT(said, ElementsAre("installing 1.0.0", "upgrading to 1.1.0"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "new"));
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "old"));
  const Status gone = trial().uninstall(context);
  ASSERT_TRUE(gone.ok()) << gone.error().to_line();
  EXPECT_EQ(cluster.objects(), before);
}

TEST_F(ReleaseTrialTest, AVersionBeforeThatFailsIsNotTheFaultOfTheNewOne) {
  const auto failed = trial().upgrade(version("1.0.0", "kind: nothing"), version("1.1.0", kNewMap), context);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().detail<PreviousNotInstalled>(), nullptr);
  const auto other = trial().upgrade(version("1.0.0", kOldMap), version("1.1.0", "kind: nothing"), context);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().detail<PreviousNotInstalled>(), nullptr);
}

TEST_F(ReleaseTrialTest, ObjectsThatStayAreNamed) {
  ASSERT_TRUE(trial().install(rendering(std::string(kNewMap)), context).ok());
  put_map("made-by-a-program");
  const Status left = trial().uninstall(context);
  ASSERT_FALSE(left.ok());
  EXPECT_EQ(left.error().message, "uninstalling left ConfigMap default/made-by-a-program");
  EXPECT_NE(left.error().detail<LeftObjects>(), nullptr);
}

TEST_F(ReleaseTrialTest, ObjectsThatWereThereBeforeMayStay) {
  put_map("of-a-controller");
  ReleaseTrial noted = trial();
  ASSERT_TRUE(noted.note_what_is_there(context).ok());
  ASSERT_TRUE(noted.install(rendering(std::string(kNewMap)), context).ok());
  const Status gone = noted.uninstall(context);
  EXPECT_TRUE(gone.ok()) << gone.error().to_line();
}

TEST_F(ReleaseTrialTest, AnObjectOfTheWholeClusterThatComesBackIsNamed) {
  ASSERT_TRUE(trial().install(rendering(std::string(kRoleOfAll)), context).ok());
  cluster.set_after([this, again = false](const testing::FakeCall& call) mutable -> std::optional<Error> {
    // The record goes last, after the look for what is left.
    if (call.verb == "delete" && call.executed_ok && call.key.group_kind == apimachinery::kSecret &&
        !std::exchange(again, true))
      cluster.put(testing::yaml(kRoleOfAll));
    return std::nullopt;
  });
  const Status left = trial().uninstall(context);
  ASSERT_FALSE(left.ok());
  EXPECT_EQ(left.error().message, "uninstalling left ClusterRole reader");
}

TEST_F(ReleaseTrialTest, ObjectsThatThePackageKeepsFailIt) {
  ASSERT_TRUE(trial()
                  .install(rendering("{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, annotations: "
                                     "{mistletoe.dev/keep: \"true\"}}}"),
                           context)
                  .ok());
  const Status left = trial().uninstall(context);
  ASSERT_FALSE(left.ok());
  EXPECT_NE(left.error().detail<LeftObjects>(), nullptr);
  EXPECT_THAT(left.error().hint, HasSubstr("mistletoe.dev/keep"));
}

}  // namespace
}  // namespace mist::action
