#pragma once
// The common part of a run of a module and of a component: the frozen system, limits, guest time, and how the
// end of a guest becomes an error. For the sources of this folder only. One thread at a time.

#include <time.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "wasm/engine.h"
#include "wasm/host_requests.h"
#include "wasm/instance.h"
#include "wasm/trap.h"
#include "wasm/wasi.h"

namespace mist::wasm {

/// Of the error by which a host function ends the guest; what it is about stands in GuestRun::interruption.
inline constexpr char kStopped[] = "stopped by the host";

/// Processor time of this thread: a busy machine doesn't shorten a guest's time.
inline Duration thread_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

struct GuestRun {
  GuestRun(std::shared_ptr<Engine> its_engine, std::string its_name, InstanceOptions options,
           const Context& its_context);

  wasmtime_context_t* store_context() const { return wasmtime_store_context(store.get()); }

  /// Runs guest code through `call(wasm_trap_t**)`, which returns a wasmtime_error_t*, and tells how it
  /// ended: an exit code if it exited, an error, or neither.
  template <typename Call>
  Result<std::optional<std::uint32_t>> run(Call call) {
    begin();
    wasm_trap_t* trapped = nullptr;
    wasmtime_error_t* const failed_with = call(&trapped);
    return end(FailureHandle(failed_with), TrapHandle(trapped));
  }

  /// Does `work` for the guest, in time that isn't the guest's. Its errors, and those of the context, end it.
  template <typename Work>
  auto for_guest(Work work) -> decltype(work()) {
    used += thread_time() - *began;
    began.reset();
    const GuestTimeResumer resumer{*this};
    Status status = context.check();
    return status.ok() ? work() : decltype(work())(std::move(status).error());
  }

  /// Ends the guest for an exception of the host while it worked for it. Nothing may be thrown through
  /// Wasmtime's frames, and it is no trap: another run of the same code may well succeed.
  void end_for(const std::exception& thrown) noexcept;

  Error failed(const Failure& failure);
  std::optional<Error> exceeded() const;
  RunReport take_report(std::uint64_t memory_bytes);

  std::shared_ptr<Engine> engine;  // outlives the store
  std::string name;
  Limits limits;
  Context context;
  Wasi wasi;
  HostRequests requests;
  StoreHandle store;
  Duration used{};                    // guest time of finished calls
  std::optional<Duration> began;      // of the running call
  std::optional<Error> interruption;  // why on_tick or a host function ended the guest
  bool over = false;

 private:
  // The guest's time goes on however the work for it ends: after an exception, too, the call has an end().
  struct GuestTimeResumer {
    explicit GuestTimeResumer(GuestRun& its_guest) : guest(its_guest) {}
    GuestTimeResumer(const GuestTimeResumer&) = delete;
    GuestTimeResumer& operator=(const GuestTimeResumer&) = delete;
    ~GuestTimeResumer() { guest.began = thread_time(); }
    GuestRun& guest;
  };

  void begin();
  Result<std::optional<std::uint32_t>> end(const FailureHandle& failure, const TrapHandle& trap);
  static wasmtime_error_t* on_tick(wasmtime_context_t* store, void* self, std::uint64_t* delta,
                                   wasmtime_update_deadline_kind_t* kind);
};

}  // namespace mist::wasm
