#pragma once
// A plan kept in a file, to be carried out later exactly as it was shown: what was rendered, what each object
// looked like, and the release that it was made for. docs/formats/plan.md is the format. It holds Secrets
// and, for a release that isn't there yet, its seed: a file that only its owner may read. Pure; any thread.

#include "action/deploy/prepare.h"

namespace mist::action {

/// 2: the uid of the cluster. A mistctl that doesn't compare it must not carry such a plan out.
inline constexpr int kPlanFormat = 2;

/// One object of the plan, as it was when the plan was made.
struct SavedAction {
  apply::ActionKind kind = apply::ActionKind::Create;
  apply::ObjectKey key = {};
  std::string uid = {};
  std::string reason = {};
  /// Of uid, owner, and each field that differs with its value before and after and who else owns it: what
  /// the decision was made from.
  std::string digest = {};
  std::vector<std::string> fields = {};  ///< paths that differ, for messages
};

struct SavedPlan {
  release::ReleaseId id;
  std::string action;      ///< of the revision that it makes: "install", "upgrade"
  std::string created;     ///< RFC 3339
  std::string created_by;  ///< "alice@laptop pid 4711"
  std::string cluster;     ///< where it was made: kube::Client::describe()
  /// The uid of namespace kube-system there, by which clusters are told apart; empty: it could not be read,
  /// or the plan has format 1.
  std::string cluster_uid;
  std::string anchor_uid;  ///< empty: there was no such release
  release::Head head;      ///< of the release then
  FixedInputs fixed;       ///< of a release that wasn't there: what its package was rendered with
  int revision = 0;        ///< that it makes
  DeployOptions options;   ///< that shaped it
  RenderedRelease rendered;
  std::vector<release::RenderedObject> tests =
      {};  ///< to be recorded; of a plan that was read they are among `rendered`
  std::vector<release::RenderedObject> hooks = {};  ///< likewise
  std::vector<SavedAction> actions;
};

/// Conflict when the plan can't be carried out (apply::refuse_conflicts). Asks which cluster this is, one
/// request.
Result<SavedPlan> save_plan(const Environment& environment, const PreparedDeploy& prepared,
                            const Context& context);

/// The file's text. A digest in it guards against damage.
std::string to_text(const SavedPlan& plan);
/// Invalid: no plan, a damaged one, or one of a newer mistctl.
Result<SavedPlan> saved_plan_from(std::string_view text, const std::string& file);

/// Carries it out: Conflict when this is another cluster (one request), or when the release or what the plan
/// was computed from moved since, naming what. `environment` and `plan` must outlive it.
Intent saved_plan_intent(const Environment& environment, const SavedPlan& plan, const Context& context);

}  // namespace mist::action
