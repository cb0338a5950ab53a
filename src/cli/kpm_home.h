#pragma once
// The directory of the Kubernetes Package Manager, as the Machine's environment says. One thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/machine.h"
#include "config/config.h"
#include "kpm/home.h"

namespace mist::cli {

/// $KPM_HOME, else ~/.kpm; needn't be there. Archives that the configuration leaves to mirrors aren't asked.
/// `machine` outlives it. Errors: Invalid (no home directory),
/// Forbidden (somebody else could have written there).
Result<kpm::Home> open_kpm_home(Machine& machine);

/// The archives that may not be asked with these mirrors: their names, for people. Empty also where KPM's
/// directory can't be read.
std::vector<std::string> archives_left_to_mirrors(Machine& machine,
                                                  const std::vector<config::Mirror>& mirrors);

}  // namespace mist::cli
