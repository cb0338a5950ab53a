#include "cli/named_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "testing/fake_machine.h"

namespace mist::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(NamedFile, StandardInputIsReadOnce) {
  testing::FakeMachine fake;
  fake.in.lines = {"typed"};
  ASSERT_TRUE(fake.files.write(fake.home.path() / "file", "written").ok());
  const std::string file = (fake.home.path() / "file").string();
  EXPECT_EQ(*read_named_file(fake.machine, "-", 100), "typed\n");
  const auto again = read_named_file(fake.machine, "-", 100);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::Usage);
  EXPECT_EQ(*read_named_file(fake.machine, file, 100), "written");
  EXPECT_EQ(*read_named_file(fake.machine, file, 100), "written");
  EXPECT_EQ(read_named_file(fake.machine, file, 3).error().kind, ErrorKind::Invalid);
}

TEST(NamedFile, AnAddressIsNotFetched) {
  testing::FakeMachine fake;
  const auto read = read_named_file(fake.machine, "https://example.com/values.yaml", 100);
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().hint, HasSubstr("download it"));
  EXPECT_EQ(read_named_file(fake.machine, "values.yaml", 100).error().hint.find("download"),
            std::string::npos);
}

TEST(NamedFile, NoCommandTakesAnEmptyInputForWhatWasReadBefore) {
  testing::FakeMachine fake;
  const std::string directory = (fake.home.path() / "draft").string();
  const std::string pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: []}}";
  for (int run = 0; run < 2; ++run) {
    fake.in.lines = {pod};
    EXPECT_EQ(fake.run({"blueprint", "from-yaml", "web", directory, "-f", "-", "-f", "-"}, command_table()),
              ExitCode::Usage);
    EXPECT_THAT(fake.err.take(), HasSubstr("standard input can be read only once"));
    EXPECT_FALSE(fake.files.exists(directory));
  }
  fake.in.lines = {pod};
  // It is read then: only the evaluation of the draft needs an engine, which a test's program doesn't have.
  fake.run({"blueprint", "from-yaml", "web", directory, "-f", "-"}, command_table());
  EXPECT_THAT(fake.err.take(), Not(HasSubstr("standard input")));
}

}  // namespace
}  // namespace mist::cli
