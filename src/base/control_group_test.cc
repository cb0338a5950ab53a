#include "base/control_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

#include "base/text.h"
#include "testing/temp_dir.h"

namespace mist {
namespace {

// The files of a group as a kernel shows them, in a directory.
class ControlGroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write(places_.own, "1:name=systemd:/elsewhere\n0::/system.slice/catalog.service\n");
    write(own_ / "cgroup.controllers", "cpuset cpu io memory hugetlb pids\n");
    write(own_ / "cgroup.subtree_control", "");
    write(own_ / "cgroup.procs", std::to_string(::getpid()) + "\n");
    write(own_ / "worker" / "cgroup.procs", "");
  }
  void write(const Path& file, std::string_view text) {
    ASSERT_TRUE(files_.write(file, text, {.durable = false}).ok());
  }
  std::string read(const Path& file) { return files_.read(file).value_or("there is none"); }
  // The kernel makes the files of a group that is made; here they are there before.
  Path made(int number) {
    const Path directory = own_ / fmt::format("test-{}-{}", ::getpid(), number);
    for (const char* const each : {"memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max",
                                   "cgroup.procs", "cgroup.kill"})
      write(directory / each, "");
    return directory;
  }

  testing::TempDir dir_;
  HostFileSystem files_;
  GroupPlaces places_{.mount = dir_.path() / "cgroup", .own = dir_.path() / "own"};
  Path own_ = places_.mount / "system.slice" / "catalog.service";
};

TEST_F(ControlGroupTest, MovesItsProcessesAsideAndDividesTheRest) {
  ASSERT_TRUE(ControlGroups::make(places_).ok());
  EXPECT_EQ(read(own_ / "worker" / "cgroup.procs"), std::to_string(::getpid()));
  EXPECT_EQ(read(own_ / "cgroup.subtree_control"), "+memory +pids +cpu");
}

TEST_F(ControlGroupTest, SetsTheLimitsOfAGroup) {
  const auto groups = ControlGroups::make(places_);
  ASSERT_TRUE(groups.ok()) << groups.error().to_line();
  const Path directory = made(1);
  const auto group = (*groups)->add({.memory_bytes = 3000, .tasks = 50, .processors = 2});
  ASSERT_TRUE(group.ok()) << group.error().to_line();
  EXPECT_EQ((*group)->directory(), directory);
  EXPECT_EQ(read(directory / "memory.max"), "3000");
  EXPECT_EQ(read(directory / "memory.swap.max"), "0");
  EXPECT_EQ(read(directory / "memory.oom.group"), "1");
  EXPECT_EQ(read(directory / "pids.max"), "50");
  EXPECT_EQ(read(directory / "cpu.max"), "200000 100000");
}

TEST_F(ControlGroupTest, AProgramIsInItsGroupBeforeItBegins) {
  const auto groups = ControlGroups::make(places_);
  ASSERT_TRUE(groups.ok());
  const Path directory = made(1);
  const auto group = (*groups)->add({.memory_bytes = 3000, .tasks = 50, .processors = 2});
  ASSERT_TRUE(group.ok());
  Command command;
  command.program = "echo";
  command.arguments = {"it", "runs $HOME"};
  const auto ran = HostProcessRunner().run((*group)->inside(command), Context());
  ASSERT_TRUE(ran.ok()) << ran.error().to_line();
  EXPECT_EQ(ran->out, "it runs $HOME\n");
  EXPECT_EQ(read(directory / "cgroup.procs"), "0\n");
}

TEST_F(ControlGroupTest, SeesThatTheKernelKilledForWantOfMemory) {
  const auto groups = ControlGroups::make(places_);
  ASSERT_TRUE(groups.ok());
  const Path directory = made(1);
  const auto group = (*groups)->add({.memory_bytes = 3000, .tasks = 50, .processors = 2});
  ASSERT_TRUE(group.ok());
  EXPECT_FALSE((*group)->ran_out_of_memory());
  write(directory / "memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 0\noom_group_kill 0\n");
  EXPECT_FALSE((*group)->ran_out_of_memory());
  write(directory / "memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 3\noom_group_kill 1\n");
  EXPECT_TRUE((*group)->ran_out_of_memory());
}

TEST_F(ControlGroupTest, SeesThatThereWouldHaveBeenTooManyTasks) {
  const auto groups = ControlGroups::make(places_);
  ASSERT_TRUE(groups.ok());
  const Path directory = made(1);
  const auto group = (*groups)->add({.memory_bytes = 3000, .tasks = 50, .processors = 2});
  ASSERT_TRUE(group.ok());
  EXPECT_FALSE((*group)->ran_out_of_tasks());
  write(directory / "pids.events", "max 0\n");
  EXPECT_FALSE((*group)->ran_out_of_tasks());
  write(directory / "pids.events", "max 12\n");
  EXPECT_TRUE((*group)->ran_out_of_tasks());
}

TEST_F(ControlGroupTest, ItsProcessesAreKilledAtItsEnd) {
  const auto groups = ControlGroups::make(places_);
  ASSERT_TRUE(groups.ok());
  const Path directory = made(1);
  ASSERT_TRUE((*groups)->add({.memory_bytes = 3000, .tasks = 50, .processors = 2}).ok());
  EXPECT_EQ(read(directory / "cgroup.kill"), "1");
}

TEST_F(ControlGroupTest, AGroupWithProcessesOfOthersIsNotOurs) {
  write(own_ / "cgroup.procs", fmt::format("{}\n1\n", ::getpid()));
  const auto groups = ControlGroups::make(places_);
  ASSERT_FALSE(groups.ok());
  EXPECT_EQ(groups.error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(read(own_ / "cgroup.subtree_control"), "");
}

TEST_F(ControlGroupTest, TheRootOrAGroupWithoutMemoryCannotBeDivided) {
  write(own_ / "cgroup.controllers", "cpu pids\n");
  EXPECT_EQ(ControlGroups::make(places_).error().kind, ErrorKind::NotFound);
  write(places_.own, "0::/\n");
  EXPECT_EQ(ControlGroups::make(places_).error().kind, ErrorKind::NotFound);
  write(places_.own, "4:memory:/user.slice\n");
  EXPECT_EQ(ControlGroups::make(places_).error().kind, ErrorKind::NotFound);
}

// The kernel's own, where a hierarchy of version 2 is mounted that we may write to: it needs no controllers.
TEST(RealControlGroup, HoldsAProgramAndIsGoneWithIt) {
  constexpr long kVersion2 = 0x63677270;
  Path mount;
  for (const char* const each : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
    if (struct statfs info{}; ::statfs(each, &info) == 0 && info.f_type == kVersion2) mount = each;
  const Path directory = mount / fmt::format("mist-control-group-test-{}", ::getpid());
  if (mount.empty() || ::mkdir(directory.c_str(), 0755) != 0)
    GTEST_SKIP() << "no control groups of version 2 that we may make";
  {
    const ControlGroup group(directory);
    Command command;
    command.program = "sh";
    command.arguments = {"-c", "grep ^0:: /proc/self/cgroup; sleep 1000 >/dev/null 2>&1 &"};
    const auto ran = HostProcessRunner().run(group.inside(command), Context());
    ASSERT_TRUE(ran.ok()) << ran.error().to_line();
    EXPECT_THAT(ran->out, ::testing::HasSubstr(directory.filename().string()));
    EXPECT_NE(HostFileSystem().read(directory / "cgroup.procs").value_or(""), "") << "sleep goes on in it";
  }
  EXPECT_FALSE(std::filesystem::exists(directory));
}

}  // namespace
}  // namespace mist
