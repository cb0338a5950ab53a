#include "abi/v1/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wasm/test_support.h"

namespace mist::abi::v1 {
namespace {

using encoding::Value;
using ::testing::HasSubstr;
using wasm::module_of;

const Value kInput = Value::object(
    {{"apiVersion", kVersion1}, {"kind", "MistInput"}, {"data", Value::object({{"name", "shop"}})}});

// A program that says `text` on stdout and "note\n" on stderr, does `then`, and has the entry `entry`.
std::string program(std::string_view text, std::string_view then, std::string_view entry = "_start") {
  std::string escaped;
  for (const char c : text) escaped += fmt::format("\\{:02x}", static_cast<unsigned char>(c));
  return fmt::format(R"((module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (global $initialised (mut i32) (i32.const 0))
    (data (i32.const 64) "{}") (data (i32.const 32) "note\0a")
    (func $say (param $fd i32) (param $at i32) (param $length i32)
      (i32.store (i32.const 0) (local.get $at)) (i32.store (i32.const 4) (local.get $length))
      (drop (call $write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
    (func $echo
      (i32.store (i32.const 0) (i32.const 4096)) (i32.store (i32.const 4) (i32.const 4096))
      (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
      (call $say (i32.const 1) (i32.const 4096) (i32.load (i32.const 8))))
    (func (export "{}")
      (call $say (i32.const 1) (i32.const 64) (i32.const {}))
      (call $say (i32.const 2) (i32.const 32) (i32.const 5))
      {})))",
                     escaped, entry, text.size(), then);
}

Result<Output> generate(std::string_view wat, const RunOptions& options = {}) {
  MIST_TRY(const auto guest, abi::open(module_of(wat, "shop")));
  return guest->generate(input_text(kInput), options);
}

TEST(Command, GivesPlainYamlAsOneFile) {
  const auto output = generate(program("kind: Pod\n", ""));
  ASSERT_TRUE(output.ok()) << output.error().to_line();
  ASSERT_EQ(output->files.size(), 1U);
  EXPECT_EQ(output->files.front().path, "stdout.yaml");
  EXPECT_EQ(output->files.front().text, "kind: Pod\n");
  EXPECT_EQ(output->log, "note\n");
  EXPECT_TRUE(output->exports.is_null());
}

TEST(Command, ReadsTheInputAsOneLineOfJson) {
  const auto output =
      generate(program("# ", "(call $echo)"));  // a comment, or it would be a document of ours
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->files.front().text,
            "# {\"apiVersion\":\"mistletoe.dev/v1\",\"kind\":\"MistInput\",\"data\":{\"name\":\"shop\"}}\n");
}

TEST(Command, UnderstandsAResultDocument) {
  const auto output = generate(program(
      R"({"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Ok","files":{"a.yaml":"kind: Pod"},"exports":{"port":80}}})",
      ""));
  ASSERT_TRUE(output.ok()) << output.error().to_line();
  EXPECT_EQ(output->files.front().path, "a.yaml");
  EXPECT_EQ(output->exports, Value::object({{"port", 80}}));
}

TEST(Command, MayPrintNothing) {
  const auto output = generate(program("\n", ""));
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(output->files.empty());
}

TEST(Command, FailsWithItsStderrAndExitCode) {
  const auto output = generate(program("kind: Pod\n", "(call $exit (i32.const 9))"));
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(output.error().message, HasSubstr("exit code 9"));
  EXPECT_EQ(output.error().because, "note");
}

TEST(Command, MayExitWithZero) {
  EXPECT_TRUE(generate(program("kind: Pod\n", "(call $exit (i32.const 0))")).ok());
}

TEST(Command, TellsWhatItDrew) {
  const auto output = generate(program("x: 1\n", "(drop (call $random (i32.const 4096) (i32.const 12)))"));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->drawn, 12U);
}

TEST(Command, GivesTheSameForTheSameSeedAndElseAnother) {
  const std::string wat = program("", R"((drop (call $random (i32.const 4096) (i32.const 1)))
    (i32.store8 (i32.const 4096) (i32.add (i32.const 65) (i32.and (i32.load8_u (i32.const 4096)) (i32.const 15))))
    (call $say (i32.const 1) (i32.const 4096) (i32.const 1)))");
  const auto letter = [&](unsigned char seed) {
    RunOptions options;
    options.system.seed[0] = std::byte{seed};
    auto output = generate(wat, options);
    return output.ok() ? output->files.front().text : output.error().to_line();
  };
  EXPECT_EQ(letter(1), letter(1));
  std::string all;
  for (unsigned char seed = 0; seed < 10; ++seed) all += letter(seed);
  EXPECT_NE(all, std::string(10, all.front()));
}

TEST(Reactor, RunsItsEntry) {
  const auto output = generate(program("kind: Pod\n", "", "mistletoe_generate"));
  ASSERT_TRUE(output.ok()) << output.error().to_line();
  EXPECT_EQ(output->files.front().text, "kind: Pod\n");
}

TEST(Reactor, IsInitialisedFirstAndThatIsNotItsEntry) {
  const auto guest = abi::open(module_of(R"((module
    (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
    (memory (export "memory") 1) (global $ready (mut i32) (i32.const 0))
    (func (export "_initialize") (drop (call $random (i32.const 0) (i32.const 8))) (global.set $ready (i32.const 1)))
    (func (export "mistletoe_generate") (if (i32.eqz (global.get $ready)) (then unreachable)))))"));
  ASSERT_TRUE(guest.ok());
  const auto output = (*guest)->generate(input_text(kInput), {});
  ASSERT_TRUE(output.ok()) << output.error().to_line();
  EXPECT_EQ(output->drawn, 0U);
}

}  // namespace
}  // namespace mist::abi::v1
