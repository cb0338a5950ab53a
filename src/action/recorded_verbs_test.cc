// The bytes of the options that each verb records in a cluster: other versions of Mistletoe read them, so
// they change only with kRecordFormat.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "action/deploy/saved_plan.h"
#include "action/query/drift.h"
#include "action/recover/recover.h"
#include "encoding/json.h"
#include "release/record.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kPlain =
    R"({"deleteCrds":false,"deletePvcs":false,"deleteNamespaces":false,"forceConflicts":false,"adopt":false,)"
    R"("replace":false)";

std::string plain(std::string_view rest) { return fmt::format("{}{}}}", kPlain, rest); }

class RecordedVerbs : public testing::ReleaseFixture {
 protected:
  RecordedVerbs() { cluster.set_instant_controllers(true); }

  /// Of the deployed revision.
  std::string recorded() { return encoding::to_json(now().deployed->options); }
  /// Of the record's head.
  std::string recorded_in_head() { return encoding::to_json(now().anchor->head.options); }
  void install(const DeployOptions& options = {}) {
    const auto done = install_now(std::string(testing::kTwoConfigMaps), options);
    ASSERT_TRUE(done.ok()) << done.error().to_line();
  }
  void edit_one() {
    encoding::Value object = *cluster.find("ConfigMap", "default", "one");
    object["data"].set("a", "edited");
    cluster.put(std::move(object), "kubectl-edit");
  }
  void refuse(std::string_view verb, std::string_view name) {
    cluster.set_before([verb = std::string(verb),
                        name = std::string(name)](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != verb || call.key.name != name || call.dry_run) return std::nullopt;
      return error(ErrorKind::Invalid, "cannot {} {}", verb, name);
    });
  }
};

TEST_F(RecordedVerbs, AnInstall) {
  install();
  EXPECT_EQ(recorded(), plain(R"(,"hooks":"install")"));
}

TEST_F(RecordedVerbs, AnInstallThatWasAllowedMore) {
  install({.wait = true,
           .allowed = {.prune = {.delete_crds = true, .delete_pvcs = true, .left_crds = {"a.example.com"}},
                       .adopt = true,
                       .adopt_from = {"argocd"},
                       .replace = true,
                       .force_conflicts = true},
           .force_crds = true});
  EXPECT_EQ(recorded(),
            R"({"deleteCrds":true,"deletePvcs":true,"deleteNamespaces":false,"forceConflicts":true,)"
            R"("adopt":true,"replace":true,"leftCrds":["a.example.com"],"adoptFrom":["argocd"],)"
            R"("hooks":"install","forceCrds":true,"wait":true})");
}

TEST_F(RecordedVerbs, AnUpgradeThatWaitsForAllButJobs) {
  install();
  ASSERT_TRUE(upgrade_now("---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}\n",
                          {.wait = true, .wait_for_jobs = false})
                  .ok());
  EXPECT_EQ(recorded(), plain(R"(,"hooks":"upgrade","wait":true,"waitForJobs":false)"));
}

TEST_F(RecordedVerbs, ARollbackKeepsWhichCrdsWereLeftButNoPermission) {
  install(
      {.allowed = {.prune = {.delete_pvcs = true, .left_crds = {"a.example.com"}}, .force_conflicts = true}});
  ASSERT_TRUE(upgrade_now("---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}\n").ok());
  ASSERT_TRUE(rollback_now().ok());
  EXPECT_EQ(recorded(), plain(R"(,"leftCrds":["a.example.com"],"hooks":"rollback")"));
}

TEST_F(RecordedVerbs, AFixOfDrift) {
  install();
  edit_one();
  ASSERT_TRUE(fix_drift(environment(), id, {}, Context()).ok());
  EXPECT_EQ(recorded(),
            R"({"deleteCrds":false,"deletePvcs":false,"deleteNamespaces":false,"forceConflicts":true,)"
            R"("adopt":false,"replace":false,"hooks":"none"})");
}

TEST_F(RecordedVerbs, ARecoveryFinishesAsItWasBegun) {
  refuse("apply", "two");
  ASSERT_FALSE(install_now(std::string(testing::kTwoConfigMaps),
                           {.wait = true, .wait_for_jobs = false, .allowed = {.replace = true}})
                   .ok());
  cluster.set_before({});
  ASSERT_TRUE(recover(environment(), id, {}, Context()).ok());
  EXPECT_EQ(recorded(),
            R"({"deleteCrds":false,"deletePvcs":false,"deleteNamespaces":false,"forceConflicts":false,)"
            R"("adopt":false,"replace":true,"hooks":"install","wait":true,"waitForJobs":false})");
}

TEST_F(RecordedVerbs, AnAdoptionRecordsWhatWasThere) {
  cluster.put(
      *encoding::parse_json(
          R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","namespace":"default"}})"),
      "kubectl");
  install({.allowed = {.adopt = true}});
  EXPECT_THAT(recorded(), ::testing::StartsWith(
                              R"({"deleteCrds":false,"deletePvcs":false,"deleteNamespaces":false,)"
                              R"("forceConflicts":false,"adopt":true,"replace":false,"hooks":"install",)"
                              R"("beforeAdoption":[{"apiVersion":"v1","kind":"ConfigMap",)"));
}

TEST_F(RecordedVerbs, AnUninstallThatDidNotEnd) {
  install();
  refuse("delete", "two");
  ASSERT_FALSE(uninstall_now({.rules = {.delete_pvcs = true}, .no_hooks = true}).ok());
  EXPECT_EQ(recorded_in_head(),
            R"({"deleteCrds":false,"deletePvcs":true,"deleteNamespaces":false,"forceConflicts":false,)"
            R"("adopt":false,"replace":false,"noHooks":true})");
}

TEST_F(RecordedVerbs, AnUninstallWhoseHooksHaveEnded) {
  const std::string hook =
      "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: hook, annotations: {helm.sh/hook: "
      "'pre-delete,post-delete'}}}\n";
  ASSERT_TRUE(deploy(environment(), id,
                     install_intent(rendering(std::string(testing::kTwoConfigMaps) + hook,
                                              {"test:1", "test", "1", "sha256:1", "helm"})),
                     {}, Context())
                  .ok());
  refuse("delete", "two");
  ASSERT_FALSE(uninstall_now().ok());
  EXPECT_EQ(recorded_in_head(), plain(R"(,"preDeleteEnded":true)"));
  ASSERT_FALSE(uninstall_now().ok());
  EXPECT_EQ(recorded_in_head(), plain(R"(,"preDeleteEnded":true)"));
}

TEST_F(RecordedVerbs, AHeadBetweenUninstallsHasNone) {
  install();
  EXPECT_EQ(recorded_in_head(), "null");
}

TEST_F(RecordedVerbs, ASavedPlan) {
  const auto seen =
      prepare(environment(), id, preview_intent(rendering(std::string(testing::kTwoConfigMaps))),
              {.allowed = {.force_conflicts = true}}, Context());
  ASSERT_TRUE(seen.ok()) << seen.error().to_line();
  const auto saved = save_plan(environment(), *seen, Context());
  ASSERT_TRUE(saved.ok()) << saved.error().to_line();
  EXPECT_THAT(to_text(*saved),
              HasSubstr(R"("options":{"deleteCrds":false,"deletePvcs":false,"deleteNamespaces":false,)"
                        R"("forceConflicts":true,"adopt":false,"replace":false,"hooks":"install"})"));
}

}  // namespace
}  // namespace mist::action
