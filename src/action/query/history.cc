#include "action/query/history.h"

#include "release/history.h"

namespace mist::action {

using release::RevisionStatus;
using release::RevisionSummary;

Result<History> history(const Environment& environment, const release::ReleaseId& id,
                        const Context& context) {
  const Activity reading(environment.events, fmt::format("reading the history of {}", id.display()));
  release::Store store(environment.client);
  MIST_TRY(std::optional<release::Anchor> anchor, store.read_anchor(id, context));
  if (!anchor) return missing_release(environment, id, context);
  MIST_TRY(std::vector<RevisionSummary> revisions, store.list_revisions(id, context));
  History result{.anchor = *std::move(anchor), .entries = {}};
  for (RevisionSummary& summary : revisions) {
    // Records of format 1 have nothing but their status in metadata.
    if (summary.action.empty()) {
      MIST_TRY(const std::optional<release::Revision> whole,
               store.read_revision(result.anchor, summary.number, context));
      if (whole) summary = release::summary_of(*whole);
    }
    const RevisionStatus status = release::status_in(result.anchor.head, summary);
    const bool died = status == RevisionStatus::Failed && summary.status == RevisionStatus::Pending;
    if (died && summary.message.empty()) summary.message = "its command died before it ended";
    result.entries.push_back({std::move(summary), status});
  }
  return result;
}

}  // namespace mist::action
