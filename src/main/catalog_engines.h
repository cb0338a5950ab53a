#pragma once
// How mistletoe-catalog renders strangers' packages: for tests and for previews.

#include "base/result.h"
#include "catalog/backup.h"
#include "catalog/trial.h"
#include "config/paths.h"
#include "main/catalog_machine.h"

namespace mist {

/// Of a home of its own below `places`, which has no registry, credential or setting of the user who runs
/// this. Errors: of config::make_private_directory, of Paths::from_environment.
Result<config::Paths> own_paths(Machine& machine, const catalog::DataPlaces& places);

/// `machine` outlives what is rendered with these.
package::RendererOptions engines_of(Machine& machine, const config::Paths& paths);

}  // namespace mist
