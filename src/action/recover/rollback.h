#pragma once
// Back to an earlier revision: its package, values, options and objects, CRDs included, from the record
// alone; nothing is rendered or fetched. A rollback is itself a new revision, and prunes the objects that
// later ones made. Objects that those adopted were there before: they stay, belong to nobody again, and get
// back their earlier state where the record still tells it (adopted.h).

#include <optional>

#include "action/deploy/deploy.h"

namespace mist::action {

/// To revision `to`, or to the last good one before the newest. Errors of the deployment: NotFound or
/// Conflict when that revision doesn't exist, is no longer kept or never became good, with a list of those
/// that are there. Uses `environment` and `context` until the deployment ends.
Intent rollback_intent(const Environment& environment, std::optional<int> to, const Context& context);

/// The part of a recorded revision for one that goes back to it: all but its permission to delete.
RenderedRelease restored_release(const release::Revision& revision, const std::string& ns);

/// For `finished`, which ends the newest revision of `state`: where that was a rollback, what it goes back
/// over. Errors: of the requests.
Status note_adoptions_gone_back_over(const Environment& environment, const ReleaseState& state,
                                     RenderedRelease& finished, const Context& context);

}  // namespace mist::action
