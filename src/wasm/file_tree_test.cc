#include "wasm/file_tree.h"

#include <gtest/gtest.h>

namespace mist::wasm {
namespace {

TEST(FileTree, SortsEveryDirectoryByBytes) {
  const auto tree = FileTree::make({{"b/x", "1"}, {"a-b", "2"}, {"a/z", "3"}, {"a/B", "4"}, {"c", "5"}});
  ASSERT_TRUE(tree.ok());
  std::vector<std::string> names;
  for (const FileTree::NodeId id : tree->node(FileTree::kRoot).children) names.push_back(tree->node(id).name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "a-b", "b", "c"}));
  const FileTree::NodeId* const a = tree->child(FileTree::kRoot, "a");
  ASSERT_NE(a, nullptr);
  EXPECT_TRUE(tree->node(*a).is_directory);
  const FileTree::NodeId* const z = tree->child(*a, "z");
  ASSERT_NE(z, nullptr);
  EXPECT_EQ(tree->node(*z).content, "3");
  EXPECT_EQ(tree->node(*z).parent, *a);
  EXPECT_EQ(tree->child(*a, "b"), nullptr);
}

TEST(FileTree, MayBeEmpty) {
  const auto tree = FileTree::make({});
  ASSERT_TRUE(tree.ok());
  EXPECT_TRUE(tree->node(FileTree::kRoot).children.empty());
}

TEST(FileTree, RefusesPathsThatLeaveOrConfuseIt) {
  for (const std::string& path :
       {std::string(""), std::string("/etc/passwd"), std::string("../x"), std::string("a/../b"),
        std::string("a//b"), std::string("a/"), std::string("./a"), std::string("a\0b", 3)}) {
    const auto tree = FileTree::make({{path, ""}});
    ASSERT_FALSE(tree.ok()) << path;
    EXPECT_EQ(tree.error().kind, ErrorKind::Invalid);
  }
  EXPECT_FALSE(FileTree::make({{"a", ""}, {"a/b", ""}}).ok());
  EXPECT_FALSE(FileTree::make({{"a", ""}, {"a-", ""}, {"a/b", ""}}).ok());
}

}  // namespace
}  // namespace mist::wasm
