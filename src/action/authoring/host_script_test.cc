#include "action/authoring/host_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "testing/temp_dir.h"

namespace mist::action {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// Does what a script would do: writes into what is bound to /package/manifests.
class FakeBubblewrap final : public ProcessRunner {
 public:
  Result<ProcessResult> run(const Command& command, const Context&) override {
    if (!is_there) return error(ErrorKind::NotFound, "no such program");
    if (command.arguments == std::vector<std::string>{"--help"})
      return ProcessResult{.exit_code = 0, .out = help, .err = {}};
    ++runs;
    last = command;
    const auto bind = std::ranges::find(command.arguments, "--bind");
    writable = std::ranges::count(command.arguments, "--bind");
    const Path manifests = *(bind + 1);
    if (!link.empty()) std::filesystem::create_symlink(link, manifests / "link.yaml");
    (void)HostFileSystem().write(manifests / "made.yaml", "made");
    return result;
  }

  bool is_there = true;
  std::string help = "    --size BYTES    Set size of next argument (only for --tmpfs)\n";
  ProcessResult result;
  Path link;
  int runs = 0;
  std::ptrdiff_t writable = 0;
  Command last;
};

class HostScriptTest : public ::testing::Test {
 protected:
  Result<package::Files> run() {
    return scripts.run(
        {"./shop", "subprocess", kube, "{}"},
        [&](const package::HostScript&, const crypto::Digest&) {
          ++asked;
          return allows ? Status() : Status(error(ErrorKind::Forbidden, "no"));
        },
        Context());
  }

  testing::TempDir temp;
  HostFileSystem files;
  FakeBubblewrap bubblewrap;
  NullEventSink events;
  HostScripts scripts{files, bubblewrap, events, temp.path() / "state", temp.path() / "cache"};
  package::Files kube{
      {"K3.yaml", "k"}, {"manifests/old.yaml", "old"}, {"scripts/pre-install.py", "import subprocess"}};
  bool allows = true;
  int asked = 0;
};

TEST_F(HostScriptTest, GivesWhatManifestsHoldsAfterwards) {
  const auto made = run();
  ASSERT_TRUE(made.ok()) << made.error().to_line();
  EXPECT_THAT(*made, ElementsAre(Pair("manifests/made.yaml", "made"), Pair("manifests/old.yaml", "old")));
  EXPECT_EQ(bubblewrap.last.program, "bwrap");
  for (const char* const each :
       {"--unshare-all", "--clearenv", "--cap-drop", "--die-with-parent", "--new-session"})
    EXPECT_THAT(bubblewrap.last.arguments, Contains(each));
  EXPECT_EQ(bubblewrap.writable, 1) << "only manifests/ can be written";
  EXPECT_TRUE(std::filesystem::is_empty(temp.path() / "cache")) << "what the script saw is gone";
}

TEST_F(HostScriptTest, DirectoriesWithPrivateKeysAreNotBound) {
  ASSERT_TRUE(run().ok());
  for (const char* const each : {"/etc", "/etc/ssl", "/etc/ssl/private", "/etc/pki", "/etc/pki/tls"})
    EXPECT_THAT(bubblewrap.last.arguments, ::testing::Not(Contains(each)));
  EXPECT_THAT(bubblewrap.last.arguments, Contains("/etc/ssl/certs"));
}

// Root above all: it is the only user whom the kernel would let do any of this.
TEST_F(HostScriptTest, AScriptGetsOutOfNoMount) {
  if (std::system("bwrap --version >/dev/null 2>&1 && python3 --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "bubblewrap or Python isn't installed here";
  kube["scripts/pre-install.py"] = R"(
import ctypes, os, subprocess
libc = ctypes.CDLL(None, use_errno=True)
def says(name, ok):
    with open(f"manifests/{name}", "w") as file:
        file.write("possible" if ok else "refused")
def can_write(path):
    try:
        os.close(os.open(path, os.O_WRONLY))
        return True
    except OSError:
        return False
READ_WRITE = 0x20 | 0x1000  # MS_REMOUNT | MS_BIND
remount = lambda path: libc.mount(b"none", path, None, READ_WRITE, None) == 0
says("setting", can_write("/proc/sys/vm/swappiness"))
says("remount", remount(b"/package") or remount(b"/usr") or remount(b"/proc/sys"))
says("unmount", libc.umount2(b"/proc/sys", 2) == 0)
says("keys", os.path.exists("/etc/ssl/private") or os.path.exists("/etc/pki/tls/private"))
nested = libc.unshare(0x10000000 | 0x20000) == 0  # CLONE_NEWUSER | CLONE_NEWNS
says("nested", nested and (remount(b"/package") or remount(b"/proc/sys") or libc.umount2(b"/proc/sys", 2) == 0))
)";
  HostProcessRunner real;
  HostScripts confined{files, real, events, temp.path() / "state", temp.path() / "cache"};
  const auto made = confined.run(
      {"./shop", "subprocess", kube, "{}"},
      [](const package::HostScript&, const crypto::Digest&) { return Status(); }, Context());
  if (!made.ok() && made.error().because.find("namespace") != std::string::npos)
    GTEST_SKIP() << "no namespaces here: " << made.error().because;
  ASSERT_TRUE(made.ok()) << made.error().to_line() << made.error().because;
  for (const char* const each : {"setting", "remount", "unmount", "keys", "nested"})
    EXPECT_EQ(made->at(std::string("manifests/") + each), "refused") << each;
}

TEST_F(HostScriptTest, LimitsAreThoseOfTheWholeScript) {
  ASSERT_TRUE(run().ok());
  const HostScriptLimits limits;
  EXPECT_EQ(bubblewrap.last.tree.threads, limits.threads);
  EXPECT_EQ(bubblewrap.last.tree.memory_bytes, limits.memory_bytes);
  EXPECT_EQ(bubblewrap.last.tree.processor_time, limits.processor_time);
  EXPECT_EQ(bubblewrap.last.file_limit, limits.file_bytes);
  const auto& arguments = bubblewrap.last.arguments;
  const auto size = std::ranges::find(arguments, "--size");
  ASSERT_NE(size, arguments.end());
  EXPECT_EQ(std::vector(size + 1, size + 4),
            (std::vector<std::string>{fmt::format("{}", limits.temporary_bytes), "--tmpfs", "/tmp"}));
}

TEST_F(HostScriptTest, AnOldBubblewrapRunsItWithoutALimitOnTmp) {
  bubblewrap.help = "    --tmpfs DEST    Mount new tmpfs on DEST\n";
  ASSERT_TRUE(run().ok());
  EXPECT_THAT(bubblewrap.last.arguments, ::testing::Not(Contains("--size")));
  EXPECT_THAT(bubblewrap.last.arguments, Contains("--tmpfs"));
}

// A hostile script in the real bubblewrap; as root these run too, whom RLIMIT_NPROC doesn't bind.
class LimitedHostScript : public HostScriptTest {
 protected:
  void SetUp() override {
    if (std::system("bwrap --version >/dev/null 2>&1 && python3 --version >/dev/null 2>&1") != 0)
      GTEST_SKIP() << "bubblewrap or Python isn't installed here";
  }

  // Its error. Empty, and the test is skipped: bubblewrap can't run here.
  Error ended(const std::string& script) {
    kube["scripts/pre-install.py"] = "import subprocess\n" + script;
    HostProcessRunner real;
    HostScripts confined{files, real, events, temp.path() / "state", temp.path() / "cache", limits};
    auto made = confined.run(
        {"./shop", "subprocess", kube, "{}"},
        [](const package::HostScript&, const crypto::Digest&) { return Status(); }, Context());
    if (made.ok()) {
      ADD_FAILURE() << "it ended well";
      return {};
    }
    return std::move(made).error();
  }
  static bool cannot_run(const Error& failure) {
    return failure.because.find("namespace") != std::string::npos;
  }

  HostScriptLimits limits;
};

TEST_F(LimitedHostScript, AForkBombEnds) {
  limits.threads = 40;
  const Error failure =
      ended("import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n");
  if (cannot_run(failure)) GTEST_SKIP() << failure.because;
  EXPECT_THAT(failure.message, HasSubstr("more processes and threads than it may"));
  EXPECT_THAT(failure.because, HasSubstr("40 of them at once"));
}

// As daemons do, to get rid of their parent.
TEST_F(LimitedHostScript, ProcessesWithoutAParentCount) {
  limits.threads = 20;
  const Error failure = ended(R"(
import os, time
for _ in range(100):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    os.wait()
time.sleep(600)
)");
  if (cannot_run(failure)) GTEST_SKIP() << failure.because;
  EXPECT_THAT(failure.message, HasSubstr("more processes and threads than it may"));
}

TEST_F(LimitedHostScript, AMemoryHogEnds) {
  limits.memory_bytes = std::uint64_t{64} << 20;
  const Error failure = ended("kept = []\nwhile True:\n    kept.append(b'x' * (1 << 20))\n");
  if (cannot_run(failure)) GTEST_SKIP() << failure.because;
  EXPECT_THAT(failure.message, HasSubstr("more memory than it may"));
  EXPECT_THAT(failure.because, HasSubstr("64 MiB"));
}

TEST_F(LimitedHostScript, ABusyLoopEnds) {
  limits.processor_time = std::chrono::seconds(1);
  const Error failure = ended("while True:\n    pass\n");
  if (cannot_run(failure)) GTEST_SKIP() << failure.because;
  EXPECT_THAT(failure.message, HasSubstr("more processor time than it may"));
  EXPECT_THAT(failure.because, HasSubstr("1 s"));
}

TEST_F(LimitedHostScript, TheFilesInTmpAreLimitedTogether) {
  if (std::system("bwrap --help 2>&1 | grep -q -e '--size '") != 0)
    GTEST_SKIP() << "the bubblewrap of this machine can't limit a tmpfs";
  limits.temporary_bytes = std::uint64_t{1} << 20;
  const Error failure = ended("for i in range(40):\n    open(f'/tmp/{i}', 'w').write('x' * 100_000)\n");
  if (cannot_run(failure)) GTEST_SKIP() << failure.because;
  EXPECT_THAT(failure.because, HasSubstr("No space left on device"));
}

TEST_F(HostScriptTest, TheEnvironmentHereIsNotGivenToBubblewrap) {
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(bubblewrap.last.environment, BaseEnvironment::Empty);
  ASSERT_EQ(bubblewrap.last.env.size(), 1U);
  EXPECT_EQ(bubblewrap.last.env.begin()->first, "PATH");
}

// Process 1 of the sandbox is bubblewrap, which is started here.
TEST_F(HostScriptTest, AScriptReadsNoVariableOfThisMachine) {
  if (std::system("bwrap --version >/dev/null 2>&1 && python3 --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "bubblewrap or Python isn't installed here";
  kube["scripts/pre-install.py"] = R"(
import glob, subprocess
seen = b""
for path in glob.glob("/proc/[0-9]*/environ"):
    with open(path, "rb") as file:
        seen += file.read() + b"\0"
with open("manifests/seen", "wb") as file:
    file.write(seen)
)";
  ASSERT_EQ(::setenv("MIST_TEST_TOKEN", "environment-secret", 1), 0);
  HostProcessRunner real;
  HostScripts confined{files, real, events, temp.path() / "state", temp.path() / "cache"};
  const auto made = confined.run(
      {"./shop", "subprocess", kube, "{}"},
      [](const package::HostScript&, const crypto::Digest&) { return Status(); }, Context());
  ::unsetenv("MIST_TEST_TOKEN");
  if (!made.ok() && made.error().because.find("namespace") != std::string::npos)
    GTEST_SKIP() << "no namespaces here: " << made.error().because;
  ASSERT_TRUE(made.ok()) << made.error().to_line() << made.error().because;
  const std::string& seen = made->at("manifests/seen");
  EXPECT_THAT(seen, HasSubstr("PATH="));
  EXPECT_THAT(seen, ::testing::Not(HasSubstr("environment-secret")));
}

TEST_F(HostScriptTest, ConsentIsForExactlyTheseBytes) {
  ASSERT_TRUE(run().ok());
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(asked, 1) << "it is remembered";
  kube["scripts/helper.py"] = "evil";
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(asked, 2) << "a file beside the script counts";
}

TEST_F(HostScriptTest, WithoutConsentNothingRuns) {
  allows = false;
  EXPECT_EQ(run().error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(run().error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(asked, 2) << "a no isn't remembered as a yes";
  EXPECT_EQ(bubblewrap.runs, 0);
}

TEST_F(HostScriptTest, NeedsBubblewrap) {
  bubblewrap.is_there = false;
  const auto failed = run();
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("without bubblewrap"));
  EXPECT_THAT(failed.error().hint, HasSubstr("install"));
}

TEST_F(HostScriptTest, AFailureHasTheScriptsWords) {
  bubblewrap.result = {.exit_code = 1, .out = "", .err = "Traceback\n\x1b[31mno"};
  const auto failed = run();
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().because, HasSubstr("Traceback\n"));
  EXPECT_THAT(failed.error().because, ::testing::Not(HasSubstr("\x1b")));
}

TEST_F(HostScriptTest, ALinkOutOfManifestsIsNotFollowed) {
  bubblewrap.link = "/etc/passwd";
  const auto failed = run();
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("leads out of the package"));
}

}  // namespace
}  // namespace mist::action
