#pragma once
// All that a deployment sees before it locks anything: the release, the wanted objects, the live objects, and
// the plan made of them. Reads only: diff and dry runs end here. Blocking; any thread.

#include <map>

#include "action/deploy/containers.h"
#include "action/deploy/deploy.h"
#include "apply/plan/used_by_left.h"
#include "render/hidden_values.h"

namespace mist::action {

struct PreparedDeploy {
  ReleaseState state;
  RenderedRelease rendered;                         ///< its objects were moved into plan.desired
  render::HiddenValues hidden;                      ///< of looked-up Secrets, now and in revisions
  DeployOptions options;                            ///< as given, with what the rendered release brings along
  std::vector<release::RenderedObject> tests = {};  ///< of the rendered objects: recorded, not applied
  std::vector<release::RenderedObject> hooks = {};  ///< of a chart, for all verbs; as rendered
  apply::HookVerb verb = apply::HookVerb::None;     ///< whose hooks run
  std::vector<apply::InventoryItem> waiting = {};   ///< hooks, for the plan
  apply::LiveState live;                            ///< what is there of wanted and owned objects
  /// uids of `live`, kept for what compares with them later; only after a holder of the lock fell silent.
  std::set<std::string> seen_uids = {};
  apply::Plan plan;
  Containers containers;  ///< what keeps what the plan removes
  /// Of prepare_readable(): the others. The plan takes them for missing.
  std::map<apimachinery::ObjectKey, std::string> unreadable = {};
  /// Objects that a failing conversion webhook hides. The plan writes them last, and retries for long.
  std::map<apimachinery::ObjectKey, apply::Unconverted> unconverted = {};
  std::vector<render::DrawnChange> drawn_changes = {};  ///< what accept_drawn() refuses; examine.h
  std::vector<render::AgingCertificate> aging = {};     ///< drawn certificates that want to be drawn again
  apply::UsedRemovals used = {};   ///< what stays should one of these be left only when it is written
  bool namespace_missing = false;  ///< of the release: to be created before anything else
  bool leaves_refused = false;     ///< Intent::leaves_refused
  bool read_only = false;          ///< apply::PlanRules::read_only
  bool asks_about_changes = true;  ///< Intent::asks_about_changes
  bool made_namespace = false;     ///< by this run, and not by somebody else meanwhile
  /// Nothing differs: neither objects nor package nor values, and no revision is unfinished.
  bool nothing_new = false;

  /// Objects that were there before the release, and stay although they aren't wanted:
  /// ReleaseState::undeployed_adoptions() and RenderedRelease::adopted_since.
  std::set<apimachinery::ObjectKey> undeployed_adoptions() const;
  /// The tests that would be recorded are not those of the deployed revision.
  bool tests_differ() const;
};

/// NotFound: the release's namespace does not exist, and nobody asked to create it. Other errors: those of
/// deploy() up to its lock.
Result<PreparedDeploy> prepare(const Environment& environment, const release::ReleaseId& id,
                               const Intent& intent, const DeployOptions& options, const Context& context);
/// The same with a release that was just read.
Result<PreparedDeploy> prepare(const Environment& environment, ReleaseState state, const Intent& intent,
                               const DeployOptions& options, const Context& context);

/// For who will not write: what we may not read is no error, but named in PreparedDeploy::unreadable.
Result<PreparedDeploy> prepare_readable(const Environment& environment, const release::ReleaseId& id,
                                        const Intent& intent, const DeployOptions& options,
                                        const Context& context);

/// Refuses what a deployment would refuse before it writes anything: objects that don't fit the cluster's
/// schemas. So a plan or preview reports the same errors. Conflicts are in the plan itself.
Status check_prepared(const Environment& environment, const PreparedDeploy& prepared, const Context& context);

/// apply::explain_refusals() of its plan.
Status explain_refusals(const Environment& environment, PreparedDeploy& prepared, const Context& context);

/// apply::refuse_conflicts() of its plan, with the line of the template, and secrets hidden.
Status refuse_conflicts(const PreparedDeploy& prepared);

/// Reads the cluster and plans once more, for the same wanted objects.
Status refresh(const Environment& environment, PreparedDeploy& prepared, const Context& context);

}  // namespace mist::action
