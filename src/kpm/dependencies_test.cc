#include "kpm/dependencies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

namespace mist::kpm {
namespace {

K3 kube(std::string name, std::string_view version,
        const std::vector<std::pair<std::string, std::string>>& needs = {}) {
  K3 k3{.name = std::move(name), .version = *encoding::SemVer::parse(version)};
  for (const auto& [needed, range] : needs)
    k3.dependencies.push_back({needed, *encoding::SemVerRange::parse(range)});
  return k3;
}

// The first that fits is the one that is found.
Find archive(std::vector<K3> kubes) {
  return
      [kubes = std::move(kubes)](const std::string& name, std::span<const Dependency> needs) -> Result<K3> {
        const auto fits_all = [&](const K3& kube) {
          return std::ranges::all_of(needs, [&](const Dependency& each) { return fits(each, kube.version); });
        };
        for (const K3& each : kubes)
          if (each.name == name && fits_all(each)) return each;
        return error(ErrorKind::NotFound, "none");
      };
}

TEST(Dependencies, AnInstalledVersionWithinTheRangeSatisfies) {
  const K3 pony = kube("pony", "1.0.0", {{"nginx", "1.9 < x <= 1.10"}});
  EXPECT_TRUE(unsatisfied(pony, std::vector<Installed>{{"nginx", "1.10.0"}}).empty());
  EXPECT_EQ(unsatisfied(pony, std::vector<Installed>{{"nginx", "1.9.0"}}).size(), 1U);
  EXPECT_EQ(unsatisfied(pony, std::vector<Installed>{{"nginx", ""}}).size(), 1U);
  EXPECT_EQ(unsatisfied(pony, {}).size(), 1U);
}

TEST(Dependencies, WhatOthersNeedComesFirstAndOnce) {
  const K3 root = kube("a", "1.0.0", {{"b", "*"}, {"c", "*"}});
  const auto plan =
      plan_dependencies(root, {}, archive({kube("b", "1.0.0", {{"c", "^1"}}), kube("c", "1.2.0")}));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->missing, (std::vector<std::string>{"c", "b"}));
  EXPECT_TRUE(plan->unavailable.empty());
}

TEST(Dependencies, ACycleIsNamed) {
  const auto plan =
      plan_dependencies(kube("a", "1.0.0", {{"b", "*"}}), {}, archive({kube("b", "1.0.0", {{"a", "*"}})}));
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("a -> b -> a"), std::string::npos);
}

TEST(Dependencies, EveryVersionFitsTheStar) {
  const K3 any = kube("a", "1.0.0", {{"b", "*"}});
  const auto plan = plan_dependencies(any, {}, archive({kube("b", "2.2.0-beta3")}));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->missing, std::vector<std::string>{"b"});
  EXPECT_TRUE(unsatisfied(any, std::vector<Installed>{{"b", "2.2.0-beta3"}}).empty());
}

TEST(Dependencies, TheVersionFitsEveryRangeHoweverLateItIsMet) {
  const K3 root = kube("a", "1.0.0", {{"db", "^1"}, {"web", "*"}});
  const Find all = archive({kube("db", "1.9.0"), kube("db", "1.2.0", {{"disk", "*"}}),
                            kube("web", "1.0.0", {{"db", "<1.5"}}), kube("disk", "1.0.0")});
  std::string chosen;
  const auto plan = plan_dependencies(
      root, {}, [&](const std::string& name, std::span<const Dependency> needs) -> Result<K3> {
        auto found = all(name, needs);
        if (found.ok() && name == "db") chosen = found->version.to_string();
        return found;
      });
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(chosen, "1.2.0");
  EXPECT_EQ(plan->missing, (std::vector<std::string>{"disk", "db", "web"}));
  EXPECT_TRUE(plan->unavailable.empty());
}

TEST(Dependencies, RangesThatNoVersionFitsTogetherAreAllNamed) {
  const K3 root = kube("a", "1.0.0", {{"db", "^1"}, {"web", "*"}});
  const auto plan = plan_dependencies(
      root, {}, archive({kube("db", "1.9.0"), kube("db", "2.0.0"), kube("web", "1.0.0", {{"db", "^2"}})}));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->missing, std::vector<std::string>{"web"});
  ASSERT_EQ(plan->unavailable.size(), 2U);
  EXPECT_EQ(plan->unavailable[0].range.text(), "^1");
  EXPECT_EQ(plan->unavailable[1].range.text(), "^2");
}

TEST(Dependencies, ANeedThatIsMetLaterMayNameTheArchive) {
  K3 web = kube("web", "1.0.0", {{"db", "*"}});
  const Find find = [&](const std::string& name, std::span<const Dependency> needs) -> Result<K3> {
    if (name == "web") return web;
    const auto names_archive = [](const Dependency& each) { return !each.repo.empty(); };
    if (std::ranges::any_of(needs, names_archive)) return kube("db", "1.0.0");
    return error(ErrorKind::Conflict, "two archives have it");
  };
  const K3 root = kube("a", "1.0.0", {{"db", "^1"}, {"web", "*"}});
  const auto conflict = plan_dependencies(root, {}, find);
  ASSERT_FALSE(conflict.ok()) << "nothing names one";
  EXPECT_EQ(conflict.error().message, "two archives have it");
  web.dependencies[0].repo = "https://example.com/kubes";
  const auto plan = plan_dependencies(root, {}, find);
  ASSERT_TRUE(plan.ok()) << plan.error().to_line();
  EXPECT_EQ(plan->missing, (std::vector<std::string>{"db", "web"}));
}

TEST(Dependencies, AnyOtherFailureEndsThePlan) {
  int asked = 0;
  const auto plan = plan_dependencies(kube("a", "1.0.0", {{"b", "*"}, {"c", "*"}}), {},
                                      [&](const std::string&, std::span<const Dependency>) -> Result<K3> {
                                        ++asked;
                                        return error(ErrorKind::Cancelled, "stopped");
                                      });
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().kind, ErrorKind::Cancelled);
  EXPECT_EQ(asked, 1);
}

TEST(Dependencies, ABrokenOneIsUnavailableAndSaysWhy) {
  const auto plan =
      plan_dependencies(kube("a", "1.0.0", {{"b", "*"}, {"c", "*"}}), {},
                        [&](const std::string& name, std::span<const Dependency>) -> Result<K3> {
                          if (name == "c") return error(ErrorKind::NotFound, "none");
                          return error(ErrorKind::NotFound, "b is broken")
                              .with_detail(BrokenKube{.archive = "ours", .name = "b", .version = {}});
                        });
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->unavailable.size(), 2U);
  ASSERT_EQ(plan->broken.size(), 1U);
  EXPECT_EQ(plan->broken[0].message, "b is broken");
}

TEST(Dependencies, AnotherInstalledVersionIsNotInstalledTwice) {
  const auto plan = plan_dependencies(kube("a", "1.0.0", {{"b", "^2"}}),
                                      std::vector<Installed>{{"b", "1.0.0"}}, archive({kube("b", "2.0.0")}));
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->missing.empty());
  EXPECT_EQ(plan->unavailable.size(), 1U);
}

}  // namespace
}  // namespace mist::kpm
