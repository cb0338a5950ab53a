#include "kpm/home.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::kpm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Listed listed(const std::string& name, const std::string& version, const char* yanked = nullptr) {
  auto k3 = parse_k3("name: " + name + "\nversion: " + version + "\n", "K3.yaml");
  EXPECT_TRUE(k3.ok());
  Listed made{.archive = "central", .directory = {}, .k3 = std::move(k3).value_or({})};
  made.yanked = yanked != nullptr;
  if (yanked != nullptr) made.yank_reason = yanked;
  return made;
}

TEST(Choose, SaysThatAllVersionsWereYankedAndWhy) {
  const Catalog catalog{.kubes = {listed("solo", "1.0.0"), listed("sole", "1.0.0", "it loses\x1b keys"),
                                  listed("sole", "1.10.0", ""), listed("sole", "1.9.0", "")},
                        .problems = {}};
  const auto refused = Home::choose(catalog, "sole");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::NotFound);
  EXPECT_EQ(refused.error().message, "all 3 versions of sole were yanked");
  EXPECT_EQ(refused.error().because, "1.0.0: it loses\\x1b keys");
  EXPECT_THAT(refused.error().hint, HasSubstr("sole:1.10.0"));
  EXPECT_THAT(refused.error().hint, Not(HasSubstr("did you mean")));
  EXPECT_THAT(Home::choose(catalog, "sole:2.0.0").error().message, HasSubstr("were yanked"));
  EXPECT_TRUE(Home::choose(catalog, "sole:1.9.0").ok()) << "whoever names it gets it";
  EXPECT_EQ(Home::choose(catalog, "sola").error().hint, "did you mean solo?");
}

TEST(Choose, TheOnlyVersionMayBeYankedWithoutAReason) {
  const Catalog catalog{.kubes = {listed("etcd", "1.0.0", "")}, .problems = {}};
  const Error failure = Home::choose(catalog, "central/etcd").error();
  EXPECT_EQ(failure.message, "etcd 1.0.0, its only version, was yanked");
  EXPECT_THAT(failure.because, HasSubstr("no reason"));
  EXPECT_THAT(Home::choose(catalog, "other/etcd").error().message, HasSubstr("no archive has a Kube etcd"));
}

TEST(VersionBefore, IsTheNewestOlderOneThatNobodyYanked) {
  Catalog catalog{.kubes = {listed("etcd", "1.2.0"), listed("etcd", "1.10.0"), listed("etcd", "1.11.0", ""),
                            listed("etcd", "2.0.0-rc.1"), listed("other", "1.10.5")},
                  .problems = {}};
  const auto before = [&](const std::string& version, std::string_view archive = {}) -> std::string {
    const auto found = Home::version_before(catalog, listed("etcd", version).k3, archive);
    if (!found.ok()) return std::string(to_string(found.error().kind));
    return *found ? (*found)->k3.version.to_string() : "none";
  };
  EXPECT_EQ(before("2.0.0"), "2.0.0-rc.1");
  EXPECT_EQ(before("2.0.0-rc.1"), "1.10.0");
  EXPECT_EQ(before("1.10.0"), "1.2.0");
  EXPECT_EQ(before("1.2.0"), "none");
  EXPECT_EQ(before("2.0.0", "elsewhere"), "none");
  catalog.kubes.push_back(listed("etcd", "1.3.0"));
  catalog.kubes.back().archive = "second";
  EXPECT_EQ(before("2.0.0"), "Conflict");
  EXPECT_EQ(before("2.0.0", "second"), "1.3.0");
}

TEST(Choose, TakesAPrereleaseOnlyWhereThereIsNoRelease) {
  const Catalog catalog{
      .kubes = {listed("etcd", "1.2.0"), listed("etcd", "1.10.0"), listed("etcd", "2.0.0-rc.1"),
                listed("new", "1.0.0-beta1"), listed("new", "1.0.0-beta2"),
                listed("gone", "1.0.0", "it loses keys"), listed("gone", "2.0.0-rc.1")},
      .problems = {}};
  const auto chosen = [&](std::string_view wanted) {
    const auto found = Home::choose(catalog, wanted);
    return found.ok() ? found->k3.version.to_string() : found.error().to_line();
  };
  EXPECT_EQ(chosen("etcd"), "1.10.0");
  EXPECT_EQ(chosen("etcd:2.0.0-rc.1"), "2.0.0-rc.1");
  EXPECT_EQ(chosen("new"), "1.0.0-beta2");
  EXPECT_EQ(chosen("gone"), "2.0.0-rc.1") << "of what wasn't yanked";
}

std::vector<Dependency> needs(const std::vector<std::pair<std::string, std::string>>& ranges_and_repos) {
  std::vector<Dependency> made;
  for (const auto& [range, repo] : ranges_and_repos)
    made.push_back({"nginx", *encoding::SemVerRange::parse(range), repo});
  return made;
}

std::string chosen_for(const Catalog& catalog, const std::vector<Dependency>& dependencies) {
  const auto found = Home::choose_for(catalog, "nginx", dependencies);
  return found.ok() ? found->archive + '/' + found->k3.full_name() : found.error().to_line();
}

TEST(ChooseFor, TakesTheNewestVersionThatFitsAllRanges) {
  const Catalog catalog{
      .kubes = {listed("nginx", "1.9.0"), listed("nginx", "1.9.5"), listed("nginx", "1.10.0", "it crashes"),
                listed("nginx", "1.12.0"), listed("nginx", "2.0.0-rc.1")},
      .problems = {}};
  EXPECT_EQ(chosen_for(catalog, needs({{"1.9 < x <= 1.10", ""}})), "central/nginx-1.9.5");
  EXPECT_EQ(chosen_for(catalog, needs({{"^1", ""}, {"<1.9.5", ""}})), "central/nginx-1.9.0");
  EXPECT_EQ(chosen_for(catalog, needs({{"*", ""}})), "central/nginx-1.12.0");
  EXPECT_EQ(Home::choose_for(catalog, "nginx", needs({{"^3", ""}})).error().kind, ErrorKind::NotFound);
  EXPECT_EQ(chosen_for({.kubes = {listed("nginx", "2.2.0-beta3")}, .problems = {}}, needs({{"*", ""}})),
            "central/nginx-2.2.0-beta3");
}

TEST(ChooseFor, SaysThatTheOnlyVersionThatFitsIsBroken) {
  const auto problem = [](const std::string& version) {
    Error made = error(ErrorKind::Invalid, "unknown member hom")
                     .with_detail(BrokenKube{.archive = "central", .name = "nginx", .version = version});
    made.where = SourceLocation{
        .file = "central/packages/nginx/K3.yaml", .line = 3, .column = 0, .excerpt = {}, .package = {}};
    return made;
  };
  Catalog catalog{.kubes = {listed("nginx", "1.0.0")}, .problems = {problem("2.1.0")}};
  const Error broken = Home::choose_for(catalog, "nginx", needs({{"^2", ""}})).error();
  EXPECT_EQ(broken.kind, ErrorKind::NotFound) << "a dependency that can't be had, as others";
  EXPECT_NE(broken.detail<BrokenKube>(), nullptr);
  EXPECT_EQ(broken.message, "nginx:2.1.0 of the archive central is broken: its K3.yaml can't be read");
  EXPECT_THAT(broken.because, HasSubstr("central/packages/nginx/K3.yaml:3: unknown member hom"));
  EXPECT_THAT(broken.hint, HasSubstr("kpm update"));
  EXPECT_EQ(chosen_for(catalog, needs({{"^1", ""}})), "central/nginx-1.0.0") << "the broken one isn't needed";
  EXPECT_EQ(Home::choose_for(catalog, "nginx", needs({{"^3", ""}})).error().detail<BrokenKube>(), nullptr)
      << "it wouldn't fit";
  catalog.problems = {problem("")};
  EXPECT_NE(Home::choose_for(catalog, "nginx", needs({{"^3", ""}})).error().detail<BrokenKube>(), nullptr)
      << "nobody knows its version";
}

TEST(ChooseFor, TakesTheArchiveThatTheDependencyNames) {
  Catalog catalog{.kubes = {listed("nginx", "1.0.0"), listed("nginx", "1.2.0")},
                  .problems = {},
                  .archives = {{.name = "central", .url = "https://token@example.com/kubes.git"},
                               {.name = "other", .url = "https://example.com/other"}}};
  catalog.kubes[1].archive = "other";
  EXPECT_EQ(chosen_for(catalog, needs({{"*", "https://example.com/kubes"}})), "central/nginx-1.0.0");
  EXPECT_EQ(chosen_for(catalog, needs({{"*", "https://example.com/other/"}})), "other/nginx-1.2.0");
  EXPECT_EQ(chosen_for(catalog, needs({{"^1.1", "https://example.com/kubes"}})), "other/nginx-1.2.0")
      << "the named one has none that fits";
  const auto refused = Home::choose_for(catalog, "nginx", needs({{"*", "https://example.com/unknown"}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().hint, HasSubstr("kpm install central/nginx:1.0.0"));
}

TEST(ChooseFor, TakesNothingFromAnotherArchiveWhileTheNamedOneIsUnread) {
  Catalog catalog{.kubes = {listed("nginx", "1.0.0")},
                  .problems = {},
                  .archives = {{.name = "central", .url = "https://example.com/kubes"},
                               {.name = "ours", .url = "https://token@example.com/ours.git"}},
                  .unread = {{"ours", error(ErrorKind::NotFound, "the archive ours was never read")
                                          .with_hint("kpm update reads it")}}};
  const auto refused =
      Home::choose_for(catalog, "nginx", needs({{"*", ""}, {"*", "https://example.com/ours"}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid) << "NotFound would be a missing dependency";
  EXPECT_THAT(refused.error().because, HasSubstr("never read"));
  EXPECT_EQ(refused.error().hint, "kpm update reads it");
  EXPECT_EQ(chosen_for(catalog, needs({{"*", ""}})), "central/nginx-1.0.0");
  EXPECT_EQ(chosen_for(catalog, needs({{"*", "https://example.com/kubes"}})), "central/nginx-1.0.0");
}

}  // namespace
}  // namespace mist::kpm
