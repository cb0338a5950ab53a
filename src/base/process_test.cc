#include "base/process.h"
#include "base/process_limits.h"
#include "base/task_group.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <stop_token>

#include "base/handle.h"
#include "testing/temp_dir.h"

namespace mist {
namespace {

Command shell(std::string script) {
  return {
      .program = "/bin/sh", .arguments = {"-c", std::move(script)}, .env = {}, .directory = {}, .input = {}};
}

TEST(HostProcessRunner, GivesInputAndCollectsBothStreams) {
  Command command = shell("cat; echo oops >&2; exit 3");
  command.input = std::string(300000, 'x');
  const auto result = HostProcessRunner().run(command, Context());
  ASSERT_TRUE(result.ok()) << result.error().to_line();
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->out.size(), 300000u);
  EXPECT_EQ(result->err, "oops\n");
}

TEST(HostProcessRunner, AddsAndRemovesVariables) {
  Command command = shell("echo \"$MIST_A-${HOME-none}\"");
  command.env = {{"MIST_A", "1"}, {"HOME", std::nullopt}};
  EXPECT_EQ(HostProcessRunner().run(command, Context())->out, "1-none\n");
}

TEST(HostProcessRunner, StartsFromAnEmptyEnvironmentWhereAsked) {
  Command command;
  command.program = "env";
  command.env = {{"MIST_A", "1"}};
  command.environment = BaseEnvironment::Empty;
  const auto result = HostProcessRunner().run(command, Context());
  ASSERT_TRUE(result.ok()) << result.error().to_line();
  EXPECT_EQ(result->out, "MIST_A=1\n") << "and our PATH finds the program all the same";
}

TEST(HostProcessRunner, KillsTheWholeGroupAtTheDeadline) {
  const auto result = HostProcessRunner().run(shell("sleep 1000 & sleep 1000"),
                                              Context().with_timeout(std::chrono::milliseconds(80)));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Timeout);
}

// As the first process of a container has it.
TEST(HostProcessRunner, LeavesNoZombiesWhereItInheritsTheProgramsChildren) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const auto stopped = HostProcessRunner().run(shell("sleep 1000 & sleep 1000 & sleep 1000"),
                                               Context().with_timeout(std::chrono::milliseconds(300)));
  EXPECT_FALSE(stopped.ok());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  // One that ends when the program has ended is looked for by the next run.
  ASSERT_TRUE(HostProcessRunner().run(shell("(sleep 0.2 >/dev/null 2>&1 &)"), Context()).ok());
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0) << "it is ours by now, and has ended";
  ASSERT_TRUE(HostProcessRunner().run(shell("true"), Context()).ok());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

TEST(HostProcessRunner, SaysWhatIsMissing) {
  const auto result = HostProcessRunner().run(
      {.program = "mist-no-such-program", .arguments = {}, .env = {}, .directory = {}, .input = {}},
      Context());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::NotFound);
  EXPECT_NE(result.error().hint.find("mist-no-such-program"), std::string::npos);
}

TEST(HostProcessRunner, TellsWhatAProgramThatWaitsHasSaid) {
  Command command =
      shell("echo open the page >&2; while [ ! -e \"$MIST_SEEN\" ]; do sleep 0.05; done; echo bye >&2");
  const testing::TempDir dir;
  const Path seen = dir.path() / "seen";
  command.env["MIST_SEEN"] = seen.string();
  std::string told;
  command.on_stderr = [&](std::string_view words) {
    told += words;
    std::ofstream(seen).put('x');
  };
  const auto result = HostProcessRunner().run(command, Context().with_timeout(std::chrono::minutes(1)));
  ASSERT_TRUE(result.ok()) << result.error().to_line();
  EXPECT_EQ(told, "open the page\n");
  EXPECT_EQ(result->err, "open the page\nbye\n");
}

TEST(HostProcessRunner, DoesNotWaitForChildrenThatKeepStderr) {
  const testing::TempDir dir;  // the child ends when it is gone
  Command command = shell(
      "(while [ -d \"$MIST_DIR\" ]; do sleep 0.05; done) >/dev/null & "
      "echo done; echo said >&2");
  command.env["MIST_DIR"] = dir.path().string();
  const auto result = HostProcessRunner().run(command, Context().with_timeout(std::chrono::minutes(1)));
  ASSERT_TRUE(result.ok()) << result.error().to_line();
  EXPECT_EQ(result->out, "done\n");
  EXPECT_EQ(result->err, "said\n");
}

TEST(HostProcessRunner, HandsOnNoDescriptorBesideTheThreeStreams) {
  // Without FD_CLOEXEC, as some libraries open theirs; and of a number that no shell uses.
  const UniqueFd open(::fcntl(STDERR_FILENO, F_DUPFD, 100));
  ASSERT_TRUE(open);
  Command command = shell("if [ -e /proc/self/fd/$MIST_FD ]; then echo open; else echo closed; fi");
  command.env["MIST_FD"] = fmt::format("{}", open.get());
  const auto result = HostProcessRunner().run(command, Context());
  ASSERT_TRUE(result.ok()) << result.error().to_line();
  EXPECT_EQ(result->out, "closed\n");
}

// As under a parent that ignores it and didn't reset that: the kernel takes the status of children.
TEST(HostProcessRunner, ReturnsWhereSigchldIsIgnored) {
  auto* const before = std::signal(SIGCHLD, SIG_IGN);
  const auto result =
      HostProcessRunner().run(shell("exit 3"), Context().with_timeout(std::chrono::minutes(1)));
  std::signal(SIGCHLD, before);
  ASSERT_FALSE(result.ok()) << "its exit code isn't known, and is not 0";
  EXPECT_EQ(result.error().kind, ErrorKind::Internal);
}

TEST(HostProcessRunner, LimitsOutput) {
  Command command = shell("yes");
  command.output_limit = 100000;
  EXPECT_EQ(HostProcessRunner().run(command, Context()).error().kind, ErrorKind::Invalid);
}

TEST(HostProcessRunner, TellsWhatComesOnStdoutAndKeepsNoneOfIt) {
  Command command = shell("echo one; echo two");
  std::string told;
  command.on_stdout = [&](std::string_view piece) { told += piece; };
  const auto result = HostProcessRunner().run(command, Context());
  ASSERT_TRUE(result.ok()) << result.error().to_line();
  EXPECT_EQ(told, "one\ntwo\n");
  EXPECT_EQ(result->out, "");
}

TEST(HostProcessRunner, LimitsOutputThatItTells) {
  Command command = shell("yes");
  command.output_limit = 100000;
  std::size_t told = 0;
  command.on_stdout = [&](std::string_view piece) { told += piece.size(); };
  const auto result = HostProcessRunner().run(command, Context());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Invalid);
  EXPECT_LE(told, 100000u);
}

TEST(HostProcessRunner, EndsAProgramByTheEndOfItsInput) {
  std::stop_source stop;
  Command command = shell("read -r line; echo \"$line\"; cat; echo cleaned");
  command.input = "begin\n";
  command.farewell = std::chrono::minutes(1);
  std::string told;
  command.on_stdout = [&](std::string_view piece) {
    told += piece;
    stop.request_stop();  // not before it has read its input
  };
  const auto result = HostProcessRunner().run(command, Context(stop.get_token()));
  ASSERT_TRUE(result.ok()) << result.error().to_line();
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(told, "begin\ncleaned\n");
}

TEST(HostProcessRunner, KillsAProgramThatGoesOnWithoutInput) {
  Command command = shell("echo ready; sleep 1000");
  command.farewell = std::chrono::milliseconds(50);
  std::stop_source stop;
  command.on_stdout = [&](std::string_view) { stop.request_stop(); };
  const auto result = HostProcessRunner().run(command, Context(stop.get_token()));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Cancelled);
}

TEST(LimitedProcessRunner, BoundsProcessorTimeOfAProgramAndItsChildren) {
  LimitedProcessRunner runner({.processor_time = std::chrono::seconds(1)});
  const auto alone = runner.run(shell("while :; do :; done"), Context());
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->exit_code, 128 + SIGXCPU);
  // After a moment: the limit comes from outside.
  Command command = shell("read -r line; (while :; do :; done); echo $?");
  command.input = "go\n";
  const auto child = runner.run(command, Context());
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->out, fmt::format("{}\n", 128 + SIGXCPU));
}

TEST(LimitedProcessRunner, BoundsMemory) {
  // tail keeps what may be the end: all of it, where there is no line.
  Command command = shell("read -r line; head -c 300000000 /dev/zero | tail -n 1 | wc -c");
  command.input = "go\n";
  EXPECT_EQ(HostProcessRunner().run(command, Context())->out, "300000000\n");
  LimitedProcessRunner runner({.memory_bytes = std::uint64_t{200} << 20});
  const auto limited = runner.run(command, Context());
  ASSERT_TRUE(limited.ok());
  EXPECT_EQ(limited->out, "0\n");
  EXPECT_NE(limited->err, "");
}

// Neither RLIMIT_NPROC, which doesn't bind root, nor RLIMIT_CPU, which is of each process by itself.
TEST(HostProcessRunner, BoundsTheProcessesOfATree) {
  const testing::TempDir dir;
  const Path fifo = dir.path() / "never";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  Command command;
  command.program = "sh";
  command.arguments = {"-c", "for i in 1 2 3 4 5 6 7 8 9; do (read -r never <\"$0\") & done; wait",
                       fifo.string()};
  command.tree.threads = 5;
  const auto ended = HostProcessRunner().run(command, Context().with_timeout(std::chrono::minutes(2)));
  ASSERT_TRUE(ended.ok()) << ended.error().to_line();
  EXPECT_EQ(ended->exceeded, TreeLimit::Threads);
  EXPECT_EQ(ended->exit_code, 128 + SIGKILL);
}

// A program that reads it first starts nothing before it is in its group.
TEST(HostProcessRunner, GivesTheThirdWithinTheLimitOfTasks) {
  if (!TaskGroup::make(1)) GTEST_SKIP() << "no control groups of tasks that we may make";
  Command command;
  command.program = "python3";
  command.arguments = {"-c", R"(
import os, time
os.fdopen(3).read()
started = 0
try:
    while os.fork() != 0:
        started += 1
except OSError:
    print(started, flush=True)
time.sleep(600)
)"};
  command.third = "go";
  command.tree.threads = 7;
  const auto ended = HostProcessRunner().run(command, Context().with_timeout(std::chrono::minutes(2)));
  ASSERT_TRUE(ended.ok()) << ended.error().to_line();
  EXPECT_EQ(ended->exceeded, TreeLimit::Threads);
  EXPECT_TRUE(ended->out.empty() || ended->out == "6\n") << ended->out;
}

// It may be gone before anybody looks.
TEST(HostProcessRunner, SaysWhyAProgramEndedThatCouldStartNothing) {
  if (!TaskGroup::make(1)) GTEST_SKIP() << "no control groups of tasks that we may make";
  Command command;
  command.program = "python3";
  command.arguments = {"-c", R"(
import os
os.fdopen(3).read()
try:
    os.fork()
except OSError:
    os._exit(3)
)"};
  command.third = "go";
  command.tree.threads = 1;
  const auto ended = HostProcessRunner().run(command, Context().with_timeout(std::chrono::minutes(2)));
  ASSERT_TRUE(ended.ok()) << ended.error().to_line();
  EXPECT_EQ(ended->exceeded, TreeLimit::Threads);
}

TEST(HostProcessRunner, BoundsTheMemoryOfATree) {
  // tail keeps what may be the end: all of it, where there is no line.
  Command command = shell("tail -n 1 </dev/zero");
  command.tree.memory_bytes = std::uint64_t{50} << 20;
  const auto ended = HostProcessRunner().run(command, Context().with_timeout(std::chrono::minutes(2)));
  ASSERT_TRUE(ended.ok()) << ended.error().to_line();
  EXPECT_EQ(ended->exceeded, TreeLimit::Memory);
}

TEST(HostProcessRunner, BoundsTheProcessorTimeOfATree) {
  // Each child uses little, and they add up.
  Command command = shell("while :; do (i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done); done");
  command.tree.processor_time = std::chrono::seconds(1);
  const auto ended = HostProcessRunner().run(command, Context().with_timeout(std::chrono::minutes(2)));
  ASSERT_TRUE(ended.ok()) << ended.error().to_line();
  EXPECT_EQ(ended->exceeded, TreeLimit::ProcessorTime);
}

TEST(HostProcessRunner, LeavesATreeWithinItsLimitsAlone) {
  Command command = shell("echo done");
  command.tree = {
      .threads = 50, .memory_bytes = std::uint64_t{1} << 30, .processor_time = std::chrono::minutes(1)};
  const auto ended = HostProcessRunner().run(command, Context());
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->out, "done\n");
  EXPECT_FALSE(ended->exceeded);
}

TEST(HostProcessRunner, BoundsTheFilesOfAProgramAndItsChildren) {
  Command command;
  command.program = "sh";
  // After a moment: the limit comes from outside.
  command.arguments = {"-c", "read -r line; f=$(mktemp); (head -c 300000 /dev/zero >$f); wc -c <$f; rm $f"};
  command.input = "go\n";
  command.file_limit = 200'000;
  const auto limited = HostProcessRunner().run(command, Context());
  ASSERT_TRUE(limited.ok());
  EXPECT_EQ(limited->out, "200000\n");
  command.file_limit.reset();
  EXPECT_EQ(HostProcessRunner().run(command, Context())->out, "300000\n");
}

}  // namespace
}  // namespace mist
