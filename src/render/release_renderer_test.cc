#include "render/release_renderer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "package/looked_up.h"
#include "render/recorded_options.h"
#include "testing/fake_cluster.h"
#include "testing/recorded_events.h"

namespace mist::render {
namespace {

using encoding::Value;

std::shared_ptr<const package::Source> one_config_map() {
  package::Source source{
      .reference = "/pkg", .name = "pkg", .version = "", .digest = "sha256:1", .content = {}};
  source.content = package::Files{
      {"all.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: \"1\"}\n"}};
  return std::make_shared<const package::Source>(std::move(source));
}

class ReleaseRenderers : public ::testing::Test {
 protected:
  std::shared_ptr<package::Renderer> renderer() {
    return std::make_shared<package::Renderer>(package::RendererOptions{}, events);
  }
  NullEventSink events;
  testing::FakeCluster cluster;
  release::Revision deployed;
  ReleaseFacts facts{.id = {"shop", "web"},
                     .fixed = {SecretString(std::string(32, 's')), "2026-01-02T03:04:05Z"}};
};

TEST_F(ReleaseRenderers, WhatWasRenderedOutlivesItsRendererAndSource) {
  std::shared_ptr<const package::Source> source = one_config_map();
  const std::weak_ptr<const package::Source> watched = source;
  std::optional<RenderedRelease> rendered;
  {
    const ReleaseRenderer once(renderer(), LiveCluster{cluster, {}});
    auto result = once.render(std::move(source), Value::object(), {}, facts, Context());
    ASSERT_TRUE(result.ok()) << result.error().to_line();
    rendered = *std::move(result);
  }
  EXPECT_EQ(rendered->package.digest, "sha256:1");
  ASSERT_FALSE(watched.expired());
  const auto again = rendered->again({.other_seed = true, .rotations = {}}, Context());
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  ASSERT_EQ(again->size(), 1U);
  EXPECT_EQ(again->front().object.value(), rendered->objects.front().object.value());
  rendered.reset();
  EXPECT_TRUE(watched.expired()) << "nothing else keeps it";
}

TEST_F(ReleaseRenderers, ClockAndRotationsGoOnFromTheDeployedRevision) {
  deployed.drawn.clock = "2026-05-06T07:08:09Z";
  deployed.drawn.rotations = {{"db", 1}};
  facts.deployed = &deployed;
  const ReleaseRenderer once(renderer(), AssumedCluster{});
  const auto rendered =
      once.render(one_config_map(), Value::object(), {.rotate = {.names = {"db"}}}, facts, Context());
  ASSERT_TRUE(rendered.ok()) << rendered.error().to_line();
  EXPECT_EQ(rendered->drawn.clock, "2026-05-06T07:08:09Z");
  EXPECT_EQ(rendered->drawn.rotations.at("db"), 2U);
  deployed.drawn.highest = {{"db", 3}, {"gone", 0}};
  facts.tried = {{"db", 4}, {"new", 0}};
  const auto rotations = [&](const RotateSecrets& rotate) {
    return next_rotations(&deployed, facts.tried, rotate);
  };
  EXPECT_EQ(rotations({}), (release::Rotations{{"db", 1}}));
  EXPECT_EQ(rotations({.names = {"db", "first"}}), (release::Rotations{{"db", 5}, {"first", 1}}));
  EXPECT_EQ(rotations({.all = true}), (release::Rotations{{"", 1}, {"db", 5}, {"gone", 1}, {"new", 1}}));
  const auto reborn = once.render(one_config_map(), Value::object(), {.clock = ""}, facts, Context());
  ASSERT_TRUE(reborn.ok()) << reborn.error().to_line();
  EXPECT_EQ(reborn->drawn.clock, "");
}

TEST_F(ReleaseRenderers, AnEarlierAnswerStaysSecretWhereNobodyAsks) {
  const Answers answers{{{"name", true}}};
  deployed.options = to_value(RecordedOptions{.answers = answers});
  facts.stored = &deployed;
  Value values = Value::object({{"name", "hunter2-secret"}});
  const ReleaseRenderer once(renderer(), AssumedCluster{});
  const auto rendered = once.render(one_config_map(), values, {}, facts, Context());
  ASSERT_TRUE(rendered.ok()) << rendered.error().to_line();
  EXPECT_EQ(rendered->answers, answers);
  EXPECT_EQ(rendered->looked_up.at("the answer to name").reveal(), "hunter2-secret");
  // The error about the values names one of them.
  values.set("hunter2-secret", 1);
  const auto refused = once.render(one_config_map(), values, {}, facts, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("but *** is set"));
}

TEST_F(ReleaseRenderers, ErrorsShowNothingThatIsToBeHidden) {
  RenderChoices choices;
  package::hide_text(choices.hidden, "hunter2-secret");
  const ReleaseRenderer once(renderer(), AssumedCluster{});
  const auto refused =
      once.render(one_config_map(), Value::object({{"hunter2-secret", 1}}), choices, facts, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("but *** is set"));
}

TEST_F(ReleaseRenderers, AnApiThatDoesNotAnswerStaysServedAndIsNamed) {
  cluster.register_kind({{"toys.example.com", "v1", "Toy"}, "toys", true, {}});
  testing::RecordedEvents told;
  const LiveCluster live{cluster, {}, &told};
  const auto whole = capabilities_of(live, Context());
  ASSERT_TRUE(whole.ok()) << whole.error().to_line();
  EXPECT_THAT(whole->kinds, ::testing::Contains("toys.example.com/v1/Toy"));
  EXPECT_THAT(told.messages, ::testing::IsEmpty());
  cluster.set_api_down("toys.example.com");
  const auto down = capabilities_of(live, Context());
  ASSERT_TRUE(down.ok()) << down.error().to_line();
  EXPECT_EQ(down->api_versions, whole->api_versions);
  EXPECT_EQ(down->kinds, whole->kinds);
  EXPECT_TRUE(told.has("the API service v1.toys.example.com doesn't answer (FailedDiscoveryCheck"));
}

TEST(RenderRequests, ChartsDrawAsTheyDidForTheRelease) {
  release::Revision before;
  ReleaseFacts facts{.id = {"shop", "web"},
                     .fixed = {SecretString(std::string(32, 's')), "2026-01-02T03:04:05Z"}};
  const auto shared = [&] { return render_request(facts, Value::object())->charts_share_seed; };
  EXPECT_FALSE(shared()) << "a new release";
  facts.fixed.charts_share_seed = true;
  EXPECT_TRUE(shared()) << "a new release of an older seed file";
  facts.deployed = facts.stored = &before;
  EXPECT_TRUE(shared()) << "it drew nothing, and a revision before it may have";
  before.drawn.unnamed = true;
  EXPECT_TRUE(shared()) << "of an older mistctl";
  facts.deployed = nullptr;
  EXPECT_TRUE(shared()) << "its first install failed";
  before.drawn.own_chart_seeds = true;
  EXPECT_FALSE(shared());
  before.drawn.unnamed = false;
  EXPECT_FALSE(shared()) << "it drew nothing";
}

TEST_F(ReleaseRenderers, ChartsDrawInOneWayAlsoAfterARevisionThatDrewNothing) {
  const ReleaseRenderer once(renderer(), AssumedCluster{});
  facts.deployed = facts.stored = &deployed;
  for (const bool shared : {true, false}) {
    deployed.drawn.own_chart_seeds = !shared;
    const auto next = once.render(one_config_map(), Value::object(), {}, facts, Context());
    ASSERT_TRUE(next.ok()) << next.error().to_line();
    EXPECT_FALSE(next->drawn.anything());
    EXPECT_EQ(next->drawn.own_chart_seeds, !shared);
  }
}

TEST(RenderRequests, SayWhatTheReleaseIs) {
  ReleaseFacts facts{
      .id = {"shop", "web"}, .fixed = {SecretString(std::string(32, 's')), "never"}, .revision = 3};
  EXPECT_FALSE(render_request(facts, Value::object()).ok()) << "a damaged record";
  facts.fixed.frozen_clock = "2026-01-02T03:04:05Z";
  const auto request = render_request(facts, Value::object());
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->release_namespace, "shop");
  EXPECT_EQ(request->revision, 3);
  EXPECT_FALSE(request->is_upgrade);
  EXPECT_EQ(request->seed.back(), std::byte{'s'});
}

}  // namespace
}  // namespace mist::render
