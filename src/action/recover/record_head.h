#pragma once
// The anchor's facts about a revision. Pure; any thread.

#include <optional>
#include <string>
#include <vector>

#include "action/environment.h"

namespace mist::action {

/// The revision's part of a head: all but latest, deployed and status. `before`: the release's anchor until
/// now, if it has one; who keeps the release stays.
release::Head head_of(const release::Revision& revision, std::string updated,
                      const std::optional<release::Anchor>& before);

/// KEP-3659: the kinds of an inventory, and the namespaces beside the release's own.
std::vector<std::string> group_kinds_of(const std::vector<apply::InventoryItem>& inventory);
std::vector<std::string> namespaces_of(const std::vector<apply::InventoryItem>& inventory,
                                       const std::string& own);

/// Of the anchor that was read: takes back what a run announced that stored nothing. It also unlocks.
release::AnchorChange as_it_was(const ReleaseState& state);
/// The server has answered, and has done nothing of what it was asked.
bool is_refusal(const Error& failure);

}  // namespace mist::action
