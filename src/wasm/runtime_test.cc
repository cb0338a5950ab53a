#include "wasm/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "testing/temp_dir.h"
#include "wasm/instance.h"
#include "wasm/test_support.h"

namespace mist::wasm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Something of everything: imports, memory, tables, globals, data, elements, names, a custom section.
constexpr std::string_view kSample = R"((module $sample
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1 4)
  (table 3 funcref) (elem (i32.const 0) $one $two)
  (global $counter (mut i32) (i32.const 0))
  (data (i32.const 0) "\10\00\00\00\03\00\00\00") (data (i32.const 16) "abc")
  (func $one (result i32) (i32.const 1))
  (func $two (result i32) (global.set $counter (i32.add (global.get $counter) (i32.const 1))) (global.get $counter))
  (func (export "run") (param i32) (result i32) (local $i i32)
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $i) (local.get 0)))
      (drop (call_indirect (result i32) (i32.rem_u (local.get $i) (i32.const 2))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next)))
    (f64.store (i32.const 32) (f64.sqrt (f64.convert_i32_u (local.get $i))))
    (local.get $i)))
)";

Runtime runtime_with_cache(const Path& directory, EventSink& events) {
  RuntimeOptions options;
  options.cache_directory = directory;
  auto runtime = Runtime::create(options, events);
  MIST_CHECK(runtime.ok());
  return *std::move(runtime);
}

TEST(Runtime, DescribesAModule) {
  const Module module = module_of(kSample, "sample");
  EXPECT_EQ(module.name(), "sample");
  ASSERT_THAT(module.imports(), SizeIs(1));
  EXPECT_EQ(module.imports().front().name, "fd_write");
  EXPECT_TRUE(module.has_memory());
  ASSERT_NE(module.function("run"), nullptr);
  EXPECT_EQ(*module.function("run"), (FunctionType{"i", "i"}));
  EXPECT_EQ(module.function("memory"), nullptr);
  EXPECT_EQ(module.package_section(), std::nullopt);
  EXPECT_EQ(module.digest(), crypto::sha256(assemble(kSample)));
  EXPECT_EQ(to_string(FunctionType{"iIfFvr", "ii"}), "(i32, i64, f32, f64, v128, reference) → (i32, i32)");
}

TEST(Runtime, DescribesEveryTypeOfValue) {
  const Module module = module_of(R"((module (memory 1)
    (func (export "f") (param i32 i64 f32 f64 v128 funcref) (result v128) (local.get 4))
    (global (export "g") v128 (v128.const i64x2 0 0)) (table (export "t") 1 funcref)))");
  EXPECT_EQ(*module.function("f"), (FunctionType{"iIfFvr", "v"}));
  EXPECT_FALSE(module.has_memory());
}

struct Refused {
  std::string_view wat;
  std::string_view says;
};

TEST(Runtime, NamesImportsThatItDoesNotHave) {
  const std::vector<Refused> cases = {
      {R"((module (import "env" "open" (func))))", "env.open"},
      {R"((module (import "wasi_snapshot_preview1" "sock_open" (func))))",
       "wasi_snapshot_preview1.sock_open"},
      {R"((module (import "wasi_unstable" "fd_write" (func (param i32 i32 i32 i32) (result i32)))))",
       "wasi_unstable"},
      {R"((module (import "env" "memory" (memory 1))))", "env.memory"},
      {R"((module (import "wasi_snapshot_preview1" "fd_write" (memory 1))))", "fd_write"},
      {R"((module (import "wasi_snapshot_preview1" "fd_write" (func (param i64)))))",
       "as (i64) → (), but it is (i32, i32, i32, i32) → i32"},
      {"(module (import \"a\\1b[31m\" \"b\" (func)))", "a\\x1b[31m.b"},
  };
  for (const Refused& each : cases) {
    const auto module = shared_runtime().load(bytes_of(assemble(each.wat)), "shop");
    ASSERT_FALSE(module.ok()) << each.wat;
    EXPECT_EQ(module.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(module.error().message, HasSubstr(each.says));
    EXPECT_THAT(module.error().message, HasSubstr("shop"));
    EXPECT_THAT(module.error().hint, HasSubstr("WASI preview 1"));
  }
}

TEST(Runtime, RefusesProposalsThatItTurnedOff) {
  for (const std::string_view wat : {
           "(module (memory i64 1))",
           "(module (memory 1) (memory 1))",
           "(module (memory 1 1 shared))",
           "(module (type (struct)))",
           "(module (tag (param i32)))",
       }) {
    const auto module = shared_runtime().load(bytes_of(assemble(wat)), "shop");
    ASSERT_FALSE(module.ok()) << wat;
    EXPECT_EQ(module.error().kind, ErrorKind::Invalid);
    EXPECT_FALSE(module.error().because.empty());
  }
}

TEST(Runtime, SurvivesEveryTruncation) {
  const std::string whole = assemble(kSample);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto module = shared_runtime().load(bytes_of(whole.substr(0, size)), "shop");
    if (!module.ok()) {
      EXPECT_EQ(module.error().kind, ErrorKind::Invalid);
    }
  }
}

// Loading and running a damaged module ends in a result or an error, however it is damaged.
TEST(Runtime, SurvivesFlippedBits) {
  const std::string whole = assemble(kSample);
  Limits limits;
  limits.memory_bytes = 1 << 20;
  limits.guest_time = std::chrono::milliseconds(20);
  limits.output_bytes = 1 << 20;
  std::minstd_rand random(1);
  std::size_t loaded = 0;
  for (std::size_t i = 0; i < whole.size() * 8; ++i) {
    std::string damaged = whole;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << (i % 8)));
    if (i % 3 == 0) damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto module = shared_runtime().load(bytes_of(damaged), "shop");
    if (!module.ok()) {
      EXPECT_EQ(module.error().kind, ErrorKind::Invalid);
      continue;
    }
    ++loaded;
    auto instance = Instance::create(*module, {.system = {}, .input = "", .limits = limits});
    if (!instance.ok()) continue;
    [[maybe_unused]] const auto called = instance->call("run", {10});
  }
  EXPECT_GT(loaded, 100U) << "most flips hit constants and names, and those modules run";
}

TEST(Runtime, CompilesOnceForAllProcessesOfAUser) {
  const testing::TempDir directory;
  RecordingEvents events;
  const std::string wasm = assemble(kSample);
  for (int i = 0; i < 3; ++i) {
    Runtime runtime = runtime_with_cache(directory.path() / "code", events);
    const auto module = runtime.load(bytes_of(wasm), "shop");
    ASSERT_TRUE(module.ok());
    auto instance = Instance::create(*module, {});
    ASSERT_TRUE(instance.ok());
    EXPECT_EQ(instance->call("run", {4})->values.front(), 4U);
  }
  EXPECT_THAT(events.take_activities(), ElementsAre("compiling shop"));
  EXPECT_THAT(events.take_messages(), IsEmpty());
}

TEST(Runtime, GivesTheSameDescriptionFromTheCache) {
  const testing::TempDir directory;
  RecordingEvents events;
  const std::string wasm = assemble(kSample);
  Runtime runtime = runtime_with_cache(directory.path() / "code", events);
  const auto first = runtime.load(bytes_of(wasm), "shop");
  const auto second = runtime.load(bytes_of(wasm), "shop");
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_EQ(first->exports().size(), second->exports().size());
  for (std::size_t i = 0; i < first->exports().size(); ++i) {
    EXPECT_EQ(first->exports()[i].name, second->exports()[i].name);
    EXPECT_EQ(first->exports()[i].function, second->exports()[i].function);
  }
}

TEST(Runtime, DoesNotCacheWhatNoPackageCanHave) {
  const testing::TempDir directory;
  RecordingEvents events;
  Runtime runtime = runtime_with_cache(directory.path() / "code", events);
  EXPECT_FALSE(runtime.load(bytes_of(assemble(R"((module (import "env" "x" (func))))")), "shop").ok());
  EXPECT_FALSE(HostFileSystem().exists(directory.path() / "code"));
}

TEST(Runtime, CompilesAgainWhatWasTamperedWith) {
  const testing::TempDir directory;
  RecordingEvents events;
  const std::string wasm = assemble(kSample);
  const Path cache = directory.path() / "code";
  ASSERT_TRUE(runtime_with_cache(cache, events).load(bytes_of(wasm), "shop").ok());
  for (const auto& file : std::filesystem::directory_iterator(cache)) {
    if (file.path().extension() != ".code") continue;
    auto content = HostFileSystem().read(file.path());
    (*content)[content->size() / 2] ^= 1;
    ASSERT_TRUE(HostFileSystem().write(file.path(), *content).ok());
  }
  events.take_activities();
  ASSERT_TRUE(runtime_with_cache(cache, events).load(bytes_of(wasm), "shop").ok());
  EXPECT_THAT(events.take_activities(), ElementsAre("compiling shop"));
  EXPECT_THAT(events.take_messages(),
              ElementsAre(HasSubstr("was changed after it was written; compiling it again")));
  ASSERT_TRUE(runtime_with_cache(cache, events).load(bytes_of(wasm), "shop").ok());
  EXPECT_THAT(events.take_activities(), IsEmpty());
}

TEST(Runtime, RefusesAStackThatTheProcessDoesNotHave) {
  NullEventSink events;
  RuntimeOptions options;
  options.stack_bytes = std::size_t{1} << 40;
  const auto runtime = Runtime::create(options, events);
  // Without a limit (ulimit -s unlimited) there is nothing to check against.
  if (!runtime.ok()) {
    EXPECT_THAT(runtime.error().hint, HasSubstr("ulimit -s"));
  }
}

}  // namespace
}  // namespace mist::wasm
