// The output of `-o json` is as schemas/ says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnosis.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output/report.h"
#include "encoding/json.h"
#include "encoding/schema.h"
#include "kube/client.h"
#include "testing/fake_machine.h"
#include "testing/source_dir.h"

namespace mist::cli {
namespace {

using encoding::Value;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;

struct Schemas : ::testing::Test {
  void expect_valid(const Value& value, std::string_view schema_file) {
    const Path path = testing::source_dir() / "schemas" / schema_file;
    const auto text = fake.files.read(path);
    ASSERT_TRUE(text.ok()) << text.error().to_line();
    const auto document = encoding::parse_json(*text, {.strict = true, .file = path.string()});
    ASSERT_TRUE(document.ok()) << document.error().to_line();
    const auto schema = encoding::Schema::compile(*document);
    ASSERT_TRUE(schema.ok()) << schema.error().to_line();
    for (const encoding::SchemaIssue& issue : schema->validate(value))
      ADD_FAILURE() << schema_file << ": " << issue.message << "\n" << encoding::to_json(value);
  }

  Value printed(std::vector<std::string> args) {
    args.insert(args.end(), {"-o", "json"});
    const ExitCode code = fake.run(args, command_table());
    const std::string text = code == ExitCode::Ok ? fake.out.take() : fake.err.take();
    auto value = encoding::parse_json(text);
    EXPECT_TRUE(value.ok()) << text;
    return std::move(value).value_or({});
  }

  testing::FakeMachine fake;
};

TEST_F(Schemas, OfCommands) {
  expect_valid(printed({"version"}), "cli/version.schema.json");
  expect_valid(printed({"config", "path"}), "cli/config-path.schema.json");
  fake.run({"registry", "add", "local", "-d", fake.home.path().string()}, command_table());
  expect_valid(printed({"registry", "list"}), "cli/registry-list.schema.json");
  expect_valid(printed({"registry", "update", "local"}), "cli/registry-update.schema.json");
  fake.run({"registry", "mirror", "add", "registry.example", "oci://mirror.example/copies"}, command_table());
  const Value mirrors = printed({"registry", "mirror", "list"});
  expect_valid(mirrors, "cli/registry-mirror-list.schema.json");
  EXPECT_EQ(mirrors.find("mirrors")->size(), 1u);
}

TEST_F(Schemas, OfPackageTestAndLint) {
  const std::string package = (fake.home.path() / "web").string();
  ASSERT_EQ(fake.run({"package", "init", package, "-t", "yaml"}, command_table()), ExitCode::Ok)
      << fake.err.take();
  fake.out.take();
  ASSERT_TRUE(fake.files.write(package + "/tests/other.yaml", "expect: {error: x}\n").ok());
  for (const auto& [verb, schema] : {std::pair("test", "cli/package-test.schema.json"),
                                     std::pair("lint", "cli/package-lint.schema.json")}) {
    fake.run({"package", verb, package, "-o", "json"}, command_table());
    const auto value = encoding::parse_json(fake.out.take());
    ASSERT_TRUE(value.ok()) << verb;
    expect_valid(*value, schema);
  }
}

TEST_F(Schemas, OfKpmDiff) {
  const Path home = fake.home.path() / "kpm";
  fake.environment["KPM_HOME"] = home.string();
  ASSERT_TRUE(fake.files.write(home / "web-1.0.0/K3.yaml", "name: web\nversion: 1.0.0\n").ok());
  ASSERT_TRUE(fake.files.write(home / "web/K3.yaml", "name: web\nversion: 1.0.0\nhome: h\n").ok());
  ASSERT_TRUE(fake.files.write(home / "web/logo.png", std::string_view("\0", 1)).ok());
  const Value value = printed({"kpm", "diff", "web"});
  expect_valid(value, "cli/kpm-diff.schema.json");
  EXPECT_EQ(value.find("files")->size(), 2U);
}

TEST_F(Schemas, OfKpmSearch) {
  const Path home = fake.home.path() / "kpm";
  fake.environment["KPM_HOME"] = home.string();
  ASSERT_TRUE(fake.files
                  .write(home / "config.yaml",
                         "archives: [{name: central, url: 'http://127.0.0.1:9', service: true}]\n")
                  .ok());
  std::string kubes;
  for (const auto& [version, more] :
       {std::pair("1.9.0", ""), std::pair("1.10.0", "description: a store\\n"), std::pair("2.0.0", "")}) {
    const bool yanked = std::string_view(version) == "2.0.0";
    kubes += fmt::format(
        R"({{"name": "etcd", "version": "{0}", "digest": "sha256:{1:0>64}", "yanked": {2}, "yankReason": {3}, )"
        R"("k3": "name: etcd\nversion: {0}\n{4}"}},)",
        version, 0, yanked, yanked ? R"("it loses keys")" : "null", more);
  }
  kubes.pop_back();
  ASSERT_TRUE(
      fake.files.write(home / ".archives/central/index.json", fmt::format(R"({{"kubes": [{}]}})", kubes))
          .ok());
  const Value value = printed({"kpm", "search"});
  expect_valid(value, "cli/kpm-search.schema.json");
  ASSERT_EQ(value.find("kubes")->size(), 1U);
  EXPECT_EQ(value.find("kubes")->as_array()[0].string_at("version"), "1.10.0");
  EXPECT_EQ(printed({"kpm", "search", "nothing"}).find("kubes")->size(), 0U);
}

TEST_F(Schemas, OfKpmInfo) {
  const Path home = fake.home.path() / "kpm";
  fake.environment["KPM_HOME"] = home.string();
  ASSERT_TRUE(fake.files
                  .write(home / "web/K3.yaml",
                         "name: web\nversion: 1.0.0\nmaintainers: [Ann <ann@example.com>]\n"
                         "dependencies: [{name: disk, version: ^1.0}]\ndetails: |\n  One.\n  Two.\n")
                  .ok());
  ASSERT_TRUE(fake.files.write(home / "web/manifests/a.yaml", "kind: ConfigMap\n").ok());
  const Value value = printed({"kpm", "info", "web"});
  expect_valid(value, "cli/kpm-info.schema.json");
  EXPECT_EQ(value.string_at("workingCopy"), (home / "web").string());
  EXPECT_EQ(value.string_at("details"), "One.\nTwo.");
  EXPECT_EQ(value.find("dependencies")->as_array()[0].string_at("version"), "^1.0");
  EXPECT_EQ(value.find("provides")->as_array()[0].as_string(), "a.yaml");
  EXPECT_TRUE(value.find("yanked")->is_null());
}

// The words of a command line for it: its path, and something for each argument and each flag that it needs.
std::vector<std::string> words_for(const Command& command) {
  std::vector<std::string> words;
  for (const std::string_view part : split(command.path, ' ')) words.emplace_back(part);
  for (std::size_t i = 0; i < command.arguments.size(); ++i) words.emplace_back("./nowhere");
  for (const FlagGroup& group : command.flags)
    for (const Flag& flag : group.flags)
      if (flag.required) words.insert(words.end(), {fmt::format("--{}", flag.name), "./nowhere"});
  return words;
}

// Any error, of any command, is reported as JSON on the last line of stderr where JSON was asked for.
TEST_F(Schemas, OfTheErrorsOfEveryCommand) {
  fake.machine.connect = [](const ClusterChoice&, Machine&) -> Result<std::unique_ptr<kube::Client>> {
    return error(ErrorKind::Retryable, "no route to the cluster").with_hint("is it up?");
  };
  const auto fails = [&](std::vector<std::string> words, const std::string& line) {
    words.insert(words.end(), {"--output", "json"});
    const ExitCode code = fake.run(words, command_table());
    const std::string out = fake.out.take(), err = fake.err.take();
    if (code == ExitCode::Ok) return code;
    // Results from before the failure may stand there (registry update).
    EXPECT_TRUE(out.empty() || encoding::parse_json(out).ok()) << line << ": " << out;
    const std::vector<std::string_view> lines = split(trim(err), '\n');
    const auto value = encoding::parse_json(lines.back());
    EXPECT_TRUE(value.ok()) << line << ": " << err;
    if (!value.ok()) return code;
    expect_valid(*value, "error.schema.json");
    EXPECT_EQ(value->find("exitCode")->as_int(), static_cast<int>(code)) << line;
    EXPECT_NE(value->string_at({"error", "message"}), "") << line;
    return code;
  };
  std::vector<std::string> fine;
  for (const Command* command : command_table().commands) {
    // The findings of doctor are its result, on stdout.
    if (command->hidden || command->path == "doctor") continue;
    const std::vector<std::string> words = words_for(*command);
    std::vector<std::string> wrong = words;
    wrong.emplace_back("--no-such-flag");
    EXPECT_EQ(fails(wrong, fmt::format("{} --no-such-flag", command->path)), ExitCode::Usage)
        << command->path;
    if (fails(words, std::string(command->path)) == ExitCode::Ok) fine.emplace_back(command->path);
  }
  // These need no cluster and no package; those do, so that something failed.
  EXPECT_THAT(fine, IsSupersetOf({"config view", "config path", "registry list", "version"}));
  EXPECT_THAT(fine, Not(Contains(AnyOf("install", "status", "list", "generate", "inspect package"))));
}

TEST_F(Schemas, OfErrors) {
  expect_valid(printed({"version", "--bad"}), "error.schema.json");
  const Error failure = error(ErrorKind::Invalid, "bad")
                            .at({.file = "values.yaml", .line = 3, .column = 1, .excerpt = "x: y"})
                            .with_frame("while reading")
                            .caused_by(error(ErrorKind::Internal, "deeper")
                                           .at({.file = "there", .line = 0, .column = 0, .excerpt = {}}));
  expect_valid(error_to_value(failure, ExitCode::Failed), "error.schema.json");

  const Error not_ready = diagnosed(
      error(ErrorKind::Timeout, "1 object is not ready"),
      Diagnosis{.kind = "Release",
                .name = "shop/web",
                .state = {},
                .children = {{.kind = "container",
                              .name = "main",
                              .state = "ended with exit code 1",
                              .reason = "Error",
                              .exit_code = 1,
                              .events = {{.warning = true, .reason = "BackOff", .message = "m", .count = 2}},
                              .log = {"last words"},
                              .log_is_previous = true,
                              .notes = {"a note"}}}});
  const Value printed_diagnosis = error_to_value(not_ready, ExitCode::Failed);
  expect_valid(printed_diagnosis, "error.schema.json");
  const Value* container = printed_diagnosis.at_path({"error", "diagnosis", "children"});
  ASSERT_NE(container, nullptr);
  EXPECT_EQ(container->as_array()[0].find("exitCode")->as_int(), 1);
  EXPECT_EQ(container->as_array()[0].find("log")->as_array()[0].string_at("text"), "last words");
}

}  // namespace
}  // namespace mist::cli
