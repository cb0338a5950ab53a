#pragma once
// Components that tests make from text. Header only; never included by product code.

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace mist::wasm {

/// A package's world in WebAssembly text. `generate` is the body of the core function "generate", with the
/// input's address and length as locals 0 and 1; it gives back what $ok, $err make of address and length.
/// $ask makes a request of the host and leaves address and length of the answer in $answer and
/// $answer_length. $now gives the seconds of the wall clock. `info` is what the function of that name gives.
/// `inner` is text after $memory and $realloc.
inline std::string component_text(std::string_view generate, std::string_view data = "",
                                  std::string_view info = "", std::string_view imports = "",
                                  std::string_view inner = "") {
  std::string escaped;
  for (const char c : info) escaped += fmt::format("\\{:02x}", static_cast<unsigned char>(c));
  return fmt::format(R"((component
    (import "mistletoe:package/host@1.0.0" (instance $host
      (export "request" (func (param "request" string) (result string)))))
    (import "wasi:clocks/wall-clock@0.2.0" (instance $clock
      (type $record (record (field "seconds" u64) (field "nanoseconds" u32)))
      (export "datetime" (type $datetime (eq $record)))
      (export "now" (func (result $datetime)))))
    (import "wasi:random/random@0.2.6" (instance $random (export "get-random-u64" (func (result u64)))))
    (import "wasi:cli/exit@0.2.0" (instance $exit (export "exit" (func (param "status" (result))))))
    (import "wasi:filesystem/made-up@0.2.0" (instance $files (export "open" (func))))
    {}
    (core module $Lib
      (memory (export "memory") 1)
      (global $next (mut i32) (i32.const 8192))
      (func (export "realloc") (param i32 i32 i32 i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
        (global.set $next (i32.add (local.get $at) (local.get 3)))
        (local.get $at)))
    (core instance $lib (instantiate $Lib))
    (alias core export $lib "memory" (core memory $memory))
    (alias core export $lib "realloc" (core func $realloc))
    {}
    (core func $request (canon lower (func $host "request") (memory $memory) (realloc $realloc)))
    (core func $clock_now (canon lower (func $clock "now") (memory $memory) (realloc $realloc)))
    (core func $random_u64 (canon lower (func $random "get-random-u64")))
    (core func $exit_with (canon lower (func $exit "exit")))
    (core func $open_file (canon lower (func $files "open")))
    (core module $Main
      (import "lib" "memory" (memory 1))
      (import "host" "request" (func $request (param i32 i32 i32)))
      (import "host" "now" (func $clock_now (param i32)))
      (import "host" "random" (func $random (result i64)))
      (import "host" "exit" (func $exit (param i32)))
      (import "host" "open" (func $open))
      (global $answer (mut i32) (i32.const 0))
      (global $answer_length (mut i32) (i32.const 0))
      (data (i32.const 1024) "{}")
      {}
      (func $ask (param i32 i32)
        (call $request (local.get 0) (local.get 1) (i32.const 16))
        (global.set $answer (i32.load (i32.const 16)))
        (global.set $answer_length (i32.load (i32.const 20))))
      (func $now (result i64) (call $clock_now (i32.const 16)) (i64.load (i32.const 16)))
      (func $give (param $case i32) (param i32 i32) (result i32)
        (i32.store (i32.const 32) (local.get $case))
        (i32.store (i32.const 36) (local.get 1)) (i32.store (i32.const 40) (local.get 2)) (i32.const 32))
      (func $ok (param i32 i32) (result i32) (call $give (i32.const 0) (local.get 0) (local.get 1)))
      (func $err (param i32 i32) (result i32) (call $give (i32.const 1) (local.get 0) (local.get 1)))
      (func $deep (call $deep) (drop (i32.load (i32.const 0))))
      (func (export "info") (result i32)
        (i32.store (i32.const 48) (i32.const 1024)) (i32.store (i32.const 52) (i32.const {})) (i32.const 48))
      (func (export "generate") (param i32 i32) (result i32) {}))
    (core instance $main (instantiate $Main (with "lib" (instance $lib))
      (with "host" (instance (export "request" (func $request)) (export "now" (func $clock_now))
        (export "random" (func $random_u64)) (export "exit" (func $exit_with)) (export "open" (func $open_file))))))
    (func (export "info") (result string)
      (canon lift (core func $main "info") (memory $memory) (realloc $realloc)))
    (func (export "generate") (param "input" string) (result (result string (error string)))
      (canon lift (core func $main "generate") (memory $memory) (realloc $realloc)))))",
                     imports, inner, escaped, data, info.size(), generate);
}

}  // namespace mist::wasm
