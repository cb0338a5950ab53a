#include "registry/git.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

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

TEST(Git, AFailureNamesTheSubcommandAndNoSetting) {
  testing::WatchedRunner runner;
  runner.before = [](const Command&) {
    return Result<ProcessResult>(
        ProcessResult{.exit_code = 128, .out = {}, .err = "fatal: '/r' does not exist"});
  };
  const GitUrl file = url("/r");
  const auto failed = Git(runner).run({.arguments = {"fetch", "origin"},
                                       .repository = {},
                                       .remote = &file,
                                       .input = {},
                                       .settings = {"fetch.negotiationAlgorithm=noop"}},
                                      Context());
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "git could not fetch from file:///r");
  EXPECT_THAT(failed.error().hint, HasSubstr("git ls-remote"));
  EXPECT_TRUE(testing::WatchedRunner::has(runner.commands.back(), "fetch.negotiationAlgorithm=noop"));
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

TEST(Git, OneThatDoesNotKeepToJudgedAddressesGoesToNoRepositoryOfStrangers) {
  testing::WatchedRunner runner;
  const GitUrl named = url("https://git.example.com/r");
  const auto limited =
      named.limited_to_public([](const std::string&) { return std::vector<std::string>{"1.1.1.1"}; });
  ASSERT_TRUE(limited.ok());
  const auto fetched = [&](const GitUrl& remote, const std::string& version) {
    runner.commands.clear();
    runner.before = [&](const Command& command) {
      const bool asks = testing::WatchedRunner::has(command, "version");
      return Result<ProcessResult>(ProcessResult{.exit_code = 0, .out = asks ? version : "", .err = {}});
    };
    const auto result = Git(runner).run(
        {.arguments = {"fetch"}, .repository = {}, .remote = &remote, .input = {}}, Context());
    EXPECT_EQ(testing::WatchedRunner::has(runner.commands.back(), "fetch"), result.ok());
    EXPECT_TRUE(result.ok() || result.error().kind == ErrorKind::Forbidden);
    return result.ok();
  };
  for (const char* version : {"git version 2.37.0\n", "git version 2.39.5 (Apple Git-154)\n",
                              "git version 2.45.1.windows.1\n", "git version 3.0.0-rc1\n"})
    EXPECT_TRUE(fetched(*limited, version)) << version;
  for (const char* version :
       {"git version 2.36.6\n", "git version 2.9.1\n", "git version 1.99.0\n", "git version two\n", ""})
    EXPECT_FALSE(fetched(*limited, version)) << version;
  EXPECT_TRUE(fetched(named, "git version 2.30.2\n")) << "the user named it";
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
  EXPECT_NE(fetched.error().detail<FetchTooLarge>(), nullptr);
  EXPECT_THAT(fetched.error().hint, HasSubstr("4 GiB"));
  const auto limit_of = [&](std::uint64_t wanted) {
    (void)Git(runner, {.largest_pack = 1000})
        .run({.arguments = {"fetch"}, .repository = {}, .remote = &remote, .input = {}, .file_limit = wanted},
             Context());
    return runner.commands.back().file_limit;
  };
  EXPECT_EQ(limit_of(10), 10u);
  EXPECT_EQ(limit_of(5000), 1000u);
}

// So that the limit of one file is that of all.
TEST(Git, AFetchWritesOnePackHoweverFewObjectsItBrings) {
  mist::testing::TempDir dir;
  const testing::Upstream upstream(dir.path() / "upstream");
  upstream.put("a.yaml", "a: 1\n");
  (void)upstream.commit();
  testing::WatchedRunner runner;
  const Path repository = dir.path() / "copy.git";
  const GitUrl remote = url("file://" + (dir.path() / "upstream").string());
  ASSERT_TRUE(
      Git(runner)
          .run({.arguments = {"init", "--quiet", "--bare"}, .repository = repository, .input = {}}, Context())
          .ok());
  const auto fetched = Git(runner).run({.arguments = {"fetch", "--quiet", remote.text(), "HEAD:refs/tip"},
                                        .repository = repository,
                                        .remote = &remote,
                                        .input = {}},
                                       Context());
  ASSERT_TRUE(fetched.ok()) << fetched.error().to_line();
  for (const auto& each : std::filesystem::directory_iterator(repository / "objects"))
    EXPECT_THAT(each.path().filename().string(), ::testing::AnyOf("info", "pack"));
  EXPECT_FALSE(std::filesystem::is_empty(repository / "objects/pack"));
}

// git's own words for a pack that reached the limit, which is lower here.
TEST(Git, SaysThatAFetchIsTooLarge) {
  mist::testing::TempDir dir;
  const testing::Upstream upstream(dir.path() / "upstream");
  std::string noise;
  for (std::uint64_t i = 0, state = 1; i < 300'000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    noise.push_back(static_cast<char>(state >> 56));
  }
  upstream.put("noise", noise);
  (void)upstream.commit();
  testing::WatchedRunner runner;
  runner.before = [](const Command& command) -> std::optional<Result<ProcessResult>> {
    Command limited = command;
    if (limited.file_limit) limited.file_limit = 100'000;
    return HostProcessRunner().run(limited, Context());
  };
  const Path repository = dir.path() / "copy.git";
  const GitUrl remote = url("file://" + (dir.path() / "upstream").string());
  ASSERT_TRUE(
      Git(runner)
          .run({.arguments = {"init", "--quiet", "--bare"}, .repository = repository, .input = {}}, Context())
          .ok());
  const auto fetched = Git(runner).run({.arguments = {"fetch", "--quiet", remote.text(), "HEAD:refs/tip"},
                                        .repository = repository,
                                        .remote = &remote,
                                        .input = {}},
                                       Context());
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().kind, ErrorKind::Invalid) << fetched.error().to_line();
  EXPECT_THAT(fetched.error().hint, HasSubstr("larger than it may be"));
}

TEST(Git, SaysThatItHadTooLittleTimeOrMemory) {
  const GitUrl remote = url("https://h/r");
  const auto fails_with = [&](int code, std::string words) {
    testing::WatchedRunner runner;
    runner.before = [&](const Command&) -> std::optional<Result<ProcessResult>> {
      return Result<ProcessResult>(ProcessResult{.exit_code = code, .out = {}, .err = words});
    };
    const auto fetched = Git(runner).run(
        {.arguments = {"fetch"}, .repository = {}, .remote = &remote, .input = {}}, Context());
    EXPECT_THAT(fetched.error().hint, HasSubstr("processor time or memory")) << words;
    return fetched.error().kind;
  };
  EXPECT_EQ(fails_with(128, "error: index-pack died of signal 24\n"), ErrorKind::Invalid);
  EXPECT_EQ(fails_with(128 + SIGXCPU, ""), ErrorKind::Invalid);
  EXPECT_EQ(fails_with(128, "fatal: Out of memory, malloc failed\n"), ErrorKind::Internal);
  EXPECT_EQ(fails_with(128, "fatal: mmap failed: Cannot allocate memory\n"), ErrorKind::Internal);
}

}  // namespace
}  // namespace mist::registry
