#include "wasm/guest_run.h"

#include "base/text.h"

namespace mist::wasm {

GuestRun::GuestRun(std::shared_ptr<Engine> its_engine, std::string its_name, InstanceOptions options,
                   const Context& its_context)
    : engine(std::move(its_engine)),
      name(std::move(its_name)),
      limits(options.limits),
      context(its_context),
      wasi(std::move(options.system), options.limits, std::move(options.input), std::move(options.arguments)),
      requests(options.requests, options.limits, name),
      store(wasmtime_store_new(engine->handle.get(), nullptr, nullptr)) {
  wasmtime_store_epoch_deadline_callback(store.get(), &on_tick, this, nullptr);
}

std::optional<Error> GuestRun::exceeded() const {
  if (Status status = context.check(); !status) return std::move(status).error();
  if (used + (began ? thread_time() - *began : Duration{}) < limits.guest_time) return std::nullopt;
  const auto seconds = std::chrono::duration<double>(limits.guest_time).count();
  return limit_reached(name, fmt::format("reached its time limit of {:g} s", seconds), limits.flags,
                       "--limit-time", fmt::format("{:g}s", seconds));
}

wasmtime_error_t* GuestRun::on_tick(wasmtime_context_t*, void* self, std::uint64_t* delta,
                                    wasmtime_update_deadline_kind_t* kind) try {
  auto& guest = *static_cast<GuestRun*>(self);
  *delta = 1;
  *kind = WASMTIME_UPDATE_DEADLINE_CONTINUE;
  guest.interruption = guest.exceeded();
  return guest.interruption ? wasmtime_error_new(kStopped) : nullptr;
} catch (const std::exception& thrown) {
  static_cast<GuestRun*>(self)->end_for(thrown);
  return wasmtime_error_new(kStopped);
}

void GuestRun::end_for(const std::exception& thrown) noexcept {
  interruption = error(ErrorKind::Internal, "the host failed while {} ran", name)
                     .with_because(escape_controls(thrown.what()));
}

void GuestRun::begin() {
  wasmtime_context_set_epoch_deadline(store_context(), 1);
  engine->ticker.enter();
  began = thread_time();
}

Result<std::optional<std::uint32_t>> GuestRun::end(const FailureHandle& failure, const TrapHandle& trap) {
  used += thread_time() - *began;
  began.reset();
  engine->ticker.leave();
  if (!failure && !trap) {
    // A call that took long without passing a loop or a function entry is over its time all the same.
    if (auto late = exceeded()) {
      over = true;
      return *std::move(late);
    }
    return std::optional<std::uint32_t>();
  }
  over = true;
  if (wasi.stop)
    if (const auto* const exited = std::get_if<Exited>(&*wasi.stop)) return std::optional(exited->code);
  return failed(failure ? failure_of(*failure) : failure_of(*trap));
}

Error GuestRun::failed(const Failure& failure) {
  Error result;
  if (interruption) {
    result = *std::move(interruption);
  } else if (wasi.stop && std::holds_alternative<OutputLimitReached>(*wasi.stop)) {
    const std::string value = fmt::format("{} MiB", limits.output_bytes >> 20);
    result = limit_reached(name, fmt::format("reached its output limit of {}", value), limits.flags,
                           "--limit-output", value);
  } else if (wasi.stop) {
    result = error(ErrorKind::Trap,
                   "{} sleeps for ever: its clock reached its limit, and nothing outside can wake it", name);
  } else if (auto limit = limit_error(failure, name, limits, engine->stack_bytes)) {
    result = *std::move(limit);
  } else {
    result = trap_error(failure, name);
  }
  if (result.kind == ErrorKind::Trap) {
    std::vector<std::string> words{std::move(result.because), last_words(wasi.err)};
    std::erase(words, "");
    result.details.set(WithoutBacktrace{join(words, "\n")});
    words.push_back(backtrace_of(failure));
    std::erase(words, "");
    result.because = join(words, "\n");
  }
  return result;
}

RunReport GuestRun::take_report(std::uint64_t memory_bytes) {
  return {.out = std::move(wasi.out),
          .err = std::move(wasi.err),
          .drawn_before_entry = wasi.drawn_before_entry,
          .drawn_after_entry = wasi.drawn_after_entry,
          .guest_time = used,
          .memory_bytes = memory_bytes};
}

}  // namespace mist::wasm
