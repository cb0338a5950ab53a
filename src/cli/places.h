#pragma once
// Mistletoe's places on disk as the Machine's environment says. Pure but for that; any thread.

#include "base/result.h"
#include "cli/machine.h"
#include "config/paths.h"

namespace mist::cli {

/// For whoever only names them. Errors: Invalid when there is neither a home directory nor
/// MIST_HOME_LOCATION.
Result<config::Paths> named_paths_of(const Machine& machine);

/// For whoever reads or writes there. Errors: as above, and Forbidden when somebody else could have written
/// what is there (config::check_places).
Result<config::Paths> paths_of(const Machine& machine);

}  // namespace mist::cli
