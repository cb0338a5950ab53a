#pragma once
// One run of a guest: a module with its own memory, system, input and limits. Every call ends in a result or
// in an ErrorKind::Trap, whatever the guest does; the trap says what happened, in the guest's own function
// names and last words. An Instance belongs to one thread at a time.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "wasm/guest_memory.h"
#include "wasm/guest_system.h"
#include "wasm/host_requests.h"
#include "wasm/limits.h"
#include "wasm/runtime.h"

namespace mist::wasm {

class StartImage;

struct InstanceOptions {
  GuestSystem system;
  std::string input;                              ///< its stdin
  std::vector<std::string> arguments{"package"};  ///< its argv; there is no environment
  Limits limits = {};
  RequestHandler* requests = nullptr;  ///< answers its requests; outlives the instance. Null: nobody does
  /// Of the same module: it begins there, and isn't to be initialised. Null: as the module says.
  std::shared_ptr<const StartImage> start = nullptr;
};

/// How a call ended that didn't fail.
struct CallResult {
  std::vector<std::uint32_t> values;       ///< what the function returned
  std::optional<std::uint32_t> exit_code;  ///< the guest called proc_exit instead of returning; it is over
};

/// The known facts about a run so far.
struct RunReport {
  std::string out;                       ///< stdout
  std::string err;                       ///< stderr
  std::uint64_t drawn_before_entry = 0;  ///< random bytes, see mark_entry
  std::uint64_t drawn_after_entry = 0;
  Duration guest_time{};           ///< processor time
  std::uint64_t memory_bytes = 0;  ///< its memory's size; memory never shrinks
};

/// The fact of a guest's trap: `because` without the names of functions, which may be numbers.
struct WithoutBacktrace {
  std::string because;
};

class Instance {
 public:
  /// Instantiates, which may run guest code (a start function). `context` stops guests within about 10 ms.
  /// Trap, Cancelled, Timeout; Internal if this process has no address space left.
  static Result<Instance> create(const Module& module, InstanceOptions options, const Context& context = {});

  Instance(Instance&&) noexcept;
  Instance& operator=(Instance&&) noexcept;
  ~Instance();

  /// Random bytes drawn from now on count as drawn after entry: the caller's start-up code has run.
  void mark_entry();

  /// Calls an exported function of i32 parameters and results. Invalid if there is none of that type or the
  /// guest is over; Trap, Cancelled, Timeout.
  Result<CallResult> call(std::string_view function, std::initializer_list<std::uint32_t> arguments = {});

  /// Its exported memory "memory", empty if it has none. Good until the next call.
  GuestMemory memory();

  /// The value of an exported i32 global; nothing if there is none. Works after a trap too, as `memory` does.
  std::optional<std::uint32_t> global(std::string_view name);

  /// The bits of an exported global of a number type, little-endian; nothing if there is none.
  std::optional<std::array<std::uint8_t, 16>> global_bits(std::string_view name);
  /// An exported memory of any name, empty if there is none. Good until the next call.
  std::span<const std::byte> memory_bytes(std::string_view name);

  /// Takes the outputs along; call it once, at the end.
  RunReport take_report();

  struct Impl;

 private:
  explicit Instance(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mist::wasm
