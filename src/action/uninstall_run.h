#pragma once
// Carries an uninstall's plan out, under the lock: hooks, deletes, what goes back to others, and last the
// record. docs/formats/release.md has the order of its writes. One thread.

#include "action/uninstall.h"

namespace mist::action {

/// A namespace that was there before the release, and doesn't go back to another one.
bool is_adopted_namespace(const apply::PlannedAction& action);

/// One run; `report` holds the plan, and gets what was done. release::anchor_moved(error): the release
/// changed since the plan, and nothing was written. After any other failure the release is half uninstalled,
/// and a further run goes on.
Status run_uninstall(const Environment& environment, const UninstallOptions& options, UninstallReport& report,
                     const Context& context);

}  // namespace mist::action
