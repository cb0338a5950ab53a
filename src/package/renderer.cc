#include "package/renderer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "abi/abi.h"
#include "base/text.h"
#include "encoding/json.h"
#include "package/module_section.h"
#include "package/objects.h"
#include "package/tree_metadata.h"
#include "wasm/runtime.h"
#include "wasm/snapshot.h"

namespace mist::package {
namespace {

constexpr std::array<std::string_view, 3> kYamlEndings{".yaml", ".yml", ".json"};

// On a module that was built from a packed chart: its engine is told so again.
constexpr std::string_view kPackedLabel = "mistletoe.dev/packed-chart";

bool is_kubernetes_file(std::string_view path) {
  return std::ranges::any_of(kYamlEndings, [&](std::string_view ending) { return path.ends_with(ending); });
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Of a module's bytes: its source's digest, where that is one.
std::optional<crypto::Digest> digest_of(const Source& source) {
  auto digest = crypto::Digest::parse(source.digest);
  return digest.ok() ? std::optional(*digest) : std::nullopt;
}

Metadata plain_metadata(const Source& source) {
  Metadata metadata;
  metadata.name = source.name;
  metadata.version = source.version;
  return metadata;
}

// Configuration of tools around a package (.github, .idea) isn't part of it.
bool is_hidden(std::string_view path) { return path.starts_with('.') || path.find("/.") != path.npos; }

Result<Files> kubernetes_files(const Source& source, const Files& files, bool declared) {
  Files found;
  for (const auto& [path, text] : files) {
    if (!is_kubernetes_file(path) || is_hidden(path)) continue;
    // What says that it is a package may have test cases, too.
    if (declared && (path == kPackageFile || path.starts_with("tests/"))) continue;
    found.emplace(path, text);
  }
  if (found.empty())
    return error(ErrorKind::Invalid, "{} holds no .yaml, .yml or .json file", source.reference)
        .with_hint(
            "a package is a .wasm module, a chart, a directory that an engine renders (docs/engines), or "
            "Kubernetes YAML");
  return found;
}

Status refuse_values(const Source& source, const Value& values) {
  for (const Value::Member& member : values.as_object()) {
    if (member.key == "name") continue;
    return error(ErrorKind::Invalid, "{} is plain Kubernetes YAML and takes no values, but {} is set",
                 source.reference, escape_controls(member.key))
        .with_hint("remove -f and --set, or make it a package with inputs");
  }
  return {};
}

// A directory with what it says of itself and who renders it.
struct Tree {
  const Files& files;
  std::optional<Metadata> declared;
  const EngineKind* engine = nullptr;  // null: plain Kubernetes YAML
};

Result<Tree> look_at(const Source& source) {
  Tree tree{std::get<Files>(source.content), std::nullopt};
  MIST_TRY(tree.declared,
           declared_metadata(tree.files).in(fmt::format("while reading {}", source.reference)));
  MIST_TRY(tree.engine, choose_engine(tree.files, source.engine, tree.declared ? tree.declared->engine : ""));
  return tree;
}

// Charts see the number of the revision only where they name it: else every upgrade would render anew for it.
// Packed charts are taken to name it.
bool names_the_revision(const Files& files) {
  constexpr std::array<std::string_view, 3> kNames{"Revision", "IsUpgrade", "IsInstall"};
  return std::ranges::any_of(files, [&](const auto& file) {
    const auto& [path, text] = file;
    if (path.ends_with(".tgz")) return true;
    return path.find("templates/") != path.npos &&
           std::ranges::any_of(kNames, [&](std::string_view name) { return text.find(name) != text.npos; });
  });
}

// The engine that a module was built with from a directory; null: it is a package of its own.
Result<const EngineKind*> built_from(const Source& source, const std::string& module) {
  MIST_TRY(const std::optional<Value> document, abi::read_metadata(bytes_of(module), source.reference));
  return document ? find_engine(document->string_at({"spec", "engine"})) : nullptr;
}

// It is large, and its section says it all: nothing is compiled for a look.
Result<Inspection> inspect_built(const Source& source, const std::string& module, const EngineKind& engine) {
  Inspection inspection;
  MIST_TRY(const std::optional<Value> document, abi::read_metadata(bytes_of(module), source.reference));
  MIST_CHECK(document);  // built_from read it
  MIST_TRY(inspection.metadata, Metadata::parse(*document, source.reference));
  if (inspection.metadata.version.empty()) inspection.metadata.version = source.version;
  inspection.format = fmt::format("{}, built", engine.format);
  inspection.bytes = module.size();
  return inspection;
}

// The line that an engine's error is about.
void add_excerpt(Error& failure, const Files& files) {
  if (!failure.where || failure.where->line == 0) return;
  const auto file = files.find(failure.where->file);
  if (file == files.end()) return;
  const auto lines = split(file->second, '\n');
  if (failure.where->line > lines.size()) return;
  std::string_view line = lines[failure.where->line - 1];
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (is_valid_utf8(line)) failure.where->excerpt = line;
}

// Half of what a package was written for is worse than nothing.
Status refuse_unmet_needs(const Metadata& metadata, const std::string& reference) {
  if (!metadata.dependencies.empty())
    return error(ErrorKind::Invalid, "{} calls other packages ({}), and this mistctl can't do that yet",
                 reference, metadata.dependencies.front().package);
  if (!metadata.needs_cluster_read.empty())
    return error(ErrorKind::Invalid, "{} reads from the cluster ({}), and this mistctl can't let it yet",
                 reference, join(metadata.needs_cluster_read, ", "));
  return {};
}

// A runtime that starts when it is first needed.
class LazyRuntime {
 public:
  LazyRuntime(wasm::RuntimeOptions options, EventSink& events)
      : options_(std::move(options)), events_(events) {}

  Result<wasm::Runtime*> start() {
    const std::scoped_lock lock(mutex_);
    if (!runtime_) {
      MIST_TRY(runtime_, wasm::Runtime::create(options_, events_));
    }
    return &*runtime_;
  }

 private:
  wasm::RuntimeOptions options_;
  EventSink& events_;
  std::mutex mutex_;
  std::optional<wasm::Runtime> runtime_;  // guarded by mutex_ until made; then any thread
};

// What else an output depends on: the clock, whom secrets are for, and limits, since another run may not end
// within others.
std::string settings_of(const abi::RunOptions& run, const SecretScope& scope) {
  const wasm::Limits& limits = run.limits;
  std::string text = fmt::format("{} {} {} {} {} {} {}\n", run.world.wall_clock.time_since_epoch().count(),
                                 limits.memory_bytes, limits.guest_time.count(), limits.output_bytes,
                                 limits.table_elements, limits.requests, run.exact_numbers);
  text += fmt::format("{}\n{}\n", scope.package, scope.install);
  for (const auto& [name, count] : scope.rotations) text += fmt::format("{}={}\n", name, count);
  return text;
}

wasm::RuntimeOptions for_packages(const RendererOptions& options) {
  wasm::RuntimeOptions runtime;
  runtime.cache_directory = options.code_cache;
  runtime.stack_bytes = options.stack_bytes;
  return runtime;
}

wasm::RuntimeOptions for_engines(const RendererOptions& options) {
  wasm::RuntimeOptions runtime;
  runtime.cache_directory = options.code_cache;
  runtime.stack_bytes = options.engine_stack_bytes;
  runtime.optimise = true;
  runtime.cache_for_all = options.cache_for_all;
  // What is just being filled can't be asked as well.
  if (!options.cache_for_all) runtime.shared_cache_directory = options.engines.code();
  return runtime;
}

}  // namespace

struct Renderer::Impl {
  Impl(RendererOptions given, EventSink& sink)
      : options(std::move(given)),
        events(sink),
        packages(for_packages(options), sink),
        engines(for_engines(options), sink) {
    if (!options.render_cache.empty() && options.random != nullptr)
      renders.emplace(options.render_cache, options.render_cache_bytes, *options.random);
  }

  RendererOptions options;
  EventSink& events;
  LazyRuntime packages;
  LazyRuntime engines;
  std::optional<RenderCache> renders;

  Result<std::unique_ptr<abi::Guest>> open(const Source& source, const std::string& module) {
    MIST_TRY(wasm::Runtime* const runtime, packages.start());
    MIST_TRY(wasm::Module code, runtime->load(bytes_of(module), source.reference, digest_of(source)));
    return abi::open(std::move(code));
  }

  Result<wasm::Module> load_engine(std::string_view name) {
    MIST_TRY(const crypto::Digest digest, options.engines.digest(name));
    MIST_TRY(wasm::Runtime* const runtime, engines.start());
    return runtime->load_known(digest, fmt::format("engine {}", name),
                               [&] { return options.engines.read(name); });
  }

  static Result<Metadata> metadata_of(const Source& source, const abi::Guest& guest,
                                      const abi::RunOptions& run) {
    MIST_TRY(const std::optional<Value> document,
             guest.info(run).in(fmt::format("while asking {} for its metadata", source.reference)));
    if (!document) return plain_metadata(source);
    MIST_TRY(Metadata metadata, Metadata::parse(*document, source.reference));
    if (metadata.version.empty()) metadata.version = source.version;
    return metadata;
  }

  // What the same render gave earlier. Afterwards `host` has answered what it asked.
  std::optional<abi::Output> known_output(const RenderParts& parts, Host& host) {
    if (!renders) return std::nullopt;
    const auto ask = [&](const Value& request) { return host.answer(request.string_at("op"), request); };
    std::optional<CachedRender> cached = renders->find(parts, ask, [&] { return host.answers(); });
    if (!cached) return std::nullopt;
    host.show(cached->lines);
    return std::move(cached->output);
  }

  Result<abi::Output> new_output(const abi::Guest& guest, const RenderParts& parts, const Value& input,
                                 abi::RunOptions run, Host& host) {
    run.host = &host;
    run.world.stream = host.stream();
    MIST_TRY(abi::Output output, guest.generate(input, run));
    if (renders && host.repeatable()) {
      CachedRender render{output, host.lines()};
      render.output.log.clear();
      renders->store(parts, host.questions(), host.answers(), render);
    }
    return output;
  }

  // What a guest needs for one render, and what becomes of its output. `code` and `files` are digests.
  Result<Rendered> generate(const abi::Guest& guest, const Source& source, std::string_view code,
                            std::string_view files, const Value& input, Metadata metadata,
                            abi::RunOptions run, const RenderRequest& request) {
    const SecretScope scope{request.seed, metadata.name, request.release_name, request.rotations};
    run.world.seed = unnamed_seed(scope);
    run.subject = source.reference;
    NullEventSink nobody;
    EventSink& audience = request.quiet ? nobody : events;
    const std::string document = encoding::to_json(input, encoding::JsonStyle::Exact);
    const std::string settings = settings_of(run, scope);
    const RenderParts parts{request.seed, code, files, document, settings};
    std::optional<Host> answering(std::in_place, scope, audience);
    answering->answer_lookup(request.lookup);
    Result<abi::Output> generated = error(ErrorKind::Internal, "nothing was rendered");
    if (auto known = known_output(parts, *answering)) {
      generated = *std::move(known);
    } else {
      // What was asked in vain isn't what the guest asks now.
      answering.emplace(scope, audience);
      answering->answer_lookup(request.lookup);
      generated = new_output(guest, parts, input, std::move(run), *answering);
    }
    Host& host = *answering;
    if (!generated.ok())
      return without_secrets(std::move(generated).error(), host.secrets())
          .with_frame(fmt::format("while rendering {}", source.reference));
    abi::Output output = *std::move(generated);
    if (!request.quiet) report_log(without_secrets(std::move(output.log), host.secrets()));
    Rendered rendered;
    rendered.metadata = std::move(metadata);
    rendered.secrets = host.secrets();
    rendered.asked = host.take_exchanges();
    for (abi::OutputFile& file : output.files) {
      if (!rendered.files.emplace(file.path, std::move(file.text)).second)
        return error(ErrorKind::Invalid, "{} gave the file {} twice", source.reference,
                     escape_controls(file.path));
    }
    rendered.exports = std::move(output.exports);
    rendered.message = std::move(output.message);
    rendered.drawn = output.drawn;
    rendered.print = std::move(output.print);
    rendered.missing = std::move(output.missing);
    rendered.package = std::move(output.package);
    return rendered;
  }

  // A module that was built from a directory is an engine of its own.
  Result<Rendered> run_built(const Source& source, const std::string& module, const EngineKind& engine,
                             const RenderRequest& request, const Context& context) {
    MIST_TRY(wasm::Runtime* const runtime, engines.start());
    MIST_TRY(wasm::Module code, runtime->load(bytes_of(module), source.reference, digest_of(source)));
    MIST_TRY(const std::unique_ptr<abi::Guest> guest, abi::open(std::move(code)));
    abi::RunOptions run{{request.clock, request.seed, nullptr}, options.engine_limits, context};
    run.exact_numbers = true;
    MIST_TRY(Metadata metadata, metadata_of(source, *guest, run));
    MIST_TRY_VOID(refuse_unmet_needs(metadata, source.reference));
    MIST_TRY(const Value input,
             engine_document(engine, metadata.labels.contains(std::string(kPackedLabel)), metadata, request));
    auto rendered =
        generate(*guest, source, source.digest, "", input, std::move(metadata), std::move(run), request);
    if (rendered.ok()) rendered->engine = engine.name;
    return rendered;
  }

  Result<std::string> build(const Source& source, const Context& context) {
    if (!std::holds_alternative<Files>(source.content))
      return error(ErrorKind::Invalid, "{} is a module already", source.reference)
          .with_hint("give its metadata with -m, or publish it as it is");
    MIST_TRY(const Tree tree, look_at(source));
    if (tree.engine == nullptr)
      return error(ErrorKind::Invalid, "{} is Kubernetes YAML, which no engine renders", source.reference)
          .with_hint("it is a package as it is");
    MIST_TRY(Metadata metadata, metadata_of_tree(source, tree, true, context));
    metadata.engine = tree.engine->name;
    metadata.needs_release = metadata.needs_release || names_the_revision(tree.files);
    if (packed_chart(tree.files) != nullptr) metadata.labels.emplace(kPackedLabel, "true");
    MIST_TRY_VOID(options.engines.digest(metadata.engine));
    MIST_TRY(const std::string engine, options.engines.read(metadata.engine));
    MIST_TRY(wasm::FileTree files, wasm::FileTree::make(tree.files));
    wasm::SnapshotOptions snapshot;
    snapshot.files = std::make_shared<const wasm::FileTree>(std::move(files));
    snapshot.limits = options.engine_limits;
    MIST_TRY(wasm::Runtime* const runtime, packages.start());
    auto prepared = wasm::prepare_module(*runtime, bytes_of(engine),
                                         fmt::format("engine {}", metadata.engine), snapshot, context);
    if (!prepared.ok())
      return std::move(prepared).error().with_frame(fmt::format("while building {}", source.reference));
    return with_metadata(*prepared, encoding::to_json(metadata.to_value()), source.reference);
  }

  Result<Rendered> run(const Source& source, const std::string& module, const RenderRequest& request,
                       const Context& context) {
    MIST_TRY(const EngineKind* const built, built_from(source, module));
    if (built != nullptr) return run_built(source, module, *built, request, context);
    MIST_TRY(const std::unique_ptr<abi::Guest> guest, open(source, module));
    abi::RunOptions run{{request.clock, request.seed, nullptr}, options.limits, context};
    MIST_TRY(Metadata metadata, metadata_of(source, *guest, run));
    MIST_TRY_VOID(refuse_unmet_needs(metadata, source.reference));
    MIST_TRY(const Value input, input_document(*guest, metadata, request));
    return generate(*guest, source, source.digest, "", input, std::move(metadata), std::move(run), request);
  }

  // Nobody but the engine can look into a packed chart.
  Result<Metadata> packed_metadata(const Source& source, const Tree& tree, const Context& context) {
    RenderRequest request;
    request.release_name = "inspect";
    request.quiet = true;
    request.user_values = Value::object();
    request.engine_options = Value::object({{"inspect", true}});
    request.capabilities = []() -> Result<Capabilities> { return Capabilities{"", {}, true}; };
    MIST_TRY(const Rendered seen, run_engine(source, tree, plain_metadata(source), request, context));
    Metadata metadata = plain_metadata(source);
    if (!seen.package.is_object()) return metadata;
    metadata.name = seen.package.string_at("name");
    metadata.version = seen.package.string_at("version");
    metadata.description = seen.package.string_at("description");
    metadata.home = seen.package.string_at("home");
    if (const Value* const people = seen.package.find("maintainers");
        people != nullptr && people->is_array()) {
      for (const Value& each : people->as_array()) {
        if (each.is_string()) metadata.maintainers.push_back(each.as_string());
      }
    }
    if (const Value* const inputs = seen.package.find("inputs")) metadata.inputs = *inputs;
    return metadata;
  }

  // What a directory says of itself, with what only its engine can see if `inspect`.
  Result<Metadata> metadata_of_tree(const Source& source, const Tree& tree, bool inspect,
                                    const Context& context) {
    const bool packed = packed_chart(tree.files) != nullptr;
    Metadata seen;
    if (inspect || packed) {
      MIST_TRY(seen, packed_metadata(source, tree, context));
      if (packed) return seen;
    }
    MIST_TRY(Metadata metadata, tree_metadata(tree.files, tree.engine, source.name, source.version)
                                    .in(fmt::format("while reading {}", source.reference)));
    if (!inspect) return metadata;
    if (metadata.inputs.is_null()) metadata.inputs = std::move(seen.inputs);
    for (const auto member : {&Metadata::description, &Metadata::home, &Metadata::version}) {
      if ((metadata.*member).empty()) metadata.*member = std::move(seen.*member);
    }
    if (metadata.name == source.name && !seen.name.empty()) metadata.name = std::move(seen.name);
    return metadata;
  }

  Result<Rendered> run_engine(const Source& source, const Tree& tree, const RenderRequest& request,
                              const Context& context) {
    MIST_TRY(Metadata metadata, metadata_of_tree(source, tree, false, context));
    return run_engine(source, tree, std::move(metadata), request, context);
  }

  Result<Rendered> run_engine(const Source& source, const Tree& tree, Metadata metadata,
                              const RenderRequest& request, const Context& context) {
    MIST_TRY(wasm::Module module, load_engine(tree.engine->name));
    MIST_TRY(const std::unique_ptr<abi::Guest> guest, abi::open(std::move(module)));
    MIST_TRY_VOID(refuse_unmet_needs(metadata, source.reference));
    metadata.needs_release = metadata.needs_release || names_the_revision(tree.files);
    MIST_TRY(const Value input,
             engine_document(*tree.engine, packed_chart(tree.files) != nullptr, metadata, request));
    MIST_TRY(wasm::FileTree files, wasm::FileTree::make(tree.files));
    abi::RunOptions run{
        {request.clock, request.seed, std::make_shared<const wasm::FileTree>(std::move(files))},
        options.engine_limits,
        context};
    run.exact_numbers = true;
    MIST_TRY(const crypto::Digest code, options.engines.digest(tree.engine->name));
    auto rendered = generate(*guest, source, code.str(), source.digest, input, std::move(metadata),
                             std::move(run), request);
    if (rendered.ok())
      rendered->engine = tree.engine->name;
    else
      add_excerpt(rendered.error(), tree.files);
    return rendered;
  }

  Result<Inspection> inspect_engine(const Source& source, const Tree& tree, Inspection inspection,
                                    const Context& context) {
    inspection.format = tree.engine->format;
    inspection.engine = tree.engine->name;
    MIST_TRY(const crypto::Digest digest, options.engines.digest(tree.engine->name));
    inspection.engine_digest = digest.str();
    MIST_TRY(inspection.metadata, metadata_of_tree(source, tree, true, context));
    return inspection;
  }

  static Result<Value> engine_document(const EngineKind& engine, bool archive, const Metadata& metadata,
                                       const RenderRequest& request) {
    Value data = request.user_values;
    if (engine.values == EngineValues::Input) {
      MIST_TRY(const Value checked, input_data(metadata, request));
      data = engine_data(metadata, request, checked);
    }
    Value release = Value::object({{"name", request.release_name}, {"namespace", request.release_namespace}});
    if (metadata.needs_release) {
      release.set("revision", request.revision);
      release.set("isUpgrade", request.is_upgrade);
    }
    Value document = Value::object({{"apiVersion", abi::kVersion1},
                                    {"kind", "MistInput"},
                                    {"data", std::move(data)},
                                    {"release", std::move(release)}});
    MIST_TRY(const Capabilities capabilities, request.capabilities());
    if (!capabilities.assumed) document.set("capabilities", to_value(capabilities));
    document.set(
        "engine",
        Value::object({{"name", engine.name}, {"archive", archive}, {"options", request.engine_options}}));
    return document;
  }

  static Result<Value> input_document(const abi::Guest& guest, const Metadata& metadata,
                                      const RenderRequest& request) {
    MIST_TRY(Value data, input_data(metadata, request));
    Value document = Value::object(
        {{"apiVersion", guest.input_version()}, {"kind", "MistInput"}, {"data", std::move(data)}});
    if (guest.input_version() == abi::kVersion1Alpha1) return document;
    Value release = Value::object({{"name", request.release_name}, {"namespace", request.release_namespace}});
    if (metadata.needs_release) {
      release.set("revision", request.revision);
      release.set("isUpgrade", request.is_upgrade);
    }
    document.set("release", std::move(release));
    MIST_TRY(const Capabilities capabilities, request.capabilities());
    document.set("capabilities", to_value(capabilities));
    return document;
  }

  static Value to_value(const Capabilities& capabilities) {
    return Value::object({{"kubeVersion", capabilities.kube_version},
                          {"apiVersions", Value(Value::Array(capabilities.api_versions.begin(),
                                                             capabilities.api_versions.end()))}});
  }

  // What the guest said while it worked helps its author, not its user.
  void report_log(const std::string& log) {
    std::size_t shown = 0;
    for (const std::string_view line : split(log, '\n')) {
      if (line.empty() || ++shown > 200) continue;
      events.debug(fmt::format("package: {}", escape_controls(line)));
    }
  }
};

Renderer::Renderer(RendererOptions options, EventSink& events)
    : impl_(std::make_unique<Impl>(std::move(options), events)) {}
Renderer::~Renderer() = default;

Result<Rendered> Renderer::render_files(const Source& source, const RenderRequest& request,
                                        const Context& context) {
  if (const auto* module = std::get_if<std::string>(&source.content))
    return impl_->run(source, *module, request, context);
  MIST_TRY(Tree tree, look_at(source));
  if (tree.engine != nullptr) {
    MIST_TRY(Rendered rendered, impl_->run_engine(source, tree, request, context));
    if (rendered.missing.empty()) return rendered;
    return error(ErrorKind::Invalid, "{} needs what is elsewhere: {}", source.reference,
                 escape_controls(encoding::to_json(rendered.missing)))
        .with_hint("copy it into the package, and name it by its path");
  }
  MIST_TRY_VOID(refuse_values(source, request.user_values));
  Rendered rendered;
  rendered.metadata = tree.declared ? *std::move(tree.declared) : plain_metadata(source);
  MIST_TRY(rendered.files, kubernetes_files(source, tree.files, tree.declared.has_value()));
  return rendered;
}

Result<Rendered> Renderer::render(const Source& source, const RenderRequest& request,
                                  const Context& context) {
  MIST_TRY(Rendered rendered, render_files(source, request, context));
  NullEventSink nobody;
  auto objects = parse_objects(rendered.files, request.quiet ? nobody : impl_->events);
  // An error shows the line that it is about.
  if (!objects.ok()) return without_secrets(std::move(objects).error(), rendered.secrets);
  rendered.objects = *std::move(objects);
  return rendered;
}

Result<Inspection> Renderer::inspect(const Source& source, const Context& context) {
  Inspection inspection;
  if (const auto* module = std::get_if<std::string>(&source.content)) {
    MIST_TRY(const EngineKind* const engine, built_from(source, *module));
    if (engine != nullptr) return inspect_built(source, *module, *engine);
    MIST_TRY(const std::unique_ptr<abi::Guest> guest, impl_->open(source, *module));
    MIST_TRY(inspection.metadata, impl_->metadata_of(source, *guest, {{}, impl_->options.limits, context}));
    inspection.format = guest->abi();
    inspection.bytes = module->size();
    return inspection;
  }
  MIST_TRY(Tree tree, look_at(source));
  for (const auto& [path, text] : tree.files) inspection.bytes += text.size();
  if (tree.engine != nullptr) return impl_->inspect_engine(source, tree, std::move(inspection), context);
  MIST_TRY(const Files manifests, kubernetes_files(source, tree.files, tree.declared.has_value()));
  inspection.bytes = 0;
  for (const auto& [path, text] : manifests) inspection.bytes += text.size();
  inspection.metadata = tree.declared ? *std::move(tree.declared) : plain_metadata(source);
  inspection.format = "Kubernetes YAML";
  return inspection;
}

Result<bool> has_chart_values(const Source& source) {
  const EngineKind* engine = nullptr;
  if (const auto* module = std::get_if<std::string>(&source.content)) {
    MIST_TRY(engine, built_from(source, *module));
  } else {
    MIST_TRY(const Tree tree, look_at(source));
    engine = tree.engine;
  }
  return engine != nullptr && engine->values == EngineValues::Chart;
}

Result<Value> Renderer::missing(const Source& source, const Context& context) {
  MIST_TRY(const Tree tree, look_at(source));
  if (tree.engine == nullptr) return Value::array();
  RenderRequest request;
  request.release_name = "missing";
  request.quiet = true;
  request.user_values = Value::object();
  request.capabilities = []() -> Result<Capabilities> { return Capabilities{"", {}, true}; };
  Result<Rendered> rendered = impl_->run_engine(source, tree, request, context);
  if (!rendered && rendered.error().kind != ErrorKind::Invalid) return std::move(rendered).error();
  return rendered.ok() && rendered->missing.is_array() ? std::move(rendered->missing) : Value::array();
}

Result<std::string> Renderer::build(const Source& source, const Context& context) {
  return impl_->build(source, context);
}

Status Renderer::compile_engine(std::string_view name) {
  MIST_TRY_VOID(impl_->load_engine(name));
  return {};
}

}  // namespace mist::package
