#pragma once
// A run may do more than it was told: also what an earlier one was allowed to, whose work it continues.
// Pure; any thread.

#include "apply/plan/plan.h"

namespace mist::action {

/// Adds what `more` allows, except a take-over.
void allow_also(apply::AllowedChanges& allowed, const apply::AllowedChanges& more);
void allow_also(apply::PruneRules& rules, const apply::PruneRules& more);

}  // namespace mist::action
