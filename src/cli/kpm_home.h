#pragma once
// The directory of the Kubernetes Package Manager, as the Machine's environment says. One thread.

#include <string_view>

#include "base/result.h"
#include "cli/machine.h"
#include "kpm/home.h"

namespace mist::cli {

/// $KPM_HOME, else ~/.kpm; needn't be there. `machine` outlives it. Errors: Invalid (no home directory),
/// Forbidden (somebody else could have written there).
Result<kpm::Home> open_kpm_home(Machine& machine);

}  // namespace mist::cli
