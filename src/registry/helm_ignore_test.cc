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
  EXPECT_EQ(names(chart), ".helmignore a.log big/x values.yaml ") << "it is no chart";
}

}  // namespace
}  // namespace mist::registry
