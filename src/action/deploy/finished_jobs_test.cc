// Jobs with a time to live that are gone, and whose Events tell nothing.

#include "action/deploy/finished_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using FinishedJobsTest = testing::ReleaseFixture;

// The revision that left it unchanged has seen it without an end.
TEST_F(FinishedJobsTest, AJobThatIsDeletedAfterAnUpgradeThatLeftItRunsAgain) {
  const std::string job =
      "---\n{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {ttlSecondsAfterFinished: "
      "86400}}\n";
  const std::string more = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}\n";
  ASSERT_TRUE(install_now(job).ok());
  ASSERT_TRUE(upgrade_now(job + more).ok());
  cluster.drop({{"batch", "Job"}, "default", "once"});
  ASSERT_TRUE(upgrade_now(job + more).ok());
  EXPECT_TRUE(cluster.has("Job.batch", "default", "once"));
}

TEST_F(FinishedJobsTest, ASuspendedJobThatIsGoneIsMadeAgain) {
  const std::string job =
      "{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {ttlSecondsAfterFinished: 0, suspend: "
      "true}}\n";
  // As its controller does at once.
  cluster.set_after([this](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run && call.key.name == "once" && call.executed_ok)
      cluster.set_status(call.key,
                         *encoding::parse_yaml("{conditions: [{type: Suspended, status: 'True'}]}"));
    return std::nullopt;
  });
  for (const bool wait : {false, true}) {
    ASSERT_TRUE(install_now(job, {.wait = wait}).ok());
    cluster.drop({{"batch", "Job"}, "default", "once"});
    ASSERT_TRUE(upgrade_now(job).ok());
    EXPECT_TRUE(cluster.has("Job.batch", "default", "once")) << wait;
    ASSERT_TRUE(uninstall_now().ok());
  }
}

TEST_F(FinishedJobsTest, AJobWhoseEndWasWaitedForIsNotRunAgain) {
  const std::string job =
      "{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {ttlSecondsAfterFinished: 86400}}\n";
  cluster.set_after([this](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run && call.key.name == "once" && call.executed_ok)
      cluster.set_status(call.key, *encoding::parse_yaml("{conditions: [{type: Complete, status: 'True'}]}"));
    return std::nullopt;
  });
  ASSERT_TRUE(install_now(job, {.wait = true}).ok());
  cluster.drop({{"batch", "Job"}, "default", "once"});
  const auto again = upgrade_now(job);
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_FALSE(again->changed);
  EXPECT_FALSE(cluster.has("Job.batch", "default", "once"));
}

TEST_F(FinishedJobsTest, AJobThatCompletedBeforeAnUpgradeThatLeftItIsNotRunAgain) {
  const std::string job =
      "---\n{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {ttlSecondsAfterFinished: "
      "86400}}\n";
  const std::string more = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}\n";
  for (const std::string_view end : {"Complete", "Failed"}) {
    id.name = end == "Failed" ? "bad" : "good";
    ASSERT_TRUE(install_now(job).ok());
    cluster.set_status(
        {{"batch", "Job"}, "default", "once"},
        *encoding::parse_yaml(fmt::format("{{conditions: [{{type: {}, status: 'True'}}]}}", end)));
    ASSERT_TRUE(upgrade_now(job + more).ok());
    cluster.drop({{"batch", "Job"}, "default", "once"});
    const auto again = upgrade_now(job + more);
    ASSERT_TRUE(again.ok()) << again.error().to_line();
    EXPECT_FALSE(again->changed) << end;
    EXPECT_FALSE(cluster.has("Job.batch", "default", "once")) << end;
    ASSERT_TRUE(uninstall_now().ok());
  }
}

}  // namespace
}  // namespace mist::action
