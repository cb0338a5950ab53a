#include "base/file_parts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "testing/temp_dir.h"

namespace mist {
namespace {

TEST(FileParts, AreReadFromAnywhere) {
  testing::TempDir dir;
  HostFileSystem fs;
  ASSERT_TRUE(fs.write(dir.path() / "a", "0123456789").ok());
  EXPECT_EQ(*read_file_part(dir.path() / "a", 3, 4), "3456");
  EXPECT_EQ(*read_file_part(dir.path() / "a", 8, 4), "89");
  EXPECT_EQ(*read_file_part(dir.path() / "a", 20, 4), "");
  EXPECT_EQ(read_file_part(dir.path() / "b", 0, 1).error().kind, ErrorKind::NotFound);
}

TEST(FileParts, AFileThatIsOpenIsReadWhateverBecomesOfItsName) {
  testing::TempDir dir;
  HostFileSystem fs;
  ASSERT_TRUE(fs.write(dir.path() / "a", "0123456789").ok());
  const auto file = OpenFile::open(dir.path() / "a");
  ASSERT_TRUE(file.ok()) << file.error().to_line();
  EXPECT_TRUE(file->check_unchanged().ok());
  ASSERT_TRUE(fs.write(dir.path() / "a", "abcdefghij").ok());  // another file gets the name
  std::string bytes(4, ' ');
  EXPECT_EQ(*file->read(3, bytes), 4u);
  EXPECT_EQ(bytes, "3456");
  EXPECT_EQ(*file->read(8, bytes), 2u);
  EXPECT_EQ(file->check_unchanged().error().kind, ErrorKind::Conflict);
}

TEST(FileParts, AFileThatIsWrittenToIsNoLongerWhatWasOpened) {
  testing::TempDir dir;
  HostFileSystem fs;
  ASSERT_TRUE(fs.write(dir.path() / "a", "0123456789").ok());
  const auto file = OpenFile::open(dir.path() / "a");
  ASSERT_TRUE(file.ok()) << file.error().to_line();
  std::filesystem::resize_file(dir.path() / "a", 4);
  std::string bytes(4, ' ');
  EXPECT_EQ(*file->read(2, bytes), 2u);
  EXPECT_EQ(file->check_unchanged().error().kind, ErrorKind::Conflict);
  std::filesystem::remove(dir.path() / "a");
  EXPECT_EQ(file->check_unchanged().error().kind, ErrorKind::Conflict);
}

// Opening one would wait for somebody who may never come.
TEST(FileParts, OfPipesThereAreNone) {
  testing::TempDir dir;
  const Path pipe = dir.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_file_part(pipe, 0, 1).error().kind, ErrorKind::Invalid);
  EXPECT_EQ(write_file_in_parts(pipe, [](const ByteSink&) { return Status(); }).error().kind,
            ErrorKind::Invalid);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe)) << "it isn't replaced";
  EXPECT_FALSE(refuse_special_file("/dev/zero").ok());
  EXPECT_TRUE(refuse_special_file(dir.path()).ok());
  EXPECT_TRUE(refuse_special_file(dir.path() / "nothing").ok());
}

TEST(FileParts, AnEntryUnderTheTemporaryNameIsNeverWrittenTo) {
  testing::TempDir dir;
  HostFileSystem fs;
  const Path left = dir.path() / ".a.tmp", other = dir.path() / "other";
  ASSERT_TRUE(fs.write(left, "left by kill -9").ok());
  std::filesystem::create_hard_link(left, other);
  ASSERT_TRUE(write_file_in_parts(dir.path() / "a", [](const ByteSink& sink) { return sink("new"); }).ok());
  EXPECT_EQ(*fs.read(dir.path() / "a"), "new");
  EXPECT_EQ(*fs.read(other), "left by kill -9");
  EXPECT_FALSE(fs.exists(left));
}

TEST(FileParts, AFileWhosePartsFailStaysAsItWas) {
  testing::TempDir dir;
  HostFileSystem fs;
  const auto parts = [](bool fails) {
    return [fails](const ByteSink& sink) -> Status {
      MIST_TRY_VOID(sink("one "));
      if (fails) return error(ErrorKind::Retryable, "no more");
      return sink("two");
    };
  };
  ASSERT_TRUE(write_file_in_parts(dir.path() / "a", parts(false)).ok());
  EXPECT_EQ(*fs.read(dir.path() / "a"), "one two");
  ASSERT_TRUE(fs.write(dir.path() / "a", "before").ok());
  EXPECT_EQ(write_file_in_parts(dir.path() / "a", parts(true)).error().kind, ErrorKind::Retryable);
  EXPECT_EQ(*fs.read(dir.path() / "a"), "before");
  EXPECT_EQ(fs.list(dir.path())->size(), 1u) << "no temporary file stays";
}

}  // namespace
}  // namespace mist
