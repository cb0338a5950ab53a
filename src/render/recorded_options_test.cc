#include "render/recorded_options.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "encoding/json.h"
#include "testing/yaml.h"

namespace mist::render {
namespace {

using encoding::Value;
using ::mist::testing::yaml;

std::string bytes(const RecordedOptions& options) { return encoding::to_json(to_value(options)); }

// Records in clusters hold these bytes: another Mistletoe reads them.
TEST(RecordedOptions, EveryRecordHasTheFlagsThatAllVersionsWrote) {
  EXPECT_EQ(bytes({}),
            R"({"deleteCrds":false,"deletePvcs":false,"deleteNamespaces":false,"forceConflicts":false,)"
            R"("adopt":false,"replace":false})");
}

TEST(RecordedOptions, OfARevisionHaveTheirStoredForm) {
  EXPECT_EQ(bytes({.allowed = {.prune = {.delete_crds = true,
                                         .delete_pvcs = true,
                                         .delete_namespaces = true,
                                         .left_crds = {"b.example.com", "a.example.com"},
                                         .unused_crds = true},
                               .adopt = true,
                               .adopt_from = {"argocd", "flux"},
                               .leave_fields = true,
                               .replace = true,
                               .force_conflicts = true,
                               .take_over_from = apply::Owner{"shop", "old"},
                               .keep_adopted = true},
                   .hooks = apply::HookVerb::Upgrade,
                   .lookups = {{"shop/ConfigMap/a"}, {"shop/db"}},
                   .answers = {{{"domain", false}, {"tls.key", true}}},
                   .force_crds = true,
                   .wait = RecordedWait::JobsBegun,
                   .before_adoption = Value::array({yaml("{kind: ConfigMap}")})}),
            R"({"deleteCrds":true,"deletePvcs":true,"deleteNamespaces":true,"forceConflicts":true,)"
            R"("adopt":true,"replace":true,"leftCrds":["a.example.com","b.example.com"],)"
            R"("adoptFrom":["argocd","flux"],"takeOverFrom":{"namespace":"shop","name":"old"},)"
            R"("hooks":"upgrade","allowLookup":["shop/ConfigMap/a"],"allowLookupSecrets":["shop/db"],)"
            R"("answers":[{"name":"domain","secret":false},{"name":"tls.key","secret":true}],)"
            R"("forceCrds":true,"wait":true,"waitForJobs":false,"beforeAdoption":[{"kind":"ConfigMap"}]})");
}

TEST(RecordedOptions, OfAnUninstallHaveTheirStoredForm) {
  EXPECT_EQ(bytes({.allowed = {.prune = {.delete_pvcs = true}},
                   .no_hooks = true,
                   .ended_hooks = {apply::HookPhase::Before, apply::HookPhase::After}}),
            R"({"deleteCrds":false,"deletePvcs":true,"deleteNamespaces":false,"forceConflicts":false,)"
            R"("adopt":false,"replace":false,"noHooks":true,"preDeleteEnded":true,"postDeleteEnded":true})");
}

TEST(RecordedOptions, AreReadFromRecordsOfEarlierVersions) {
  const auto first = RecordedOptions::from_value(
      yaml("{deleteCrds: false, deletePvcs: true, deleteNamespaces: false, forceConflicts: true}"));
  EXPECT_TRUE(first.allowed.prune.delete_pvcs);
  EXPECT_TRUE(first.allowed.force_conflicts);
  EXPECT_FALSE(first.allowed.adopt);
  EXPECT_EQ(first.hooks, std::nullopt);
  EXPECT_EQ(first.wait, RecordedWait::None);
  const auto before_jobs = RecordedOptions::from_value(yaml("{wait: true}"));
  EXPECT_EQ(before_jobs.wait, RecordedWait::AllReady);
}

TEST(RecordedOptions, MembersThatAreNotWhatTheyShouldBeHaveTheirDefaults) {
  for (const char* const damaged :
       {"null", "[]", "3", "{deleteCrds: 1, adopt: 'true', leftCrds: {}, takeOverFrom: {namespace: a}}",
        "{answers: [{name: a}, 3, {name: '', secret: true}], wait: 1, waitForJobs: false}",
        "{beforeAdoption: {}, allowLookup: a, allowLookupSecrets: [1], preDeleteEnded: 1}"})
    EXPECT_EQ(bytes(RecordedOptions::from_value(yaml(damaged))), bytes({})) << damaged;
}

TEST(RecordedOptions, BeforeAdoptionIsFoundWithoutACopy) {
  const Value recorded = to_value(RecordedOptions{.before_adoption = Value::array({yaml("{kind: Job}")})});
  EXPECT_EQ(before_adoption_in(recorded), recorded.find("beforeAdoption"));
  EXPECT_EQ(before_adoption_in(to_value(RecordedOptions{})), nullptr);
  EXPECT_EQ(before_adoption_in(Value()), nullptr);
}

std::set<std::string> any_names() {
  std::set<std::string> names;
  for (const char* const name : {"a", "b.c", "d/e", "é"})
    if (*rc::gen::arbitrary<bool>()) names.insert(name);
  return names;
}

std::vector<std::string> sorted_names() {
  const std::set<std::string> names = any_names();
  return {names.begin(), names.end()};
}

RecordedOptions any_options() {
  const auto flag = [] { return *rc::gen::arbitrary<bool>(); };
  RecordedOptions options;
  options.allowed = {.prune = {.delete_crds = flag(),
                               .delete_pvcs = flag(),
                               .delete_namespaces = flag(),
                               .left_crds = any_names()},
                     .adopt = flag(),
                     .adopt_from = any_names(),
                     .replace = flag(),
                     .force_conflicts = flag()};
  if (flag()) options.allowed.take_over_from = apply::Owner{"shop", "web"};
  using enum apply::HookVerb;
  if (flag()) options.hooks = *rc::gen::element(None, Install, Upgrade, Rollback, Uninstall);
  options.lookups = {sorted_names(), sorted_names()};
  for (std::string& name : sorted_names()) options.answers.all.push_back({std::move(name), flag()});
  options.force_crds = flag();
  options.wait = *rc::gen::element(RecordedWait::None, RecordedWait::AllReady, RecordedWait::JobsBegun);
  if (flag()) options.before_adoption = Value::array({yaml("{kind: ConfigMap, data: {a: '1'}}")});
  options.no_hooks = flag();
  for (const auto phase : {apply::HookPhase::Before, apply::HookPhase::After})
    if (flag()) options.ended_hooks.insert(phase);
  return options;
}

RC_GTEST_PROP(RecordedOptionsProperty, WhatIsWrittenIsReadBack, ()) {
  const RecordedOptions options = any_options();
  const auto text = encoding::parse_json(bytes(options));
  RC_ASSERT(text.ok());
  const RecordedOptions read = RecordedOptions::from_value(*text);
  RC_ASSERT(read.allowed.take_over_from.has_value() == options.allowed.take_over_from.has_value());
  RC_ASSERT(read.allowed.prune.left_crds == options.allowed.prune.left_crds);
  RC_ASSERT(read.allowed.adopt_from == options.allowed.adopt_from);
  RC_ASSERT(read.hooks == options.hooks);
  RC_ASSERT(read.lookups == options.lookups);
  RC_ASSERT(read.answers == options.answers);
  RC_ASSERT(read.force_crds == options.force_crds);
  RC_ASSERT(read.wait == options.wait);
  RC_ASSERT(read.before_adoption == options.before_adoption);
  RC_ASSERT(read.no_hooks == options.no_hooks);
  RC_ASSERT(read.ended_hooks == options.ended_hooks);
  RC_ASSERT(bytes(read) == bytes(options));
}

}  // namespace
}  // namespace mist::render
