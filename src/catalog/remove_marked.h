#pragma once
// Removes whatever a test's release left outside of its namespace, found by the release's marks. A release's
// own uninstall depends on what the package says: its hooks must end, its annotations keep objects, and its
// Pods may have damaged the record. All of that is a stranger's, on a cluster that every later test needs.
// Blocking; one thread.

#include <string>
#include <vector>

#include "action/environment.h"

namespace mist::catalog {

/// Waits until they are gone, for at most `limit`. Returns those that are still being deleted then, in words:
/// something else holds them. Conflict, naming each: the server refuses to delete it. Other errors: of
/// looking for them.
Result<std::vector<std::string>> remove_marked(const action::Environment& environment,
                                               const release::ReleaseId& id, Duration limit,
                                               const Context& context);

}  // namespace mist::catalog
