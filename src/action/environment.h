#pragma once
// The services that every action on a cluster needs. References outlive the call; any thread.

#include <functional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/event.h"
#include "base/random.h"
#include "kube/client.h"
#include "release/lock.h"
#include "release/store.h"
#include "render/release_facts.h"

namespace mist::action {

using render::FixedInputs;

/// How often a release is looked at again when somebody else changed it between a look and the lock.
inline constexpr int kMostAttempts = 4;

struct Environment {
  kube::Client& client;
  Clock& clock;
  Random& random;
  EventSink& events;
  std::string holder;  ///< who we are, for the lock: "alice@laptop pid 4711"
  Duration lock_term = std::chrono::seconds(15);
  Duration lock_wait = std::chrono::seconds(0);
  /// Seed and clock of a release that is born now; empty: they are drawn.
  std::function<Result<FixedInputs>(const release::ReleaseId&)> fixed = {};
  std::string process = {};  ///< own_process(), for the lock
  /// life_of_process(), of other holders; empty: nobody knows.
  std::function<ProcessLife(std::string_view process)> life = {};
  /// The Release on whose behalf it is done (Head::kept_by), and its uid; empty: a user's.
  std::string managing_release = {}, managing_release_uid = {};

  /// The same, heard by somebody else.
  Environment heard_by(EventSink& sink) const {
    return {client,    clock, random,  sink, holder,           lock_term,
            lock_wait, fixed, process, life, managing_release, managing_release_uid};
  }
};

/// A revision that is kept and can't be read.
struct DamagedRevision {
  int number = -1;
  Error why;
};

/// The owner's part of a release as it is now: read once, then planned on, then locked under the same
/// version.
struct ReleaseState {
  release::ReleaseId id;
  std::optional<release::Anchor> anchor;  ///< nullopt: there is no such release
  std::optional<release::Revision> deployed;
  std::vector<release::Revision>
      unfinished;     ///< every later pending or failed revision that was stored, ascending
  FixedInputs fixed;  ///< of the anchor, or freshly drawn
  std::optional<release::Lock> silent_lock;  ///< release::LockOptions
  /// Of the deployed revision and those after it. The release's objects are then also taken from `labelled`.
  std::vector<DamagedRevision> damaged = {};
  /// Something is deployed, and no revision tells what: `deployed` is empty all the same.
  bool deployed_lost = false;
  /// Objects with the release's labels, where a revision that would name them can't be read.
  std::vector<apply::InventoryItem> labelled = {};
  /// Of revisions before the deployed one (read_kept_rotations).
  release::Rotations kept_rotations = {};

  /// The union of the inventories of the deployed and every later revision; later entries win, by key and by
  /// uid: no object is named twice. Deployed objects are the release's for good, whoever had them before.
  std::vector<apply::InventoryItem> owned() const;
  /// Objects adopted by revisions that never were deployed, and that the deployed one doesn't have: nobody
  /// ever had them as the release's, so no verb deletes them. Empty where the deployed revision is lost.
  std::set<apimachinery::ObjectKey> undeployed_adoptions() const;
  /// Hooks that the deployed revision only names, and that no later one was to run. Where none was ever
  /// deployed: that the unfinished ones only name. Empty where the deployed revision is lost.
  std::set<apimachinery::ObjectKey> hooks_never_run() const;
  /// The number that the next revision gets.
  int next_revision() const;
  /// The numbers of secrets (release::Drawn::used) in later revisions than the deployed one, and
  /// kept_rotations.
  release::Rotations tried_rotations() const;
  /// For rendering the next revision; they refer to this.
  render::ReleaseFacts facts() const;
};

/// Seed and clock for a release that is born now.
FixedInputs draw_fixed_inputs(const Environment& environment);

/// For the next write of a release that has no key for seals (release/seal.h): a new one, under which
/// `revision` is the first that is sealed. Revisions of a time without a key are believed as they are; where
/// a key was there and is lost, none is. nullopt: it has one.
std::optional<release::Seals> new_seals(const Environment& environment, const ReleaseState& state,
                                        int revision);

/// Its uninstall began and has not ended. Of a release that there is.
bool is_uninstalling(const ReleaseState& state);

/// For verbs that need nothing of the deployed revision but what the release owns.
enum class LostRevision : std::uint8_t { Refused, Allowed };

/// A record that is damaged is read as far as it goes, with a warning for each piece. Internal, naming the
/// Secret and the way out, where the deployed revision can't be read and that isn't allowed.
Result<ReleaseState> read_release(const Environment& environment, const release::ReleaseId& id,
                                  const Context& context, LostRevision lost = LostRevision::Refused);

/// For a rotation: fills `kept_rotations` from all revisions that are kept and can be read. A rollback by an
/// older mistctl recorded nothing of the revisions before it.
Status read_kept_rotations(const Environment& environment, ReleaseState& state, const Context& context);

/// The same as read_release for callers that are about to write: while somebody holds the lock, it waits for
/// the end of their work, or until they are silent for a whole term, and reads after that: a plan made of
/// what a dying process was still changing would be wrong. Conflict with the holder's name when it lives on
/// (see Environment::lock_wait).
Result<ReleaseState> read_release_to_write(const Environment& environment, const release::ReleaseId& id,
                                           std::string_view operation, const Context& context,
                                           LostRevision lost = LostRevision::Refused);

/// Revisions that can't be listed count as none, or fail with the error of the LIST.
enum class UnlistedRevisions : std::uint8_t { None, Refused };

/// NotFound, naming the way out: revisions of the release are kept, and the anchor that points to them is
/// gone. For callers that found no anchor: one LIST.
Status refuse_lost_anchor(const Environment& environment, const release::ReleaseId& id,
                          const Context& context, UnlistedRevisions unlisted = UnlistedRevisions::None);

/// The hint where a release isn't found: look elsewhere, or for objects without a record.
std::string missing_hint(const release::ReleaseId& id);
/// The hint where objects may be left of a release whose record has gone with its namespace.
std::string gone_namespace_hint(const release::ReleaseId& id);
/// NotFound: there is no such release, or nothing but revisions of it.
Error missing_release(const Environment& environment, const release::ReleaseId& id, const Context& context);

/// For ReleaseLock.
release::LockDependencies lock_dependencies(const Environment& environment, release::Store& store);
release::LockOptions lock_options(const Environment& environment, std::string_view operation,
                                  const ReleaseState& state);

}  // namespace mist::action
