#include "catalog/trial_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stop_token>

#include "base/storage_fault.h"
#include "base/text.h"
#include "catalog/catalog_database.h"
#include "catalog/sql_account_store.h"
#include "catalog/sql_store.h"
#include "catalog/sql_task_store.h"
#include "catalog/token.h"
#include "catalog/trial_messages.h"
#include "kube/kubeconfig.h"
#include "package/installation_fault.h"
#include "testing/fake_clock.h"
#include "testing/fake_cluster.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"
#include "testing/yaml.h"

namespace mist::catalog {
namespace {

using namespace std::chrono_literals;
using encoding::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Each sleep is a turn of what goes on meanwhile, in the cluster and in the Pod.
class ClockOfTurns final : public Clock {
 public:
  WallTime now() const override { return clock_.now(); }
  SteadyTime steady_now() const override { return clock_.steady_now(); }
  BootTime boot_now() const override { return clock_.boot_now(); }
  bool sleep(Duration duration, std::stop_token stop) override {
    clock_.sleep(duration, {});
    ++turns;
    if (turn) turn(turns);
    return !stop.stop_requested();
  }
  void advance(Duration duration) { clock_.advance(duration); }

  std::function<void(int)> turn;
  int turns = 0;

 private:
  mist::testing::FakeClock clock_;
};

class TrialJobsTest : public ::testing::Test {
 protected:
  TrialJobsTest() {
    EXPECT_TRUE(accounts_->add("ann", Role::Author, "").ok());
    EXPECT_TRUE(store_
                    ->add_project({.name = "etcd",
                                   .owner = "ann",
                                   .url = "https://git.example.com/etcd",
                                   .webhook_secret = SecretString("s")})
                    .ok());
    NewVersion version{.package = "etcd", .version = "1.0.0", .tag = "v1", .commit = std::string(40, 'a')};
    version.digest = crypto::sha256("the package").str();
    EXPECT_TRUE(store_->submit(version).ok());
    job_ = **store_->lease("w1", 30s);
    cluster_.put(mist::testing::yaml("{apiVersion: v1, kind: Namespace, metadata: {name: jobs}}"));
  }
  TrialDependencies dependencies() {
    return {.files = files_,
            .processes = programs_,
            .clock = clock_,
            .random = random_,
            .blobs = blobs_,
            .paths = {},
            .engines = {},
            .types = {},
            .connect = {},
            .directory = dir_.path() / "work",
            .instance = "abc"};
  }
  TrialJobs jobs_by(const TrialDependencies& made) {
    return TrialJobs(made, *tasks_, cluster_, events_,
                     {.ns = "jobs",
                      .image = "registry.example.com/catalog:1",
                      .url = "https://c.example",
                      .kubeconfig = [] { return SecretString("the kubeconfig"); },
                      .version = "1"});
  }
  Context context() { return Context(stop_.get_token()).with_clock(clock_); }
  Result<bool> run() {
    const TrialDependencies made = dependencies();
    const TrialReport report{.step =
                                 [this](const Step& step) {
                                   steps_.push_back(step.name);
                                   return Status();
                                 },
                             .nodes = [](TestNodes) { return Status(); },
                             .objects = [](const VersionObjects&) { return Status(); },
                             .warn = [](const std::string&) {}};
    steps_.clear();
    return jobs_by(made).run(job_, report, context());
  }
  std::optional<Value> live() const { return cluster_.find("Job.batch", "jobs", name()); }
  std::string name() const { return fmt::format("catalog-abc-{}", job_.id); }
  // As the Pod does, with the token of its Secret.
  void say(const std::string& text, bool is_last) {
    const auto secret = cluster_.find("Secret", "jobs", name());
    ASSERT_TRUE(secret);
    const std::string token = secret_value(*secret, "token");
    const auto task = *tasks_->of_token(token_digest(token));
    ASSERT_TRUE(task);
    ASSERT_TRUE(tasks_->add_piece(task->token, task->pieces, text, is_last).ok());
  }
  static std::string secret_value(const Value& secret, std::string_view key) {
    const std::string_view plain = secret.string_at({"stringData", key});
    if (!plain.empty()) return std::string(plain);
    std::string bytes;
    EXPECT_TRUE(base64_decode(secret.string_at({"data", key}), bytes));
    return bytes;
  }
  std::string step(const std::string& name) const {
    std::string line;
    (void)report_by([&](const std::string& text) {
      line = text;
      return Status();
    }).step({.name = name});
    return line;
  }
  void end_job(const std::string& condition, const std::string& reason) {
    cluster_.set_status(
        {{"batch", "Job"}, "jobs", name()},
        mist::testing::yaml(
            fmt::format("{{conditions: [{{type: {}, status: 'True', reason: {}}}]}}", condition, reason)));
  }
  // The worker was killed; another one leases its job when the term is over.
  void lease_again() {
    clock_.advance(31s);
    job_ = **store_->lease("w2", 30s);
  }

  mist::testing::TempDir dir_;
  ClockOfTurns clock_;
  SystemRandom random_;
  HostFileSystem files_;
  HostProcessRunner programs_;
  mist::testing::RecordedEvents events_;
  mist::testing::FakeCluster cluster_;
  const std::shared_ptr<SqlConnections> connections_ = *open_sqlite(dir_.path() / "a.db");
  const std::unique_ptr<AccountStore> accounts_ = account_store_in(connections_, clock_, random_);
  const std::unique_ptr<Store> store_ = *open_store(connections_, clock_, random_);
  const std::unique_ptr<TaskStore> tasks_ = task_store_in(connections_);
  FileBlobs blobs_{files_, dir_.path() / "blobs"};
  std::stop_source stop_;
  Job job_;
  std::vector<std::string> steps_;
};

TEST_F(TrialJobsTest, AJobIsResumedOnceItsSecretIsThereAndGoesWhenItHasSaidEverything) {
  clock_.turn = [this](int turn) {
    if (turn == 1) {
      ASSERT_TRUE(live());
      EXPECT_FALSE(live()->is_true_at({"spec", "suspend"}));
      const auto secret = cluster_.find("Secret", "jobs", name());
      ASSERT_TRUE(secret);
      EXPECT_EQ(secret_value(*secret, "url"), "https://c.example");
      EXPECT_EQ(secret_value(*secret, "kubeconfig"), "the kubeconfig");
      EXPECT_EQ(live()->find("metadata")->find("uid")->as_string(),
                secret->find("metadata")->find("ownerReferences")->as_array()[0].string_at("uid"));
      say(hello_line("1") + step("lint"), false);
    }
    if (turn == 2) say(step("install") + end_line(true), true);
  };
  const auto passed = run();
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_TRUE(*passed);
  EXPECT_THAT(steps_, ElementsAre("lint", "install"));
  EXPECT_FALSE(live());
  std::vector<std::string> writes;
  for (const auto& call : cluster_.calls())
    if (call.writes()) writes.push_back(call.verb + " " + call.key.group_kind.kind);
  EXPECT_THAT(writes, ElementsAre("create Job", "create Secret", "patch Job", "delete Job"));
}

TEST_F(TrialJobsTest, NoTokenIsInTheJob) {
  std::string text, token;
  clock_.turn = [&](int) {
    text = encoding::to_json(*live());
    token = secret_value(*cluster_.find("Secret", "jobs", name()), "token");
    say(hello_line("1") + end_line(false), true);
  };
  const auto passed = run();
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_FALSE(*passed);
  ASSERT_THAT(token, HasSubstr("mct_"));
  EXPECT_THAT(text, Not(HasSubstr(token)));
  EXPECT_THAT(text, Not(HasSubstr("the kubeconfig")));
}

TEST_F(TrialJobsTest, AJobThatIsDeletedOrFailsGivesTheTestBackWithTheReason) {
  clock_.turn = [this](int) { cluster_.drop({{"batch", "Job"}, "jobs", name()}); };
  auto passed = run();
  ASSERT_FALSE(passed.ok());
  EXPECT_THAT(passed.error().to_line(), HasSubstr("was deleted before the test ended"));
  EXPECT_EQ(passed.error().detail<ClusterFault>(), nullptr) << "it counts as an attempt";
  cluster_.drop({{"", "Secret"}, "jobs", name()});
  lease_again();
  clock_.turn = [this](int) {
    cluster_.put(
        mist::testing::yaml(fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: jobs, "
                                        "labels: {{mistletoe.dev/catalog: abc, "
                                        "mistletoe.dev/catalog-task: '{}'}}}}, spec: {{containers: [{{name: "
                                        "test, image: i}}]}}, status: {{phase: "
                                        "Failed, reason: Evicted, message: 'The node was low on memory'}}}}",
                                        job_.id)));
    end_job("Failed", "BackoffLimitExceeded");
  };
  passed = run();
  ASSERT_FALSE(passed.ok());
  EXPECT_THAT(passed.error().to_line(), HasSubstr("ended before the test did"));
  EXPECT_THAT(passed.error().because, HasSubstr("BackoffLimitExceeded: Evicted: The node was low on memory"));
}

TEST_F(TrialJobsTest, TheWordsOfAPodThatEndedAtOnceCount) {
  clock_.turn = [this](int) {
    say(hello_line("1") + end_line(true), true);
    end_job("Complete", "CompletionsReached");
  };
  const auto passed = run();
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_TRUE(*passed);
}

TEST_F(TrialJobsTest, AnotherWorkerGoesOnWithTheJobOfOneThatWasKilled) {
  clock_.turn = [this](int) {
    say(hello_line("1") + step("lint"), false);
    stop_.request_stop();
  };
  ASSERT_FALSE(run().ok());
  ASSERT_TRUE(live()) << "it runs on";
  const std::string uid(live()->string_at({"metadata", "uid"}));
  stop_ = std::stop_source();
  lease_again();
  EXPECT_EQ(job_.attempt, 2);
  cluster_.clear_calls();
  clock_.turn = [&](int) {
    EXPECT_EQ(live()->string_at({"metadata", "uid"}), uid);
    say(step("install") + end_line(true), true);
  };
  const auto passed = run();
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_TRUE(*passed);
  EXPECT_THAT(steps_, ElementsAre("lint", "install")) << "from its beginning";
  EXPECT_EQ(cluster_.count("create"), 0U);
  EXPECT_TRUE(events_.has("of an earlier worker"));
}

TEST_F(TrialJobsTest, HoweverManyWorkersAreKilledTheResultOfThePodCounts) {
  clock_.turn = [this](int) {
    if (job_.attempt == 1) say(hello_line("1") + step("lint"), false);
    stop_.request_stop();
  };
  for (int killed = 0; killed < 2 * Store::kMostAttempts; ++killed) {
    ASSERT_FALSE(run().ok());
    stop_ = std::stop_source();
    lease_again();
    EXPECT_EQ(job_.counted_attempts(), 1);
  }
  say(step("install") + end_line(true), true);
  clock_.turn = nullptr;
  const auto passed = run();
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_TRUE(*passed);
  EXPECT_THAT(steps_, ElementsAre("lint", "install"));
  EXPECT_TRUE(store_->finish(job_, *passed).ok());
}

TEST_F(TrialJobsTest, FailuresOfJobsAreAttemptsThoughTheirTasksAreThere) {
  clock_.turn = [this](int) { cluster_.drop({{"batch", "Job"}, "jobs", name()}); };
  for (int attempt = 1; attempt <= Store::kMostAttempts; ++attempt) {
    EXPECT_EQ(job_.counted_attempts(), attempt);
    ASSERT_FALSE(run().ok());
    EXPECT_TRUE(*tasks_->of_job(job_.id));
    cluster_.drop({{"", "Secret"}, "jobs", name()});
    ASSERT_TRUE(store_->retry_after(job_, 5s).ok());
    EXPECT_FALSE(*store_->lease("w2", 30s)) << "it rests";
    clock_.advance(6s);
    job_ = **store_->lease("w2", 30s);
  }
}

TEST_F(TrialJobsTest, APodWhoseWordsKillWorkersFailsInTheEnd) {
  clock_.turn = [this](int) { stop_.request_stop(); };
  ASSERT_FALSE(run().ok());
  std::optional<Job> again;
  int leases = 0;
  do {
    clock_.advance(31s);
    again = *store_->lease("w2", 30s);
    ++leases;
  } while (again && leases < 100);
  EXPECT_EQ(leases, Store::kMostExcused + Store::kMostAttempts);
  EXPECT_EQ((*store_->version("etcd", "1.0.0"))->state, VersionState::Failed);
}

TEST_F(TrialJobsTest, WhatAPodSaidWhileNoWorkerWasThereIsKeptThoughItsJobIsGone) {
  clock_.turn = [this](int) {
    say(hello_line("1") + step("lint") + end_line(true), true);
    cluster_.drop({{"batch", "Job"}, "jobs", name()});
    stop_.request_stop();
  };
  ASSERT_FALSE(run().ok());
  stop_ = std::stop_source();
  lease_again();
  cluster_.clear_calls();
  const auto passed = run();
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_TRUE(*passed);
  EXPECT_THAT(steps_, ElementsAre("lint"));
  EXPECT_EQ(cluster_.count("create"), 0U);
}

TEST_F(TrialJobsTest, ANewJobWaitsForThePodsOfTheEarlierOne) {
  // A worker was killed before it had resumed its Job; and of a Job before that, a Pod is still ending.
  clock_.turn = nullptr;
  cluster_.put(
      trial_job_object({.name = name(), .ns = "jobs", .image = "i", .instance = "abc", .job = job_.id}));
  cluster_.put(
      mist::testing::yaml(fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: jobs, "
                                      "labels: {{mistletoe.dev/catalog: abc, "
                                      "mistletoe.dev/catalog-task: '{}'}}}}, spec: {{containers: [{{name: "
                                      "test, image: i}}]}}, status: {{phase: "
                                      "Running}}}}",
                                      job_.id)));
  auto passed = run();
  ASSERT_FALSE(passed.ok());
  EXPECT_NE(passed.error().detail<HeldByAnotherTest>(), nullptr) << passed.error().to_line();
  EXPECT_EQ(cluster_.count("create"), 0U);
  clock_.turn = [this, before = clock_.turns](int turn) {
    if (turn == before + 1)
      cluster_.set_status({{"", "Pod"}, "jobs", "p"}, mist::testing::yaml("{phase: Succeeded}"));
    if (live()) say(hello_line("1") + end_line(true), true);
  };
  passed = run();
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_EQ(cluster_.count("create"), 2U);
}

TEST_F(TrialJobsTest, APodThatSaysNonsenseFails) {
  clock_.turn = [this](int) { say("{\"passed\":true}\n", false); };
  const auto passed = run();
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_FALSE(*passed);
  EXPECT_THAT(steps_, ElementsAre("worker"));
  EXPECT_FALSE(live());
}

TEST_F(TrialJobsTest, AnErrorOfThePodIsNoResultOfTheNextAttempt) {
  clock_.turn = [this](int) {
    say(hello_line("1") + end_line(error(ErrorKind::Retryable, "no room")), true);
  };
  EXPECT_THAT(run().error().to_line(), HasSubstr("no room"));
  EXPECT_FALSE(*tasks_->of_job(job_.id));
}

TEST_F(TrialJobsTest, LastWordsOfAPodThatWasToldToEndAreNoResultOfTheNextAttempt) {
  clock_.turn = [this](int) { stop_.request_stop(); };
  ASSERT_FALSE(run().ok());
  // Its Job was deleted while no worker was there.
  say(hello_line("1") + end_line(error(ErrorKind::Cancelled, "stopped on request")), true);
  cluster_.drop({{"batch", "Job"}, "jobs", name()});
  cluster_.drop({{"", "Secret"}, "jobs", name()});
  stop_ = std::stop_source();
  lease_again();
  clock_.turn = [this](int) { say(hello_line("1") + end_line(true), true); };
  auto passed = run();
  ASSERT_TRUE(passed.ok()) << passed.error().to_line();
  EXPECT_TRUE(*passed);
}

TEST_F(TrialJobsTest, APodThatIsToldToEndGivesTheTestBack) {
  clock_.turn = [this](int) {
    say(hello_line("1") + end_line(error(ErrorKind::Cancelled, "stopped on request")), true);
  };
  const auto passed = run();
  ASSERT_FALSE(passed.ok());
  EXPECT_EQ(passed.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(passed.error().message, HasSubstr("was told to end"));
}

TEST_F(TrialJobsTest, APodThatNeverBeginsIsNobodysFaultAndGoes) {
  clock_.turn = [this](int turn) {
    if (turn == 1)
      cluster_.put(
          mist::testing::yaml(fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: "
                                          "jobs, labels: {{mistletoe.dev/catalog: "
                                          "abc, mistletoe.dev/catalog-task: '{}'}}}}, spec: {{containers: "
                                          "[{{name: test, image: i}}]}}, status: "
                                          "{{phase: Pending, containerStatuses: [{{name: test, state: "
                                          "{{waiting: {{reason: ErrImagePull, message: "
                                          "no such image}}}}}}]}}}}",
                                          job_.id)));
  };
  const auto passed = run();
  ASSERT_FALSE(passed.ok());
  EXPECT_NE(passed.error().detail<ClusterFault>(), nullptr) << passed.error().to_line();
  EXPECT_THAT(passed.error().to_line(), HasSubstr("didn't begin in time"));
  EXPECT_EQ(passed.error().because, "ErrImagePull: no such image");
  EXPECT_TRUE(events_.has("its Pod doesn't run yet: ErrImagePull: no such image"));
  EXPECT_FALSE(live());
}

TEST_F(TrialJobsTest, NothingThatAPodSaysStopsTheQueue) {
  for (const std::string& words :
       {hello_line("2"),
        hello_line("1") + end_line(error(ErrorKind::Invalid, "a").with_detail(package::InstallationFault())),
        hello_line("1") + end_line(error(ErrorKind::Retryable, "b").with_detail(ClusterFault())),
        hello_line("1") + end_line(error(ErrorKind::Conflict, "c").with_detail(HeldByAnotherTest())),
        hello_line("1") + end_line(error(ErrorKind::Retryable, "d").with_detail(StorageFault()))}) {
    clock_.turn = [&](int) {
      if (live()) say(words, true);
    };
    const auto passed = run();
    ASSERT_FALSE(passed.ok()) << words;
    const Error& failure = passed.error();
    EXPECT_NE(failure.detail<SaidByPod>(), nullptr) << failure.to_line();
    EXPECT_EQ(failure.detail<package::InstallationFault>(), nullptr) << failure.to_line();
    EXPECT_EQ(failure.detail<ClusterFault>(), nullptr) << failure.to_line();
    EXPECT_EQ(failure.detail<HeldByAnotherTest>(), nullptr) << failure.to_line();
    EXPECT_FALSE(is_storage_fault(failure)) << failure.to_line();
    EXPECT_FALSE(live());
    EXPECT_FALSE(*tasks_->of_job(job_.id)) << "another attempt is a new Job";
    cluster_.drop({{"", "Secret"}, "jobs", name()});
    ASSERT_TRUE(store_->give_back(job_, Duration::zero()).ok());
    job_ = **store_->lease("w2", 30s);
  }
}

TEST_F(TrialJobsTest, AnImageOfAnotherVersionIsAFaultOfTheInstallation) {
  int code = kAnotherProgram;
  clock_.turn = [&](int) {
    cluster_.put(mist::testing::yaml(fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: jobs, labels: {{mistletoe.dev/catalog: "
        "abc, "
        "mistletoe.dev/catalog-task: '{}'}}}}, spec: {{containers: [{{name: test, image: i}}]}}, status: "
        "{{phase: "
        "Failed, initContainerStatuses: [{{name: program, state: {{terminated: {{exitCode: {}}}}}}}]}}}}",
        job_.id, code)));
    if (live()) end_job("Failed", "BackoffLimitExceeded");
  };
  const auto passed = run();
  ASSERT_FALSE(passed.ok());
  EXPECT_NE(passed.error().detail<package::InstallationFault>(), nullptr) << passed.error().to_line();
  EXPECT_THAT(passed.error().message, HasSubstr("registry.example.com/catalog:1"));
  cluster_.drop({{"", "Secret"}, "jobs", name()});
  code = 137;
  lease_again();
  const auto killed = run();
  ASSERT_FALSE(killed.ok());
  EXPECT_EQ(killed.error().detail<package::InstallationFault>(), nullptr) << "it says nothing of the image";
}

TEST_F(TrialJobsTest, JobsThatNobodyWaitsForGoAlsoIfTheirClusterWasAway) {
  clock_.turn = [this](int) { stop_.request_stop(); };
  ASSERT_FALSE(run().ok());
  ASSERT_TRUE(live());
  stop_ = std::stop_source();
  bool is_away = true;
  cluster_.set_before([&](const mist::testing::FakeCall&) -> std::optional<Error> {
    if (is_away) return error(ErrorKind::Retryable, "the cluster is away");
    return std::nullopt;
  });
  clock_.turn = [&, before = clock_.turns](int turn) {
    if (turn == before + 2) is_away = false;
    if (turn == before + 3) {
      EXPECT_TRUE(live()) << "its test goes on";
      ASSERT_TRUE(store_->finish(job_, false).ok());
    }
    if (turn == before + 4) stop_.request_stop();
  };
  const TrialDependencies made = dependencies();
  jobs_by(made).remove_left_again_and_again(context());
  EXPECT_FALSE(live());
  EXPECT_TRUE(events_.has("1 Job of an earlier worker"));
  EXPECT_TRUE(events_.has("the cluster is away"));
}

TEST_F(TrialJobsTest, AClusterThatRefusesJobsIsNobodysFault) {
  cluster_.set_before([](const mist::testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "create") return error(ErrorKind::Forbidden, "you can't create jobs");
    return std::nullopt;
  });
  const auto passed = run();
  ASSERT_FALSE(passed.ok());
  EXPECT_NE(passed.error().detail<ClusterFault>(), nullptr);
}

TEST(TrialJobObject, IsRestrictedAndLimited) {
  const Value job = trial_job_object({.name = "n",
                                      .ns = "jobs",
                                      .image = "i",
                                      .program = "1.0 abc",
                                      .instance = "abc",
                                      .job = 7,
                                      .deadline = 90s,
                                      .farewell = 30s});
  EXPECT_EQ(job.int_at({"spec", "backoffLimit"}, -1), 0);
  EXPECT_EQ(job.int_at({"spec", "activeDeadlineSeconds"}), 90);
  EXPECT_GT(job.int_at({"spec", "ttlSecondsAfterFinished"}), 0);
  const Value& pod = *job.find("spec")->find("template")->find("spec");
  EXPECT_FALSE(pod.find("automountServiceAccountToken")->as_bool());
  EXPECT_EQ(pod.string_at("restartPolicy"), "Never");
  EXPECT_EQ(pod.int_at("terminationGracePeriodSeconds"), 30);
  EXPECT_TRUE(pod.is_true_at({"securityContext", "runAsNonRoot"}));
  EXPECT_EQ(pod.string_at({"securityContext", "seccompProfile", "type"}), "RuntimeDefault");
  const Value& check = pod.find("initContainers")->as_array()[0];
  EXPECT_EQ(check.texts_at("command"),
            (std::vector<std::string>{"mistletoe-catalog", kIsProgramVerb, "1.0 abc"}));
  EXPECT_TRUE(check.is_true_at({"securityContext", "readOnlyRootFilesystem"}));
  EXPECT_EQ(check.find("volumeMounts"), nullptr) << "it has nothing of the test";
  const Value& container = pod.find("containers")->as_array()[0];
  EXPECT_TRUE(container.is_true_at({"securityContext", "readOnlyRootFilesystem"}));
  EXPECT_FALSE(container.find("securityContext")->find("allowPrivilegeEscalation")->as_bool());
  EXPECT_EQ(container.string_at({"resources", "limits", "memory"}), "3221225472");
  EXPECT_EQ(container.string_at({"resources", "limits", "cpu"}), "2");
}

TEST(SelfContainedKubeconfig, HoldsWhatTheFilesOfTheOriginalHave) {
  mist::testing::TempDir dir;
  HostFileSystem files;
  const auto write = [&](const char* name, std::string_view text) {
    EXPECT_TRUE(files.write(dir.path() / name, std::string(text)).ok());
  };
  write("ca.crt", "the roots");
  write("token", "the token\n");
  const auto config = [](std::string_view user) {
    return fmt::format(
        "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: {{cluster: c, "
        "user: "
        "u}}}}], clusters: [{{name: c, cluster: {{server: 'https://tests:6443', certificate-authority: "
        "ca.crt}}}}], users: [{{name: u, user: {}}}]}}",
        user);
  };
  write("config", config("{tokenFile: token}"));
  const auto made = self_contained_kubeconfig(files, {.kubeconfig = (dir.path() / "config").string()});
  ASSERT_TRUE(made.ok()) << made.error().to_line();
  write("made", made->reveal());
  const auto read = kube::Kubeconfig::load({.paths = {dir.path() / "made"}, .must_exist = true}, files);
  ASSERT_TRUE(read.ok()) << read.error().to_line();
  const auto context = read->resolve("");
  ASSERT_TRUE(context.ok()) << context.error().to_line();
  EXPECT_EQ(context->cluster.server, "https://tests:6443");
  EXPECT_EQ(context->cluster.ca_pem, "the roots");
  EXPECT_EQ(context->user.token.reveal(), "the token");
  EXPECT_TRUE(context->user.token_file.empty());
  write("config", config("{exec: {apiVersion: client.authentication.k8s.io/v1, command: get-token, "
                         "interactiveMode: Never}}"));
  const auto refused = self_contained_kubeconfig(files, {.kubeconfig = (dir.path() / "config").string()});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Usage);
  EXPECT_THAT(refused.error().message, HasSubstr("get-token"));
}

}  // namespace
}  // namespace mist::catalog
