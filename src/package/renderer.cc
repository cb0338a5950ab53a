#include "package/renderer.h"

#include <optional>
#include <utility>
#include <variant>

#include "base/text.h"
#include "encoding/json.h"
#include "encoding/schema_place.h"
#include "package/called_objects.h"
#include "package/calls.h"
#include "package/engine_renderer.h"
#include "package/excerpt.h"
#include "package/guests.h"
#include "package/input.h"
#include "package/kube_render.h"
#include "package/looked_up.h"
#include "package/module_builder.h"
#include "package/module_renderer.h"
#include "package/objects.h"
#include "package/plain_yaml.h"
#include "package/render_job.h"
#include "package/resemblance.h"
#include "package/source_facts.h"
#include "package/unknown_values.h"

namespace mist::package {
namespace {

// Of a directory that is read as plain YAML, unless it or its user says that it is that.
Error plain_failure(Error failure, const SourceTree& tree) {
  if (tree.declared || !tree.source.engine.empty()) return failure;
  return with_resemblance(std::move(failure), tree.source, tree.files);
}
Error plain_failure(Error failure, const Source& source) {
  const auto tree = look_at(source);
  return tree.ok() ? plain_failure(std::move(failure), *tree) : failure;
}

// Where to read what values it takes, of an error of values that don't fit.
void add_inputs_hint(Error& failure, const std::string& reference) {
  const auto* const faults = failure.detail<encoding::ValueFaults>();
  if (faults == nullptr) return;
  failure.hint =
      fmt::format("mistctl inspect package {} prints the inputs that it knows{}", shell_word(reference),
                  faults->of_chart ? "; --skip-schema-validation goes without its schema" : "");
}

}  // namespace

struct Renderer::Impl {
  Impl(RendererOptions given, EventSink& sink)
      : options(std::move(given)),
        events(sink),
        guests(options, sink),
        jobs(options, sink,
             [this](const Source& source, const RenderRequest& request, const Context& context) {
               return render_files(source, request, context);
             }),
        engines(options, sink, guests, jobs),
        modules(options, guests, jobs, engines),
        builder(options, guests, engines) {}

  RendererOptions options;
  EventSink& events;
  Guests guests;
  JobRunner jobs;
  EngineRenderer engines;
  ModuleRenderer modules;
  ModuleBuilder builder;

  Result<Rendered> render_tree(const SourceTree& tree, const RenderRequest& request, const Context& context) {
    if (!runs_a_script(tree)) return engines.render(tree, request, context);
    MIST_TRY(const Metadata metadata, engines.metadata_of(tree, false, context));
    return render_kube(engines, tree, metadata, request, context);
  }

  Result<Rendered> render_files(const Source& source, const RenderRequest& request, const Context& context) {
    if (std::holds_alternative<wasm::ModuleBytes>(source.content))
      return modules.render(source, request, context);
    MIST_TRY(SourceTree tree, look_at(source));
    if (tree.engine != nullptr) {
      MIST_TRY(Rendered rendered, render_tree(tree, request, context));
      if (rendered.missing.empty()) return rendered;
      return error(ErrorKind::Invalid, "{} needs what is elsewhere: {}", source.reference,
                   escape_controls(encoding::to_json(rendered.missing)))
          .with_hint("copy it into the package, and name it by its path");
    }
    auto files = kubernetes_files(source, tree.files, tree.declared.has_value());
    if (!files) return plain_failure(std::move(files).error(), tree);
    Status takes = refuse_values(source, tree.files, request.user_values);
    if (!takes) return plain_failure(std::move(takes).error(), tree);
    Rendered rendered;
    rendered.metadata = tree.declared ? *std::move(tree.declared) : plain_metadata(source);
    if (!request.quiet)
      report_ignored(rendered.metadata, source.reference,
                     request.called ? request.called->tree->events() : events);
    rendered.files = *std::move(files);
    if (request.called) MIST_TRY_VOID(check_exports(rendered.metadata, rendered.exports));
    return rendered;
  }
};

Renderer::Renderer(RendererOptions options, EventSink& events)
    : impl_(std::make_unique<Impl>(std::move(options), events)) {}
Renderer::~Renderer() = default;

Result<Rendered> Renderer::render_files(const Source& source, const RenderRequest& request,
                                        const Context& context) {
  auto rendered = impl_->render_files(source, request, context);
  if (rendered.ok()) return rendered;
  add_inputs_hint(rendered.error(), source.reference);
  // The schema may be what refuses a value, before anything runs that knows which of them are secret.
  return without_secrets(std::move(rendered).error(), request.hidden);
}

Result<Rendered> Renderer::render(const Source& source, const RenderRequest& request,
                                  const Context& context) {
  std::optional<Activity> activity;
  if (!request.quiet) activity.emplace(impl_->events, fmt::format("rendering {}", source.reference));
  MIST_TRY(Rendered rendered, render_files(source, request, context));
  if (!request.quiet) {
    for (const std::string& words : unknown_values(rendered, source, request.user_values))
      impl_->events.warn(words);
  }
  NullEventSink nobody;
  const bool written = rendered.engine.empty() && std::holds_alternative<Files>(source.content);
  auto objects = parse_objects(rendered.files, request.quiet ? nobody : impl_->events,
                               written ? Lines::Written : Lines::Rendered, rendered.origins);
  // An error shows the line that it is about.
  if (!objects.ok()) {
    Error failure = without_secrets(std::move(objects).error(), request.hidden);
    failure = without_secrets(std::move(failure), rendered.secrets);
    failure = without_secrets(std::move(failure), looked_up_in_texts(rendered.looked_up));
    if (written) failure = plain_failure(std::move(failure), source);
    return with_excerpt(std::move(failure), source, rendered.origins);
  }
  rendered.objects = *std::move(objects);
  if (written) {
    if (const apimachinery::RenderedObject* const strange = kustomize_object(rendered.objects))
      return plain_failure(error(ErrorKind::Invalid, "{} is read by Kustomize, and by no cluster",
                                 escape_controls(strange->object.key().display()))
                               .at(strange->place())
                               .with_hint("name the directory that it is the kustomization.yaml of"),
                           source);
  }
  if (rendered.calls) attribute_changed(rendered.objects, *rendered.calls);
  return rendered;
}

Result<ScriptResult> Renderer::run_pre_install(const Source& source, const RenderRequest& request,
                                               const Context& context) {
  MIST_TRY(const SourceTree tree, look_at(source));
  if (!runs_a_script(tree))
    return error(ErrorKind::Invalid, "{} has no {}", source.reference, kPreInstallScript);
  MIST_TRY(const Metadata metadata, impl_->engines.metadata_of(tree, false, context));
  MIST_TRY(ScriptRun ran, run_script(impl_->engines, tree, metadata, request, context));
  if (!ran.result.needs_host.empty()) return needs_host_python(ran.result, source.reference);
  return std::move(ran.result);
}

Result<Inspection> Renderer::inspect(const Source& source, const Context& context) {
  if (std::holds_alternative<wasm::ModuleBytes>(source.content))
    return impl_->modules.inspect(source, context);
  MIST_TRY(SourceTree tree, look_at(source));
  if (tree.engine != nullptr) return impl_->engines.inspect(tree, context);
  // A directory that only holds packages has files of Kubernetes YAML as well.
  if (!tree.declared) {
    RenderRequest request;
    request.user_values = Value::object();
    request.quiet = true;
    if (auto readable = render(source, request, context); !readable.ok()) return std::move(readable).error();
  }
  MIST_TRY(const Files manifests, kubernetes_files(source, tree.files, tree.declared.has_value()));
  Inspection inspection;
  for (const auto& [path, text] : manifests) inspection.bytes += text.size();
  inspection.metadata = tree.declared ? *std::move(tree.declared) : plain_metadata(source);
  inspection.format = "Kubernetes YAML";
  return inspection;
}

Result<Value> Renderer::describe(const Source& source, const Context& context) {
  MIST_CHECK(std::holds_alternative<wasm::ModuleBytes>(source.content));
  return impl_->modules.describe(source, context);
}

Result<Value> Renderer::missing(const Source& source, const Context& context) {
  MIST_TRY(const SourceTree tree, look_at(source));
  if (tree.engine == nullptr) return Value::array();
  Result<Rendered> rendered = impl_->engines.render(tree, own_request("missing"), context);
  if (!rendered && rendered.error().kind != ErrorKind::Invalid) return std::move(rendered).error();
  return rendered.ok() && rendered->missing.is_array() ? std::move(rendered->missing) : Value::array();
}

Result<std::string> Renderer::build(const Source& source, BuiltEngine engine, const Context& context) {
  return impl_->builder.build(source, engine, context);
}

Result<std::vector<EngineRun>> Renderer::engine_runs(const Source& source,
                                                     const RenderRequest& request) const {
  MIST_CHECK(std::holds_alternative<wasm::ModuleBytes>(source.content));
  auto runs = package::engine_runs(source, request, impl_->options.engines);
  if (!runs.ok()) add_inputs_hint(runs.error(), source.reference);
  return runs;
}

Status Renderer::compile_engine(std::string_view name) {
  MIST_TRY_VOID(impl_->guests.load_engine(name));
  return {};
}

}  // namespace mist::package
