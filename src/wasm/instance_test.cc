#include "wasm/instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "wasm/test_support.h"

namespace mist::wasm {
namespace {

using ::testing::HasSubstr;

Limits small_limits() {
  Limits limits;
  limits.memory_bytes = 4 << 20;
  limits.guest_time = std::chrono::milliseconds(200);
  limits.output_bytes = 1 << 20;
  limits.table_elements = 1000;
  return limits;
}

Result<CallResult> run(std::string_view wat, std::string_view function = "run", InstanceOptions options = {},
                       const Context& context = {}) {
  auto instance = Instance::create(module_of(wat), std::move(options), context);
  if (!instance) return std::move(instance).error();
  return instance->call(function);
}

Error failure_of_run(std::string_view wat) {
  auto result = run(wat, "run", {.system = {}, .input = "", .limits = small_limits()});
  EXPECT_FALSE(result.ok());
  return result.ok() ? Error{} : std::move(result).error();
}

TEST(Instance, CallsWithArgumentsAndResults) {
  const Module module = module_of(R"((module
    (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
    (func (export "pair") (result i32 i32) (i32.const 1) (i32.const -1))))");
  auto instance = Instance::create(module, {});
  ASSERT_TRUE(instance.ok());
  EXPECT_EQ(instance->call("add", {40, 2})->values, std::vector<std::uint32_t>{42});
  EXPECT_EQ(instance->call("add", {0xffffffff, 2})->values, std::vector<std::uint32_t>{1});
  EXPECT_EQ(instance->call("pair")->values, (std::vector<std::uint32_t>{1, 0xffffffff}));
}

TEST(Instance, RefusesCallsThatDontFit) {
  const Module module =
      module_of(R"((module (memory (export "memory") 1) (global (export "g") i32 (i32.const 5))
    (func (export "wide") (param i64)) (func (export "float") (result f32) (f32.const 0))
    (func (export "vector") (param v128)) (func (export "run"))))");
  auto instance = Instance::create(module, {});
  ASSERT_TRUE(instance.ok());
  for (const std::string_view name : {"missing", "memory", "g", "wide", "float", "vector"}) {
    const auto result = instance->call(name);
    ASSERT_FALSE(result.ok()) << name;
    EXPECT_EQ(result.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(result.error().message, HasSubstr(name));
  }
  EXPECT_FALSE(instance->call("run", {1}).ok());
  EXPECT_TRUE(instance->call("run").ok()) << "none of that ended the guest";
  EXPECT_EQ(instance->global("g"), 5U);
  EXPECT_EQ(instance->global("memory"), std::nullopt);
  EXPECT_EQ(instance->global("missing"), std::nullopt);
}

struct TrapCase {
  std::string_view body;
  std::string_view says;
  std::string_view hint;
};

TEST(Instance, SaysWhichFaultOrLimitEndedTheGuest) {
  const std::vector<TrapCase> cases = {
      {"(loop (br 0))", "time limit of 0.2 s", "--limit-time"},
      {"(loop (drop (memory.grow (i32.const 1))) (br 0))", "memory limit: it wanted 5 MiB", "--limit-memory"},
      {"(loop (drop (table.grow 0 (ref.null func) (i32.const 100))) (br 0))", "table limit of 1000",
       "--limit-table"},
      {"(call $deeper)", "stack limit of 1024 KiB", "--limit-stack"},
      {"unreachable", "unreachable", "author"},
      {"(drop (i32.load (i32.const 65536)))", "outside its memory", "author"},
      {"(i32.store (i32.const -1) (i32.const 0))", "outside its memory", "author"},
      {"(drop (i32.div_u (i32.const 1) (i32.const 0)))", "by zero", "author"},
      {"(drop (i32.div_s (i32.const 0x80000000) (i32.const -1)))", "overflow", "author"},
      {"(drop (i32.trunc_f32_u (f32.const nan)))", "float", "author"},
      {"(call_indirect (i32.const 0))", "null", "author"},
      {"(call_indirect (i32.const 5000))", "table outside its bounds", "author"},
      {"(call_indirect (param i32) (i32.const 0) (i32.const 1))", "of another type", "author"},
      {"(memory.fill (i32.const 65000) (i32.const 0) (i32.const 1000))", "outside its memory", "author"},
  };
  for (const TrapCase& each : cases) {
    const Error failure = failure_of_run(fmt::format(
        R"((module (memory (export "memory") 1) (table 2 funcref) (elem (i32.const 1) $run)
             (func $deeper (call $deeper)) (func $run (export "run") {})))",
        each.body));
    EXPECT_EQ(failure.kind, ErrorKind::Trap) << each.body;
    EXPECT_THAT(failure.message, HasSubstr(each.says)) << each.body;
    EXPECT_THAT(failure.hint, HasSubstr(each.hint)) << each.body;
    EXPECT_THAT(failure.because, HasSubstr("backtrace")) << each.body;
    EXPECT_THAT(failure.to_line(), HasSubstr("while it ran run")) << each.body;
  }
}

TEST(Instance, SaysWhenTheModuleSetItsOwnMaximum) {
  const Error failure =
      failure_of_run(R"((module (memory 1 2) (func (export "run") (drop (memory.grow (i32.const 5))))))");
  EXPECT_THAT(failure.message, HasSubstr("that it sets itself"));
}

TEST(Instance, ChecksLimitsOfWhatItBeginsWith) {
  const Error memory = failure_of_run(R"((module (memory 100) (func (export "run"))))");
  EXPECT_EQ(memory.kind, ErrorKind::Trap);
  EXPECT_THAT(memory.message, HasSubstr("memory limit"));
  const Error table = failure_of_run(R"((module (table 5000 funcref) (func (export "run"))))");
  EXPECT_EQ(table.kind, ErrorKind::Trap);
  EXPECT_THAT(table.message, HasSubstr("table limit"));
}

TEST(Instance, NamesFunctionsInTheBacktrace) {
  const Error failure = failure_of_run(
      R"((module (func $_ZN4core9panicking5panic17h0123456789abcdefE unreachable)
           (func $render (call $_ZN4core9panicking5panic17h0123456789abcdefE)) (func (export "run") (call $render))))");
  EXPECT_THAT(failure.because, HasSubstr("core::panicking::panic"));
  EXPECT_THAT(failure.because, HasSubstr("← render"));
}

constexpr std::string_view kWriter = R"((module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\06\00\00\00") (data (i32.const 16) "words\n")
  (func $say (param i32) (drop (call $write (local.get 0) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func (export "both") (call $say (i32.const 1)) (call $say (i32.const 2)))
  (func (export "complain") (call $say (i32.const 2)) unreachable)
  (func (export "flood") (loop (call $say (i32.const 1)) (br 0)))
  (func (export "exit3") (call $say (i32.const 1)) (call $exit (i32.const 3)) unreachable)
))";

TEST(Instance, CollectsOutputs) {
  auto instance = Instance::create(module_of(kWriter), {});
  ASSERT_TRUE(instance.ok());
  ASSERT_TRUE(instance->call("both").ok());
  ASSERT_TRUE(instance->call("both").ok());
  const RunReport report = instance->take_report();
  EXPECT_EQ(report.out, "words\nwords\n");
  EXPECT_EQ(report.err, "words\nwords\n");
  EXPECT_EQ(report.memory_bytes, 65536U);
}

TEST(Instance, QuotesStderrOfAGuestThatDied) {
  const auto result = run(kWriter, "complain");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().because, HasSubstr("its stderr: words"));
}

TEST(Instance, EndsAGuestThatPrintsForEver) {
  const auto result = run(kWriter, "flood", {.system = {}, .input = "", .limits = small_limits()});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Trap);
  EXPECT_THAT(result.error().message, HasSubstr("output limit of 1 MiB"));
}

TEST(Instance, ReportsAnExitCodeAndIsOverThen) {
  auto instance = Instance::create(module_of(kWriter), {});
  ASSERT_TRUE(instance.ok());
  const auto result = instance->call("exit3");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->exit_code, 3U);
  EXPECT_TRUE(result->values.empty());
  const auto again = instance->call("both");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(instance->take_report().out, "words\n");
}

TEST(Instance, RunsWasiInAStartFunction) {
  const Module module = module_of(R"((module
    (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func $begin (drop (call $random (i32.const 0) (i32.const 8))))
    (func (export "run") (drop (call $random (i32.const 8) (i32.const 4))))
    (start $begin)))");
  auto instance = Instance::create(module, {});
  ASSERT_TRUE(instance.ok());
  instance->mark_entry();
  ASSERT_TRUE(instance->call("run").ok());
  const RunReport report = instance->take_report();
  EXPECT_EQ(report.drawn_before_entry, 8U);
  EXPECT_EQ(report.drawn_after_entry, 4U);
}

TEST(Instance, StopsWhenTheCallerAsks) {
  std::stop_source stop;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    stop.request_stop();
  });
  const auto result =
      run(R"((module (func (export "run") (loop (br 0)))))", "run", {}, Context(stop.get_token()));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Cancelled);
}

TEST(Instance, StopsAtTheCallersDeadline) {
  const auto result = run(R"((module (func (export "run") (loop (br 0)))))", "run", {},
                          Context().with_timeout(std::chrono::milliseconds(30)));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Timeout);
}

TEST(Instance, SaysWhenTheProcessHasNoAddressSpace) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer itself needs more than the limit of this test";
#endif
  const Module module = module_of(R"((module (memory 1) (func (export "run"))))");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit small{std::uint64_t{3} << 30, std::uint64_t{3} << 30};
    ::setrlimit(RLIMIT_AS, &small);
    const auto instance = Instance::create(module, {});
    const bool good = !instance.ok() && instance.error().kind == ErrorKind::Internal &&
                      instance.error().hint.find("ulimit -v") != std::string::npos;
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Instance, GivesEachRunItsOwnMemory) {
  const Module module = module_of(R"((module (memory (export "memory") 1)
    (func (export "run") (result i32) (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
      (i32.load (i32.const 0)))))");
  for (int i = 0; i < 3; ++i) {
    auto instance = Instance::create(module, {});
    ASSERT_TRUE(instance.ok());
    EXPECT_EQ(instance->call("run")->values.front(), 1U);
  }
}

TEST(Instance, ManyThreadsRunOneModule) {
  const Module module = module_of(R"((module (memory (export "memory") 1)
    (func (export "ok") (result i32) (i32.const 7)) (func (export "trap") unreachable)
    (func (export "loop") (loop (br 0)))))");
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        auto instance = Instance::create(module, {.system = {}, .input = "", .limits = small_limits()});
        ASSERT_TRUE(instance.ok());
        EXPECT_EQ(instance->call("ok")->values.front(), 7U);
        if (i == 0) {
          EXPECT_FALSE(instance->call(t % 2 == 0 ? "loop" : "trap").ok());
        }
      }
    });
  }
}

TEST(Instance, MakesNaNsTheSameEverywhere) {
  const Module module = module_of(R"((module (memory (export "memory") 1) (func (export "run") (result i32)
    (i32.reinterpret_f32 (f32.div (f32.const 0) (f32.const 0))))))");
  auto instance = Instance::create(module, {});
  ASSERT_TRUE(instance.ok());
  EXPECT_EQ(instance->call("run")->values.front(), 0x7fc00000U);
}

}  // namespace
}  // namespace mist::wasm
