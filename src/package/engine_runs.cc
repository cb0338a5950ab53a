#include "package/engine_runs.h"

#include <optional>
#include <utility>
#include <variant>

#include "abi/abi.h"
#include "package/calls.h"
#include "package/input.h"
#include "package/kube_render.h"
#include "package/module_section.h"
#include "package/pre_install.h"
#include "package/source_facts.h"
#include "package/subcharts.h"
#include "wasm/binary.h"
#include "wasm/module_bytes.h"

namespace mist::package {
namespace {

// Of a module that renders by itself: ModuleRenderer::render_program and render_built.
Result<std::vector<EngineRun>> own_run_of(const Source& source, const std::optional<Value>& document,
                                          const std::optional<BuiltModule>& built,
                                          const RenderRequest& request) {
  if (!document)
    return error(ErrorKind::Invalid, "{} has no section {}", source.reference, wasm::kPackageSection)
        .with_hint("mistctl package build MODULE -m mistletoe.yaml writes it");
  MIST_TRY(const Metadata metadata, metadata_from(*document, source));
  MIST_TRY_VOID(refuse_unresolved(metadata, source));
  EngineRun run;
  if (built) {
    MIST_TRY_VOID(check_engine_input(built->engine, metadata, request));
    MIST_TRY(run.input, engine_input(built->engine, metadata, request));
  } else {
    MIST_TRY_VOID(check_input(metadata, request));
    MIST_TRY(run.input, package_input(abi::kVersion1, metadata, request));
  }
  return std::vector{std::move(run)};
}

}  // namespace

Result<std::vector<EngineRun>> engine_runs(const Source& source, const RenderRequest& request,
                                           const EngineStore& engines) {
  const auto& module = std::get<wasm::ModuleBytes>(source.content);
  MIST_TRY(const std::optional<Value> document, abi::read_metadata(module, source.reference));
  MIST_TRY(std::optional<BuiltModule> built, built_from(source, document));
  if (!built || !built->names_engine()) return own_run_of(source, document, built, request);
  MIST_TRY_VOID(check_engine(source, *built, engines));
  MIST_TRY_VOID(refuse_unresolved(built->metadata, source));
  MIST_TRY(const auto bytes, module.bytes());
  MIST_TRY(const Files files, files_of_module(*bytes, source.reference));
  if (built->engine.name == kHelmEngine)
    if (const auto names = missing_subcharts(files); !names.empty())
      return lacks_subcharts(source.reference, names);
  std::vector<EngineRun> runs;
  if (runs_a_script({source, files, std::nullopt, &built->engine})) {
    const EngineKind& python = *find_engine(kPythonEngine);
    const RenderRequest wanted = for_script(request);
    MIST_TRY_VOID(check_engine_input(python, built->metadata, wanted));
    MIST_TRY(std::string input, engine_input(python, built->metadata, wanted));
    runs.push_back({.engine = python.name, .input = std::move(input), .is_script = true});
  }
  Metadata metadata = std::move(built->metadata);
  metadata.needs_release = metadata.needs_release || sees_the_revision(built->engine);
  MIST_TRY_VOID(check_engine_input(built->engine, metadata, request));
  MIST_TRY(std::string input, engine_input(built->engine, metadata, request));
  runs.push_back({.engine = built->engine.name, .input = std::move(input)});
  return runs;
}

}  // namespace mist::package
