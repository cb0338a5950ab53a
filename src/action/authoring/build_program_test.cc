#include "action/authoring/build_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::action {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Programs in the PATH are those that it has an answer for.
class Compilers final : public ProcessRunner {
 public:
  Result<ProcessResult> run(const Command& command, const Context&) override {
    asked.push_back(command.program);
    if (!there.contains(command.program))
      return error(ErrorKind::NotFound, "there is no program {}", command.program);
    last = command;
    for (std::size_t i = 0; i + 1 < command.arguments.size(); ++i) {
      if (command.arguments[i] != "-o" || answer.exit_code != 0) continue;
      const Status written = HostFileSystem().write(command.arguments[i + 1], "module");
      EXPECT_TRUE(written.ok());
    }
    return answer;
  }
  std::set<std::string> there;
  ProcessResult answer;
  std::vector<std::string> asked;
  Command last;
};

class BuildProgram : public ::testing::Test {
 protected:
  void write(const std::string& path, std::string_view text = "") {
    ASSERT_TRUE(files.write(directory.path() / path, text).ok());
  }
  Result<std::string> compile() {
    const Toolchain* const toolchain = find_toolchain(files, directory.path());
    EXPECT_NE(toolchain, nullptr);
    const Variables environment = [this](std::string_view name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    return compile_program(*toolchain, files, compilers, environment, events, directory.path(), {});
  }
  bool left_anything() const { return files.exists(directory.path() / ".mistletoe-build.wasm"); }

  const testing::TempDir directory;
  HostFileSystem files;
  mist::testing::RecordedEvents events;
  Compilers compilers;
  std::map<std::string, std::string, std::less<>> variables;
};

TEST_F(BuildProgram, AFileShowsTheLanguage) {
  EXPECT_EQ(find_toolchain(files, directory.path()), nullptr);
  for (const auto& [mark, language] : {std::pair{"main.c", "C"}, {"main.cpp", "C++"}, {"go.mod", "Go"}}) {
    write(mark);
    ASSERT_NE(find_toolchain(files, directory.path()), nullptr) << mark;
    EXPECT_EQ(find_toolchain(files, directory.path())->language, language);
  }
}

TEST_F(BuildProgram, GivesWhatTheCompilerMadeAndLeavesNothing) {
  write("go.mod");
  compilers.there = {"go"};
  const auto module = compile();
  ASSERT_TRUE(module.ok()) << module.error().to_line();
  EXPECT_EQ(*module, "module");
  EXPECT_EQ(compilers.last.directory, directory.path());
  EXPECT_EQ(compilers.last.env.at("GOOS"), "wasip1");
  EXPECT_FALSE(left_anything());
}

TEST_F(BuildProgram, ACompilerThatIsMissingIsNamedWithWhereItComesFrom) {
  write("go.mod");
  const auto module = compile();
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(module.error().message, AllOf(HasSubstr("Go"), HasSubstr("go, which isn't in the PATH")));
  EXPECT_THAT(module.error().hint, HasSubstr("https://go.dev/dl"));
}

TEST_F(BuildProgram, TakesTheFirstCompilerThatIsThere) {
  write("main.cpp");
  write("parts.cpp");
  write("compile_flags.txt", "-Wall\n");
  compilers.there = {"clang++"};
  ASSERT_TRUE(compile().ok());
  EXPECT_THAT(compilers.asked, ElementsAre("clang++-19", "clang++"));
  EXPECT_THAT(compilers.last.arguments,
              AllOf(Contains("main.cpp"), Contains("parts.cpp"), Contains("@compile_flags.txt")));
}

TEST_F(BuildProgram, WhatTheCompilerSaysIsTheReason) {
  write("go.mod");
  compilers.there = {"go"};
  compilers.answer = {.exit_code = 1, .out = "", .err = "./main.go:3: undefined: x\n"};
  const auto module = compile();
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.error().message, HasSubstr("doesn't compile"));
  EXPECT_EQ(module.error().because, "./main.go:3: undefined: x");
  EXPECT_FALSE(left_anything());
}

TEST_F(BuildProgram, NpmThatWasNotRunIsNoSecretOfNode) {
  write("package.json", R"({"dependencies": {"mistletoe": "file:mistletoe"}})");
  compilers.there = {"node"};
  auto module = compile();
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(module.error().hint, HasSubstr("npm ci"));
  EXPECT_THAT(module.error().because, HasSubstr("node_modules"));
  EXPECT_TRUE(compilers.asked.empty());

  write("node_modules/mistletoe/bin/build.mjs");
  module = compile();
  ASSERT_TRUE(module.ok()) << module.error().to_line();
}

TEST_F(BuildProgram, ANodeProjectWithoutTheSdkIsNoPackage) {
  write("package.json", R"({"dependencies": {"express": "5"}})");
  const auto module = compile();
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.error().message, HasSubstr("depends on no mistletoe"));
}

TEST_F(BuildProgram, CargoSaysWhereItsModuleIs) {
  write("Cargo.toml");
  write("target/shop.wasm", "of Cargo");
  compilers.there = {"cargo"};
  const std::string module = (directory.path() / "target/shop.wasm").string();
  compilers.answer.out =
      "{\"reason\":\"compiler-artifact\",\"filenames\":[\"/x/libserde.rlib\"]}\n"
      "{\"reason\":\"compiler-artifact\",\"filenames\":[\"" +
      module +
      "\"]}\n"
      "{\"reason\":\"build-finished\",\"success\":true}\n";
  const auto made = compile();
  ASSERT_TRUE(made.ok()) << made.error().to_line();
  EXPECT_EQ(*made, "of Cargo");

  compilers.answer.out.clear();
  EXPECT_THAT(compile().error().message, HasSubstr("cargo made no module"));
}

TEST_F(BuildProgram, OfSeveralModulesOfCargoThatOfThePackageIsTaken) {
  write("Cargo.toml");
  compilers.there = {"cargo"};
  const std::string place = std::filesystem::canonical(directory.path()).string();
  const auto made = [&](const std::string& target, const std::string& kind, const std::string& crate) {
    write(target + "-" + kind + ".wasm", target + " " + kind);
    return fmt::format(
        R"({{"reason":"compiler-artifact","package_id":"path+file://{}#shop@0.1.0","manifest_path":"{}/Cargo.toml",)"
        R"("target":{{"name":"{}","kind":["{}"]}},"filenames":["{}/{}-{}.wasm"]}})"
        "\n",
        crate, crate, target, kind, place, target, kind);
  };
  const std::string shop = made("shop", "bin", place), tool = made("tool", "bin", place),
                    library = made("shop", "cdylib", place), other = made("other", "cdylib", "/other");
  for (const std::string& printed : {shop + tool, tool + shop, shop + library, other + shop, shop + other}) {
    compilers.answer.out = printed;
    const auto module = compile();
    ASSERT_TRUE(module.ok()) << module.error().to_line();
    EXPECT_EQ(*module, "shop bin") << printed;
  }
  compilers.answer.out = other + library;
  EXPECT_EQ(compile().value_or(""), "shop cdylib");
  compilers.answer.out = tool + library;
  const auto refused = compile();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("cargo made 2 modules"), HasSubstr("shop, tool")));
}

TEST_F(BuildProgram, AnIdOfCargoMayLeaveOutANameThatIsThatOfTheDirectory) {
  write("Cargo.toml");
  write("a.wasm", "a");
  compilers.there = {"cargo"};
  const std::string file = (directory.path() / "a.wasm").string();
  const auto made = [&](std::string_view target) {
    return fmt::format(R"({{"reason":"compiler-artifact","package_id":"path+file:///work/shop#0.1.0",)"
                       R"("target":{{"name":"{}","kind":["bin"]}},"filenames":["{}"]}})"
                       "\n",
                       target, target == "shop" ? file : "/none.wasm");
  };
  compilers.answer.out = made("shop") + made("tool");
  EXPECT_EQ(compile().value_or(""), "a");
}

// In the variable that Cargo reads: another one would take the place of the flags that are set.
TEST_F(BuildProgram, RustModulesHaveNoPathsOfThisMachine) {
  write("Cargo.toml");
  compilers.there = {"cargo"};
  const std::string package =
      fmt::format("--remap-path-prefix={}=/package", std::filesystem::canonical(directory.path()).string());
  const auto flags = [&](const std::string& variable) {
    EXPECT_FALSE(compile().ok());
    const auto found = compilers.last.env.find(variable);
    return found == compilers.last.env.end() ? std::string("not set") : found->second.value_or("removed");
  };
  variables = {{"HOME", "/home/ann"}};
  EXPECT_EQ(flags("CARGO_BUILD_RUSTFLAGS"), "--remap-path-prefix=/home/ann/.cargo=/cargo " + package);
  EXPECT_EQ(flags("RUSTFLAGS"), "not set");
  variables = {{"HOME", "/home/ann"}, {"CARGO_HOME", "/opt/cargo"}, {"RUSTFLAGS", "-C opt-level=s"}};
  EXPECT_EQ(flags("RUSTFLAGS"), "-C opt-level=s --remap-path-prefix=/opt/cargo=/cargo " + package);
  EXPECT_EQ(flags("CARGO_BUILD_RUSTFLAGS"), "not set");
  variables = {{"CARGO_HOME", "/my cargo"}, {"RUSTFLAGS", ""}};
  EXPECT_EQ(flags("RUSTFLAGS"), package) << "a path with spaces would be several flags";
  EXPECT_THAT(events.messages, ElementsAre(HasSubstr("the module may have the path /my cargo in it")));
  variables.emplace("CARGO_ENCODED_RUSTFLAGS", "-Cdebuginfo=0");
  EXPECT_EQ(flags("CARGO_ENCODED_RUSTFLAGS"),
            "-Cdebuginfo=0\x1f--remap-path-prefix=/my cargo=/cargo\x1f" + package);
  variables = {{"HOME", "/home/ann"}, {"CARGO_HOME", ""}};
  EXPECT_EQ(flags("CARGO_BUILD_RUSTFLAGS"), "--remap-path-prefix=/home/ann/.cargo=/cargo " + package);
  variables.emplace("CARGO_ENCODED_RUSTFLAGS", "");
  EXPECT_EQ(flags("CARGO_ENCODED_RUSTFLAGS"), "--remap-path-prefix=/home/ann/.cargo=/cargo\x1f" + package);
  EXPECT_EQ(events.messages.size(), 1U);
}

}  // namespace
}  // namespace mist::action
