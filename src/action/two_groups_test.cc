// Objects of kinds that the server serves under two API groups, as it does Events: one object, two keys.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "action/query/drift.h"
#include "action/query/status.h"
#include "action/recover/recover.h"
#include "apply/reserved_metadata.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using ::testing::ElementsAre;
using testing::FakeCall;
using ::testing::HasSubstr;

const kube::ResourceInfo kOld{{"old.example.com", "v1", "Gadget"}, "gadgets", true, {}};
const kube::ResourceInfo kNew{{"new.example.com", "v1", "Gadget"}, "gadgets", true, {}};

std::string gadget(std::string_view group, std::string_view size, std::string_view name = "g") {
  return fmt::format(
      "---\n{{apiVersion: {}.example.com/v1, kind: Gadget, metadata: {{name: {}}}, size: {}}}\n", group, name,
      size);
}

class TwoGroupsTest : public testing::ReleaseFixture {
 protected:
  void SetUp() override {
    cluster.register_kind(kOld);
    cluster.serve_also(kOld.gvk.group_kind(), kNew);
  }
  std::string uid(std::string_view name = "g") {
    const auto object = cluster.find("Gadget.old.example.com", "default", name);
    return object ? std::string(object->string_at({"metadata", "uid"})) : "absent";
  }
  std::vector<std::string> inventory() {
    std::vector<std::string> names;
    for (const apply::InventoryItem& item : now().owned())
      names.push_back(fmt::format("{}/{}", item.key.group_kind.group, item.key.name));
    return names;
  }
};

TEST_F(TwoGroupsTest, AnUpgradeToTheOtherGroupKeepsTheObject) {
  ASSERT_TRUE(install_now(gadget("old", "1")).ok());
  const std::string before = uid();
  for (const std::string_view size : {"2", "3"}) {
    const auto upgraded = upgrade_now(gadget("new", size));
    ASSERT_TRUE(upgraded.ok()) << upgraded.error().to_line();
    EXPECT_TRUE(upgraded->plan.removals.empty());
    EXPECT_FALSE(upgraded->plan.writes[0].recorded.adopted) << "the release made it";
    EXPECT_EQ(uid(), before);
    EXPECT_THAT(inventory(), ElementsAre("new.example.com/g"));
  }
  const auto drifted = drift(environment(), id, Context());
  ASSERT_TRUE(drifted.ok());
  EXPECT_TRUE(drifted->found.empty());
  ASSERT_TRUE(rollback_now(0).ok());
  EXPECT_EQ(uid(), before);
  EXPECT_THAT(inventory(), ElementsAre("old.example.com/g"));
  ASSERT_TRUE(uninstall_now().ok());
  EXPECT_EQ(uid(), "absent");
}

// Wherever the process dies, what comes next keeps it too, and names it once.
TEST_F(TwoGroupsTest, AnInterruptedUpgradeLosesNothing) {
  for (std::size_t last = 1;; ++last) {
    testing::FakeCluster fresh;
    fresh.register_kind(kOld);
    fresh.serve_also(kOld.gvk.group_kind(), kNew);
    const Environment here{
        fresh, no_expiry, random, events, "tester", std::chrono::milliseconds(100), std::chrono::seconds(60)};
    const std::string both = gadget("old", "1") + gadget("old", "1", "goes");
    ASSERT_TRUE(deploy(here, id, install_intent(rendering(both)), {}, Context()).ok());
    const auto of = [&](std::string_view name) {
      const auto object = fresh.find("Gadget.old.example.com", "default", name);
      return object ? std::string(object->string_at({"metadata", "uid"})) : "absent";
    };
    const std::string before = of("g");
    fresh.clear_calls();
    std::size_t writes = 0;
    fresh.set_before([&](const FakeCall& call) -> std::optional<Error> {
      if (call.writes() && ++writes > last) return error(ErrorKind::Forbidden, "dead");
      return std::nullopt;
    });
    const auto upgrade = [&] {
      return deploy(here, id, upgrade_intent(rendering(gadget("new", "2"))), {}, Context());
    };
    const bool ended = upgrade().ok();
    fresh.set_before({});
    const auto shown = status(here, id, Context());
    ASSERT_TRUE(shown.ok()) << shown.error().to_line();
    EXPECT_LE(shown->objects.size(), 2u);
    if (last % 2 == 0) {
      (void)recover(here, id, {.undo = true, .deploy = {}}, Context());
      EXPECT_EQ(of("g"), before);
    }
    const auto again = upgrade();
    ASSERT_TRUE(again.ok()) << again.error().to_line();
    EXPECT_EQ(of("g"), before) << "dead after write " << last;
    EXPECT_EQ(of("goes"), "absent");
    EXPECT_EQ(read_release(here, id, Context())->owned().size(), 1u);
    if (ended) break;
  }
}

TEST_F(TwoGroupsTest, TwoWantedObjectsThatAreOneAreRefused) {
  ASSERT_TRUE(install_now(gadget("old", "1")).ok());
  cluster.clear_calls();
  const auto twice = upgrade_now(gadget("old", "1") + gadget("new", "2"));
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(twice.error().message, HasSubstr("one object"));
  EXPECT_EQ(twice.error().where->line, 4u);
  EXPECT_EQ(cluster.writes(), 0u);
}

// Before either of them is there, only its uid tells.
TEST_F(TwoGroupsTest, TwoNewObjectsThatAreOneAreFoundWhenTheyAreWritten) {
  const auto twice = install_now(gadget("old", "1") + gadget("new", "2"));
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.error().to_line(), HasSubstr("one object"));
  const auto shown = status(environment(), id, Context());
  ASSERT_TRUE(shown.ok());
  EXPECT_EQ(shown->objects.size(), 1u);
  const auto removed = uninstall_now();
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(removed->deleted, 1u);
}

TEST_F(TwoGroupsTest, KindsThatAreKnownToBeOneAreRefusedBeforeAnyWrite) {
  cluster.serve_also({"", "Event"}, {{"events.k8s.io", "v1", "Event"}, "events", true, {}});
  const auto twice = install_now(R"(
{apiVersion: v1, kind: Event, metadata: {name: e}}
---
{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: e}}
)");
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.error().message, HasSubstr("twice, under two API groups"));
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(TwoGroupsTest, WhatIsTakenOverUnderTheOtherGroupLeavesTheOtherRecord) {
  const release::ReleaseId theirs{"default", "theirs"};
  ASSERT_TRUE(
      deploy(environment(), theirs, install_intent(rendering(gadget("old", "1"))), {}, Context()).ok());
  const std::string before = uid();
  // The first try fails behind it, so that it goes back, as it was.
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run && call.key.name == "zzz")
      return error(ErrorKind::Forbidden, "quota exceeded");
    return std::nullopt;
  });
  const std::string more =
      gadget("new", "2") + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: zzz}}\n";
  ASSERT_FALSE(install_now(more, {.allowed = {.take_over_from = theirs}}).ok());
  cluster.set_before({});
  ASSERT_TRUE(recover(environment(), id, {.undo = true, .deploy = {}}, Context()).ok());
  EXPECT_EQ(uid(), before);
  EXPECT_EQ(cluster.find("Gadget.old.example.com", "default", "g")
                ->string_at({"metadata", "annotations", apply::kReleaseAnnotation}),
            "default/theirs");
  ASSERT_TRUE(install_now(gadget("new", "2"), {.allowed = {.take_over_from = theirs}}).ok());
  EXPECT_EQ(uid(), before);
  EXPECT_TRUE(read_release(environment(), theirs, Context())->owned().empty());
}

}  // namespace
}  // namespace mist::action
