#include "base/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "testing/temp_dir.h"
#include "testing/umask.h"

namespace mist {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TreeTest : public ::testing::Test {
 protected:
  Status write(std::initializer_list<TreeFile> tree, const TreeRules& rules = {}) {
    return write_tree(files_, target_, std::vector(tree), rules);
  }
  std::string read(const Path& path) const { return files_.read(target_ / path).value_or("(nothing)"); }
  // The contents of the directory around the target.
  std::vector<std::string> around() const {
    std::vector<std::string> names;
    for (const DirectoryEntry& entry : *files_.list(root_.path())) names.push_back(entry.name);
    return names;
  }

  testing::TempDir root_;
  HostFileSystem files_;
  Path target_ = root_.path() / "out";
};

TEST_F(TreeTest, IsWrittenWhole) {
  ASSERT_TRUE(write({{"a.yaml", "1"}, {"b/c.yaml", "2"}}).ok());
  EXPECT_EQ(read("a.yaml"), "1");
  EXPECT_EQ(read("b/c.yaml"), "2");
  EXPECT_THAT(around(), ::testing::ElementsAre("out"));
}

TEST_F(TreeTest, OfTheUserObeysTheUmaskAndKeepsModes) {
  const testing::Umask mask(077);
  const TreeRules rules{.existing = true, .permissions = Permissions::Users};
  ASSERT_TRUE(write({{"secret.yaml", "1"}, {"run.sh", "1"}}, rules).ok());
  EXPECT_EQ(testing::mode_of(target_ / "secret.yaml"), 0600U);
  std::filesystem::permissions(target_ / "run.sh", std::filesystem::perms(0755));
  ASSERT_TRUE(write({{"secret.yaml", "2"}, {"run.sh", "2"}}, rules).ok());
  EXPECT_EQ(testing::mode_of(target_ / "secret.yaml"), 0600U);
  EXPECT_EQ(testing::mode_of(target_ / "run.sh"), 0755U);
  EXPECT_EQ(read("run.sh"), "2");
}

TEST_F(TreeTest, GoesIntoAnEmptyDirectory) {
  ASSERT_TRUE(files_.make_directories(target_).ok());
  ASSERT_TRUE(write({{"a", "1"}}).ok());
  EXPECT_EQ(read("a"), "1");
}

TEST_F(TreeTest, LeavesNothingAfterAnError) {
  EXPECT_FALSE(write({{"a", "1"}, {"a/b", "2"}}).ok());
  EXPECT_THAT(around(), IsEmpty());
  ASSERT_TRUE(files_.make_directories(target_).ok());
  EXPECT_FALSE(write({{"a", "1"}, {"a/b", "2"}}).ok());
  EXPECT_THAT(*files_.list(target_), IsEmpty());
}

TEST_F(TreeTest, NoPathIsAFileAndADirectory) {
  for (const bool exists : {false, true}) {
    if (exists) {
      ASSERT_TRUE(files_.make_directories(target_).ok());
    }
    const Status refused = write({{"a-b", "1"}, {"c/d/e", "2"}, {"c/d", "3"}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(refused.error().message, "the file c/d/e can't be written: there is also a file c/d");
  }
  EXPECT_TRUE(write({{"a-b", "1"}, {"a/b", "2"}, {"ab", "3"}}).ok());
}

TEST_F(TreeTest, LeavesWhatIsThereAlone) {
  ASSERT_TRUE(write({{"a", "1"}}).ok());
  const Status again = write({{"b", "2"}});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(read("b"), "(nothing)");
  ASSERT_TRUE(write({{"a", "3"}, {"b/c", "2"}}, {.existing = true}).ok());
  EXPECT_EQ(read("a"), "3");
  EXPECT_EQ(read("b/c"), "2");
}

TEST_F(TreeTest, TakesNoNameThatLeavesOrConfigures) {
  for (const std::string_view path : {"/etc/passwd", "../a", "a/../../b", "a/./b", "", "a/", ".", ".envrc",
                                      "a/.git/config", ".git/config", "b/.hidden/c"})
    EXPECT_FALSE(write({{"good", "1"}, {path, "2"}}).ok()) << path;
  EXPECT_FALSE(write({{".GIT/config", "1"}}, {.hidden = true}).ok());
  EXPECT_THAT(around(), IsEmpty());
  EXPECT_TRUE(write({{".helmignore", "1"}, {"a..b/..c", "2"}}, {.hidden = true}).ok());
}

TEST_F(TreeTest, MakesNoGitRepository) {
  for (const std::string_view head : {"ref: refs/heads/main\n", "66c7f54ddff42f04dd5ef5a23348451a388e9dce\n"})
    for (const std::string_view path : {"HEAD", "templates/HEAD", "a/head"})
      EXPECT_FALSE(write({{"a/config", "[core]"}, {path, head}}).ok()) << path;
  EXPECT_THAT(around(), IsEmpty());
  EXPECT_TRUE(write({{"HEAD", "kind: ConfigMap\n"}, {"config", "x"}, {"HEADER", "ref: x"}}).ok());
}

TEST_F(TreeTest, PassesNoLink) {
  const Path elsewhere = root_.path() / "elsewhere";
  ASSERT_TRUE(files_.make_directories(elsewhere).ok());
  ASSERT_TRUE(write({{"a", "1"}}).ok());
  std::filesystem::create_directory_symlink(elsewhere, target_ / "link");
  std::filesystem::create_symlink(elsewhere / "file", target_ / "file");
  for (const std::string_view path : {"link/x", "file", "a/x", "link"}) {
    const Status written = write({{path, "2"}}, {.existing = true});
    ASSERT_FALSE(written.ok()) << path;
    EXPECT_THAT(written.error().message, HasSubstr("can't be written"));
  }
  EXPECT_THAT(*files_.list(elsewhere), IsEmpty());
}

}  // namespace
}  // namespace mist
