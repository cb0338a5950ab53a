#include "catalog/previews.h"

#include <algorithm>
#include <limits>

#include "base/storage_fault.h"
#include "base/text.h"
#include "catalog/browser_module.h"
#include "encoding/gzip.h"
#include "encoding/json.h"
#include "package/capabilities.h"
#include "package/module_section.h"
#include "package/pre_install.h"
#include "registry/package_blob.h"
#include "wasm/binary.h"

namespace mist::catalog {
namespace {

using encoding::Value;

// Part of every key: another value forgets what was made before.
constexpr std::string_view kFormat = "preview/v2";
constexpr std::string_view kNamespace = "default";
constexpr std::size_t kMostMetadata = 512u << 10;  // bytes: the schema of the inputs, the defaults

// Whether it says something of the package, and will be so the next time.
bool is_final(const Error& failure) {
  return !is_storage_fault(failure) &&
         (failure.kind == ErrorKind::Invalid || failure.kind == ErrorKind::Trap);
}

std::string why_not(const Error& failure) {
  const std::string_view because = split(failure.because, '\n').front();
  return because.empty() ? failure.message : fmt::format("{}: {}", failure.message, because);
}

Value to_value(const Preview& preview) {
  if (preview.state == PreviewState::Impossible) return Value::object({{"problem", Value(preview.problem)}});
  const ServedModule& module = preview.module;
  return Value::object({{"digest", Value(module.digest)},
                        {"bytes", Value(static_cast<std::int64_t>(module.bytes))},
                        {"packed", Value(module.packed)},
                        {"packedBytes", Value(static_cast<std::int64_t>(module.packed_bytes))},
                        {"facts", Value(preview.facts)}});
}

std::optional<Preview> preview_of(const Value& value) {
  if (const std::string_view problem = value.string_at("problem"); !problem.empty())
    return Preview{.state = PreviewState::Impossible, .problem = std::string(problem)};
  const std::int64_t bytes = value.int_at("bytes", -1);
  if (value.string_at("digest").empty() || bytes < 0) return std::nullopt;
  return Preview{.state = PreviewState::Ready,
                 .module = {.digest = std::string(value.string_at("digest")),
                            .bytes = static_cast<std::uint64_t>(bytes),
                            .packed = std::string(value.string_at("packed")),
                            .packed_bytes = static_cast<std::uint64_t>(value.int_at("packedBytes", 0))},
                 .facts = std::string(value.string_at("facts"))};
}

Result<package::Source> source_of(Blobs& packages, const std::string& package, const std::string& version,
                                  const std::string& text) {
  MIST_TRY(const crypto::Digest digest, crypto::Digest::parse(text));
  MIST_TRY(std::string bytes, packages.get(digest));
  MIST_TRY(registry::PackageContent content, registry::content_of_blob(std::move(bytes)));
  package::Source source{.reference = fmt::format("{} {}", package, version),
                         .name = package,
                         .version = version,
                         .digest = text,
                         .content = {}};
  if (auto* const module = std::get_if<registry::PackageModule>(&content)) {
    source.content = std::move(*module);
  } else {
    package::Files files;
    for (registry::PackageFile& each : std::get<registry::PackageTree>(content).files)
      files.emplace(std::move(each.path), std::move(each.bytes));
    source.content = std::move(files);
  }
  return source;
}

// Each preview reads it, to check the values.
Status check_metadata_size(std::size_t bytes) {
  if (bytes <= kMostMetadata) return {};
  return error(ErrorKind::Invalid, "its metadata has {} bytes, more than {}", bytes, kMostMetadata);
}

// Invalid: it asks its host for more than a preview has.
Status check_needs(const package::Metadata& metadata) {
  if (!metadata.dependencies.empty()) return error(ErrorKind::Invalid, "it calls other packages");
  for (const std::string_view feature : {"package.call", "chart.render"})
    if (std::ranges::find(metadata.required_features, feature) != metadata.required_features.end())
      return error(ErrorKind::Invalid, "it needs {}, which a preview doesn't have", feature);
  return {};
}

}  // namespace

Previews::Previews(Dependencies dependencies)
    : dependencies_(std::move(dependencies)),
      modules_(dependencies_.files, dependencies_.directory / "modules"),
      renderer_(dependencies_.options, dependencies_.events),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

Previews::~Previews() = default;

// With the digests of all engines: another engine renders something else.
std::string Previews::key_of(const Version& version) const {
  crypto::Hasher hasher;
  hasher.field(kFormat).field(version.package).field(version.version).field(version.digest);
  for (const package::EngineDigest& each : dependencies_.options.engines.all()) hasher.field(each.sha256);
  return hasher.finish().hex();
}

Preview Previews::of(const Version& version) {
  if (version.digest.empty())
    return {.state = PreviewState::Impossible, .problem = "its files couldn't be read"};
  const std::string key = key_of(version);
  Preview told;  // what is made again is told as it was until then
  {
    const std::scoped_lock lock(mutex_);
    const auto found = known_.find(key);
    if (found != known_.end()) told = found->second.preview;
    const bool due = found == known_.end() || found->second.again <= std::chrono::steady_clock::now();
    if (!due || queue_.size() >= kMostQueued) return told;
    known_.insert_or_assign(key, Known{.preview = told});
    queue_.push_back({key, version.package, version.version, version.digest});
  }
  more_.notify_one();
  return told;
}

void Previews::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Wanted wanted;
    {
      std::unique_lock lock(mutex_);
      if (!more_.wait(lock, stop, [&] { return !queue_.empty(); })) return;
      wanted = std::move(queue_.front());
      queue_.pop_front();
    }
    const Known made = make(wanted, Context(stop).with_timeout(dependencies_.longest));
    const std::scoped_lock lock(mutex_);
    if (made.preview.state == PreviewState::Preparing)
      known_.erase(wanted.key);
    else
      known_.insert_or_assign(wanted.key, made);
  }
}

Previews::Known Previews::make(const Wanted& wanted, const Context& context) {
  auto result = made(wanted, context);
  if (result.ok()) return {.preview = std::move(result->preview)};
  if (context.stop().stop_requested()) return {};
  dependencies_.events.warn(fmt::format("the preview of {} {} can't be made: {}", wanted.package,
                                        wanted.version, result.error().to_line()));
  return {.preview = {.state = PreviewState::Impossible, .problem = "the catalog can't make it now"},
          .again = std::chrono::steady_clock::now() + dependencies_.again};
}

// With its engines, which are what takes time after a restart.
Result<Previews::Made> Previews::made(const Wanted& wanted, const Context& context) {
  std::optional<Made> known = kept(file_of(wanted.key));
  const bool is_new = !known;
  if (is_new) {
    MIST_TRY(known, build_or_why_not(wanted, context));
    known->version = {wanted.package, wanted.version};
  }
  known->engine_modules.clear();
  for (const std::string& each : known->engines) {
    MIST_TRY(const ServedModule engine, served_engine(each));
    known->engine_modules.push_back(engine.digest);
    if (!engine.packed.empty()) known->engine_modules.push_back(engine.packed);
  }
  if (is_new) keep_made(file_of(wanted.key), *known);
  note(*known);
  return *std::move(known);
}

// Errors: those that may not come again.
Result<Previews::Made> Previews::build_or_why_not(const Wanted& wanted, const Context& context) {
  auto built = build(wanted, context);
  if (built.ok() || !is_final(built.error())) return built;
  return Made{.preview = {.state = PreviewState::Impossible, .problem = why_not(built.error())},
              .engines = {}};
}

Result<Previews::Made> Previews::build(const Wanted& wanted, const Context& context) {
  MIST_TRY(const package::Source source,
           source_of(dependencies_.packages, wanted.package, wanted.version, wanted.digest));
  return std::holds_alternative<package::Files>(source.content) ? build_of_files(source, context)
                                                                : build_of_module(source);
}

Result<Previews::Made> Previews::build_of_files(const package::Source& source, const Context& context) {
  MIST_TRY(const package::EngineKind* const engine, package::engine_of(source));
  if (engine == nullptr)
    return error(ErrorKind::Invalid, "it is plain Kubernetes YAML, and its files are its objects");
  MIST_TRY(const std::vector<package::Dependency> calls, package::declared_dependencies(source));
  if (!calls.empty()) return error(ErrorKind::Invalid, "it calls other packages");
  MIST_TRY(const std::string module, renderer_.build(source, package::BuiltEngine::Named, context));
  return with_engines(source, module, engine->name, std::get<package::Files>(source.content));
}

// `module` holds the files and names its engine.
Result<Previews::Made> Previews::with_engines(const package::Source& source, const std::string& module,
                                              std::string_view engine, const package::Files& files) {
  if (module.size() > kMostModuleBytes)
    return error(ErrorKind::Invalid, "its files have {} bytes packed, more than {}", module.size(),
                 kMostModuleBytes);
  MIST_TRY(const std::optional<std::string_view> metadata,
           wasm::custom_section(crypto::as_bytes(module), source.reference, wasm::kPackageSection));
  if (metadata) MIST_TRY_VOID(check_metadata_size(metadata->size()));
  MIST_TRY(const crypto::Digest digest, modules_.put(module));
  Made made{.preview = {.state = PreviewState::Ready,
                        .module = {.digest = digest.str(), .bytes = module.size()},
                        .facts = digest.str()},
            .engines = {std::string(engine)}};
  if (package::has_pre_install(files)) made.engines.emplace_back(package::kPythonEngine);
  return made;
}

Result<Previews::Made> Previews::build_of_module(const package::Source& source) {
  const auto& module = std::get<wasm::ModuleBytes>(source.content);
  MIST_TRY(const auto bytes, module.bytes());
  MIST_TRY(const wasm::BinaryKind kind, module.kind(source.reference));
  if (kind == wasm::BinaryKind::Component)
    return error(ErrorKind::Invalid, "it is a WebAssembly component, and browsers run core modules only");
  MIST_TRY(const auto section, module.package_section(source.reference));
  MIST_TRY(const auto metadata, package::metadata_of_module(module, source.reference));
  if (!section || !metadata) return error(ErrorKind::Invalid, "it has no section {}", wasm::kPackageSection);
  MIST_TRY_VOID(check_metadata_size(section->size()));
  MIST_TRY_VOID(check_needs(*metadata));
  if (const std::string& needed = metadata->engine_digest; !needed.empty()) {
    const auto here = dependencies_.options.engines.digest(metadata->engine);
    if (!here.ok() || here->str() != needed)
      return error(ErrorKind::Invalid, "it needs the engine {} {}, and this catalog has {}",
                   escape_controls(metadata->engine), escape_controls(needed),
                   here.ok() ? here->str() : "none of that name");
    // Its files and what it says, and nothing else that may be in it.
    MIST_TRY(const package::Files files, package::files_of_module(*bytes, source.reference));
    MIST_TRY(const std::string bare, package::module_of_files(files));
    MIST_TRY(const std::string thin, wasm::with_custom_section(crypto::as_bytes(bare), source.reference,
                                                               wasm::kPackageSection, *section));
    return with_engines(source, thin, metadata->engine, files);
  }
  MIST_TRY_VOID(check_for_browsers(*bytes, source.reference));
  MIST_TRY(const std::string bounded,
           wasm::with_memory_limit(crypto::as_bytes(*bytes), source.reference, kMemoryBytes));
  MIST_TRY(ServedModule served, keep(bounded, kMostModuleBytes));
  // Nobody reads tens of megabytes to check values.
  MIST_TRY(const std::string said,
           wasm::with_custom_section(crypto::as_bytes(wasm::kEmptyModule), source.reference,
                                     wasm::kPackageSection, *section));
  MIST_TRY(const crypto::Digest facts, modules_.put(said));
  return Made{.preview = {.state = PreviewState::Ready, .module = std::move(served), .facts = facts.str()},
              .engines = {}};
}

// Where the memory is what a browser gives it, and in gzip.
Result<ServedModule> Previews::served_engine(std::string_view name) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = engines_.find(name); found != engines_.end()) return found->second;
  }
  MIST_TRY_VOID(dependencies_.options.engines.digest(name));
  MIST_TRY(const std::string whole, dependencies_.options.engines.read(name));
  MIST_TRY(const std::string bounded,
           wasm::with_memory_limit(crypto::as_bytes(whole), fmt::format("engine {}", name), kMemoryBytes));
  MIST_TRY(ServedModule served, keep(bounded, std::numeric_limits<std::uint64_t>::max()));
  const std::scoped_lock lock(mutex_);
  packed_.insert_or_assign(served.digest, served.packed);
  return engines_.insert_or_assign(std::string(name), std::move(served)).first->second;
}

Result<ServedModule> Previews::keep(const std::string& module, std::uint64_t most_on_the_way) {
  MIST_TRY(const std::string packed, encoding::gzip(module));
  const bool pays = packed.size() <= module.size() / 10 * 9;
  if (const std::size_t size = pays ? packed.size() : module.size(); size > most_on_the_way)
    return error(ErrorKind::Invalid, "its module has {} bytes packed, more than {}", size, most_on_the_way);
  MIST_TRY(const crypto::Digest digest, modules_.put(module));
  ServedModule served{.digest = digest.str(), .bytes = module.size()};
  if (!pays) return served;
  MIST_TRY(const crypto::Digest packed_digest, modules_.put(packed));
  served.packed = packed_digest.str();
  served.packed_bytes = packed.size();
  return served;
}

std::optional<Previews::Made> Previews::kept(const Path& file) const {
  const auto text = dependencies_.files.read(file, 64u << 10);
  const auto value = text.ok() ? encoding::parse_json(*text) : Result<Value>(text.error());
  if (!value.ok() || !value->is_object()) return std::nullopt;
  std::optional<Preview> preview = preview_of(*value);
  if (!preview) return std::nullopt;
  Made made{.preview = *std::move(preview),
            .engines = value->texts_at("engines"),
            .version = {std::string(value->string_at("package")), std::string(value->string_at("version"))},
            .engine_modules = value->texts_at("engineModules")};
  // An older program didn't say whose it is.
  if (made.version.package.empty()) return std::nullopt;
  if (made.preview.state != PreviewState::Ready) return made;
  const auto is_there = [&](const std::string& digest) {
    const auto parsed = crypto::Digest::parse(digest);
    return parsed.ok() && dependencies_.files.exists(modules_.place_of(*parsed));
  };
  const ServedModule& module = made.preview.module;
  if (!is_there(module.digest) || !is_there(made.preview.facts) ||
      (!module.packed.empty() && !is_there(module.packed)))
    return std::nullopt;
  return made;
}

void Previews::keep_made(const Path& file, const Made& made) {
  const auto list = [](const std::vector<std::string>& texts) {
    return Value(Value::Array(texts.begin(), texts.end()));
  };
  Value value = to_value(made.preview);
  value.set("package", Value(made.version.package));
  value.set("version", Value(made.version.version));
  value.set("engines", list(made.engines));
  value.set("engineModules", list(made.engine_modules));
  const Status written = dependencies_.files.write(file, encoding::to_json(value) + "\n", {.mode = 0600});
  if (!written.ok())
    dependencies_.events.warn(fmt::format("a preview can't be kept: {}", written.error().to_line()));
}

void Previews::note(const Made& made) {
  const ServedModule& module = made.preview.module;
  const std::scoped_lock lock(mutex_);
  if (!module.packed.empty()) packed_.insert_or_assign(module.digest, module.packed);
  for (const std::string& digest : {module.digest, module.packed, made.preview.facts})
    if (!digest.empty()) made_of_[digest].insert(made.version);
  engine_modules_.insert(made.engine_modules.begin(), made.engine_modules.end());
}

void Previews::note_all_kept() {
  const auto entries = dependencies_.files.list(dependencies_.directory);
  if (!entries.ok() && entries.error().kind != ErrorKind::NotFound)
    dependencies_.events.warn(fmt::format("previews can't be read: {}", entries.error().to_line()));
  if (!entries.ok()) return;
  for (const DirectoryEntry& each : *entries) {
    if (!each.name.ends_with(".json")) continue;
    if (const std::optional<Made> made = kept(dependencies_.directory / each.name)) note(*made);
  }
}

std::optional<std::vector<VersionName>> Previews::made_of(const std::string& digest) {
  std::call_once(all_noted_, [this] { note_all_kept(); });
  const std::scoped_lock lock(mutex_);
  if (engine_modules_.contains(digest)) return std::vector<VersionName>();
  const auto found = made_of_.find(digest);
  if (found == made_of_.end()) return std::nullopt;
  return std::vector<VersionName>(found->second.begin(), found->second.end());
}

Result<std::vector<PreviewRun>> Previews::runs(const Version& version, const std::string& reference,
                                               const Value& values) {
  const Preview preview = of(version);
  if (preview.state != PreviewState::Ready) return error(ErrorKind::Retryable, "it isn't ready yet");
  MIST_TRY(const auto module, bytes(preview.facts));
  const package::Source source{.reference = reference,
                               .name = version.package,
                               .version = version.version,
                               .digest = preview.facts,
                               .content = wasm::ModuleBytes(std::string(*module))};
  package::RenderRequest request;
  request.release_name = version.package;
  request.release_namespace = kNamespace;
  request.user_values = values;
  package::assume_cluster(request, {}, {});
  MIST_TRY(std::vector<package::EngineRun> engine_runs, renderer_.engine_runs(source, request));
  std::vector<PreviewRun> runs;
  for (package::EngineRun& each : engine_runs) {
    ServedModule engine = preview.module;
    if (!each.engine.empty()) {
      MIST_TRY(engine, served_engine(each.engine));
    }
    runs.push_back({std::move(each), std::move(engine)});
  }
  return runs;
}

Result<std::shared_ptr<const std::string>> Previews::bytes(const std::string& digest) {
  MIST_TRY(const crypto::Digest parsed, crypto::Digest::parse(digest));
  // Not by the digest alone: a version's bytes, which may be there, are no module that was made here.
  return dependencies_.shared.get(
      fmt::format("module {}", digest), [&] { return modules_.size(parsed); },
      [&] { return modules_.get(parsed); });
}

std::string Previews::packed_digest(const std::string& digest) const {
  const std::scoped_lock lock(mutex_);
  const auto found = packed_.find(digest);
  return found == packed_.end() ? std::string() : found->second;
}

}  // namespace mist::catalog
