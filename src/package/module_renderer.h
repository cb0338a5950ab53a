#pragma once
// Renders packages that are modules or components: programs, and directories that were built into modules,
// which contain their engine or name it. Any thread.

#include <optional>

#include "base/context.h"
#include "base/result.h"
#include "encoding/value.h"
#include "package/engine_renderer.h"
#include "package/guests.h"
#include "package/render_job.h"
#include "package/render_request.h"
#include "package/rendered.h"
#include "package/renderer_options.h"
#include "package/source_facts.h"
#include "wasm/module_bytes.h"

namespace mist::package {

/// Every source that it is given is a module. Errors of all methods: Invalid, Trap, Cancelled.
class ModuleRenderer {
 public:
  /// All outlive this.
  ModuleRenderer(const RendererOptions& options, Guests& guests, JobRunner& jobs, EngineRenderer& engines)
      : options_(options), guests_(guests), jobs_(jobs), engines_(engines) {}

  /// Its files, not its objects.
  Result<Rendered> render(const Source& source, const RenderRequest& request, const Context& context);
  Result<Inspection> inspect(const Source& source, const Context& context);
  /// As Renderer::describe.
  Result<Value> describe(const Source& source, const Context& context);

 private:
  Result<Rendered> render_program(const Source& source, const wasm::ModuleBytes& module,
                                  const std::optional<Value>& document, const RenderRequest& request,
                                  const Context& context);
  Result<Rendered> render_named(const Source& source, const wasm::ModuleBytes& module, BuiltModule built,
                                const RenderRequest& request, const Context& context);
  Result<Rendered> render_built(const Source& source, const wasm::ModuleBytes& module, BuiltModule built,
                                const RenderRequest& request, const Context& context);

  const RendererOptions& options_;
  Guests& guests_;
  JobRunner& jobs_;
  EngineRenderer& engines_;
};

}  // namespace mist::package
