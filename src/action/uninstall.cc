#include "action/uninstall.h"

#include <algorithm>
#include <set>

#include "action/deploy/deploy.h"
#include "action/deploy/late_writes.h"
#include "action/deploy/take_over.h"
#include "action/managing_release.h"
#include "action/recover/labelled.h"
#include "action/uninstall_run.h"
#include "apply/plan/asked_deletes.h"
#include "apply/plan/observe.h"
#include "base/some_of.h"
#include "base/text.h"
#include "release/command_text.h"
#include "render/recorded_options.h"

namespace mist::action {

using apimachinery::ObjectKey;
using apply::ActionKind;
using apply::HookPhase;
using apply::InventoryItem;
using apply::PlannedAction;
using encoding::Value;
using release::ReleaseId;

namespace {

// The hooks of the deployed revision, except those that an interrupted run already ran. They are added to
// `owned`: nothing else names them before they are there.
Result<std::vector<apply::DesiredObject>> hooks_to_run(const Environment& environment,
                                                       const ReleaseState& state,
                                                       const UninstallOptions& options,
                                                       std::vector<InventoryItem>& owned,
                                                       const Context& context) {
  std::vector<apply::DesiredObject> hooks;
  if (!state.deployed || state.deployed->hooks.empty()) return hooks;
  MIST_TRY(apply::WithHooks all,
           apply::prepare_with_hooks({}, state.deployed->hooks, apply::HookVerb::Uninstall, state.id,
                                     environment.client, context));
  std::set<ObjectKey> known;
  for (const InventoryItem& item : owned) known.insert(item.key);
  for (InventoryItem& hook : all.waiting) {
    if (known.insert(hook.key).second) owned.push_back(std::move(hook));
  }
  // The first install of a release that is undone never was what its hooks expect.
  if (options.no_hooks || options.action == "undo") return hooks;
  std::set<HookPhase> ended;
  if (is_uninstalling(state))
    ended = render::RecordedOptions::from_value(state.anchor->head.options).ended_hooks;
  for (apply::DesiredObject& object : all.desired) {
    if (!ended.contains(object.hook->phase)) hooks.push_back(std::move(object));
  }
  return hooks;
}

// Not made by what is undone. A claim or CRD among the hooks that never ran may have been left by an
// earlier life of the release; who only lost the answer of making it leaves an empty one.
bool was_before(const InventoryItem& item, const Value& live) {
  const bool may_hold_data = !apply::kept_because(item.key, &live, {}).empty();
  return item.adopted || (item.hook && item.uid.empty() && may_hold_data);
}

// An object that can neither be read nor deleted as long as its conversion webhook is down, or its kind isn't
// served. Where its CRD goes too, that needs no conversion any more; anything else is for somebody to
// repair.
Result<PlannedAction> unread_removal(const ReleaseId& id, const InventoryItem& item,
                                     const apply::Unconverted& why, const apply::LiveState& live,
                                     const UninstallOptions& options, bool keep_adopted) {
  const auto crd = live.find({apimachinery::kCustomResourceDefinition, "", why.crd});
  const bool ours =
      crd != live.end() &&
      crd->second.value.string_at({"metadata", "labels", apply::kPartOfLabel}) == apply::apply_set_id(id);
  const bool goes = ours && apply::kept_because(crd->first, &crd->second.value, options.rules).empty();
  if (!goes)
    return error(ErrorKind::Conflict, "{} can be neither read nor deleted", item.key.display())
        .with_because(why.words)
        .with_hint(ours ? fmt::format("{}; or delete CustomResourceDefinition {} with all its objects: add "
                                      "--delete-crds",
                                      why.hint, why.crd)
                        : why.hint);
  PlannedAction action;
  action.kind = keep_adopted && item.adopted ? ActionKind::Retain : ActionKind::Delete;
  action.key = item.key;
  action.resource.gvk = {item.key.group_kind.group, item.version, item.key.group_kind.kind};
  action.uid = item.uid;
  action.recorded.revision = item.revision;
  action.recorded.adopted = item.adopted;
  action.recorded.taken_from = item.taken_from;
  action.live.unreadable = true;
  action.reason = why.served ? fmt::format(
                                   "the release is uninstalled; it can't be read before its CRD, which goes "
                                   "too, converts nothing any more: {}",
                                   why.words)
                             : fmt::format("the release is uninstalled; it goes with its CRD: {}", why.words);
  return action;
}

Result<UninstallPlan> observe_and_plan(const Environment& environment, ReleaseState state,
                                       const UninstallOptions& options, const Context& context) {
  const Activity reading(environment.events, "reading the cluster");
  UninstallPlan plan;
  plan.id = state.id;
  plan.state = std::move(state);
  const ReleaseId& id = plan.id;
  std::vector<InventoryItem> owned = plan.state.owned();
  MIST_TRY(plan.hooks, hooks_to_run(environment, plan.state, options, owned, context));
  std::map<ObjectKey, apply::Unconverted> unconverted;
  MIST_TRY(const apply::LiveState live,
           apply::observe(environment.client, id, {}, owned, context, {.unconverted = &unconverted}));
  warn_of_strays(environment, id, live, {}, owned);
  const std::string part_of = apply::apply_set_id(id);

  const auto keeps = [&,
                      undeployed_adoptions = plan.state.undeployed_adoptions()](const InventoryItem& item) {
    return options.keep_adopted || undeployed_adoptions.contains(item.key);
  };
  std::set<std::string> uids;  // an object may be named twice, under two API groups
  for (const InventoryItem& item : owned) {
    const auto there = live.find(item.key);
    const auto unread = unconverted.find(item.key);
    if (there == live.end() && unread != unconverted.end()) {
      MIST_TRY(PlannedAction action, unread_removal(id, item, unread->second, live, options, keeps(item)));
      if (unread->second.served) plan.unconverted.insert(unread->second.crd);
      plan.removals.push_back(std::move(action));
      continue;
    }
    if (there == live.end()) continue;
    const Value& object = there->second.value;
    if (!apply::is_owned(item, object, part_of)) continue;
    const std::string uid(object.string_at({"metadata", "uid"}));
    if (!uids.insert(uid).second) continue;
    PlannedAction action;
    action.key = item.key;
    action.resource.gvk = {item.key.group_kind.group, item.version, item.key.group_kind.kind};
    // An object that can only be read in another version can only be deleted there.
    if (unread != unconverted.end()) {
      if (const auto read =
              kube::GroupVersionKind::parse(object.string_at("apiVersion"), item.key.group_kind.kind))
        action.resource.gvk.version = read->version;
    }
    action.uid = uid;
    action.live.resource_version = object.string_at({"metadata", "resourceVersion"});
    action.recorded.revision = item.revision;
    action.recorded.adopted = item.adopted;
    action.recorded.taken_from = item.taken_from;
    apply::PruneRules rules = options.rules;
    // Uninstalling removes the namespaces that the release made: what was there is kept below, and what else
    // is in them is looked at then.
    rules.delete_namespaces = true;
    const std::string_view kept = apply::kept_because(item.key, &object, rules);
    action.kind = kept.empty() ? ActionKind::Delete : ActionKind::Retain;
    action.reason = kept.empty() ? "the release is uninstalled" : std::string(kept);
    if (keeps(item) && was_before(item, object) && action.kind == ActionKind::Delete) {
      action.kind = ActionKind::Retain;
      action.reason = "it was there before the release";
    }
    // A namespace is more than an object: whoever made it had something in mind for it.
    if (action.kind == ActionKind::Delete && is_adopted_namespace(action) &&
        !options.rules.delete_namespaces) {
      action.kind = ActionKind::Retain;
      action.reason = "it was there before the release: --delete-namespaces removes it";
    }
    if (action.kind == ActionKind::Delete && apply::live_owner_of(object).part_of != part_of) {
      action.kind = ActionKind::Retain;
      action.reason = apply::kUnmarked;
    }
    plan.removals.push_back(std::move(action));
  }
  MIST_TRY_VOID(plan_returns(environment, plan.state, plan.removals, context));
  plan.containers = Containers(id, options.rules, RecordFate::Goes);
  MIST_TRY_VOID(plan.containers.settle(environment, plan.removals, live, context));
  MIST_TRY_VOID(apply::ask_about_deletes(environment.client, plan.removals, live, options.dry_run, context));
  MIST_TRY_VOID(apply::refuse_undeletable(plan.removals));
  return plan;
}

// A user who marks every object to be kept, on the way back to Helm, doesn't expect that a chart's own
// cleanup deletes them.
void warn_of_hooks_beside_kept(const Environment& environment, const UninstallPlan& plan) {
  constexpr std::size_t kShown = 3;
  std::set<ObjectKey> hooks;
  for (const InventoryItem& item : plan.state.owned())
    if (item.hook) hooks.insert(item.key);
  std::size_t kept = 0;
  for (const PlannedAction& action : plan.removals) {
    if (hooks.contains(action.key)) continue;
    if (action.kind == ActionKind::Delete) return;
    ++kept;
  }
  if (kept == 0 || plan.hooks.empty()) return;
  std::vector<std::string> names;
  for (const apply::DesiredObject& hook : plan.hooks) names.push_back(hook.key.display());
  environment.events.warn(fmt::format(
      "every object of release {} stays, but the chart's delete hooks run and may delete what they clean up: "
      "{}; --no-hooks leaves them out",
      plan.id.display(), some_of(std::move(names), kShown)));
}

}  // namespace

std::size_t UninstallPlan::deletes() const {
  return static_cast<std::size_t>(std::ranges::count(removals, ActionKind::Delete, &PlannedAction::kind));
}

Result<UninstallPlan> plan_uninstall(const Environment& environment, const ReleaseId& id,
                                     const UninstallOptions& options, const Context& context) {
  MIST_TRY(ReleaseState state, options.dry_run ? read_release(environment, id, context, LostRevision::Allowed)
                                               : read_release_to_write(environment, id, options.action,
                                                                       context, LostRevision::Allowed));
  if (!state.anchor) return missing_release(environment, id, context);
  return plan_uninstall(environment, std::move(state), options, context);
}

Result<UninstallPlan> plan_uninstall(const Environment& environment, ReleaseState state,
                                     const UninstallOptions& options, const Context& context) {
  MIST_TRY(UninstallPlan plan, observe_and_plan(environment, std::move(state), options, context));
  warn_of_managing_release(environment, plan.state, ManagedChange::Uninstall, context);
  warn_of_hooks_beside_kept(environment, plan);
  if (options.dry_run) return plan;
  OwnWrites own;
  own.add(plan.removals);
  for (const apply::DesiredObject& hook : plan.hooks) {
    const Value& wanted = hook.rendered.object.value();
    if (apply::kept_because(hook.key, &wanted, options.rules).empty()) own.add_deleted(hook.key);
  }
  MIST_TRY(const std::size_t written, outdate_late_writes(environment, plan.state, own, context));
  if (written == 0) return plan;
  return observe_and_plan(environment, std::move(plan.state), options, context);
}

std::string count_words(const UninstallReport& report) {
  std::string words = plural(report.deleted - report.held.size(), "object") + " deleted";
  if (!report.held.empty()) words += fmt::format(", {} still being deleted", report.held.size());
  if (report.given_back > 0) words += fmt::format(", {} given back", report.given_back);
  if (report.retained > 0) words += fmt::format(", {} retained", report.retained);
  return words;
}

Result<UninstallReport> uninstall(const Environment& environment, UninstallPlan plan,
                                  const UninstallOptions& options, const Context& context) {
  UninstallReport report{.plan = std::move(plan)};
  for (int attempt = 1;; ++attempt) {
    Status done = run_uninstall(environment, options, report, context);
    if (done.ok()) return report;
    if (!options.plan_again || !release::anchor_moved(done.error()) || attempt == kMostAttempts)
      return std::move(done).error();
    MIST_TRY(report.plan, plan_uninstall(environment, ReleaseId(report.plan.id), options, context));
  }
}

}  // namespace mist::action
