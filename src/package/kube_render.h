#pragma once
// Kubes with a script (pre_install.h): the Python engine runs it first, then the Kube's templates are
// rendered with what it wrote. Any thread.

#include "base/context.h"
#include "base/result.h"
#include "package/engine_renderer.h"
#include "package/metadata.h"
#include "package/pre_install.h"
#include "package/render_request.h"
#include "package/rendered.h"
#include "package/source_facts.h"

namespace mist::package {

/// Whether the tree is a Kube with a script.
bool runs_a_script(const SourceTree& tree);

/// The same of a package: a directory, or a module that names its engine. Invalid: the module can't be read.
Result<bool> runs_a_script(const Source& source);

/// The request to run a Kube's script, of one to render the Kube.
RenderRequest for_script(const RenderRequest& request);

struct ScriptRun {
  Rendered rendered;  ///< what it drew and was told
  ScriptResult result;
};

/// Runs the script in the sandbox; `needs_host` of the result: it can't run there. Invalid: it asks what
/// nobody answered. Other errors as EngineRenderer.
Result<ScriptRun> run_script(EngineRenderer& engines, const SourceTree& tree, const Metadata& metadata,
                             const RenderRequest& request, const Context& context);

/// Runs the script, on the host where it needs that and the request has a way, and renders the templates.
/// Errors as EngineRenderer.
Result<Rendered> render_kube(EngineRenderer& engines, const SourceTree& tree, const Metadata& metadata,
                             const RenderRequest& request, const Context& context);

}  // namespace mist::package
