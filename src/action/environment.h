#pragma once
// What every action on a cluster needs from the world. References outlive the call; any thread.

#include <string>

#include "base/clock.h"
#include "base/event.h"
#include "base/random.h"
#include "kube/client.h"
#include "release/lock.h"
#include "release/store.h"

namespace mist::action {

struct Environment {
  kube::Client& client;
  Clock& clock;
  Random& random;
  EventSink& events;
  std::string holder;  ///< who we are, for the lock: "alice@laptop pid 4711"
  Duration lock_term = std::chrono::seconds(15);
  Duration lock_wait = std::chrono::seconds(0);
};

/// What a release draws once, when it is born, and keeps: with it, rendering is a function of its inputs.
struct Birth {
  SecretString seed;         ///< 32 bytes
  std::string frozen_clock;  ///< RFC 3339
};

/// The owner's part of a release as it is now: read once, then planned on, then locked under the same
/// version.
struct ReleaseState {
  release::ReleaseId id;
  std::optional<release::Anchor> anchor;  ///< nullopt: there is no such release
  std::optional<release::Revision> deployed;
  std::vector<release::Revision>
      unfinished;  ///< every later pending or failed revision that was stored, ascending
  Birth birth;     ///< of the anchor, or freshly drawn

  /// The union of the inventories of the deployed and every later revision; later entries win.
  std::vector<release::InventoryItem> owned() const;
  /// The number that the next revision gets.
  int next_revision() const;
};

Result<ReleaseState> read_release(const Environment& environment, const release::ReleaseId& id,
                                  const Context& context);

}  // namespace mist::action
