#include "base/bubblewrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "testing/temp_dir.h"

namespace mist {
namespace {

using ::testing::Contains;
using ::testing::Not;

// In the real bubblewrap.
class BubblewrapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Status possible = check_sandboxes(processes_, Context());
    if (!possible.ok()) GTEST_SKIP() << "no sandboxes here: " << possible.error().to_line();
  }
  ProcessResult run(const SandboxView& view, const std::string& script) {
    const auto ran = processes_.run(sandboxed(view, {"/bin/sh", "-c", script}), Context());
    EXPECT_TRUE(ran.ok()) << ran.error().to_line();
    return ran.ok() ? *ran : ProcessResult{};
  }

  HostProcessRunner processes_;
  testing::TempDir dir_;
};

TEST_F(BubblewrapTest, OnlyTmpAndWhatIsGivenForThatCanBeWritten) {
  const Path given = dir_.path() / "given";
  const Path shown = dir_.path() / "shown";
  std::filesystem::create_directories(given);
  std::filesystem::create_directories(shown);
  const ProcessResult ran = run({.read_only = {{shown, "/shown"}}, .writable = {{given, "/given"}}},
                                "for each in / /usr /dev /dev/shm /shown /given /tmp; do "
                                "touch $each/file 2>/dev/null && echo $each; done");
  EXPECT_EQ(ran.out, "/given\n/tmp\n");
  EXPECT_TRUE(std::filesystem::exists(given / "file"));
}

TEST_F(BubblewrapTest, HidesWhatLiesInAPlaceThatItShows) {
  std::filesystem::create_directories(dir_.path() / "code");
  std::ofstream(dir_.path() / "code" / "secret") << "secret";
  const ProcessResult ran = run({.read_only = {{dir_.path(), "/shown"}}, .hidden = {"/shown/code"}},
                                "ls /shown/code; touch /shown/code/new 2>/dev/null || echo refused");
  EXPECT_EQ(ran.out, "refused\n");
}

TEST_F(BubblewrapTest, HasNoProcessAndNoVariableOfOurs) {
  ::setenv("MIST_SECRET", "hidden", 1);
  const ProcessResult ran = run({.environment = {{"GIVEN", "yes"}}},
                                "echo $MIST_SECRET $GIVEN; tr '\\0' '\\n' </proc/1/environ | "
                                "grep -c SECRET; ls -d /proc/[0-9]* | wc -l");
  ::unsetenv("MIST_SECRET");
  EXPECT_TRUE(ran.out.starts_with("yes\n0\n")) << ran.out;
  EXPECT_LT(std::stoi(ran.out.substr(6)), 10) << "those of the sandbox alone";
}

TEST_F(BubblewrapTest, ReachesTheNetworkOnlyWhereItMay) {
  constexpr const char* kInterfaces = "tail -n +3 /proc/net/dev | wc -l";
  const int without = std::stoi(run({}, kInterfaces).out);
  const int with = std::stoi(run({.network = SandboxNetwork::Host}, kInterfaces).out);
  EXPECT_EQ(without, 1) << "its own loopback";
  std::ifstream devices("/proc/net/dev");
  std::string line;
  int here = -2;  // the lines of the head
  while (std::getline(devices, line)) ++here;
  EXPECT_EQ(with, here);
}

TEST_F(BubblewrapTest, BoundsTheFilesInTmp) {
  if (!can_limit_tmpfs(processes_, Context())) GTEST_SKIP() << "this bubblewrap can't limit a tmpfs";
  const ProcessResult ran = run({.temporary_bytes = 1 << 20},
                                "head -c 4000000 /dev/zero >/tmp/file 2>/dev/null || stat -c %s /tmp/file");
  EXPECT_EQ(ran.out, "1048576\n");
}

// A key of this process's own session; without keys in this kernel, or the right to them, there is nothing to
// show.
TEST_F(BubblewrapTest, ReadsNoKeysOfOurs) {
  const std::string name = "mist-test";
  const long key = ::syscall(__NR_add_key, "user", name.c_str(), "hidden", 6, KEY_SPEC_PROCESS_KEYRING);
  if (key < 0) GTEST_SKIP() << "no keys here: " << std::strerror(errno);
  const std::string call = fmt::format(
      "python3 -c 'import ctypes; c = ctypes.CDLL(None, use_errno=True); "
      "print([c.syscall({}, {}, {}, 0, 0, 0) for n in [0]], c.syscall({}, b\"user\", b\"a\", b\"b\", 1, "
      "{}))'",
      __NR_keyctl, KEYCTL_READ, key, __NR_add_key, KEY_SPEC_PROCESS_KEYRING);
  const ProcessResult ran = run({}, call + "; touch /tmp/works && echo works >/dev/null && echo fine");
  EXPECT_EQ(ran.out, "[-1] -1\nfine\n") << ran.err;
}

class NoBubblewrap final : public ProcessRunner {
 public:
  Result<ProcessResult> run(const Command&, const Context&) override {
    if (!is_there) return error(ErrorKind::NotFound, "no such program");
    return ProcessResult{.exit_code = 1, .out = {}, .err = "bwrap: No permissions to create new namespace\n"};
  }
  bool is_there = false;
};

TEST(Sandboxes, ThatCannotBeMadeSayWhyAndWhatToDo) {
  NoBubblewrap none;
  const Status missing = check_sandboxes(none, Context());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  EXPECT_NE(missing.error().hint.find("apt-get install bubblewrap"), std::string::npos);
  none.is_there = true;
  const Status refused = check_sandboxes(none, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(refused.error().because, "bwrap: No permissions to create new namespace");
}

TEST(SandboxArguments, NamesAreLookedUpOnlyWithANetwork) {
  const auto arguments = [](SandboxNetwork network) {
    return sandboxed({.network = network}, {"true"}).arguments;
  };
  EXPECT_THAT(arguments(SandboxNetwork::None), Not(Contains("/etc/resolv.conf")));
  EXPECT_THAT(arguments(SandboxNetwork::None), Not(Contains("--share-net")));
  EXPECT_THAT(arguments(SandboxNetwork::Host), Contains("/etc/resolv.conf"));
  EXPECT_THAT(arguments(SandboxNetwork::Host), Contains("--share-net"));
}

}  // namespace
}  // namespace mist
