#include "base/fs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <optional>
#include <thread>

#include "base/context.h"
#include "testing/temp_dir.h"
#include "testing/umask.h"

namespace mist {
namespace {

TEST(HostFileSystem, WritesWholeFilesWithTheirMode) {
  testing::TempDir dir;
  HostFileSystem fs;
  ASSERT_TRUE(fs.write(dir.path() / "a/b/file", "hello", {.mode = 0600}).ok());
  EXPECT_EQ(*fs.read(dir.path() / "a/b/file"), "hello");
  struct stat info{};
  ASSERT_EQ(::stat((dir.path() / "a/b/file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(fs.list(dir.path() / "a/b")->size(), 1u) << "no temporary file stays behind";
}

TEST(HostFileSystem, FilesOfTheUserObeyTheUmaskAndKeepTheirMode) {
  testing::TempDir dir;
  HostFileSystem fs;
  const Path file = dir.path() / "f", program = dir.path() / "run.sh", state = dir.path() / "state";
  const testing::Umask mask(077);
  ASSERT_TRUE(fs.write(file, "1", kUsersFile).ok());
  EXPECT_EQ(testing::mode_of(file), 0600U);
  ASSERT_TRUE(
      fs.write(program, "1", {.mode = 0777, .exclusive = true, .permissions = Permissions::Users}).ok());
  EXPECT_EQ(testing::mode_of(program), 0700U);
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  ASSERT_TRUE(fs.write(file, "2", kUsersFile).ok());
  ASSERT_TRUE(fs.write(program, "2", kUsersFile).ok());
  EXPECT_EQ(testing::mode_of(file), 0640U);
  EXPECT_EQ(testing::mode_of(program), 0755U);
  EXPECT_EQ(*fs.read(program), "2");
  ASSERT_TRUE(fs.write(state, "1", {.mode = 0644}).ok());
  EXPECT_EQ(testing::mode_of(state), 0644U) << "caches don't";
}

TEST(HostFileSystem, ExclusiveWriteRefusesAnExistingFile) {
  testing::TempDir dir;
  HostFileSystem fs;
  ASSERT_TRUE(fs.write(dir.path() / "f", "1", {.exclusive = true}).ok());
  EXPECT_EQ(fs.write(dir.path() / "f", "2", {.exclusive = true}).error().kind, ErrorKind::Conflict);
  EXPECT_EQ(*fs.read(dir.path() / "f"), "1");
  EXPECT_EQ(fs.list(dir.path())->size(), 1u);
}

TEST(HostFileSystem, NamesPathAndReason) {
  testing::TempDir dir;
  HostFileSystem fs;
  const Error missing = fs.read(dir.path() / "nope").error();
  EXPECT_EQ(missing.kind, ErrorKind::NotFound);
  EXPECT_THAT(missing.message, ::testing::HasSubstr("nope"));
  EXPECT_THAT(missing.because, ::testing::HasSubstr("No such file"));
  EXPECT_EQ(fs.read(dir.path()).error().kind, ErrorKind::Invalid);
  EXPECT_EQ(fs.size(dir.path() / "nope").error().kind, ErrorKind::NotFound);
  EXPECT_EQ(fs.size(dir.path()).error().kind, ErrorKind::Invalid);
  ASSERT_TRUE(fs.write(dir.path() / "big", std::string(100, 'x')).ok());
  EXPECT_EQ(*fs.size(dir.path() / "big"), 100u);
  EXPECT_EQ(fs.read(dir.path() / "big", 99).error().kind, ErrorKind::Invalid);
}

TEST(FileLock, SecondHolderWaitsAndTimesOut) {
  testing::TempDir dir;
  auto first = FileLock::acquire(dir.path() / "lock", Context());
  ASSERT_TRUE(first.ok());
  const auto second =
      FileLock::acquire(dir.path() / "lock", Context().with_timeout(std::chrono::milliseconds(20)));
  EXPECT_EQ(second.error().kind, ErrorKind::Timeout);
}

TEST(FileLock, IsSharedByThoseWhoAskForThat) {
  const testing::TempDir dir;
  const auto one = FileLock::share(dir.path() / "lock", Context());
  ASSERT_TRUE(one.ok());
  EXPECT_TRUE(
      FileLock::share(dir.path() / "lock", Context().with_timeout(std::chrono::milliseconds(1))).ok());
  const auto alone =
      FileLock::acquire(dir.path() / "lock", Context().with_timeout(std::chrono::milliseconds(1)));
  EXPECT_EQ(alone.error().kind, ErrorKind::Timeout);
}

TEST(FileLock, IsTriedWithoutWaiting) {
  testing::TempDir dir;
  std::optional<FileLock> first = *FileLock::try_acquire(dir.path() / "lock");
  ASSERT_TRUE(first);
  EXPECT_FALSE(*FileLock::try_acquire(dir.path() / "lock"));
  first.reset();
  EXPECT_TRUE(*FileLock::try_acquire(dir.path() / "lock"));
  EXPECT_FALSE(FileLock::try_acquire(dir.path() / "none/lock").ok());
}

TEST(FileLock, ThoseWhoWaitLockTheNextFileWhenTheHolderRemovesIt) {
  testing::TempDir dir;
  const Path place = std::filesystem::canonical(dir.path()) / "lock";
  const auto opened_by_us = [&] {
    std::error_code gone;
    return std::ranges::count_if(std::filesystem::directory_iterator("/proc/self/fd"), [&](const auto& each) {
      return std::filesystem::read_symlink(each.path(), gone) == place;
    });
  };
  std::optional<FileLock> first = *FileLock::acquire(place, Context());
  auto waiting = std::async(std::launch::async, [&] { return FileLock::acquire(place, Context()); });
  while (opened_by_us() < 2) std::this_thread::yield();
  ASSERT_TRUE(HostFileSystem().remove(place).ok());
  first.reset();
  const Result<FileLock> second = waiting.get();
  ASSERT_TRUE(second.ok()) << second.error().to_line();
  const auto third = FileLock::acquire(place, Context().with_timeout(std::chrono::milliseconds(20)));
  EXPECT_EQ(third.error().kind, ErrorKind::Timeout) << "two have it";
}

}  // namespace
}  // namespace mist
