// What `-o json` prints is as schemas/ says.

#include <gtest/gtest.h>

#include "base/diagnosis.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "encoding/json.h"
#include "encoding/schema.h"
#include "testing/fake_world.h"
#include "testing/source_dir.h"

namespace mist::cli {
namespace {

using encoding::Value;

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

  testing::FakeWorld fake;
};

TEST_F(Schemas, OfCommands) {
  expect_valid(printed({"version"}), "cli/version.schema.json");
  expect_valid(printed({"config", "path"}), "cli/config-path.schema.json");
  fake.run({"registry", "add", "local", "-d", fake.home.path().string()}, command_table());
  expect_valid(printed({"registry", "list"}), "cli/registry-list.schema.json");
  expect_valid(printed({"registry", "update", "local"}), "cli/registry-update.schema.json");
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
