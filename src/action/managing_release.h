#pragma once
// The Release resource (docs/release-resource.md) that keeps a release as it is written there: what somebody
// else changes is undone at its next look. The record names the one that deployed it last, so that a release
// without one costs no request. Blocking; any thread.

#include <optional>
#include <string>
#include <string_view>

#include "action/environment.h"

namespace mist::action {

struct ManagingRelease {
  enum class State : std::uint8_t {
    Ready,
    NotReady,
    Stalled,  ///< nothing is tried until somebody changes something
    Suspended,
    Unknown,  ///< it can't be read
  };
  std::string ns, name;
  State state = State::Unknown;
  std::string message = {};   ///< why it isn't ready, in its own words
  std::string interval = {};  ///< from look to look, as it is written; empty: the default

  std::string display() const;  ///< "Release shop/web"
};
/// "ready", "not ready", "stalled", "suspended", "unknown"
std::string_view to_string(ManagingRelease::State state);

/// Nothing: no Release keeps it, or the one in its record is gone, or keeps another release by now.
std::optional<ManagingRelease> managing_release_of(const Environment& environment,
                                                   const release::Anchor& anchor, const Context& context);

/// The Release on whose behalf it is done deployed it last, and not a namesake of an earlier time, which may
/// have been deleted and have left the release.
bool is_managed_by(const release::Head& head, const Environment& environment);

/// On behalf of a Release: the record names it from now on, as it would after a deployment. One write, and
/// none where it is named already, or while somebody has the lock. anchor_moved(error): the anchor changed
/// since it was read.
Status record_managing_release(const Environment& environment, const ReleaseState& state,
                               const Context& context);

enum class ManagedChange : std::uint8_t { Deploy, Uninstall };
/// Warns of a Release that will undo what its user is about to do. Nothing where the change is that Release's
/// own, or where it is suspended.
void warn_of_managing_release(const Environment& environment, const ReleaseState& state, ManagedChange change,
                              const Context& context);

}  // namespace mist::action
