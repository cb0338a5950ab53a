#pragma once
// Upgrades of a chart's CustomResourceDefinitions: what would break objects that are there, or their writers,
// is refused before anything is written. Blocking; any thread.

#include "action/environment.h"
#include "apply/plan/plan.h"

namespace mist::action {

/// Makes a Conflict of each CRD in `plan` whose change apply/plan/crd_change.h finds problems
/// with. Reads only where a version is no longer served.
Status check_crds(const Environment& environment, apply::Plan& plan, const apply::LiveState& live,
                  const Context& context);

}  // namespace mist::action
