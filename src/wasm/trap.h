#pragma once
// From Wasmtime's traps to errors for people; for the sources of this folder only.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wasm/engine.h"
#include "wasm/limits.h"

namespace mist::wasm {

/// Wasmtime's report at the end of a call that failed.
struct Failure {
  std::optional<wasmtime_trap_code_t> code;
  std::string message;
  std::vector<std::string> backtrace;  ///< function names, innermost first
};
Failure failure_of(const wasmtime_error_t& failure);
Failure failure_of(const wasm_trap_t& trap);

/// The limit that ended the guest, if one that Wasmtime knows did: memory, tables, stack, or this process's
/// own address space (Internal).
std::optional<Error> limit_error(const Failure& failure, std::string_view name, const Limits& limits,
                                 std::size_t stack_bytes);

/// "hello-web reached its time limit of 10 s", with raise_hint().
Error limit_reached(std::string_view name, std::string_view what, LimitFlags flags, std::string_view flag,
                    std::string_view value);

/// Any other trap: "hello-web stopped: it divided an integer by zero".
Error trap_error(const Failure& failure, std::string_view name);

/// The end of its stderr, for `because`; may be empty.
std::string last_words(std::string_view err);
/// Its functions, innermost first, for `because`; may be empty.
std::string backtrace_of(const Failure& failure);

}  // namespace mist::wasm
