#pragma once
// How much compiling a module may cost. A small module can be made so that the compiler needs gigabytes and
// minutes for it: its effort grows with a function's size times its locals. So what a module claims is
// counted before, and the compiler itself runs in a process with limits (compiler.h). Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "wasm/limits.h"

namespace mist::wasm {

/// The base of what the compiler may use; each byte of the module adds to it.
struct CompileLimits {
  std::uint64_t memory_bytes = std::uint64_t{512} << 20;  ///< flag --limit-compile-memory
  Duration cpu_time = std::chrono::seconds(60);           ///< of all its threads; --limit-compile-time
  std::uint64_t code_bytes = std::uint64_t{16} << 20;     ///< what comes out
  LimitFlags flags = LimitFlags::All;
};

/// The limits for compiling a module of `size` bytes: 64 bytes of memory, 10 µs and 16 bytes of code for each
/// byte on top.
CompileLimits limits_for(const CompileLimits& base, std::size_t size);

/// Bounds of a module's shape. The engines, among them two Go programs of 30 MB, have at most 16,000
/// functions, 62 KB and 442 locals in one, and 2.2e7 as the largest product of the two.
inline constexpr std::uint32_t kMostFunctions = 200'000;
inline constexpr std::uint32_t kLargestFunction = std::uint32_t{2} << 20;  // bytes
inline constexpr std::uint64_t kMostLocals = 50'000;  // of one function, as in the compiler
inline constexpr std::uint64_t kLargestProduct = std::uint64_t{1} << 27;  // bytes × locals, one function
inline constexpr std::uint64_t kLargestSumOfProducts = std::uint64_t{1} << 28;  // of a module…
inline constexpr std::uint64_t kProductsForEachByte = 64;                       // …and so much more

/// Fine if the code section stays within these bounds. Invalid, naming function and bound, if not; a damaged
/// section is left to the compiler. Linear in the size of the module.
Status check_shape(std::span<const std::byte> wasm, std::string_view name);

}  // namespace mist::wasm
