#include "wasm/instance.h"

#include <mist_runtime.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>

#include "base/text.h"
#include "wasm/engine.h"
#include "wasm/guest_run.h"
#include "wasm/snapshot.h"
#include "wasm/wasi.h"

namespace mist::wasm {
namespace {

constexpr std::string_view kMemoryExport = "memory";

wasm_trap_t* stopped() { return wasmtime_trap_new(kStopped, sizeof(kStopped) - 1); }

struct FunctionTypeFree {
  void operator()(wasm_functype_t* type) const noexcept { wasm_functype_delete(type); }
};

std::unique_ptr<wasm_functype_t, FunctionTypeFree> make_type(std::string_view letters, bool returns_i32) {
  std::vector<wasm_valtype_t*> types;
  for (const char c : letters) types.push_back(wasm_valtype_new(c == 'I' ? WASM_I64 : WASM_I32));
  wasm_valtype_vec_t parameters;
  wasm_valtype_vec_new(&parameters, types.size(), types.data());
  wasm_valtype_vec_t results;
  wasm_valtype_vec_new_empty(&results);
  if (returns_i32) {
    wasm_valtype_t* result = wasm_valtype_new(WASM_I32);
    wasm_valtype_vec_new(&results, 1, &result);
  }
  return std::unique_ptr<wasm_functype_t, FunctionTypeFree>(wasm_functype_new(&parameters, &results));
}

}  // namespace

struct Instance::Impl : GuestRun {
  struct Binding {
    Impl* instance = nullptr;
    const WasiFunction* function = nullptr;
  };

  Impl(std::shared_ptr<const Module::Impl> m, InstanceOptions options, const Context& c)
      : GuestRun(m->engine, m->name, std::move(options), c), module(std::move(m)) {}

  GuestMemory memory_view(wasmtime_caller_t* caller);
  Status instantiate();
  Status begin_at(const StartImage& start);
  std::optional<wasmtime_extern_t> exported(std::string_view what);
  wasmtime_extern_t bind(const Import& import);

  static wasm_trap_t* call_wasi(void* env, wasmtime_caller_t* caller, wasmtime_val_raw_t* values,
                                size_t count);
  static wasm_trap_t* call_request(void* env, wasmtime_caller_t* caller, wasmtime_val_raw_t* values,
                                   size_t count);
  static wasm_trap_t* call_response(void* env, wasmtime_caller_t* caller, wasmtime_val_raw_t* values,
                                    size_t count);
  wasm_trap_t* end_with(Error failure);

  std::shared_ptr<const Module::Impl> module;
  std::deque<Binding> bindings;  // addresses stay
  wasmtime_instance_t handle{};
  std::optional<wasmtime_memory_t> memory;
};

GuestMemory Instance::Impl::memory_view(wasmtime_caller_t* caller) {
  if (!memory) {
    // During a start function there is no instance to ask yet, only the caller.
    wasmtime_extern_t item;
    const bool found =
        caller != nullptr
            ? wasmtime_caller_export_get(caller, kMemoryExport.data(), kMemoryExport.size(), &item)
            : wasmtime_instance_export_get(store_context(), &handle, kMemoryExport.data(),
                                           kMemoryExport.size(), &item);
    if (!found) return {};
    if (item.kind != WASMTIME_EXTERN_MEMORY) {
      wasmtime_extern_delete(&item);
      return {};
    }
    memory = item.of.memory;
  }
  auto* const data = reinterpret_cast<std::byte*>(wasmtime_memory_data(store_context(), &*memory));
  return GuestMemory({data, wasmtime_memory_data_size(store_context(), &*memory)});
}

// Nothing may be thrown through Wasmtime's frames.
wasm_trap_t* Instance::Impl::call_wasi(void* env, wasmtime_caller_t* caller, wasmtime_val_raw_t* values,
                                       size_t) try {
  const Binding& binding = *static_cast<Binding*>(env);
  Wasi& wasi = binding.instance->wasi;
  const WasiFunction& function = *binding.function;
  std::array<std::uint64_t, kMaxWasiParameters> arguments{};
  for (std::size_t i = 0; i < function.parameters.size(); ++i)
    arguments[i] = function.parameters[i] == 'I' ? static_cast<std::uint64_t>(values[i].i64)
                                                 : static_cast<std::uint32_t>(values[i].i32);
  const Errno result =
      function.call(wasi, binding.instance->memory_view(caller),
                    std::span<const std::uint64_t>(arguments).first(function.parameters.size()));
  if (wasi.stop) return stopped();
  if (function.returns_errno) values[0].i32 = static_cast<std::int32_t>(result);
  return nullptr;
} catch (const std::exception& thrown) {
  static_cast<const Binding*>(env)->instance->end_for(thrown);
  return stopped();
}

wasm_trap_t* Instance::Impl::end_with(Error failure) {
  interruption = std::move(failure);
  return stopped();
}

wasm_trap_t* Instance::Impl::call_request(void* env, wasmtime_caller_t* caller, wasmtime_val_raw_t* values,
                                          size_t) try {
  Impl& self = *static_cast<Impl*>(env);
  Result<std::uint32_t> length = self.for_guest([&] {
    return self.requests.request(self.memory_view(caller), static_cast<std::uint32_t>(values[0].i32),
                                 static_cast<std::uint32_t>(values[1].i32));
  });
  if (!length.ok()) return self.end_with(std::move(length).error());
  values[0].i32 = static_cast<std::int32_t>(*length);
  return nullptr;
} catch (const std::exception& thrown) {
  static_cast<Impl*>(env)->end_for(thrown);
  return stopped();
}

wasm_trap_t* Instance::Impl::call_response(void* env, wasmtime_caller_t* caller, wasmtime_val_raw_t* values,
                                           size_t) try {
  Impl& self = *static_cast<Impl*>(env);
  Status copied = self.requests.response(self.memory_view(caller), static_cast<std::uint32_t>(values[0].i32));
  return copied.ok() ? nullptr : self.end_with(std::move(copied).error());
} catch (const std::exception& thrown) {
  static_cast<Impl*>(env)->end_for(thrown);
  return stopped();
}

wasmtime_extern_t Instance::Impl::bind(const Import& import) {
  wasmtime_extern_t item;
  item.kind = WASMTIME_EXTERN_FUNC;
  if (import.module == kHostModule) {
    const bool asks = import.name == kRequestFunction;
    wasmtime_func_new_unchecked(store_context(), make_type(asks ? "ii" : "i", asks).get(),
                                asks ? &call_request : &call_response, this, nullptr, &item.of.func);
    return item;
  }
  const WasiFunction* const function = find_wasi_function(import.name);
  MIST_CHECK(function != nullptr);  // Runtime::load refuses the others
  bindings.push_back({this, function});
  wasmtime_func_new_unchecked(store_context(), make_type(function->parameters, function->returns_errno).get(),
                              &call_wasi, &bindings.back(), nullptr, &item.of.func);
  return item;
}

Status Instance::Impl::instantiate() {
  wasmtime_store_limiter(store.get(), 0, 0, 1, 1, 1);
  mist_store_trap_on_limits(store_context(), limits.memory_bytes, limits.table_elements);
  std::vector<wasmtime_extern_t> imports;
  for (const Import& import : module->imports) imports.push_back(bind(import));
  MIST_TRY(const auto exited, run([&](wasm_trap_t** trap) {
             return wasmtime_instance_new(store_context(), module->handle.get(), imports.data(),
                                          imports.size(), &handle, trap);
           }));
  if (exited)
    return error(ErrorKind::Trap, "{} exited with code {} while it was being set up", name, *exited);
  return {};
}

std::optional<wasmtime_extern_t> Instance::Impl::exported(std::string_view what) {
  wasmtime_extern_t item;
  if (!wasmtime_instance_export_get(store_context(), &handle, what.data(), what.size(), &item))
    return std::nullopt;
  return item;
}

Status Instance::Impl::begin_at(const StartImage& start) {
  const auto refused = [&](std::string_view what) {
    return error(ErrorKind::Trap, "{} can't begin where it was prepared", name)
        .with_because(std::string(what));
  };
  const auto found = exported(start.memory());
  if (!found || found->kind != WASMTIME_EXTERN_MEMORY) return refused("it has no such memory");
  const wasmtime_memory_t& all = found->of.memory;
  const std::size_t size = wasmtime_memory_data_size(store_context(), &all);
  constexpr std::size_t kWasmPage = 65536;
  if (start.memory_size() > size) {
    std::uint64_t before = 0;
    const FailureHandle failed(
        wasmtime_memory_grow(store_context(), &all, (start.memory_size() - size) / kWasmPage, &before));
    if (failed) {
      if (auto limit = limit_error(failure_of(*failed), name, limits, engine->stack_bytes))
        return *std::move(limit);
      return refused("it needs more memory than it may have");
    }
  }
  std::uint8_t* const data = wasmtime_memory_data(store_context(), &all);
  for (const StartImage::Page& each : start.pages())
    std::memcpy(data + each.offset, each.bytes.data(), each.bytes.size());
  for (const StartImage::Global& each : start.globals()) {
    const auto global = exported(each.name);
    if (!global || global->kind != WASMTIME_EXTERN_GLOBAL) return refused("it has no such global");
    wasmtime_val_t value{};
    wasmtime_global_get(store_context(), &global->of.global, &value);
    std::memcpy(&value.of, each.bits.data(), std::min(sizeof value.of, each.bits.size()));
    if (wasmtime_error_t* const failed = wasmtime_global_set(store_context(), &global->of.global, &value)) {
      wasmtime_error_delete(failed);
      return refused("a global can't be set");
    }
  }
  return {};
}

Instance::Instance(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Instance::Instance(Instance&&) noexcept = default;
Instance& Instance::operator=(Instance&&) noexcept = default;
Instance::~Instance() = default;

Result<Instance> Instance::create(const Module& module, InstanceOptions options, const Context& context) {
  MIST_TRY_VOID(context.check());
  const std::shared_ptr<const StartImage> start = options.start;
  auto impl = std::make_unique<Impl>(module.impl_, std::move(options), context);
  MIST_TRY_VOID(impl->instantiate());
  if (start) MIST_TRY_VOID(impl->begin_at(*start));
  return Instance(std::move(impl));
}

void Instance::mark_entry() { impl_->wasi.entered = true; }

Result<CallResult> Instance::call(std::string_view function, std::initializer_list<std::uint32_t> arguments) {
  Impl& impl = *impl_;
  if (impl.over)
    return error(ErrorKind::Invalid, "{} has ended, so {} can't be called", impl.module->name, function);
  auto found = impl.exported(function);
  if (!found) return error(ErrorKind::Invalid, "{} has no export \"{}\"", impl.module->name, function);
  wasmtime_extern_t& item = *found;
  if (item.kind != WASMTIME_EXTERN_FUNC) {
    wasmtime_extern_delete(&item);
    return error(ErrorKind::Invalid, "the export \"{}\" of {} is not a function", function,
                 impl.module->name);
  }
  const FunctionType* type = nullptr;
  for (const Export& each : impl.module->exports)
    if (each.name == function && each.function) type = &*each.function;
  MIST_CHECK(type != nullptr);
  if (type->parameters != std::string(arguments.size(), 'i') ||
      type->results.find_first_not_of('i') != std::string::npos)
    return error(ErrorKind::Invalid, "the function \"{}\" of {} has the type {}, which can't be called",
                 function, impl.module->name, to_string(*type));

  std::vector<wasmtime_val_t> inputs;
  for (const std::uint32_t argument : arguments) {
    wasmtime_val_t value{};
    value.kind = WASMTIME_I32;
    value.of.i32 = static_cast<std::int32_t>(argument);
    inputs.push_back(value);
  }
  std::vector<wasmtime_val_t> outputs(type->results.size());
  Result<std::optional<std::uint32_t>> ended = impl.run([&](wasm_trap_t** trap) {
    return wasmtime_func_call(impl.store_context(), &item.of.func, inputs.data(), inputs.size(),
                              outputs.data(), outputs.size(), trap);
  });
  if (!ended) return std::move(ended).error().with_frame(fmt::format("while it ran {}", function));
  CallResult result;
  result.exit_code = *ended;
  if (!result.exit_code)
    for (const wasmtime_val_t& value : outputs)
      result.values.push_back(static_cast<std::uint32_t>(value.of.i32));
  return result;
}

GuestMemory Instance::memory() { return impl_->memory_view(nullptr); }

std::optional<std::uint32_t> Instance::global(std::string_view name) {
  auto found = impl_->exported(name);
  if (!found) return std::nullopt;
  wasmtime_extern_t& item = *found;
  wasmtime_val_t value{};
  value.kind = WASMTIME_I64;
  if (item.kind == WASMTIME_EXTERN_GLOBAL)
    wasmtime_global_get(impl_->store_context(), &item.of.global, &value);
  const std::optional<std::uint32_t> result =
      value.kind == WASMTIME_I32 ? std::optional(static_cast<std::uint32_t>(value.of.i32)) : std::nullopt;
  if (item.kind == WASMTIME_EXTERN_GLOBAL) wasmtime_val_unroot(&value);
  wasmtime_extern_delete(&item);
  return result;
}

std::optional<std::array<std::uint8_t, 16>> Instance::global_bits(std::string_view name) {
  auto found = impl_->exported(name);
  if (!found) return std::nullopt;
  wasmtime_extern_t& item = *found;
  std::optional<std::array<std::uint8_t, 16>> bits;
  if (item.kind == WASMTIME_EXTERN_GLOBAL) {
    wasmtime_val_t value{};
    wasmtime_global_get(impl_->store_context(), &item.of.global, &value);
    bits.emplace();
    switch (value.kind) {
      case WASMTIME_I32:
        std::memcpy(bits->data(), &value.of.i32, sizeof value.of.i32);
        break;
      case WASMTIME_I64:
        std::memcpy(bits->data(), &value.of.i64, sizeof value.of.i64);
        break;
      case WASMTIME_F32:
        std::memcpy(bits->data(), &value.of.f32, sizeof value.of.f32);
        break;
      case WASMTIME_F64:
        std::memcpy(bits->data(), &value.of.f64, sizeof value.of.f64);
        break;
      case WASMTIME_V128:
        std::memcpy(bits->data(), &value.of.v128, sizeof value.of.v128);
        break;
      default:
        bits.reset();
    }
    wasmtime_val_unroot(&value);
  }
  wasmtime_extern_delete(&item);
  return bits;
}

std::span<const std::byte> Instance::memory_bytes(std::string_view name) {
  auto found = impl_->exported(name);
  if (!found) return {};
  wasmtime_extern_t& item = *found;
  std::span<const std::byte> bytes;
  if (item.kind == WASMTIME_EXTERN_MEMORY) {
    const std::uint8_t* const data = wasmtime_memory_data(impl_->store_context(), &item.of.memory);
    bytes = {reinterpret_cast<const std::byte*>(data),
             wasmtime_memory_data_size(impl_->store_context(), &item.of.memory)};
  }
  wasmtime_extern_delete(&item);
  return bytes;
}

RunReport Instance::take_report() { return impl_->take_report(memory().size()); }

}  // namespace mist::wasm
