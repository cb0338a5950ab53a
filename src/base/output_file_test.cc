#include "base/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/handle.h"
#include "testing/temp_dir.h"
#include "testing/umask.h"

namespace mist {
namespace {

using ::testing::ElementsAre;

struct OutputFile : ::testing::Test {
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const DirectoryEntry& entry : *files.list(dir.path())) found.push_back(entry.name);
    return found;
  }
  testing::TempDir dir;
  HostFileSystem files;
};

TEST_F(OutputFile, IsAFileOfTheUser) {
  const testing::Umask mask(027);
  const Path path = dir.path() / "new/plan";
  ASSERT_TRUE(write_output(files, path, "1").ok());
  EXPECT_EQ(*files.read(path), "1");
  EXPECT_EQ(testing::mode_of(path), 0640U);
  ASSERT_TRUE(write_output(files, path, "22", {.mode = 0600}).ok());
  EXPECT_EQ(testing::mode_of(path), 0600U) << "where the caller says so";
}

TEST_F(OutputFile, LinksStayLinks) {
  const Path first = dir.path() / "first", second = dir.path() / "second", file = dir.path() / "file";
  std::filesystem::create_symlink("second", first);
  std::filesystem::create_symlink(file, second);
  ASSERT_TRUE(write_output(files, first, "1").ok()) << "of a file that isn't there yet, too";
  ASSERT_TRUE(write_output(files, first, "2").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(first));
  EXPECT_TRUE(std::filesystem::is_symlink(second));
  EXPECT_FALSE(std::filesystem::is_symlink(file));
  EXPECT_EQ(*files.read(file), "2");
  EXPECT_THAT(names(), ElementsAre("file", "first", "second"));
  std::filesystem::remove(file);
  std::filesystem::create_symlink("first", file);
  EXPECT_EQ(write_output(files, first, "3").error().kind, ErrorKind::Invalid) << "a cycle";
}

TEST_F(OutputFile, APipeStaysOneAndGetsTheBytes) {
  const Path pipe = dir.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  // Before the writer, so that neither waits for the other.
  const UniqueFd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader);
  ASSERT_TRUE(write_output(files, pipe, "bytes").ok());
  std::array<char, 16> read{};
  EXPECT_EQ(::read(reader.get(), read.data(), read.size()), 5);
  EXPECT_EQ(std::string(read.data(), 5), "bytes");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(OutputFile, ADeviceStaysOne) {
  // By a link, which a rename would replace in place of the device.
  const Path link = dir.path() / "link";
  std::filesystem::create_symlink("/dev/null", link);
  EXPECT_TRUE(write_output(files, link, "bytes").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_character_file(link));
  EXPECT_THAT(names(), ElementsAre("link"));
}

TEST_F(OutputFile, ADescriptorIsWrittenWhereItStands) {
  const Path file = dir.path() / "file";
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(fd);
  ASSERT_EQ(::write(fd.get(), "a", 1), 1);
  ASSERT_TRUE(write_output(files, fmt::format("/dev/fd/{}", fd.get()), "b").ok());
  ASSERT_EQ(::write(fd.get(), "c", 1), 1);
  EXPECT_EQ(*files.read(file), "abc");
}

TEST_F(OutputFile, AnotherUsersEntryInASharedDirectoryIsPlanted) {
  constexpr uid_t kMe = 1000, kOther = 1001, kRoot = 0;
  const auto entry = [](uid_t owner) {
    struct stat info{};
    info.st_uid = owner;
    return info;
  };
  const auto directory = [](mode_t mode, uid_t owner) {
    struct stat info{};
    info.st_mode = S_IFDIR | mode;
    info.st_uid = owner;
    return info;
  };
  EXPECT_TRUE(is_planted(entry(kOther), directory(01777, kRoot), kMe));
  EXPECT_TRUE(is_planted(entry(kOther), directory(01777, kRoot), kRoot)) << "root is told, too";
  EXPECT_TRUE(is_planted(entry(kOther), directory(01770, kRoot), kMe));
  EXPECT_FALSE(is_planted(entry(kMe), directory(01777, kRoot), kMe));
  EXPECT_FALSE(is_planted(entry(kRoot), directory(01777, kRoot), kMe)) << "the owner of the directory";
  EXPECT_FALSE(is_planted(entry(kOther), directory(0777, kRoot), kMe)) << "anybody could rename it anyway";
  EXPECT_FALSE(is_planted(entry(kOther), directory(01755, kRoot), kMe));
}

TEST_F(OutputFile, WhatAnotherUserPlantedIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  constexpr uid_t kOther = 12345;
  const Path shared = dir.path() / "shared", mine = dir.path() / "mine";
  const Path link = shared / "link", pipe = shared / "pipe", by_way = dir.path() / "by-way";
  ASSERT_TRUE(files.write(mine, "text of the user").ok());
  ASSERT_TRUE(files.make_directories(shared).ok());
  ASSERT_EQ(::chmod(shared.c_str(), 01777), 0);
  std::filesystem::create_symlink(mine, link);
  std::filesystem::create_symlink(link, by_way);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const UniqueFd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader);
  EXPECT_TRUE(write_output(files, link, "1").ok());
  EXPECT_TRUE(write_output(files, pipe, "1").ok());
  for (const Path& each : {link, pipe}) ASSERT_EQ(::lchown(each.c_str(), kOther, kOther), 0);
  for (const Path& each : {link, pipe, by_way}) {
    const Status written = write_output(files, each, "secret");
    ASSERT_FALSE(written.ok()) << each;
    EXPECT_EQ(written.error().kind, ErrorKind::Forbidden) << each;
  }
  EXPECT_EQ(*files.read(mine), "1");
  std::array<char, 16> read{};
  EXPECT_EQ(::read(reader.get(), read.data(), read.size()), 1) << "nothing but what was written before";
}

TEST_F(OutputFile, ALinkToADescriptorIsOne) {
  const Path file = dir.path() / "file", link = dir.path() / "link";
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(fd);
  std::filesystem::create_symlink(fmt::format("/dev/fd/{}", fd.get()), link);
  ASSERT_EQ(::write(fd.get(), "a", 1), 1);
  ASSERT_TRUE(write_output(files, link, "b").ok());
  ASSERT_EQ(::write(fd.get(), "c", 1), 1);
  EXPECT_EQ(*files.read(file), "abc");
}

TEST_F(OutputFile, APipeOfAnotherProcessIsOpened) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  ASSERT_TRUE(write_output(files, fmt::format("/proc/{}/fd/{}", ::getpid(), writer.get()), "bytes").ok());
  std::array<char, 16> read{};
  EXPECT_EQ(::read(reader.get(), read.data(), read.size()), 5);
}

TEST_F(OutputFile, KnowsStandardOutput) {
  const Path link = dir.path() / "link", file = dir.path() / "file";
  std::filesystem::create_symlink("/dev/stdout", link);
  for (const Path& each : {Path("/dev/stdout"), Path("/dev/fd/1"), Path("/proc/self/fd/1"), link})
    EXPECT_TRUE(is_standard_output(each)) << each;
  ASSERT_TRUE(files.write(file, "").ok());
  for (const Path& each : {file, Path("/dev/null"), dir.path() / "nothing", Path()})
    EXPECT_FALSE(is_standard_output(each)) << each;
}

TEST_F(OutputFile, IsNoDirectory) {
  EXPECT_EQ(write_output(files, dir.path(), "1").error().kind, ErrorKind::Invalid);
  EXPECT_EQ(write_output(files, "", "1").error().kind, ErrorKind::Invalid);
  EXPECT_TRUE(names().empty());
}

}  // namespace
}  // namespace mist
