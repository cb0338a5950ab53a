#include "action/uninstall_run.h"

#include <algorithm>
#include <set>

#include "action/deploy/adopted.h"
#include "action/deploy/late_writes.h"
#include "action/deploy/take_over.h"
#include "action/recover/labelled.h"
#include "action/run_tests.h"
#include "apply/execute/execute.h"
#include "apply/execute/remove.h"
#include "apply/plan/admission_gates.h"
#include "apply/plan/announce.h"
#include "apply/plan/observe.h"
#include "apply/wait/wait.h"
#include "base/text.h"
#include "kube/api_failure.h"
#include "kube/crds.h"
#include "release/command_text.h"
#include "render/recorded_options.h"

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

bool is_own_namespace(const ReleaseId& id, const ObjectKey& key) {
  return key.group_kind == apimachinery::kNamespace && key.name == id.ns;
}

// A namespace that is still needed when everything else is gone: that of the record, and those in which hooks
// run then.
bool goes_last(const UninstallPlan& plan, const ObjectKey& key) {
  if (key.group_kind != apimachinery::kNamespace) return false;
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
    removals.push_back(apply::removal_of(action, known == recorded.end() ? nullptr : known->second));
  }
  return removals;
}

// The objects that hooks left.
struct LeftByHooks {
  std::vector<apply::Removal> removals;                  ///< to be deleted
  std::vector<std::pair<ObjectKey, std::string>> stays;  ///< to be left by a rule, and by which
};

// The hooks of one phase, under the lock.
class HookRunner {
 public:
  HookRunner(const Environment& environment, const UninstallPlan& plan, const UninstallOptions& options,
             const ReleaseLock& lock)
      : environment_(environment), plan_(plan), options_(options), lock_(lock) {}

  /// Returns what they left. `containers` learns what ran: that goes too, but for what stays.
  Result<LeftByHooks> run(HookPhase phase, Containers& containers) {
    std::vector<apply::DesiredObject> hooks;
    for (const apply::DesiredObject& hook : plan_.hooks) {
      if (hook.hook->phase == phase) hooks.push_back(hook);
    }
    if (hooks.empty()) return LeftByHooks();
    const int revision = plan_.state.next_revision();
    const Context context = lock_.context();
    std::vector<InventoryItem> owned = plan_.state.owned();
    MIST_TRY(const apply::LiveState live,
             apply::observe(environment_.client, plan_.id, hooks, owned, context));
    std::erase_if(owned, [&](const InventoryItem& item) {
      return std::ranges::find(hooks, item.key, &apply::DesiredObject::key) == hooks.end();
    });
    MIST_TRY(apply::Plan plan,
             apply::make_plan(plan_.id, std::move(hooks), owned, live, revision,
                              {.was_helms = apply::has_adopted(plan_.id, plan_.state.owned()),
                               .resumes = is_uninstalling(plan_.state) ? revision : -1}));
    hint_at_no_hooks(plan);
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
    return left_by(plan, done, containers);
  }

 private:
  // The flags by which a deployment writes over what is in the way aren't there.
  void hint_at_no_hooks(apply::Plan& plan) const {
    for (PlannedAction& write : plan.writes) {
      const apply::ConflictCause cause = write.refusal.cause;
      if (write.kind != ActionKind::Conflict || cause == apply::ConflictCause::Deleting) continue;
      // An object of the release's own that stays, such as a claim, holds data.
      const bool foreign = cause == apply::ConflictCause::Foreign;
      write.refusal.hint =
          fmt::format("{}go without the hooks: {}", foreign ? "delete it if nobody needs it, or " : "",
                      release::command_text("uninstall", plan_.id, "--no-hooks"));
    }
  }

  LeftByHooks left_by(const apply::Plan& plan, const apply::Execution& done, Containers& containers) const {
    LeftByHooks left;
    std::set<std::string> go;
    for (std::size_t i = 0; i < plan.writes.size(); ++i) {
      const PlannedAction& write = plan.writes[i];
      std::string why = done.deleted[i] != 0 ? std::string() : why_hook_stays(plan, write, done.uids[i]);
      if (!why.empty()) {
        left.stays.emplace_back(write.key, std::move(why));
        continue;
      }
      if (!done.uids[i].empty()) go.insert(done.uids[i]);
      if (done.deleted[i] != 0) continue;
      left.removals.push_back({.key = write.key,
                               .version = write.resource.gvk.version,
                               .uid = done.uids[i],
                               .resource_version = done.versions[i]});
    }
    containers.add_deletions(go);
    return left;
  }

  // The rules for all that the release owns hold for what a hook made too. An object that the
  // plan retains was there before the hook, which wrote it in place.
  std::string why_hook_stays(const apply::Plan& plan, const PlannedAction& write,
                             const std::string& uid) const {
    const auto planned = std::ranges::find_if(plan_.removals, [&](const PlannedAction& each) {
      return each.kind == ActionKind::Retain && each.key == write.key && each.uid == uid;
    });
    if (planned != plan_.removals.end()) return planned->reason;
    apply::PruneRules rules = options_.rules;
    rules.delete_namespaces = true;  // Containers looks at what else is in it
    const Value& wanted = plan.desired[write.desired].rendered.object.value();
    return std::string(apply::kept_because(write.key, &wanted, rules));
  }

  const Environment& environment_;
  const UninstallPlan& plan_;
  const UninstallOptions& options_;
  const ReleaseLock& lock_;
};

// An object that a hook left replaces the one of that name in the plan.
void take_in(std::vector<apply::Removal>& removals, LeftByHooks left) {
  std::erase_if(removals, [&](const apply::Removal& known) {
    return std::ranges::any_of(left.stays, [&](const auto& each) { return each.first == known.key; });
  });
  for (apply::Removal& each : left.removals) {
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

// Then the objects of CRDs that are about to go can be read, and what must stay can be told.
Status convert_nothing(const Environment& environment, const UninstallPlan& plan, const Context& context) {
  for (const PlannedAction& action : plan.removals) {
    if (action.key.group_kind != apimachinery::kCustomResourceDefinition ||
        action.kind != ActionKind::Delete || !plan.unconverted.contains(action.key.name))
      continue;
    const Value patch = Value::object(
        {{"metadata", Value::object({{"uid", action.uid}})},
         {"spec",
          Value::object({{"conversion", Value::object({{"strategy", "None"}, {"webhook", Value()}})}})}});
    auto patched = environment.client.merge_patch({kube::kCrds, "", action.key.name}, patch, context);
    if (!patched.ok())
      return std::move(patched).error().with_frame(
          fmt::format("while taking its conversion webhook from {}", action.key.display()));
    environment.events.warn(fmt::format(
        "{} converts nothing any more, so that its objects can be read and deleted", action.key.display()));
  }
  return {};
}

class UninstallRun {
 public:
  UninstallRun(const Environment& environment, const UninstallOptions& options, UninstallReport& report)
      : environment_(environment),
        options_(options),
        report_(report),
        plan_(report.plan),
        store_(environment.client),
        head_(plan_.state.anchor->head),
        containers_(plan_.containers),
        undeployed_adoptions_(plan_.state.undeployed_adoptions()) {}

  Status run(const Context& context) {
    MIST_TRY_VOID(lock(context));
    announce();
    if (Status done = carry_out(); !done.ok()) return lock_->lost() ? lock_->loss() : std::move(done).error();
    lock_->drop();
    // The lock goes with it, so nobody can wait under that.
    return options_.wait ? wait_for_own_namespace(context) : Status();
  }

 private:
  Status lock(const Context& context) {
    const Activity locking(environment_.events, "locking the release");
    head_.status = release::RevisionStatus::Uninstalling;
    head_.action = options_.action;
    head_.updated = format_time(environment_.clock.now());
    const bool goes_on = is_uninstalling(plan_.state);
    progress_ = {.allowed = {.prune = options_.rules}, .no_hooks = options_.no_hooks};
    if (goes_on) progress_.ended_hooks = render::RecordedOptions::from_value(head_.options).ended_hooks;
    head_.options = to_value(progress_);
    MIST_TRY(others_, TakeOver::begin(environment_, plan_.state, {}, plan_.removals, std::nullopt, context));
    MIST_TRY(lock_,
             ReleaseLock::acquire(lock_dependencies(environment_, store_), *plan_.state.anchor,
                                  {.head = head_, .lock = {}, .group_kinds = {}, .additional_namespaces = {}},
                                  lock_options(environment_, options_.action, plan_.state), context));
    return {};
  }

  // It was there before an install that is undone. That is told of when it is as before.
  bool is_adopted(const PlannedAction& action) const {
    return (options_.keep_adopted || undeployed_adoptions_.contains(action.key)) && action.recorded.adopted &&
           action.kind == ActionKind::Retain && !is_return(action);
  }

  void announce() {
    environment_.events.planned(apply::announcement(plan_.removals, plan_.id, options_.action));
    for (const PlannedAction& action : plan_.removals) {
      if (action.kind != ActionKind::Retain || is_return(action)) continue;
      ++report_.retained;
      if (!is_adopted(action)) environment_.events.object({action.key.display(), "retained", action.reason});
    }
  }

  Status carry_out() {
    MIST_TRY_VOID(remove_test_leftovers(environment_, plan_.state, lock_->context()));
    HookRunner hooks(environment_, plan_, options_, *lock_);
    std::vector<apply::Removal> first = removals_of(plan_, false), last = removals_of(plan_, true);
    MIST_TRY(LeftByHooks left, hooks.run(HookPhase::Before, containers_));
    MIST_TRY_VOID(note_ended(HookPhase::Before));
    note_what_stays(left);
    take_in(first, std::move(left));
    MIST_TRY_VOID(convert_nothing(environment_, plan_, lock_->context()));
    MIST_TRY_VOID(remove(first, options_.wait || has_hooks(HookPhase::After)));
    MIST_TRY_VOID(give_back());
    MIST_TRY_VOID(return_adopted());
    // Once the record is gone, nothing tells any more what was taken from whom.
    if (others_) others_->let_go(environment_, {});
    MIST_TRY(left, hooks.run(HookPhase::After, containers_));
    MIST_TRY_VOID(note_ended(HookPhase::After));
    note_what_stays(left);
    MIST_TRY_VOID(remove(left.removals, options_.wait));
    std::erase_if(last, [&](const apply::Removal& each) { return stay_.contains(each.key); });
    const auto own = std::ranges::partition(
        last, [&](const apply::Removal& each) { return !is_own_namespace(plan_.id, each.key); });
    const std::vector<apply::Removal> home(own.begin(), own.end());
    last.erase(own.begin(), own.end());
    MIST_TRY_VOID(remove(last, options_.wait));
    MIST_TRY_VOID(remove_late_arrivals());
    MIST_TRY_VOID(remove(home, false));
    return remove_record();
  }

  // An object that the plan retains was announced with it.
  void note_what_stays(const LeftByHooks& left) {
    for (const auto& [key, why] : left.stays) {
      const auto planned = std::ranges::find(plan_.removals, key, &PlannedAction::key);
      if (planned != plan_.removals.end() && planned->kind == ActionKind::Retain) continue;
      if (!stay_.insert(key).second) continue;
      environment_.events.object({key.display(), "retained", why});
      retain(report_, key, why);
    }
  }

  bool has_hooks(HookPhase phase) const {
    return std::ranges::any_of(plan_.hooks,
                               [&](const apply::DesiredObject& hook) { return hook.hook->phase == phase; });
  }

  // Recorded, so that whoever goes on doesn't run them again among the ruins.
  Status note_ended(HookPhase phase) {
    if (!has_hooks(phase)) return {};
    progress_.ended_hooks.insert(phase);
    head_.options = to_value(progress_);
    return lock_->change({.head = head_, .lock = {}, .group_kinds = {}, .additional_namespaces = {}});
  }

  Status remove(const std::vector<apply::Removal>& removals, bool until_gone) {
    if (removals.empty()) return {};
    Activity activity(environment_.events, fmt::format("deleting {}", plural(removals.size(), "object")));
    // A prompt and the deleting of all the rest lie between the plan and the end of a namespace.
    const auto last_check = [this](const apply::Removal& removal) {
      return containers_.last_check(environment_, removal.key, lock_->context());
    };
    apply::RemovalReport done =
        apply::execute_removals(environment_.client, removals, apply::apply_set_id(plan_.id),
                                {.wait = until_gone,
                                 .timeout = options_.timeout,
                                 .last_check = last_check,
                                 .gone_gates = apply::names_of_gates(plan_.removals)},
                                environment_.events, lock_->context());
    report_.deleted += static_cast<std::size_t>(std::ranges::count(done.outcomes, apply::Outcome::Done));
    for (auto& [position, why] : done.stayed) retain(report_, removals[position].key, std::move(why));
    for (auto& [position, held] : done.held) {
      const ObjectKey& key = removals[position].key;
      const auto planned = std::ranges::find(plan_.removals, key, &PlannedAction::key);
      if (planned != plan_.removals.end()) planned->reason = held.why;
      report_.held.emplace_back(key, std::move(held.why));
    }
    if (!done.failure) return {};
    activity.fail();
    return std::move(*done.failure)
        .with_hint(fmt::format("run {} again: it goes on where this one ended",
                               release::command_text("uninstall", plan_.id, options_.wait ? "--wait" : "")));
  }

  Status give_back() {
    std::set<ObjectKey> given;
    if (others_) {
      auto done = others_->give_back(environment_, plan_.state, plan_.removals,
                                     {.force_conflicts = options_.force_conflicts,
                                      .timeout = options_.timeout,
                                      .replace = options_.replace},
                                     lock_->context());
      if (!done.ok() && kube::is_field_conflict(done.error()))
        done.error().hint =
            "take these fields with " + release::command_text("recover", plan_.id, "--force-conflicts");
      MIST_TRY(given, std::move(done));
    }
    for (PlannedAction& action : plan_.removals) {
      if (!is_return(action)) continue;
      ++(given.contains(action.key) ? report_.given_back : report_.retained);
      if (given.contains(action.key)) continue;
      action.reason =
          fmt::format("release {} does not have it any more, or it changed meanwhile", action.owner);
      action.owner.clear();
    }
    return {};
  }

  Status return_adopted() {
    for (PlannedAction& action : plan_.removals) {
      if (is_adopted_namespace(action) && action.kind == ActionKind::Retain && !is_adopted(action))
        MIST_TRY_VOID(leave_adopted(environment_, plan_.id, action, lock_->context()));
      if (!is_adopted(action)) continue;
      MIST_TRY(GivenBack given, give_adopted_back(environment_, plan_.state, action, lock_->context()));
      if (!given.words.empty()) action.reason = std::move(given.words);
      environment_.events.object({action.key.display(), "retained", action.reason});
    }
    return {};
  }

  // The record is about to go, and with it what would name them.
  Status remove_late_arrivals() {
    if (!plan_.state.silent_lock) return {};
    std::set<std::string> seen;
    for (const PlannedAction& action : plan_.removals) seen.insert(action.uid);
    MIST_TRY(
        const std::vector<apply::Removal> late,
        late_arrivals(environment_, plan_.id, plan_.state.owned(), seen, options_.rules, lock_->context()));
    return remove(late, options_.wait);
  }

  // The namespace of the record, if it goes; else null.
  const PlannedAction* own_namespace() const {
    const auto found = std::ranges::find_if(plan_.removals, [&](const PlannedAction& each) {
      return each.kind == ActionKind::Delete && is_own_namespace(plan_.id, each.key);
    });
    return found == plan_.removals.end() ? nullptr : &*found;
  }

  Status wait_until_gone(const PlannedAction& removed, const Context& context) {
    MIST_TRY(kube::ResourceInfo resource,
             environment_.client.resource_for(removed.key.group_kind, removed.resource.gvk.version, context));
    return apply::wait_until_gone(environment_.client, {std::move(resource), "", removed.key.name},
                                  removed.uid, options_.timeout, context);
  }

  Status wait_for_own_namespace(const Context& context) {
    const PlannedAction* const own = own_namespace();
    if (own == nullptr) return {};
    Activity activity(environment_.events, fmt::format("waiting until {} is gone", own->key.display()));
    Status gone = wait_until_gone(*own, context);
    if (!gone.ok()) {
      activity.fail();
      return std::move(gone)
          .error()
          .with_frame(fmt::format("while waiting until {} is gone", own->key.display()))
          .with_hint(fmt::format("the record is gone or goes with it; {} get namespace {} -o yaml shows what "
                                 "is left in it",
                                 environment_.client.kubectl(), own->key.name));
    }
    environment_.events.object({own->key.display(), "deleted", {}});
    std::erase_if(report_.held, [&](const auto& held) { return held.first == own->key; });
    return {};
  }

  // It goes with its namespace: while that is there, the release is not uninstalled.
  Status remove_record() {
    if (own_namespace() != nullptr) return {};
    std::set<int> read;
    if (plan_.state.deployed) read.insert(plan_.state.deployed->number);
    for (const release::Revision& each : plan_.state.unfinished) read.insert(each.number);
    MIST_TRY_VOID(store_.delete_revisions(plan_.id, read, lock_->context())
                      .in("while deleting the release's revisions"));
    return store_.delete_anchor(lock_->anchor(), lock_->context());
  }

  const Environment& environment_;
  const UninstallOptions& options_;
  UninstallReport& report_;
  UninstallPlan& plan_;  // the report's
  release::Store store_;
  release::Head head_;
  render::RecordedOptions progress_;  // what the head records of it
  std::optional<TakeOver> others_;    // other releases, locked until objects have moved or not
  std::unique_ptr<ReleaseLock> lock_;
  Containers containers_;
  const std::set<ObjectKey> undeployed_adoptions_;
  std::set<ObjectKey> stay_;  // what hooks left and is retained
};

}  // namespace

bool is_adopted_namespace(const PlannedAction& action) {
  return action.recorded.adopted && action.key.group_kind == apimachinery::kNamespace && !is_return(action);
}

Status run_uninstall(const Environment& environment, const UninstallOptions& options, UninstallReport& report,
                     const Context& context) {
  return UninstallRun(environment, options, report).run(context);
}

}  // namespace mist::action
