#pragma once
// The revisions of a release, from metadata: one LIST, however large they are. Nothing is written.

#include <vector>

#include "action/environment.h"

namespace mist::action {

struct HistoryEntry {
  release::RevisionSummary revision;
  release::RevisionStatus status = release::RevisionStatus::Pending;  ///< as it stands in the release now
};

struct History {
  release::Anchor anchor;
  std::vector<HistoryEntry> entries;  ///< oldest first
};

/// NotFound if there is no such release.
Result<History> history(const Environment& environment, const release::ReleaseId& id, const Context& context);

}  // namespace mist::action
