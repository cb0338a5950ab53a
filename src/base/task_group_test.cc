#include "base/task_group.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "testing/temp_dir.h"

namespace mist {
namespace {

// The files of groups as a kernel shows them, in a directory.
class TaskGroupTest : public ::testing::Test {
 protected:
  void write(const Path& file, std::string_view text) {
    ASSERT_TRUE(files_.write(file, text, {.durable = false}).ok());
  }

  testing::TempDir dir_;
  HostFileSystem files_;
  GroupPlaces places_{.mount = dir_.path() / "cgroup", .own = dir_.path() / "own"};
};

TEST_F(TaskGroupTest, ThereIsNoneWhereNothingCanBeDivided) {
  EXPECT_EQ(TaskGroup::make(5, places_), nullptr) << "no control groups at all";
  write(places_.own, "0::/\n");
  EXPECT_EQ(TaskGroup::make(5, places_), nullptr) << "nothing is above the first group";
  write(places_.own, "4:memory:/user\n3:pids:/elsewhere\n0::/user.slice/session.scope\n");
  write(places_.mount / "user.slice" / "cgroup.subtree_control", "cpu memory\n");
  EXPECT_EQ(TaskGroup::make(5, places_), nullptr) << "the group above doesn't divide its tasks";
}

// Directories aren't groups of a kernel: nothing can be written there that isn't there already.
TEST_F(TaskGroupTest, IsMadeBesideOursInVersion2AndBelowOursInVersion1) {
  write(places_.own, "0::/user.slice/session.scope\n");
  write(places_.mount / "user.slice" / "cgroup.subtree_control", "cpu memory pids\n");
  const Path left = places_.mount / "user.slice" / "mistletoe-4194400-1";  // more than there can be
  ASSERT_TRUE(files_.make_directories(left).ok());
  EXPECT_EQ(TaskGroup::make(5, places_), nullptr);
  EXPECT_FALSE(files_.exists(left)) << "left by a process that is gone";
  write(places_.own, "3:pids:/mine\n");
  const Path other = places_.mount / "pids" / "mine" / "mistletoe-1-1";
  ASSERT_TRUE(files_.make_directories(other).ok());
  EXPECT_EQ(TaskGroup::make(5, places_), nullptr);
  EXPECT_TRUE(files_.exists(other)) << "its process lives";
}

// The kernel's own, where we may.
TEST(RealTaskGroup, IsNeverLeftNorSurpassed) {
  auto group = TaskGroup::make(5);
  if (!group) GTEST_SKIP() << "no control groups of tasks that we may make";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ready[1]);
    char go = 0;
    if (::read(ready[0], &go, 1) != 0) ::_exit(99);  // its end
    int started = 0;
    for (int i = 0; i < 20; ++i) {
      const pid_t each = ::fork();
      if (each == 0) {
        ::pause();
        ::_exit(0);
      }
      if (each < 0) break;
      ++started;
    }
    ::_exit(started);
  }
  ::close(ready[0]);
  EXPECT_TRUE(group->add(child));
  EXPECT_FALSE(group->was_reached());
  ::close(ready[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_TRUE(group->was_reached());
  const Path directory = group->directory();
  std::ifstream left(directory / "cgroup.procs");
  for (pid_t pid = 0; left >> pid;) ::kill(pid, SIGKILL);
  group.reset();
  EXPECT_FALSE(std::filesystem::exists(directory));
}

}  // namespace
}  // namespace mist
