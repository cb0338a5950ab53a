#pragma once
// The record of a release. Data of Secrets is masked unless `show` says otherwise. Pure; any thread.

#include <vector>

#include "release/record.h"

namespace mist::view {

/// schemas/cli/inspect-release.schema.json.
encoding::Value record_value(const release::Anchor& anchor, const std::vector<release::Revision>& revisions,
                             bool show);
/// The objects of a revision, for kubectl.
std::vector<encoding::Value> manifest(const release::Revision& revision, bool show);
/// Them as a List.
encoding::Value manifest_value(const release::Revision& revision, bool show);

}  // namespace mist::view
