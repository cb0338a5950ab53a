#pragma once
// Wasmtime's handles, for the sources of this folder only.

#include <wasmtime.h>

#include <memory>
#include <string>
#include <vector>

#include "base/handle.h"
#include "wasm/binary.h"
#include "wasm/epoch_ticker.h"
#include "wasm/runtime.h"

namespace mist::wasm {

using EngineHandle = Handle<wasm_engine_t, &wasm_engine_delete>;
using ModuleHandle = Handle<wasmtime_module_t, &wasmtime_module_delete>;
using StoreHandle = Handle<wasmtime_store_t, &wasmtime_store_delete>;
using FailureHandle = Handle<wasmtime_error_t, &wasmtime_error_delete>;
using TrapHandle = Handle<wasm_trap_t, &wasm_trap_delete>;

/// The engine and what makes its time pass.
struct Engine {
  Engine(EngineHandle engine, std::size_t stack, Pulse* pulse)
      : handle(std::move(engine)),
        stack_bytes(stack),
        ticker([this] { wasmtime_engine_increment_epoch(handle.get()); }, pulse) {}
  EngineHandle handle;
  std::size_t stack_bytes;
  EpochTicker ticker;
};

struct Module::Impl {
  std::shared_ptr<Engine> engine;
  ModuleHandle handle;
  std::string name;
  crypto::Digest digest;
  std::optional<std::string> package_section;
  std::vector<Import> imports;
  std::vector<Export> exports;
};

/// The one configuration of engines for modules, and the same for components; code that is compiled with
/// other arguments doesn't run.
EngineHandle make_engine(std::size_t stack_bytes, bool optimise, BinaryKind kind = BinaryKind::Module);

/// The error for bytes that Wasmtime doesn't compile, for its reason.
Error not_compiled(std::string_view name, std::string because);

/// Wasmtime's own words, with causes and backtrace.
std::string message_of(const wasmtime_error_t& failure);
std::string message_of(const wasm_trap_t& trap);

}  // namespace mist::wasm
