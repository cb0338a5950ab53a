#include "wasm/trap.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace mist::wasm {
namespace {

constexpr std::size_t kMaxFrames = 16;
constexpr std::size_t kMaxErrorTail = 4096;  // bytes of stderr
constexpr std::size_t kMaxFunctionName = 200;
constexpr std::size_t kLongestMangled = 1000;

struct TrapText {
  wasmtime_trap_code_t code;
  std::string_view text;
};
constexpr auto kTrapTexts = std::to_array<TrapText>({
    {WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS, "it read or wrote outside its memory"},
    {WASMTIME_TRAP_CODE_HEAP_MISALIGNED, "it used an atomic operation at an unaligned address"},
    {WASMTIME_TRAP_CODE_TABLE_OUT_OF_BOUNDS, "it used a table outside its bounds"},
    {WASMTIME_TRAP_CODE_INDIRECT_CALL_TO_NULL, "it called a function pointer that is null"},
    {WASMTIME_TRAP_CODE_BAD_SIGNATURE, "it called a function pointer of another type"},
    {WASMTIME_TRAP_CODE_INTEGER_OVERFLOW, "an integer operation overflowed"},
    {WASMTIME_TRAP_CODE_INTEGER_DIVISION_BY_ZERO, "it divided an integer by zero"},
    {WASMTIME_TRAP_CODE_BAD_CONVERSION_TO_INTEGER, "it converted a float that is not an integer"},
    {WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED,
     "it executed an unreachable instruction (a panic, an abort, or its own end of memory)"},
    {WASMTIME_TRAP_CODE_NULL_REFERENCE, "it called a null reference"},
    {WASMTIME_TRAP_CODE_ALLOCATION_TOO_LARGE, "it asked for an allocation that is too large"},
});

// The parts of "_ZN4core9panicking5panic17h0123456789abcdefE", Rust's first kind of mangled names; nothing
// for any other. A real demangler's work isn't bounded by a name's length, so other names stay as they are.
std::optional<std::vector<std::string>> parts_of(std::string_view name) {
  constexpr std::string_view kBegin = "_ZN";
  if (!name.starts_with(kBegin) || !name.ends_with('E')) return std::nullopt;
  name = name.substr(kBegin.size(), name.size() - kBegin.size() - 1);
  std::vector<std::string> parts;
  while (!name.empty()) {
    std::size_t size = 0;
    const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), size);
    if (code != std::errc{}) return std::nullopt;
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    if (size == 0 || size > name.size()) return std::nullopt;
    parts.emplace_back(name.substr(0, size));
    name.remove_prefix(size);
  }
  return parts;
}

std::string plain_name(std::string_view name) {
  auto parts = parts_of(name);
  if (!parts || parts->empty()) return std::string(name.substr(0, kMaxFunctionName));
  constexpr std::size_t kHash = 17;  // "h" and 16 digits
  if (parts->size() > 1 && parts->back().size() == kHash && parts->back().front() == 'h') parts->pop_back();
  return join(*parts, "::").substr(0, kMaxFunctionName);
}

std::vector<std::string> names_of(wasm_frame_vec_t& frames) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < frames.size && i < kMaxFrames; ++i) {
    const wasm_name_t* const name = wasmtime_frame_func_name(frames.data[i]);
    if (name == nullptr) {
      names.push_back(fmt::format("function {}", wasm_frame_func_index(frames.data[i])));
      continue;
    }
    names.push_back(plain_name({name->data, std::min(name->size, kLongestMangled)}));
  }
  wasm_frame_vec_delete(&frames);
  return names;
}

// Errors of components hold their trap only as text: "…: wasm trap: call stack exhausted".
constexpr auto kTrapWords = std::to_array<TrapText>({
    {WASMTIME_TRAP_CODE_STACK_OVERFLOW, "call stack exhausted"},
    {WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS, "out of bounds memory access"},
    {WASMTIME_TRAP_CODE_TABLE_OUT_OF_BOUNDS, "undefined element: out of bounds table access"},
    {WASMTIME_TRAP_CODE_INDIRECT_CALL_TO_NULL, "uninitialized element"},
    {WASMTIME_TRAP_CODE_BAD_SIGNATURE, "indirect call type mismatch"},
    {WASMTIME_TRAP_CODE_INTEGER_OVERFLOW, "integer overflow"},
    {WASMTIME_TRAP_CODE_INTEGER_DIVISION_BY_ZERO, "integer divide by zero"},
    {WASMTIME_TRAP_CODE_BAD_CONVERSION_TO_INTEGER, "invalid conversion to integer"},
    {WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED, "wasm `unreachable` instruction executed"},
});

std::optional<wasmtime_trap_code_t> code_in(std::string_view message) {
  constexpr std::string_view kTrap = "wasm trap: ";
  const auto at = message.rfind(kTrap);
  if (at == std::string_view::npos) return std::nullopt;
  const auto known = std::ranges::find_if(kTrapWords, [&](const TrapText& each) {
    return message.substr(at + kTrap.size()).starts_with(each.text);
  });
  return known == kTrapWords.end() ? std::nullopt : std::optional(known->code);
}

// The number behind `prefix` in Wasmtime's text.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view prefix) {
  const std::size_t at = text.find(prefix);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + prefix.size());
  std::uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace

Failure failure_of(const wasmtime_error_t& failure) {
  wasm_frame_vec_t frames;
  wasmtime_error_wasm_trace(&failure, &frames);
  std::string message = message_of(failure);
  const auto code = code_in(message);
  return {code, std::move(message), names_of(frames)};
}

Failure failure_of(const wasm_trap_t& trap) {
  wasm_frame_vec_t frames;
  wasm_trap_trace(&trap, &frames);
  Failure failure{std::nullopt, message_of(trap), names_of(frames)};
  if (wasmtime_trap_code_t code = 0; wasmtime_trap_code(&trap, &code)) failure.code = code;
  return failure;
}

Error limit_reached(std::string_view name, std::string_view what, LimitFlags flags, std::string_view flag,
                    std::string_view value) {
  return error(ErrorKind::Trap, "{} {}", name, what).with_hint(raise_hint(flags, flag, value));
}

std::optional<Error> limit_error(const Failure& failure, std::string_view name, const Limits& limits,
                                 std::size_t stack_bytes) {
  // Rounded up, so that what was wanted never looks as if it fitted.
  const auto mib = [](std::uint64_t bytes) {
    return fmt::format("{} MiB", (bytes >> 20) + (bytes % (1 << 20) != 0));
  };
  if (failure.code == WASMTIME_TRAP_CODE_STACK_OVERFLOW)
    return limit_reached(name, fmt::format("reached its stack limit of {} KiB", stack_bytes >> 10),
                         limits.flags, "--limit-stack", fmt::format("{} KiB", stack_bytes >> 10));
  if (const auto desired = number_after(failure.message, "when growing memory to ")) {
    if (*desired <= limits.memory_bytes)
      return error(ErrorKind::Trap, "{} reached the memory limit that it sets itself, its declared maximum",
                   name)
          .with_hint("build it with a larger maximum memory");
    return limit_reached(name, fmt::format("reached its memory limit: it wanted {}", mib(*desired)),
                         limits.flags, "--limit-memory", mib(limits.memory_bytes));
  }
  if (const auto pages = number_after(failure.message, "memory minimum size of "))
    return limit_reached(name, fmt::format("reached its memory limit: it begins with {}", mib(*pages << 16)),
                         limits.flags, "--limit-memory", mib(limits.memory_bytes));
  if (failure.message.find("mmap failed") != std::string::npos)
    return error(ErrorKind::Internal, "this process has no address space left to run {}", name)
        .with_because(failure.message.substr(0, failure.message.find('\n')))
        .with_hint(
            "ulimit -v unlimited; every package reserves 4 GiB of addresses, and uses only what it needs");
  if (failure.message.find("when growing table to ") != std::string::npos ||
      failure.message.find("table minimum size of ") != std::string::npos)
    return limit_reached(name, fmt::format("reached its table limit of {} elements", limits.table_elements),
                         limits.flags, "--limit-table", fmt::format("{}", limits.table_elements));
  return std::nullopt;
}

namespace {

// The last of "Caused by:", where there are causes: what is before them says where, as the backtrace does.
std::string_view root_cause(std::string_view message) {
  constexpr std::string_view kCauses = "Caused by:";
  if (message.find(kCauses) == std::string_view::npos) return message.substr(0, message.find('\n'));
  message = trim(message);
  std::string_view last = trim(message.substr(message.rfind('\n') + 1));
  const std::size_t colon = last.find(": ");
  if (colon != std::string_view::npos && last.find_first_not_of("0123456789") == colon)
    last.remove_prefix(colon + 2);
  return last;
}

}  // namespace

Error trap_error(const Failure& failure, std::string_view name) {
  const auto known =
      std::ranges::find_if(kTrapTexts, [&](const TrapText& each) { return failure.code == each.code; });
  const std::string_view text = known != kTrapTexts.end() ? known->text : root_cause(failure.message);
  return error(ErrorKind::Trap, "{} stopped: {}", name, text)
      .with_hint("this is a defect of the package or of its values: check the values, then tell its author");
}

std::string last_words(std::string_view err) {
  const std::string_view all = trim(err);
  std::string_view tail = all.substr(all.size() - std::min(all.size(), kMaxErrorTail));
  if (tail.size() < all.size()) {
    // Begin with a whole line, where there is one.
    const std::size_t newline = tail.find('\n');
    if (newline != std::string_view::npos) tail.remove_prefix(newline + 1);
  }
  return tail.empty() ? std::string() : fmt::format("its stderr: {}", tail);
}

std::string backtrace_of(const Failure& failure) {
  return failure.backtrace.empty() ? std::string()
                                   : fmt::format("its backtrace: {}", join(failure.backtrace, " ← "));
}

}  // namespace mist::wasm
