#include "config/paths.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "testing/temp_dir.h"

namespace mist::config {
namespace {

Environment fixed(std::map<std::string, std::string, std::less<>> variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

Paths paths_for(std::map<std::string, std::string, std::less<>> variables) {
  const auto paths = Paths::from_environment(fixed(std::move(variables)), "/opt/mist/bin/mistctl");
  EXPECT_TRUE(paths.ok()) << paths.error().to_line();
  return *paths;
}

TEST(Paths, AreTheOriginalsByDefault) {
  const Paths paths = paths_for({{"HOME", "/home/u"}});
  EXPECT_EQ(paths.home, "/home/u/.mistletoe");
  EXPECT_EQ(paths.config_file, "/home/u/.mistletoe/config.yaml");
  EXPECT_EQ(paths.trust_policy(), "/home/u/.mistletoe/trust.yaml");
  EXPECT_EQ(paths.cache, "/home/u/.cache/mistletoe");
  EXPECT_EQ(paths.engines, "/opt/mist/share/mistletoe/engines");
  EXPECT_EQ(paths.schemas, "/opt/mist/share/mistletoe/schemas");
}

TEST(Paths, AnOwnHomeSharesNothingWithOthers) {
  const Paths paths = paths_for(
      {{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "/home/u/xdg"}, {"MIST_HOME_LOCATION", "/tmp/demo/"}});
  EXPECT_EQ(paths.config_file, "/tmp/demo/config.yaml");
  EXPECT_EQ(paths.cache, "/tmp/demo/cache");
  EXPECT_EQ(paths.state, "/tmp/demo/state");
}

TEST(Paths, TakeEachVariableOnItsOwn) {
  const Paths paths = paths_for({{"HOME", "/home/u"},
                                 {"XDG_CACHE_HOME", "/var/c"},
                                 {"MIST_CONFIG_LOCATION", "/etc/mist.yaml"},
                                 {"MIST_TRUST_LOCATION", "/etc/mist/trust.yaml"},
                                 {"MIST_ENGINES_LOCATION", "/build/engines"},
                                 {"MIST_SCHEMAS_LOCATION", "/build/schemas"}});
  EXPECT_EQ(paths.home, "/home/u/.mistletoe");
  EXPECT_EQ(paths.config_file, "/etc/mist.yaml");
  EXPECT_EQ(paths.trust_policy(), "/etc/mist/trust.yaml");
  EXPECT_EQ(paths.cache, "/var/c/mistletoe");
  EXPECT_EQ(paths.engines, "/build/engines");
  EXPECT_EQ(paths.schemas, "/build/schemas");
}

TEST(Paths, HaveALimitForAllCachesWhereThatIsSet) {
  EXPECT_EQ(paths_for({{"HOME", "/home/u"}}).cache_limit, std::nullopt);
  EXPECT_EQ(paths_for({{"HOME", "/home/u"}, {"MIST_CACHE_LIMIT", "1Gi"}}).cache_limit, 1u << 30);
  const auto refused = Paths::from_environment(fixed({{"HOME", "/home/u"}, {"MIST_CACHE_LIMIT", "lots"}}),
                                               "/opt/mist/bin/mistctl");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
  EXPECT_NE(refused.error().message.find("MIST_CACHE_LIMIT"), std::string::npos);
}

TEST(Paths, EmptyVariablesAndARelativeXdgDirectoryDoNotCount) {
  const Paths paths = paths_for({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "rel"}, {"MIST_HOME_LOCATION", ""}});
  EXPECT_EQ(paths.home, "/home/u/.mistletoe");
  EXPECT_EQ(paths.cache, "/home/u/.cache/mistletoe");
}

TEST(Paths, RelativeOnesBecomeAbsolute) {
  EXPECT_TRUE(paths_for({{"HOME", "/h"}, {"MIST_HOME_LOCATION", "demo"}}).home.is_absolute());
}

TEST(MakePrivateDirectory, IsForTheOwnerOnly) {
  testing::TempDir temp;
  HostFileSystem files;
  ASSERT_TRUE(make_private_directory(files, temp.path() / "a" / "b").ok());
  struct stat info{};
  ASSERT_EQ(::stat((temp.path() / "a" / "b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST(Places, ThatOthersMayWriteToAreRefusedUnlessTheEnvironmentVouchesForThem) {
  const testing::TempDir dir;
  const std::string open = (dir.path() / "open").string();
  std::filesystem::create_directories(dir.path() / "open");
  ASSERT_EQ(::chmod(open.c_str(), 0777), 0);
  const Status refused = check_places(paths_for({{"MIST_HOME_LOCATION", open + "/home"}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
  EXPECT_NE(refused.error().hint.find("MIST_SAFE_DIRECTORY"), std::string::npos);
  for (const std::string& safe : {open, open + "/", "/elsewhere:" + open})
    EXPECT_TRUE(
        check_places(paths_for({{"MIST_HOME_LOCATION", open + "/home"}, {"MIST_SAFE_DIRECTORY", safe}})).ok())
        << safe;
  EXPECT_FALSE(
      check_places(paths_for({{"MIST_HOME_LOCATION", open + "/home"}, {"MIST_SAFE_DIRECTORY", open + "/ho"}}))
          .ok());
}

TEST(Places, OfTheCacheCountToo) {
  const testing::TempDir dir;
  const Path cache = dir.path() / "home/cache/registries";
  std::filesystem::create_directories(cache);
  const Paths paths = paths_for({{"MIST_HOME_LOCATION", (dir.path() / "home").string()}});
  EXPECT_TRUE(check_places(paths).ok());
  ASSERT_EQ(::chmod(cache.c_str(), 0777), 0);
  EXPECT_FALSE(check_places(paths).ok());
}

}  // namespace
}  // namespace mist::config
