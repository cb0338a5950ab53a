#pragma once
// How much a guest may use. Every limit ends in an ErrorKind::Trap that names it, its value and the flag of
// mistctl that raises it. Plain values; any thread.

#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace mist::wasm {

struct Limits {
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;  ///< flag --limit-memory
  /// Processor time of the guest, its calls of WASI included; flag --limit-time. An engine gets 60 s.
  Duration guest_time = std::chrono::seconds(10);
  std::uint64_t output_bytes = std::uint64_t{64} << 20;  ///< stdout and stderr together; --limit-output
  std::uint64_t table_elements = 1'000'000;              ///< of each table; --limit-table
  std::uint64_t requests = 10'000;                       ///< to the host in one run; --limit-requests
};

}  // namespace mist::wasm
