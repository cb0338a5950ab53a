#pragma once
// Which revisions a release keeps. Pure; any thread.

#include <vector>

#include "release/record.h"

namespace mist::release {

/// The numbers to remove so that at most `max` revisions are left, the oldest first. Revisions in `needed`
/// (the deployed one) and the last two stay in any case. 0: nothing is ever removed.
std::vector<int> surplus_revisions(const std::vector<RevisionSummary>& revisions,
                                   const std::vector<int>& needed, int max);

/// How a revision stands in its release: what was deployed once is superseded when another one is now. One
/// that was never finished is pending whatever it says itself, and failed once there is a later one.
RevisionStatus status_in(const Head& head, const RevisionSummary& revision);

}  // namespace mist::release
