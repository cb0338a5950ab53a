#include "package/module_renderer.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "abi/abi.h"
#include "package/calls.h"
#include "package/input.h"
#include "package/kube_render.h"
#include "package/module_section.h"
#include "package/render_job.h"

namespace mist::package {
namespace {

Result<Metadata> metadata_from_guest(const Source& source, const abi::Guest& guest,
                                     const abi::RunOptions& run) {
  MIST_TRY(const std::optional<Value> document,
           guest.info(run).in(fmt::format("while asking {} for its metadata", source.reference)));
  if (!document) return plain_metadata(source);
  return metadata_from(*document, source);
}

}  // namespace

Result<Rendered> ModuleRenderer::render(const Source& source, const RenderRequest& request,
                                        const Context& context) {
  const auto& module = std::get<wasm::ModuleBytes>(source.content);
  MIST_TRY(const std::optional<Value> document, abi::read_metadata(module, source.reference));
  MIST_TRY(std::optional<BuiltModule> built, built_from(source, document));
  if (built && built->names_engine())
    return render_named(source, module, *std::move(built), request, context);
  if (built) return render_built(source, module, *std::move(built), request, context);
  return render_program(source, module, document, request, context);
}

// `document` is what its section says of it. With one, its code isn't even loaded for a render that is
// known.
Result<Rendered> ModuleRenderer::render_program(const Source& source, const wasm::ModuleBytes& module,
                                                const std::optional<Value>& document,
                                                const RenderRequest& request, const Context& context) {
  std::unique_ptr<abi::Guest> guest;
  std::optional<Metadata> metadata;
  if (document) {
    MIST_TRY(metadata, metadata_from(*document, source));
  } else {
    MIST_TRY(guest, guests_.open(source, module));
    MIST_TRY(metadata,
             metadata_from_guest(source, *guest,
                                 {{request.clock, request.seed, nullptr}, options_.limits, context}));
  }
  MIST_TRY_VOID(refuse_unresolved(*metadata, source));
  // Nothing but its code says that it is of the original ABI; the input of today's is never known for it.
  const std::string_view version = guest ? guest->input_version() : abi::kVersion1;
  MIST_TRY(std::string input, package_input(version, *metadata, request));
  RenderJob job{source,
                request,
                options_.limits,
                context,
                *std::move(metadata),
                source.digest,
                "",
                std::move(input),
                [&]() -> Result<Started> {
                  if (!guest) {
                    MIST_TRY(guest, guests_.open(source, module));
                  }
                  return Started{std::move(guest)};
                }};
  job.check = [&](const Metadata& known) { return check_input(known, request); };
  job.input_version = version;
  return jobs_.run(std::move(job));
}

// It names its engine: its files are rendered by the engine that is here.
Result<Rendered> ModuleRenderer::render_named(const Source& source, const wasm::ModuleBytes& module,
                                              BuiltModule built, const RenderRequest& request,
                                              const Context& context) {
  MIST_TRY_VOID(check_engine(source, built, options_.engines));
  MIST_TRY(const auto bytes, module.bytes());
  MIST_TRY(const Files files, files_of_module(*bytes, source.reference));
  const SourceTree tree{source, files, std::nullopt, &built.engine};
  if (runs_a_script(tree)) return render_kube(engines_, tree, built.metadata, request, context);
  return engines_.render(tree, std::move(built.metadata), request, context, nullptr);
}

// It contains its engine.
Result<Rendered> ModuleRenderer::render_built(const Source& source, const wasm::ModuleBytes& module,
                                              BuiltModule built, const RenderRequest& request,
                                              const Context& context) {
  MIST_TRY_VOID(refuse_unresolved(built.metadata, source));
  MIST_TRY(std::string input, engine_input(built.engine, built.metadata, request));
  RenderJob job{source,
                request,
                options_.engine_limits,
                context,
                std::move(built.metadata),
                source.digest,
                "",
                std::move(input),
                [&]() { return guests_.start_built(source, module, built.engine.name, request.often); }};
  job.check = [&](const Metadata& metadata) { return check_engine_input(built.engine, metadata, request); };
  job.engine = true;
  job.chart = built.engine.name == kHelmEngine;
  auto rendered = jobs_.run(std::move(job));
  if (rendered.ok()) rendered->engine = built.engine.name;
  return rendered;
}

Result<Inspection> ModuleRenderer::inspect(const Source& source, const Context& context) {
  const auto& module = std::get<wasm::ModuleBytes>(source.content);
  Inspection inspection;
  inspection.bytes = module.size();
  MIST_TRY(std::optional<BuiltModule> built, built_from(source, module));
  if (built) {
    const bool thin = built->names_engine();
    inspection.metadata = std::move(built->metadata);
    inspection.format = fmt::format("{}, {}", built->engine.format, thin ? "thin" : "built");
    if (thin) {
      inspection.engine = built->engine.name;
      inspection.engine_digest = inspection.metadata.engine_digest;
      if (const auto here = options_.engines.digest(inspection.engine); here.ok())
        inspection.engine_here = here->str();
    }
    return inspection;
  }
  MIST_TRY(const std::unique_ptr<abi::Guest> guest, guests_.open(source, module));
  MIST_TRY(inspection.metadata, metadata_from_guest(source, *guest, {{}, options_.limits, context}));
  inspection.format = guest->abi();
  return inspection;
}

Result<Value> ModuleRenderer::describe(const Source& source, const Context& context) {
  const auto& module = std::get<wasm::ModuleBytes>(source.content);
  MIST_TRY(const std::unique_ptr<abi::Guest> guest, guests_.open(source, module));
  const Value question = Value::object({{"apiVersion", abi::kVersion1}, {"kind", "MistDescribe"}});
  const auto silent = [&](std::string because) {
    return error(ErrorKind::Invalid, "{} doesn't say what its inputs are", source.reference)
        .with_because(std::move(because))
        .with_hint("write spec.inputs in mistletoe.yaml; an object without properties takes none");
  };
  auto answer = guest->generate(abi::input_text(question), {{}, options_.limits, context});
  if (!answer.ok()) {
    if (answer.error().kind != ErrorKind::Invalid) return std::move(answer).error();
    return silent(answer.error().to_line());
  }
  if (answer->package.find("inputs") == nullptr) return silent("its answer has no inputs");
  return std::move(answer->package);
}

}  // namespace mist::package
