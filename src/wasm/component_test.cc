#include "wasm/component.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temp_dir.h"
#include "wasm/component_for_tests.h"
#include "wasm/test_support.h"

namespace mist::wasm {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kEcho = "(call $ok (local.get 0) (local.get 1))";

ModuleBytes assembled(std::string_view text) { return ModuleBytes(assemble(text)); }

Component component_of(std::string_view text) {
  auto component = shared_runtime().load_component(assembled(text), "guest");
  EXPECT_TRUE(component.ok()) << (component.ok() ? "" : component.error().to_line());
  return *std::move(component);
}

Result<Generated> generated(std::string_view body, InstanceOptions options = {}, std::string_view data = "",
                            std::string_view input = "in") {
  MIST_TRY(auto instance,
           ComponentInstance::create(component_of(component_text(body, data)), std::move(options)));
  return instance.generate(input);
}

Limits small_component_limits() {
  Limits limits;
  limits.memory_bytes = 4 << 20;
  limits.guest_time = std::chrono::milliseconds(200);
  limits.output_bytes = 1 << 20;
  return limits;
}

class Answering final : public RequestHandler {
 public:
  Result<std::string> answer(std::string_view request) override {
    asked.emplace_back(request);
    if (request == "end") return error(ErrorKind::Trap, "it ends here");
    return "<" + std::string(request) + ">";
  }
  std::vector<std::string> asked;
};

TEST(Component, GivesWhatGenerateGave) {
  const auto echoed = generated(kEcho, {}, "", "{\"a\": \"ü\"}");
  ASSERT_TRUE(echoed.ok()) << echoed.error().to_line();
  EXPECT_TRUE(echoed->ok);
  EXPECT_EQ(echoed->text, "{\"a\": \"ü\"}");
  const auto refused = generated("(call $err (local.get 0) (local.get 1))");
  ASSERT_TRUE(refused.ok()) << refused.error().to_line();
  EXPECT_FALSE(refused->ok);
  EXPECT_EQ(refused->text, "in");
}

TEST(Component, AsksItsHost) {
  Answering host;
  const auto answered = generated(
      "(call $ask (local.get 0) (local.get 1)) (call $ok (global.get $answer) (global.get $answer_length))",
      {.system = {}, .input = "", .limits = {}, .requests = &host});
  ASSERT_TRUE(answered.ok()) << answered.error().to_line();
  EXPECT_EQ(answered->text, "<in>");
  EXPECT_EQ(host.asked, std::vector<std::string>{"in"});
  const auto ended = generated("(call $ask (local.get 0) (local.get 1)) (unreachable)",
                               {.system = {}, .input = "", .limits = {}, .requests = &host}, "", "end");
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().message, "it ends here");
}

TEST(Component, SeesTheFrozenSystem) {
  GuestSystem system;
  system.wall_clock = WallTime(std::chrono::seconds(1'700'000'000));
  system.seed.fill(std::byte{7});
  const std::string_view body =
      "(i64.store (i32.const 2048) (call $now)) (i64.store (i32.const 2056) (call $random)) "
      "(i32.store8 (i32.const 2055) (i32.const 65)) "
      "(i64.store (i32.const 2056) (i64.and (i64.load (i32.const 2056)) (i64.const 0x7f7f7f7f7f7f7f7f))) "
      "(i64.store (i32.const 2048) (i64.and (i64.load (i32.const 2048)) (i64.const 0x7f7f7f7f7f7f7f7f))) "
      "(call $ok (i32.const 2048) (i32.const 16))";
  const auto one = generated(body, {.system = system, .input = ""});
  const auto same = generated(body, {.system = system, .input = ""});
  system.seed.fill(std::byte{8});
  const auto other = generated(body, {.system = system, .input = ""});
  ASSERT_TRUE(one.ok() && same.ok() && other.ok());
  EXPECT_EQ(one->text, same->text);
  EXPECT_EQ(one->text.substr(0, 8), other->text.substr(0, 8)) << "the time";
  EXPECT_NE(one->text, other->text) << "what it drew";
}

TEST(Component, CountsWhatItDrewAfterItsEntry) {
  auto instance = ComponentInstance::create(
      component_of(component_text("(drop (call $random)) " + std::string(kEcho))), {});
  ASSERT_TRUE(instance.ok());
  instance->mark_entry();
  ASSERT_TRUE(instance->generate("").ok());
  const RunReport report = instance->take_report();
  EXPECT_EQ(report.drawn_before_entry, 0U);
  EXPECT_EQ(report.drawn_after_entry, 8U);
}

TEST(Component, SaysWhichFaultOrLimitEndedIt) {
  struct Case {
    std::string_view body, says, hint;
  };
  for (const Case& one : {
           Case{"(loop (br 0)) (unreachable)", "time limit of 0.2 s", "--limit-time"},
           Case{"(loop (drop (memory.grow (i32.const 1))) (br 0)) (unreachable)",
                "memory limit: it wanted 5 MiB", "--limit-memory"},
           Case{"(call $deep) (i32.const 0)", "stack limit of", "--limit-stack"},
           Case{"(unreachable)", "unreachable instruction", "defect"},
           Case{"(drop (i32.div_u (i32.const 1) (i32.const 0))) (i32.const 0)", "divided an integer by zero",
                "defect"},
           Case{"(call $ok (i32.const -8) (i32.const 100))", "", ""},
           Case{"(call $open) (i32.const 0)", "wasi:filesystem/made-up@0.2.0#open", ""},
           Case{"(call $ask (local.get 0) (local.get 1)) (i32.const 0)", "host requests are not available",
                ""},
       }) {
    const auto ended = generated(one.body, {.system = {}, .input = "", .limits = small_component_limits()});
    ASSERT_FALSE(ended.ok()) << one.body;
    EXPECT_THAT(ended.error().message, HasSubstr(one.says)) << one.body;
    EXPECT_THAT(ended.error().hint, HasSubstr(one.hint)) << one.body;
  }
}

// A component inside that takes a text into a memory of its own.
std::string with_memory(std::string_view name) {
  return fmt::format(R"((component ${0}
      (core module $M (memory (export "memory") 1) (func (export "take") (param i32 i32))
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0)))
      (core instance $m (instantiate $M))
      (alias core export $m "memory" (core memory $memory))
      (alias core export $m "realloc" (core func $realloc))
      (func (export "take") (param "text" string)
        (canon lift (core func $m "take") (memory $memory) (realloc $realloc))))
    (instance $a_{0} (instantiate ${0}))
    (core func $to_{0} (canon lower (func $a_{0} "take") (memory $memory))))",
                     name);
}

TEST(Component, MayHoldAnotherWithAMemoryOfItsOwn) {
  auto instance =
      ComponentInstance::create(component_of(component_text(kEcho, "", "", "", with_memory("one"))),
                                {.system = {}, .input = "", .limits = small_component_limits()});
  ASSERT_TRUE(instance.ok()) << instance.error().to_line();
  const auto text = instance->generate("shop");
  ASSERT_TRUE(text.ok()) << text.error().to_line();
  EXPECT_EQ(text->text, "shop");

  const auto third = ComponentInstance::create(
      component_of(component_text(kEcho, "", "", "", with_memory("one") + with_memory("two"))),
      {.system = {}, .input = "", .limits = small_component_limits()});
  ASSERT_FALSE(third.ok());
  EXPECT_THAT(third.error().to_line(), HasSubstr("memory count too high"));
}

TEST(Component, ExitIsNoResult) {
  const auto ended = generated("(call $exit (i32.const 0)) (unreachable)");
  ASSERT_FALSE(ended.ok());
  EXPECT_THAT(ended.error().message, HasSubstr("ended with exit code 0 instead of a result"));
}

TEST(Component, AnOutputBeyondTheLimitIsRefused) {
  Limits limits = small_component_limits();
  limits.output_bytes = 1 << 10;
  const auto large =
      generated("(call $ok (i32.const 0) (i32.const 1025))", {.system = {}, .input = "", .limits = limits});
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().kind, ErrorKind::Trap);
  EXPECT_THAT(large.error().message, HasSubstr("output limit"));
}

TEST(Component, MayImportTheHostAndWasiAndNothingElse) {
  const auto loaded = shared_runtime().load_component(
      assembled(component_text(kEcho, "", "",
                               R"((import "evil:net/sockets@1.0.0" (instance (export "open" (func)))))")),
      "guest");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(loaded.error().message, HasSubstr("evil:net/sockets@1.0.0"));
}

TEST(Component, AnotherTypeOfTheFunctionsIsInvalid) {
  const auto component = shared_runtime().load_component(
      assembled(
          R"((component (core module $m (func (export "generate") (param i32) (result i32) (local.get 0)))
        (core instance $i (instantiate $m))
        (func (export "generate") (param "input" u32) (result u32) (canon lift (core func $i "generate")))))"),
      "guest");
  ASSERT_TRUE(component.ok()) << component.error().to_line();
  auto instance = ComponentInstance::create(*component, {});
  ASSERT_TRUE(instance.ok());
  EXPECT_FALSE(instance->generate("x").ok());
  EXPECT_FALSE(instance->info().ok());
}

TEST(Component, InfoGivesItsText) {
  auto instance = ComponentInstance::create(component_of(component_text(kEcho, "", "kind: MistPackage")), {});
  ASSERT_TRUE(instance.ok());
  const auto text = instance->info();
  ASSERT_TRUE(text.ok()) << text.error().to_line();
  EXPECT_EQ(*text, "kind: MistPackage");
}

TEST(Component, ItsCodeIsCompiledOnceAndItsSectionRead) {
  testing::TempDir directory;
  RecordingEvents events;
  auto runtime = Runtime::create({.cache_directory = directory.path() / "code"}, events);
  ASSERT_TRUE(runtime.ok());
  const auto with_section =
      with_custom_section(bytes_of(assemble(component_text(kEcho))), "guest", kPackageSection, "kind: X");
  ASSERT_TRUE(with_section.ok()) << with_section.error().to_line();
  for (int i = 0; i < 2; ++i) {
    auto component = runtime->load_component(ModuleBytes(*with_section), "guest");
    ASSERT_TRUE(component.ok()) << component.error().to_line();
    EXPECT_EQ(component->package_section(), "kind: X");
    auto instance = ComponentInstance::create(*component, {});
    ASSERT_TRUE(instance.ok());
    EXPECT_EQ(instance->generate("x")->text, "x");
  }
  EXPECT_EQ(events.take_activities(), std::vector<std::string>{"compiling guest"});
}

TEST(Component, IsNoModule) {
  const auto loaded = shared_runtime().load(bytes_of(assemble(component_text(kEcho))), "guest");
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.error().because, HasSubstr("it is a component"));
  EXPECT_FALSE(shared_runtime().load_component(assembled("(module)"), "guest").ok());
}

}  // namespace
}  // namespace mist::wasm
