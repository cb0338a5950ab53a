#pragma once
// One path for everything that makes a cluster equal to a set of objects: install, upgrade, rollback and what
// applies recorded objects again. An Intent says whether the verb fits the release, and what is wanted; the
// rest is the same for all: prepare without a lock (prepare.h), plan, lock under the version that was read,
// journal, write, wait, prune, finish (deployment.h). When the release moved meanwhile, everything is looked
// at again.

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "action/authoring/package_changes.h"
#include "action/environment.h"
#include "apply/plan/plan.h"
#include "render/drawn.h"
#include "render/rendered_release.h"

namespace mist::action {

using render::kept_release;
using render::recorded_release;
using render::RenderedRelease;
using render::RotateSecrets;

enum class DryRun : std::uint8_t {
  No,
  Client,  ///< plan only: no write of any kind
  Server,  ///< plan, and let the server check every write without storing it
};

struct DeployOptions {
  DryRun dry_run = DryRun::No;
  bool wait = false;
  bool wait_for_jobs = true;                   ///< until they end; false: until they have begun
  Duration timeout = std::chrono::minutes(5);  ///< of waiting
  bool create_namespace = false;
  apply::AllowedChanges allowed = {};
  bool no_hooks = false;      ///< no hook of a chart runs
  bool allow_empty = false;   ///< a package that makes nothing takes all objects of the release away
  bool skip_crds = false;     ///< what a chart has in crds/ is left as it is
  bool force_crds = false;    ///< CRDs of a chart may change so that they don't fit what is there
  RotateSecrets rotate = {};  ///< which drawn fields may change; the render does the rotating

  /// Should it fail once it was journalled, return to the deployed revision; a first install is removed.
  bool rollback_on_failure = false;
  int history_max = 10;  ///< how many revisions are kept; 0: all
};

/// Of a failed deployment: a revision of it is recorded, so the release is another one than before.
struct RevisionRecorded {
  int number = 0;
};

/// Renders the wanted state of a release as it is now; called again when the release moved.
using Render = std::function<Result<RenderedRelease>(const ReleaseState&)>;

/// The part of a verb that is its own, beside the path that all share.
struct Intent {
  std::string action;  ///< for the record and the lock: "install"
  /// The same as long as nothing of the release was ever deployed; empty: `action`.
  std::string first_action = {};
  /// Refuses releases that the verb doesn't fit; empty: fits all.
  std::function<Status(const ReleaseState&)> check;
  Render render;
  /// Whether finding everything as wanted ends it without a new revision.
  bool may_change_nothing = true;
  /// Which hooks of a chart's release run; of an upgrade where nothing was deployed yet: those of an install.
  apply::HookVerb hooks = apply::HookVerb::None;
  /// Of the deployed revision it needs nothing but what the release owns.
  LostRevision lost = LostRevision::Refused;
  /// Goes back as far as it can: what the server refuses to change back is left as it is
  /// (apply/plan/left_as_is.h). For verbs that apply a recorded revision, where nobody can change what a
  /// package makes.
  bool leaves_refused = false;
  bool read_only = false;          ///< nothing is to be written, whatever the options say
  bool asks_about_changes = true;  ///< whether the server would refuse one (apply::ask_about_all_changes)
  /// The last word on the plan before anything is written; empty: agrees with all.
  std::function<Status(const apply::Plan&)> agree = {};

  const std::string& action_for(const ReleaseState& state) const {
    return first_action.empty() || state.deployed ? action : first_action;
  }
};

/// Refuses a release that is deployed already (Conflict, naming upgrade); one whose first install never
/// finished is installed again.
Intent install_intent(Render render);
/// NotFound if there is no such release, naming install.
Intent upgrade_intent(Render render);
/// Upgrades, or installs a release that doesn't exist or whose first install never finished.
Intent upgrade_or_install_intent(Render render);
/// As upgrade, or as install where there is no such release; for looking only.
Intent preview_intent(Render render);
/// Applies what the deployed revision has recorded once more, from the record alone. NotFound, or Conflict
/// when nothing was ever deployed.
Intent reapply_intent();

struct DeployReport {
  release::ReleaseId id;
  int revision = 0;
  /// false: everything was as wanted, or is left as it was; nothing changed, `revision` is the deployed one
  bool changed = true;
  bool first = false;  ///< nothing of the release was deployed before
  DryRun dry_run = DryRun::No;
  apply::Plan plan;
  release::PackageInfo package;
  std::vector<PackageChange> packages;  ///< in other versions than before; of a first install none
  std::string message;                  ///< of the package to its user; may hold anything
  int restores = -1;  ///< the revision whose record was applied; -1: the package was rendered

  /// ", but for 1 object", of those that were left as they are (apply/plan/left_as_is.h); empty: there are
  /// none.
  std::string but_for_left() const;
  /// Those objects, and why.
  std::map<apimachinery::ObjectKey, std::string> left() const;
};

/// Waits for the release's lock, looks, and does what is to be done, again if the release moved meanwhile.
/// Errors: those of the intent, of its render, of apply::make_plan and of the cluster; Conflict when somebody
/// else is writing to the release.
Result<DeployReport> deploy(const Environment& environment, const release::ReleaseId& id,
                            const Intent& intent, const DeployOptions& options, const Context& context);

/// One try for a release that was just read by read_release_to_write: anchor_moved(error) when it changed
/// since. Nothing is rolled back.
Result<DeployReport> deploy_once(const Environment& environment, ReleaseState state, const Intent& intent,
                                 const DeployOptions& options, const Context& context);

/// Conflict: the release is half uninstalled. For intents.
Status refuse_uninstalling(const ReleaseState& state);
/// NotFound: there is no such release.
Status refuse_missing(const ReleaseState& state);

}  // namespace mist::action
