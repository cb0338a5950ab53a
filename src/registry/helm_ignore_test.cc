#include "registry/helm_ignore.h"

#include <gtest/gtest.h>

#include "base/fs.h"
#include "registry/local_source.h"
#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

TEST(HelmIgnoreTest, FollowsHelmsRules) {
  const HelmIgnore ignore = HelmIgnore::parse("# none\n\n*.log\n/top.txt\r\ndocs/\na/b?.md\n[xy].bin\n");
  const auto file = [&](std::string_view path) { return ignore.leaves_out(path, false); };
  EXPECT_TRUE(file("a.log"));
  EXPECT_TRUE(file("deep/in/a.log"));
  EXPECT_TRUE(file(".log"));
  EXPECT_TRUE(file("top.txt"));
  EXPECT_FALSE(file("deep/top.txt"));
  EXPECT_FALSE(file("docs"));
  EXPECT_TRUE(ignore.leaves_out("docs", true));
  EXPECT_TRUE(ignore.leaves_out("deep/docs", true));
  EXPECT_TRUE(file("a/b1.md"));
  EXPECT_FALSE(file("c/a/b1.md"));
  EXPECT_FALSE(file("a/b/.md"));
  EXPECT_TRUE(file("y.bin"));
  EXPECT_TRUE(file("templates/.a.swp")) << "Helm's own rule";
  EXPECT_FALSE(file("templates/a.yaml"));
  EXPECT_FALSE(HelmIgnore().leaves_out("templates/.a.swp", false));
  EXPECT_FALSE(HelmIgnore::parse("*.log\na/**\n").leaves_out("a.log", false)) << "refused by Helm";
}

// As Go's filepath.Match says.
TEST(HelmIgnoreTest, PatternsAreGos) {
  struct Case {
    std::string_view pattern, text;
    bool matches;
  };
  for (const Case& each : {Case{"a*c", "abbc", true},
                           Case{"*b*d", "abcbd", true},
                           Case{"a*", "a/b", false},
                           Case{"*.md", "x/y.md", true},
                           Case{"/*.md", "x/y.md", false},
                           Case{"d/*/f", "d/e/f", true},
                           Case{"[!a]", "!", true},
                           Case{"[!a]", "b", false},
                           Case{"[^a]", "b", true},
                           Case{"[a-c]x", "bx", true},
                           Case{"[\\]]x", "]x", true},
                           Case{"\\*", "*", true},
                           Case{"\\*", "b", false},
                           Case{"?", "ab", false},
                           Case{"*?*?", "ab", true},
                           Case{"*", "", true},
                           Case{"?x",
                                "\xc3\xbc"
                                "x",
                                true},
                           Case{"a**b", "ab", false},
                           Case{"[a", "a", false},
                           Case{"[]a]", "]", false},
                           Case{"[-x]", "x", false},
                           Case{"a\\", "a", false},
                           Case{"[a-]", "a", false}})
    EXPECT_EQ(HelmIgnore::parse(each.pattern).leaves_out(each.text, false), each.matches)
        << each.pattern << " " << each.text;
  EXPECT_FALSE(HelmIgnore::parse("*.md\n[a\n").leaves_out("a.md", false)) << "refused by Helm";
}

// fnmatch needs years for it.
TEST(HelmIgnoreTest, StarsDoNotMultiply) {
  std::string stars;
  for (int i = 0; i < 60; ++i) stars += "*a";
  EXPECT_FALSE(HelmIgnore::parse(stars + "*b").leaves_out(std::string(200, 'a'), false));
  EXPECT_TRUE(HelmIgnore::parse(stars).leaves_out(std::string(200, 'a'), false));
  std::string rules;
  for (int i = 0; i < 1001; ++i) rules += "x\n";
  EXPECT_FALSE(HelmIgnore::parse(rules).leaves_out("x", false));
}

TEST(HelmIgnoreTest, NeverLeavesOutWhatIsReadHere) {
  const HelmIgnore ignore = HelmIgnore::parse("*\n");
  for (const std::string_view path : {"Chart.yaml", ".helmignore", "mistletoe.yaml", "tests", "tests/a.yaml"})
    EXPECT_FALSE(ignore.leaves_out(path, false)) << path;
  EXPECT_TRUE(ignore.leaves_out("values.yaml", false));
  EXPECT_TRUE(HelmIgnore::parse("!*.yaml\n").leaves_out("a.txt", false));
  EXPECT_FALSE(HelmIgnore::parse("!*.yaml\n").leaves_out("a.yaml", false));
}

TEST(HelmIgnoreTest, WhatAChartLeavesOutIsNotPartOfIt) {
  const mist::testing::TempDir dir;
  const HostFileSystem files;
  const Path chart = dir.path() / "chart";
  HostFileSystem writer;
  for (const auto& [name, text] :
       {std::pair("Chart.yaml", "name: a\n"), std::pair("values.yaml", "{}\n"),
        std::pair(".helmignore", "*.log\nbig/\n"), std::pair("a.log", "1"), std::pair("big/x", "1")}) {
    ASSERT_TRUE(writer.make_directories((chart / name).parent_path(), 0755).ok());
    ASSERT_TRUE(writer.write(chart / name, text, {}).ok());
  }
  std::filesystem::create_symlink("/etc/hostname", chart / "b.log");
  const auto names = [&](const Path& path) {
    std::string found;
    const auto tree = read_directory_tree(files, path);
    EXPECT_TRUE(tree.ok()) << tree.error().to_line();
    for (const PackageFile& file : tree->files) found += file.path + " ";
    return found;
  };
  EXPECT_EQ(names(chart), ".helmignore Chart.yaml values.yaml ");
  std::filesystem::remove(chart / "b.log");
  std::filesystem::remove(chart / "Chart.yaml");
  EXPECT_EQ(names(chart), ".helmignore a.log big/x values.yaml ") << "it is not a chart";
}

}  // namespace
}  // namespace mist::registry
