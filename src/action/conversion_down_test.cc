// A release whose own conversion webhook is down: the upgrade that repairs it
// goes through, and nothing of its custom resources is forgotten.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "action/query/drift.h"
#include "action/recover/recover.h"
#include "action/uninstall.h"
#include "testing/fake_clock.h"
#include "testing/recorded_events.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using apply::ActionKind;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string release_with(std::string_view server, std::string_view things) {
  return fmt::format(R"(
{{apiVersion: v1, kind: ConfigMap, metadata: {{name: server}}, data: {{image: {}}}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: things.example.com}}
spec:
  group: example.com
  scope: Namespaced
  names: {{kind: Thing, plural: things}}
  conversion: {{strategy: Webhook, webhook: {{clientConfig: {{service: {{namespace: shop, name: converter}}}}, conversionReviewVersions: [v1]}}}}
  versions:
  - {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}
  - {{name: v2, served: true, storage: false, schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}
{})",
                     server, things);
}
constexpr std::string_view kOne =
    "---\n{apiVersion: example.com/v2, kind: Thing, metadata: {name: one, "
    "namespace: default}, spec: {a: '1'}}\n";
constexpr std::string_view kOneChanged =
    "---\n{apiVersion: example.com/v2, kind: Thing, metadata: {name: one, "
    "namespace: default}, spec: {a: '2'}}\n";

class ConversionDownTest : public testing::ReleaseFixture {
 protected:
  ConversionDownTest() {
    context = Context().with_clock(pauses);
    cluster.set_before([this](const testing::FakeCall& call) -> std::optional<Error> {
      if (dead) return error(ErrorKind::Retryable, "the process is gone");
      // It is repaired by another server, or by a CRD that needs none.
      const bool server = call.verb == "apply" && call.key.name == "server" && !call.dry_run && repairs;
      if (server || (call.verb == "patch" && call.key.name == "things.example.com")) down = false;
      const bool about_things = call.key.group_kind.kind == "Thing";
      // A server that was just written takes its time to begin.
      if (!down && about_things && still_away > 0 && (call.writes() || !only_writes)) {
        --still_away;
        return error(ErrorKind::Retryable, "cannot {} Thing", call.verb).with_because("connection refused");
      }
      if (!down || call.key.group_kind.kind != "Thing") return std::nullopt;
      if (call.verb == "list" && call.version == readable) return std::nullopt;
      return error(ErrorKind::Retryable, "cannot {} Thing", call.verb)
          .with_because(
              "conversion webhook for example.com/v1, Kind=Thing "
              "failed: connection refused");
    });
  }
  Result<RecoverReport> from_labels(const Environment& with_sink) {
    RecoverOptions options;
    options.from_labels = true;
    return recover(with_sink, id, options, context);
  }
  bool knows_thing() {
    return std::ranges::any_of(now().owned(), [](const apply::InventoryItem& item) {
      return item.key.group_kind.kind == "Thing" && !item.uid.empty();
    });
  }
  testing::FakeClock pauses;
  std::atomic<bool> down{false}, repairs{true}, dead{false};
  std::atomic<int> still_away{0};  // requests that fail although it was repaired
  std::atomic<bool> only_writes{false};
  std::string readable;  // the version that needs no conversion
  DeployOptions brief{.timeout = std::chrono::milliseconds(50)};
};

TEST_F(ConversionDownTest, TheUpgradeThatRepairsItGoesThrough) {
  const auto installed = install_now(release_with("a", kOne));
  ASSERT_TRUE(installed.ok()) << installed.error().to_line();
  down = true;
  const auto report = upgrade_now(release_with("b", kOneChanged));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(cluster.find("Thing.example.com", "default", "one")->string_at({"spec", "a"}), "2");
  EXPECT_EQ(report->plan.writes.back().kind, ActionKind::Update);
  EXPECT_THAT(report->plan.writes.back().reason,
              HasSubstr("the conversion webhook of things.example.com (Service "
                        "shop/converter)"));
  // So does one that no longer wants it; what was marked to be kept meanwhile
  // stays.
  down = true;
  ASSERT_TRUE(upgrade_now(release_with("c", "")).ok());
  EXPECT_FALSE(cluster.has("Thing.example.com", "default", "one"));
  EXPECT_FALSE(knows_thing());
}

TEST_F(ConversionDownTest, AServerThatAnswersOnlyLaterIsWaitedFor) {
  ASSERT_TRUE(install_now(release_with("a", kOne)).ok());
  down = true;
  still_away = 2;
  const auto written = upgrade_now(release_with("b", kOneChanged));
  ASSERT_TRUE(written.ok()) << written.error().to_line();
  EXPECT_EQ(still_away, 0);
  EXPECT_EQ(cluster.find("Thing.example.com", "default", "one")->string_at({"spec", "a"}), "2");
  down = true;
  still_away = 2;
  const auto removed = upgrade_now(release_with("c", ""));
  ASSERT_TRUE(removed.ok()) << removed.error().to_line();
  EXPECT_EQ(still_away, 0);
  EXPECT_FALSE(cluster.has("Thing.example.com", "default", "one"));
}

// The server lists from its cache, which was converted before.
TEST_F(ConversionDownTest, WhatCanBeReadAndNotWrittenIsWaitedForToo) {
  ASSERT_TRUE(install_now(release_with("a", kOne)).ok());
  only_writes = true;
  still_away = 2;
  const auto written = upgrade_now(release_with("b", kOneChanged));
  ASSERT_TRUE(written.ok()) << written.error().to_line();
  EXPECT_EQ(still_away, 0);
  still_away = 2;
  const auto removed = upgrade_now(release_with("c", ""));
  ASSERT_TRUE(removed.ok()) << removed.error().to_line();
  EXPECT_EQ(still_away, 0);
  EXPECT_FALSE(cluster.has("Thing.example.com", "default", "one"));
}

TEST_F(ConversionDownTest, WhatWasMarkedToBeKeptMeanwhileStays) {
  const auto installed = install_now(release_with("a", kOne));
  ASSERT_TRUE(installed.ok()) << installed.error().to_line();
  encoding::Value kept = *cluster.find("Thing.example.com", "default", "one");
  kept["metadata"]["annotations"].set("mistletoe.dev/keep", "true");
  cluster.put(std::move(kept));
  down = true;
  const auto report = upgrade_now(release_with("b", ""));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_TRUE(cluster.has("Thing.example.com", "default", "one"));
  EXPECT_TRUE(knows_thing());
}

TEST_F(ConversionDownTest, IsNamedWhenNothingRepairsIt) {
  const auto installed = install_now(release_with("a", kOne));
  ASSERT_TRUE(installed.ok()) << installed.error().to_line();
  down = true;
  repairs = false;
  const auto failed = upgrade_now(release_with("b", kOneChanged), brief);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::Timeout);
  EXPECT_THAT(failed.error().because, HasSubstr("connection refused"));
  EXPECT_THAT(failed.error().hint,
              AllOf(HasSubstr("Service shop/converter"), HasSubstr("kubectl patch crd")));
  EXPECT_EQ(cluster.find("ConfigMap", "default", "server")->string_at({"data", "image"}), "b")
      << "the rest was written";
  EXPECT_TRUE(knows_thing());
}

// The record names them without the uids that nobody was there to write down.
TEST_F(ConversionDownTest, UndoingDeletesAllThatADeadRunMade) {
  const std::string other =
      "---\n{apiVersion: example.com/v2, kind: Thing, metadata: {name: other, namespace: default}}\n";
  const std::string fresh = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: fresh}}\n";
  const Environment brief_term{
      cluster, no_expiry, random, events, "tester", std::chrono::milliseconds(200), std::chrono::seconds(60)};
  ASSERT_TRUE(
      deploy(brief_term, id, install_intent(rendering(release_with("a", fresh))), {}, Context()).ok());
  std::atomic<int> made{0};
  cluster.set_after([&](const testing::FakeCall& call) -> std::optional<Error> {
    const bool thing = call.verb == "apply" && !call.dry_run && call.key.group_kind.kind == "Thing";
    if (thing && call.executed_ok && ++made == 2) dead = true;
    return std::nullopt;
  });
  ASSERT_FALSE(deploy(brief_term, id, upgrade_intent(rendering(release_with("b", std::string(kOne) + other))),
                      {}, Context())
                   .ok());
  cluster.set_after({});
  ASSERT_EQ(made, 2);
  dead = false;
  cluster.drop({{"", "ConfigMap"}, "default", "fresh"});  // a create of the undoing has no uid, either
  down = true;
  const auto undone = recover(brief_term, id, {.undo = true, .deploy = {}}, Context());
  ASSERT_TRUE(undone.ok()) << undone.error().to_line();
  for (const std::string_view name : {"one", "other"})
    EXPECT_FALSE(cluster.has("Thing.example.com", "default", name)) << name;
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "fresh"));
  EXPECT_EQ(now().owned().size(), 3u);
}

TEST_F(ConversionDownTest, AnUninstallSaysWhatKeepsItAndWhichFlagGoesOn) {
  const auto installed = install_now(release_with("a", kOne));
  ASSERT_TRUE(installed.ok()) << installed.error().to_line();
  down = true;
  cluster.clear_calls();
  const auto refused = uninstall_now();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "Thing default/one can be neither read nor deleted");
  EXPECT_THAT(refused.error().because, HasSubstr("(Service shop/converter)"));
  EXPECT_THAT(refused.error().hint, AllOf(HasSubstr("--delete-crds"), HasSubstr("strategy")));
  EXPECT_EQ(cluster.writes(), 0u);
  const auto removed = uninstall_now({.rules = {.delete_crds = true}});
  ASSERT_TRUE(removed.ok()) << removed.error().to_line();
  EXPECT_FALSE(cluster.has("CustomResourceDefinition.apiextensions.k8s.io", "", "things.example.com"));
  EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web"));
}

TEST_F(ConversionDownTest, WhatItHidesHasNoDriftThatAnybodyCouldSee) {
  ASSERT_TRUE(install_now(release_with("a", kOne)).ok());
  down = true;
  const auto seen = drift(environment(), id, Context());
  ASSERT_TRUE(seen.ok()) << seen.error().to_line();
  ASSERT_EQ(seen->found.size(), 1u);
  EXPECT_EQ(seen->found[0].kind, DriftKind::Unknown);
  EXPECT_FALSE(seen->found[0].forbidden);
  EXPECT_EQ(seen->found[0].key.name, "one");
  EXPECT_THAT(seen->found[0].reason, HasSubstr("the conversion webhook of things.example.com"));
  EXPECT_FALSE(seen->drifted(false));
  EXPECT_TRUE(seen->drifted(true));
}

// Its CRD is somebody else's, and has nothing to do with the release.
TEST_F(ConversionDownTest, ARecordIsMadeAnewWhateverOtherKindsCannotBeRead) {
  ASSERT_TRUE(install_now(release_with("a", kOne)).ok());
  const release::ReleaseId theirs = id;
  id.name = "ours";
  ASSERT_TRUE(install_now("{apiVersion: v1, kind: ConfigMap, metadata: {name: ours}}").ok());
  cluster.drop({{"", "Secret"}, "default", "mistletoe.ours"});
  cluster.drop({{"", "Secret"}, "default", "mistletoe.ours.v0"});
  down = true;
  testing::RecordedEvents heard;
  Environment with_sink{cluster, clock, random, heard, "tester"};
  const auto rebuilt = from_labels(with_sink);
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().to_line();
  EXPECT_THAT(heard.messages,
              ::testing::Contains(AllOf(HasSubstr("the conversion webhook of things.example.com"),
                                        HasSubstr("aren't seen"))));
  ASSERT_EQ(now().owned().size(), 1u);
  EXPECT_EQ(now().owned()[0].key.name, "ours");
  // Of a release that has such objects, nothing is left out of its record.
  id = theirs;
  cluster.drop({{"", "Secret"}, "default", "mistletoe.web.v0"});
  const auto refused = from_labels(environment());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().to_line(), HasSubstr("the conversion webhook of things.example.com"));
  EXPECT_THAT(refused.error().hint, HasSubstr("kubectl patch crd things.example.com"));
  // Unless they can be read in the version in which they are stored.
  readable = "v1";
  const auto whole = from_labels(environment());
  ASSERT_TRUE(whole.ok()) << whole.error().to_line();
  EXPECT_TRUE(knows_thing());
}

}  // namespace
}  // namespace mist::action
