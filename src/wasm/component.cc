#include "wasm/component.h"

#include <mist_runtime.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/text.h"
#include "wasm/component_code.h"
#include "wasm/guest_run.h"

namespace mist::wasm {
namespace {

using Val = wasmtime_component_val_t;

constexpr std::uint64_t kMostRandomAtOnce = std::uint64_t{1} << 20;
// Of core modules inside a component. A second memory is for tools that leave a small component inside, which
// linked the large one when it was made (componentize-qjs).
constexpr std::int64_t kMostInstances = 64;
constexpr std::int64_t kMostTables = 64;
constexpr std::int64_t kMostMemories = 2;

using LinkerHandle = Handle<wasmtime_component_linker_t, &wasmtime_component_linker_delete>;
using LinkerInstanceHandle =
    Handle<wasmtime_component_linker_instance_t, &wasmtime_component_linker_instance_delete>;
using ExportIndexHandle = Handle<wasmtime_component_export_index_t, &wasmtime_component_export_index_delete>;

// A value that this side owns.
class OwnVal {
 public:
  OwnVal() { value_.kind = WASMTIME_COMPONENT_BOOL; }
  OwnVal(const OwnVal&) = delete;
  OwnVal& operator=(const OwnVal&) = delete;
  ~OwnVal() { wasmtime_component_val_delete(&value_); }
  Val* get() { return &value_; }

 private:
  Val value_{};
};

std::string_view view(const wasm_name_t& text) { return {text.data, text.size}; }

void set_text(Val& value, std::string_view text) {
  value.kind = WASMTIME_COMPONENT_STRING;
  wasm_byte_vec_new(&value.of.string, text.size(), text.data());
}

void set_number(Val& value, std::uint64_t number) {
  value.kind = WASMTIME_COMPONENT_U64;
  value.of.u64 = number;
}

void set_entry(wasmtime_component_valrecord_entry_t& entry, std::string_view name, const Val& value) {
  wasm_byte_vec_new(&entry.name, name.size(), name.data());
  entry.val = value;
}

// A text of an argument; nothing if it is something else.
std::optional<std::string_view> text_of(const Val& value) {
  if (value.kind != WASMTIME_COMPONENT_STRING) return std::nullopt;
  return view(value.of.string);
}

}  // namespace

const std::string& Component::name() const { return impl_->name; }
const crypto::Digest& Component::digest() const { return impl_->digest; }
const std::optional<std::string>& Component::package_section() const { return impl_->package_section; }
const std::vector<std::string>& Component::exported_functions() const { return impl_->exports; }

struct ComponentInstance::Impl : GuestRun {
  Impl(std::shared_ptr<const Component::Impl> c, InstanceOptions options, const Context& its_context)
      : GuestRun(c->engine, c->name, std::move(options), its_context), component(std::move(c)) {}

  Status instantiate();
  Status define(wasmtime_component_linker_t& linker);
  /// Calls `function` with `arguments`; `result` is what it gave.
  Status call(std::string_view function, std::span<const Val> arguments, OwnVal& result);
  Status preview1(std::string_view function, std::span<std::byte> memory,
                  std::initializer_list<std::uint64_t> arguments);
  Result<std::uint64_t> preview1_number(std::string_view function,
                                        std::initializer_list<std::uint64_t> arguments);

  std::shared_ptr<const Component::Impl> component;
  wasmtime_component_instance_t handle{};
};

namespace {

using Self = ComponentInstance::Impl;
using Arguments = std::span<const Val>;
using Results = std::span<Val>;

Status host_request(Self& self, Arguments arguments, Results results) {
  const auto asked = arguments.size() == 1 ? text_of(arguments[0]) : std::nullopt;
  if (!asked || results.size() != 1)
    return error(ErrorKind::Trap, "{} imports {}#request with another type", self.name, kHostInterface);
  std::string request(*asked);
  const GuestMemory memory(std::as_writable_bytes(std::span(request)));
  MIST_TRY(const std::uint32_t length,
           self.for_guest([&] { return self.requests.request(memory, 0, request.size()); }));
  std::string answer(length, '\0');
  MIST_TRY_VOID(self.requests.response(GuestMemory(std::as_writable_bytes(std::span(answer))), 0));
  set_text(results[0], answer);
  return {};
}

// A time of preview 1's clock as wasi:clocks/wall-clock has it.
Status set_datetime(Self& self, std::string_view function, Results results,
                    std::initializer_list<std::uint64_t> how) {
  constexpr std::uint64_t kNanoseconds = 1'000'000'000;
  MIST_TRY(const std::uint64_t time, self.preview1_number(function, how));
  Val seconds{};
  set_number(seconds, time / kNanoseconds);
  Val rest{};
  rest.kind = WASMTIME_COMPONENT_U32;
  rest.of.u32 = static_cast<std::uint32_t>(time % kNanoseconds);
  results[0].kind = WASMTIME_COMPONENT_RECORD;
  wasmtime_component_valrecord_new_uninit(&results[0].of.record, 2);
  set_entry(results[0].of.record.data[0], "seconds", seconds);
  set_entry(results[0].of.record.data[1], "nanoseconds", rest);
  return {};
}

constexpr std::uint64_t kWallClock = 0, kMonotonicClock = 1;  // of preview 1

Status wall_now(Self& self, Arguments, Results results) {
  return set_datetime(self, "clock_time_get", results, {kWallClock, 0, 0});
}
Status wall_resolution(Self& self, Arguments, Results results) {
  return set_datetime(self, "clock_res_get", results, {kWallClock, 0});
}
Status monotonic_now(Self& self, Arguments, Results results) {
  MIST_TRY(const std::uint64_t time, self.preview1_number("clock_time_get", {kMonotonicClock, 0, 0}));
  set_number(results[0], time);
  return {};
}
Status monotonic_resolution(Self& self, Arguments, Results results) {
  MIST_TRY(const std::uint64_t time, self.preview1_number("clock_res_get", {kMonotonicClock, 0}));
  set_number(results[0], time);
  return {};
}

Status random_bytes(Self& self, Arguments arguments, Results results) {
  if (arguments.size() != 1 || arguments[0].kind != WASMTIME_COMPONENT_U64)
    return error(ErrorKind::Trap, "{} imports wasi:random with another type", self.name);
  const std::uint64_t length = arguments[0].of.u64;
  if (length > kMostRandomAtOnce)
    return error(ErrorKind::Trap, "{} asked for {} random bytes at once; at most {} are given", self.name,
                 length, kMostRandomAtOnce);
  std::vector<std::byte> bytes(length);
  MIST_TRY_VOID(self.preview1("random_get", bytes, {0, length}));
  results[0].kind = WASMTIME_COMPONENT_LIST;
  wasmtime_component_vallist_new_uninit(&results[0].of.list, bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    results[0].of.list.data[i].kind = WASMTIME_COMPONENT_U8;
    results[0].of.list.data[i].of.u8 = std::to_integer<std::uint8_t>(bytes[i]);
  }
  return {};
}
Status random_number(Self& self, Arguments, Results results) {
  MIST_TRY(const std::uint64_t number, self.preview1_number("random_get", {0, sizeof(std::uint64_t)}));
  set_number(results[0], number);
  return {};
}
Status insecure_seed(Self& self, Arguments, Results results) {
  results[0].kind = WASMTIME_COMPONENT_TUPLE;
  wasmtime_component_valtuple_new_uninit(&results[0].of.tuple, 2);
  for (std::size_t i = 0; i < 2; ++i) set_number(results[0].of.tuple.data[i], 0);
  for (std::size_t i = 0; i < 2; ++i) {
    MIST_TRY(results[0].of.tuple.data[i].of.u64,
             self.preview1_number("random_get", {0, sizeof(std::uint64_t)}));
  }
  return {};
}

Status empty_list(Self&, Arguments, Results results) {
  results[0].kind = WASMTIME_COMPONENT_LIST;
  wasmtime_component_vallist_new_empty(&results[0].of.list);
  return {};
}
Status no_directory(Self&, Arguments, Results results) {
  results[0].kind = WASMTIME_COMPONENT_OPTION;
  results[0].of.option = nullptr;
  return {};
}

Status exit_with(Self& self, Arguments arguments, Results) {
  const bool ok =
      arguments.size() == 1 && arguments[0].kind == WASMTIME_COMPONENT_RESULT && arguments[0].of.result.is_ok;
  return self.preview1("proc_exit", {}, {ok ? 0U : 1U});
}

struct HostFunction {
  std::string_view interface;  ///< without its version
  std::string_view name;
  Status (*call)(Self&, Arguments, Results);
};

constexpr auto kHostFunctions = std::to_array<HostFunction>({
    {kHostInterface, "request", &host_request},
    {"wasi:cli/environment", "get-arguments", &empty_list},
    {"wasi:cli/environment", "get-environment", &empty_list},
    {"wasi:cli/environment", "initial-cwd", &no_directory},
    {"wasi:cli/exit", "exit", &exit_with},
    {"wasi:clocks/monotonic-clock", "now", &monotonic_now},
    {"wasi:clocks/monotonic-clock", "resolution", &monotonic_resolution},
    {"wasi:clocks/wall-clock", "now", &wall_now},
    {"wasi:clocks/wall-clock", "resolution", &wall_resolution},
    {"wasi:random/insecure", "get-insecure-random-bytes", &random_bytes},
    {"wasi:random/insecure", "get-insecure-random-u64", &random_number},
    {"wasi:random/insecure-seed", "insecure-seed", &insecure_seed},
    {"wasi:random/random", "get-random-bytes", &random_bytes},
    {"wasi:random/random", "get-random-u64", &random_number},
});

struct Binding {
  Self* self = nullptr;
  const HostFunction* function = nullptr;
};

// Nothing may be thrown through Wasmtime's frames.
wasmtime_error_t* call_host(void* data, wasmtime_context_t*, const wasmtime_component_func_type_t*,
                            Val* arguments, std::size_t argument_count, Val* results,
                            std::size_t result_count) try {
  const Binding& binding = *static_cast<const Binding*>(data);
  Self& self = *binding.self;
  Status done = binding.function->call(self, {arguments, argument_count}, {results, result_count});
  const bool ends = !done.ok() || self.wasi.stop;
  if (!done.ok()) self.interruption = std::move(done).error();
  return ends ? wasmtime_error_new(kStopped) : nullptr;
} catch (const std::exception& thrown) {
  static_cast<const Binding*>(data)->self->end_for(thrown);
  return wasmtime_error_new(kStopped);
}

void delete_binding(void* data) { delete static_cast<Binding*>(data); }

}  // namespace

// Into `memory`, which begins at address 0 of what the function sees.
Status ComponentInstance::Impl::preview1(std::string_view function, std::span<std::byte> memory,
                                         std::initializer_list<std::uint64_t> arguments) {
  const WasiFunction* const known = find_wasi_function(function);
  MIST_CHECK(known != nullptr);
  const Errno failed = known->call(wasi, GuestMemory(memory), std::span(arguments.begin(), arguments.size()));
  if (wasi.stop || failed == Errno::Success || !known->returns_errno) return {};
  return error(ErrorKind::Trap, "{} was refused {} with errno {}", name, function, static_cast<int>(failed));
}

Result<std::uint64_t> ComponentInstance::Impl::preview1_number(
    std::string_view function, std::initializer_list<std::uint64_t> arguments) {
  std::array<std::byte, sizeof(std::uint64_t)> memory{};
  MIST_TRY_VOID(preview1(function, memory, arguments));
  std::uint64_t number = 0;
  for (std::size_t i = memory.size(); i-- > 0;)
    number = number << 8 | std::to_integer<std::uint64_t>(memory[i]);
  return number;
}

Status ComponentInstance::Impl::define(wasmtime_component_linker_t& linker) {
  const auto fail = [&](const FailureHandle& failed) {
    return error(ErrorKind::Internal, "the imports of {} can't be defined", name)
        .with_because(message_of(*failed));
  };
  const LinkerInstanceHandle root(wasmtime_component_linker_root(&linker));
  for (const std::string& import : component->imports) {
    const std::string_view interface = std::string_view(import).substr(0, import.find('@'));
    if (std::ranges::find(kHostFunctions, interface, &HostFunction::interface) == kHostFunctions.end())
      continue;
    LinkerInstanceHandle instance;
    if (const FailureHandle failed(wasmtime_component_linker_instance_add_instance(
            root.get(), import.data(), import.size(), out_ptr(instance)));
        failed)
      return fail(failed);
    for (const HostFunction& function : kHostFunctions) {
      if (function.interface != interface) continue;
      if (const FailureHandle failed(wasmtime_component_linker_instance_add_func(
              instance.get(), function.name.data(), function.name.size(), &call_host,
              new Binding{this, &function}, &delete_binding));
          failed)
        return fail(failed);
    }
  }
  return {};
}

Status ComponentInstance::Impl::instantiate() {
  wasmtime_store_limiter(store.get(), static_cast<std::int64_t>(limits.memory_bytes),
                         static_cast<std::int64_t>(limits.table_elements), kMostInstances, kMostTables,
                         kMostMemories);
  const LinkerHandle linker(wasmtime_component_linker_new(engine->handle.get()));
  MIST_TRY_VOID(define(*linker));
  if (const FailureHandle failed(
          wasmtime_component_linker_define_unknown_imports_as_traps(linker.get(), component->handle.get()));
      failed)
    return error(ErrorKind::Invalid, "{} imports what no package can have", name)
        .with_because(message_of(*failed));
  MIST_TRY(const auto exited, run([&](wasm_trap_t**) {
             return wasmtime_component_linker_instantiate(linker.get(), store_context(),
                                                          component->handle.get(), &handle);
           }));
  if (exited)
    return error(ErrorKind::Trap, "{} exited with code {} while it was being set up", name, *exited);
  // From here on nothing is instantiated, and a growth beyond a limit ends the guest, as that of a module
  // does.
  mist_store_trap_on_limits(store_context(), limits.memory_bytes, limits.table_elements);
  return {};
}

Status ComponentInstance::Impl::call(std::string_view function, std::span<const Val> arguments,
                                     OwnVal& result) {
  if (over) return error(ErrorKind::Invalid, "{} has ended, so {} can't be called", name, function);
  const ExportIndexHandle index(wasmtime_component_get_export_index(component->handle.get(), nullptr,
                                                                    function.data(), function.size()));
  wasmtime_component_func_t found{};
  if (!index || !wasmtime_component_instance_get_func(&handle, store_context(), index.get(), &found))
    return error(ErrorKind::Invalid, "{} exports no function \"{}\"", name, function);
  auto ended = run([&](wasm_trap_t**) {
    return wasmtime_component_func_call(&found, store_context(), arguments.data(), arguments.size(),
                                        result.get(), 1);
  });
  if (!ended) return std::move(ended).error().with_frame(fmt::format("while it ran {}", function));
  if (*ended)
    return error(ErrorKind::Invalid, "{} ended with exit code {} instead of a result", name, **ended)
        .with_because("a component gives its result, or its error, as the value of generate");
  return {};
}

ComponentInstance::ComponentInstance(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ComponentInstance::ComponentInstance(ComponentInstance&&) noexcept = default;
ComponentInstance& ComponentInstance::operator=(ComponentInstance&&) noexcept = default;
ComponentInstance::~ComponentInstance() = default;

Result<ComponentInstance> ComponentInstance::create(const Component& component, InstanceOptions options,
                                                    const Context& context) {
  MIST_TRY_VOID(context.check());
  auto impl = std::make_unique<Impl>(component.impl_, std::move(options), context);
  MIST_TRY_VOID(impl->instantiate());
  return ComponentInstance(std::move(impl));
}

void ComponentInstance::mark_entry() { impl_->wasi.entered = true; }

Result<std::string> ComponentInstance::info() {
  OwnVal result;
  MIST_TRY_VOID(impl_->call(kInfoFunction, {}, result));
  const auto text = text_of(*result.get());
  if (!text) return error(ErrorKind::Invalid, "{} of {} gives no string", kInfoFunction, impl_->name);
  return std::string(*text);
}

Result<Generated> ComponentInstance::generate(std::string_view input) {
  OwnVal argument;
  set_text(*argument.get(), input);
  OwnVal result;
  MIST_TRY_VOID(impl_->call(kGenerateFunction, {argument.get(), 1}, result));
  const Val& value = *result.get();
  const Val* const inner = value.kind == WASMTIME_COMPONENT_RESULT ? value.of.result.val : nullptr;
  const auto text = inner == nullptr ? std::nullopt : text_of(*inner);
  if (!text)
    return error(ErrorKind::Invalid, "{} of {} gives no result<string, string>", kGenerateFunction,
                 impl_->name);
  const std::uint64_t most = impl_->limits.output_bytes;
  if (text->size() > most) {
    const std::string limit = fmt::format("{} MiB", most >> 20);
    return limit_reached(impl_->name, fmt::format("reached its output limit of {}", limit),
                         impl_->limits.flags, "--limit-output", limit);
  }
  return Generated{value.of.result.is_ok, std::string(*text)};
}

RunReport ComponentInstance::take_report() { return impl_->take_report(0); }

}  // namespace mist::wasm
