#include "abi/v1alpha1/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wasm/test_support.h"

namespace mist::abi::v1alpha1 {
namespace {

using encoding::Value;
using ::testing::HasSubstr;
using wasm::module_of;

const Value kInput = Value::object(
    {{"apiVersion", kVersion1Alpha1}, {"kind", "MistInput"}, {"data", Value::object({{"name", "shop"}})}});

// Traps unless the host makes the calls of the ABI in their order, with the right arguments. Its answer lies
// at 1024, the pair (address, length) at 8; the input is to go to 4096.
constexpr std::string_view kStrict = R"((module
  (memory (export "memory") 1)
  (global $state (mut i32) (i32.const 0))
  (global $length (mut i32) (i32.const 0))
  (data (i32.const 8) "\00\04\00\00\6c\00\00\00")
  (data (i32.const 16) "\00\08\00\00\4c\00\00\00")
  (data (i32.const 1024)
    "{apiVersion: mistletoe.dev/v1alpha1, kind: MistResult, data: {result: Ok, files: {a.yaml: \22kind: Pod\22}}}      ")
  (data (i32.const 2048) "{apiVersion: mistletoe.dev/v1alpha1, kind: MistPackage, metadata: {name: s}}")
  (func $step (param $from i32) (param $to i32)
    (if (i32.ne (global.get $state) (local.get $from)) (then unreachable))
    (global.set $state (local.get $to)))
  (func (export "_initialize") (call $step (i32.const 0) (i32.const 1)))
  (func (export "__mistletoe_info") (result i32) (call $step (i32.const 1) (i32.const 1)) (i32.const 16))
  (func (export "__mistletoe_alloc") (param i32) (result i32)
    (call $step (i32.const 1) (i32.const 2)) (global.set $length (local.get 0)) (i32.const 4096))
  (func (export "__mistletoe_generate") (param i32 i32) (result i32)
    (call $step (i32.const 2) (i32.const 3))
    (if (i32.ne (local.get 0) (i32.const 4096)) (then unreachable))
    (if (i32.ne (local.get 1) (global.get $length)) (then unreachable))
    (if (i32.ne (i32.load8_u (i32.const 4096)) (i32.const 123)) (then unreachable)) ;; {
    (i32.const 8))
  (func (export "__mistletoe_dealloc") (param i32 i32)
    (if (i32.eq (global.get $state) (i32.const 3))
      (then
        (if (i32.ne (local.get 0) (i32.const 4096)) (then unreachable))
        (if (i32.ne (local.get 1) (global.get $length)) (then unreachable))
        ;; The text must have been copied by now.
        (memory.fill (i32.const 1024) (i32.const 0) (i32.const 108)))
      (else
        (call $step (i32.const 4) (i32.const 5))
        (if (i32.ne (local.get 0) (i32.const 1024)) (then unreachable))
        (if (i32.ne (local.get 1) (i32.const 108)) (then unreachable))
        (return)))
    (global.set $state (i32.const 4)))
))";

TEST(Library, KeepsTheOrderOfTheCalls) {
  const auto guest = abi::open(module_of(kStrict));
  ASSERT_TRUE(guest.ok());
  const auto output = (*guest)->generate(input_text(kInput), {});
  ASSERT_TRUE(output.ok()) << output.error().to_line();
  ASSERT_EQ(output->files.size(), 1U);
  EXPECT_EQ(output->files.front().path, "a.yaml");
  EXPECT_EQ(output->files.front().text, "kind: Pod");
  EXPECT_EQ(output->drawn, 0U);
  EXPECT_EQ(output->log, "");
}

TEST(Library, AsksForItsMetadata) {
  const auto guest = abi::open(module_of(kStrict));
  ASSERT_TRUE(guest.ok());
  const auto info = (*guest)->info({});
  ASSERT_TRUE(info.ok()) << info.error().to_line();
  ASSERT_TRUE(info->has_value());
  EXPECT_EQ((**info).string_at({"metadata", "name"}), "s");
}

TEST(Library, CanBeAskedAgainAndAgain) {
  const auto guest = abi::open(module_of(kStrict));
  ASSERT_TRUE(guest.ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE((*guest)->info({}).ok());
    EXPECT_TRUE((*guest)->generate(input_text(kInput), {}).ok());
  }
}

TEST(Library, IsBrokenIfAFunctionHasAnotherType) {
  const auto guest = abi::open(module_of(R"((module (memory (export "memory") 1)
    (func (export "__mistletoe_info") (result i32) (i32.const 0))
    (func (export "__mistletoe_alloc") (param i32) (result i32) (i32.const 0))
    (func (export "__mistletoe_dealloc") (param i32 i64))
    (func (export "__mistletoe_generate") (param i32 i32) (result i32) (i32.const 0))))"));
  ASSERT_FALSE(guest.ok());
  EXPECT_EQ(guest.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(guest.error().because,
              HasSubstr("__mistletoe_dealloc has the type (i32, i64) → (), but must have (i32, i32) → ()"));
}

// The package of the original registry: its document names the functions that are called.
std::string named(std::string_view functions, std::string_view alloc, std::string_view dealloc,
                  std::string_view generate, std::string_view more = "") {
  const std::string document = fmt::format(
      "{{apiVersion: mistletoe.dev/v1alpha1, kind: MistPackage, metadata: {{name: s, labels: {{a: b}}}}, "
      "spec: {{functions: {}}}}}",
      functions);
  const std::string result =
      "{apiVersion: mistletoe.dev/v1alpha1, kind: MistResult, later: 1, data: {result: Ok, exports: null, "
      "later: {a: 1}, files: {a.yaml: 'kind: Pod'}}}";
  const auto bytes = [](std::size_t number) {
    return fmt::format("\\{:02x}\\{:02x}\\00\\00", number & 0xff, number >> 8);
  };
  return fmt::format(R"((module (memory (export "memory") 1)
    (data (i32.const 8) "\00\04\00\00{}") (data (i32.const 16) "\00\08\00\00{}")
    (data (i32.const 1024) "{}") (data (i32.const 2048) "{}")
    (func (export "__mistletoe_info") (result i32) (i32.const 16))
    (func (export "{}") (param i32) (result i32) (i32.const 4096))
    (func (export "{}") (param i32 i32))
    (func (export "{}") (param i32 i32) (result i32) (i32.const 8)) {}))",
                     bytes(result.size()), bytes(document.size()), result, document, alloc, dealloc, generate,
                     more);
}

TEST(Library, RunsThePackagesOfTheOriginalRegistry) {
  const auto guest = abi::open(module_of(
      named("{generate: __mistletoe_generate, alloc: __mistletoe_alloc, dealloc: __mistletoe_dealloc}",
            "__mistletoe_alloc", "__mistletoe_dealloc", "__mistletoe_generate")));
  ASSERT_TRUE(guest.ok()) << guest.error().to_line();
  const auto output = (*guest)->generate(input_text(kInput), {});
  ASSERT_TRUE(output.ok()) << output.error().to_line();
  EXPECT_EQ(output->files.front().text, "kind: Pod");
}

TEST(Library, CallsTheFunctionsThatItsDocumentNames) {
  const std::string wat = named("{generate: make, alloc: take, dealloc: give}", "take", "give", "make");
  const auto guest = abi::open(module_of(wat));
  ASSERT_TRUE(guest.ok()) << guest.error().to_line();
  EXPECT_EQ((*guest)->abi(), "v1alpha1");
  const auto output = (*guest)->generate(input_text(kInput), {});
  ASSERT_TRUE(output.ok()) << output.error().to_line();
  EXPECT_EQ(output->files.front().text, "kind: Pod");
}

TEST(Library, FunctionsThatItsDocumentDoesNotNameHaveTheirUsualNames) {
  const auto guest =
      abi::open(module_of(named("{generate: make}", "__mistletoe_alloc", "__mistletoe_dealloc", "make")));
  ASSERT_TRUE(guest.ok()) << guest.error().to_line();
  EXPECT_TRUE((*guest)->generate(input_text(kInput), {}).ok());
}

TEST(Library, NamedFunctionsComeBeforeThoseWithTheUsualNames) {
  const auto guest = abi::open(
      module_of(named("{generate: make}", "__mistletoe_alloc", "__mistletoe_dealloc", "make",
                      R"((func (export "__mistletoe_generate") (param i32 i32) (result i32) unreachable))")));
  ASSERT_TRUE(guest.ok()) << guest.error().to_line();
  EXPECT_TRUE((*guest)->generate(input_text(kInput), {}).ok());
}

TEST(Library, SaysWhichNamedFunctionIsMissingOrOfAnotherType) {
  for (const auto& [functions, because] : std::vector<std::pair<std::string, std::string>>{
           {"{alloc: take, generate: made}", "function made, which spec.functions.generate names"},
           {"{alloc: take, generate: take}", "take has the type (i32) → i32, but must have (i32, i32) → i32"},
           {"{alloc: take, generate: 1}", "spec.functions.generate is"},
           {"{}", "it does not export the function __mistletoe_alloc"}}) {
    const auto guest =
        abi::open(module_of(named(functions, "take", "__mistletoe_dealloc", "__mistletoe_generate")));
    ASSERT_TRUE(guest.ok()) << guest.error().to_line();
    const auto output = (*guest)->generate(input_text(kInput), {});
    ASSERT_FALSE(output.ok()) << functions;
    EXPECT_EQ(output.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(output.error().because, HasSubstr(because));
  }
}

TEST(Library, AModuleOfALaterAbiStaysOne) {
  const auto guest =
      abi::open(module_of(named("{generate: make}", "take", "give", "make", R"((func (export "_start")))")));
  ASSERT_TRUE(guest.ok()) << guest.error().to_line();
  EXPECT_EQ((*guest)->abi(), "v1 command");
}

}  // namespace
}  // namespace mist::abi::v1alpha1
