// The commands on clusters, whole, against a cluster in memory: what they print, and that it is as
// schemas/cli says.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <stop_token>

#include "base/handle.h"
#include "base/text.h"
#include "cli/commands.h"
#include "encoding/json.h"
#include "encoding/schema.h"
#include "testing/api_refusal.h"
#include "testing/client_with_logs.h"
#include "testing/fake_cluster.h"
#include "testing/fake_machine.h"
#include "testing/source_dir.h"
#include "testing/umask.h"
#include "testing/yaml.h"

namespace mist::cli {
namespace {

using encoding::Value;
using ::testing::HasSubstr;
using ::testing::Not;

struct ClusterCommands : ::testing::Test {
  ClusterCommands() {
    fake.machine.connect = [this](const ClusterChoice&, Machine&) -> Result<std::unique_ptr<kube::Client>> {
      return std::unique_ptr<kube::Client>(cluster.client_for("mistctl"));
    };
    manifest(R"({apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "1"}})"
             "\n---\n"
             R"({apiVersion: v1, kind: Secret, metadata: {name: key}, stringData: {password: hunter2}})");
  }
  void manifest(std::string_view text) { ASSERT_TRUE(fake.files.write(package / "all.yaml", text).ok()); }

  ExitCode run(const std::vector<std::string>& args) { return fake.run(args, command_table()); }

  Value printed(std::vector<std::string> args, std::string_view schema_name, const std::string& flag = "-o") {
    args.insert(args.end(), {flag, "json"});
    EXPECT_EQ(run(args), ExitCode::Ok) << fake.err.take();
    const auto value = encoding::parse_json(fake.out.take());
    EXPECT_TRUE(value.ok());
    const Path path = testing::source_dir() / "schemas/cli" / fmt::format("{}.schema.json", schema_name);
    const auto schema = encoding::Schema::compile(*encoding::parse_json(*fake.files.read(path)));
    EXPECT_TRUE(schema.ok()) << schema.error().to_line();
    for (const encoding::SchemaIssue& issue : schema->validate(*value))
      ADD_FAILURE() << schema_name << ": " << issue.message;
    return *value;
  }

  testing::FakeCluster cluster;
  testing::FakeMachine fake;
  const Path package = fake.home.path() / "package";
};

TEST_F(ClusterCommands, PrintWhatTheirSchemasSay) {
  printed({"inspect", "package", package.string()}, "inspect-package");
  printed({"engines", "list"}, "engines-list");
  EXPECT_EQ(
      printed({"install", "web", "-p", package.string(), "--dry-run"}, "deploy").find("dryRun")->as_bool(),
      true);
  EXPECT_EQ(printed({"install", "web", "-p", package.string()}, "deploy").find("objects")->size(), 2u);
  EXPECT_EQ(printed({"upgrade", "web"}, "deploy").find("changed")->as_bool(), false);
  EXPECT_EQ(printed({"diff", "web"}, "diff").find("changes")->as_bool(), false);
  EXPECT_EQ(printed({"diff", "new", "-p", package.string()}, "diff").find("objects")->size(), 2u);
  EXPECT_EQ(printed({"list", "-A"}, "list").find("releases")->size(), 1u);
  EXPECT_EQ(printed({"status", "web"}, "status").string_at("status"), "deployed");
  EXPECT_EQ(printed({"graph", "web"}, "graph").find("nodes")->size(), 2u);
  printed({"inspect", "release", "web"}, "inspect-release");
  printed({"inspect", "release", "web", "--revision", "v0"}, "inspect-release");
  manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}");
  printed({"upgrade", "web"}, "deploy");
  EXPECT_EQ(printed({"rollback", "web", "--dry-run"}, "deploy").find("restores")->as_int(), 0);
  EXPECT_EQ(printed({"rollback", "web", "v0"}, "deploy").find("revision")->as_int(), 2);
  EXPECT_EQ(printed({"recover", "web"}, "recover").string_at("outcome"), "nothing");
  EXPECT_EQ(printed({"history", "web"}, "history").find("revisions")->size(), 3u);
  printed({"uninstall", "web", "--dry-run"}, "uninstall");
  printed({"uninstall", "web", "--yes"}, "uninstall");
  EXPECT_EQ(printed({"list"}, "list").find("releases")->size(), 0u);
}

TEST_F(ClusterCommands, InspectOneRevisionItsValuesOrItsObjects) {
  const auto said = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"inspect", "release", "web"});
    EXPECT_EQ(run(args), ExitCode::Ok) << fake.err.take();
    return fake.out.take();
  };
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}");
  ASSERT_EQ(run({"upgrade", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  (void)fake.out.take();
  EXPECT_EQ(said({"--only", "values"}), "{}\n");
  EXPECT_THAT(said({"--only", "manifest"}), HasSubstr("name: two"));
  const std::string before = said({"--only", "manifest", "--revision", "v0"});
  EXPECT_THAT(before, AllOf(HasSubstr("name: one"), HasSubstr("'***'"), Not(HasSubstr("aHVudGVyMg=="))));
  EXPECT_THAT(said({"--only", "manifest", "--revision", "v0", "--show-secrets"}), HasSubstr("aHVudGVyMg=="));
  EXPECT_THAT(said({"--revision", "v0"}), AllOf(HasSubstr("name: one"), Not(HasSubstr("name: two"))));
  EXPECT_EQ(run({"inspect", "release", "web", "--revision", "7"}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(),
              HasSubstr("release default/web has no revision v7, or it is not kept any more"));
  EXPECT_EQ(run({"inspect", "release", "web", "--only", "notes"}), ExitCode::Usage);
  EXPECT_EQ(run({"inspect", "release", "web", "--revision", "newest"}), ExitCode::Usage);
}

// Standard output of this process goes into a file while it lives.
class StdoutInto {
 public:
  explicit StdoutInto(const Path& file) : before_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::dup2(fd.get(), STDOUT_FILENO), STDOUT_FILENO);
  }
  StdoutInto(const StdoutInto&) = delete;
  StdoutInto& operator=(const StdoutInto&) = delete;
  ~StdoutInto() { ::dup2(before_.get(), STDOUT_FILENO); }

 private:
  UniqueFd before_;
};

// The lines of stderr, each checked against schemas/events.schema.json.
struct Events : ClusterCommands {
  std::vector<Value> events(std::vector<std::string> args) {
    args.insert(args.end(), {"--events", "jsonl"});
    (void)run(args);
    const Path path = testing::source_dir() / "schemas/events.schema.json";
    const auto schema = encoding::Schema::compile(*encoding::parse_json(*fake.files.read(path)));
    EXPECT_TRUE(schema.ok()) << schema.error().to_line();
    std::vector<Value> events;
    std::string text = fake.err.take();
    EXPECT_TRUE(text.ends_with('\n'));
    text.pop_back();
    for (const std::string_view line : split(text, '\n')) {
      auto event = encoding::parse_json(line);
      EXPECT_TRUE(event.ok()) << line;
      if (!event.ok()) continue;
      for (const encoding::SchemaIssue& issue : schema->validate(*event))
        ADD_FAILURE() << issue.message << "\n" << line;
      events.push_back(*std::move(event));
    }
    return events;
  }
  static std::size_t count(const std::vector<Value>& events, std::string_view kind) {
    return static_cast<std::size_t>(
        std::ranges::count_if(events, [&](const Value& event) { return event.string_at("event") == kind; }));
  }
};

TEST_F(Events, AreJsonLinesThatEndWithHowItEnded) {
  const auto installed = events({"install", "web", "-p", package.string()});
  EXPECT_EQ(count(installed, "plan"), 1u);
  EXPECT_EQ(count(installed, "object"), 2u);
  EXPECT_EQ(std::ranges::count_if(installed,
                                  [&](const Value& event) {
                                    return event.string_at("event") == "began" &&
                                           event.string_at("text") ==
                                               fmt::format("rendering {}", package.string());
                                  }),
            1);
  EXPECT_EQ(installed.back().string_at("event"), "finished");
  EXPECT_EQ(installed.back().find("exitCode")->as_int(), 0);
  EXPECT_EQ(count(installed, "finished"), 1u);
  EXPECT_THAT(fake.out.take(), HasSubstr("web is installed at revision 0"));
  const auto again = events({"install", "web", "-p", package.string(), "-o", "json"});
  EXPECT_EQ(again.back().find("exitCode")->as_int(), 1);
  EXPECT_EQ(again.back().string_at({"error", "kind"}), "Conflict");
  EXPECT_EQ(fake.out.take(), "");
  EXPECT_EQ(events({"nonsense"}).back().find("exitCode")->as_int(), 2);
  EXPECT_EQ(events({"status", "web", "-q"}).size(), 1u);
  manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: \"2\"}}");
  const auto upgraded = events({"upgrade", "web"});
  for (const Value& event : upgraded) {
    if (event.string_at("event") != "plan") continue;
    EXPECT_EQ(event.string_at("operation"), "upgrade");
    const Value& object = event.find("objects")->as_array()[0];
    EXPECT_EQ(object.string_at("action"), "update");
    EXPECT_EQ(object.find("fields")->as_array()[0].string_at("path"), ".data.a");
  }
  EXPECT_EQ(count(events({"uninstall", "web", "--yes"}), "plan"), 1u);
}

TEST_F(Events, AreAloneOnStandardErrorAlsoAtATerminal) {
  const Path file = fake.home.path() / "web.plan";
  {
    const StdoutInto redirected(file);
    EXPECT_EQ(count(events({"plan", "web", "-p", package.string(), "-o", "/dev/stdout"}), "plan"), 1u);
  }
  EXPECT_EQ(run({"apply-plan", file.string()}), ExitCode::Ok) << fake.err.take();
  (void)fake.err.take();
  Value broken = *cluster.find("Secret", "default", "mistletoe.web.v0");
  broken["data"].set("record", "bm9uc2Vuc2U=");
  cluster.put(broken);
  fake.in.terminal = fake.err.terminal = true;
  const auto refused = events({"recover", "web", "--from-labels"});
  EXPECT_EQ(refused.back().find("exitCode")->as_int(), 2);
  EXPECT_THAT(refused.back().string_at({"error", "hint"}), HasSubstr("add --yes"));
}

TEST_F(ClusterCommands, ExplainSaysWhyWithoutValues) {
  ASSERT_EQ(run({"install", "web", "-p", package.string(), "--explain"}), ExitCode::Ok);
  const std::string said = fake.err.take();
  EXPECT_THAT(said, HasSubstr("plan: install default/web, revision 0\n  create ConfigMap default/one: "));
  manifest("{apiVersion: v1, kind: Secret, metadata: {name: key}, stringData: {password: hunter3}}");
  ASSERT_EQ(run({"upgrade", "web", "--dry-run", "--explain"}), ExitCode::Ok);
  const std::string planned = fake.out.take();
  EXPECT_THAT(planned, HasSubstr("update Secret default/key"));
  EXPECT_THAT(planned, HasSubstr("    .data.password  (all.yaml:1)\n"));
  EXPECT_THAT(planned, HasSubstr("delete ConfigMap default/one"));
  EXPECT_THAT(planned, ::testing::Not(HasSubstr("aHVudGVyM")));
}

TEST_F(ClusterCommands, ASummaryCountsTellsTheTimeAndWhatIsNext) {
  manifest(
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: api}, spec: {selector: {matchLabels: "
      "{a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}");
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  // A fake clock runs while the lock is kept.
  EXPECT_THAT(fake.out.take(),
              ::testing::MatchesRegex(
                  "web is installed at revision 0 in namespace default: 1 created in [0-9.ms]+\n"
                  "next: mistctl status web -n default shows when it is ready; --wait waits for that\n"));
  ASSERT_EQ(run({"upgrade", "web", "-p", package.string(), "-q"}), ExitCode::Ok);
  EXPECT_EQ(fake.out.take(), "web is as wanted, at revision 0: nothing was written\n");
}

TEST_F(ClusterCommands, StatusSaysWhySomethingIsNotReady) {
  manifest(
      "{apiVersion: v1, kind: Pod, metadata: {name: api}, spec: {containers: [{name: main, image: i}]}}");
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  fake.out.take();
  EXPECT_EQ(printed({"status", "web"}, "status").find("diagnosis")->find("children")->size(), 1u);
  cluster.set_status(
      {{"", "Pod"}, "default", "api"},
      testing::yaml("{phase: Pending, containerStatuses: [{name: main, image: i, state: {waiting: "
                    "{reason: ImagePullBackOff, message: \"no such tag\"}}}]}"));
  ASSERT_EQ(run({"status", "web"}), ExitCode::Ok);
  EXPECT_THAT(fake.out.take(), HasSubstr("\n\nRelease default/web: 1 object is not ready\n"
                                         "└─ Pod default/api: "));
  const Value told = printed({"status", "web"}, "status");
  const Value& pod = told.find("diagnosis")->find("children")->as_array()[0];
  EXPECT_EQ(pod.find("children")->as_array()[0].string_at("reason"), "ImagePullBackOff");
  cluster.set_status({{"", "Pod"}, "default", "api"},
                     testing::yaml("{phase: Running, conditions: [{type: Ready, status: \"True\"}]}"));
  EXPECT_TRUE(printed({"status", "web"}, "status").find("diagnosis")->is_null());
}

TEST_F(ClusterCommands, StatusShowsFirstWhatIsNotReadyAndFoldsWhatIs) {
  std::string all =
      "{apiVersion: v1, kind: Pod, metadata: {name: zz}, spec: {containers: [{name: main, image: i}]}}";
  for (int i = 100; i < 160; ++i)
    all += fmt::format("\n---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: m{}}}}}", i);
  manifest(all);
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  cluster.drop({{"", "ConfigMap"}, "default", "m130"});
  fake.out.take();
  ASSERT_EQ(run({"status", "web"}), ExitCode::Ok);
  const std::string text = fake.out.take();
  EXPECT_LT(std::ranges::count(text, '\n'), 25) << text;
  const std::size_t header = text.find("OBJECT"), missing = text.find("ConfigMap default/m130"),
                    pod = text.find("Pod default/zz"), folded = text.find("ConfigMap default: 59 objects");
  EXPECT_LT(header, missing) << text;
  EXPECT_LT(missing, pod) << text;
  EXPECT_LT(pod, folded) << text;
  EXPECT_NE(folded, std::string::npos) << text;
  EXPECT_THAT(text, HasSubstr("\nnot shown one by one: 59 ready; --all-objects shows every object\n"));
  ASSERT_EQ(run({"status", "web", "--all-objects"}), ExitCode::Ok);
  const std::string whole = fake.out.take();
  EXPECT_THAT(whole, HasSubstr("ConfigMap default/m159"));
  EXPECT_THAT(whole, ::testing::Not(HasSubstr("59 objects")));
  EXPECT_LT(whole.find("Pod default/zz"), whole.find("ConfigMap default/m100"));
  EXPECT_EQ(printed({"status", "web"}, "status").find("objects")->size(), 61u);
}

TEST_F(ClusterCommands, AHolderThatLivesIsToldFromOneThatSeemsDead) {
  // A process that dies between its first write and its last: it never gives the lock back.
  bool dead = false;
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    dead = dead || (call.verb == "apply" && !call.dry_run && call.key.name == "one");
    if (dead) return error(ErrorKind::Forbidden, "it is dead");
    return std::nullopt;
  });
  EXPECT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Failed);
  cluster.set_before({});
  Value anchor = *cluster.find("Secret", "default", "mistletoe.web");
  Value lock = *encoding::parse_json(anchor.string_at({"metadata", "annotations", "mistletoe.dev/lock"}));
  lock.set("renewed", format_micro_time(fake.machine.clock.now()));
  anchor["metadata"]["annotations"].set("mistletoe.dev/lock", encoding::to_json(lock));
  cluster.put(anchor, "mistctl");
  fake.out.take();
  fake.err.take();

  fake.clock.advance(std::chrono::seconds(2));
  EXPECT_EQ(run({"status", "web"}), ExitCode::Ok);
  std::string text = fake.out.take();
  EXPECT_THAT(text, HasSubstr("Holder     is under way, last sign of life 2s ago\n"));
  EXPECT_THAT(text, HasSubstr(") has not ended yet: \"install\" of "));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("recover")));
  EXPECT_EQ(printed({"status", "web"}, "status").string_at({"lock", "state"}), "alive");
  EXPECT_EQ(run({"history", "web"}), ExitCode::Ok);
  EXPECT_THAT(fake.err.take(), HasSubstr("is under way; see mistctl status web"));
  fake.out.take();

  fake.clock.advance(std::chrono::seconds(15));
  EXPECT_EQ(run({"status", "web"}), ExitCode::Ok);
  text = fake.out.take();
  EXPECT_THAT(text, HasSubstr("Holder     silent for 17s: its process seems to have died, if its clock"));
  EXPECT_THAT(text,
              HasSubstr("did not end; the next install or upgrade takes over from it, or mistctl recover "
                        "web -n "));
  const Value told = printed({"status", "web"}, "status");
  EXPECT_EQ(told.string_at({"lock", "state"}), "silent");
  EXPECT_EQ(told.find("lock")->find("silentSeconds")->as_int(), 17);
  EXPECT_EQ(run({"history", "web"}), ExitCode::Ok);
  EXPECT_THAT(fake.err.take(), HasSubstr("did not end: finish it with mistctl recover web -n default"));

  fake.clock.advance(-std::chrono::hours(1));
  fake.out.take();
  EXPECT_EQ(run({"status", "web"}), ExitCode::Ok);
  EXPECT_THAT(fake.out.take(),
              HasSubstr("Holder     its clock is 59m ahead of this one's; the next command that"));
}

TEST_F(ClusterCommands, DriftIsShownRepairedAndCountedByItsExitCode) {
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  EXPECT_EQ(run({"drift", "web", "--exit-code"}), ExitCode::Ok);
  EXPECT_THAT(fake.out.take(), HasSubstr("2 objects are as v0 recorded them"));
  Value one = *cluster.find("ConfigMap", "default", "one");
  one["data"].set("a", "2");
  cluster.put(one, "kubectl-edit");
  Value key = *cluster.find("Secret", "default", "key");
  key["data"].set("password", "c3RvbGVu");
  cluster.put(key, "kubectl-edit");
  EXPECT_EQ(run({"drift", "web"}), ExitCode::Ok);
  EXPECT_EQ(run({"drift", "--all", "--exit-code"}), ExitCode::Differences);
  const std::string text = fake.out.take();
  EXPECT_THAT(text, HasSubstr(".data.a: \"2\", recorded is \"1\" (by kubectl-edit"));
  EXPECT_THAT(text, HasSubstr(".data.password: ***, recorded is ***"));
  const Value found = printed({"drift", "web"}, "drift");
  EXPECT_THAT(encoding::to_json(found), ::testing::Not(HasSubstr("c3RvbGVu")));
  const Value fixed = printed({"drift", "web", "--fix", "--exit-code"}, "drift");
  EXPECT_EQ(*fixed.find("releases")->as_array()[0].find("fixedBy"), Value(1));
  EXPECT_EQ(cluster.find("ConfigMap", "default", "one")->string_at({"data", "a"}), "1");
  EXPECT_EQ(run({"drift", "--all", "--exit-code"}), ExitCode::Ok);
  EXPECT_EQ(run({"drift"}), ExitCode::Usage);
  EXPECT_EQ(run({"drift", "web", "--all"}), ExitCode::Usage);
  EXPECT_EQ(run({"drift", "none"}), ExitCode::Failed);
}

TEST_F(ClusterCommands, DriftCountsADeleteThatTheServerRefusesAsNotFixed) {
  constexpr std::string_view kOne =
      R"({apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "1"}})";
  manifest(kOne);
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  manifest(fmt::format("{}\n---\n{}\n---\n{}", kOne,
                       "{apiVersion: v1, kind: ConfigMap, metadata: {name: extra}}",
                       "{apiVersion: apps/v1, kind: Deployment, metadata: {name: broken}, spec: {selector: "
                       "{matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: "
                       "[{name: x, image: x, envFrom: [{configMapRef: {name: extra}}]}]}}}}"));
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.key.name != "broken" || !call.writes()) return std::nullopt;
    return error(ErrorKind::Invalid, "cannot apply Deployment default/broken");
  });
  ASSERT_EQ(run({"upgrade", "web", "-p", package.string()}), ExitCode::Failed);
  ASSERT_TRUE(cluster.has("ConfigMap", "default", "extra"));
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.key.name != "extra" || call.verb != "delete") return std::nullopt;
    return error(ErrorKind::Forbidden, "cannot delete ConfigMap default/extra")
        .with_because("admission webhook \"usages.example.com\" denied the request: in use");
  });
  fake.out.take();
  EXPECT_EQ(run({"drift", "web", "--fix"}), ExitCode::Differences) << fake.err.take();
  EXPECT_THAT(fake.out.take(), AllOf(HasSubstr("ConfigMap default/extra  left over"),
                                     HasSubstr("  left as it is: the server forbids to delete it"),
                                     HasSubstr("1 left as it is\n")));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "extra"));
}

TEST_F(ClusterCommands, StatusAndHistoryNameThePackageWithItsVersion) {
  ASSERT_TRUE(fake.files
                  .write(package / "mistletoe.yaml",
                         "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: demo}\nspec: "
                         "{version: 1.2.3, engine: yaml}\n")
                  .ok());
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  fake.out.take();
  ASSERT_EQ(run({"status", "web"}), ExitCode::Ok);
  EXPECT_THAT(fake.out.take(), HasSubstr("Package    demo 1.2.3, from "));
  const Value told = printed({"status", "web"}, "status");
  EXPECT_EQ(told.string_at("packageName"), "demo");
  EXPECT_EQ(told.string_at("packageVersion"), "1.2.3");
  ASSERT_EQ(run({"history", "web"}), ExitCode::Ok);
  EXPECT_THAT(fake.out.take(), ::testing::ContainsRegex(" 2 +1[.]2[.]3 +/"));
}

TEST_F(ClusterCommands, DriftTellsWhatMayNotBeRead) {
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.key.group_kind.kind != "ConfigMap") return std::nullopt;
    return error(ErrorKind::Forbidden, "configmaps is forbidden");
  });
  fake.out.take();
  EXPECT_EQ(run({"drift", "web", "--exit-code"}), ExitCode::Ok) << fake.err.take();
  const std::string text = fake.out.take();
  EXPECT_THAT(text, HasSubstr("ConfigMap default/one  unknown: you may not read it\n"));
  EXPECT_THAT(text, HasSubstr("web: 1 object is as v0 recorded it\n"
                              "web: 1 object could not be looked at: you may not read it\n"));
  EXPECT_EQ(run({"drift", "web", "--exit-code", "--strict"}), ExitCode::Differences);
  fake.out.take();
  printed({"drift", "web"}, "drift");
  EXPECT_EQ(printed({"status", "web"}, "status").find("objects")->as_array()[0].string_at("health"),
            "unknown");
}

TEST_F(ClusterCommands, DoctorSaysWhatToDo) {
  ASSERT_TRUE(
      fake.files
          .write(fake.home.path() / "config.yaml",
                 "apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec: {registries: []}\n",
                 {.mode = 0600})
          .ok());
  const Value well = printed({"doctor"}, "doctor");
  EXPECT_EQ(well.find("failed")->as_int(), 0) << encoding::to_json(well);
  EXPECT_EQ(cluster.count("create"), 12u) << "reviews, and nothing else";
  fake.machine.connect = [this](const ClusterChoice&, Machine&) -> Result<std::unique_ptr<kube::Client>> {
    return std::unique_ptr<kube::Client>(cluster.client_for("viewer"));
  };
  EXPECT_EQ(run({"doctor"}), ExitCode::Failed);
  EXPECT_THAT(
      fake.out.take(),
      HasSubstr("fail    cluster: permission secrets: not allowed: create, patch, delete in namespace "
                "default; the record of releases is kept in Secrets\n        try: ask an administrator"));
  EXPECT_EQ(fake.err.take(), "") << "a report is a result";
  cluster.clear_calls();
  EXPECT_EQ(run({"doctor", "--offline"}), ExitCode::Ok);
  EXPECT_TRUE(cluster.calls().empty());
  EXPECT_THAT(fake.out.take(), HasSubstr("skipped cluster: server: not asked"));
}

TEST_F(ClusterCommands, SecretsAreShownOnlyWhenAskedFor) {
  ASSERT_EQ(run({"install", "web", "-p", package.string(), "-vv"}), ExitCode::Ok) << fake.err.take();
  ASSERT_EQ(run({"inspect", "release", "web"}), ExitCode::Ok);
  ASSERT_EQ(run({"status", "web"}), ExitCode::Ok);
  const std::string all = fake.out.take() + fake.err.take();
  EXPECT_THAT(all, ::testing::Not(HasSubstr("hunter2")));
  EXPECT_THAT(all, ::testing::Not(HasSubstr("aHVudGVyMg==")));
  ASSERT_EQ(run({"inspect", "release", "web", "--show-secrets"}), ExitCode::Ok);
  EXPECT_THAT(fake.out.take(), HasSubstr("aHVudGVyMg=="));
}

TEST_F(ClusterCommands, DiffEndsWithThreeOnlyWhereAskedFor) {
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  EXPECT_EQ(run({"diff", "web", "--exit-code"}), ExitCode::Ok);
  manifest(R"({apiVersion: v1, kind: Secret, metadata: {name: key}, stringData: {password: swordfish}})");
  EXPECT_EQ(run({"diff", "web"}), ExitCode::Ok);
  EXPECT_EQ(run({"diff", "web", "--exit-code"}), ExitCode::Differences);
  const std::string all = fake.out.take() + fake.err.take();
  EXPECT_THAT(all, HasSubstr("'*** (after)'"));
  for (const std::string_view hidden : {"hunter2", "swordfish", "aHVudGVy", "c3dvcmRm"})
    EXPECT_THAT(all, ::testing::Not(HasSubstr(hidden)));
}

// A flag that is declared and means nothing would be worse than none.
TEST_F(ClusterCommands, AllowancesOfTheCommandLineReachThePlan) {
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  manifest("{apiVersion: v1, kind: Secret, metadata: {name: key}, type: x.dev/other, data: {a: YQ==}}");
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (!call.dry_run || call.key.name != "key") return std::nullopt;
    return testing::api_refusal(ErrorKind::Invalid, "cannot apply", "type: field is immutable");
  });
  EXPECT_EQ(run({"upgrade", "web"}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(), HasSubstr("--replace"));
  EXPECT_EQ(run({"upgrade", "web", "--replace"}), ExitCode::Ok) << fake.err.take();
  EXPECT_EQ(cluster.find("Secret", "default", "key")->string_at("type"), "x.dev/other");
}

TEST_F(ClusterCommands, ASavedPlanIsCarriedOut) {
  const std::string file = (fake.home.path() / "web.plan").string();
  EXPECT_EQ(run({"plan", "web", "-p", package.string(), "-o", "json"}), ExitCode::Usage)
      << "elsewhere that is the format";
  EXPECT_THAT(fake.err.take(), HasSubstr("--output json prints the plan"));
  ASSERT_EQ(run({"plan", "web", "-p", package.string(), "-o", file}), ExitCode::Ok) << fake.err.take();
  EXPECT_EQ(cluster.writes(), 0u);
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_THAT(fake.out.take(), HasSubstr("2 to create"));
  printed({"plan", "web", "-p", package.string()}, "diff", "--output");
  EXPECT_EQ(printed({"apply-plan", file}, "deploy").find("objects")->size(), 2u);
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_EQ(run({"apply-plan", file}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(), HasSubstr("the plan is stale"));
}

TEST_F(ClusterCommands, APlanThatFailedHalfwayIsUsedUp) {
  const std::string file = (fake.home.path() / "web.plan").string();
  ASSERT_EQ(run({"plan", "web", "-p", package.string(), "-o", file}), ExitCode::Ok) << fake.err.take();
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run && call.key.name == "key")
      return error(ErrorKind::Forbidden, "quota exceeded");
    return std::nullopt;
  });
  fake.err.take();
  EXPECT_EQ(run({"apply-plan", file}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(),
              HasSubstr("this plan is used up: make another with mistctl plan web -n default -o FILE"));
}

TEST_F(ClusterCommands, AReleaseThatIsNotThereMayHaveLostItsRecord) {
  EXPECT_EQ(run({"status", "none"}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(), HasSubstr("mistctl recover none -n default --from-labels rebuilds it"));
}

// In the namespace of -n another release of that name may be.
TEST_F(ClusterCommands, APlanIsNotCarriedOutInAnotherNamespace) {
  const std::string file = (fake.home.path() / "web.plan").string();
  ASSERT_EQ(run({"plan", "web", "-p", package.string(), "-o", file}), ExitCode::Ok) << fake.err.take();
  fake.err.take();
  EXPECT_EQ(run({"apply-plan", file, "-n", "other"}), ExitCode::Usage);
  EXPECT_THAT(fake.err.take(), HasSubstr("the plan is for release default/web, and -n says other"));
  EXPECT_EQ(cluster.writes(), 0u);
  EXPECT_EQ(run({"apply-plan", file, "-n", "default"}), ExitCode::Ok) << fake.err.take();
}

TEST_F(ClusterCommands, TestPrintsLogsOutcomesAndWhy) {
  const std::unique_ptr<kube::Client> inner = cluster.client_for("mistctl");
  fake.machine.connect = [&inner](const ClusterChoice&, Machine&) -> Result<std::unique_ptr<kube::Client>> {
    auto client = std::make_unique<testing::ClientWithLogs>(*inner);
    client->set_log("good", "main", "fine\n");
    client->set_log("bad", "main", "one\n\x1b[31mnothing is well\n");
    return client;
  };
  const auto pod = [](std::string_view name) {
    return fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {}, annotations: {{mistletoe.dev/test: \"true\"}}}}, "
        "spec: "
        "{{containers: [{{name: main}}]}}}}\n---\n",
        name);
  };
  manifest(pod("good") + pod("bad"));
  cluster.set_after([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.key.group_kind.kind != "Pod") return std::nullopt;
    const bool good = call.key.name == "good";
    cluster.set_status(call.key, Value::object({{"phase", good ? "Succeeded" : "Failed"}}));
    return std::nullopt;
  });
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  EXPECT_FALSE(cluster.has("Pod", "default", "good"));
  fake.out.take();
  fake.out.flushed.clear();
  EXPECT_EQ(run({"test", "web"}), ExitCode::Failed);
  // Each result is seen while the next test runs.
  ASSERT_EQ(fake.out.flushed.size(), 3U);
  EXPECT_THAT(fake.out.flushed[0], Not(HasSubstr("bad")));
  const std::string text = fake.out.take(), error = fake.err.take();
  EXPECT_THAT(text, HasSubstr("[good/main] fine\n"));
  EXPECT_THAT(text, HasSubstr("passed  Pod default/good ("));
  EXPECT_THAT(text, HasSubstr("[bad/main] \\x1b[31mnothing is well\n"));
  EXPECT_THAT(text, HasSubstr("web: 1 of 2 tests passed\n"));
  EXPECT_THAT(error, HasSubstr("error: 1 of 2 tests of release default/web failed"));
  EXPECT_THAT(error, HasSubstr("Pod default/bad: failed\n"));
  const Value one = printed({"test", "web", "--filter", "goo*", "--keep"}, "test");
  EXPECT_EQ(one.find("passed")->as_int(), 1);
  EXPECT_EQ(one.find("kept")->size(), 1u);
  EXPECT_EQ(one.find("tests")->as_array()[0].find("logs")->as_array()[0].string_at("text"), "fine\n");
  EXPECT_EQ(run({"test", "web", "--filter", "x"}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(), HasSubstr("its tests are good, bad"));
  ASSERT_EQ(run({"uninstall", "web", "--yes"}), ExitCode::Ok) << fake.err.take();
  EXPECT_FALSE(cluster.has("Pod", "default", "good"));
}

TEST_F(ClusterCommands, UpgradeKeepsPackageAndValuesEachByItself) {
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}");
  ASSERT_EQ(run({"upgrade", "web"}), ExitCode::Ok) << fake.err.take();
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "two"));
}

TEST_F(ClusterCommands, RecoverTellsWhatItFoundAndDid) {
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}");
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run && call.key.name == "two")
      return error(ErrorKind::Forbidden, "quota exceeded");
    return std::nullopt;
  });
  EXPECT_EQ(run({"upgrade", "web"}), ExitCode::Failed);
  EXPECT_EQ(run({"rollback", "web", "1"}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(), HasSubstr("choose among v0"));
  EXPECT_EQ(run({"rollback", "web", "one"}), ExitCode::Usage);
  cluster.set_before({});
  fake.out.take();
  ASSERT_EQ(run({"history", "web"}), ExitCode::Ok);
  EXPECT_THAT(fake.out.take(), HasSubstr("quota exceeded"));
  EXPECT_EQ(printed({"recover", "web", "--dry-run"}, "recover").string_at("outcome"), "finished");
  EXPECT_EQ(printed({"recover", "web", "--undo", "--dry-run"}, "recover").string_at("outcome"), "undone");
  ASSERT_EQ(run({"recover", "web", "--undo"}), ExitCode::Ok) << fake.err.take();
  EXPECT_THAT(fake.out.take(), HasSubstr("web is back to v0, at revision 2"));
  ASSERT_EQ(run({"recover", "web"}), ExitCode::Ok);
  EXPECT_THAT(fake.out.take(), HasSubstr("nothing to recover"));
}

TEST_F(ClusterCommands, AnEmptyVariableNamesNoRevisionAndNoRelease) {
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}");
  ASSERT_EQ(run({"upgrade", "web"}), ExitCode::Ok) << fake.err.take();
  cluster.clear_calls();
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"rollback", "web", ""},
           {"inspect", "release", "web", "--revision", ""},
           {"diff", "web", "--from", ""},
           {"diff", "web", "--from", "0", "--to", ""},
           {"upgrade", "web", "-p", package.string(), "--take-over-from", ""}})
    EXPECT_EQ(run(args), ExitCode::Usage) << join(args, " ");
  EXPECT_EQ(cluster.writes(), 0u);
  fake.err.take();
  EXPECT_EQ(run({"inspect", "release", "web", "--revision="}), ExitCode::Usage);
  EXPECT_THAT(fake.err.take(), HasSubstr("\"\" is not a revision"));
  // Of a namespace helm and kubectl, too, take that for none.
  EXPECT_EQ(run({"status", "web", "-n", ""}), ExitCode::Ok) << fake.err.take();
  EXPECT_EQ(run({"generate", "web", "-n", "", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
}

TEST_F(ClusterCommands, APlanGoesWhereALinkOrAPipeLeads) {
  const Path link = fake.home.path() / "link", file = fake.home.path() / "web.plan";
  std::filesystem::create_symlink("web.plan", link);
  ASSERT_EQ(run({"plan", "web", "-p", package.string(), "-o", link.string()}), ExitCode::Ok)
      << fake.err.take();
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(testing::mode_of(file), 0600U);
  const Path pipe = fake.home.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const UniqueFd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader);
  ASSERT_GT(::fcntl(reader.get(), F_SETPIPE_SZ, 1 << 20), 0) << "all of it has room there";
  ASSERT_EQ(run({"plan", "web", "-p", package.string(), "-o", pipe.string()}), ExitCode::Ok)
      << fake.err.take();
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  char first = 0;
  EXPECT_EQ(::read(reader.get(), &first, 1), 1);
  EXPECT_EQ(run({"apply-plan", link.string()}), ExitCode::Ok) << fake.err.take();
}

TEST_F(ClusterCommands, APlanOnStandardOutputIsThereAlone) {
  const Path file = fake.home.path() / "web.plan";
  {
    const StdoutInto redirected(file);
    EXPECT_EQ(run({"plan", "web", "-p", package.string(), "-o", "/dev/stdout"}), ExitCode::Ok);
  }
  EXPECT_EQ(fake.out.take(), "");
  EXPECT_NE(fake.err.take(), "") << "for the person who looks at it";
  EXPECT_EQ(run({"apply-plan", file.string()}), ExitCode::Ok) << fake.err.take();
}

TEST_F(ClusterCommands, FilesForTheUserObeyTheUmask) {
  const testing::Umask mask(077);
  const Path out = fake.home.path() / "out", mine = fake.home.path() / "mine";
  const std::vector<std::string> generate{"generate",       "web", "-p",
                                          package.string(), "-o",  "dir=" + out.string()};
  ASSERT_EQ(run(generate), ExitCode::Ok) << fake.err.take();
  const Path file = out / "all.yaml";
  EXPECT_EQ(testing::mode_of(file), 0600U) << "it holds a Secret";
  std::filesystem::permissions(file, std::filesystem::perms(0640));
  std::vector<std::string> again = generate;
  again.emplace_back("--force");
  ASSERT_EQ(run(again), ExitCode::Ok) << fake.err.take();
  EXPECT_EQ(testing::mode_of(file), 0640U);
  ASSERT_EQ(run({"blueprint", "init", "web", mine.string()}), ExitCode::Ok) << fake.err.take();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(mine))
    EXPECT_EQ(testing::mode_of(entry.path()) & 0077U, 0U) << entry.path();
}

TEST_F(ClusterCommands, TakingOverFromOneselfIsAMistake) {
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  for (const std::string_view verb : {"install", "upgrade", "diff", "plan"}) {
    EXPECT_EQ(run({std::string(verb), "web", "-p", package.string(), "--take-over-from", "default/web"}),
              ExitCode::Usage);
    EXPECT_THAT(fake.err.take(), HasSubstr("--take-over-from default/web is the release itself")) << verb;
  }
}

TEST_F(ClusterCommands, UndoingAFirstInstallAsks) {
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && !call.dry_run && call.key.name == "key")
      return error(ErrorKind::Forbidden, "quota exceeded");
    return std::nullopt;
  });
  EXPECT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Failed);
  cluster.set_before({});
  EXPECT_EQ(run({"recover", "web", "--undo"}), ExitCode::Usage);
  EXPECT_THAT(fake.err.take(), HasSubstr("--yes"));
  EXPECT_EQ(printed({"recover", "web", "--undo", "--yes"}, "recover").string_at("outcome"), "removed");
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
}

TEST_F(ClusterCommands, UninstallAsksAndScriptsMustSayYes) {
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  EXPECT_EQ(run({"uninstall", "web"}), ExitCode::Usage);
  EXPECT_THAT(fake.err.take(), HasSubstr("--yes"));
  fake.in.terminal = fake.err.terminal = true;
  fake.in.lines = {"n"};
  EXPECT_EQ(run({"uninstall", "web"}), ExitCode::Failed) << "no interruption";
  EXPECT_THAT(fake.err.take(), HasSubstr("nothing was deleted, because the answer was no\n"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "one"));
  fake.in.lines = {"y"};
  EXPECT_EQ(run({"uninstall", "web"}), ExitCode::Ok) << fake.err.take();
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "one"));
}

TEST_F(ClusterCommands, ErrorsNameWhatToDo) {
  EXPECT_EQ(run({"upgrade", "web", "-p", package.string()}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(), HasSubstr("mistctl install web"));
  EXPECT_EQ(run({"install", "Web", "-p", package.string()}), ExitCode::Usage);
  EXPECT_EQ(run({"install", "web", "-p", "package"}), ExitCode::Failed);
  EXPECT_EQ(run({"status", "web"}), ExitCode::Failed);
  EXPECT_EQ(run({"install", "web", "-p", package.string(), "--set", "a=1"}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(), HasSubstr("takes no values"));
  EXPECT_EQ(cluster.writes(), 0u);
}

TEST_F(ClusterCommands, WhatComesNextCountsWhatRunsAndNoServices) {
  const auto next = [&](std::string_view name, std::string_view text) {
    manifest(text);
    EXPECT_EQ(run({"install", std::string(name), "-p", package.string()}), ExitCode::Ok) << fake.err.take();
    const std::string out = fake.out.take();
    const auto at = out.find("next: ");
    return at == std::string::npos ? std::string() : out.substr(at);
  };
  const std::string deployment =
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: api}, spec: {selector: {matchLabels: {a: "
      "b}}, "
      "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}\n---\n";
  const std::string service =
      "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 1}]}}";
  EXPECT_EQ(next("one", deployment + service),
            "next: mistctl status one -n default shows when it is ready; --wait waits for that\n");
  EXPECT_EQ(next("two", "{apiVersion: v1, kind: Service, metadata: {name: t}, spec: {ports: [{port: 1}]}}"),
            "");
  EXPECT_EQ(
      next("three",
           "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {}}\n---\n"
           "{apiVersion: v1, kind: Service, metadata: {name: u}, spec: {type: LoadBalancer}}"),
      "next: mistctl status three -n default shows when its 2 objects are ready; --wait waits for that\n");
}

TEST_F(ClusterCommands, DriftOfAllNamespaces) {
  cluster.put(testing::yaml("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"));
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  ASSERT_EQ(run({"install", "api", "-p", package.string(), "--create-namespace", "-n", "default"}),
            ExitCode::Failed)
      << "its objects are web's";
  fake.err.take();
  Value one = *cluster.find("ConfigMap", "default", "one");
  one["data"].set("a", "2");
  cluster.put(one, "kubectl-edit");
  fake.out.take();
  EXPECT_EQ(run({"drift", "-A", "--exit-code"}), ExitCode::Differences);
  const std::string text = fake.out.take();
  EXPECT_THAT(text, HasSubstr(".data.a: \"2\", recorded is \"1\""));
  EXPECT_THAT(text, HasSubstr("default/web: 1 of 2 objects drifted from v0\n"));
  EXPECT_EQ(printed({"drift", "-A"}, "drift").find("releases")->size(), 1u);
  EXPECT_EQ(run({"drift", "web", "-A"}), ExitCode::Usage);
  EXPECT_THAT(fake.err.take(), HasSubstr("NAME and -A exclude one another"));
}

TEST_F(ClusterCommands, UninstallTakesSeveralNamesAndToleratesThoseThatAreGone) {
  const auto install = [&](std::string_view name) {
    manifest(fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}}}}}", name));
    ASSERT_EQ(run({"install", std::string(name), "-p", package.string()}), ExitCode::Ok) << fake.err.take();
    fake.out.take();
  };
  install("a");
  install("b");
  // A name that is mistyped costs nothing.
  EXPECT_EQ(run({"uninstall", "a", "nothing", "b", "--yes"}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(), HasSubstr("release default/nothing does not exist"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "a"));
  const Value dry =
      printed({"uninstall", "a", "nothing", "b", "--ignore-not-found", "--dry-run"}, "uninstall");
  EXPECT_EQ(dry.find("releases")->size(), 3u);
  EXPECT_EQ(dry.find("releases")->as_array()[1].find("found")->as_bool(), false);
  // One that fails doesn't keep the others from it.
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "delete" && call.key.name == "a") return error(ErrorKind::Forbidden, "not a");
    return std::nullopt;
  });
  EXPECT_EQ(run({"uninstall", "a", "b", "a", "--yes"}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(), HasSubstr("in release default/a"));
  EXPECT_THAT(fake.out.take(), HasSubstr("b is uninstalled"));
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "b"));
  cluster.set_before({});
  EXPECT_EQ(run({"uninstall", "a", "b", "--yes"}), ExitCode::Failed);
  EXPECT_EQ(run({"uninstall", "a", "b", "--yes", "--ignore-not-found"}), ExitCode::Ok) << fake.err.take();
  EXPECT_FALSE(cluster.has("ConfigMap", "default", "a"));
  EXPECT_EQ(run({"uninstall", "a", "b", "--ignore-not-found"}), ExitCode::Ok)
      << "nobody is asked for nothing";
  fake.out.take();
  EXPECT_EQ(printed({"uninstall", "a", "--ignore-not-found"}, "uninstall").find("found")->as_bool(), false);
  fake.err.take();
  install("a");
  install("b");
  fake.in.terminal = fake.err.terminal = true;
  fake.in.lines = {"n"};
  EXPECT_EQ(run({"uninstall", "a", "b"}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(), HasSubstr("Delete 2 objects of releases a, b in namespace default?"));
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "a"));
}

TEST_F(ClusterCommands, EachOfSeveralReleasesThatFailIsNamed) {
  for (const std::string_view name : {"a", "b", "c"}) {
    manifest(fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}}}}}", name));
    ASSERT_EQ(run({"install", std::string(name), "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  }
  fake.out.take();
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "delete" || call.key.group_kind.kind != "ConfigMap" || call.key.name == "b")
      return std::nullopt;
    return error(ErrorKind::Forbidden, "not {}", call.key.name);
  });
  EXPECT_EQ(run({"uninstall", "a", "b", "c", "--yes", "-o", "json"}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(), AllOf(HasSubstr("in release default/a"), HasSubstr("default/c failed too: ")));
  const auto told = encoding::parse_json(fake.out.take());
  ASSERT_TRUE(told.ok()) << told.error().to_line();
  const Value::Array& releases = told->find("releases")->as_array();
  ASSERT_EQ(releases.size(), 3u);
  EXPECT_THAT(releases[0].string_at("error"), HasSubstr("not a"));
  EXPECT_EQ(releases[1].find("error"), nullptr);
  EXPECT_THAT(releases[2].string_at("error"), HasSubstr("not c"));
  const auto schema = encoding::Schema::compile(
      *encoding::parse_json(*fake.files.read(testing::source_dir() / "schemas/cli/uninstall.schema.json")));
  ASSERT_TRUE(schema.ok()) << schema.error().to_line();
  for (const encoding::SchemaIssue& issue : schema->validate(*told)) ADD_FAILURE() << issue.message;
}

TEST_F(ClusterCommands, KpmUninstallsWhatIsThere) {
  EXPECT_EQ(run({"kpm", "uninstall", "nope", "--yes"}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(), HasSubstr("release default/nope does not exist"));
  EXPECT_EQ(run({"kpm", "uninstall", "nope", "--yes", "--ignore-not-found"}), ExitCode::Ok)
      << fake.err.take();
}

TEST_F(ClusterCommands, ListFiltersSortsAndPrintsNames) {
  for (const std::string_view name : {"web", "api", "api-old"}) {
    manifest(fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}}}}}", name));
    const bool fails = name == "api-old";
    if (fails)
      cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
        if (call.verb == "apply" && !call.dry_run && call.key.name == "api-old")
          return error(ErrorKind::Forbidden, "quota");
        return std::nullopt;
      });
    EXPECT_EQ(run({"install", std::string(name), "-p", package.string()}),
              fails ? ExitCode::Failed : ExitCode::Ok);
    fake.clock.advance(std::chrono::minutes(1));
  }
  fake.out.take();
  fake.err.take();
  const auto names = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"list", "--short"});
    EXPECT_EQ(run(args), ExitCode::Ok) << fake.err.take();
    return fake.out.take();
  };
  EXPECT_EQ(names({}), "api\napi-old\nweb\n");
  EXPECT_EQ(names({"-A"}), "default/api\ndefault/api-old\ndefault/web\n");
  EXPECT_EQ(names({"--filter", "^api"}), "api\napi-old\n");
  EXPECT_EQ(names({"--failed"}), "api-old\n");
  EXPECT_EQ(names({"--failed", "--deployed", "--filter", "a"}), "api\napi-old\n");
  EXPECT_EQ(names({"--sort-by", "updated", "--max", "2"}), "api-old\napi\n");
  EXPECT_EQ(names({"--sort-by", "updated", "--reverse"}), "web\napi\napi-old\n");
  EXPECT_EQ(printed({"list", "--filter", "web"}, "list").find("releases")->size(), 1u);
  EXPECT_EQ(run({"list", "--filter", "nothing"}), ExitCode::Ok);
  EXPECT_THAT(fake.err.take(), HasSubstr("none of the 3 releases in namespace default matches"));
  EXPECT_EQ(run({"list", "--filter", "("}), ExitCode::Usage);
  EXPECT_THAT(fake.err.take(), HasSubstr("--filter can't be \"(\""));
}

TEST_F(ClusterCommands, WhoMayNotListAllNamespacesIsToldOfOne) {
  cluster.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list" || call.key.group_kind.kind != "Secret" || !call.key.ns.empty())
      return std::nullopt;
    return error(ErrorKind::Forbidden, "secrets is forbidden");
  });
  for (const char* verb : {"list", "drift"}) {
    EXPECT_EQ(run({verb, "-A"}), ExitCode::Failed);
    EXPECT_THAT(fake.err.take(), HasSubstr("try: look at one namespace, with -n in place of -A"));
  }
  EXPECT_EQ(run({"list"}), ExitCode::Ok);
}

TEST_F(ClusterCommands, StatusEndsWithThreeUnlessAllIsWell) {
  manifest(
      "{apiVersion: v1, kind: Pod, metadata: {name: api}, spec: {containers: [{name: main, image: i}]}}");
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  EXPECT_EQ(run({"status", "web"}), ExitCode::Ok);
  EXPECT_EQ(run({"status", "web", "--exit-code"}), ExitCode::Differences);
  cluster.set_status({{"", "Pod"}, "default", "api"},
                     testing::yaml("{phase: Running, conditions: [{type: Ready, status: \"True\"}]}"));
  EXPECT_EQ(run({"status", "web", "--exit-code"}), ExitCode::Ok) << fake.out.take();
}

TEST_F(ClusterCommands, StatusIsWatchedUntilItIsDecided) {
  const apimachinery::ObjectKey pod{{"", "Pod"}, "default", "api"};
  manifest(
      "{apiVersion: v1, kind: Pod, metadata: {name: api}, spec: {containers: [{name: main, image: i}]}}");
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  fake.out.take();
  int looks = 0;
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list" || call.key.group_kind.kind != "Pod") return std::nullopt;
    if (++looks == 5)
      cluster.set_status(pod,
                         testing::yaml("{phase: Running, conditions: [{type: Ready, status: \"True\"}]}"));
    return std::nullopt;
  });
  EXPECT_EQ(run({"status", "web", "--watch", "--exit-code"}), ExitCode::Ok);
  const std::string text = fake.out.take();
  EXPECT_THAT(text, HasSubstr("Health     0 of 1 ready"));
  EXPECT_THAT(text, HasSubstr("Health     1 of 1 ready"));
  // A status in which only ages grew is no news.
  std::size_t shown = 0;
  for (auto at = text.find("Release    web"); at != std::string::npos;
       at = text.find("Release    web", at + 1))
    ++shown;
  EXPECT_EQ(shown, 2u) << text;
  // A permanent failure won't change by itself.
  cluster.set_before({});
  cluster.set_status(pod, testing::yaml("{phase: Failed}"));
  EXPECT_EQ(run({"status", "web", "--watch", "--exit-code", "-o", "json"}), ExitCode::Differences);
  EXPECT_TRUE(encoding::parse_json(fake.out.take()).ok());
  EXPECT_EQ(run({"status", "web", "--watch", "--notes"}), ExitCode::Usage);
  EXPECT_EQ(run({"status", "none", "--watch"}), ExitCode::Failed);
}

TEST_F(ClusterCommands, AWatchEndsWhenNobodyReadsItAnyMore) {
  manifest(
      "{apiVersion: v1, kind: Pod, metadata: {name: api}, spec: {containers: [{name: main, image: i}]}}");
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  const auto watched = [&](std::vector<std::string> args, const std::function<void()>& breaks) {
    std::stop_source stop;
    fake.machine.context = Context(stop.get_token());
    int looks = 0;
    cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "list" || call.key.group_kind.kind != "Pod") return std::nullopt;
      if (++looks >= 3) breaks();
      if (looks > 40) stop.request_stop();  // or it would never end
      return std::nullopt;
    });
    args.insert(args.begin(), {"status", "web", "--watch"});
    const ExitCode code = run(args);
    EXPECT_GE(looks, 3);
    cluster.set_before({});
    fake.out.unread = false;
    fake.out.failure.reset();
    return code;
  };
  EXPECT_EQ(watched({}, [&] { fake.out.unread = true; }), ExitCode::Ok);
  EXPECT_EQ(watched({"--exit-code"}, [&] { fake.out.unread = true; }), ExitCode::Differences)
      << "it is not healthy";
  EXPECT_EQ(watched({}, [&] { fake.out.failure = error(ErrorKind::Retryable, "no room"); }),
            ExitCode::Failed);
  EXPECT_THAT(fake.err.take(), HasSubstr("no room"));
}

TEST_F(ClusterCommands, DiffOfTwoRevisionsIsOfWhatWasRecorded) {
  ASSERT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Ok) << fake.err.take();
  manifest(R"({apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "2"}})"
           "\n---\n"
           R"({apiVersion: v1, kind: Secret, metadata: {name: key}, stringData: {password: swordfish}})");
  ASSERT_EQ(run({"upgrade", "web"}), ExitCode::Ok) << fake.err.take();
  manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}");
  ASSERT_EQ(run({"upgrade", "web"}), ExitCode::Ok) << fake.err.take();
  fake.out.take();
  cluster.clear_calls();
  EXPECT_EQ(run({"diff", "web", "--from", "v0", "--to", "v1", "--exit-code"}), ExitCode::Differences);
  const std::string text = fake.out.take();
  EXPECT_THAT(text, HasSubstr("--- v0/ConfigMap default/one\n+++ v1/ConfigMap default/one\n"));
  EXPECT_THAT(text, HasSubstr("-  a: \"1\"\n+  a: \"2\""));
  EXPECT_THAT(text, HasSubstr("'*** (after)'"));
  EXPECT_THAT(text, HasSubstr("web from v0 to v1: 2 changed\n"));
  EXPECT_THAT(text, Not(HasSubstr("c3dvcmRm")));
  EXPECT_EQ(cluster.count("list"), 0u) << "the cluster's objects are not asked for";
  EXPECT_EQ(run({"diff", "web", "--from", "1"}), ExitCode::Ok);
  EXPECT_THAT(fake.out.take(), HasSubstr("web from v1 to v2: 1 added, 2 removed\n"));
  EXPECT_EQ(run({"diff", "web", "--from", "2", "--exit-code"}), ExitCode::Ok);
  EXPECT_THAT(fake.out.take(), HasSubstr("web from v2 to v2: no differences, 1 unchanged\n"));
  const Value value = printed({"diff", "web", "--from", "0", "--to", "2"}, "diff-revisions");
  EXPECT_EQ(value.find("objects")->size(), 3u);
  EXPECT_EQ(value.find("to")->as_int(), 2);
  EXPECT_EQ(run({"diff", "web", "--from", "7"}), ExitCode::Failed);
  EXPECT_THAT(fake.err.take(), HasSubstr("release default/web has no revision v7"));
  EXPECT_EQ(run({"diff", "web", "--to", "1"}), ExitCode::Usage);
  EXPECT_EQ(run({"diff", "web", "--from", "1", "-p", package.string()}), ExitCode::Usage);
}

TEST_F(ClusterCommands, AHolderThatDiedOnThisMachineIsDead) {
  bool dead = false;
  cluster.set_before([&](const testing::FakeCall& call) -> std::optional<Error> {
    dead = dead || (call.verb == "apply" && !call.dry_run && call.key.name == "one");
    if (dead) return error(ErrorKind::Forbidden, "it is dead");
    return std::nullopt;
  });
  EXPECT_EQ(run({"install", "web", "-p", package.string()}), ExitCode::Failed);
  cluster.set_before({});
  Value anchor = *cluster.find("Secret", "default", "mistletoe.web");
  Value lock = *encoding::parse_json(anchor.string_at({"metadata", "annotations", "mistletoe.dev/lock"}));
  EXPECT_FALSE(lock.string_at("process").empty());
  lock.set("renewed", format_micro_time(fake.machine.clock.now()));
  lock.set("process", fmt::format("{}1", lock.string_at("process")));  // it began at another time
  anchor["metadata"]["annotations"].set("mistletoe.dev/lock", encoding::to_json(lock));
  cluster.put(anchor, "mistctl");
  fake.out.take();
  fake.clock.advance(std::chrono::seconds(2));
  EXPECT_EQ(run({"status", "web"}), ExitCode::Ok);
  EXPECT_THAT(
      fake.out.take(),
      HasSubstr("Holder     is dead: its process on this machine has ended; its lock runs out in 13s"));
  EXPECT_EQ(printed({"status", "web"}, "status").string_at({"lock", "state"}), "dead");
  EXPECT_EQ(run({"history", "web"}), ExitCode::Ok);
  EXPECT_THAT(fake.err.take(), HasSubstr("did not end: finish it with"));
}

}  // namespace
}  // namespace mist::cli
