#include "abi/abi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wasm/binary.h"
#include "wasm/test_support.h"

namespace mist::abi {
namespace {

using ::testing::HasSubstr;
using wasm::bytes_of;
using wasm::module_of;

constexpr std::string_view kLibraryFunctions = R"(
  (func (export "__mistletoe_info") (result i32) (i32.const 0))
  (func (export "__mistletoe_alloc") (param i32) (result i32) (i32.const 0))
  (func (export "__mistletoe_dealloc") (param i32 i32))
  (func (export "__mistletoe_generate") (param i32 i32) (result i32) (i32.const 0)))";
constexpr std::string_view kStart = R"((func (export "_start")))";
constexpr std::string_view kReactor = R"((func (export "mistletoe_generate")))";

std::string module_with(std::initializer_list<std::string_view> parts) {
  std::string text = R"((module (memory (export "memory") 1))";
  for (const std::string_view part : parts) text += part;
  return text + ")";
}

TEST(Open, RecognisesEveryAbiAndTheFirstRowWins) {
  const std::vector<std::pair<std::string, std::string_view>> cases = {
      {module_with({kLibraryFunctions}), "v1alpha1"},
      {module_with({kStart}), "v1 command"},
      {module_with({kReactor}), "v1 reactor"},
      {module_with({kReactor, kStart}), "v1 command"},
      {module_with({kReactor, kStart, kLibraryFunctions}), "v1alpha1"},
  };
  for (const auto& [wat, abi] : cases) {
    const auto guest = open(module_of(wat));
    ASSERT_TRUE(guest.ok()) << guest.error().to_line();
    EXPECT_EQ((*guest)->abi(), abi);
    EXPECT_EQ((*guest)->input_version(), abi == "v1alpha1" ? kVersion1Alpha1 : kVersion1);
  }
}

TEST(Open, SaysWhatAModuleWouldNeed) {
  const auto guest = open(
      module_of(R"((module (memory (export "memory") 1) (func (export "main")) (func (export "helper"))))"));
  ASSERT_FALSE(guest.ok());
  EXPECT_EQ(guest.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(guest.error().because, HasSubstr("main, helper"));
  EXPECT_THAT(guest.error().hint, HasSubstr("_start"));
  EXPECT_THAT(guest.error().hint, HasSubstr("mistletoe_generate"));
}

TEST(Open, NamesTheFunctionThatIsMissing) {
  const auto guest = open(module_of(
      R"((module (memory (export "memory") 1) (func (export "__mistletoe_info") (result i32) (i32.const 0))))"));
  ASSERT_FALSE(guest.ok());
  EXPECT_THAT(guest.error().because,
              HasSubstr("__mistletoe_alloc, __mistletoe_dealloc, __mistletoe_generate"));
}

TEST(Open, WantsAnExportedMemory) {
  for (const std::string_view functions : {kLibraryFunctions, kStart, kReactor}) {
    const auto guest = open(module_of(fmt::format("(module (memory 1){})", functions)));
    ASSERT_FALSE(guest.ok());
    EXPECT_THAT(guest.error().because, HasSubstr("exports no memory"));
  }
}

TEST(ReadMetadata, ReadsTheSectionWithoutARuntime) {
  const std::string plain = wasm::assemble(module_with({kStart}));
  const auto none = read_metadata(plain, "shop.wasm");
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());

  const auto with =
      wasm::with_custom_section(bytes_of(plain), "shop.wasm", wasm::kPackageSection,
                                "{apiVersion: mistletoe.dev/v1, kind: MistPackage, metadata: {name: shop}}");
  const auto some = read_metadata(*with, "shop.wasm");
  ASSERT_TRUE(some.ok() && some->has_value());
  EXPECT_EQ((**some).string_at({"metadata", "name"}), "shop");

  const auto bad =
      wasm::with_custom_section(bytes_of(plain), "shop.wasm", wasm::kPackageSection, "kind: Pod");
  const auto refused = read_metadata(*bad, "shop.wasm");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
}

TEST(Guest, PrefersTheSectionToItsInfoFunction) {
  const std::string plain =
      wasm::assemble(module_with({kLibraryFunctions}));  // its info gives nothing of use
  const auto with =
      wasm::with_custom_section(bytes_of(plain), "shop.wasm", wasm::kPackageSection,
                                "{apiVersion: mistletoe.dev/v1, kind: MistPackage, metadata: {name: shop}}");
  auto module = wasm::shared_runtime().load(bytes_of(*with), "shop.wasm");
  ASSERT_TRUE(module.ok());
  const auto guest = open(*module);
  ASSERT_TRUE(guest.ok());
  const auto info = (*guest)->info({});
  ASSERT_TRUE(info.ok() && info->has_value());
  EXPECT_EQ((**info).string_at({"metadata", "name"}), "shop");
}

}  // namespace
}  // namespace mist::abi
