#include "catalog/trial_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/bubblewrap.h"
#include "catalog/trial_messages.h"
#include "package/installation_fault.h"
#include "testing/temp_dir.h"

namespace mist::catalog {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Says what a process would, which part it is.
class FakeProcesses final : public ProcessRunner {
 public:
  using Process = std::function<Result<ProcessResult>(const TrialRequest&, const Command&, const Context&)>;
  Result<ProcessResult> run(const Command& command, const Context& context) override {
    const auto request = TrialRequest::from_line(command.input);
    EXPECT_TRUE(request.ok());
    commands.push_back(command);
    parts.push_back(request->part);
    return process(*request, command, context);
  }

  std::vector<Command> commands;
  std::vector<TrialPart> parts;
  Process process;
};

class TrialProcessTest : public ::testing::Test {
 protected:
  TrialProcessTest() {
    paths_.engines = dir_.path() / "engines";
    paths_.schemas = dir_.path() / "schemas";
    job_.digest = blobs_.put("the package")->str();
    const Path kubeconfig = dir_.path() / "kubeconfig";
    EXPECT_TRUE(files_
                    .write(kubeconfig,
                           "{apiVersion: v1, kind: Config, current-context: c, "
                           "contexts: [{name: c, context: {cluster: c, user: u}}], "
                           "clusters: [{name: c, cluster: {server: 'https://localhost:1', "
                           "certificate-authority: ca.crt}}], "
                           "users: [{name: u, user: {tokenFile: /run/token}}]}")
                    .ok());
    cluster_.kubeconfig = kubeconfig.string();
  }
  TrialDependencies dependencies() {
    return {.files = files_,
            .processes = fake_,
            .clock = clock_,
            .random = random_,
            .blobs = blobs_,
            .paths = paths_,
            .engines = {},
            .types = {},
            .connect = {},
            .directory = dir_.path() / "work",
            .instance = "test"};
  }
  TrialReport report() {
    return {.step =
                [this](const Step& step) {
                  steps_.push_back(step);
                  return Status();
                },
            .nodes = [](TestNodes) { return Status(); },
            .objects = [](const VersionObjects&) { return Status(); },
            .warn = [this](const std::string& text) { warnings_.push_back(text); }};
  }
  Result<bool> run(TrialPart part, const Context& context = Context()) {
    const TrialDependencies made = dependencies();
    TrialProcesses processes(made, fake_, {.program = "/usr/bin/mistletoe-catalog", .version = "1"});
    return processes.run(part, job_, Duration::zero(), cluster_, report(), context);
  }
  static ProcessResult ended(int code, std::string err = {}, std::optional<TreeLimit> limit = {}) {
    return {.exit_code = code, .out = {}, .err = std::move(err), .exceeded = limit};
  }
  // It began a step, and ended there.
  static FakeProcesses::Process ended_in(std::string step, const ProcessResult& result) {
    return [step = std::move(step), result](const TrialRequest& request, const Command& command,
                                            const Context&) -> Result<ProcessResult> {
      command.on_stdout(hello_line(request.program));
      if (request.part == TrialPart::Removal) {
        command.on_stdout(end_line(true));
        return ProcessResult{};
      }
      command.on_stdout("{\"began\":\"" + step + "\"}\n");
      return result;
    };
  }

  testing::TempDir dir_;
  HostFileSystem files_;
  FakeProcesses fake_;
  SystemClock clock_;
  SystemRandom random_;
  config::Paths paths_;
  FileBlobs blobs_{files_, dir_.path() / "blobs"};
  Job job_{.id = 7, .attempt = 1, .holder = "w", .package = "etcd", .version = "1.0.0"};
  TrialCluster cluster_;
  std::vector<Step> steps_;
  std::vector<std::string> warnings_;
};

TEST_F(TrialProcessTest, HandsOnWhatTheProcessFindsAndLeavesNoFiles) {
  fake_.process = [this](const TrialRequest& request, const Command& command,
                         const Context&) -> Result<ProcessResult> {
    const FileBlobs given(files_, dir_.path() / "work" / "job-7-1");
    EXPECT_EQ(given.get(*crypto::Digest::parse(request.job.digest)).value_or(""), "the package");
    command.on_stdout(hello_line(request.program));
    const TrialReport tell = report_by([&](const std::string& line) {
      command.on_stdout(line);
      return Status();
    });
    (void)tell.step({.name = "lint", .summary = "fine"});
    command.on_stdout(end_line(true));
    return ProcessResult{};
  };
  const auto passed = run(TrialPart::Offline);
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_TRUE(*passed);
  ASSERT_EQ(steps_.size(), 1u);
  EXPECT_EQ(steps_[0].name, "lint");
  EXPECT_THAT(files_.list(dir_.path() / "work").value_or({}), IsEmpty());
}

TEST_F(TrialProcessTest, StepsWithoutAClusterHaveNeitherNetworkNorCredentials) {
  fake_.process = ended_in("lint", ended(1));
  (void)run(TrialPart::Offline);
  (void)run(TrialPart::OnCluster);
  ASSERT_EQ(fake_.commands.size(), 2u);
  const Command& offline = fake_.commands[0];
  EXPECT_EQ(offline.program, "bwrap");
  EXPECT_EQ(offline.environment, BaseEnvironment::Empty);
  EXPECT_THAT(offline.arguments, Not(Contains("--share-net")));
  EXPECT_THAT(offline.arguments, Not(Contains(cluster_.kubeconfig)));
  EXPECT_THAT(offline.input, Not(HasSubstr(cluster_.kubeconfig)));
  const Command& online = fake_.commands[1];
  EXPECT_THAT(online.arguments, Contains("--share-net"));
  for (const std::string& each :
       {cluster_.kubeconfig, (dir_.path() / "ca.crt").string(), std::string("/run/token")})
    EXPECT_THAT(online.arguments, Contains(each));
  // Nothing of the catalog's own places: neither its database nor its caches.
  for (const Command& each : fake_.commands) {
    EXPECT_THAT(each.arguments, Not(Contains((dir_.path() / "blobs").string())));
    EXPECT_THAT(each.arguments, Not(Contains("--bind")));
    EXPECT_TRUE(each.tree.threads && each.tree.memory_bytes && each.tree.processor_time);
  }
}

TEST_F(TrialProcessTest, AProcessOverALimitFailsTheStepThatItWasIn) {
  fake_.process = ended_in("pre-install", ended(137, {}, TreeLimit::Memory));
  const auto passed = run(TrialPart::Offline);
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_FALSE(*passed);
  ASSERT_EQ(steps_.size(), 1u);
  EXPECT_EQ(steps_[0].name, "pre-install");
  EXPECT_EQ(steps_[0].state, StepState::Failed);
  EXPECT_EQ(steps_[0].summary, "it was ended: it used more than 3072 MiB of memory");
  EXPECT_THAT(steps_[0].log, HasSubstr("no network"));
}

TEST_F(TrialProcessTest, WhatAProcessOverALimitLeftOnTheClusterIsRemoved) {
  fake_.process = ended_in("install", ended(137, {}, TreeLimit::Threads));
  const auto passed = run(TrialPart::OnCluster);
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_FALSE(*passed);
  EXPECT_THAT(fake_.parts, ElementsAre(TrialPart::OnCluster, TrialPart::Removal));
  ASSERT_EQ(steps_.size(), 1u);
  EXPECT_EQ(steps_[0].summary, "it was ended: it had more than 512 processes and threads");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(TrialProcessTest, AProcessThatDiesByItselfIsTriedAgain) {
  fake_.process = ended_in("lint", ended(139, "it crashed\n"));
  const auto passed = run(TrialPart::Offline);
  ASSERT_FALSE(passed.ok());
  EXPECT_EQ(passed.error().detail<package::InstallationFault>(), nullptr);
  EXPECT_THAT(passed.error().to_line(), HasSubstr("139, in the step lint (it crashed)"));
  EXPECT_THAT(steps_, IsEmpty());
}

TEST_F(TrialProcessTest, ASandboxThatCannotBeMadeBlamesNoPackage) {
  fake_.process = [](const TrialRequest&, const Command&, const Context&) -> Result<ProcessResult> {
    return ended(1, "bwrap: No permissions\n");
  };
  auto passed = run(TrialPart::Offline);
  ASSERT_FALSE(passed.ok());
  EXPECT_NE(passed.error().detail<package::InstallationFault>(), nullptr);
  fake_.process = [](const TrialRequest&, const Command&, const Context&) -> Result<ProcessResult> {
    return error(ErrorKind::NotFound, "no bwrap");
  };
  passed = run(TrialPart::Offline);
  ASSERT_FALSE(passed.ok());
  EXPECT_NE(passed.error().detail<package::InstallationFault>(), nullptr);
}

TEST_F(TrialProcessTest, APackageThatFillsTheDiskFails) {
  fake_.process = [](const TrialRequest& request, const Command& command,
                     const Context&) -> Result<ProcessResult> {
    command.on_stdout(hello_line(request.program));
    command.on_stdout(end_line(error(ErrorKind::Retryable, "cannot write /tmp/catalog/x")));
    return ProcessResult{};
  };
  const auto passed = run(TrialPart::Offline);
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_FALSE(*passed);
  EXPECT_THAT(steps_.at(0).summary, HasSubstr("a test has 1024 MiB for files"));
}

TEST_F(TrialProcessTest, AProcessThatLiesFailsItsPackage) {
  fake_.process = [](const TrialRequest& request, const Command& command,
                     const Context& context) -> Result<ProcessResult> {
    command.on_stdout(hello_line(request.program) + "I passed!\n");
    EXPECT_FALSE(context.check().ok()) << "it is stopped";
    return ProcessResult{};
  };
  const auto passed = run(TrialPart::Offline);
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_FALSE(*passed);
  EXPECT_THAT(steps_.at(0).summary, HasSubstr("no message"));
}

TEST_F(TrialProcessTest, AStoppedWorkerGetsNoResult) {
  std::stop_source stop;
  fake_.process = [&](const TrialRequest& request, const Command& command,
                      const Context& context) -> Result<ProcessResult> {
    command.on_stdout(hello_line(request.program));
    stop.request_stop();
    EXPECT_FALSE(context.check().ok()) << "the process is told";
    EXPECT_GT(command.farewell.value(), std::chrono::minutes(1)) << "it removes what it made";
    command.on_stdout(end_line(error(ErrorKind::Cancelled, "stopped")));
    return ProcessResult{};
  };
  const auto passed = run(TrialPart::OnCluster, Context(stop.get_token()));
  ASSERT_FALSE(passed.ok());
  EXPECT_EQ(passed.error().kind, ErrorKind::Cancelled);
  EXPECT_THAT(steps_, IsEmpty());
}

TEST_F(TrialProcessTest, AKubeconfigThatCannotBeReadIsAFaultOfTheCluster) {
  cluster_.kubeconfig = (dir_.path() / "gone").string();
  const auto passed = run(TrialPart::OnCluster);
  ASSERT_FALSE(passed.ok());
  EXPECT_NE(passed.error().detail<ClusterFault>(), nullptr);
  EXPECT_THAT(fake_.commands, IsEmpty());
}

// Real processes in the real sandbox: a script stands for the program.
class RealTrialProcess : public TrialProcessTest {
 protected:
  void SetUp() override {
    const Status possible = check_sandboxes(processes_, Context());
    if (!possible.ok()) GTEST_SKIP() << "no sandboxes here: " << possible.error().to_line();
    for (const Path& each : {paths_.engines, paths_.schemas}) ASSERT_TRUE(files_.make_directories(each).ok());
  }
  // `script` runs in the step "lint".
  Result<bool> run_script(const std::string& script, const TrialLimits& limits,
                          const Context& context = Context()) {
    const Path program = dir_.path() / "program";
    EXPECT_TRUE(files_
                    .write(program,
                           "#!/bin/sh\nread -r request\necho '{\"hello\":\"1\"}'\necho "
                           "'{\"began\":\"lint\"}'\n" +
                               script,
                           {.mode = 0755})
                    .ok());
    const TrialDependencies made = dependencies();
    TrialProcesses processes(made, processes_, {.program = program, .version = "1", .limits = limits});
    return processes.run(TrialPart::Offline, job_, Duration::zero(), {}, report(), context);
  }
  void expect_ended(const Result<bool>& passed, const std::string& why) {
    ASSERT_TRUE(passed.ok()) << passed.error().to_line();
    EXPECT_FALSE(*passed);
    ASSERT_EQ(steps_.size(), 1u);
    EXPECT_EQ(steps_[0].name, "lint");
    EXPECT_THAT(steps_[0].summary, HasSubstr(why));
  }

  HostProcessRunner processes_;
};

TEST_F(RealTrialProcess, SeesItsPackageAndSaysHowItEnded) {
  const std::string hex = job_.digest.substr(job_.digest.find(':') + 1);
  const auto passed = run_script(fmt::format("grep -q 'the package' {}/{}/{} && echo '{{\"passed\":true}}'\n",
                                             kTrialPackages, hex.substr(0, 2), hex),
                                 {});
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_TRUE(*passed);
}

TEST_F(RealTrialProcess, AHungryProcessIsEndedInTheSandbox) {
  expect_ended(run_script("head -c 400000000 /dev/zero | tail\n", {.memory_bytes = 100 << 20}),
               "it used more than 100 MiB of memory");
  steps_.clear();
  expect_ended(run_script("while :; do sleep 1000 & done\n", {.tasks = 40}),
               "it had more than 40 processes and threads");
}

TEST_F(RealTrialProcess, EndsWithItsWorker) {
  std::stop_source stop;
  const std::jthread stopping([&] {
    while (!files_.exists(dir_.path() / "work" / "job-7-1")) std::this_thread::yield();
    stop.request_stop();
  });
  const auto passed = run_script("while read -r more; do :; done; exit 0\n", {}, Context(stop.get_token()));
  ASSERT_FALSE(passed.ok());
  EXPECT_EQ(passed.error().kind, ErrorKind::Cancelled);
}

}  // namespace
}  // namespace mist::catalog
