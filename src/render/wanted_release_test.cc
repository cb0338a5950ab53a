#include "render/wanted_release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/home_fixture.h"

namespace mist::render {
namespace {

using encoding::Value;

class WantedReleases : public testing::HomeFixture {
 protected:
  WantedReleases() {
    EXPECT_TRUE(
        files.write(folder / "all.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}\n").ok());
    stored.package.reference = folder.string();
  }
  WantedRelease release(Wanted wanted) {
    return {
        std::make_shared<Packages>(Packages::Dependencies{{files, processes, events, paths, clock}, {}, {}}),
        {std::make_shared<package::Renderer>(package::RendererOptions{}, events), AssumedCluster{}},
        std::move(wanted),
        events};
  }
  Result<RenderedRelease> rendered(Wanted wanted) {
    WantedRelease one = release(std::move(wanted));
    MIST_TRY_VOID(one.prepare(Context()));
    return one.render(facts, Context());
  }

  const Path folder = temp.path() / "package";
  release::Revision stored;
  ReleaseFacts facts{.id = {"shop", "web"},
                     .fixed = {SecretString(std::string(32, 's')), "2026-01-02T03:04:05Z"},
                     .stored = &stored};
};

TEST(ChosenValues, AreThoseGivenOrThoseOfTheReleaseOrBoth) {
  release::Revision stored;
  stored.user_values = Value::object({{"kept", 1}, {"changed", 1}});
  const Value given = Value::object({{"changed", 2}});
  EXPECT_EQ(chosen_values({}, false, &stored), stored.user_values);
  EXPECT_EQ(chosen_values(given, false, &stored), given);
  EXPECT_EQ(chosen_values(given, true, &stored), Value::object({{"kept", 1}, {"changed", 2}}));
  EXPECT_EQ(chosen_values(Value::object(), false, &stored), Value::object());
  EXPECT_EQ(chosen_values({}, true, nullptr), Value::object());
}

// As Helm's --reset-then-reuse-values: without the null, the package's default would be back.
TEST(ChosenValues, KeepNullsForTheDefaultsThatTheyRemove) {
  release::Revision stored;
  stored.user_values =
      Value::object({{"image", Value::object({{"tag", "1"}, {"name", "web"}})}, {"limits", nullptr}});
  const Value given = Value::object({{"image", Value::object({{"tag", nullptr}})}, {"probe", nullptr}});
  EXPECT_EQ(chosen_values(given, true, &stored),
            Value::object({{"image", Value::object({{"tag", nullptr}, {"name", "web"}})},
                           {"limits", nullptr},
                           {"probe", nullptr}}));
  EXPECT_EQ(chosen_values(Value::object({{"limits", 2}}), true, &stored).find("limits")->as_int(), 2);
}

TEST(DroppedValues, AreThoseOfTheReleaseThatNobodyGives) {
  const Value earlier = Value::object({{"image", Value::object({{"tag", "1"}, {"name", "web"}})},
                                       {"replicas", 2},
                                       {"hosts", Value::object()}});
  EXPECT_EQ(dropped_values(Value::object({{"image", Value::object({{"tag", "2"}})}}), earlier),
            "image.name, replicas, hosts");
  EXPECT_EQ(dropped_values(earlier, earlier), "");
  EXPECT_EQ(dropped_values(Value::object(), Value()), "");
  EXPECT_EQ(dropped_values(Value::object({{"image", Value()}, {"replicas", 1}}), earlier), "hosts")
      << "null is given, to go back to the default";
  Value many = Value::object();
  for (int i = 0; i < 7; ++i) many.set(fmt::format("k{}", i), i);
  EXPECT_EQ(dropped_values(Value::object(), many), "k0, k1, k2, k3, k4 and 2 more");
}

TEST_F(WantedReleases, NeedsAPackageThatSomebodyNamed) {
  facts.stored = nullptr;
  const auto missing = rendered({});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::Usage);
  EXPECT_TRUE(rendered({.package = folder.string()}).ok());
  EXPECT_FALSE(rendered({.package = ""}).ok()) << "an empty name is not the release's own package";
}

TEST_F(WantedReleases, FetchesItsPackageOnceForAllLooks) {
  WantedRelease wanted = release({});
  ASSERT_TRUE(wanted.render(facts, Context()).ok());
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(wanted.render(facts, Context()).ok());
}

}  // namespace
}  // namespace mist::render
