#pragma once
// Lets the API server check the writes of a plan without storing any of them: admission, validation,
// conflicts of field managers. Blocking; any thread.

#include "action/environment.h"
#include "apply/plan/plan.h"

namespace mist::action {

/// The server's first refusal. Objects that depend on something that a dry run doesn't create (a new
/// namespace or kind) are left out with a warning, and so are those whose dry run fails where the write does
/// not. `missing_namespace`: the release's, where it is created first; else empty.
Status dry_run_on_server(const Environment& environment, const apply::Plan& plan,
                         const std::string& missing_namespace, bool force_conflicts, const Context& context);

}  // namespace mist::action
