#include "package/renderer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "abi/abi.h"
#include "base/text.h"
#include "package/objects.h"
#include "wasm/runtime.h"

namespace mist::package {
namespace {

constexpr std::array<std::string_view, 3> kYamlEndings{".yaml", ".yml", ".json"};

bool is_kubernetes_file(std::string_view path) {
  return std::ranges::any_of(kYamlEndings, [&](std::string_view ending) { return path.ends_with(ending); });
}

using Files = std::map<std::string, std::string>;

// What a directory is, when it isn't Kubernetes YAML: a sentence is better than a hundred YAML errors.
Status refuse_other_formats(const Files& files, const std::string& reference) {
  struct Mark {
    std::string_view file, what;
  };
  constexpr std::array kMarks{
      Mark{"Chart.yaml", "a Helm chart"}, Mark{"kustomization.yaml", "a Kustomize directory"},
      Mark{"kustomization.yml", "a Kustomize directory"}, Mark{"K3.yaml", "a KPM package"}};
  for (const Mark& mark : kMarks) {
    if (!files.contains(std::string(mark.file))) continue;
    return error(ErrorKind::Invalid, "{} is {}, and this mistctl has no engine for that", reference,
                 mark.what)
        .with_hint("render it with its own tool into a directory of YAML files, and give that");
  }
  return {};
}

Metadata plain_metadata(const Source& source) {
  Metadata metadata;
  metadata.name = source.name;
  metadata.version = source.version;
  return metadata;
}

Result<Files> kubernetes_files(const Source& source, const Files& files) {
  MIST_TRY_VOID(refuse_other_formats(files, source.reference));
  Files found;
  for (const auto& [path, text] : files) {
    if (is_kubernetes_file(path)) found.emplace(path, text);
  }
  if (found.empty())
    return error(ErrorKind::Invalid, "{} holds no .yaml, .yml or .json file", source.reference)
        .with_hint("a package is a .wasm module, or a directory of Kubernetes YAML");
  return found;
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

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

struct Renderer::Impl {
  Path code_cache;
  wasm::Limits limits;
  std::size_t stack_bytes;
  EventSink& events;
  std::mutex mutex;
  std::optional<wasm::Runtime> runtime;  // guarded by mutex until made; then any thread

  Result<wasm::Runtime*> start() {
    const std::scoped_lock lock(mutex);
    if (!runtime) {
      wasm::RuntimeOptions options;
      options.cache_directory = code_cache;
      options.stack_bytes = stack_bytes;
      MIST_TRY(runtime, wasm::Runtime::create(options, events));
    }
    return &*runtime;
  }

  Result<std::unique_ptr<abi::Guest>> open(const Source& source, const std::string& module) {
    MIST_TRY(wasm::Runtime* const engine, start());
    MIST_TRY(wasm::Module code, engine->load(bytes_of(module), source.reference));
    return abi::open(std::move(code));
  }

  Result<Metadata> metadata_of(const Source& source, const abi::Guest& guest,
                               const abi::RunOptions& options) {
    MIST_TRY(const std::optional<Value> document,
             guest.info(options).in(fmt::format("while asking {} for its metadata", source.reference)));
    if (!document) return plain_metadata(source);
    MIST_TRY(Metadata metadata, Metadata::parse(*document, source.reference));
    if (metadata.version.empty()) metadata.version = source.version;
    return metadata;
  }

  Result<Rendered> run(const Source& source, const std::string& module, const RenderRequest& request,
                       const Context& context) {
    MIST_TRY(const std::unique_ptr<abi::Guest> guest, open(source, module));
    abi::RunOptions options{{request.clock, request.seed, nullptr}, limits, context};
    Rendered rendered;
    MIST_TRY(rendered.metadata, metadata_of(source, *guest, options));
    MIST_TRY_VOID(refuse_unmet_needs(rendered.metadata, source.reference));
    MIST_TRY(const Value input, input_document(*guest, rendered.metadata, request));
    const SecretScope scope{request.seed, rendered.metadata.name, request.release_name, request.rotations};
    options.world.seed = unnamed_seed(scope);
    NullEventSink nobody;
    Host host(scope, request.quiet ? nobody : events);
    options.host = &host;
    auto generated = guest->generate(input, options);
    if (!generated.ok())
      return without_secrets(std::move(generated).error(), host.secrets())
          .with_frame(fmt::format("while rendering {}", source.reference));
    abi::Output output = *std::move(generated);
    if (!request.quiet) report_log(without_secrets(std::move(output.log), host.secrets()));
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
    return rendered;
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
    document.set("capabilities",
                 Value::object({{"kubeVersion", capabilities.kube_version},
                                {"apiVersions", Value(Value::Array(capabilities.api_versions.begin(),
                                                                   capabilities.api_versions.end()))}}));
    return document;
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

Renderer::Renderer(Path code_cache, wasm::Limits limits, std::size_t stack_bytes, EventSink& events)
    : impl_(new Impl{std::move(code_cache), limits, stack_bytes, events, {}, std::nullopt}) {}
Renderer::~Renderer() = default;

Result<Rendered> Renderer::render_files(const Source& source, const RenderRequest& request,
                                        const Context& context) {
  if (const auto* module = std::get_if<std::string>(&source.content))
    return impl_->run(source, *module, request, context);
  Rendered rendered;
  rendered.metadata = plain_metadata(source);
  for (const Value::Member& member : request.user_values.as_object()) {
    if (member.key == "name") continue;
    return error(ErrorKind::Invalid, "{} is plain Kubernetes YAML and takes no values, but {} is set",
                 source.reference, escape_controls(member.key))
        .with_hint("remove -f and --set, or make it a package with inputs");
  }
  MIST_TRY(rendered.files, kubernetes_files(source, std::get<Files>(source.content)));
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
    MIST_TRY(const std::unique_ptr<abi::Guest> guest, impl_->open(source, *module));
    MIST_TRY(inspection.metadata, impl_->metadata_of(source, *guest, {{}, impl_->limits, context}));
    inspection.format = guest->abi();
    inspection.bytes = module->size();
    return inspection;
  }
  const Files& files = std::get<Files>(source.content);
  MIST_TRY(const Files manifests, kubernetes_files(source, files));
  inspection.metadata = plain_metadata(source);
  inspection.format = "Kubernetes YAML";
  for (const auto& [path, text] : manifests) inspection.bytes += text.size();
  return inspection;
}

}  // namespace mist::package
