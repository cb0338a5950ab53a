#pragma once
// Differences between two revisions of a release, as they are recorded: nothing is rendered, and the cluster
// is asked for nothing but the record.

#include <optional>
#include <vector>

#include "action/authoring/package_changes.h"
#include "action/environment.h"
#include "action/query/diff.h"

namespace mist::action {

struct RevisionDiff {
  release::ReleaseId id;
  int from = 0, to = 0;
  std::vector<PackageChange> packages = {};
  std::vector<RecordedDiff> objects = {}, hooks = {}, tests = {};
  std::size_t unchanged = 0;  ///< objects

  bool changes() const { return !packages.empty() || !objects.empty() || !hooks.empty() || !tests.empty(); }
};

/// From revision `from` to revision `to`; nullopt: the deployed one, else the newest. DiffOptions::hidden is
/// not looked at: both revisions say what of them is hidden. NotFound: there is no such release, or it
/// doesn't keep that revision.
Result<RevisionDiff> diff_revisions(const Environment& environment, const release::ReleaseId& id, int from,
                                    std::optional<int> to, DiffOptions options, const Context& context);

/// NotFound if it isn't kept, with the way to those that are.
Result<release::Revision> kept_revision(const Environment& environment, const release::Anchor& anchor,
                                        int number, const Context& context);

struct InspectedRevision {
  release::Anchor anchor;  ///< nothing but its id where it is gone
  release::Revision revision;
};

/// A revision for a person to look at, whatever became of the rest of the record: with a warning also one
/// that nothing proves to be the release's, because its seal is wrong or can't be checked any more. NotFound:
/// it isn't kept. Internal: it can't be read.
Result<InspectedRevision> inspect_revision(const Environment& environment, const release::ReleaseId& id,
                                           int number, const Context& context);

}  // namespace mist::action
