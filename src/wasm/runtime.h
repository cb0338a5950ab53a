#pragma once
// The WebAssembly runtime: turns module bytes into runnable code, through the cache of compiled code. One
// Runtime for each process; any thread. Code that is compiled with one Runtime runs only there, and keeps it
// alive. Only src/wasm/*.cc see Wasmtime.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"
#include "base/fs.h"
#include "base/pulse.h"
#include "base/result.h"
#include "crypto/digest.h"
#include "wasm/compiler.h"
#include "wasm/module_bytes.h"

namespace mist::wasm {

struct RuntimeOptions {
  Path cache_directory;  ///< of compiled code; empty: compile every time
  std::uint64_t cache_bytes = std::uint64_t{1} << 30;
  bool cache_for_all = false;  ///< everybody may read what is cached: for an installation
  /// How deep guest calls may nest, in bytes of stack; flag --limit-stack. The threads that run guests need
  /// a stack that is at least 1 MiB larger.
  std::size_t stack_bytes = std::size_t{1} << 20;
  /// Compile more slowly to code that runs faster: for guests that are compiled once and run often.
  bool optimise = false;
  /// A second directory of compiled code, read only, which root or this user filled; empty: none.
  Path shared_cache_directory = {};
  /// By which running guests are looked after; outlives what is compiled. Null: a thread does it.
  Pulse* pulse = nullptr;
  /// Compiles within limits; outlives the Runtime. Null: this process does, so only for modules of ours.
  Compiler* compiler = nullptr;
};

/// A function that a module imports or exports. Types are one letter for each value: i is i32, I i64, f f32,
/// F f64, v v128, r a reference.
struct FunctionType {
  std::string parameters;
  std::string results;
  friend bool operator==(const FunctionType&, const FunctionType&) = default;
};
/// "(i32, i32) → i32".
std::string to_string(const FunctionType& type);

struct Import {
  std::string module;
  std::string name;
  std::optional<FunctionType> function;  ///< nothing: a memory, table or global
};
struct Export {
  std::string name;
  std::optional<FunctionType> function;  ///< nothing: a memory, table or global
  bool is_memory = false;
};

/// Compiled code of one core module. A cheap copy; any thread.
class Module {
 public:
  const std::string& name() const;
  const crypto::Digest& digest() const;  ///< of the WebAssembly bytes
  const std::vector<Import>& imports() const;
  const std::vector<Export>& exports() const;
  /// The type of the exported function `name`; null if there is none.
  const FunctionType* function(std::string_view name) const;
  /// True if it exports the memory "memory", through which documents and WASI's data pass.
  bool has_memory() const;
  /// The content of the custom section kPackageSection, if there is one.
  const std::optional<std::string>& package_section() const;

  struct Impl;

 private:
  friend class Runtime;
  friend class Instance;
  explicit Module(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

class Component;
class StartImage;

/// A module of which modules are prepared (snapshot.h): an engine.
struct BaseModule {
  crypto::Digest digest;
  std::string name;
  std::function<Result<std::string>()> bytes;  ///< what has that digest; called if nothing is cached
};

/// A module that shares its compiled code with others, and where its instances begin (InstanceOptions); null:
/// where instances of `module` do.
struct PreparedModule {
  Module module;
  std::shared_ptr<const StartImage> start;
};

class Runtime {
 public:
  /// `events` hears of compiling and of a cache that doesn't work; it outlives the Runtime. Invalid if the
  /// stack of this process is too small (`ulimit -s`).
  static Result<Runtime> create(RuntimeOptions options, EventSink& events);

  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;
  ~Runtime();

  /// Compiles `wasm`, or maps what was compiled earlier. `name` is what people call it, for messages. Invalid
  /// for what is no core module, is damaged, costs too much to compile (compile_limits.h), or imports
  /// anything but WASI preview 1 and the requests of host_requests.h, saying what.
  Result<Module> load(std::span<const std::byte> wasm, std::string_view name);

  /// The same; the bytes are read only if no compiled code of their digest is cached.
  Result<Module> load(const ModuleBytes& wasm, std::string_view name);

  /// The same for a component (component.h); what it may import: the host's requests and WASI 0.2.
  Result<Component> load_component(const ModuleBytes& wasm, std::string_view name);

  /// As load() for a module without a package section of which nothing but the SHA-256 is at hand. Errors of
  /// `bytes` pass through; Invalid if it gives other bytes.
  Result<Module> load_known(const crypto::Digest& digest, std::string_view name,
                            const std::function<Result<std::string>()>& bytes);

  /// As load(). A module that prepare_module() made of `base`, whoever did that, runs the compiled code of
  /// `base`: nothing is compiled for it, and only where it begins is kept. Any other is compiled.
  Result<PreparedModule> load_prepared(const ModuleBytes& wasm, std::string_view name,
                                       const BaseModule& base);

 private:
  struct Impl;
  explicit Runtime(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mist::wasm
