#include "base/file_facts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "testing/temp_dir.h"

namespace mist {
namespace {

TEST(FileFacts, TellModeAndKind) {
  const testing::TempDir dir;
  HostFileSystem files;
  ASSERT_TRUE(files.write(dir.path() / "a", "12345", {.mode = 0640}).ok());
  const auto facts = file_facts(dir.path() / "a");
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->mode, 0640u);
  EXPECT_TRUE(facts->ours);
  EXPECT_FALSE(facts->is_directory);
  EXPECT_TRUE(file_facts(dir.path())->is_directory);
  EXPECT_FALSE(file_facts(dir.path() / "missing"));
}

TEST(FileFacts, SizesOfTreesFollowNoLinks) {
  const testing::TempDir dir;
  HostFileSystem files;
  ASSERT_TRUE(files.write(dir.path() / "in/a", "12345").ok());
  ASSERT_TRUE(files.write(dir.path() / "in/deep/b", "123").ok());
  std::filesystem::create_symlink(dir.path() / "in/a", dir.path() / "in/link");
  const TreeSize size = tree_size(dir.path() / "in");
  EXPECT_EQ(size.bytes, 8u);
  EXPECT_EQ(size.files, 2u);
  EXPECT_EQ(tree_size(dir.path() / "missing").files, 0u);
}

TEST(FileFacts, RoomIsKnownWhereTheDirectoryIsNotMadeYet) {
  const testing::TempDir dir;
  EXPECT_GT(free_space(dir.path() / "not/yet").value_or(0), 0u);
  EXPECT_TRUE(may_write_into(dir.path()));
  EXPECT_FALSE(may_write_into(dir.path() / "missing"));
}

}  // namespace
}  // namespace mist
