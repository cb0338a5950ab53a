// Objects that were adopted by a revision that is undone are given back. tests/e2e/test_adoption.py shows
// that the server does as the fake.

#include "action/deploy/adopted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "action/recover/recover.h"
#include "apply/reserved_metadata.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "testing/recorded_events.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using encoding::Value;
using ::testing::HasSubstr;

constexpr std::string_view kTheirs = R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: two, namespace: default, labels: {theirs: "yes"}, annotations: {note: kept}}
data: {b: theirs, c: theirs}
)";

const std::string kZero = R"(---
apiVersion: v1
kind: ConfigMap
metadata: {name: zero, annotations: {mistletoe.dev/after: ConfigMap/two}}
)";

class AdoptedTest : public testing::ReleaseFixture {
 protected:
  // The second object is refused once the first is adopted.
  void fail_after_adopting(const DeployOptions& options) {
    cluster.put(*encoding::parse_yaml(kTheirs), "helm");
    before = two();
    refuse("zero");
    const auto failed = install_now(std::string(testing::kTwoConfigMaps) + kZero, options);
    ASSERT_FALSE(failed.ok());
    words = failed.error().to_line();
  }
  void refuse(const std::string& name) {
    cluster.set_before([name](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "apply" || call.dry_run || call.key.name != name) return std::nullopt;
      return error(ErrorKind::Invalid, "no");
    });
  }
  Value two() { return *cluster.find("ConfigMap", "default", "two"); }
  // Without what the server counts.
  static std::string text(Value object) {
    object["metadata"].erase("resourceVersion");
    object["metadata"].erase("generation");
    return encoding::to_json(object);
  }

  Value before;
  std::string words;
};

TEST_F(AdoptedTest, AnInstallThatIsUndoneLeavesItAsItWas) {
  fail_after_adopting({.allowed = {.adopt = true}, .rollback_on_failure = true});
  EXPECT_THAT(words, HasSubstr("rolled back"));
  EXPECT_EQ(text(two()), text(before));
}

TEST_F(AdoptedTest, RecoverUndoesAllUnfinishedRevisionsTogether) {
  fail_after_adopting({.allowed = {.adopt = true}});
  EXPECT_EQ(two().string_at({"data", "b"}), "2");
  refuse("one");
  std::string changed(testing::kTwoConfigMaps);
  changed.replace(changed.find("\"1\""), 3, "\"9\"");
  ASSERT_FALSE(install_now(changed, {.allowed = {.adopt = true}}).ok());
  const auto undone = recover(environment(), id, {.undo = true, .deploy = {}}, Context());
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_EQ(text(two()), text(before));
}

// The revision that adopted is long gone.
TEST_F(AdoptedTest, ATrimmedHistoryDoesNotForgetWhatItWas) {
  fail_after_adopting({.allowed = {.adopt = true}});
  for (int i = 0; i < 3; ++i)
    ASSERT_FALSE(install_now(std::string(testing::kTwoConfigMaps) + kZero, {.history_max = 2}).ok());
  for (const release::Revision& revision : now().unfinished) EXPECT_GT(revision.number, 1);
  const auto undone = recover(environment(), id, {.undo = true, .deploy = {}}, Context());
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_EQ(text(two()), text(before));
}

TEST_F(AdoptedTest, WhatOthersWroteSinceStaysAndIsSaid) {
  fail_after_adopting({.allowed = {.adopt = true}});
  Value edited = two();
  edited["data"].set("d", "new");
  cluster.put(edited, "kubectl-edit");
  const auto undone = recover(environment(), id, {.undo = true, .deploy = {}}, Context());
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  EXPECT_EQ(two().string_at({"data", "d"}), "new");
  EXPECT_EQ(two().string_at({"data", "b"}), "theirs");
  const apply::PlannedAction& returned = *std::ranges::find(
      undone->removal->plan.removals, "two", [](const apply::PlannedAction& each) { return each.key.name; });
  EXPECT_EQ(returned.reason, "it was there before the release; otherwise than before: .data.d");
}

TEST_F(AdoptedTest, AFieldThatSomebodyElseTookSinceIsTheirsAndTheRestComesBack) {
  fail_after_adopting({.allowed = {.adopt = true}});
  Value edited = two();
  edited["data"].set("b", "edited");
  cluster.put(edited, "kubectl-edit");
  ASSERT_TRUE(recover(environment(), id, {.undo = true, .deploy = {}}, Context()).ok());
  EXPECT_EQ(encoding::to_json(*two().find("data")), R"({"b":"edited","c":"theirs"})");
  EXPECT_EQ(two().at_path({"metadata", "labels", apply::kPartOfLabel}), nullptr);
  std::string owners;
  const Value now = two();
  for (const Value& entry : now.at_path({"metadata", "managedFields"})->as_array())
    owners += fmt::format("{} {}\n", entry.string_at("manager"), encoding::to_json(entry));
  EXPECT_THAT(owners, HasSubstr(R"("f:data":{"f:b":{}})"));
  EXPECT_THAT(owners, HasSubstr(R"("f:c":{})"));
  EXPECT_THAT(owners, ::testing::Not(HasSubstr("mistctl")));
}

TEST_F(AdoptedTest, WhatWasWrittenOfItIsAllThatGoes) {
  Value theirs = *encoding::parse_yaml(kTheirs);
  theirs["data"] = Value::object({{"c", "theirs"}});
  cluster.put(theirs, "kubectl-edit");  // whose fields nobody takes
  before = two();
  refuse("zero");
  ASSERT_FALSE(install_now(std::string(testing::kTwoConfigMaps) + kZero,
                           {.allowed = {.adopt = true}, .rollback_on_failure = true})
                   .ok());
  EXPECT_EQ(text(two()), text(before));
}

TEST_F(AdoptedTest, ARecordThatDoesNotTellWritesNothing) {
  fail_after_adopting({.allowed = {.adopt = true}});
  ReleaseState state = now();
  apply::PlannedAction action;
  action.key = {{"", "ConfigMap"}, "default", "two"};
  action.uid = before.string_at({"metadata", "uid"});
  for (release::Revision& each : state.unfinished) each.options.erase("beforeAdoption");
  cluster.clear_calls();
  EXPECT_EQ(give_adopted_back(environment(), state, action, Context())->words, "");
  EXPECT_EQ(cluster.writes(), 0u);
}

// Killed at each request of the adoption, and then of its undoing, which is repeated: all is as it was.
TEST_F(AdoptedTest, WhereverTheProcessDiesUndoingLeavesItAsItWas) {
  const std::string base = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: base}}\n";
  const std::string package = std::string(testing::kTwoConfigMaps) + base + kZero;
  enum class Dies : std::uint8_t { Adopting, Undoing };
  for (const bool first : {true, false}) {
    for (const Dies dies : {Dies::Adopting, Dies::Undoing}) {
      bool survived = false;
      std::size_t point = 0;
      while (!survived && ++point < 100) {
        SCOPED_TRACE(fmt::format("{} {} {}", first ? "install" : "upgrade",
                                 dies == Dies::Adopting ? "adopting" : "undoing", point));
        testing::FakeCluster fresh;
        const Environment here{fresh,
                               no_expiry,
                               random,
                               events,
                               "tester",
                               std::chrono::milliseconds(100),
                               std::chrono::seconds(60)};
        fresh.put(*encoding::parse_yaml(kTheirs), "helm");
        before = *fresh.find("ConfigMap", "default", "two");
        if (!first) {
          ASSERT_TRUE(deploy(here, id, install_intent(rendering(base)), {}, Context()).ok());
        }
        const auto run_dying = [&](bool for_real, const std::function<void()>& work) {
          const std::size_t begin = fresh.calls().size();
          std::atomic<bool> dead{false};
          fresh.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
            if (for_real && call.number >= begin + point) dead = true;
            if (dead) return error(ErrorKind::Retryable, "the process is gone");
            if (call.verb == "apply" && !call.dry_run && call.key.name == "zero")
              return error(ErrorKind::Invalid, "no");
            return std::nullopt;
          });
          work();
          fresh.set_before({});
          return !dead;
        };
        const auto undo = [&] { return recover(here, id, {.undo = true, .deploy = {}}, Context()); };
        survived = run_dying(dies == Dies::Adopting, [&] {
          const Intent intent =
              first ? install_intent(rendering(package)) : upgrade_intent(rendering(package));
          EXPECT_FALSE(deploy(here, id, intent, {.allowed = {.adopt = true}}, Context()).ok());
        });
        if (dies == Dies::Undoing) survived = run_dying(true, [&] { (void)undo(); });
        const auto undone = undo();
        ASSERT_TRUE(undone.ok() || undone.error().kind == ErrorKind::NotFound) << undone.error().to_line();
        EXPECT_EQ(text(*fresh.find("ConfigMap", "default", "two")), text(before));
        EXPECT_FALSE(fresh.has("ConfigMap", "default", "one"));
        EXPECT_EQ(fresh.has("Secret", "default", "mistletoe.web"), !first);
        EXPECT_EQ(fresh.has("ConfigMap", "default", "base"), !first);
        if (::testing::Test::HasFailure()) return;
      }
      EXPECT_TRUE(survived);
      EXPECT_GT(point, 8u);
    }
  }
}

}  // namespace
}  // namespace mist::action
