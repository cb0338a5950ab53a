#pragma once
// The scripts of previews: the button of the page, and the worker in which a package runs. Their paths name
// their content, so that they may be kept for ever. Their sources: web/page/preview.ts,
// web/worker/preview_worker.ts. Pure; any thread.

#include <string>

namespace mist::catalog {

const std::string& preview_script();
const std::string& preview_script_path();

/// The only script that may compile WebAssembly: preview_worker_policy() goes with it.
const std::string& preview_worker();
const std::string& preview_worker_path();
const std::string& preview_worker_policy();

}  // namespace mist::catalog
