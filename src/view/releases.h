#pragma once
// The releases of a cluster, and the revisions of one. Pure; any thread.

#include <vector>

#include "action/query/history.h"
#include "view/table.h"

namespace mist::view {

/// schemas/cli/list.schema.json.
encoding::Value releases_value(const std::vector<release::Anchor>& anchors);
Table releases_table(const std::vector<release::Anchor>& anchors, WallTime now);

/// schemas/cli/history.schema.json.
encoding::Value history_value(const action::History& history);
Table history_table(const action::History& history);

}  // namespace mist::view
