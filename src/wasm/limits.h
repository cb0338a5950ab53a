#pragma once
// How much a guest may use. Every limit ends in an ErrorKind::Trap that names it, its value and the flag that
// raises it, where the program has one. Plain values; any thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace mist::wasm {

/// The flags by which the user of a program can raise limits; hints name no others.
enum class LimitFlags : std::uint8_t {
  All,            ///< those of mistctl
  MemoryAndTime,  ///< --limit-memory and --limit-time: those of mistletoe-operator
  None
};

/// How to raise a limit: "if that is what it needs, raise --limit-memory, now 256 MiB"; without `now`, the
/// flag alone. Where the program lacks `flag`, it says that nothing can be raised.
std::string raise_hint(LimitFlags flags, std::string_view flag, std::string_view now = {});
/// Whether the program has it.
bool has_flag(LimitFlags flags, std::string_view flag);

struct Limits {
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;  ///< flag --limit-memory
  /// Processor time of the guest, its calls of WASI included; flag --limit-time. An engine gets 60 s.
  Duration guest_time = std::chrono::seconds(10);
  std::uint64_t output_bytes = std::uint64_t{64} << 20;  ///< stdout and stderr together; --limit-output
  std::uint64_t table_elements = 1'000'000;              ///< of each table; --limit-table
  std::uint64_t requests = 10'000;                       ///< to the host in one run; --limit-requests
  LimitFlags flags = LimitFlags::All;
};

}  // namespace mist::wasm
