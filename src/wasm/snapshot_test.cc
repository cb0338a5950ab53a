#include "wasm/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temp_dir.h"
#include "wasm/instance.h"
#include "wasm/test_support.h"

namespace mist::wasm {
namespace {

using ::testing::HasSubstr;

// Counts its calls in memory and in a global of each type; `sum` tells both.
constexpr std::string_view kCounter = R"((module
  (memory (export "memory") 1)
  (data (i32.const 0) "\01") (data (i32.const 4) "\02") (data (i32.const 60000) "far")
  (global $i (mut i32) (i32.const 0)) (global $I (mut i64) (i64.const 0))
  (global $f (mut f32) (f32.const 0)) (global $F (mut f64) (f64.const 0))
  (func $count
    (i32.store (i32.const 100) (i32.add (i32.load (i32.const 100)) (i32.const 1)))
    (global.set $i (i32.add (global.get $i) (i32.const 10)))
    (global.set $I (i64.add (global.get $I) (i64.const 0x500000000)))
    (global.set $f (f32.add (global.get $f) (f32.const 0.5)))
    (global.set $F (f64.add (global.get $F) (f64.const 0.25))))
  (func (export "_initialize") (call $count))
  (func (export "mistletoe_prepare") (call $count))
  (func (export "sum") (result i32)
    (i32.add (i32.add (i32.load (i32.const 100)) (global.get $i))
             (i32.add (i32.wrap_i64 (i64.shr_u (global.get $I) (i64.const 32)))
                      (i32.add (i32.trunc_f32_s (f32.mul (global.get $f) (f32.const 200)))
                               (i32.trunc_f64_s (f64.mul (global.get $F) (f64.const 4000)))))))
  (func (export "far") (result i32) (i32.load8_u (i32.const 60002))))
)";
constexpr std::uint32_t kOnce = 1 + 10 + 5 + 100 + 1000;

Result<std::string> prepare(std::string_view wasm, PrepareAgain again = PrepareAgain::No) {
  SnapshotOptions options;
  options.again = again;
  options.limits.guest_time = std::chrono::milliseconds(500);
  options.limits.memory_bytes = 4 << 20;
  return prepare_module(shared_runtime(), bytes_of(wasm), "shop", options, Context());
}

std::uint32_t call(std::string_view wasm, std::string_view function) {
  auto module = shared_runtime().load(bytes_of(wasm), "shop");
  EXPECT_TRUE(module.ok());
  auto instance = Instance::create(*module, {});
  EXPECT_TRUE(instance.ok());
  const auto result = instance->call(function);
  EXPECT_TRUE(result.ok());
  return result.ok() ? result->values.at(0) : 0;
}

TEST(PrepareModule, BeginsWhereItsStartEnded) {
  const std::string raw = assemble(kCounter);
  const auto prepared = prepare(raw);
  ASSERT_TRUE(prepared.ok()) << prepared.error().to_line();
  EXPECT_EQ(call(raw, "sum"), 0U);
  EXPECT_EQ(call(*prepared, "sum"), 2 * kOnce) << "_initialize and mistletoe_prepare, once each";
  EXPECT_EQ(call(*prepared, "far"), static_cast<std::uint32_t>('r'));
  const auto module = shared_runtime().load(bytes_of(*prepared), "shop");
  EXPECT_EQ(module->function("_initialize"), nullptr);
  EXPECT_EQ(module->function("mistletoe_prepare"), nullptr);
  EXPECT_EQ(module->exports().size(), 3U) << "nothing of the instrumentation stays";
  EXPECT_EQ(*prepare(raw), *prepared) << "the same bytes again";
}

TEST(PrepareModule, CanBePreparedAgainIfAsked) {
  const auto once = prepare(assemble(kCounter), PrepareAgain::Yes);
  ASSERT_TRUE(once.ok());
  const auto twice = prepare(*once);
  ASSERT_TRUE(twice.ok()) << twice.error().to_line();
  EXPECT_EQ(call(*twice, "sum"), 3 * kOnce);
}

std::uint32_t call_at(const Module& module, std::string_view function,
                      std::shared_ptr<const StartImage> start) {
  InstanceOptions options;
  options.start = std::move(start);
  auto instance = Instance::create(module, std::move(options));
  EXPECT_TRUE(instance.ok());
  const auto result = instance->call(function);
  EXPECT_TRUE(result.ok());
  return result.ok() ? result->values.at(0) : 0;
}

TEST(StartImage, BeginsWhereAModuleThatIsPreparedAgainWould) {
  const auto once = prepare(assemble(kCounter), PrepareAgain::Yes);
  ASSERT_TRUE(once.ok());
  const auto module = shared_runtime().load(bytes_of(*once), "shop");
  ASSERT_TRUE(module.ok());
  auto made = StartImage::make(*module, {}, Context());
  ASSERT_TRUE(made.ok()) << made.error().to_line();
  EXPECT_LT(made->bytes(), std::size_t{16} << 10) << "only what changed";
  const auto image = std::make_shared<const StartImage>(*std::move(made));
  const std::uint32_t wanted = call(*prepare(*once), "sum");
  EXPECT_EQ(wanted, 3 * kOnce);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(call_at(*module, "sum", image), wanted) << "each begins there";
  EXPECT_EQ(call_at(*module, "far", image), static_cast<std::uint32_t>('r'));
  EXPECT_EQ(call(*once, "sum"), 2 * kOnce) << "those without it don't";
}

TEST(StartImage, HasMemoryThatWasGrown) {
  const auto once = prepare(assemble(R"((module
    (memory (export "memory") 1)
    (func (export "mistletoe_prepare")
      (if (i32.load (i32.const 8)) (then
        (drop (memory.grow (i32.const 2)))
        (i32.store (i32.const 190000) (i32.const 7))))
      (i32.store (i32.const 8) (i32.const 1)))
    (func (export "sum") (result i32) (i32.add (i32.load (i32.const 190000)) (memory.size)))
  ))"),
                            PrepareAgain::Yes);
  ASSERT_TRUE(once.ok()) << once.error().to_line();
  const auto module = shared_runtime().load(bytes_of(*once), "shop");
  auto made = StartImage::make(*module, {}, Context());
  ASSERT_TRUE(made.ok()) << made.error().to_line();
  const auto image = std::make_shared<const StartImage>(*std::move(made));
  EXPECT_EQ(call_at(*module, "sum", image), 10U);
  InstanceOptions options;
  options.start = image;
  options.limits.memory_bytes = 65536;
  const auto refused = Instance::create(*module, std::move(options));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Trap);
  EXPECT_THAT(refused.error().message, HasSubstr("reached its memory limit"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--limit-memory"));
}

TEST(StartImage, IsMadeOnlyOfModulesThatShowTheirState) {
  const auto module = shared_runtime().load(bytes_of(assemble(kCounter)), "shop");
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(StartImage::make(*module, {}, Context()).error().kind, ErrorKind::Invalid);
}

// Engines are compiled once, and packages that are built from them compile nothing more.
TEST(PrepareModule, WhatIsPreparedAgainIsCompiledAlready) {
  const auto once = prepare(assemble(kCounter), PrepareAgain::Yes);
  ASSERT_TRUE(once.ok()) << once.error().to_line();
  const testing::TempDir directory;
  RecordingEvents events;
  auto runtime = Runtime::create({.cache_directory = directory.path() / "code"}, events);
  ASSERT_TRUE(runtime.ok());
  ASSERT_TRUE(runtime->load(bytes_of(*once), "engine").ok());
  EXPECT_EQ(events.take_activities().size(), 1U);
  SnapshotOptions options;
  options.limits.memory_bytes = 4 << 20;
  const auto twice = prepare_module(*runtime, bytes_of(*once), "shop", options, Context());
  ASSERT_TRUE(twice.ok()) << twice.error().to_line();
  EXPECT_THAT(events.take_activities(), ::testing::IsEmpty());
  EXPECT_EQ(call(*twice, "sum"), 3 * kOnce);
  const auto module = shared_runtime().load(bytes_of(*twice), "shop");
  EXPECT_EQ(module->exports().size(), 3U) << "nothing of the instrumentation stays";
}

TEST(PrepareModule, SeesTheFilesItIsGiven) {
  auto tree = FileTree::make({{"a", "x"}});
  ASSERT_TRUE(tree.ok());
  SnapshotOptions options;
  options.function = "look";
  const std::string raw = assemble(R"((module
    (import "wasi_snapshot_preview1" "fd_prestat_get" (func $get (param i32 i32) (result i32)))
    (memory (export "memory") 1) (global $g (mut i32) (i32.const 9))
    (func (export "look") (global.set $g (call $get (i32.const 3) (i32.const 0))))
    (func (export "seen") (result i32) (global.get $g))))");
  options.files = std::make_shared<const FileTree>(*std::move(tree));
  const auto with = prepare_module(shared_runtime(), bytes_of(raw), "shop", options, Context());
  ASSERT_TRUE(with.ok()) << with.error().to_line();
  EXPECT_EQ(call(*with, "seen"), 0U);
  options.files = nullptr;
  const auto without = prepare_module(shared_runtime(), bytes_of(raw), "shop", options, Context());
  EXPECT_EQ(call(*without, "seen"), 0U) << "an empty /package, which may be full when it runs";
}

// Two blocks of 256 KiB with 192 KiB between them in each period of a memory of 20 MiB: where less than half
// of it is data, Wasmtime would copy it at each start.
TEST(PrepareModule, MostOfALargeMemoryIsWrittenDown) {
  const auto prepared = [](std::uint32_t period) {
    const std::string wasm = assemble(fmt::format(R"((module
      (memory (export "memory") 320)
      (func (export "mistletoe_prepare") (local $at i32)
        (loop $next
          (memory.fill (local.get $at) (i32.const 7) (i32.const 262144))
          (memory.fill (i32.add (local.get $at) (i32.const 458752)) (i32.const 7) (i32.const 262144))
          (local.set $at (i32.add (local.get $at) (i32.const {})))
          (br_if $next (i32.lt_u (local.get $at) (i32.const 20000000)))))
      (func (export "sum") (result i32) (local $at i32) (local $sum i32)
        (loop $next
          (local.set $sum (i32.add (local.get $sum) (i32.load8_u (local.get $at))))
          (local.set $at (i32.add (local.get $at) (i32.const 1024)))
          (br_if $next (i32.lt_u (local.get $at) (i32.const 20971520))))
        (local.get $sum))))",
                                                  period));
    auto result = prepare_module(shared_runtime(), bytes_of(wasm), "shop", SnapshotOptions(), Context());
    EXPECT_TRUE(result.ok()) << result.error().to_line();
    return std::move(result).value_or("");
  };
  const std::string dense = prepared(1344 << 10);
  EXPECT_GT(dense.size(), 10U << 20) << "more than half";
  EXPECT_LT(dense.size(), 12U << 20) << "and not all";
  EXPECT_EQ(call(dense, "sum"), 15U * 2 * 256 * 7);
  const std::string sparse = prepared(4096 << 10);
  EXPECT_LT(sparse.size(), 3U << 20) << "most would be zeros";
  EXPECT_EQ(call(sparse, "sum"), 5U * 2 * 256 * 7);
}

TEST(PrepareModule, SaysWhyItCannotBe) {
  const auto because = [](std::string_view wat) {
    const auto result = prepare(assemble(wat));
    EXPECT_FALSE(result.ok()) << wat;
    return result.ok() ? std::string() : result.error().to_line();
  };
  EXPECT_THAT(because("(module (memory (export \"memory\") 1))"), HasSubstr("mistletoe_prepare"));
  EXPECT_THAT(because("(module (func (export \"mistletoe_prepare\") unreachable))"),
              HasSubstr("unreachable"));
  EXPECT_THAT(because("(module (func (export \"mistletoe_prepare\") (loop br 0)))"), HasSubstr("time limit"));
  EXPECT_THAT(because(R"((module (table 1 funcref) (func (export "mistletoe_prepare")
                (table.set (i32.const 0) (ref.null func)))))"),
              HasSubstr("table.set"));
  EXPECT_THAT(because(R"((module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
                (memory (export "memory") 1)
                (func (export "mistletoe_prepare") (call $exit (i32.const 3)))))"),
              HasSubstr("exit code 3"));
  const auto garbage = prepare("no module");
  EXPECT_FALSE(garbage.ok());
  std::string truncated = assemble(kCounter);
  truncated.resize(truncated.size() / 2);
  EXPECT_FALSE(prepare(truncated).ok());
}

TEST(PrepareModule, DamagedModulesNeverEndTheProcess) {
  const std::string good = assemble(kCounter);
  for (std::size_t i = 8; i < good.size(); i += 3) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    [[maybe_unused]] const auto result = prepare(bad);
  }
}

// -- modules that share the code of what they were prepared from

struct BuiltModule {
  std::string base = *prepare(assemble(kCounter), PrepareAgain::Yes);
  std::string built = *prepare(base);
};

std::optional<StartImage> image_of(std::string_view built, std::string_view base) {
  return StartImage::of_module(bytes_of(built), bytes_of(base));
}

TEST(SharedCode, AModuleRunsInWhatItWasPreparedFrom) {
  const BuiltModule made;
  const auto module = shared_runtime().load(bytes_of(made.base), "engine");
  ASSERT_TRUE(module.ok());
  auto image = image_of(made.built, made.base);
  ASSERT_TRUE(image.has_value());
  const auto read = StartImage::from_bytes(image->to_bytes());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->to_bytes(), image->to_bytes());
  const auto start = std::make_shared<const StartImage>(*read);
  for (const std::string_view function : {"sum", "far"})
    EXPECT_EQ(call_at(*module, function, start), call(made.built, function)) << function;
  EXPECT_LT(image->bytes(), std::size_t{16} << 10) << "only what differs";
}

TEST(SharedCode, WhatDiffersInMoreThanItsStateIsAnotherModule) {
  const BuiltModule made;
  const auto of = [](std::string wat) { return *prepare(*prepare(assemble(wat), PrepareAgain::Yes)); };
  EXPECT_FALSE(image_of(made.base, made.built)) << "the other way round it exports more";
  EXPECT_FALSE(image_of(assemble(kCounter), made.base)) << "it isn't prepared";
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string wat(kCounter);
    wat.replace(wat.find(from), from.size(), to);
    return of(wat);
  };
  EXPECT_FALSE(image_of(changed("i32.const 10)))", "i32.const 11)))"), made.base)) << "its code";
  EXPECT_FALSE(image_of(changed("\"memory\") 1", "\"memory\") 1 2"), made.base))
      << "how far its memory grows";
  EXPECT_FALSE(image_of(changed("(export \"far\")", "(export \"near\")"), made.base)) << "what it exports";
  EXPECT_TRUE(image_of(changed("60000) \"far\"", "60000) \"was\""), made.base))
      << "other data is another state";
}

// No bytes cause a fault, and every image that is accepted has the code.
TEST(SharedCode, DamagedModulesAreNone) {
  const BuiltModule made;
  const std::string whole = image_of(made.built, made.base)->to_bytes();
  for (std::size_t size = 0; size < made.built.size(); ++size) {
    // All that is at its end is a custom section.
    const auto image = image_of(std::string_view(made.built).substr(0, size), made.base);
    EXPECT_EQ(image ? image->to_bytes() : whole, whole) << size;
  }
  for (std::size_t at = 0; at < made.built.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string damaged = made.built;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const auto image = image_of(damaged, made.base);
      if (!image) continue;
      EXPECT_LE(image->memory_size(), std::size_t{1} << 30);
      for (const StartImage::Page& page : image->pages())
        EXPECT_LE(page.offset + page.bytes.size(), image->memory_size());
    }
  }
  for (std::size_t size = 0; size < whole.size(); size += 7)
    EXPECT_FALSE(StartImage::from_bytes(std::string_view(whole).substr(0, size)));
}

TEST(SharedCode, NothingIsCompiledForAModuleOfAnEngineThatIs) {
  const BuiltModule made;
  testing::TempDir temp;
  RecordingEvents events;
  const BaseModule base{crypto::sha256(made.base), "engine", [&] { return Result<std::string>(made.base); }};
  const auto sum_of = [&](std::string_view wasm) {
    RuntimeOptions options;
    options.cache_directory = temp.path() / "code";
    auto runtime = Runtime::create(std::move(options), events);
    EXPECT_TRUE(runtime.ok());
    const auto loaded = runtime->load_prepared(ModuleBytes(std::string(wasm)), "shop", base);
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().to_line());
    return call_at(loaded->module, "sum", loaded->start);
  };
  const std::uint32_t wanted = call(made.built, "sum");
  EXPECT_EQ(sum_of(made.built), wanted);
  EXPECT_THAT(events.take_activities(), ::testing::ElementsAre("compiling engine"));
  EXPECT_EQ(sum_of(made.built), wanted) << "from the cache";
  EXPECT_THAT(events.take_activities(), ::testing::IsEmpty());
  std::string other(kCounter);
  other.replace(other.find("i32.const 10)))"), 12, "i32.const 20");
  const std::string foreign = *prepare(*prepare(assemble(other), PrepareAgain::Yes));
  EXPECT_EQ(sum_of(foreign), call(foreign, "sum"));
  EXPECT_THAT(events.take_activities(), ::testing::ElementsAre("compiling shop"));
  EXPECT_EQ(sum_of(foreign), call(foreign, "sum"));
  EXPECT_THAT(events.take_activities(), ::testing::IsEmpty());
  // A damaged image counts as none.
  for (const auto& each : std::filesystem::directory_iterator(temp.path() / "code")) {
    if (each.path().extension() == ".code" && each.file_size() < 64 << 10)
      std::filesystem::resize_file(each.path(), each.file_size() - 1);
  }
  EXPECT_EQ(sum_of(made.built), wanted);
}

}  // namespace
}  // namespace mist::wasm
