#include "package/module_section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <span>

#include "abi/abi.h"
#include "wasm/binary.h"

namespace mist::package {
namespace {

using ::testing::HasSubstr;

// The smallest module: no sections.
const std::string kEmpty("\0asm\1\0\0\0", 8);
constexpr std::string_view kMetadata =
    "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: hello}\nspec: {version: 1.2.3}\n";

std::string name_in(const std::string& module) {
  const auto document = abi::read_metadata(module, "test");
  EXPECT_TRUE(document.ok() && document->has_value());
  return std::string((*document)->string_at({"metadata", "name"}));
}

TEST(WithMetadata, AddsASectionThatTheHostReads) {
  const auto built = with_metadata(kEmpty, kMetadata, "mistletoe.yaml");
  ASSERT_TRUE(built.ok()) << built.error().to_line();
  EXPECT_TRUE(built->starts_with(kEmpty));
  EXPECT_EQ(name_in(*built), "hello");
}

TEST(WithMetadata, ReplacesItsOwnSectionAndKeepsOthers) {
  // A custom section "other" with the content "x" in front.
  const std::string module = kEmpty + std::string("\0\7\5otherx", 9);
  const std::string once = *with_metadata(module, kMetadata, "m");
  const std::string twice = *with_metadata(
      once, "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: second}\n", "m");
  EXPECT_TRUE(twice.starts_with(module));
  EXPECT_EQ(name_in(twice), "second");
  EXPECT_EQ(*with_metadata(once, kMetadata, "m"), once);
}

TEST(WithMetadata, RefusesWhatIsNoModuleOrNoMetadata) {
  EXPECT_THAT(with_metadata("hello", kMetadata, "m").error().message, HasSubstr("not a WebAssembly module"));
  EXPECT_TRUE(with_metadata(std::string("\0asm\x0d\0\1\0", 8), kMetadata, "m").ok())
      << "a component may have it";
  EXPECT_THAT(with_metadata(kEmpty + std::string("\1\x7f", 2), kMetadata, "m").error().message,
              HasSubstr("damaged"));
  EXPECT_THAT(
      with_metadata(kEmpty + std::string("\1\xff\xff\xff\xff\xff\xff", 7), kMetadata, "m").error().message,
      HasSubstr("damaged"));
  EXPECT_THAT(with_metadata(kEmpty, "kind: Pod", "mistletoe.yaml").error().message,
              HasSubstr("mistletoe.yaml"));
  EXPECT_FALSE(with_metadata(kEmpty, "a: [", "m").ok());
}

TEST(ModuleOfFiles, GivesItsFilesBack) {
  const Files files{{"Chart.yaml", "name: a"}, {"templates/a.yaml", std::string("\0\1", 2)}};
  const auto module = module_of_files(files);
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(*module, *module_of_files(files));
  const auto read = files_of_module(*with_metadata(*module, kMetadata, "m"), "m.wasm");
  ASSERT_TRUE(read.ok()) << read.error().to_line();
  EXPECT_EQ(*read, files);
}

TEST(ModuleOfFiles, SaysWhatIsWrong) {
  EXPECT_THAT(files_of_module(kEmpty, "m.wasm").error().to_line(),
              HasSubstr("m.wasm names its engine and has no files"));
  const auto broken =
      wasm::with_custom_section(std::as_bytes(std::span(kEmpty)), "m", wasm::kFilesSection, "no archive");
  EXPECT_THAT(files_of_module(*broken, "m.wasm").error().to_line(), HasSubstr("while unpacking m.wasm"));
}

}  // namespace
}  // namespace mist::package
