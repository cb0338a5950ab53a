#pragma once
// Renders packages: source and values in, Kubernetes objects out, by way of the sandbox. The result is a
// function of the request alone. Any thread; the WebAssembly runtime starts with the first package that needs
// it.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/event.h"
#include "base/result.h"
#include "package/engine_runs.h"
#include "package/module_section.h"
#include "package/pre_install.h"
#include "package/render_request.h"
#include "package/rendered.h"
#include "package/renderer_options.h"
#include "package/source.h"

namespace mist::package {

class Renderer {
 public:
  /// `events` outlives the renderer.
  Renderer(RendererOptions options, EventSink& events);
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;
  ~Renderer();

  /// Errors: Invalid (values against the schema, each with its path; what the package itself refused; output
  /// that can't be understood, with file and line), Trap (the sandbox's limits), Cancelled.
  Result<Rendered> render(const Source& source, const RenderRequest& request, const Context& context);
  /// Only what is needed for `generate -o raw`: files, not objects.
  Result<Rendered> render_files(const Source& source, const RenderRequest& request, const Context& context);
  /// Runs the script of a Kube (has_pre_install) in the sandbox, as render does first, and renders nothing.
  /// Errors as render: Invalid where the script failed, asks what the values don't answer, or needs more than
  /// the sandbox has.
  Result<ScriptResult> run_pre_install(const Source& source, const RenderRequest& request,
                                       const Context& context);
  /// Metadata and format; runs nothing unless the ABI has no other way.
  Result<Inspection> inspect(const Source& source, const Context& context);
  /// One module that renders `source`, a directory, by itself: its engine with the files parsed in its memory
  /// and the metadata in its section; or, Named, one with the files and the metadata alone, which renders the
  /// same wherever an engine with that digest is. The same source gives the same bytes. Invalid: it is a
  /// module already, or Kubernetes YAML, or its engine refuses it; Trap, Cancelled.
  Result<std::string> build(const Source& source, BuiltEngine engine, const Context& context);
  /// The runs that render a module: of the engine that it names (BuiltEngine::Named), or its own. Nothing is
  /// run here. Errors as render: Invalid (values against the schema; another engine; it has no metadata).
  Result<std::vector<EngineRun>> engine_runs(const Source& source, const RenderRequest& request) const;
  /// The things that the package names elsewhere and doesn't have, as its engine says
  /// (engines/kustomize/README.md): a list, perhaps empty. Other problems of the package are reported by
  /// rendering. Errors: Trap, NotFound (the engine), Cancelled.
  Result<Value> missing(const Source& source, const Context& context);
  /// With what a program answers a MistDescribe document: `inputs` and perhaps `exports`, the schemas that
  /// its source has and its metadata need not repeat. Invalid: it doesn't answer so; Trap, Cancelled.
  Result<Value> describe(const Source& source, const Context& context);
  /// Makes the engine's code ready, so that nobody waits for it later.
  Status compile_engine(std::string_view name);

 private:
  struct Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace mist::package
