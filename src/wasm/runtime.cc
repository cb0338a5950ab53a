#include "wasm/runtime.h"

#include <sys/resource.h>

#include <algorithm>
#include <mutex>

#include "base/some_of.h"
#include "base/text.h"
#include "wasm/binary.h"
#include "wasm/code_cache.h"
#include "wasm/compile_limits.h"
#include "wasm/component_code.h"
#include "wasm/cpu_features.h"
#include "wasm/engine.h"
#include "wasm/host_requests.h"
#include "wasm/snapshot.h"
#include "wasm/wasi.h"

namespace mist::wasm {
namespace {

constexpr std::size_t kHostStack = std::size_t{1}
                                   << 20;  // for host functions and Wasmtime, below a guest's frames
constexpr std::size_t kMaxReportedImports = 5;

// Every setting that changes what is compiled, and the layout of the cache itself. A new text makes all
// cached code unused; a setting that is changed without it makes Wasmtime refuse the old code, or worse, run
// it.
constexpr std::string_view kSettings =
    "2: epochs, NaN canonical, relaxed SIMD deterministic, no unwind info, no memory64, no multi-memory, no "
    "threads, no GC, no exceptions, no function references, no stack switching";
constexpr std::string_view kForComponents = "component model, multi-memory";
constexpr std::string_view kQuickCode = "opt level none";
constexpr std::string_view kFastCode = "opt level speed";

std::string take_text(wasm_byte_vec_t& bytes) {
  std::string text(bytes.data, bytes.size);
  wasm_byte_vec_delete(&bytes);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

char letter(const wasm_valtype_t& type) {
  // wasm_valtype_kind would end the process at a v128.
  wasmtime_valtype_t value{};
  wasmtime_valtype_new(&type, &value);
  const wasmtime_valtype_kind_t kind = value.kind;
  wasmtime_valtype_delete(&value);
  switch (kind) {
    case WASMTIME_VALTYPE_KIND_I32:
      return 'i';
    case WASMTIME_VALTYPE_KIND_I64:
      return 'I';
    case WASMTIME_VALTYPE_KIND_F32:
      return 'f';
    case WASMTIME_VALTYPE_KIND_F64:
      return 'F';
    case WASMTIME_VALTYPE_KIND_V128:
      return 'v';
    default:
      return 'r';
  }
}

std::string letters(const wasm_valtype_vec_t& types) {
  std::string text;
  for (std::size_t i = 0; i < types.size; ++i) text.push_back(letter(*types.data[i]));
  return text;
}

std::optional<FunctionType> function_type(const wasm_externtype_t& type) {
  if (wasm_externtype_kind(&type) != WASM_EXTERN_FUNC) return std::nullopt;
  const wasm_functype_t* const function = wasm_externtype_as_functype_const(&type);
  return FunctionType{letters(*wasm_functype_params(function)), letters(*wasm_functype_results(function))};
}

std::string text_of(const wasm_name_t& name) { return {name.data, name.size}; }

std::vector<Import> imports_of(const wasmtime_module_t& module) {
  wasm_importtype_vec_t types;
  wasmtime_module_imports(&module, &types);
  std::vector<Import> imports;
  for (std::size_t i = 0; i < types.size; ++i)
    imports.push_back({text_of(*wasm_importtype_module(types.data[i])),
                       text_of(*wasm_importtype_name(types.data[i])),
                       function_type(*wasm_importtype_type(types.data[i]))});
  wasm_importtype_vec_delete(&types);
  return imports;
}

std::vector<Export> exports_of(const wasmtime_module_t& module) {
  wasm_exporttype_vec_t types;
  wasmtime_module_exports(&module, &types);
  std::vector<Export> exports;
  for (std::size_t i = 0; i < types.size; ++i)
    exports.push_back({text_of(*wasm_exporttype_name(types.data[i])),
                       function_type(*wasm_exporttype_type(types.data[i])),
                       wasm_externtype_kind(wasm_exporttype_type(types.data[i])) == WASM_EXTERN_MEMORY});
  wasm_exporttype_vec_delete(&types);
  return exports;
}

FunctionType type_of(const WasiFunction& function) {
  return {std::string(function.parameters), function.returns_errno ? "i" : ""};
}

std::string describe(const Import& import) {
  return escape_controls(fmt::format("{}.{}", import.module, import.name));
}

// The type of what a guest may import under that name; nothing if it may not.
std::optional<FunctionType> offered(const Import& import) {
  if (import.module == kWasiModule) {
    const WasiFunction* const function = find_wasi_function(import.name);
    return function == nullptr ? std::nullopt : std::optional(type_of(*function));
  }
  if (import.module != kHostModule) return std::nullopt;
  if (import.name == kRequestFunction) return FunctionType{"ii", "i"};
  if (import.name == kResponseFunction) return FunctionType{"i", ""};
  return std::nullopt;
}

// A guest may import WASI preview 1 and the host's requests, and nothing else.
Status check_imports(const Module::Impl& module) {
  std::vector<std::string> unknown;
  for (const Import& import : module.imports) {
    const std::optional<FunctionType> type = offered(import);
    if (!type || !import.function) {
      unknown.push_back(describe(import));
    } else if (*import.function != *type) {
      return error(ErrorKind::Invalid, "{} imports {} as {}, but it is {}", module.name, describe(import),
                   to_string(*import.function), to_string(*type))
          .with_hint(import.module == kWasiModule ? "build it for wasm32-wasip1 (WASI preview 1)"
                                                  : "docs/formats/abi.md describes the requests of packages");
    }
  }
  if (unknown.empty()) return {};
  return error(ErrorKind::Invalid, "{} imports what no package can have: {}", module.name,
               some_of(std::move(unknown), kMaxReportedImports))
      .with_hint(
          "a package may import only WASI preview 1 (module wasi_snapshot_preview1), and request and "
          "response "
          "of mistletoe_v1");
}

}  // namespace

// One fixed configuration: a wrong one ends the process.
EngineHandle make_engine(std::size_t stack_bytes, bool optimise, BinaryKind kind) {
  wasm_config_t* const config = wasm_config_new();
  wasmtime_config_epoch_interruption_set(config, true);
  wasmtime_config_max_wasm_stack_set(config, stack_bytes);
  // A package runs for milliseconds, and people wait for its first compile: a fifth less of that, measured
  // on 1.4 MB.
  wasmtime_config_cranelift_opt_level_set(config,
                                          optimise ? WASMTIME_OPT_LEVEL_SPEED : WASMTIME_OPT_LEVEL_NONE);
  wasmtime_config_async_stack_size_set(config, stack_bytes + kHostStack);
  // The same bytes on every processor.
  wasmtime_config_cranelift_nan_canonicalization_set(config, true);
  wasmtime_config_wasm_relaxed_simd_deterministic_set(config, true);
  // Proposals that no toolchain of packages needs are ways in that needn't be there.
  wasmtime_config_wasm_memory64_set(config, false);
  // The adapters that Wasmtime puts between the components inside a component work on the memories of both.
  wasmtime_config_wasm_multi_memory_set(config, kind == BinaryKind::Component);
  wasmtime_config_wasm_function_references_set(config, false);
  wasmtime_config_wasm_gc_set(config, false);
  wasmtime_config_wasm_exceptions_set(config, false);
  wasmtime_config_wasm_stack_switching_set(config, false);
  wasmtime_config_gc_support_set(config, false);  // no collector is compiled in
  wasmtime_config_native_unwind_info_set(config, false);
  wasmtime_config_wasm_component_model_set(config, kind == BinaryKind::Component);
  wasmtime_config_concurrency_support_set(config, false);
  return EngineHandle(wasm_engine_new_with_config(config));
}

Error not_compiled(std::string_view name, std::string because) {
  return error(ErrorKind::Invalid, "{} is not a valid WebAssembly module", name)
      .with_because(std::move(because))
      .with_hint("fetch or build it again");
}

std::string message_of(const wasmtime_error_t& failure) {
  wasm_byte_vec_t bytes;
  wasmtime_error_message(&failure, &bytes);
  return take_text(bytes);
}

std::string message_of(const wasm_trap_t& trap) {
  wasm_byte_vec_t bytes;
  wasm_trap_message(&trap, &bytes);
  return take_text(bytes);
}

std::string to_string(const FunctionType& type) {
  const auto list = [](std::string_view letters) {
    std::vector<std::string> names;
    for (const char c : letters) {
      switch (c) {
        case 'i':
          names.emplace_back("i32");
          break;
        case 'I':
          names.emplace_back("i64");
          break;
        case 'f':
          names.emplace_back("f32");
          break;
        case 'F':
          names.emplace_back("f64");
          break;
        case 'v':
          names.emplace_back("v128");
          break;
        default:
          names.emplace_back("reference");
      }
    }
    return join(names, ", ");
  };
  return fmt::format("({}) → {}", list(type.parameters),
                     type.results.size() == 1 ? list(type.results) : fmt::format("({})", list(type.results)));
}

const std::string& Module::name() const { return impl_->name; }
const crypto::Digest& Module::digest() const { return impl_->digest; }
const std::vector<Import>& Module::imports() const { return impl_->imports; }
const std::vector<Export>& Module::exports() const { return impl_->exports; }
const std::optional<std::string>& Module::package_section() const { return impl_->package_section; }

const FunctionType* Module::function(std::string_view name) const {
  for (const Export& each : impl_->exports)
    if (each.name == name) return each.function ? &*each.function : nullptr;
  return nullptr;
}

bool Module::has_memory() const {
  return std::ranges::any_of(impl_->exports,
                             [](const Export& each) { return each.is_memory && each.name == "memory"; });
}

namespace {

struct Code {
  ModuleHandle module;
  std::string bytes;  // to keep; empty: those of `module`
};

// Imports and exports of a component.
using ComponentTypeHandle = Handle<wasmtime_component_type_t, &wasmtime_component_type_delete>;

std::vector<std::string> imports_of(const wasmtime_component_type_t& type, const wasm_engine_t& engine) {
  std::vector<std::string> names;
  const std::size_t count = wasmtime_component_type_import_count(&type, &engine);
  for (std::size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    std::size_t length = 0;
    wasmtime_component_item_t item;
    if (!wasmtime_component_type_import_nth(&type, &engine, i, &name, &length, &item)) continue;
    names.emplace_back(name, length);
    wasmtime_component_item_delete(&item);
  }
  return names;
}

std::vector<std::string> functions_of(const wasmtime_component_type_t& type, const wasm_engine_t& engine) {
  std::vector<std::string> names;
  const std::size_t count = wasmtime_component_type_export_count(&type, &engine);
  for (std::size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    std::size_t length = 0;
    wasmtime_component_item_t item;
    if (!wasmtime_component_type_export_nth(&type, &engine, i, &name, &length, &item)) continue;
    if (item.kind == WASMTIME_COMPONENT_ITEM_COMPONENT_FUNC) names.emplace_back(name, length);
    wasmtime_component_item_delete(&item);
  }
  return names;
}

// A component may import the host's requests and WASI 0.2, of whatever patch version.
Status check_imports(const Component::Impl& component) {
  const std::string host = fmt::format("{}@1.", kHostInterface);
  std::vector<std::string> unknown;
  for (const std::string& each : component.imports) {
    const bool is_wasi = each.starts_with("wasi:") && each.find("@0.2.") != std::string::npos;
    if (!is_wasi && !each.starts_with(host)) unknown.push_back(escape_controls(each));
  }
  if (unknown.empty()) return {};
  return error(ErrorKind::Invalid, "{} imports what no package can have: {}", component.name,
               some_of(std::move(unknown), kMaxReportedImports))
      .with_hint(
          fmt::format("a component may import only {}@1.0.0 and interfaces of WASI 0.2", kHostInterface));
}

}  // namespace

struct Runtime::Impl {
  Impl(std::shared_ptr<Engine> e, RuntimeOptions options, EventSink& sink)
      : engine(std::move(e)),
        settings(options.optimise ? kFastCode : kQuickCode),
        cache(std::move(options.cache_directory), options.cache_bytes, sink,
              options.cache_for_all ? CodeReaders::All : CodeReaders::Owner),
        shared(std::move(options.shared_cache_directory), sink),
        events(sink),
        compiler(options.compiler),
        pulse(options.pulse) {}

  std::shared_ptr<Engine> engine;
  std::string_view settings;
  CodeCache cache;
  SharedCodeCache shared;
  EventSink& events;
  Compiler* compiler;
  Pulse* pulse;
  std::mutex mutex;
  std::shared_ptr<Engine> for_components;  // guarded by mutex; null: none was needed yet

  std::shared_ptr<Engine> component_engine();
  Result<Component> load_component(const ModuleBytes& wasm, std::string_view name);
  Result<std::string> compile_component(const Engine& own, std::span<const std::byte> wasm,
                                        std::string_view name);

  Result<Module> load(const crypto::Digest& digest, std::string_view name,
                      std::optional<std::string> package_section,
                      const std::function<Result<std::span<const std::byte>>()>& bytes);
  crypto::Digest cache_key(const crypto::Digest& module) const;
  ModuleHandle from_cache(const crypto::Digest& key, std::string_view name);
  std::shared_ptr<const StartImage> kept_image(const crypto::Digest& key, std::string_view name);
  Result<Code> compile(std::span<const std::byte> wasm, std::string_view name);
  Result<ModuleHandle> compile_here(std::span<const std::byte> wasm, std::string_view name);
  Result<Code> compile_within_limits(std::span<const std::byte> wasm, std::string_view name);
  void keep(const crypto::Digest& key, const ModuleHandle& module, std::string_view bytes);
};

crypto::Digest Runtime::Impl::cache_key(const crypto::Digest& module) const {
  return crypto::Hasher()
      .field(kSettings)
      .field(settings)
      .field(WASMTIME_VERSION)
      .field(cpu_features())
      .update(module.bytes())
      .finish();
}

ModuleHandle Runtime::Impl::from_cache(const crypto::Digest& key, std::string_view name) {
  ModuleHandle module;
  const auto map = [&](const Path& path) {
    const FailureHandle failed(
        wasmtime_module_deserialize_file(engine->handle.get(), path.c_str(), out_ptr(module)));
    return failed == nullptr;
  };
  if (!shared.load(key, name, map)) cache.load(key, name, map);
  return module;
}

Result<ModuleHandle> Runtime::Impl::compile_here(std::span<const std::byte> wasm, std::string_view name) {
  ModuleHandle module;
  const FailureHandle failed(wasmtime_module_new(engine->handle.get(),
                                                 reinterpret_cast<const std::uint8_t*>(wasm.data()),
                                                 wasm.size(), out_ptr(module)));
  if (failed) return not_compiled(name, message_of(*failed));
  return module;
}

Result<Code> Runtime::Impl::compile_within_limits(std::span<const std::byte> wasm, std::string_view name) {
  Code code;
  MIST_TRY(code.bytes, compiler->compile(wasm, name,
                                         {.stack_bytes = engine->stack_bytes,
                                          .optimise = settings == kFastCode,
                                          .kind = BinaryKind::Module}));
  const FailureHandle failed(wasmtime_module_deserialize(
      engine->handle.get(), reinterpret_cast<const std::uint8_t*>(code.bytes.data()), code.bytes.size(),
      out_ptr(code.module)));
  if (failed)
    return error(ErrorKind::Internal, "the compiled code of {} can't be used", name)
        .with_because(message_of(*failed))
        .with_hint("mistctl doctor");
  return code;
}

Result<Code> Runtime::Impl::compile(std::span<const std::byte> wasm, std::string_view name) {
  Activity activity(events, fmt::format("compiling {}", name));
  const auto compiled = [&]() -> Result<Code> {
    MIST_TRY_VOID(check_module(wasm, name));
    MIST_TRY_VOID(check_shape(wasm, name));
    if (compiler != nullptr) return compile_within_limits(wasm, name);
    MIST_TRY(ModuleHandle module, compile_here(wasm, name));
    return Code{std::move(module), {}};
  };
  Result<Code> code = compiled();
  if (!code.ok()) activity.fail();
  return code;
}

// Code that was compiled elsewhere came as bytes.
void Runtime::Impl::keep(const crypto::Digest& key, const ModuleHandle& module, std::string_view bytes) {
  if (!bytes.empty()) return cache.store(key, std::as_bytes(std::span(bytes)));
  wasm_byte_vec_t code;
  const FailureHandle failed(wasmtime_module_serialize(module.get(), &code));
  if (failed) return;
  cache.store(key, std::as_bytes(std::span(code.data, code.size)));
  wasm_byte_vec_delete(&code);
}

std::shared_ptr<Engine> Runtime::Impl::component_engine() {
  const std::scoped_lock lock(mutex);
  if (!for_components)
    for_components = std::make_shared<Engine>(
        make_engine(engine->stack_bytes, settings == kFastCode, BinaryKind::Component), engine->stack_bytes,
        pulse);
  return for_components;
}

// The code as bytes, which are kept and then loaded.
Result<std::string> Runtime::Impl::compile_component(const Engine& own, std::span<const std::byte> wasm,
                                                     std::string_view name) {
  Activity activity(events, fmt::format("compiling {}", name));
  const auto compiled = [&]() -> Result<std::string> {
    MIST_TRY_VOID(check_shape(wasm, name));
    if (compiler != nullptr)
      return compiler->compile(
          wasm, name,
          {.stack_bytes = own.stack_bytes, .optimise = settings == kFastCode, .kind = BinaryKind::Component});
    ComponentHandle component;
    if (const FailureHandle failed(wasmtime_component_new(own.handle.get(),
                                                          reinterpret_cast<const std::uint8_t*>(wasm.data()),
                                                          wasm.size(), out_ptr(component)));
        failed)
      return not_compiled(name, message_of(*failed));
    wasm_byte_vec_t code;
    if (const FailureHandle failed(wasmtime_component_serialize(component.get(), &code)); failed)
      return error(ErrorKind::Internal, "the compiled code of {} can't be kept", name)
          .with_because(message_of(*failed));
    std::string bytes(code.data, code.size);
    wasm_byte_vec_delete(&code);
    return bytes;
  };
  Result<std::string> code = compiled();
  if (!code.ok()) activity.fail();
  return code;
}

Result<Component> Runtime::Impl::load_component(const ModuleBytes& wasm, std::string_view name) {
  MIST_TRY(const auto section, wasm.package_section(name));
  auto component = std::make_shared<Component::Impl>(
      Component::Impl{.engine = component_engine(),
                      .handle = nullptr,
                      .name = std::string(name),
                      .digest = wasm.digest(),
                      .package_section = std::optional<std::string>(section),
                      .imports = {},
                      .exports = {}});
  const crypto::Digest key =
      crypto::Hasher().field(kForComponents).update(cache_key(wasm.digest()).bytes()).finish();
  const auto map = [&](const Path& path) {
    const FailureHandle failed(wasmtime_component_deserialize_file(component->engine->handle.get(),
                                                                   path.c_str(), out_ptr(component->handle)));
    return failed == nullptr;
  };
  if (!shared.load(key, name, map)) cache.load(key, name, map);
  std::string code;
  if (component->handle == nullptr) {
    MIST_TRY(const auto bytes, wasm.bytes());
    MIST_TRY(code, compile_component(*component->engine, std::as_bytes(std::span(*bytes)), name));
    const FailureHandle failed(wasmtime_component_deserialize(
        component->engine->handle.get(), reinterpret_cast<const std::uint8_t*>(code.data()), code.size(),
        out_ptr(component->handle)));
    if (failed)
      return error(ErrorKind::Internal, "the compiled code of {} can't be used", name)
          .with_because(message_of(*failed))
          .with_hint("mistctl doctor");
  }
  const ComponentTypeHandle type(wasmtime_component_type(component->handle.get()));
  component->imports = imports_of(*type, *component->engine->handle);
  component->exports = functions_of(*type, *component->engine->handle);
  MIST_TRY_VOID(check_imports(*component));
  if (!code.empty()) cache.store(key, std::as_bytes(std::span(code)));
  return Component(std::move(component));
}

Runtime::Runtime(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;
Runtime::~Runtime() = default;

Result<Runtime> Runtime::create(RuntimeOptions options, EventSink& events) {
  // Also the size of every thread that is made without a size of its own. A guest that runs off the real
  // stack would take the process with it.
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < options.stack_bytes + kHostStack)
    return error(ErrorKind::Invalid,
                 "the stack limit of this process is {} KiB, but running packages needs {} KiB",
                 limit.rlim_cur >> 10, (options.stack_bytes + kHostStack) >> 10)
        .with_hint("ulimit -s 8192");
  auto engine = std::make_shared<Engine>(make_engine(options.stack_bytes, options.optimise),
                                         options.stack_bytes, options.pulse);
  return Runtime(std::make_unique<Impl>(std::move(engine), std::move(options), events));
}

Result<Module> Runtime::Impl::load(const crypto::Digest& digest, std::string_view name,
                                   std::optional<std::string> package_section,
                                   const std::function<Result<std::span<const std::byte>>()>& bytes) {
  auto module = std::make_shared<Module::Impl>(Module::Impl{.engine = engine,
                                                            .handle = nullptr,
                                                            .name = std::string(name),
                                                            .digest = digest,
                                                            .package_section = std::move(package_section),
                                                            .imports = {},
                                                            .exports = {}});
  const crypto::Digest key = cache_key(digest);
  module->handle = from_cache(key, name);
  const bool is_new = module->handle == nullptr;
  Code code;
  if (is_new) {
    MIST_TRY(const std::span<const std::byte> wasm, bytes());
    MIST_TRY(code, compile(wasm, name));
    module->handle = std::move(code.module);
  }
  module->imports = imports_of(*module->handle);
  module->exports = exports_of(*module->handle);
  MIST_TRY_VOID(check_imports(*module));
  if (is_new) keep(key, module->handle, code.bytes);
  return Module(std::move(module));
}

Result<Module> Runtime::load(std::span<const std::byte> wasm, std::string_view name) {
  MIST_TRY(const auto section, custom_section(wasm, name, kPackageSection));
  return impl_->load(crypto::sha256(wasm), name, std::optional<std::string>(section),
                     [&]() -> Result<std::span<const std::byte>> { return wasm; });
}

Result<Module> Runtime::load(const ModuleBytes& wasm, std::string_view name) {
  MIST_TRY(const auto section, wasm.package_section(name));
  std::shared_ptr<const std::string> bytes;  // until it is compiled
  return impl_->load(wasm.digest(), name, std::optional<std::string>(section),
                     [&]() -> Result<std::span<const std::byte>> {
                       MIST_TRY(bytes, wasm.bytes());
                       return std::as_bytes(std::span(*bytes));
                     });
}

Result<Component> Runtime::load_component(const ModuleBytes& wasm, std::string_view name) {
  return impl_->load_component(wasm, name);
}

// It is trusted as compiled code is.
std::shared_ptr<const StartImage> Runtime::Impl::kept_image(const crypto::Digest& key,
                                                            std::string_view name) {
  std::shared_ptr<const StartImage> image;
  cache.load(key, name, [&](const Path& path) {
    const auto bytes = HostFileSystem().read(path);
    auto read = bytes.ok() ? StartImage::from_bytes(*bytes) : std::nullopt;
    if (read) image = std::make_shared<const StartImage>(*std::move(read));
    return image != nullptr;
  });
  return image;
}

Result<PreparedModule> Runtime::load_prepared(const ModuleBytes& wasm, std::string_view name,
                                              const BaseModule& base) {
  const auto load_base = [&] { return load_known(base.digest, base.name, base.bytes); };
  const crypto::Digest key = crypto::Hasher()
                                 .field("start image 1")
                                 .update(base.digest.bytes())
                                 .update(wasm.digest().bytes())
                                 .finish();
  if (auto kept = impl_->kept_image(key, name)) {
    MIST_TRY(Module module, load_base());
    return PreparedModule{std::move(module), std::move(kept)};
  }
  const crypto::Digest compiled = impl_->cache_key(wasm.digest());
  if (impl_->from_cache(compiled, name) == nullptr) {
    MIST_TRY(const auto bytes, wasm.bytes());
    MIST_TRY(const std::string parent, base.bytes());
    auto image = StartImage::of_module(std::as_bytes(std::span(*bytes)), std::as_bytes(std::span(parent)));
    if (image) {
      MIST_TRY(Module module, load_base());
      const std::string kept = image->to_bytes();
      impl_->cache.store(key, std::as_bytes(std::span(kept)));
      return PreparedModule{std::move(module), std::make_shared<const StartImage>(*std::move(image))};
    }
  }
  MIST_TRY(Module module, load(wasm, name));
  return PreparedModule{std::move(module), nullptr};
}

Result<Module> Runtime::load_known(const crypto::Digest& digest, std::string_view name,
                                   const std::function<Result<std::string>()>& bytes) {
  std::string wasm;
  return impl_->load(digest, name, std::nullopt, [&]() -> Result<std::span<const std::byte>> {
    MIST_TRY(wasm, bytes());
    const std::span<const std::byte> view = std::as_bytes(std::span(wasm));
    const crypto::Digest found = crypto::sha256(view);
    if (found != digest)
      return error(ErrorKind::Invalid, "{} is not what it should be: its digest is {}, expected {}", name,
                   found.str(), digest.str())
          .with_hint("install mistctl again: its engines must be those that came with it");
    return view;
  });
}

}  // namespace mist::wasm
