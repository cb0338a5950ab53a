#include "action/uninstall.h"

#include <algorithm>
#include <set>

#include "action/deploy/adopted.h"
#include "action/deploy/deploy.h"
#include "action/deploy/late_deletes.h"
#include "action/deploy/recorded_options.h"
#include "action/deploy/take_over.h"
#include "action/kept_by.h"
#include "action/recover/labelled.h"
#include "action/run_tests.h"
#include "apply/execute/remove.h"
#include "apply/plan/announce.h"
#include "apply/plan/observe.h"
#include "apply/plan/settle.h"
#include "apply/wait/wait.h"
#include "base/text.h"
#include "kube/api_failure.h"
#include "kube/definitions.h"
#include "release/command_text.h"

namespace mist::action {

using apimachinery::GroupKind;
using apimachinery::ObjectKey;
using apply::ActionKind;
using apply::HookPhase;
using apply::InventoryItem;
using apply::PlannedAction;
using encoding::Value;
using release::ReleaseId;
using release::ReleaseLock;

namespace {

const GroupKind kNamespaceKind{"", "Namespace"};

bool is_own_namespace(const ReleaseId& id, const ObjectKey& key) {
  return key.group_kind == kNamespaceKind && key.name == id.ns;
}

bool is_adopted_namespace(const PlannedAction& action) {
  return action.adopted && action.key.group_kind == kNamespaceKind && !is_return(action);
}

// A namespace that is still needed when everything else is gone: that of the record, and those in which hooks
// run then.
bool goes_last(const UninstallPlan& plan, const ObjectKey& key) {
  if (key.group_kind != kNamespaceKind) return false;
  return key.name == plan.id.ns || std::ranges::any_of(plan.hooks, [&](const apply::DesiredObject& hook) {
           return hook.hook->phase == HookPhase::After && hook.key.ns == key.name;
         });
}

std::vector<apply::Removal> removals_of(const UninstallPlan& plan, bool last) {
  std::map<ObjectKey, const apimachinery::Object*> recorded;
  const auto look = [&](const release::Revision& revision) {
    for (const auto* list : {&revision.objects, &revision.hooks}) {
      for (const release::RenderedObject& rendered : *list)
        recorded[rendered.object.key()] = &rendered.object;
    }
  };
  if (plan.state.deployed) look(*plan.state.deployed);
  for (const release::Revision& revision : plan.state.unfinished) look(revision);
  std::vector<apply::Removal> removals;
  for (const PlannedAction& action : plan.removals) {
    if (action.kind != ActionKind::Delete || goes_last(plan, action.key) != last) continue;
    const auto known = recorded.find(action.key);
    removals.push_back({action.key, action.resource.gvk.version, action.uid,
                        known == recorded.end() ? nullptr : known->second, action.unreadable, action.seen});
  }
  return removals;
}

}  // namespace

namespace {

// Those of the deployed revision, but for what an interrupted run did already. What they are called becomes
// owned: nothing else names them before they are there.
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
  const Value& done = state.anchor->head.options;
  const bool before_ended = is_uninstalling(state) && done.is_true_at(kBeforeEnded);
  const bool after_ended = is_uninstalling(state) && done.is_true_at(kAfterEnded);
  for (apply::DesiredObject& object : all.desired) {
    if (!(object.hook->phase == HookPhase::Before ? before_ended : after_ended))
      hooks.push_back(std::move(object));
  }
  return hooks;
}

// Not made by what is undone. A claim or definition among the hooks that never ran may have been left by an
// earlier life of the release; who only lost the answer of making it leaves an empty one.
bool was_before(const InventoryItem& item, const Value& live) {
  const bool may_hold_data = !apply::kept_because(item.key, &live, {}).empty();
  return item.adopted || (item.hook && item.uid.empty() && may_hold_data);
}

// An object that can neither be read nor deleted as long as its conversion webhook is down, or its kind isn't
// served. Where its definition goes too, that needs no conversion any more; anything else is for somebody to
// repair.
Result<PlannedAction> unread_removal(const ReleaseId& id, const InventoryItem& item,
                                     const apply::Unconverted& why, const apply::LiveState& live,
                                     const UninstallOptions& options, bool keep_adopted) {
  const auto definition = live.find({apimachinery::kCustomResourceDefinition, "", why.definition});
  const bool ours = definition != live.end() &&
                    definition->second.value.string_at({"metadata", "labels", apply::kPartOfLabel}) ==
                        apply::apply_set_id(id);
  const bool goes =
      ours && apply::kept_because(definition->first, &definition->second.value, options.rules).empty();
  if (!goes)
    return error(ErrorKind::Conflict, "{} can be neither read nor deleted", item.key.display())
        .with_because(why.words)
        .with_hint(ours ? fmt::format("{}; or delete CustomResourceDefinition {} with all its objects: add "
                                      "--delete-crds",
                                      why.hint, why.definition)
                        : why.hint);
  PlannedAction action;
  action.kind = keep_adopted && item.adopted ? ActionKind::Retain : ActionKind::Delete;
  action.key = item.key;
  action.resource.gvk = {item.key.group_kind.group, item.version, item.key.group_kind.kind};
  action.uid = item.uid;
  action.revision = item.revision;
  action.adopted = item.adopted;
  action.taken_from = item.taken_from;
  action.unreadable = true;
  action.reason = why.served
                      ? fmt::format(
                            "the release is uninstalled; it can't be read before its definition, which goes "
                            "too, converts nothing any more: {}",
                            why.words)
                      : fmt::format("the release is uninstalled; it goes with its definition: {}", why.words);
  return action;
}

Result<UninstallPlan> look_and_plan(const Environment& environment, ReleaseState state,
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

  const auto keeps = [&, in_vain = plan.state.adopted_in_vain()](const InventoryItem& item) {
    return options.keep_adopted || in_vain.contains(item.key);
  };
  std::set<std::string> uids;  // an object may be named twice, under two API groups
  for (const InventoryItem& item : owned) {
    const auto there = live.find(item.key);
    const auto unread = unconverted.find(item.key);
    if (there == live.end() && unread != unconverted.end()) {
      MIST_TRY(PlannedAction action, unread_removal(id, item, unread->second, live, options, keeps(item)));
      if (unread->second.served) plan.unconverted.insert(unread->second.definition);
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
    // What can only be read in another version can only be deleted there.
    if (unread != unconverted.end()) {
      if (const auto read =
              kube::GroupVersionKind::parse(object.string_at("apiVersion"), item.key.group_kind.kind))
        action.resource.gvk.version = read->version;
    }
    action.uid = uid;
    action.seen = object.string_at({"metadata", "resourceVersion"});
    action.revision = item.revision;
    action.adopted = item.adopted;
    action.taken_from = item.taken_from;
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
    if (action.kind == ActionKind::Delete && apply::marks_of(object).part_of != part_of) {
      action.kind = ActionKind::Retain;
      action.reason = apply::kUnmarked;
    }
    plan.removals.push_back(std::move(action));
  }
  MIST_TRY_VOID(plan_returns(environment, plan.state, plan.removals, context));
  plan.containers = Containers(id, options.rules, RecordFate::Goes);
  MIST_TRY_VOID(plan.containers.settle(environment, plan.removals, live, context));
  return plan;
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
  MIST_TRY(UninstallPlan plan, look_and_plan(environment, std::move(state), options, context));
  warn_of_keeper(environment, plan.state, KeptChange::Uninstall, context);
  if (options.dry_run) return plan;
  std::set<ObjectKey> going = going_by(plan.removals);
  for (const apply::DesiredObject& hook : plan.hooks) going.insert(hook.key);
  MIST_TRY(const std::size_t written, outdate_late_deletes(environment, plan.state, going, context));
  if (written == 0) return plan;
  return look_and_plan(environment, std::move(plan.state), options, context);
}

namespace {

// The hooks of one phase, under the lock. Returns what they left, to be deleted.
class HookRunner {
 public:
  HookRunner(const Environment& environment, const UninstallPlan& plan, const UninstallOptions& options,
             const ReleaseLock& lock)
      : environment_(environment), plan_(plan), options_(options), lock_(lock) {}

  /// `containers` learns what ran: that goes too.
  Result<std::vector<apply::Removal>> run(HookPhase phase, Containers& containers) {
    std::vector<apply::Removal> left;
    std::vector<apply::DesiredObject> hooks;
    for (const apply::DesiredObject& hook : plan_.hooks) {
      if (hook.hook->phase == phase) hooks.push_back(hook);
    }
    if (hooks.empty()) return left;
    const int revision = plan_.state.next_revision();
    const Context context = lock_.context();
    std::vector<InventoryItem> owned = plan_.state.owned();
    MIST_TRY(const apply::LiveState live,
             apply::observe(environment_.client, plan_.id, hooks, owned, context));
    std::erase_if(owned, [&](const InventoryItem& item) {
      return std::ranges::find(hooks, item.key, &apply::DesiredObject::key) == hooks.end();
    });
    MIST_TRY(apply::Plan plan, apply::make_plan(plan_.id, std::move(hooks), owned, live, revision,
                                                {.resumes = is_uninstalling(plan_.state) ? revision : -1}));
    MIST_TRY_VOID(apply::refuse_conflicts(plan));
    Activity activity(environment_.events, fmt::format("running {}", plural(plan.writes.size(), "hook")));
    apply::Execution done = apply::execute_writes(
        environment_.client, plan, {.edge_timeout = options_.timeout}, environment_.events, context);
    if (done.failure) {
      activity.fail();
      return (*std::move(done.failure))
          .with_frame(fmt::format("while running the hooks {} {} is uninstalled",
                                  phase == HookPhase::Before ? "before" : "after", plan_.id.display()))
          .with_hint(
              fmt::format("fix the cause and run {} again, or add --no-hooks to go without them",
                          release::command_text("uninstall", plan_.id, options_.wait ? "--wait" : "")));
    }
    containers.will_go({done.uids.begin(), done.uids.end()});
    for (std::size_t i = 0; i < plan.writes.size(); ++i) {
      if (done.deleted[i] != 0) continue;
      const apply::PlannedAction& write = plan.writes[i];
      left.push_back({.key = write.key,
                      .version = write.resource.gvk.version,
                      .uid = done.uids[i],
                      .resource_version = done.versions[i]});
    }
    return left;
  }

 private:
  const Environment& environment_;
  const UninstallPlan& plan_;
  const UninstallOptions& options_;
  const ReleaseLock& lock_;
};

// What a hook left takes the place of what the plan knew under its name.
void take_in(std::vector<apply::Removal>& removals, std::vector<apply::Removal> left) {
  for (apply::Removal& each : left) {
    std::erase_if(removals, [&](const apply::Removal& known) {
      return known.key == each.key || (!each.uid.empty() && known.uid == each.uid);
    });
    removals.push_back(std::move(each));
  }
}

void retain(UninstallReport& report, const ObjectKey& key, std::string why) {
  ++report.retained;
  const auto planned = std::ranges::find(report.plan.removals, key, &PlannedAction::key);
  if (planned == report.plan.removals.end()) return;  // what a hook left
  planned->kind = ActionKind::Retain;
  planned->reason = std::move(why);
}

// Then the objects of definitions that are about to go can be read, and what must stay can be told.
Status convert_nothing(const Environment& environment, const UninstallPlan& plan, const Context& context) {
  for (const PlannedAction& action : plan.removals) {
    if (action.key.group_kind != apimachinery::kCustomResourceDefinition ||
        action.kind != ActionKind::Delete || !plan.unconverted.contains(action.key.name))
      continue;
    const Value patch = Value::object(
        {{"metadata", Value::object({{"uid", action.uid}})},
         {"spec",
          Value::object({{"conversion", Value::object({{"strategy", "None"}, {"webhook", Value()}})}})}});
    auto patched = environment.client.merge_patch({kube::kDefinitions, "", action.key.name}, patch, context);
    if (!patched.ok())
      return std::move(patched).error().with_frame(
          fmt::format("while taking its conversion webhook from {}", action.key.display()));
    environment.events.warn(fmt::format(
        "{} converts nothing any more, so that its objects can be read and deleted", action.key.display()));
  }
  return {};
}

// One run under the lock. `report` holds the plan, and gets what was done.
Status uninstall_once(const Environment& environment, const UninstallOptions& options,
                      UninstallReport& report, const Context& context) {
  const UninstallPlan& plan = report.plan;
  release::Store store(environment.client);
  release::Head head = plan.state.anchor->head;
  head.status = release::RevisionStatus::Uninstalling;
  head.action = options.action;
  head.updated = format_time(environment.clock.now());
  const bool goes_on = is_uninstalling(plan.state);
  Value progress = recorded_options({.prune = options.rules});
  if (options.no_hooks) progress.set(kNoHooks, true);
  for (const std::string_view ended : {kBeforeEnded, kAfterEnded}) {
    if (goes_on && head.options.is_true_at(ended)) progress.set(ended, true);
  }
  head.options = std::move(progress);
  std::optional<Activity> locking(std::in_place, environment.events, "locking the release");
  MIST_TRY(std::optional<TakeOver> others,
           TakeOver::begin(environment, plan.state, {}, plan.removals, std::nullopt, context));
  MIST_TRY(const std::unique_ptr<ReleaseLock> lock,
           ReleaseLock::acquire(lock_world(environment, store), *plan.state.anchor,
                                {.head = head, .lock = {}, .group_kinds = {}, .additional_namespaces = {}},
                                lock_options(environment, options.action, plan.state), context));
  locking.reset();

  environment.events.planned(apply::announcement(plan.removals, plan.id, options.action));
  // What was there before an install that is undone is told of when it is as before.
  const auto is_adopted = [&, in_vain = plan.state.adopted_in_vain()](const PlannedAction& action) {
    return (options.keep_adopted || in_vain.contains(action.key)) && action.adopted &&
           action.kind == ActionKind::Retain && !is_return(action);
  };
  for (const PlannedAction& action : plan.removals) {
    if (action.kind != ActionKind::Retain || is_return(action)) continue;
    ++report.retained;
    if (!is_adopted(action)) environment.events.object({action.key.display(), "retained", action.reason});
  }
  // A prompt and the deleting of all the rest lie between the plan and the end of a namespace.
  Containers containers = plan.containers;
  const auto last_look = [&](const apply::Removal& removal) {
    return containers.last_look(environment, removal.key, lock->context());
  };
  const auto remove = [&](const std::vector<apply::Removal>& removals, bool until_gone) -> Status {
    if (removals.empty()) return {};
    Activity activity(environment.events, fmt::format("deleting {}", plural(removals.size(), "object")));
    apply::RemovalReport done =
        apply::execute_removals(environment.client, removals, apply::apply_set_id(plan.id),
                                {.wait = until_gone, .timeout = options.timeout, .last_look = last_look},
                                environment.events, lock->context());
    report.deleted += static_cast<std::size_t>(std::ranges::count(done.outcomes, apply::Outcome::Done));
    for (auto& [position, why] : done.stayed) retain(report, removals[position].key, std::move(why));
    for (auto& [position, held] : done.held) {
      const ObjectKey& key = removals[position].key;
      const auto planned = std::ranges::find(report.plan.removals, key, &PlannedAction::key);
      if (planned != report.plan.removals.end()) planned->reason = held.why;
      report.held.emplace_back(key, std::move(held.why));
    }
    if (!done.failure) return {};
    activity.fail();
    return std::move(*done.failure)
        .with_hint(fmt::format("run {} again: it goes on where this one ended",
                               release::command_text("uninstall", plan.id, options.wait ? "--wait" : "")));
  };
  HookRunner hooks(environment, plan, options, *lock);
  // Recorded, so that whoever goes on doesn't run them again among the ruins.
  const auto ended = [&](HookPhase phase, std::string_view flag) -> Status {
    const auto ran = [&](const apply::DesiredObject& hook) { return hook.hook->phase == phase; };
    if (std::ranges::none_of(plan.hooks, ran)) return {};
    head.options.set(flag, true);
    return lock->change({.head = head, .lock = {}, .group_kinds = {}, .additional_namespaces = {}});
  };
  const auto give_back = [&]() -> Status {
    std::set<ObjectKey> given;
    if (others) {
      auto done = others->give_back(environment, plan.state, plan.removals,
                                    {.force_conflicts = options.force_conflicts,
                                     .timeout = options.timeout,
                                     .replace = options.replace},
                                    lock->context());
      if (!done.ok() && kube::is_field_conflict(done.error()))
        done.error().hint =
            "take these fields with " + release::command_text("recover", plan.id, "--force-conflicts");
      MIST_TRY(given, std::move(done));
    }
    for (PlannedAction& action : report.plan.removals) {
      if (!is_return(action)) continue;
      ++(given.contains(action.key) ? report.given_back : report.retained);
      if (given.contains(action.key)) continue;
      action.reason =
          fmt::format("release {} does not have it any more, or it changed meanwhile", action.owner);
      action.owner.clear();
    }
    return {};
  };
  const auto return_adopted = [&]() -> Status {
    for (PlannedAction& action : report.plan.removals) {
      if (is_adopted_namespace(action) && action.kind == ActionKind::Retain && !is_adopted(action))
        MIST_TRY_VOID(leave_adopted(environment, plan.id, action, lock->context()));
      if (!is_adopted(action)) continue;
      MIST_TRY(std::string words, give_adopted_back(environment, plan.state, action, lock->context()));
      if (!words.empty()) action.reason = std::move(words);
      environment.events.object({action.key.display(), "retained", action.reason});
    }
    return {};
  };
  // The record is about to go, and with it what would name them.
  const auto remove_late_arrivals = [&]() -> Status {
    if (!plan.state.silent_lock) return {};
    std::set<std::string> seen;
    for (const PlannedAction& action : plan.removals) seen.insert(action.uid);
    MIST_TRY(const std::vector<apply::Removal> late,
             late_arrivals(environment, plan.id, plan.state.owned(), seen, options.rules, lock->context()));
    return remove(late, options.wait);
  };
  const auto run = [&]() -> Status {
    MIST_TRY_VOID(remove_test_leftovers(environment, plan.state, lock->context()));
    std::vector<apply::Removal> first = removals_of(plan, false), last = removals_of(plan, true);
    MIST_TRY(std::vector<apply::Removal> left, hooks.run(HookPhase::Before, containers));
    MIST_TRY_VOID(ended(HookPhase::Before, kBeforeEnded));
    take_in(first, std::move(left));
    MIST_TRY_VOID(convert_nothing(environment, plan, lock->context()));
    const bool more = std::ranges::any_of(
        plan.hooks, [](const apply::DesiredObject& hook) { return hook.hook->phase == HookPhase::After; });
    MIST_TRY_VOID(remove(first, options.wait || more));
    MIST_TRY_VOID(give_back());
    MIST_TRY_VOID(return_adopted());
    // Once the record is gone, nothing tells any more what was taken from whom.
    if (others) others->let_go(environment, {});
    MIST_TRY(left, hooks.run(HookPhase::After, containers));
    MIST_TRY_VOID(ended(HookPhase::After, kAfterEnded));
    MIST_TRY_VOID(remove(left, options.wait));
    MIST_TRY_VOID(remove(last, options.wait));
    MIST_TRY_VOID(remove_late_arrivals());
    // The record goes with its namespace: while it is there, the release is not uninstalled.
    const auto own_goes = [&](const PlannedAction& each) {
      return each.kind == ActionKind::Delete && is_own_namespace(plan.id, each.key);
    };
    if (std::ranges::any_of(plan.removals, own_goes)) return {};
    MIST_TRY_VOID(
        store.delete_revisions(plan.id, lock->context()).in("while deleting the release's revisions"));
    return store.delete_anchor(lock->anchor(), lock->context());
  };
  if (Status done = run(); !done.ok()) return lock->lost() ? lock->loss() : std::move(done).error();
  lock->drop();
  return {};
}

}  // namespace

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
  for (int look = 1;; ++look) {
    Status done = uninstall_once(environment, options, report, context);
    if (done.ok()) return report;
    if (!options.plan_again || !release::anchor_moved(done.error()) || look == kLooks)
      return std::move(done).error();
    MIST_TRY(report.plan, plan_uninstall(environment, ReleaseId(report.plan.id), options, context));
  }
}

}  // namespace mist::action
