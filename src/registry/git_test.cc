#include "registry/git.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/git_fixture.h"

namespace mist::registry {
namespace {

using ::testing::HasSubstr;

GitUrl url(std::string_view text) { return *GitUrl::parse(text, "/"); }

TEST(GitFailure, TellsTheKindsApart) {
  const std::pair<std::string_view, ErrorKind> cases[] = {
      {"fatal: Authentication failed for 'https://h/'", ErrorKind::Forbidden},
      {"fatal: could not read Username for 'https://h': terminal prompts disabled", ErrorKind::Forbidden},
      {"git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.",
       ErrorKind::Forbidden},
      {"Host key verification failed.", ErrorKind::Forbidden},
      {"fatal: unable to access 'https://h/': Could not resolve host: h", ErrorKind::Retryable},
      {"fatal: unable to access 'https://h/': The requested URL returned error: 503", ErrorKind::Retryable},
      {"fatal: the remote end hung up unexpectedly\nfatal: early EOF", ErrorKind::Retryable},
      {"fatal: repository 'https://h/x/' not found", ErrorKind::NotFound},
      {"fatal: '/x' does not appear to be a git repository", ErrorKind::NotFound},
      {"fatal: transport 'ext' not allowed", ErrorKind::Invalid},
      {"fatal: bad object", ErrorKind::Internal},
  };
  for (const auto& [text, kind] : cases) EXPECT_EQ(git_failure("fetch", text).kind, kind) << text;
}

TEST(GitFailure, IsSafeToShow) {
  const Error failure = git_failure("fetch", "fatal: unable to access 'https://me:hunter2@h/'\x1b[2J");
  EXPECT_THAT(failure.because, HasSubstr("https://***@h/"));
  EXPECT_EQ(failure.to_line().find("hunter2"), std::string::npos);
  EXPECT_EQ(failure.to_line().find('\x1b'), std::string::npos);
}

TEST(Git, LetsEachCallTalkToItsRemoteOnly) {
  testing::WatchedRunner runner;
  runner.before = [](const Command&) { return Result<ProcessResult>(ProcessResult{}); };
  const Git git(runner);
  const auto protocols_of = [&](const GitUrl* remote) {
    EXPECT_TRUE(
        git.run({.arguments = {"x"}, .repository = {}, .remote = remote, .input = {}}, Context()).ok());
    return *runner.commands.back().env["GIT_ALLOW_PROTOCOL"];
  };
  const GitUrl https = url("https://h/r"), file = url("/r"), loopback = url("http://127.0.0.1/r");
  EXPECT_EQ(protocols_of(&https), "https:ssh");
  EXPECT_EQ(protocols_of(&file), "file");
  EXPECT_EQ(protocols_of(&loopback), "http");
  EXPECT_EQ(protocols_of(nullptr), "none");
  EXPECT_EQ(runner.commands.back().env["GIT_TERMINAL_PROMPT"], "0");
  EXPECT_EQ(runner.commands.back().env["GIT_DIR"], std::nullopt);
  EXPECT_TRUE(testing::WatchedRunner::has(runner.commands.back(), "core.hooksPath=/dev/null"));
}

TEST(Git, ReadsNobodysSettingsForWhatIsHere) {
  testing::WatchedRunner runner;
  runner.before = [](const Command&) { return Result<ProcessResult>(ProcessResult{}); };
  const auto env_of = [&](const GitUrl* remote) {
    EXPECT_TRUE(Git(runner)
                    .run({.arguments = {"x"}, .repository = {}, .remote = remote, .input = {}}, Context())
                    .ok());
    return runner.commands.back().env;
  };
  auto local = env_of(nullptr);
  EXPECT_EQ(local["GIT_CONFIG_GLOBAL"], "/dev/null");
  EXPECT_EQ(local["GIT_CONFIG_NOSYSTEM"], "1");
  EXPECT_TRUE(local.contains("GIT_CONFIG_COUNT"));
  EXPECT_EQ(local["GIT_CONFIG_COUNT"], std::nullopt);
  // Credential helpers and proxies are in there.
  const GitUrl https = url("https://h/r");
  EXPECT_FALSE(env_of(&https).contains("GIT_CONFIG_GLOBAL"));
}

TEST(Git, AsksNothingAndTimesOut) {
  testing::WatchedRunner runner;
  runner.before = [](const Command&) -> std::optional<Result<ProcessResult>> {
    return Result<ProcessResult>(error(ErrorKind::Timeout, "the deadline passed"));
  };
  const GitUrl remote = url("https://u:hunter2@h/r");
  const auto result =
      Git(runner).run({.arguments = {"fetch"}, .repository = {}, .remote = &remote, .input = {}}, Context());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Timeout);
  EXPECT_FALSE(result.error().hint.empty());
  EXPECT_EQ(result.error().to_line().find("hunter2"), std::string::npos);
}

TEST(Git, SaysWhenItIsNotInstalled) {
  testing::WatchedRunner runner;
  runner.before = [](const Command& command) -> std::optional<Result<ProcessResult>> {
    Command missing = command;
    missing.program = "mist-no-such-git";
    return HostProcessRunner().run(missing, Context());
  };
  const auto result = Git(runner).run({.arguments = {"version"}, .repository = {}, .input = {}}, Context());
  EXPECT_EQ(result.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(result.error().hint, HasSubstr("install"));
}

TEST(Git, BoundsWhatARemoteMayMakeItWrite) {
  testing::WatchedRunner runner;
  runner.before = [](const Command&) -> std::optional<Result<ProcessResult>> {
    return Result<ProcessResult>(
        ProcessResult{.exit_code = 128,
                      .out = {},
                      .err = "error: index-pack died of signal 25\nfatal: fetch-pack: invalid"});
  };
  const GitUrl remote = url("https://h/r");
  const auto fetched =
      Git(runner).run({.arguments = {"fetch"}, .repository = {}, .remote = &remote, .input = {}}, Context());
  EXPECT_EQ(runner.commands.back().file_limit, std::uint64_t{4} << 30);
  EXPECT_EQ(fetched.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(fetched.error().hint, HasSubstr("4 GiB"));
}

}  // namespace
}  // namespace mist::registry
