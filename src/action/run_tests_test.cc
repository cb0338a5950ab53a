#include "action/run_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "action/deploy/saved_plan.h"
#include "action/query/status.h"
#include "apply/plan/test_objects.h"
#include "testing/client_with_logs.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using ::testing::ElementsAre;
using testing::FakeCall;
using testing::FakeCluster;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kPackage = R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: v1
kind: Pod
metadata: {name: good, annotations: {mistletoe.dev/test: "true"}}
spec: {containers: [{name: main}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: questions, annotations: {mistletoe.dev/test: "true"}}
---
apiVersion: v1
kind: Pod
metadata: {name: bad, annotations: {mistletoe.dev/test: "true"}}
spec: {containers: [{name: main}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: thorough, annotations: {mistletoe.dev/test: "true"}}
)";

struct RunTests : testing::ReleaseFixture {
  RunTests() {
    cluster.set_instant_controllers(true);  // Jobs complete
    cluster.set_after([this](const FakeCall& call) -> std::optional<Error> {
      if (call.verb != "apply" || !call.executed_ok) return std::nullopt;
      if (call.key.group_kind.kind == "Pod" || call.key.group_kind.kind == "Job")
        order.push_back(call.key.group_kind.kind + " " + call.key.name);
      if (call.key.group_kind.kind != "Pod") return std::nullopt;
      EXPECT_TRUE(cluster.has("ConfigMap", "default", "questions")) << "what tests need comes before them";
      EXPECT_LE(pods(), 1u + order.size()) << "one after another";
      if (hanging) {
        stop.request_stop();
        return std::nullopt;
      }
      const bool good = call.key.name.starts_with("good");
      logs.set_log(call.key.name, "main", good ? "all is well\n" : "nothing is well\n");
      encoding::Value state;
      state["terminated"].set("exitCode", good ? 0 : 4);
      cluster.set_status(
          call.key, encoding::Value::object(
                        {{"phase", good ? "Succeeded" : "Failed"},
                         {"containerStatuses", encoding::Value::array({encoding::Value::object(
                                                   {{"name", "main"}, {"state", std::move(state)}})})}}));
      return std::nullopt;
    });
  }
  std::size_t pods() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        cluster.objects(), [](const auto& key) { return key.group_kind.kind == "Pod"; }));
  }
  kube::Client& client() override { return logs; }
  Result<DeployReport> install_now(std::string_view yaml, Intent (*intent)(Render) = install_intent) {
    return deploy(environment(), id, intent(rendering(std::string(yaml))), {}, Context());
  }
  Result<TestReport> test_now(const TestOptions& options = {}) {
    results.clear();
    const auto on_result = [this](const TestResult& result) {
      results.push_back(fmt::format("{} {}", result.key.name, to_string(result.outcome)));
    };
    return run_tests(environment(), id, options, on_result, Context(stop.get_token()));
  }
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& key : cluster.objects())
      if (key.group_kind.kind != "Secret") names.push_back(key.group_kind.kind + " " + key.name);
    return names;
  }

  testing::ClientWithLogs logs{cluster};
  std::vector<std::string> order, results;
  std::stop_source stop;
  bool hanging = false;
};

TEST_F(RunTests, InstallKeepsThemInTheRecordOnly) {
  const auto report = install_now(kPackage);
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(report->plan.writes.size(), 1u);
  EXPECT_THAT(left(), ElementsAre("ConfigMap settings"));
  const auto seen = status(environment(), id, Context());
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->objects.size(), 1u);
  ASSERT_EQ(seen->deployed->tests.size(), 4u);
  EXPECT_EQ(seen->deployed->tests[0].file, "all.yaml");
  EXPECT_EQ(seen->anchor.head.objects, 1u);
}

TEST_F(RunTests, RunsEachInOrderAndRemovesEverything) {
  ASSERT_TRUE(install_now(kPackage).ok());
  const auto report = test_now();
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_THAT(results, ElementsAre("good passed", "bad failed", "thorough passed"));
  EXPECT_THAT(order, ElementsAre("Pod good", "Pod bad", "Job thorough"));
  EXPECT_EQ(report->count(TestOutcome::Passed), 2u);
  ASSERT_EQ(report->tests[1].logs.size(), 1u);
  EXPECT_EQ(report->tests[1].logs[0].text, "nothing is well\n");
  EXPECT_EQ(report->tests[1].logs[0].pod, "bad");
  ASSERT_NE(report->tests[1].diagnosis, nullptr);
  ASSERT_EQ(report->tests[1].diagnosis->children.size(), 1u);
  EXPECT_EQ(report->tests[1].diagnosis->children[0].exit_code, 4);
  EXPECT_THAT(report->kept, IsEmpty());
  EXPECT_THAT(left(), ElementsAre("ConfigMap settings"));
}

TEST_F(RunTests, WhatARunLeftTheNextOneAndUninstallRemove) {
  ASSERT_TRUE(install_now(kPackage).ok());
  const auto kept = test_now({.keep = true});
  ASSERT_TRUE(kept.ok()) << kept.error().to_line();
  EXPECT_EQ(kept->kept.size(), 4u);
  EXPECT_TRUE(cluster.has("Pod", "default", "bad"));
  const std::string first(cluster.find("Pod", "default", "bad")->string_at({"metadata", "uid"}));
  const auto again = test_now({.keep = true});
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_NE(cluster.find("Pod", "default", "bad")->string_at({"metadata", "uid"}), first);
  // Status and upgrades don't see them.
  const auto seen = status(environment(), id, Context());
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->objects.size(), 1u);
  const auto same = install_now(kPackage, upgrade_intent);
  ASSERT_TRUE(same.ok()) << same.error().to_line();
  EXPECT_FALSE(same->changed);
  auto plan = plan_uninstall(environment(), id, {}, Context());
  ASSERT_TRUE(plan.ok()) << plan.error().to_line();
  ASSERT_TRUE(uninstall(environment(), *plan, {}, Context()).ok());
  EXPECT_THAT(cluster.objects(), IsEmpty());
}

TEST_F(RunTests, AFilterChoosesAndRefusesWhatFitsNothing) {
  ASSERT_TRUE(install_now(kPackage).ok());
  ASSERT_TRUE(test_now({.filter = "goo?"}).ok());
  EXPECT_THAT(results, ElementsAre("good passed"));
  const auto none = test_now({.filter = "other*"});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::NotFound);
  EXPECT_EQ(none.error().hint, "its tests are good, bad, thorough");
}

TEST_F(RunTests, AStrangersObjectIsNeverTouched) {
  ASSERT_TRUE(install_now(kPackage).ok());
  auto theirs = *package::parse_objects(
      {{"x.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: bad, namespace: default}}"}}, events);
  cluster.put(theirs[0].object.value());
  cluster.clear_calls();
  const auto refused = test_now();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("Pod default/bad exists"));
  EXPECT_EQ(refused.error().where->file, "all.yaml");
  EXPECT_EQ(cluster.count("apply"), 0u);
  EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web.test")) << "its lock is given back";
}

TEST_F(RunTests, AStopCleansUpAndSkipsTheRest) {
  ASSERT_TRUE(install_now(kPackage).ok());
  hanging = true;
  const auto stopped = test_now();
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::Cancelled);
  EXPECT_THAT(results, ElementsAre("good failed", "bad skipped", "thorough skipped"));
  EXPECT_THAT(left(), ElementsAre("ConfigMap settings"));
}

TEST_F(RunTests, ASecondRunIsToldWhoRunsThem) {
  ASSERT_TRUE(install_now(kPackage).ok());
  std::vector<std::string> refusals;
  const auto other = cluster.client_for("other");
  const auto on_result = [&](const TestResult& result) {
    // In the middle of the first run.
    Environment by_others{*other, clock, random, events, "somebody else"};
    const auto second = run_tests(by_others, id, {}, [](const TestResult&) {}, Context());
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().kind, ErrorKind::Conflict);
    refusals.push_back(second.error().to_line());
    results.push_back(fmt::format("{} {}", result.key.name, to_string(result.outcome)));
  };
  const auto first = run_tests(environment(), id, {}, on_result, Context());
  ASSERT_TRUE(first.ok()) << first.error().to_line();
  EXPECT_THAT(results, ElementsAre("good passed", "bad failed", "thorough passed")) << "nothing disturbed it";
  ASSERT_EQ(refusals.size(), 3u);
  EXPECT_THAT(refusals[0], HasSubstr("the tests of release default/web are being run: tester began at "));
  EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web.test"));
  // The lock is not a release.
  release::Store store(cluster);
  const auto anchors = store.list_anchors("", Context());
  ASSERT_TRUE(anchors.ok());
  EXPECT_EQ(anchors->size(), 1u);
}

TEST_F(RunTests, ARunThatDiedIsTakenOverAfterASilentTerm) {
  ASSERT_TRUE(install_now(kPackage).ok());
  const auto dead_client = cluster.client_for("dead");
  Environment dead{*dead_client, no_expiry, random, events, "dead"};
  dead.lock_term = std::chrono::milliseconds(150);
  // Its connection breaks for good after the first test was applied.
  std::atomic<bool> gone = false;
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    if (call.user != "dead") return std::nullopt;
    gone = gone || cluster.has("Pod", "default", "good");
    if (gone) return error(ErrorKind::Retryable, "connection reset");
    return std::nullopt;
  });
  (void)run_tests(dead, id, {}, [](const TestResult&) {}, Context());
  EXPECT_TRUE(cluster.has("Secret", "default", "mistletoe.web.test"));
  EXPECT_TRUE(cluster.has("Pod", "default", "good"));
  order.clear();
  results.clear();
  Environment patient = environment();
  patient.lock_wait = std::chrono::seconds(30);
  const auto on_result = [this](const TestResult& result) {
    results.push_back(fmt::format("{} {}", result.key.name, to_string(result.outcome)));
  };
  const auto taken = run_tests(patient, id, {}, on_result, Context());
  ASSERT_TRUE(taken.ok()) << taken.error().to_line();
  EXPECT_THAT(results, ElementsAre("good passed", "bad failed", "thorough passed"));
  EXPECT_THAT(left(), ElementsAre("ConfigMap settings"));
}

// Uninstall removes them under its own lock, and once that is lost it writes nothing more.
TEST_F(RunTests, LeftoversAreOnlyRemovedByWhoMayWrite) {
  ASSERT_TRUE(install_now(kPackage).ok());
  ASSERT_TRUE(test_now({.keep = true}).ok());
  ASSERT_TRUE(cluster.has("Pod", "default", "good"));
  const ReleaseState state = *read_release(environment(), id, Context());
  const Context held =
      Context().with_guard([]() -> Status { return error(ErrorKind::Conflict, "the lock ran out"); });
  const auto refused = remove_test_leftovers(environment(), state, held);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_line(), HasSubstr("the lock ran out"));
  EXPECT_TRUE(cluster.has("Pod", "default", "good"));
  ASSERT_TRUE(remove_test_leftovers(environment(), state, Context()).ok());
  EXPECT_THAT(left(), ElementsAre("ConfigMap settings"));
}

TEST_F(RunTests, ATestThatDoesNotEndFailsInItsTime) {
  ASSERT_TRUE(install_now(kPackage).ok());
  cluster.set_after({});
  const auto late = test_now({.timeout = std::chrono::milliseconds(30), .filter = "good"});
  ASSERT_TRUE(late.ok()) << late.error().to_line();
  EXPECT_EQ(late->tests[0].message, "it did not end within its time");
}

TEST_F(RunTests, AChangedTestAloneMakesARevision) {
  ASSERT_TRUE(install_now(kPackage).ok());
  std::string changed(kPackage);
  changed.replace(changed.find("name: thorough"), 14, "name: careless");
  const auto report = install_now(changed, upgrade_intent);
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_TRUE(report->changed);
  ASSERT_TRUE(test_now().ok());
  EXPECT_THAT(results, ElementsAre("good passed", "bad failed", "careless passed"));
  // Applying a recorded revision again keeps its tests.
  const auto recorded = read_release(environment(), id, Context());
  ASSERT_TRUE(recorded.ok());
  EXPECT_EQ(recorded_release(*recorded->deployed).objects.size(), 5u);
}

TEST_F(RunTests, ARollbackAndASavedPlanBringTheirTests) {
  ASSERT_TRUE(install_now(kPackage).ok());
  ASSERT_TRUE(
      install_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}", upgrade_intent).ok());
  const auto none = test_now();
  ASSERT_TRUE(none.ok()) << none.error().to_line();
  EXPECT_THAT(none->tests, IsEmpty());
  const Environment here = environment();
  const auto back = deploy(here, id, rollback_intent(here, 0, Context()), {}, Context());
  ASSERT_TRUE(back.ok()) << back.error().to_line();
  EXPECT_TRUE(back->changed);
  ASSERT_TRUE(test_now().ok());
  EXPECT_THAT(results, ElementsAre("good passed", "bad failed", "thorough passed"));

  const Render render = [this](const ReleaseState&) -> Result<RenderedRelease> {
    std::string changed(kPackage);
    changed.replace(changed.find("name: thorough"), 14, "name: careless");
    MIST_TRY(auto objects, package::parse_objects({{"all.yaml", changed}}, events));
    return RenderedRelease{
        {"test:1", "test", "1", "sha256:1"}, encoding::Value::object(), std::move(objects), {}};
  };
  const auto seen = prepare(here, id, upgrade_intent(render), {}, Context());
  ASSERT_TRUE(seen.ok()) << seen.error().to_line();
  const auto saved = save_plan(here, *seen, Context());
  ASSERT_TRUE(saved.ok()) << saved.error().to_line();
  const auto read = saved_plan_from(to_text(*saved), "plan");
  ASSERT_TRUE(read.ok()) << read.error().to_line();
  const auto applied = deploy(here, id, saved_plan_intent(here, *read, Context()), read->options, Context());
  ASSERT_TRUE(applied.ok()) << applied.error().to_line();
  EXPECT_TRUE(applied->changed);
  ASSERT_TRUE(test_now().ok());
  EXPECT_THAT(results, ElementsAre("good passed", "bad failed", "careless passed"));
}

TEST_F(RunTests, WithoutTestsOrReleaseItSaysSo) {
  const auto missing = test_now();
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  ASSERT_TRUE(install_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}").ok());
  cluster.clear_calls();
  const auto none = test_now();
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(none->tests, IsEmpty());
  EXPECT_EQ(cluster.writes(), 0u);
}

}  // namespace
}  // namespace mist::action
