#include "package/guests.h"

#include "crypto/digest.h"

namespace mist::package {
namespace {

wasm::RuntimeOptions for_packages(const RendererOptions& options) {
  wasm::RuntimeOptions runtime;
  runtime.cache_directory = options.code_cache;
  runtime.cache_bytes = options.code_cache_bytes;
  runtime.stack_bytes = options.stack_bytes;
  runtime.pulse = options.pulse;
  runtime.compiler = options.compiler.get();
  return runtime;
}

wasm::RuntimeOptions for_engines(const RendererOptions& options) {
  wasm::RuntimeOptions runtime;
  runtime.cache_directory = options.code_cache;
  runtime.cache_bytes = options.code_cache_bytes;
  runtime.stack_bytes = options.engine_stack_bytes;
  runtime.optimise = true;
  runtime.pulse = options.pulse;
  runtime.compiler = options.compiler.get();
  runtime.cache_for_all = options.cache_for_all;
  // A cache that is just being filled can't be read as well.
  if (!options.cache_for_all) runtime.shared_cache_directory = options.engines.code();
  return runtime;
}

}  // namespace

Result<wasm::Runtime*> Guests::LazyRuntime::start() {
  const std::scoped_lock lock(mutex_);
  if (!runtime_) {
    MIST_TRY(runtime_, wasm::Runtime::create(options_, events_));
  }
  return &*runtime_;
}

Guests::Guests(const RendererOptions& options, EventSink& events)
    : options_(options),
      events_(events),
      packages_(for_packages(options), events),
      engines_(for_engines(options), events) {}

Result<std::unique_ptr<abi::Guest>> Guests::open(const Source& source, const wasm::ModuleBytes& module) {
  MIST_TRY(wasm::Runtime* const runtime, packages_.start());
  return abi::open(*runtime, module, source.reference);
}

Result<wasm::Module> Guests::load_engine(std::string_view name, bool often) {
  {
    const std::lock_guard lock(loaded_mutex_);
    if (const auto kept = loaded_.find(name); kept != loaded_.end()) return kept->second;
  }
  MIST_TRY(const crypto::Digest digest, options_.engines.digest(name));
  MIST_TRY(wasm::Runtime* const runtime, engines_.start());
  MIST_TRY(wasm::Module module, runtime->load_known(digest, fmt::format("engine {}", name),
                                                    [&] { return options_.engines.read(name); }));
  const std::lock_guard lock(loaded_mutex_);
  if (often) loaded_.emplace(name, module);
  return module;
}

// A module that contains the engine that is here runs that one's compiled code.
Result<Started> Guests::start_built(const Source& source, const wasm::ModuleBytes& module,
                                    std::string_view engine, bool often) {
  const Result<crypto::Digest> here = options_.engines.digest(engine);
  if (!here.ok()) {
    MIST_TRY(wasm::Runtime* const runtime, engines_.start());
    MIST_TRY(std::unique_ptr<abi::Guest> guest, abi::open(*runtime, module, source.reference));
    return Started{std::move(guest)};
  }
  const wasm::BaseModule base{*here, fmt::format("engine {}", engine),
                              [&] { return options_.engines.read(engine); }};
  const std::string key = fmt::format("{} {}", here->str(), module.digest().str());
  if (const auto known = often ? images_.find(key) : std::nullopt; known && *known) {
    MIST_TRY(const wasm::Module loaded, load_engine(engine, often));
    MIST_TRY(std::unique_ptr<abi::Guest> guest, abi::open(loaded));
    return Started{.guest = std::move(guest), .image = *known};
  }
  MIST_TRY(wasm::Runtime* const runtime, engines_.start());
  MIST_TRY(wasm::PreparedModule prepared, runtime->load_prepared(module, source.reference, base));
  if (often && prepared.start) images_.keep(key, prepared.start);
  MIST_TRY(std::unique_ptr<abi::Guest> guest, abi::open(std::move(prepared.module)));
  return Started{.guest = std::move(guest), .image = std::move(prepared.start)};
}

Result<Started> Guests::start(const SourceTree& tree, bool often, const Context& context) {
  MIST_TRY(const wasm::Module module, load_engine(tree.engine->name, often));
  MIST_TRY(std::unique_ptr<abi::Guest> guest, abi::open(module));
  const std::string key = fmt::format("{} {}", module.digest().str(), tree.source.digest);
  const bool is_kept = often && !tree.source.digest.empty();
  const auto known = is_kept ? images_.find(key) : std::nullopt;
  // It has read its files.
  if (known && *known) return Started{.guest = std::move(guest), .image = *known};
  MIST_TRY(wasm::FileTree made, wasm::FileTree::make(tree.files));
  Started started{std::move(guest), std::make_shared<const wasm::FileTree>(std::move(made))};
  if (is_kept && !known) started.image = new_image(module, key, started.files, context);
  return started;
}

// Null: it can't be made, and rendering says why.
std::shared_ptr<const wasm::StartImage> Guests::new_image(const wasm::Module& module, const std::string& key,
                                                          const std::shared_ptr<const wasm::FileTree>& files,
                                                          const Context& context) {
  wasm::SnapshotOptions snapshot;
  snapshot.files = files;
  snapshot.limits = options_.engine_limits;
  auto made = wasm::StartImage::make(module, snapshot, context);
  if (!made.ok()) {
    events_.debug(
        fmt::format("the prepared state of {} can't be kept: {}", module.name(), made.error().to_line()));
    if (made.error().kind == ErrorKind::Invalid || made.error().kind == ErrorKind::Trap)
      images_.keep(key, nullptr);
    return nullptr;
  }
  auto image = std::make_shared<const wasm::StartImage>(*std::move(made));
  images_.keep(key, image);
  return image;
}

}  // namespace mist::package
