#pragma once
// How much a guest may use. Every limit ends in an ErrorKind::Trap that names it, its value and the setting
// that raises it. Plain values; any thread.

#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace mist::wasm {

struct Limits {
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;  ///< setting limits.memory
  /// Processor time of the guest, its calls of WASI included; setting limits.guestTime. An engine gets 60 s.
  Duration guest_time = std::chrono::seconds(10);
  std::uint64_t output_bytes = std::uint64_t{64} << 20;  ///< stdout and stderr together; limits.output
  std::uint64_t table_elements = 1'000'000;              ///< of each table; limits.tableElements
};

}  // namespace mist::wasm
