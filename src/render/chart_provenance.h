#pragma once
// Helm's provenance files, read by the OpenPGP engine in the sandbox. Any thread.

#include "base/event.h"
#include "package/renderer.h"
#include "registry/registry.h"
#include "trust/provenance.h"

namespace mist::render {

/// Asks the engine, which starts with the first question. `events` outlives what is returned.
trust::CheckProvenance provenance_checker(package::RendererOptions engines, EventSink& events);

/// `dependencies` with that, unless it has one.
registry::Registries::Dependencies with_provenance(registry::Registries::Dependencies dependencies,
                                                   const package::RendererOptions& engines);

}  // namespace mist::render
