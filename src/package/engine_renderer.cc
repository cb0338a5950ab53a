#include "package/engine_renderer.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/some_of.h"
#include "crypto/digest.h"
#include "package/calls.h"
#include "package/excerpt.h"
#include "package/input.h"
#include "package/pre_install.h"
#include "package/subcharts.h"
#include "package/tree_metadata.h"

namespace mist::package {

RenderRequest own_request(std::string_view release_name) {
  RenderRequest request;
  request.release_name = release_name;
  request.quiet = true;
  request.user_values = Value::object();
  request.capabilities = []() -> Result<Capabilities> { return Capabilities{"", {}, true}; };
  return request;
}

Result<Rendered> EngineRenderer::render(const SourceTree& tree, const RenderRequest& request,
                                        const Context& context) {
  // The schema of a program may be in its code.
  const bool inspect =
      tree.engine->name == kPythonEngine && !(tree.declared && !tree.declared->inputs.is_null());
  MIST_TRY(Metadata metadata, metadata_of(tree, inspect, context));
  return render(tree, std::move(metadata), request, context);
}

ChartAnswers EngineRenderer::answers_for(const Source& source, const RenderRequest& request,
                                         const Context& context) {
  return {
      source,
      request,
      {options_.engine_limits.guest_time, std::max(options_.stack_bytes, options_.engine_stack_bytes),
       options_.engine_limits.flags},
      [&](const Source& chart, const RenderRequest& wanted) { return render_chart(chart, wanted, context); }};
}

// The output of `helm template` for a chart among a kustomization's files.
Result<Rendered> EngineRenderer::render_chart(const Source& chart, const RenderRequest& request,
                                              const Context& context) {
  MIST_TRY(const SourceTree tree, look_at(chart));
  return render(tree, plain_metadata(chart), request, context);
}

Result<Rendered> EngineRenderer::render(const SourceTree& tree, Metadata metadata,
                                        const RenderRequest& request, const Context& context) {
  ChartAnswers charts = answers_for(tree.source, request, context);
  auto rendered = render(
      tree, std::move(metadata), request, context,
      [&](const Value& wanted, std::uint64_t memory_bytes) { return charts.answer(wanted, memory_bytes); });
  if (rendered.ok()) warn_of_shared_seed(charts, tree.source, request);
  return rendered;
}

// Only new secrets would help, and only their owner can say when.
void EngineRenderer::warn_of_shared_seed(const ChartAnswers& charts, const Source& source,
                                         const RenderRequest& request) {
  constexpr std::size_t kShown = 5;
  if (request.quiet) return;
  std::vector<std::string> drawing = charts.drawing();
  if (drawing.size() < 2) return;
  EventSink& audience = request.called ? request.called->tree->events() : events_;
  audience.warn(fmt::format(
      "charts of {} draw from one seed, so their passwords may be the same: {}; mistctl upgrade "
      "--rotate-secrets gives a release new ones, each chart its own; so does \"chartSeeds\": \"own\" in a "
      "seed file",
      source.reference, some_of(std::move(drawing), kShown)));
}

Result<Rendered> EngineRenderer::render(const SourceTree& tree, Metadata metadata,
                                        const RenderRequest& request, const Context& context,
                                        Host::Charts charts) {
  MIST_TRY(const crypto::Digest code, options_.engines.digest(tree.engine->name));
  MIST_TRY_VOID(refuse_unresolved(metadata, tree.source));
  if (tree.engine->name == kHelmEngine)
    if (const auto names = missing_subcharts(tree.files); !names.empty())
      return lacks_subcharts(tree.source.reference, names);
  metadata.needs_release = metadata.needs_release || sees_the_revision(*tree.engine);
  MIST_TRY_VOID(check_engine_input(*tree.engine, metadata, request));
  MIST_TRY(std::string input, engine_input(*tree.engine, metadata, request));
  RenderJob job{tree.source,
                request,
                options_.engine_limits,
                context,
                std::move(metadata),
                code.str(),
                tree.source.digest,
                std::move(input),
                [&] { return guests_.start(tree, request.often, context); }};
  job.engine = true;
  job.chart = tree.engine->name == kHelmEngine;
  if (tree.engine->name == kKustomizeEngine) job.charts = std::move(charts);
  auto rendered = jobs_.run(std::move(job));
  if (!rendered.ok()) {
    add_excerpt(rendered.error(), tree.files);
    return rendered;
  }
  rendered->engine = tree.engine->name;
  for (const auto& [path, text] : rendered->files) {
    if (const auto own = tree.files.find(path); own != tree.files.end() && own->second == text)
      rendered->origins.emplace(path, FileOrigin{.source = path});
  }
  return rendered;
}

// Metadata as the engine sees it, which finds more than is written down: in a packed chart all of it.
Result<Metadata> EngineRenderer::seen_metadata(const SourceTree& tree, const Context& context) {
  RenderRequest request = own_request("inspect");
  request.engine_options = Value::object({{"inspect", true}});
  Metadata metadata = plain_metadata(tree.source);
  MIST_TRY(const Rendered seen, render(tree, metadata, request, context));
  if (!seen.package.is_object()) return metadata;
  metadata.name = seen.package.string_at("name");
  metadata.version = seen.package.string_at("version");
  metadata.description = seen.package.string_at("description");
  metadata.home = seen.package.string_at("home");
  metadata.values_file = seen.package.string_at("values");
  if (const Value* const people = seen.package.find("maintainers"); people != nullptr && people->is_array()) {
    for (const Value& each : people->as_array()) {
      if (each.is_string()) metadata.maintainers.push_back(each.as_string());
    }
  }
  if (const Value* const inputs = seen.package.find("inputs")) metadata.inputs = *inputs;
  return metadata;
}

Result<Metadata> EngineRenderer::metadata_of(const SourceTree& tree, bool inspect, const Context& context) {
  const bool packed = packed_chart(tree.files) != nullptr;
  Metadata seen;
  if (inspect || packed) {
    MIST_TRY(seen, seen_metadata(tree, context));
    if (packed) return seen;
  }
  MIST_TRY(Metadata metadata, tree_metadata(tree.files, tree.engine, tree.source.name, tree.source.version)
                                  .in(fmt::format("while reading {}", tree.source.reference)));
  if (!inspect) return metadata;
  if (metadata.inputs.is_null()) metadata.inputs = std::move(seen.inputs);
  for (const auto member : {&Metadata::description, &Metadata::home, &Metadata::version}) {
    if ((metadata.*member).empty()) metadata.*member = std::move(seen.*member);
  }
  if (metadata.name == tree.source.name && !seen.name.empty()) metadata.name = std::move(seen.name);
  return metadata;
}

Result<Inspection> EngineRenderer::inspect(const SourceTree& tree, const Context& context) {
  Inspection inspection;
  for (const auto& [path, text] : tree.files) inspection.bytes += text.size();
  inspection.format = tree.engine->format;
  inspection.engine = tree.engine->name;
  MIST_TRY(const crypto::Digest digest, options_.engines.digest(tree.engine->name));
  inspection.engine_digest = digest.str();
  inspection.engine_here = inspection.engine_digest;
  MIST_TRY(inspection.metadata, metadata_of(tree, true, context));
  return inspection;
}

}  // namespace mist::package
