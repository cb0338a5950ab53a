#include "wasm/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "testing/temp_dir.h"
#include "wasm/costly_modules.h"
#include "wasm/test_support.h"

namespace mist::wasm {
namespace {

using ::testing::HasSubstr;

// This program is started once more as the compiler, before main.
[[gnu::constructor]] void become_the_compiler(int argc, char** argv) {
  if (argc > 1 && argv[1] == kCompileVerb)
    ::_exit(run_compiler(std::span(argv, static_cast<std::size_t>(argc)).subspan(2)));
}

class WatchedProcesses final : public ProcessRunner {
 public:
  Result<ProcessResult> run(const Command& command, const Context& context) override {
    commands.push_back(command.arguments);
    return runner.run(command, context);
  }
  HostProcessRunner runner;
  std::vector<std::vector<std::string>> commands;
};

Error refused(CompileLimits limits, const std::string& wasm, Context context = {}) {
  HostProcessRunner processes;
  ProcessCompiler compiler(processes, this_program("/nowhere"), limits, std::move(context));
  auto code = compiler.compile(bytes_of(wasm), "shop", {});
  EXPECT_FALSE(code.ok());
  return code.ok() ? error(ErrorKind::Internal, "it was compiled") : code.error();
}

constexpr std::string_view kAnswer = R"((module (func (export "run") (result i32) (i32.const 42))))";

TEST(ProcessCompiler, GivesCodeThatTheRuntimeKeepsAndMaps) {
  const testing::TempDir home;
  WatchedProcesses processes;
  NullEventSink events;
  for (const bool optimise : {false, true}) {
    ProcessCompiler compiler(processes, this_program("/nowhere"), {}, {});
    for (int turn = 0; turn < 2; ++turn) {
      auto runtime = Runtime::create(
          {.cache_directory = home.path() / "code", .optimise = optimise, .compiler = &compiler}, events);
      ASSERT_TRUE(runtime.ok());
      const auto module = runtime->load(bytes_of(assemble(kAnswer)), "shop");
      ASSERT_TRUE(module.ok()) << module.error().to_line();
      EXPECT_EQ(*module->function("run"), (FunctionType{"", "i"}));
    }
  }
  EXPECT_EQ(processes.commands.size(), 2u);  // once for each setting
}

TEST(ProcessCompiler, EndsAtTheMemoryLimit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer itself needs more than any limit";
#endif
  const Error failure =
      refused({.memory_bytes = std::uint64_t{96} << 20}, module_of_bodies({costly_body(1'000, 6'000)}));
  EXPECT_EQ(failure.kind, ErrorKind::Invalid);
  EXPECT_THAT(failure.message, HasSubstr("shop"));
  EXPECT_THAT(failure.message, HasSubstr("memory limit"));
  EXPECT_THAT(failure.hint, HasSubstr("--limit-compile-memory"));
}

TEST(ProcessCompiler, EndsAtTheTimeLimit) {
  const Error failure =
      refused({.memory_bytes = std::uint64_t{4} << 30, .cpu_time = std::chrono::milliseconds(1)},
              module_of_bodies({costly_body(2'000, 6'000)}));
  EXPECT_EQ(failure.kind, ErrorKind::Invalid);
  EXPECT_THAT(failure.message, HasSubstr("processor time"));
  EXPECT_THAT(failure.hint, HasSubstr("--limit-compile-time"));
}

TEST(ProcessCompiler, TakesNoMoreCodeThanItAllows) {
  const Error failure = refused({.code_bytes = 1000}, assemble(kAnswer));
  EXPECT_EQ(failure.kind, ErrorKind::Invalid);
  EXPECT_THAT(failure.message, HasSubstr("compiled code of shop"));
}

TEST(ProcessCompiler, StopsWhenItsCallerDoes) {
  std::stop_source stop;
  stop.request_stop();
  const Error failure = refused({}, module_of_bodies({costly_body(2'000, 6'000)}), Context(stop.get_token()));
  EXPECT_EQ(failure.kind, ErrorKind::Cancelled);
}

TEST(ProcessCompiler, SaysWhyAModuleIsNone) {
  const Error failure = refused({}, "\1\2\3");
  EXPECT_EQ(failure.kind, ErrorKind::Invalid);
  EXPECT_THAT(failure.message, HasSubstr("shop is not a valid WebAssembly module"));
  EXPECT_FALSE(failure.because.empty());
}

TEST(ProcessCompiler, SaysWhenThereIsNoProgram) {
  HostProcessRunner processes;
  ProcessCompiler compiler(processes, "/nowhere/mistctl", {}, {});
  EXPECT_FALSE(compiler.compile(bytes_of(assemble(kAnswer)), "shop", {}).ok());
}

}  // namespace
}  // namespace mist::wasm
