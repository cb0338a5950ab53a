#include "wasm/binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wasm/test_support.h"

namespace mist::wasm {
namespace {

using ::testing::HasSubstr;

const std::string kEmptyModule("\0asm\1\0\0\0", 8);

TEST(Binary, ReadsBackWhatItWrote) {
  const std::string module = assemble(R"((module (func (export "f"))))");
  const auto with = with_custom_section(bytes_of(module), "m", kPackageSection, "kind: MistPackage\n");
  ASSERT_TRUE(with.ok());
  const auto section = custom_section(bytes_of(*with), "m", kPackageSection);
  ASSERT_TRUE(section.ok() && section->has_value());
  EXPECT_EQ(**section, "kind: MistPackage\n");
  EXPECT_TRUE(shared_runtime().load(bytes_of(*with), "m").ok());
}

TEST(Binary, ReplacesAnEarlierSection) {
  const auto first = with_custom_section(bytes_of(kEmptyModule), "m", kPackageSection, std::string(300, 'a'));
  const auto second = with_custom_section(bytes_of(*first), "m", kPackageSection, "b");
  const auto direct = with_custom_section(bytes_of(kEmptyModule), "m", kPackageSection, "b");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*second, *direct);
}

TEST(Binary, KnowsThatASectionIsMissing) {
  const auto section = custom_section(bytes_of(kEmptyModule), "m", kPackageSection);
  ASSERT_TRUE(section.ok());
  EXPECT_FALSE(section->has_value());
}

TEST(Binary, RefusesTwoSectionsOfOneName) {
  const auto one = with_custom_section(bytes_of(kEmptyModule), "m", kPackageSection, "a");
  const std::string twice = *one + one->substr(8);
  const auto section = custom_section(bytes_of(twice), "m", kPackageSection);
  ASSERT_FALSE(section.ok());
  EXPECT_EQ(section.error().kind, ErrorKind::Invalid);
}

struct NotAModule {
  std::string bytes;
  std::string because;
};

TEST(Binary, SaysWhatTheFileIsInstead) {
  const std::vector<NotAModule> cases = {
      {"", "the file is empty"},
      {"(module)", "WebAssembly text"},
      {"<!DOCTYPE html><html>", "HTML"},
      {"\x1f\x8b\x08", "gzip"},
      {"PK\x03\x04", "zip"},
      {"\x7f"
       "ELF\x02",
       "native program"},
      {"version https://git-lfs.github.com/spec/v1\n", "git LFS"},
      {"apiVersion: v1\n", "does not begin with"},
      {std::string("\0as", 3), "ends inside its header"},
      {std::string("\0asm\1\0\0", 7), "ends inside its header"},
      {std::string("\0asm\x0d\0\1\0", 8), "it is a component"},
      {std::string("\0asm\2\0\0\0", 8), "version"},
  };
  for (const NotAModule& each : cases) {
    const Status status = check_module(bytes_of(each.bytes), "shop.wasm");
    ASSERT_FALSE(status.ok()) << each.because;
    Error failure = Status(status).error();
    EXPECT_EQ(failure.kind, ErrorKind::Invalid);
    EXPECT_THAT(failure.message, HasSubstr("shop.wasm"));
    EXPECT_THAT(failure.because, HasSubstr(each.because));
  }
}

TEST(Binary, TakesExportsOutAndLeavesTheRest) {
  const auto module = [](std::string_view exports) {
    return assemble(fmt::format(
        R"((module (memory 1) (global $g (mut i32) (i32.const 0)) (func $f) {} (data (i32.const 0) "x")))",
        exports));
  };
  const std::string both =
      module(R"((export "x_f" (func $f)) (export "f" (func $f)) (export "x_g" (global $g)))");
  EXPECT_EQ(*without_exports(bytes_of(both), "m", "x_"), module(R"((export "f" (func $f)))"));
  EXPECT_EQ(*without_exports(bytes_of(both), "m", "y_"), both);
  for (const std::string& content :
       {std::string("\1"), std::string("\2\1f\0\0", 5), std::string("\1\1f\0\0x", 6)}) {
    const std::string bad = kEmptyModule + "\7" + static_cast<char>(content.size()) + content;
    EXPECT_FALSE(without_exports(bytes_of(bad), "m", "x_").ok());
  }
}

TEST(Binary, NoticesEveryTruncation) {
  const std::string module =
      assemble(R"((module (memory 1) (func (export "f") (nop)) (data (i32.const 0) "text")))");
  int whole = 0;
  for (std::size_t size = 0; size < module.size(); ++size)
    if (check_module(bytes_of(module.substr(0, size)), "m").ok()) ++whole;
  // Only a cut between two sections looks whole from outside: the header and 5 sections have 5 such places.
  EXPECT_LE(whole, 6);
  EXPECT_TRUE(check_module(bytes_of(module), "m").ok());
}

TEST(Binary, RefusesLengthsThatAreNoNumbers) {
  for (const std::string& tail :
       {std::string("\0", 1), std::string("\0\xff\xff\xff\xff\x7f", 6),
        std::string("\0\x80\x80\x80\x80\x80\x00", 7), std::string("\1\xff\xff\xff\xff\x0f", 6),
        std::string("\0\2\5ab", 5), std::string("\0\2\1\xff", 4)}) {
    EXPECT_FALSE(check_module(bytes_of(kEmptyModule + tail), "m").ok()) << tail.size();
  }
}

TEST(Binary, LimitsTheMemoryOfAModule) {
  const auto grows = [](const std::string& module) {
    const auto limited = with_memory_limit(bytes_of(module), "m", 4 << 16);
    return limited.ok() ? shared_runtime().load(bytes_of(*limited), "m").ok() : false;
  };
  EXPECT_TRUE(grows(assemble(R"((module (memory (export "memory") 2) (func (export "f"))))")));
  const std::string with_its_own = assemble(R"((module (memory (export "memory") 2 200)))");
  const auto limited = with_memory_limit(bytes_of(with_its_own), "m", 4 << 16);
  ASSERT_TRUE(limited.ok());
  EXPECT_EQ(*limited, assemble(R"((module (memory (export "memory") 2 4)))"));
  EXPECT_FALSE(grows(assemble("(module (memory 5))"))) << "it begins with more";
  EXPECT_FALSE(grows(assemble("(module)"))) << "it has none";
}

RC_GTEST_PROP(Binary, NeverReadsOutsideOfAnyBytes, (const std::string& tail, const std::string& section)) {
  const std::string bytes = kEmptyModule + tail;
  const auto read = custom_section(bytes_of(bytes), "m", section);
  const auto written = with_custom_section(bytes_of(bytes), "m", section, "content");
  if (read.ok()) RC_ASSERT(written.ok());
}

}  // namespace
}  // namespace mist::wasm
