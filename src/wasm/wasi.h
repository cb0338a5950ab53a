#pragma once
// WASI preview 1 over a frozen GuestSystem: what a guest may import from "wasi_snapshot_preview1", as one
// table. It knows nothing of Wasmtime: instance.cc binds the table to it, tests call it on a plain buffer.
// Everything is a function of that system, the input and the guest's own calls; nothing blocks, sleeps or
// reaches the host. One Wasi belongs to one instance and one thread.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wasm/guest_memory.h"
#include "wasm/guest_system.h"
#include "wasm/limits.h"

namespace mist::wasm {

/// WASI's `errno`, the ones that we answer.
enum class Errno : std::uint16_t {
  Success = 0,
  BadF = 8,
  Fault = 21,
  Ilseq = 25,
  Inval = 28,
  IsDir = 31,
  MFile = 33,
  NameTooLong = 37,
  NoEnt = 44,
  NoSys = 52,
  NotDir = 54,
  NotSock = 57,
  NotSup = 58,
  RoFs = 69,
  SPipe = 70,
  NotCapable = 76,
};

/// Why the guest must not go on after a call.
struct Exited {
  std::uint32_t code = 0;
};
struct OutputLimitReached {};
struct EndlessSleep {};
using Stop = std::variant<Exited, OutputLimitReached, EndlessSleep>;

class Wasi {
 public:
  Wasi(GuestSystem system, Limits limits, std::string input, std::vector<std::string> arguments);

  // The guest's actions so far.
  std::string out;                       ///< stdout
  std::string err;                       ///< stderr
  std::optional<Stop> stop;              ///< set: the call that set it must end the guest
  std::uint64_t drawn_before_entry = 0;  ///< random bytes drawn by start-up code
  std::uint64_t drawn_after_entry = 0;   ///< and after `entered` was set
  bool entered = false;

 private:
  friend struct WasiCalls;
  friend struct WasiFileCalls;

  enum class FileKind : std::uint8_t { Closed, Input, Output, ErrorOutput, Node };
  struct OpenFile {
    FileKind kind = FileKind::Closed;
    FileTree::NodeId node = FileTree::kRoot;
    std::uint64_t offset = 0;
    bool is_preopen = false;
  };
  static constexpr std::size_t kMaxFiles = 1024;

  OpenFile* file(std::uint64_t descriptor);
  std::uint64_t read_monotonic_clock();
  /// Moves the virtual clock; false and `stop` set if that is beyond its end, in 584 years.
  bool wait(std::uint64_t nanoseconds);
  bool write_output(std::string& to, std::string_view text);
  crypto::RandomStream& random_stream();

  GuestSystem system_;
  Limits limits_;
  std::string input_;
  std::vector<std::string> arguments_;
  std::vector<OpenFile> files_;
  std::map<std::string, crypto::RandomStream, std::less<>> random_;  // each derived when first drawn from
  std::uint64_t monotonic_ = 0;                                      // nanoseconds
};

/// One importable function.
struct WasiFunction {
  std::string_view name;
  std::string_view parameters;  ///< one letter each: i is i32, I is i64
  bool returns_errno = true;    ///< an i32; proc_exit returns nothing
  Errno (*call)(Wasi&, GuestMemory, std::span<const std::uint64_t> arguments);
};

inline constexpr std::string_view kWasiModule = "wasi_snapshot_preview1";
inline constexpr std::size_t kMaxWasiParameters = 9;

/// All of preview 1, sorted by name; null if `name` isn't one of it.
const WasiFunction* find_wasi_function(std::string_view name);
std::span<const WasiFunction> wasi_functions();

}  // namespace mist::wasm
