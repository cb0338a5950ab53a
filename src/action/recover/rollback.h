#pragma once
// Back to an earlier revision: its package, values, options and objects, definitions included, from the
// record alone; nothing is rendered or fetched. A rollback is itself a new revision, and prunes what the
// later ones made. What they adopted was there before: it stays, belongs to nobody again, and is what it was
// where the record still tells (adopted.h).

#include <optional>

#include "action/deploy/deploy.h"

namespace mist::action {

/// To revision `to`, or to the last good one before the newest. Errors of the deployment: NotFound or
/// Conflict when that revision doesn't exist, is no longer kept or never became good, with a list of those
/// that are there. Uses `environment` and `context` until the deployment ends.
Intent rollback_intent(const Environment& environment, std::optional<int> to, const Context& context);

/// What a recorded revision gives to one that goes back to it: everything but its permission to delete.
RenderedRelease restored_release(const release::Revision& revision, const std::string& ns);

/// For `finished`, which ends the newest revision of `state`: where that was a rollback, what it goes back
/// over. Errors: of the requests.
Status note_adoptions_gone_back_over(const Environment& environment, const ReleaseState& state,
                                     RenderedRelease& finished, const Context& context);

}  // namespace mist::action
