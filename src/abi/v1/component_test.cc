#include "abi/v1/component.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wasm/component_for_tests.h"
#include "wasm/test_support.h"

namespace mist::abi::v1 {
namespace {

using encoding::Value;
using ::testing::HasSubstr;

constexpr std::string_view kEchoInput = "(call $ok (local.get 0) (local.get 1))";

Result<std::unique_ptr<Guest>> opened(std::string_view text) {
  return abi::open(wasm::shared_runtime(), wasm::ModuleBytes(wasm::assemble(text)), "shop");
}

// Of a component that gives `text` as it is.
Result<Output> output_of(std::string_view function, std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += fmt::format("\\{:02x}", static_cast<unsigned char>(c));
  MIST_TRY(const auto guest,
           opened(wasm::component_text(
               fmt::format("(call ${} (i32.const 4096) (i32.const {}))", function, text.size()),
               fmt::format("(data (i32.const 4096) \"{}\")", escaped))));
  return guest->generate("{}", {});
}

TEST(ComponentGuest, GivesYamlOrAResultDocument) {
  const auto yaml = output_of("ok", "kind: Pod\n");
  ASSERT_TRUE(yaml.ok()) << yaml.error().to_line();
  ASSERT_EQ(yaml->files.size(), 1U);
  EXPECT_EQ(yaml->files.front().text, "kind: Pod\n");
  const auto result = output_of(
      "ok",
      R"({"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Ok","files":{"a.yaml":"b"},"exports":{"port":1}}})");
  ASSERT_TRUE(result.ok()) << result.error().to_line();
  EXPECT_EQ(result->files.front().path, "a.yaml");
  EXPECT_EQ(result->exports, Value::object({{"port", 1}}));
}

TEST(ComponentGuest, ItsErrIsTheReasonOfTheFailure) {
  const auto failed = output_of("err", "the port is taken\n");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(failed.error().message, "shop could not be rendered");
  EXPECT_EQ(failed.error().because, "the port is taken");
}

TEST(ComponentGuest, GetsTheInputDocument) {
  const auto guest = opened(wasm::component_text(kEchoInput));
  ASSERT_TRUE(guest.ok()) << guest.error().to_line();
  EXPECT_EQ((*guest)->abi(), "v1 component");
  EXPECT_EQ((*guest)->input_version(), kVersion1);
  const auto output = (*guest)->generate("{\"kind\": \"Made\"}", {});
  ASSERT_TRUE(output.ok()) << output.error().to_line();
  EXPECT_EQ(output->files.front().text, "{\"kind\": \"Made\"}");
}

TEST(ComponentGuest, ItsMetadataIsWhatInfoGivesUnlessItHasTheSection) {
  const std::string_view document =
      "{apiVersion: mistletoe.dev/v1, kind: MistPackage, metadata: {name: shop}}";
  const auto guest = opened(wasm::component_text(kEchoInput, "", document));
  ASSERT_TRUE(guest.ok());
  const auto info = (*guest)->info({});
  ASSERT_TRUE(info.ok() && *info) << info.error().to_line();
  EXPECT_EQ((*info)->string_at({"metadata", "name"}), "shop");

  const auto section = wasm::with_custom_section(
      wasm::bytes_of(wasm::assemble(wasm::component_text("(unreachable)", "", "never: asked"))), "shop",
      wasm::kPackageSection, "{apiVersion: mistletoe.dev/v1, kind: MistPackage, metadata: {name: other}}");
  ASSERT_TRUE(section.ok());
  const auto other = abi::open(wasm::shared_runtime(), wasm::ModuleBytes(*section), "shop");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ((**(*other)->info({})).string_at({"metadata", "name"}), "other");

  EXPECT_EQ(*(*opened(wasm::component_text(kEchoInput)))->info({}), std::nullopt) << "an empty text: none";
}

TEST(ComponentGuest, OthersAreNoPackages) {
  const auto opened_other = opened("(component)");
  ASSERT_FALSE(opened_other.ok());
  EXPECT_THAT(opened_other.error().message, HasSubstr("is a component, but no package"));
  EXPECT_THAT(opened_other.error().because, HasSubstr("info"));
}

}  // namespace
}  // namespace mist::abi::v1
