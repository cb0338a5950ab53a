#pragma once
// Guests that the tests of this folder make. Header only; never included by product code.

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "package/module_section.h"
#include "package/own_stack.h"
#include "package/renderer.h"
#include "wasm/test_support.h"

namespace mist::package {

// A command that does `first`, makes each request and prints a ConfigMap with the answer, then does `then`.
inline Source asking(std::initializer_list<std::string_view> requests, std::string_view then = "",
                     std::string_view first = "") {
  const auto escaped = [](std::string_view text) {
    std::string all;
    for (const char c : text) all += fmt::format("\\{:02x}", static_cast<unsigned char>(c));
    return all;
  };
  std::string data;
  std::string calls;
  std::size_t at = 1024;
  int number = 0;
  for (const std::string_view request : requests) {
    const std::string head = fmt::format(
        "---\n{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"a{}\"}},\"data\":",
        ++number);
    data += fmt::format("(data (i32.const {}) \"{}{}}}\\0a\")", at, escaped(head), escaped(request));
    calls += fmt::format("(call $ask (i32.const {}) (i32.const {}) (i32.const {}) (i32.const {}))", at,
                         head.size(), at + head.size(), request.size());
    at += head.size() + request.size() + 2;
  }
  return {"./asking.wasm", "asking", "", "sha256:0",
          wasm::assemble(fmt::format(R"((module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (import "mistletoe_v1" "request" (func $request (param i32 i32) (result i32)))
    (import "mistletoe_v1" "response" (func $response (param i32)))
    (memory (export "memory") 1) {}
    (data (i32.const 32) "}}\0a")
    (func $say (param $fd i32) (param $from i32) (param $length i32)
      (i32.store (i32.const 0) (local.get $from)) (i32.store (i32.const 4) (local.get $length))
      (drop (call $write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
    (func $ask (param $head i32) (param $head_length i32) (param $at i32) (param $length i32)
      (local.set $length (call $request (local.get $at) (local.get $length)))
      (call $response (i32.const 32768))
      (call $say (i32.const 1) (local.get $head) (local.get $head_length))
      (call $say (i32.const 1) (i32.const 32768) (local.get $length))
      (call $say (i32.const 1) (i32.const 32) (i32.const 2)))
    (func (export "_start") {} {} {})))",
                                     data, first, calls, then))};
}

/// A command that makes the request, and prints `text` whatever it is answered.
inline Source asking_and_saying(std::string_view request, std::string_view text) {
  std::string escaped;
  for (const std::string_view part : {request, text}) {
    for (const char c : part) escaped += fmt::format("\\{:02x}", static_cast<unsigned char>(c));
  }
  return {"./asking.wasm", "asking", "", "sha256:2",
          wasm::assemble(fmt::format(R"((module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "mistletoe_v1" "request" (func $request (param i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 1024) "{}")
    (func (export "_start")
      (drop (call $request (i32.const 1024) (i32.const {})))
      (i32.store (i32.const 0) (i32.const {})) (i32.store (i32.const 4) (i32.const {}))
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))))",
                                     escaped, request.size(), 1024 + request.size(), text.size()))};
}

/// A command that makes the request `first`, then one of `head`, the value that it was answered, and `tail`,
/// and prints a ConfigMap with the answer to that.
inline Source asking_with_the_answer(std::string_view first, std::string_view head, std::string_view tail) {
  const std::string_view begin = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":)";
  std::string escaped;
  for (const std::string_view part : {first, head, tail, begin, std::string_view("}")}) {
    for (const char c : part) escaped += fmt::format("\\{:02x}", static_cast<unsigned char>(c));
  }
  const std::size_t head_at = 1024 + first.size(), tail_at = head_at + head.size();
  const std::size_t begin_at = tail_at + tail.size(), end_at = begin_at + begin.size();
  // An answer is {"ok":…}.
  return {"./asking.wasm", "asking", "", "sha256:3",
          wasm::assemble(fmt::format(R"((module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "mistletoe_v1" "request" (func $request (param i32 i32) (result i32)))
    (import "mistletoe_v1" "response" (func $response (param i32)))
    (memory (export "memory") 1)
    (data (i32.const 1024) "{}")
    (func $say (param $from i32) (param $length i32)
      (i32.store (i32.const 0) (local.get $from)) (i32.store (i32.const 4) (local.get $length))
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
    (func (export "_start") (local $length i32)
      (local.set $length (i32.sub (call $request (i32.const 1024) (i32.const {})) (i32.const 7)))
      (call $response (i32.const 16384))
      (memory.copy (i32.const 32768) (i32.const {}) (i32.const {}))
      (memory.copy (i32.const {}) (i32.const 16390) (local.get $length))
      (memory.copy (i32.add (i32.const {}) (local.get $length)) (i32.const {}) (i32.const {}))
      (local.set $length
        (call $request (i32.const 32768) (i32.add (i32.const {}) (local.get $length))))
      (call $response (i32.const 49152))
      (call $say (i32.const {}) (i32.const {}))
      (call $say (i32.const 49152) (local.get $length))
      (call $say (i32.const {}) (i32.const 1)))))",
                                     escaped, first.size(), head_at, head.size(), 32768 + head.size(),
                                     32768 + head.size(), tail_at, tail.size(), head.size() + tail.size(),
                                     begin_at, begin.size(), end_at))};
}

/// Takes that much processor time of this thread.
inline void burn(Duration time) {
  const Duration began = thread_time();
  while (thread_time() - began < time) {
  }
}

/// A command that prints this text.
inline Source saying(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += fmt::format("\\{:02x}", static_cast<unsigned char>(c));
  return {"./saying.wasm", "saying", "", "sha256:1",
          wasm::assemble(fmt::format(R"((module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 1024) "{}")
    (func (export "_start")
      (i32.store (i32.const 0) (i32.const 1024)) (i32.store (i32.const 4) (i32.const {}))
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))))",
                                     escaped, text.size()))};
}

/// The module with that name, and `spec` (YAML) as what it says of itself.
inline Source described(Source source, std::string_view name, std::string_view spec) {
  const auto bytes = std::get<wasm::ModuleBytes>(source.content).bytes();
  auto module = with_metadata(
      **bytes,
      fmt::format("{{apiVersion: mistletoe.dev/v1, kind: MistPackage, metadata: {{name: '{}'}}, spec: {}}}",
                  name, spec),
      "test");
  EXPECT_TRUE(module.ok()) << module.error().to_line();
  source.reference = fmt::format("./{}.wasm", name);
  source.name = name;
  source.content = wasm::ModuleBytes(*std::move(module));
  source.digest = std::get<wasm::ModuleBytes>(source.content).digest().str();
  return source;
}

}  // namespace mist::package
