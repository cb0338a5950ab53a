#pragma once
// The state of a release and of its objects, read with one LIST for each kind and namespace; of objects that
// are not ready also why, with some requests more. Nothing is written, and nothing is repaired.

#include <optional>
#include <string>
#include <vector>

#include "action/environment.h"
#include "action/managing_release.h"
#include "apply/wait/readiness.h"
#include "base/diagnosis.h"
#include "render/drawn.h"
#include "render/lookup_grants.h"

namespace mist::action {

enum class ObjectHealth : std::uint8_t {
  Ready,
  InProgress,
  Failed,
  Missing,
  Unknown,  ///< what serves its kind doesn't answer, or we may not read it
};
std::string_view to_string(ObjectHealth health);  ///< "ready", "in progress", "failed", "missing", "unknown"

struct ObjectStatus {
  apimachinery::ObjectKey key;
  ObjectHealth health = ObjectHealth::Ready;
  std::string detail;
  int revision = 0;  ///< that last changed it
  bool retained = false;
  bool hook = false;    ///< of a chart: no part of the release's health
  std::string created;  ///< RFC 3339; empty: unknown
};

/// A lock's account of its holder, by comparing two clocks: a guess for people. A writer finds out without
/// comparing any (release/lock.h).
struct HolderLife {
  enum class State : std::uint8_t {
    Alive,
    Silent,  ///< for more than its term: it died, or its clock is behind ours
    Dead,    ///< on this machine, where its process is known to have ended
    Unsure,  ///< its clock is ahead of ours by more than its term, or it says no time
  };
  State state = State::Unsure;
  Duration silent{};  ///< since its last sign of life; negative: its clock is ahead of ours
};
std::string_view to_string(HolderLife::State state);  ///< "alive", "silent", "dead", "unsure"
/// `process`: life_of_process() of the holder.
HolderLife holder_life(const release::Lock& lock, WallTime now, ProcessLife process = ProcessLife::Unknown);

struct ReleaseStatus {
  release::Anchor anchor;
  std::optional<release::Revision> deployed;
  /// Of the newest revision; its name is empty where the record doesn't tell it.
  release::PackageInfo package;
  std::vector<release::Revision> unfinished;  ///< pending or failed after the deployed one
  std::vector<ObjectStatus> objects;
  std::vector<render::AgingCertificate> certificates;  ///< drawn ones that should be drawn again
  /// Why objects that are in progress or failed aren't ready, the failed ones first, hooks of an unfinished
  /// revision among them; those that are not
  /// looked into (apply::kObjectsLookedInto) are left out. nullopt: there are none.
  std::optional<Diagnosis> diagnosis;
  bool locked = false;
  std::optional<HolderLife> holder;  ///< of the lock, if there is one
  std::optional<ManagingRelease> managing_release =
      {};  ///< the Release that keeps it, if the record names one that still does

  std::size_t count(ObjectHealth health) const;

  /// Deployed, nothing unfinished, and every object ready: what a script waits for.
  bool is_healthy() const;
  /// It isn't healthy and won't be unless somebody acts: nobody is writing to it, and nothing is on its way.
  bool is_stuck() const;
};
/// The lookups that the deployed revision was granted; none where none is deployed.
render::LookupGrants lookups_of(const ReleaseStatus& status);

/// NotFound if there is no such release. Looking for root causes takes at most ten seconds (apply::diagnose),
/// and what can't be read of them is no error.
Result<ReleaseStatus> status(const Environment& environment, const release::ReleaseId& id,
                             const Context& context);

}  // namespace mist::action
