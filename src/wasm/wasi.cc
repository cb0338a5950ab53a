#include "wasm/wasi.h"

#include <algorithm>
#include <limits>

#include "wasm/wasi_calls.h"

namespace mist::wasm {
namespace {

using F = WasiFileCalls;
using C = WasiCalls;

constexpr auto kFunctions = std::to_array<WasiFunction>({
    {"args_get", "ii", true, &C::args_get},
    {"args_sizes_get", "ii", true, &C::args_sizes_get},
    {"clock_res_get", "ii", true, &C::clock_res_get},
    {"clock_time_get", "iIi", true, &C::clock_time_get},
    {"environ_get", "ii", true, &C::environ_get},
    {"environ_sizes_get", "ii", true, &C::environ_sizes_get},
    {"fd_advise", "iIIi", true, &F::fd_advise},
    {"fd_allocate", "iII", true, &F::fd_read_only},
    {"fd_close", "i", true, &F::fd_close},
    {"fd_datasync", "i", true, &F::fd_accept},
    {"fd_fdstat_get", "ii", true, &F::fd_fdstat_get},
    {"fd_fdstat_set_flags", "ii", true, &F::fd_accept},
    {"fd_fdstat_set_rights", "iII", true, &F::fd_accept},
    {"fd_filestat_get", "ii", true, &F::fd_filestat_get},
    {"fd_filestat_set_size", "iI", true, &F::fd_read_only},
    {"fd_filestat_set_times", "iIIi", true, &F::fd_read_only},
    {"fd_pread", "iiiIi", true, &F::fd_pread},
    {"fd_prestat_dir_name", "iii", true, &F::fd_prestat_dir_name},
    {"fd_prestat_get", "ii", true, &F::fd_prestat_get},
    {"fd_pwrite", "iiiIi", true, &F::fd_read_only},
    {"fd_read", "iiii", true, &F::fd_read},
    {"fd_readdir", "iiiIi", true, &F::fd_readdir},
    {"fd_renumber", "ii", true, &F::fd_renumber},
    {"fd_seek", "iIii", true, &F::fd_seek},
    {"fd_sync", "i", true, &F::fd_accept},
    {"fd_tell", "ii", true, &F::fd_tell},
    {"fd_write", "iiii", true, &F::fd_write},
    {"path_create_directory", "iii", true, &F::path_read_only},
    {"path_filestat_get", "iiiii", true, &F::path_filestat_get},
    {"path_filestat_set_times", "iiiiIIi", true, &F::path_read_only},
    {"path_link", "iiiiiii", true, &F::path_read_only},
    {"path_open", "iiiiiIIii", true, &F::path_open},
    {"path_readlink", "iiiiii", true, &F::path_readlink},
    {"path_remove_directory", "iii", true, &F::path_read_only},
    {"path_rename", "iiiiii", true, &F::path_read_only},
    {"path_symlink", "iiiii", true, &F::path_read_only},
    {"path_unlink_file", "iii", true, &F::path_read_only},
    {"poll_oneoff", "iiii", true, &C::poll_oneoff},
    {"proc_exit", "i", false, &C::proc_exit},
    {"proc_raise", "i", true, &F::not_supported},
    {"random_get", "ii", true, &C::random_get},
    {"sched_yield", "", true, &C::sched_yield},
    {"sock_accept", "iii", true, &F::not_a_socket},
    {"sock_recv", "iiiiii", true, &F::not_a_socket},
    {"sock_send", "iiiii", true, &F::not_a_socket},
    {"sock_shutdown", "ii", true, &F::not_a_socket},
});
static_assert(std::ranges::is_sorted(kFunctions, {}, &WasiFunction::name));

constexpr std::uint64_t kMicrosecond = 1000;
constexpr std::uint64_t kRealtime = 0;
constexpr std::uint64_t kLastClock = 3;  // monotonic, process time, thread time: one clock here

// The stream behind random_get; part of the stored derivation, so it never changes.
constexpr std::string_view kStreamName = "wasi";

std::uint64_t add_saturating(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max()
                                                           : a + b;
}

std::uint64_t nanoseconds(WallTime time) {
  const auto since = std::chrono::duration_cast<Duration>(time.time_since_epoch()).count();
  return since < 0 ? 0 : static_cast<std::uint64_t>(since);
}

// args_get and environ_get share one layout: pointers, then NUL-terminated texts.
Errno put_texts(GuestMemory memory, std::span<const std::string> texts, std::uint64_t pointers,
                std::uint64_t buffer) {
  for (const std::string& text : texts) {
    if (!memory.put<std::uint32_t>(pointers, static_cast<std::uint32_t>(buffer)) ||
        !memory.put_text(buffer, text) || !memory.put<std::uint8_t>(buffer + text.size(), 0))
      return Errno::Fault;
    pointers += sizeof(std::uint32_t);
    buffer += text.size() + 1;
  }
  return Errno::Success;
}

Errno put_sizes(GuestMemory memory, std::span<const std::string> texts, std::uint64_t count,
                std::uint64_t bytes) {
  std::size_t total = 0;
  for (const std::string& text : texts) total += text.size() + 1;
  return memory.put<std::uint32_t>(count, static_cast<std::uint32_t>(texts.size())) &&
                 memory.put<std::uint32_t>(bytes, static_cast<std::uint32_t>(total))
             ? Errno::Success
             : Errno::Fault;
}

}  // namespace

const WasiFunction* find_wasi_function(std::string_view name) {
  const auto found = std::ranges::lower_bound(kFunctions, name, {}, &WasiFunction::name);
  return found != kFunctions.end() && found->name == name ? &*found : nullptr;
}

std::span<const WasiFunction> wasi_functions() { return kFunctions; }

Wasi::Wasi(GuestSystem system, Limits limits, std::string input, std::vector<std::string> arguments)
    : system_(std::move(system)),
      limits_(limits),
      input_(std::move(input)),
      arguments_(std::move(arguments)),
      files_{{.kind = FileKind::Input}, {.kind = FileKind::Output}, {.kind = FileKind::ErrorOutput}} {
  if (system_.files) files_.push_back({.kind = FileKind::Node, .is_preopen = true});
}

Wasi::OpenFile* Wasi::file(std::uint64_t descriptor) {
  if (descriptor >= files_.size() || files_[descriptor].kind == FileKind::Closed) return nullptr;
  return &files_[descriptor];
}

std::uint64_t Wasi::read_monotonic_clock() {
  // A clock that stood still would be an endless loop for a guest that waits by reading it.
  const std::uint64_t now = monotonic_;
  monotonic_ = add_saturating(monotonic_, kMicrosecond);
  return now;
}

bool Wasi::wait(std::uint64_t duration) {
  monotonic_ = add_saturating(monotonic_, duration);
  if (monotonic_ != std::numeric_limits<std::uint64_t>::max()) return true;
  stop = EndlessSleep{};
  return false;
}

crypto::RandomStream& Wasi::random_stream() {
  const std::string_view wanted = system_.stream == nullptr ? std::string_view() : *system_.stream;
  const auto known = random_.find(wanted);
  if (known != random_.end()) return known->second;
  const std::string name =
      wanted.empty() ? std::string(kStreamName) : fmt::format("{}/{}", kStreamName, wanted);
  return random_.try_emplace(std::string(wanted), system_.seed, name).first->second;
}

bool Wasi::write_output(std::string& to, std::string_view text) {
  if (text.size() >
      limits_.output_bytes - std::min<std::uint64_t>(out.size() + err.size(), limits_.output_bytes)) {
    stop = OutputLimitReached{};
    return false;
  }
  to += text;
  return true;
}

Errno WasiCalls::args_get(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  return put_texts(memory, wasi.arguments_, a[0], a[1]);
}
Errno WasiCalls::args_sizes_get(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  return put_sizes(memory, wasi.arguments_, a[0], a[1]);
}
Errno WasiCalls::environ_get(Wasi&, GuestMemory memory, WasiArguments a) {
  return put_texts(memory, {}, a[0], a[1]);
}
Errno WasiCalls::environ_sizes_get(Wasi&, GuestMemory memory, WasiArguments a) {
  return put_sizes(memory, {}, a[0], a[1]);
}

Errno WasiCalls::clock_res_get(Wasi&, GuestMemory memory, WasiArguments a) {
  if (a[0] > kLastClock) return Errno::Inval;
  return memory.put<std::uint64_t>(a[1], kMicrosecond) ? Errno::Success : Errno::Fault;
}

Errno WasiCalls::clock_time_get(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  if (a[0] > kLastClock) return Errno::Inval;
  const std::uint64_t now =
      a[0] == kRealtime ? nanoseconds(wasi.system_.wall_clock) : wasi.read_monotonic_clock();
  return memory.put<std::uint64_t>(a[2], now) ? Errno::Success : Errno::Fault;
}

Errno WasiCalls::random_get(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  const auto bytes = memory.bytes(a[0], a[1]);
  if (!bytes) return Errno::Fault;
  wasi.random_stream().fill(*bytes);
  (wasi.entered ? wasi.drawn_after_entry : wasi.drawn_before_entry) += bytes->size();
  return Errno::Success;
}

Errno WasiCalls::proc_exit(Wasi& wasi, GuestMemory, WasiArguments a) {
  wasi.stop = Exited{static_cast<std::uint32_t>(a[0])};
  return Errno::Success;
}

Errno WasiCalls::sched_yield(Wasi&, GuestMemory, WasiArguments) { return Errno::Success; }

// Layouts of `subscription` (48 bytes) and `event` (32 bytes): the preview 1 witx.
Errno WasiCalls::poll_oneoff(Wasi& wasi, GuestMemory memory, WasiArguments a) {
  constexpr std::uint64_t kSubscription = 48;
  constexpr std::uint64_t kEvent = 32;
  constexpr std::uint8_t kClock = 0;
  constexpr std::uint8_t kWriteReady = 2;
  const std::uint64_t count = a[2];
  if (count == 0) return Errno::Inval;
  if (!memory.has(a[0], count * kSubscription) || !memory.has(a[1], count * kEvent) || !memory.has(a[3], 4))
    return Errno::Fault;

  // Nanoseconds from now until a clock subscription fires. The wall clock stands still, so waiting for a time
  // of it means waiting for as long as that is away.
  const auto due = [&](std::uint64_t at) -> std::uint64_t {
    const std::uint64_t timeout = *memory.get<std::uint64_t>(at + 24);
    const bool absolute = (*memory.get<std::uint16_t>(at + 40) & 1) != 0;
    if (!absolute) return timeout;
    const std::uint64_t now = *memory.get<std::uint32_t>(at + 16) == kRealtime
                                  ? nanoseconds(wasi.system_.wall_clock)
                                  : wasi.monotonic_;
    return timeout > now ? timeout - now : 0;
  };

  // Files are always ready, so with one of them nothing is waited for.
  std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = a[0] + i * kSubscription;
    const std::uint8_t tag = *memory.get<std::uint8_t>(at + 8);
    if (tag > kWriteReady) return Errno::Inval;
    shortest = std::min(shortest, tag == kClock ? due(at) : 0);
  }

  std::uint32_t events = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = a[0] + i * kSubscription;
    const std::uint8_t tag = *memory.get<std::uint8_t>(at + 8);
    if (tag == kClock && due(at) > shortest) continue;
    const std::uint64_t userdata = *memory.get<std::uint64_t>(at);
    Errno result = Errno::Success;
    if (tag != kClock && wasi.file(*memory.get<std::uint32_t>(at + 16)) == nullptr) result = Errno::BadF;
    const auto event = *memory.bytes(a[1] + events * kEvent, kEvent);
    std::ranges::fill(event, std::byte{0});
    const GuestMemory fields(event);
    if (!fields.put<std::uint64_t>(0, userdata) ||
        !fields.put<std::uint16_t>(8, static_cast<std::uint16_t>(result)) ||
        !fields.put<std::uint8_t>(10, tag))
      return Errno::Fault;
    ++events;
  }
  if (!wasi.wait(shortest)) return Errno::Success;
  return memory.put<std::uint32_t>(a[3], events) ? Errno::Success : Errno::Fault;
}

}  // namespace mist::wasm
