#include "wasm/compile_limits.h"

#include <algorithm>
#include <optional>

#include "wasm/binary.h"

namespace mist::wasm {
namespace {

constexpr std::uint64_t kMemoryForEachByte = 64;
constexpr std::uint64_t kCodeForEachByte = 16;  // engines have 2 to 3
constexpr std::chrono::microseconds kTimeForEachByte{10};

struct FunctionShape {
  std::uint64_t bytes = 0;
  std::uint64_t locals = 0;
};

// Reads a function body off `code` (core specification, 5.5.13); nothing if it is damaged.
std::optional<FunctionShape> take_function(std::string_view& code) {
  const auto size = take_number(code);
  if (!size || *size > code.size()) return std::nullopt;
  std::string_view body = code.substr(0, *size);
  code.remove_prefix(*size);
  FunctionShape shape{*size, 0};
  const auto groups = take_number(body);
  if (!groups) return std::nullopt;
  for (std::uint32_t i = 0; i < *groups; ++i) {
    const auto count = take_number(body);
    if (!count || body.empty()) return std::nullopt;
    shape.locals += *count;
    // A reference type may have more bytes than one (0x63, 0x64: its heap type follows); none is enabled.
    body.remove_prefix(1);
  }
  return shape;
}

Error too_costly(std::string_view name, std::string what) {
  return error(ErrorKind::Invalid, "{} is refused before it is compiled: {}", name, what)
      .with_hint("split what is large into several functions, or build it with optimisation");
}

Status check_function(const FunctionShape& shape, std::uint32_t index, std::string_view name) {
  if (shape.bytes > kLargestFunction)
    return too_costly(name, fmt::format("function body {} has {} bytes; at most {} are allowed", index,
                                        shape.bytes, kLargestFunction));
  if (shape.locals > kMostLocals)
    return too_costly(name, fmt::format("function body {} has {} locals; at most {} are allowed", index,
                                        shape.locals, kMostLocals));
  // At least one, so that no product is zero.
  if (shape.bytes * (shape.locals + 1) > kLargestProduct)
    return too_costly(
        name, fmt::format("function body {} has {} bytes and {} locals; their product may be at most {}",
                          index, shape.bytes, shape.locals, kLargestProduct));
  return {};
}

Status check_code(std::string_view code, std::size_t module_bytes, std::string_view name) {
  const auto count = take_number(code);
  if (!count) return {};
  if (*count > kMostFunctions)
    return too_costly(name,
                      fmt::format("it has {} functions; at most {} are allowed", *count, kMostFunctions));
  const std::uint64_t most = kLargestSumOfProducts + module_bytes * kProductsForEachByte;
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto shape = take_function(code);
    if (!shape) return {};
    MIST_TRY_VOID(check_function(*shape, i, name));
    sum += shape->bytes * (shape->locals + 1);
    if (sum > most)
      return too_costly(name,
                        fmt::format("its functions' bytes times their locals are more than {} in all", most));
  }
  return {};
}

}  // namespace

CompileLimits limits_for(const CompileLimits& base, std::size_t size) {
  return {.memory_bytes = base.memory_bytes + size * kMemoryForEachByte,
          .cpu_time = base.cpu_time + std::chrono::duration_cast<Duration>(kTimeForEachByte * size),
          .code_bytes = base.code_bytes + size * kCodeForEachByte,
          .flags = base.flags};
}

namespace {

// Components hold modules, and components.
constexpr int kMostNested = 8;

Status check_shape_within(std::span<const std::byte> wasm, std::string_view name, int depth) {
  MIST_TRY(const BinaryKind kind, binary_kind(wasm, name));
  if (kind == BinaryKind::Component) {
    if (depth == kMostNested)
      return too_costly(name, fmt::format("its components are nested more than {} deep", kMostNested));
    for (const std::uint8_t section : {kModuleSection, kComponentSection}) {
      MIST_TRY(const auto inner, contents_of_sections(wasm, name, section));
      for (const std::string_view each : inner)
        MIST_TRY_VOID(check_shape_within(std::as_bytes(std::span(each)), name, depth + 1));
    }
    return {};
  }
  MIST_TRY(const auto codes, contents_of_sections(wasm, name, kCodeSection));
  // A valid module has one; which of several the compiler would read isn't ours to guess.
  for (const std::string_view code : codes) MIST_TRY_VOID(check_code(code, wasm.size(), name));
  return {};
}

}  // namespace

Status check_shape(std::span<const std::byte> wasm, std::string_view name) {
  return check_shape_within(wasm, name, 0);
}

}  // namespace mist::wasm
