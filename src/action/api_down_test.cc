// A release with objects of an aggregated API that doesn't answer: nobody knows whether they are there, so
// nothing is forgotten, and every command says whom to look at.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "action/query/drift.h"
#include "action/query/status.h"
#include "action/uninstall.h"
#include "kube/api_down.h"
#include "testing/release_fixture.h"

namespace mist::action {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kPlainMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}\n";
constexpr std::string_view kTally =
    "---\n{apiVersion: tally.example.com/v1, kind: Tally, metadata: {name: one}, spec: {text: a}}\n";
constexpr std::string_view kService =
    "---\n{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.tally.example.com}, "
    "spec: {group: tally.example.com, version: v1}}\n";

class ApiDownTest : public testing::ReleaseFixture {
 protected:
  ApiDownTest() {
    cluster.register_kind(
        {{"tally.example.com", "v1", "Tally"}, "tallies", true, {"list", "create", "delete"}});
    cluster.register_kind({{"apiregistration.k8s.io", "v1", "APIService"}, "apiservices", false, {"list"}});
  }
  void go_down() { cluster.set_api_down("tally.example.com"); }
  void come_back() { cluster.set_api_down(""); }
  void expect_named(const Error& failure) {
    EXPECT_TRUE(kube::is_api_down(failure)) << failure.to_line();
    EXPECT_THAT(failure.message, HasSubstr("v1.tally.example.com"));
    EXPECT_THAT(failure.because, HasSubstr("FailedDiscoveryCheck"));
    EXPECT_THAT(failure.hint, HasSubstr("kubectl describe apiservice v1.tally.example.com"));
  }
  bool knows_tally() {
    const auto state = read_release(environment(), id, Context());
    return state.ok() && std::ranges::any_of(state->owned(), [](const apply::InventoryItem& item) {
             return item.key.group_kind.kind == "Tally";
           });
  }
};

TEST_F(ApiDownTest, NothingOfItIsForgottenByAnyCommand) {
  const std::string all = std::string(kPlainMap) + std::string(kTally);
  ASSERT_TRUE(install_now(all).ok());
  go_down();
  cluster.clear_calls();
  for (const std::string& wanted : {all, std::string(kPlainMap)}) {
    const auto upgrade = upgrade_now(wanted);
    ASSERT_FALSE(upgrade.ok());
    expect_named(upgrade.error());
  }
  const auto drifted = drift(environment(), id, Context());
  ASSERT_FALSE(drifted.ok());
  expect_named(drifted.error());
  const auto removed = uninstall_now();
  ASSERT_FALSE(removed.ok());
  expect_named(removed.error());
  EXPECT_EQ(cluster.writes(), 0u);
  EXPECT_TRUE(knows_tally());
  come_back();
  ASSERT_TRUE(upgrade_now(std::string(kPlainMap)).ok());
  EXPECT_FALSE(cluster.has("Tally.tally.example.com", "default", "one"));
  EXPECT_FALSE(knows_tally());
}

TEST_F(ApiDownTest, IsAskedOnceForEachKind) {
  std::string all(kTally);
  for (const char* name : {"two", "three", "four"}) {
    std::string another(kTally);
    all += another.replace(another.find("one"), 3, name);
  }
  ASSERT_TRUE(install_now(all).ok());
  const auto asked = [&] {
    cluster.clear_calls();
    EXPECT_TRUE(status(environment(), id, Context()).ok());
    return cluster.count("discovery");
  };
  EXPECT_EQ(asked(), 0u);
  go_down();
  EXPECT_EQ(asked(), 2u) << "in its version, and in any other";
}

TEST_F(ApiDownTest, StatusShowsTheRestAndSaysWhatItCannotSee) {
  ASSERT_TRUE(install_now(std::string(kPlainMap) + std::string(kTally)).ok());
  go_down();
  const auto state = status(environment(), id, Context());
  ASSERT_TRUE(state.ok()) << state.error().to_line();
  EXPECT_EQ(state->count(ObjectHealth::Ready), 1u);
  EXPECT_EQ(state->count(ObjectHealth::Unknown), 1u);
  EXPECT_EQ(state->count(ObjectHealth::Missing), 0u);
  for (const ObjectStatus& object : state->objects) {
    if (object.key.group_kind.kind != "Tally") continue;
    EXPECT_THAT(object.detail, HasSubstr("FailedDiscoveryCheck"));
  }
}

// As long as the cluster remembers its kinds, it answers 503 in their place.
TEST_F(ApiDownTest, IsNoticedWhenItsKindsAreStillKnown) {
  ASSERT_TRUE(install_now(std::string(kPlainMap) + std::string(kTally)).ok());
  const auto refuse = [&](const std::string& kind) {
    cluster.set_before([kind](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "list" || call.key.group_kind.kind != kind) return std::nullopt;
      return error(ErrorKind::Retryable, "the server answered 503").with_because("service unavailable");
    });
  };
  refuse("Tally");
  const auto state = status(environment(), id, Context());
  ASSERT_TRUE(state.ok()) << state.error().to_line();
  EXPECT_EQ(state->count(ObjectHealth::Ready), 1u);
  EXPECT_EQ(state->count(ObjectHealth::Unknown), 1u);
  for (const ObjectStatus& object : state->objects) {
    if (object.health != ObjectHealth::Unknown) continue;
    EXPECT_EQ(object.detail, "the server answered 503: service unavailable");
  }
  EXPECT_FALSE(drift(environment(), id, Context()).ok());
  EXPECT_FALSE(upgrade_now(std::string(kPlainMap)).ok());
  refuse("ConfigMap");
  EXPECT_FALSE(status(environment(), id, Context()).ok()) << "who can't ask the API server sees nothing";
}

// Its own release can fix it, and be uninstalled when it never came up: what nobody ever saw isn't lost.
TEST_F(ApiDownTest, OfTheReleaseItselfIsNoObstacleToWhatWasNeverMade) {
  const std::string all = std::string(kPlainMap) + std::string(kTally) + std::string(kService);
  go_down();
  DeployOptions options;
  options.timeout = std::chrono::milliseconds(50);
  ASSERT_FALSE(install_now(all, options).ok()) << "the API service never becomes available";
  EXPECT_TRUE(knows_tally());
  const auto again = upgrade_now(all, options);
  ASSERT_FALSE(again.ok());
  EXPECT_FALSE(kube::is_api_down(again.error()))
      << "it went as far as the first time: " << again.error().to_line();
  const auto removed = uninstall_now();
  ASSERT_TRUE(removed.ok()) << removed.error().to_line();
  EXPECT_FALSE(cluster.has("Secret", "default", "mistletoe.web"));
}

}  // namespace
}  // namespace mist::action
