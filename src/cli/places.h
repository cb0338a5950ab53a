#pragma once
// Mistletoe's places on disk as the World's environment says. Pure but for that; any thread.

#include "base/result.h"
#include "cli/world.h"
#include "config/paths.h"

namespace mist::cli {

/// Errors: Invalid when there is neither a home directory nor MIST_HOME_LOCATION.
Result<config::Paths> paths_of(const World& world);

}  // namespace mist::cli
