#include "action/authoring/package_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "action/authoring/lint_package.h"
#include "base/event.h"
#include "encoding/json.h"
#include "testing/temp_dir.h"

namespace mist::action {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

struct PackageCasesTest : ::testing::Test {
  PackageCasesTest() {
    cases.source.reference = "./web";
    cases.source.name = "web";
    cases.source.content = package::Files{{"a.yaml", std::string(kMap)}};
    cases.folder = directory.path() / "tests";
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(files.write(cases.folder / name, text).ok());
  }
  std::vector<CaseResult> run(Golden golden = Golden::Compare) {
    auto results = run_package_cases(files, renderer, cases, golden, {});
    EXPECT_TRUE(results.ok()) << results.error().to_line();
    return std::move(results).value_or({});
  }
  std::vector<std::string> lint() {
    const auto findings = lint_package(files, renderer, cases, types, {});
    EXPECT_TRUE(findings.ok());
    std::vector<std::string> lines;
    for (const package::Finding& each : *findings)
      lines.push_back(fmt::format("{}:{}: {}: {}", each.file, each.line, each.rule, each.message));
    return lines;
  }

  testing::TempDir directory;
  HostFileSystem files;
  NullEventSink events;
  package::Renderer renderer{{}, events};
  PackageCases cases;
  package::TypeStore types;
};

TEST_F(PackageCasesTest, AGoldenFileThatIsALinkIsReplaced) {
  write("x.yaml", "");
  const Path mine = directory.path() / "mine";
  ASSERT_TRUE(files.write(mine, "text of the user").ok());
  std::filesystem::create_symlink(mine, cases.folder / "x.golden.yaml");
  EXPECT_THAT(run(Golden::Accept), ElementsAre(Field(&CaseResult::state, CaseState::Accepted)));
  EXPECT_EQ(*files.read(mine), "text of the user") << "the package's author put the link there, not the user";
  EXPECT_FALSE(std::filesystem::is_symlink(cases.folder / "x.golden.yaml"));
}

TEST_F(PackageCasesTest, AGoldenFileIsWrittenOnlyWhenThatIsAskedFor) {
  write("x.yaml", "");
  EXPECT_THAT(run(), ElementsAre(Field(&CaseResult::state, CaseState::Failed)));
  EXPECT_FALSE(files.exists(cases.folder / "x.golden.yaml"));
  EXPECT_THAT(run(Golden::Accept), ElementsAre(Field(&CaseResult::state, CaseState::Accepted)));
  EXPECT_EQ(*files.read(cases.folder / "x.golden.yaml"), fmt::format("---\n# a.yaml\n{}", kMap));
  EXPECT_THAT(run(Golden::Accept), ElementsAre(Field(&CaseResult::state, CaseState::Passed)));

  write("x.golden.yaml", "---\n# a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n");
  const auto results = run();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(results[0].failures, ElementsAre(HasSubstr("x.golden.yaml differs: --accept rewrites it")));
  EXPECT_THAT(results[0].diff, ElementsAre("@@ -3,4 +3,4 @@", " apiVersion: v1", " kind: ConfigMap",
                                           " metadata:", "-  name: b", "+  name: a"));
}

TEST_F(PackageCasesTest, AnErrorIsAFailureUnlessItIsExpected) {
  write("refused.yaml", "values: {a: 1}\nexpect: {error: takes no values}\n");
  write("other.yaml", "values: {a: 1}\nexpect: {error: something else}\n");
  write("unexpected.yaml", "values: {a: 1}\n");
  write("renders.yaml", "expect: {error: anything}\n");
  const auto results = run();
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[0].name, "other");
  EXPECT_THAT(results[0].failures,
              ElementsAre(HasSubstr("expected an error with \"something else\", got: ")));
  EXPECT_EQ(results[1].state, CaseState::Passed);
  EXPECT_THAT(results[2].failures, ElementsAre("expected an error with \"anything\", but it renders"));
  EXPECT_TRUE(results[3].error);
  EXPECT_EQ(results[3].state, CaseState::Failed);
}

TEST_F(PackageCasesTest, ValuesAreWhatTheyWouldBeInAFile) {
  const auto values_for = [&](package::Files package) {
    cases.source.content = std::move(package);
    const auto test = package::TestCase::parse("x", "values: {count: 2, none: null}", "x.yaml");
    return encoding::to_json(request_for(cases, *test, *package::engine_of(cases.source)).user_values,
                             encoding::JsonStyle::Exact);
  };
  EXPECT_EQ(values_for({{"Chart.yaml", "name: web"}}), R"({"count":2.0,"none":null})");
  EXPECT_EQ(values_for({{"mistletoe.yaml",
                         "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: a}\n"
                         "spec: {version: 1.0.0, description: d, engine: jinja}\n"}}),
            R"({"count":2,"none":null})");
}

TEST_F(PackageCasesTest, NamesWhatThereIs) {
  const auto none = run_package_cases(files, renderer, cases, Golden::Compare, {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::NotFound);
  write("x.yaml", "");
  cases.names = {"y"};
  const auto unknown = run_package_cases(files, renderer, cases, Golden::Compare, {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().hint, "the cases are x");
}

TEST_F(PackageCasesTest, LintLooksAtFilesCasesAndObjects) {
  constexpr std::string_view kUnchecked =
      ":0: unchecked: kinds and fields are not checked for Kubernetes 1.37: mistctl has the schemas of none";
  EXPECT_THAT(
      lint(),
      ElementsAre(":0: no-metadata: there is no mistletoe.yaml, so it has no version and no description",
                  kUnchecked, ":0: untested: there are no test cases: mistctl help package says how"));
  write("x.yaml", "");
  write("bad.yaml", "valuse: {}\n");
  write("old.golden.yaml", "");
  cases.source.content = package::Files{{"mistletoe.yaml",
                                         "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: "
                                         "a}\nspec: {version: 1.0.0, description: d}\n"},
                                        {"a.yaml", std::string(kMap)},
                                        {"b.yaml", fmt::format("\n{}", kMap)},
                                        {"tests/x.yaml", "values: {}\n"}};
  EXPECT_THAT(lint(), ElementsAre(kUnchecked,
                                  "b.yaml:5: object: ConfigMap default/a is there twice: first at a.yaml:1",
                                  "tests/bad.yaml:1: case: valuse is unknown",
                                  "tests/old.golden.yaml:0: golden: no test case compares with it"));
  std::get<package::Files>(cases.source.content)["b.yaml"] = "kind: [\n";
  EXPECT_THAT(lint(), Contains(HasSubstr("b.yaml:2: render: ")));
}

}  // namespace
}  // namespace mist::action
