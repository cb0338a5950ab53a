#pragma once
// The runs that render a module, for a sandbox elsewhere, such as a browser's. Runs nothing. Pure but for
// RenderRequest::capabilities; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "package/engine.h"
#include "package/render_request.h"
#include "package/source.h"

namespace mist::package {

/// One run of an engine, as a render begins it: for whoever runs it elsewhere, such as a browser.
struct EngineRun {
  std::string_view engine;  ///< its name; empty: the module runs by itself
  std::string input;        ///< the document on its standard input
  bool is_script = false;   ///< it runs pre-install.py; the next run sees the files that this left
};

/// As Renderer::engine_runs, of `source`, a module, which may name one of `engines`.
Result<std::vector<EngineRun>> engine_runs(const Source& source, const RenderRequest& request,
                                           const EngineStore& engines);

}  // namespace mist::package
