#include "action/deploy/deployment.h"

#include <algorithm>
#include <set>

#include "action/recover/labelled.h"
#include "action/recover/record_head.h"
#include "apply/execute/remove.h"
#include "apply/plan/admission_gates.h"
#include "apply/plan/announce.h"
#include "apply/plan/finished_job.h"
#include "apply/plan/left_as_is.h"
#include "apply/plan/used_by_left.h"
#include "apply/wait/wait.h"
#include "base/diagnosis.h"
#include "base/one_line.h"
#include "base/parallel.h"
#include "base/some_of.h"
#include "base/text.h"
#include "release/command_text.h"
#include "release/history.h"
#include "render/recorded_options.h"

namespace mist::action {

using apply::InventoryItem;
using release::AnchorChange;
using release::ReleaseId;
using release::ReleaseLock;
using release::Revision;
using release::RevisionStatus;

namespace {

render::RecordedWait recorded_wait(const DeployOptions& options) {
  if (!options.wait) return render::RecordedWait::None;
  return options.wait_for_jobs ? render::RecordedWait::AllReady : render::RecordedWait::JobsBegun;
}

// Enough for a reader of the history: without the frames, and without the tree that the reasons came from.
std::string recorded_message(const Error& failure) {
  std::string text = failure.message;
  if (!failure.because.empty()) text += fmt::format(" ({})", one_line(failure.because));
  if (failure.cause && diagnosis_of(failure) == nullptr) text += ": " + failure.cause->to_line();
  return text;
}

}  // namespace

Deployment::Deployment(const Environment& environment, const PreparedDeploy& prepared, std::string action,
                       encoding::Value before_adoption)
    : environment_(environment),
      prepared_(prepared),
      containers_(prepared.containers),
      store_(environment.client) {
  revision_.number = prepared.plan.revision;
  revision_.action = std::move(action);
  revision_.created = format_time(environment.clock.now());
  revision_.attempt = environment.random.token(4);
  revision_.package = prepared.rendered.package;
  revision_.user_values = prepared.rendered.user_values;
  revision_.drawn = prepared.rendered.drawn;
  if (prepared.state.deployed) revision_.drawn.remember(prepared.state.deployed->drawn.used());
  revision_.drawn.remember(prepared.state.tried_rotations());
  revision_.options = to_value(render::RecordedOptions{.allowed = prepared.options.allowed,
                                                       .hooks = prepared.verb,
                                                       .lookups = prepared.rendered.lookups,
                                                       .answers = prepared.rendered.answers,
                                                       .force_crds = prepared.options.force_crds,
                                                       .wait = recorded_wait(prepared.options),
                                                       .before_adoption = std::move(before_adoption)});
  revision_.description = prepared.rendered.description;
  revision_.notes = prepared.rendered.message;
  revision_.restores = prepared.rendered.restores;
  for (const apply::DesiredObject& object : prepared.plan.desired) {
    if (!object.hook) revision_.objects.push_back(object.rendered);
  }
  revision_.tests = prepared.tests;
  revision_.hooks = prepared.hooks;
  revision_.inventory = apply::inventory_of(prepared.plan);
}

Status Deployment::run(const Context& context) {
  MIST_TRY(take_over_,
           TakeOver::begin(environment_, prepared_.state, prepared_.plan.writes, prepared_.plan.removals,
                           prepared_.options.allowed.take_over_from.transform(
                               [](const apply::Owner& from) { return ReleaseId(from); }),
                           context));
  if (Status journalled = begin(context); !journalled) {
    if (!lock_) return std::move(journalled).error();
    return stop(std::move(journalled).error());
  }
  std::vector<const apply::PlannedAction*> first;
  for (const apply::PlannedAction& action : prepared_.plan.removals)
    if (action.first && action.kind == apply::ActionKind::Delete) first.push_back(&action);
  if (Status gone = delete_first(first); !gone) return stop(std::move(gone).error());
  apply::Execution execution = write();
  for (std::size_t i = 0; i < prepared_.plan.removals.size(); ++i)
    if (gone_first_.contains(prepared_.plan.removals[i].key)) execution.removals[i] = apply::Outcome::Done;
  // Before hooks that come last it was waited already.
  if (execution.ok() && prepared_.options.wait && !prepared_.plan.order.written)
    execution.failure = wait(execution);
  // Replaced objects go only after their replacements work.
  if (execution.ok()) prune(execution);
  if (execution.ok()) prune_late_arrivals(execution);
  revision_.inventory = apply::inventory_after(prepared_.plan, execution);
  std::erase_if(revision_.inventory, [&](const InventoryItem& item) {
    return std::ranges::find(late_left_, item.key, &InventoryItem::key) != late_left_.end();
  });
  revision_.inventory.insert(revision_.inventory.end(), late_left_.begin(), late_left_.end());
  for (InventoryItem& item : revision_.inventory) {
    item.retained |= stayed_.contains(item.key) || emptied_.contains(item.key);
    const auto why = left_.find(item.key);
    if (item.retained && item.left.empty() && why != left_.end()) item.left = why->second;
  }
  note_completed_jobs();
  if (execution.ok()) note_failed_jobs();
  if (execution.failure) return stop(*std::move(execution.failure));
  note_left(execution);
  if (restored_nothing(execution) && delete_own_revision().ok()) {
    changed_nothing_ = true;
    return lock_->finish(as_it_was(prepared_.state));
  }
  MIST_TRY_VOID(finish(RevisionStatus::Deployed));
  if (take_over_) take_over_->let_go(environment_, prepared_.plan.writes);
  return {};
}

release::Head Deployment::head(RevisionStatus status) const {
  release::Head result = head_of(revision_, format_time(environment_.clock.now()), prepared_.state.anchor);
  result.latest = revision_.number;
  result.deployed = deployed_before();
  if (status == RevisionStatus::Deployed) result.deployed = revision_.number;
  result.status = status;
  if (!environment_.managing_release.empty()) {
    result.kept_by = environment_.managing_release;
    result.kept_by_uid = environment_.managing_release_uid;
  }
  return result;
}

int Deployment::deployed_before() const {
  return prepared_.state.anchor ? prepared_.state.anchor->head.deployed : -1;
}

// The anchor names every kind and namespace that it may have members in before there are any (KEP-3659).
AnchorChange Deployment::announcement() const {
  std::vector<InventoryItem> all = prepared_.state.owned();
  all.insert(all.end(), revision_.inventory.begin(), revision_.inventory.end());
  return {.head = head(RevisionStatus::Pending),
          .lock = {},
          .group_kinds = group_kinds_of(all),
          .additional_namespaces = namespaces_of(all, prepared_.state.id.ns),
          .seals = new_seals(environment_, prepared_.state, revision_.number)};
}

Status Deployment::lock(const Context& context) {
  const ReleaseState& state = prepared_.state;
  const release::LockDependencies dependencies = lock_dependencies(environment_, store_);
  const release::LockOptions options = lock_options(environment_, revision_.action, state);
  if (state.anchor) {
    MIST_TRY(lock_, ReleaseLock::acquire(dependencies, *state.anchor, announcement(), options, context));
    return {};
  }
  const AnchorChange change = announcement();
  release::Anchor anchor;
  anchor.id = state.id;
  anchor.seed = state.fixed.seed;
  anchor.frozen_clock = state.fixed.frozen_clock;
  anchor.seals = *change.seals;
  anchor.head = *change.head;
  anchor.group_kinds = *change.group_kinds;
  anchor.additional_namespaces = *change.additional_namespaces;
  MIST_TRY(lock_, ReleaseLock::create(dependencies, std::move(anchor), options, context));
  return {};
}

// Takes the lock and stores the pending revision.
Status Deployment::begin(const Context& context) {
  const Activity activity(environment_.events, fmt::format("recording revision v{}", revision_.number));
  // Both only read the revision; who is far away answers when the record is made.
  std::string packed;
  MIST_TRY_VOID(parallel_for(2, 2, [&](std::size_t what) -> Status {
    if (what == 0) return lock(context);
    MIST_TRY(packed, release::Store::pack(revision_));
    return {};
  }));
  return journal(packed);
}

// It was read by its name. Without its labels nobody would list it, trim it or delete it.
Status Deployment::relist_deployed(const Context& context) {
  const std::optional<release::Revision>& deployed = prepared_.state.deployed;
  if (!deployed) return {};
  const auto listed = std::ranges::find(kept_, deployed->number, &release::RevisionSummary::number);
  if (listed != kept_.end()) return {};
  return store_.restore_labels(lock_->anchor(), *deployed, context);
}

Status Deployment::journal(const std::string& packed) {
  const Context context = lock_->context();
  if (prepared_.state.anchor) {
    MIST_TRY(kept_, store_.sweep_chunks(prepared_.state.id, context));
    MIST_TRY_VOID(relist_deployed(context));
  }
  Status stored = store_.create_revision(lock_->anchor(), revision_, packed, context);
  // A lock that ran out is a Conflict too, and tells nothing of Secrets: what is there may be the work of its
  // next holder.
  if (!stored.ok() && stored.error().kind == ErrorKind::Conflict) {
    if (Status held = lock_->check(); !held) {
      unclear_ = true;
      return held;
    }
  }
  if (!stored.ok() && stored.error().kind == ErrorKind::Conflict && !prepared_.state.anchor) {
    // Nothing of us is left but the anchor, which would stand for what isn't ours.
    if (store_.delete_anchor(lock_->anchor(), context).ok()) lock_->drop();
    return std::move(stored)
        .error()
        .with_because("revisions of an earlier record of that release are there, and its anchor is not")
        .with_hint(fmt::format("restore the Secret {}/{} from a backup, or record what is there with {}",
                               prepared_.state.id.ns, apply::anchor_name(prepared_.state.id),
                               release::command_text("recover", prepared_.state.id, "--from-labels")));
  }
  unclear_ = !stored.ok() && !is_refusal(stored.error());
  if (!stored.ok() && stored.error().kind == ErrorKind::Conflict && !lock_->lost())
    return std::move(stored)
        .error()
        .with_because(
            fmt::format("the Secret {} is there already, and the record of the release knows no such "
                        "revision",
                        release::revision_name(prepared_.state.id, revision_.number)))
        .with_hint(fmt::format(
            "look at it, and delete it if nobody needs it: {}",
            release::kubectl_text(prepared_.state.id,
                                  fmt::format("delete secret {} -n {}",
                                              release::revision_name(prepared_.state.id, revision_.number),
                                              prepared_.state.id.ns))));
  MIST_TRY_VOID(std::move(stored));
  stored_ = true;
  revision_.objects.clear();  // recorded by now; the plan has them
  return {};
}

// Objects that are taken over are also written under the locks of the releases that have them.
Context Deployment::writing_context() const {
  if (!take_over_) return lock_->context();
  return lock_->context().with_guard([this] { return take_over_->check(); });
}

apply::Execution Deployment::write() {
  environment_.events.planned(apply::announcement(prepared_.plan, prepared_.state.id, revision_.action));
  for (const auto* actions : {&prepared_.plan.writes, &prepared_.plan.removals}) {
    for (const std::string& words : prepared_.containers.warnings(*actions)) environment_.events.warn(words);
  }
  for (const apply::PlannedAction& write : prepared_.plan.writes)
    if (write.recorded.left) environment_.events.warn(apply::left_words(write));
  Activity activity(environment_.events,
                    fmt::format("applying {}", plural(prepared_.plan.writes.size(), "object")));
  apply::ExecuteOptions execute_options;
  execute_options.force_conflicts = prepared_.options.allowed.force_conflicts;
  execute_options.edge_timeout = prepared_.options.timeout;
  execute_options.urgent = prepared_.options.wait;
  execute_options.leave_refused = prepared_.leaves_refused;
  execute_options.before_replacing = [this](const apply::PlannedAction& action) -> Status {
    MIST_TRY(const std::string why, containers_.last_check(environment_, action.key, lock_->context()));
    if (why.empty()) return {};
    return error(ErrorKind::Conflict, "{} is not replaced: {}", action.key.display(), why)
        .with_hint("run the command again to see what can be done");
  };
  execute_options.delete_gate = [this](const apply::PlannedAction& gate) { return delete_first({&gate}); };
  if (prepared_.options.wait)
    execute_options.before_last_hooks = [this](const apply::Execution& execution) -> Status {
      std::optional<Error> failure = wait(execution);
      return failure ? Status(*std::move(failure)) : Status();
    };
  apply::Execution execution = apply::execute_writes(environment_.client, prepared_.plan, execute_options,
                                                     environment_.events, writing_context());
  if (execution.failure) activity.fail();
  return execution;
}

std::optional<Error> Deployment::wait(const apply::Execution& execution) {
  Status ready = apply::wait_until_ready(
      environment_.client, prepared_.state.id, apply::awaited_objects(prepared_.plan, execution),
      {.timeout = prepared_.options.timeout,
       .jobs_end = prepared_.options.wait_for_jobs,
       .job_completed = [this](const apply::ObjectKey& key,
                               bool seen) { completed_jobs_.emplace(key, seen); }},
      environment_.events, lock_->context());
  if (ready.ok()) return std::nullopt;
  return std::move(ready).error().with_frame("while waiting for the release to become ready");
}

// These Jobs remove themselves later: whoever finds them gone must know that they had ended. One that is
// wanted suspended and is gone without its end was deleted, perhaps before it ran.
void Deployment::note_completed_jobs() {
  for (std::size_t i = 0; i < prepared_.plan.writes.size(); ++i) {
    const apply::PlannedAction& write = prepared_.plan.writes[i];
    const encoding::Value& wanted = prepared_.plan.desired[write.desired].rendered.object.value();
    const auto completed = completed_jobs_.find(write.key);
    if (completed == completed_jobs_.end() || prepared_.plan.is_hook(write)) continue;
    if (completed->second || !wanted.is_true_at({"spec", "suspend"})) revision_.inventory[i].ended = true;
  }
}

// Of a deployed revision they are not run again, either (finished_jobs.h).
void Deployment::note_failed_jobs() {
  for (std::size_t i = 0; i < prepared_.plan.writes.size(); ++i) {
    const apply::PlannedAction& write = prepared_.plan.writes[i];
    if (write.live.failed && write.kind == apply::ActionKind::Unchanged && !prepared_.plan.is_hook(write))
      revision_.inventory[i].ended = true;
  }
}

// For the history: the revision is deployed, and not everything is as it has it.
void Deployment::note_left(const apply::Execution& execution) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < prepared_.plan.writes.size(); ++i) {
    const apply::PlannedAction& write = prepared_.plan.writes[i];
    if (!execution.left[i].empty()) left_.emplace(write.key, execution.left[i]);
    if (write.recorded.left || !execution.left[i].empty()) names.push_back(write.key.display());
  }
  if (names.empty()) return;
  constexpr std::size_t kShown = 3;
  revision_.message = fmt::format("left as it was: {}", some_of(std::move(names), kShown));
}

// The deployed revision was applied once more, and the server refused all that was to be changed back. An
// operator that tries that again and again would push the other revisions out of the history.
bool Deployment::restored_nothing(const apply::Execution& execution) const {
  const ReleaseState& state = prepared_.state;
  if (!prepared_.leaves_refused || !state.deployed || prepared_.rendered.restores != state.deployed->number ||
      !state.unfinished.empty() || state.anchor->head.status != RevisionStatus::Deployed ||
      state.silent_lock || take_over_)
    return false;
  for (std::size_t i = 0; i < prepared_.plan.writes.size(); ++i)
    if (prepared_.plan.writes[i].kind != apply::ActionKind::Unchanged && execution.left[i].empty())
      return false;
  // Objects that stay may have been given back to whoever had them. A delete that the server refuses again
  // changes nothing; one that it accepts does, though a finalizer may hold the object.
  return std::ranges::find(execution.removals, apply::Outcome::Done) == execution.removals.end() &&
         std::ranges::all_of(prepared_.plan.removals, [this](const apply::PlannedAction& each) {
           const bool stays = each.kind == apply::ActionKind::Retain ||
                              (stayed_.contains(each.key) && !held_.contains(each.key));
           return stays && each.recorded.was_retained;
         });
}

Status Deployment::delete_own_revision() {
  const Context brief = lock_->closing_context(std::chrono::seconds(30));
  MIST_TRY(const std::vector<release::RevisionSummary> all, store_.list_revisions(prepared_.state.id, brief));
  const auto own = std::ranges::find(all, revision_.number, &release::RevisionSummary::number);
  if (own == all.end() || own->attempt != revision_.attempt)
    return error(ErrorKind::Conflict, "revision v{} is not ours", revision_.number);
  return store_.delete_revision(prepared_.state.id, *own, brief);
}

// Objects that go back to other releases leave ours.
Status Deployment::give_back(apply::Execution& execution) {
  const std::vector<apply::PlannedAction>& removals = prepared_.plan.removals;
  if (!take_over_ || std::ranges::none_of(removals, is_return)) return {};
  MIST_TRY(const std::set<apply::ObjectKey> given,
           take_over_->give_back(environment_, prepared_.state, removals,
                                 {.force_conflicts = prepared_.options.allowed.force_conflicts,
                                  .timeout = prepared_.options.timeout,
                                  .replace = prepared_.options.allowed.replace},
                                 lock_->context()));
  for (std::size_t i = 0; i < removals.size(); ++i) {
    if (given.contains(removals[i].key)) execution.removals[i] = apply::Outcome::Done;
  }
  return {};
}

// An object leaves the release as it was before, if the revisions that adopted it are undone, were never
// deployed, or are gone back over. No words: it is none of those.
Result<GivenBack> Deployment::return_adopted(const apply::PlannedAction& action,
                                             const std::set<apply::ObjectKey>& undeployed_adoptions) {
  if (!action.recorded.adopted || is_return(action)) return GivenBack{};
  if (!prepared_.options.allowed.keep_adopted && !undeployed_adoptions.contains(action.key))
    return GivenBack{};
  const auto since = prepared_.rendered.adopted_since.find(action.key);
  if (since == prepared_.rendered.adopted_since.end())
    return give_adopted_back(environment_, prepared_.state, action, lock_->context());
  if (!since->second.is_null())
    return give_adopted_back(environment_, prepared_.state.id, since->second, action, lock_->context());
  MIST_TRY_VOID(leave_adopted(environment_, prepared_.state.id, action, lock_->context()));
  return GivenBack{action.reason, true};
}

// Any thread.
apply::RemovalReport Deployment::remove(const std::vector<apply::Removal>& removals) {
  apply::RemovalReport report = apply::execute_removals(
      environment_.client, removals, apply::apply_set_id(prepared_.state.id),
      {.timeout = prepared_.options.timeout,
       .last_check =
           [this](const apply::Removal& removal) {
             return containers_.last_check(environment_, removal.key, lock_->context());
           },
       .leave_denied = prepared_.leaves_refused,
       .gone_gates = apply::names_of_gates(prepared_.plan)},
      environment_.events, lock_->context());
  keep_what_is_not_gone(removals, report);
  return report;
}

void Deployment::keep_what_is_not_gone(const std::vector<apply::Removal>& removals,
                                       apply::RemovalReport& report) {
  const std::scoped_lock lock(removing_mutex_);
  // An object that a finalizer holds stays in the inventory until it is gone: nothing else would name it.
  for (const auto& [position, held] : report.held) {
    if (!held.by_others) continue;
    const apply::ObjectKey& key = removals[position].key;
    report.outcomes[position] = apply::Outcome::NotStarted;
    stayed_.emplace(key, fmt::format("it is being deleted: {}", held.why));
    held_.insert(key);
    environment_.events.warn(
        fmt::format("{} stays in the record until it is gone: {}", key.display(), held.why));
  }
  // So does a namespace, of which nobody knows yet whether something in it is held. Most go within seconds.
  for (const std::size_t position : report.emptied) {
    const apply::ObjectKey& key = removals[position].key;
    report.outcomes[position] = apply::Outcome::NotStarted;
    emptied_.insert(key);
    environment_.events.info(
        fmt::format("{} stays in the record until it is gone: its content is being deleted", key.display()));
  }
}

// Those that the last look kept.
void Deployment::note_stayed(const std::vector<apply::Removal>& removals,
                             const apply::RemovalReport& report) {
  for (const auto& [position, why] : report.stayed) {
    stayed_.emplace(removals[position].key, why);
    if (report.denied.contains(position)) left_.emplace(removals[position].key, why);
  }
}

// Policies and webhooks that would refuse other writes of the plan, or did (admission_gates.h). Any thread.
Status Deployment::delete_first(const std::vector<const apply::PlannedAction*>& gates) {
  std::vector<apply::Removal> removals;
  removals.reserve(gates.size());
  for (const apply::PlannedAction* const gate : gates) removals.push_back(apply::removal_of(*gate));
  if (removals.empty()) return {};
  apply::RemovalReport report = remove(removals);
  const std::scoped_lock lock(removing_mutex_);
  for (std::size_t i = 0; i < removals.size(); ++i)
    if (report.outcomes[i] == apply::Outcome::Done) gone_first_.insert(removals[i].key);
  return report.failure ? Status(*std::move(report.failure)) : Status();
}

// Objects that the server refused only when they were written still use what was to go; and that keeps what
// contains it.
Status Deployment::keep_what_is_used(const apply::Execution& execution) {
  std::set<apply::ObjectKey> left;
  for (std::size_t i = 0; i < prepared_.plan.writes.size(); ++i) {
    const apply::PlannedAction& write = prepared_.plan.writes[i];
    if (write.recorded.left || !execution.left[i].empty()) left.insert(write.key);
  }
  std::vector<apply::PlannedAction> removals = prepared_.plan.removals;
  const auto used = apply::used_by_left(prepared_.used, left);
  bool any = false;
  for (std::size_t i = 0; i < removals.size(); ++i) {
    apply::PlannedAction& removal = removals[i];
    const auto found = used.find(removal.key);
    if (removal.kind != apply::ActionKind::Delete || found == used.end() ||
        execution.removals[i] == apply::Outcome::Done)
      continue;
    removal.kind = apply::ActionKind::Retain;
    removal.reason = found->second;
    left_.emplace(removal.key, removal.reason);
    any = true;
  }
  if (!any) return {};
  MIST_TRY_VOID(containers_.settle(environment_, removals, prepared_.live, lock_->context()));
  for (std::size_t i = 0; i < removals.size(); ++i) {
    if (removals[i].kind == prepared_.plan.removals[i].kind) continue;
    stayed_.emplace(removals[i].key, removals[i].reason);
    environment_.events.object({removals[i].key.display(), "retained", removals[i].reason});
  }
  return {};
}

void Deployment::prune(apply::Execution& execution) {
  if (Status given = give_back(execution); !given) {
    execution.failure = std::move(given).error();
    return;
  }
  if (prepared_.plan.removals.empty()) return;
  if (Status kept = keep_what_is_used(execution); !kept) {
    execution.failure = std::move(kept).error();
    return;
  }
  // Created under one API group, an object may turn out to be what was to go under another.
  const std::set<std::string> written(execution.uids.begin(), execution.uids.end());
  const auto earlier = recorded();
  const std::set<apply::ObjectKey> undeployed_adoptions = prepared_.undeployed_adoptions();
  std::vector<apply::Removal> removals;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < prepared_.plan.removals.size(); ++i) {
    const apply::PlannedAction& action = prepared_.plan.removals[i];
    if (execution.removals[i] == apply::Outcome::Done) continue;
    if (!action.uid.empty() && written.contains(action.uid)) {
      execution.removals[i] = apply::Outcome::Done;
      continue;
    }
    if (action.kind != apply::ActionKind::Delete) {
      auto given = return_adopted(action, undeployed_adoptions);
      if (!given.ok()) {
        execution.failure = std::move(given).error();
        return;
      }
      const std::string& words = given->words.empty() ? action.reason : given->words;
      if (!given->words.empty()) execution.removals[i] = apply::Outcome::Done;
      if (given->refused) left_.emplace(action.key, words);
      environment_.events.object({action.key.display(), "retained", words});
      continue;
    }
    if (stayed_.contains(action.key)) continue;
    const auto known = earlier.find(action.key);
    removals.push_back(apply::removal_of(action, known == earlier.end() ? nullptr : known->second));
    places.push_back(i);
  }
  if (removals.empty()) return;
  const apply::RemovalReport report = remove(removals);
  for (std::size_t i = 0; i < places.size(); ++i) execution.removals[places[i]] = report.outcomes[i];
  note_stayed(removals, report);
  execution.failure = report.failure;
}

// Objects that a stopped holder of the lock had wanted and sent, and that nobody wants any more: they were
// not there when the plan was made.
void Deployment::prune_late_arrivals(apply::Execution& execution) {
  if (!prepared_.state.silent_lock) return;
  std::set<apimachinery::ObjectKey> wanted;
  for (const apply::PlannedAction& write : prepared_.plan.writes) wanted.insert(write.key);
  std::set<std::string> seen = prepared_.seen_uids;
  // An earlier revision may know an object that this run wrote under another API group.
  seen.insert(execution.uids.begin(), execution.uids.end());
  std::vector<InventoryItem> others = prepared_.state.owned();
  std::erase_if(others, [&](const InventoryItem& item) { return wanted.contains(item.key); });
  auto late = late_arrivals(environment_, prepared_.state.id, others, seen, prepared_.options.allowed.prune,
                            lock_->context());
  if (!late.ok()) {
    execution.failure = std::move(late).error();
    return;
  }
  if (late->empty()) return;
  apply::RemovalReport report = remove(*late);
  note_stayed(*late, report);
  for (std::size_t i = 0; i < late->size(); ++i) {
    if (report.outcomes[i] == apply::Outcome::Done) continue;
    InventoryItem item = *std::ranges::find(others, (*late)[i].key, &InventoryItem::key);
    item.uid = (*late)[i].uid;
    late_left_.push_back(std::move(item));
  }
  if (report.failure) execution.failure = std::move(report.failure);
}

// The objects as earlier revisions rendered them: they know what they referred to.
std::map<apimachinery::ObjectKey, const apimachinery::Object*> Deployment::recorded() const {
  std::map<apimachinery::ObjectKey, const apimachinery::Object*> found;
  const auto note = [&](const Revision& revision) {
    for (const auto* list : {&revision.objects, &revision.hooks}) {
      for (const release::RenderedObject& rendered : *list)
        found.insert_or_assign(rendered.object.key(), &rendered.object);
    }
  };
  if (prepared_.state.deployed) note(*prepared_.state.deployed);
  for (const Revision& revision : prepared_.state.unfinished) note(revision);
  return found;
}

Status Deployment::finish(RevisionStatus status) {
  if (lock_->lost()) return lock_->loss();
  const Activity activity(environment_.events, "recording the outcome");
  revision_.status = status;
  if (status == RevisionStatus::Deployed) {
    // The moves have ended, but a release that has not let go yet must still be told.
    for (InventoryItem& item : revision_.inventory)
      item.taken_from = take_over_ ? take_over_->also_named_by(item.key) : std::string();
  }
  revision_.finished = format_time(environment_.clock.now());
  // The record must tell what is there.
  const Context brief = lock_->closing_context(std::chrono::seconds(30));
  MIST_TRY_VOID(store_.finish_revision(lock_->anchor(), revision_, brief));
  trim(brief);
  return lock_->finish({.head = head(status),
                        .lock = {},
                        .group_kinds = group_kinds_of(revision_.inventory),
                        .additional_namespaces = namespaces_of(revision_.inventory, prepared_.state.id.ns)});
}

// The revision that the head still points to stays too: until the head moves, it must find its revision.
void Deployment::trim(const Context& context) {
  std::vector<release::RevisionSummary> all = kept_;
  // Nobody may push out what is the release's by numbers that it has not come to yet.
  std::erase_if(all, [&](const release::RevisionSummary& each) { return each.number >= revision_.number; });
  all.emplace_back();
  all.back().number = revision_.number;
  for (const int number : release::surplus_revisions(all, {deployed_before(), revision_.number},
                                                     prepared_.options.history_max)) {
    if (!lock_->check()) return;
    const auto known = std::ranges::find(all, number, &release::RevisionSummary::number);
    const Status removed = store_.delete_revision(prepared_.state.id, *known, context);
    if (removed.ok()) continue;
    environment_.events.warn(
        fmt::format("revision v{} is still kept: {}", number, removed.error().to_line()));
    return;
  }
}

// A write that was on its way when the lock ran out may have arrived after the next holder had looked. Where
// a record is left, its next writer finds the object; if that holder undid the release, nobody else ever
// would.
void Deployment::clean_up_after_loss() {
  std::vector<InventoryItem> created;
  const std::vector<InventoryItem> planned = apply::inventory_of(prepared_.plan);
  for (std::size_t i = 0; i < prepared_.plan.writes.size(); ++i) {
    if (prepared_.plan.writes[i].kind == apply::ActionKind::Create) created.push_back(planned[i]);
  }
  if (!stored_ || created.empty()) return;
  const ReleaseId& id = prepared_.state.id;
  const Context brief = Context().with_timeout(std::chrono::seconds(30));
  const auto work = [&]() -> Status {
    MIST_TRY(const ReleaseState now, read_release(environment_, id, brief, LostRevision::Allowed));
    std::set<apimachinery::ObjectKey> named;
    for (const InventoryItem& item : now.owned()) named.insert(item.key);
    std::erase_if(created, [&](const InventoryItem& item) { return named.contains(item.key); });
    MIST_TRY(const std::vector<apply::Removal> late, late_arrivals(environment_, id, created, {}, {}, brief));
    if (late.empty()) return {};
    // Undoing a release deletes its revisions first: while one is there, the anchor alone was lost.
    MIST_TRY(const std::vector<release::RevisionSummary> left, store_.list_revisions(id, brief));
    if (now.anchor || !left.empty()) {
      std::vector<std::string> names;
      for (const apply::Removal& each : late) names.push_back(each.key.display());
      environment_.events.warn(fmt::format(
          "{} arrived after the lock had run out, and no record names {}: {} records what is there",
          join(names, ", "), names.size() == 1 ? "it" : "them",
          release::command_text("recover", id, "--from-labels")));
      return {};
    }
    return remove_nobodys(late, brief);
  };
  if (const Status done = work(); !done.ok())
    environment_.events.warn(fmt::format(
        "objects that arrived after the lock of {} had run out may be left: {}; {} looks for them",
        id.display(), done.error().to_line(), release::command_text("recover", id, "--from-labels")));
}

// Under a lock of its own, so that nobody takes them up meanwhile: whoever installs looks again after it.
Status Deployment::remove_nobodys(const std::vector<apply::Removal>& removals, const Context& context) {
  release::Anchor anchor;
  anchor.id = prepared_.state.id;
  anchor.seed = prepared_.state.fixed.seed;
  anchor.frozen_clock = prepared_.state.fixed.frozen_clock;
  anchor.head = head(RevisionStatus::Uninstalling);
  anchor.head.latest = anchor.head.deployed = -1;
  anchor.head.action = "undo";
  anchor.group_kinds = group_kinds_of(revision_.inventory);
  anchor.additional_namespaces = namespaces_of(revision_.inventory, prepared_.state.id.ns);
  MIST_TRY(const std::unique_ptr<ReleaseLock> lock,
           ReleaseLock::create(lock_dependencies(environment_, store_), std::move(anchor),
                               lock_options(environment_, "undo", {}), context));
  apply::RemovalReport report =
      apply::execute_removals(environment_.client, removals, apply::apply_set_id(prepared_.state.id), {},
                              environment_.events, lock->context());
  if (report.failure) return *std::move(report.failure);
  MIST_TRY_VOID(store_.delete_anchor(lock->anchor(), lock->context()));
  lock->drop();
  environment_.events.warn(fmt::format("deleted {} that arrived after release {} had been undone",
                                       plural(removals.size(), "object"), prepared_.state.id.display()));
  return {};
}

// The release is as it was before us: nothing says that a revision is there, or a release.
void Deployment::take_announcement_back() {
  if (prepared_.state.anchor) {
    const Status taken = lock_->finish(as_it_was(prepared_.state));
    if (!taken.ok())
      environment_.events.warn(fmt::format(
          "the record announces v{}, which was never stored, until the next run takes that number: {}",
          revision_.number, taken.error().to_line()));
    return;
  }
  const Context brief = lock_->closing_context(std::chrono::seconds(30));
  if (store_.delete_anchor(lock_->anchor(), brief).ok()) lock_->drop();
}

// Records the failure, if we may still write, and returns it.
Status Deployment::stop(Error failure) {
  failure = prepared_.hidden.masked(std::move(failure));
  if (lock_->lost() || !lock_->check().ok()) clean_up_after_loss();
  if (lock_->lost()) return lock_->loss();
  // A failure before the revision was stored leaves nothing to finish. If it is unknown whether it was
  // stored, the announcement stays: the next run takes its number again or, if it was stored, sees it as
  // unfinished.
  if (!stored_ && !unclear_) take_announcement_back();
  if (!stored_) return failure;
  failure.details.set(RevisionRecorded{revision_.number});
  revision_.message = recorded_message(failure);
  if (const Status finished = finish(RevisionStatus::Failed); finished.ok())
    failed_ = Recorded{revision_.number, revision_.attempt};
  else
    environment_.events.warn(
        fmt::format("the failure could not be recorded: {}", finished.error().to_line()));
  if (failure.hint.empty() && failure.kind == ErrorKind::Cancelled)
    failure.hint = fmt::format(
        "the objects written so far stay: {} finishes the run, {} goes back; {} shows what is there",
        release::command_text("recover", prepared_.state.id),
        release::command_text("recover", prepared_.state.id, "--undo"),
        command_text("status", prepared_.state.id));
  if (failure.hint.empty())
    failure.hint = fmt::format("run the command again once the cause is fixed; {} shows what is there",
                               release::command_text("status", prepared_.state.id));
  return failure;
}

}  // namespace mist::action
