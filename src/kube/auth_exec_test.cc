#include "kube/auth_exec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "encoding/json.h"
#include "testing/fake_clock.h"
#include "testing/recorded_events.h"

namespace mist::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ScriptedRunner final : public ProcessRunner {
 public:
  Result<ProcessResult> answer = ProcessResult{};
  std::vector<Command> commands;
  std::string said_early;  // while the plugin goes on
  Result<ProcessResult> run(const Command& command, const Context&) override {
    commands.push_back(command);
    if (!said_early.empty()) command.on_stderr(said_early);
    return answer;
  }
};

// A person who takes long to log in: answers when they are done, or when the plugin is killed.
class SlowRunner final : public ProcessRunner {
 public:
  std::latch begun{1}, done{1};
  std::atomic<int> runs = 0, killed = 0;
  std::atomic<bool> limited = false;
  Result<ProcessResult> run(const Command&, const Context& context) override {
    limited = context.deadline().has_value();
    if (runs++ == 0) begun.count_down();
    while (!done.try_wait()) {
      if (Status go_on = context.check(); !go_on) {
        ++killed;
        return std::move(go_on).error();
      }
      std::this_thread::sleep_for(1ms);
    }
    return ProcessResult{
        .exit_code = 0,
        .out =
            R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"one"}})",
        .err = {}};
  }
};

class ExecTest : public ::testing::Test {
 protected:
  ExecTest() {
    exec.api_version = "client.authentication.k8s.io/v1";
    exec.command = "login";
    exec.arguments = {"get-token"};
    exec.env = {{"REGION", "eu"}};
    cluster.server = "https://h:6443";
  }
  void says(std::string_view status) {
    runner.answer = ProcessResult{
        .exit_code = 0,
        .out = fmt::format(
            R"({{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{}}})",
            status),
        .err = {}};
  }
  ExecCredentials source(bool terminal = false) {
    return ExecCredentials(exec, "alice", cluster, ca, {}, {runner, clock, events, terminal});
  }

  ExecEntry exec;
  ClusterEntry cluster;
  std::string ca_file = "CA";
  ScriptedRunner runner;
  testing::FakeClock clock;  // 2026-03-01T09:30:00Z
  testing::RecordedEvents events;
  std::shared_ptr<ClusterCa> ca =
      std::make_shared<ClusterCa>([this]() -> Result<std::string> { return ca_file; }, ca_file, clock);
};

TEST_F(ExecTest, RunsOnceUntilTheTokenExpires) {
  says(R"({"token":"one","expirationTimestamp":"2026-03-01T10:00:00Z"})");
  ExecCredentials credentials = source();
  EXPECT_EQ(credentials.get({})->authorization->reveal(), "Bearer one");
  EXPECT_EQ(credentials.get({})->authorization->reveal(), "Bearer one");
  EXPECT_EQ(runner.commands.size(), 1u);
  clock.advance(30min);
  says(R"({"token":"two"})");
  EXPECT_EQ(credentials.get({})->authorization->reveal(), "Bearer two");
  clock.advance(24h * 365);
  EXPECT_TRUE(credentials.get({}).ok());
  EXPECT_EQ(runner.commands.size(), 2u) << "without expirationTimestamp it is good until refused";
}

TEST_F(ExecTest, RunsAgainAfterARefusalButOnlyOfWhatItGave) {
  says(R"({"token":"one"})");
  ExecCredentials credentials = source();
  const Credential rejected = *credentials.get({});
  says(R"({"token":"two"})");
  EXPECT_TRUE(credentials.refresh(rejected));
  EXPECT_EQ(credentials.get({})->authorization->reveal(), "Bearer two");
  EXPECT_TRUE(credentials.refresh(rejected));
  EXPECT_EQ(credentials.get({})->authorization->reveal(), "Bearer two");
  EXPECT_EQ(runner.commands.size(), 2u);
}

TEST_F(ExecTest, TellsThePluginWhatItMayKnow) {
  says(R"({"token":"one"})");
  ASSERT_TRUE(source().get({}).ok());
  const Command& plain = runner.commands[0];
  EXPECT_EQ(plain.program, "login");
  EXPECT_EQ(plain.arguments, std::vector<std::string>{"get-token"});
  EXPECT_EQ(plain.env.at("REGION"), "eu");
  EXPECT_EQ(
      *plain.env.at("KUBERNETES_EXEC_INFO"),
      R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false}})");
  exec.provide_cluster_info = true;
  cluster.exec_extension = encoding::Value::object({{"audience", "x"}});
  ASSERT_TRUE(source(true).get({}).ok());
  const auto info = encoding::parse_json(*runner.commands[1].env.at("KUBERNETES_EXEC_INFO"));
  EXPECT_TRUE(info->at_path({"spec", "interactive"})->as_bool());
  EXPECT_EQ(info->string_at({"spec", "cluster", "server"}), "https://h:6443");
  EXPECT_EQ(info->string_at({"spec", "cluster", "certificate-authority-data"}), "Q0E=");
  EXPECT_EQ(info->string_at({"spec", "cluster", "config", "audience"}), "x");
  EXPECT_TRUE(runner.commands[1].inherit_stderr);
}

TEST_F(ExecTest, APluginThatRunsAgainGetsTheAuthorityOfNow) {
  exec.provide_cluster_info = true;
  says(R"({"token":"one"})");
  ExecCredentials credentials = source();
  const auto first = credentials.get({});
  ASSERT_TRUE(first.ok());
  ca_file = "new CA";
  EXPECT_TRUE(ca->refresh("CA")) << "the transport met a server that it doesn't trust";
  EXPECT_TRUE(credentials.refresh(*first));
  ASSERT_TRUE(credentials.get({}).ok());
  ASSERT_EQ(runner.commands.size(), 2u);
  const auto info = encoding::parse_json(*runner.commands[1].env.at("KUBERNETES_EXEC_INFO"));
  EXPECT_EQ(info->string_at({"spec", "cluster", "certificate-authority-data"}), "bmV3IENB");
}

TEST_F(ExecTest, GivesClientCertificates) {
  says(R"({"clientCertificateData":"CERT","clientKeyData":"KEY"})");
  ExecCredentials credentials = source();
  const auto credential = credentials.get({});
  EXPECT_EQ(credential->client_certificate_pem, "CERT");
  EXPECT_EQ(credential->client_key_pem.reveal(), "KEY");
  EXPECT_FALSE(credential->authorization);
}

TEST_F(ExecTest, FailureShowsThePluginsWords) {
  runner.answer = ProcessResult{.exit_code = 3, .out = "s3cret", .err = "please log in\x1b[31m\n"};
  const auto failed = source().get({});
  EXPECT_EQ(failed.error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(failed.error().message, "the credential plugin login failed with exit code 3");
  EXPECT_EQ(failed.error().because, "please log in\\x1b[31m");
  EXPECT_THAT(failed.error().to_line(), HasSubstr("for the user \"alice\""));
}

TEST_F(ExecTest, MissingPluginShowsTheInstallHint) {
  exec.install_hint = "brew install login";
  runner.answer = error(ErrorKind::NotFound, "cannot run login");
  const auto failed = source().get({});
  EXPECT_EQ(failed.error().hint, "brew install login");
  EXPECT_THAT(failed.error().message, HasSubstr("not installed"));
}

TEST_F(ExecTest, NoAnswerOfAPluginGetsIntoAnError) {
  for (
      const std::string_view out :
      {"", "s3cret", "{\"s3cret\":1}",
       R"({"kind":"ExecCredential","apiVersion":"v1","status":{"token":"s3cret"}})",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{}})",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"})",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"clientKeyData":"s3cret"}})",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"s3cret","expirationTimestamp":"soon"}})",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"s3cret\n"}})"}) {
    runner.answer = ProcessResult{.exit_code = 0, .out = std::string(out), .err = {}};
    const auto failed = source().get({});
    if (failed.ok()) {
      EXPECT_THAT(out, HasSubstr("\\n")) << "only a newline at the end is forgiven";
      continue;
    }
    EXPECT_EQ(failed.error().kind, ErrorKind::Forbidden) << out;
    EXPECT_THAT(failed.error().to_line(), Not(HasSubstr("s3cret")));
  }
}

TEST_F(ExecTest, InteractivePluginNeedsATerminal) {
  exec.interactive = Interactive::Always;
  says(R"({"token":"one"})");
  EXPECT_THAT(source(false).get({}).error().message, HasSubstr("not a terminal"));
  EXPECT_TRUE(runner.commands.empty());
  EXPECT_TRUE(source(true).get({}).ok());
}

TEST_F(ExecTest, WordsOfAPluginThatSucceededAreShown) {
  says(R"({"token":"one"})");
  runner.answer->err = "token is from a cache\n";
  ASSERT_TRUE(source().get({}).ok());
  EXPECT_THAT(events.messages, ElementsAre("login: token is from a cache"));
}

TEST_F(ExecTest, WordsThatWereShownAreNotSaidAgainInTheError) {
  runner.said_early = "open the page\n";
  runner.answer = ProcessResult{.exit_code = 3, .out = {}, .err = "open the page\nnobody came\n"};
  const auto failed = source().get({});
  EXPECT_EQ(failed.error().because, "nobody came");
  EXPECT_THAT(events.messages, ElementsAre("login: open the page"));
}

TEST_F(ExecTest, WordsThatNobodySawAreInTheError) {
  NullEventSink nowhere;
  runner.said_early = "open the page\n";
  runner.answer = ProcessResult{.exit_code = 3, .out = {}, .err = "open the page\nnobody came\n"};
  ExecCredentials credentials(exec, "alice", cluster, ca, {}, {runner, clock, nowhere});
  EXPECT_EQ(credentials.get({}).error().because, "open the page\nnobody came");
  runner.answer = error(ErrorKind::Timeout, "the time is up");
  EXPECT_EQ(credentials.get({}).error().because, "open the page");
}

TEST_F(ExecTest, APluginThatHangsIsNamedAndEnded) {
  HostProcessRunner processes;
  exec.command = "sleep";
  exec.arguments = {"1000"};
  ExecCredentials credentials(
      exec, "alice", cluster, ca, {},
      {.processes = processes, .clock = clock, .events = events, .limit = 1s, .announce_after = 50ms});
  const auto failed = credentials.get(Context().with_timeout(1min));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(failed.error().message, "the credential plugin sleep gave no credentials within 1.0s");
  EXPECT_THAT(failed.error().hint, HasSubstr("run sleep by itself"));
  EXPECT_THAT(events.activities,
              ElementsAre("waiting for the credential plugin sleep of the user \"alice\""));
}

TEST_F(ExecTest, APluginThatIsQuickIsNotAnnounced) {
  says(R"({"token":"one"})");
  ASSERT_TRUE(source().get({}).ok());
  EXPECT_THAT(events.activities, ::testing::IsEmpty());
}

TEST_F(ExecTest, WhoGivesUpDoesNotEndALoginThatOthersWaitFor) {
  SlowRunner slow;
  ExecCredentials credentials(exec, "alice", cluster, ca, {}, {slow, clock, events});
  const auto gave_up = credentials.get(Context().with_timeout(50ms));
  ASSERT_FALSE(gave_up.ok());
  EXPECT_EQ(gave_up.error().kind, ErrorKind::Timeout);
  EXPECT_THAT(gave_up.error().to_line(), HasSubstr("waiting for the credential plugin login of the user"));
  std::jthread other([&] { EXPECT_EQ(credentials.get({})->authorization->reveal(), "Bearer one"); });
  slow.begun.wait();
  EXPECT_EQ(credentials.get(Context().with_timeout(20ms)).error().kind, ErrorKind::Timeout);
  slow.done.count_down();
  other.join();
  EXPECT_TRUE(credentials.get({}).ok());
  EXPECT_EQ(slow.runs, 1);
  EXPECT_EQ(slow.killed, 0);
}

TEST_F(ExecTest, APersonHasAllTimeButMayStop) {
  class Watched final : public EventSink {
   public:
    std::vector<std::string> messages;
    std::atomic<bool> spoken = false;
    void message(const Message& event) override {
      messages.push_back(event.text);
      spoken = true;
    }
    void began(const ActivityBegan& event) override {
      ADD_FAILURE() << "a picture that moves wipes out the plugin's prompt: " << event.text;
    }
    void ended(const ActivityEnded&) override {}
    void object(const ObjectProgress&) override {}
  };
  SlowRunner slow;
  Watched seen;
  exec.interactive = Interactive::IfAvailable;
  std::stop_source ctrl_c;
  {
    ExecCredentials credentials(
        exec, "alice", cluster, ca, {},
        {slow, clock, seen, /*interactive_terminal=*/true, /*limit=*/1ms, /*announce_after=*/1ms});
    std::jthread person([&] {
      slow.begun.wait();
      for (int i = 0; i < 10000 && !seen.spoken; ++i) std::this_thread::sleep_for(1ms);
      ctrl_c.request_stop();
    });
    EXPECT_EQ(credentials.get(Context(ctrl_c.get_token())).error().kind, ErrorKind::Cancelled);
    EXPECT_FALSE(slow.limited);
    EXPECT_EQ(slow.killed, 0);
  }
  EXPECT_EQ(slow.killed, 1) << "the plugin ends with the program";
  EXPECT_THAT(seen.messages, ElementsAre("waiting for the credential plugin login of the user \"alice\""));
}

TEST(ParseRfc3339, KnowsZonesAndFractions) {
  const auto expected = parse_rfc3339("2026-03-01T09:30:00Z");
  ASSERT_TRUE(expected);
  EXPECT_EQ(format_time(*expected), "2026-03-01T09:30:00Z");
  EXPECT_EQ(parse_rfc3339("2026-03-01T10:30:00+01:00"), expected);
  EXPECT_GT(parse_rfc3339("9999-12-31T23:59:59Z"), expected) << "never";
  EXPECT_EQ(parse_rfc3339("2026-03-01t08:00:00.123456-01:30"), expected);
  for (const std::string_view bad :
       {"", "2026-03-01", "2026-02-30T00:00:00Z", "2026-03-01T09:30:00", "2026-03-01T09:30:00.Z",
        "2026-03-01T25:00:00Z", "2026-03-01T09:30:00+1"})
    EXPECT_FALSE(parse_rfc3339(bad)) << bad;
}

}  // namespace
}  // namespace mist::kube
