#include "action/recover/recover.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "action/deploy/allow_also.h"
#include "action/deploy/late_writes.h"
#include "action/deploy/take_over.h"
#include "action/deploy/unfinished_moves.h"
#include "action/recover/record_head.h"
#include "action/recover/rollback.h"
#include "base/text.h"
#include "release/command_text.h"
#include "render/recorded_options.h"

namespace mist::action {

using release::ReleaseId;
using release::ReleaseLock;
using release::Revision;
using release::RevisionStatus;

namespace {

// The unfinished work, in words, and what is to be done about it.
struct Unfinished {
  Recovered todo = Recovered::Nothing;
  std::string found;
  std::vector<UnfinishedMove> moves = {};  // to and from the release
};

std::string words_of(const Revision& revision) {
  const std::string name = fmt::format("v{} ({})", revision.number, revision.action);
  if (revision.status == RevisionStatus::Failed)
    return fmt::format("{} failed{}{}", name, revision.message.empty() ? "" : ": ", revision.message);
  if (revision.status == RevisionStatus::Deployed)
    return fmt::format("{} was done, but its release does not say so yet", name);
  return fmt::format("{} did not end", name);
}

Result<Unfinished> half_uninstalled(const ReleaseState& state, bool undo) {
  // Undoing a first install is uninstalling it: what goes on is the same either way.
  const bool undoing = state.anchor->head.action == "undo";
  const std::string found = undoing ? "undoing its first install did not end" : "uninstalling it did not end";
  if (!undo || undoing) return Unfinished{undoing ? Recovered::Removed : Recovered::Uninstalled, found};
  const bool gone = state.anchor->head.deployed >= 0 ? !state.deployed.has_value() : state.unfinished.empty();
  if (gone)
    return error(ErrorKind::Conflict, "release {} can't be applied again: its revisions are deleted already",
                 state.id.display())
        .with_hint("finish uninstalling with " + release::command_text("recover", state.id));
  return Unfinished{Recovered::Undone, found};
}

// A run that takes objects over locks the release that has them, and changes nothing else of it. A run that
// writes found the holder silent; a dry run has not waited for that.
Unfinished left_lock(const ReleaseState& state) {
  const auto& lock = state.anchor->lock;
  if (!lock || !state.deployed) return {};
  return {Recovered::Settled,
          fmt::format("{}, who has been running \"{}\" since {}, {}", lock->holder, lock->operation,
                      lock->acquired,
                      !state.silent_lock ? "holds its lock; a holder that stops renewing the lock loses it"
                                         : "died with its lock")};
}

Result<Unfinished> find_unfinished(const ReleaseState& state, bool undo) {
  MIST_TRY_VOID(refuse_missing(state));
  // Its intent can't be known, so it can be neither ended nor taken back as it was meant.
  if (!state.damaged.empty())
    return error(ErrorKind::Internal,
                 "revision v{} of release {} can't be read, so it can't be finished or undone",
                 state.damaged.back().number, state.id.display())
        .with_because(state.damaged.back().why.to_line())
        .with_hint(fmt::format("record what is there with {}, or write the release again with {} or {}",
                               release::command_text("recover", state.id, "--from-labels"),
                               release::command_text("upgrade", state.id),
                               release::command_text("rollback", state.id)));
  const release::Head& head = state.anchor->head;
  if (is_uninstalling(state)) return half_uninstalled(state, undo);
  if (state.unfinished.empty()) {
    if (head.status == RevisionStatus::Deployed && head.latest == head.deployed) return left_lock(state);
    return Unfinished{
        state.deployed ? Recovered::Settled : Recovered::Removed,
        fmt::format("v{} ({}) ended before anything of it was recorded or done", head.latest, head.action)};
  }
  const Revision& newest = state.unfinished.back();
  if (undo) return Unfinished{state.deployed ? Recovered::Undone : Recovered::Removed, words_of(newest)};
  return Unfinished{newest.status == RevisionStatus::Deployed ? Recovered::Settled : Recovered::Finished,
                    words_of(newest)};
}

std::string words_of(const UnfinishedMove& move, const ReleaseState& state) {
  const std::string objects = plural(move.items.size(), "object");
  return move.to == state.id ? fmt::format("the record of release {} still names {} that it took from there",
                                           move.from.display(), objects)
                             : fmt::format("its record still names {} that release {} took from it", objects,
                                           move.to.display());
}

// Of a release with nothing else to recover: what it took from others, or others from it, by a run that died
// before both records said so. With `undo` whoever took may still be about to give back.
Status find_untold(const Environment& environment, const ReleaseState& state, bool undo, Unfinished& finding,
                   const Context& context) {
  if (finding.todo != Recovered::Nothing && finding.todo != Recovered::Settled) return {};
  MIST_TRY(finding.moves, unfinished_moves_to(environment, state, context));
  MIST_TRY(std::vector<UnfinishedMove> from, unfinished_moves_from(environment, state, context));
  std::ranges::copy_if(from, std::back_inserter(finding.moves),
                       [&](const UnfinishedMove& move) { return !undo || !move.head_behind; });
  for (const UnfinishedMove& move : finding.moves) {
    finding.todo = Recovered::Settled;
    finding.found += fmt::format("{}{}", finding.found.empty() ? "" : "; ", words_of(move, state));
  }
  return {};
}

Intent finish_intent(const Environment& environment, const Context& context) {
  const auto render = [&environment, context](const ReleaseState& state) -> Result<RenderedRelease> {
    const Revision& newest = state.unfinished.back();
    RenderedRelease recorded = kept_release(newest, state.id.ns);
    recorded.restores = newest.number;
    recorded.hooks = recorded.recorded_options.hooks.value_or(apply::HookVerb::None);
    recorded.hooks_resume = state.unfinished.front().number;
    recorded.description = fmt::format("finishes v{} ({})", newest.number, newest.action);
    MIST_TRY_VOID(note_adoptions_gone_back_over(environment, state, recorded, context));
    return recorded;
  };
  return {.action = "recover", .check = {}, .render = render, .may_change_nothing = false};
}

// A revision whose objects never became ready is no revision to roll back to: what was to be waited for is
// waited for again before it counts as deployed.
void wait_as_before(const Revision& newest, DeployOptions& options) {
  const render::RecordedWait recorded = render::RecordedOptions::from_value(newest.options).wait;
  if (options.wait || recorded == render::RecordedWait::None) return;
  options.wait = true;
  if (recorded == render::RecordedWait::JobsBegun) options.wait_for_jobs = false;
}

Intent undo_intent() {
  const auto render = [](const ReleaseState& state) -> Result<RenderedRelease> {
    const Revision& good = state.deployed ? *state.deployed : state.unfinished.back();
    RenderedRelease restored = restored_release(good, state.id.ns);
    restored.restores = good.number;
    restored.description = is_uninstalling(state)
                               ? fmt::format("undoes the uninstall, back to v{}", good.number)
                               : fmt::format("undoes v{} ({}), back to v{}", state.anchor->head.latest,
                                             state.anchor->head.action, good.number);
    return restored;
  };
  return {.action = "undo",
          .check = {},
          .render = render,
          .may_change_nothing = false,
          .hooks = apply::HookVerb::Rollback,
          .leaves_refused = true};
}

// Objects that the user agreed to delete, each with its uid.
using Agreed = std::set<std::pair<apimachinery::ObjectKey, std::string>>;

Agreed deleted_by(const UninstallPlan& plan) {
  Agreed deleted;
  for (const apply::PlannedAction& action : plan.removals)
    if (action.kind == apply::ActionKind::Delete) deleted.emplace(action.key, action.uid);
  return deleted;
}

UninstallOptions removal_options(const ReleaseState& state, const RecoverOptions& options, Recovered todo) {
  UninstallOptions removal;
  removal.dry_run = options.deploy.dry_run != DryRun::No;
  removal.wait = options.deploy.wait;
  removal.rules = options.deploy.allowed.prune;
  removal.force_conflicts = options.deploy.allowed.force_conflicts;
  removal.replace = options.deploy.allowed.replace;
  removal.timeout = options.deploy.timeout;
  const auto begun = render::RecordedOptions::from_value(state.anchor->head.options);
  removal.no_hooks = options.deploy.no_hooks || begun.no_hooks;
  if (todo == Recovered::Removed) {
    removal.action = "undo";
    removal.keep_adopted = true;
  }
  allow_also(removal.rules, begun.allowed.prune);
  return removal;
}

Status ask(const RecoverOptions& options, const UninstallPlan& plan) {
  MIST_TRY(const bool yes, options.approve(plan));
  if (yes) return {};
  return error(ErrorKind::Forbidden, "nothing was deleted, because the answer was no");
}

class Recovery {
 public:
  Recovery(const Environment& environment, const RecoverOptions& options, const Context& context,
           Agreed agreed = {})
      : environment_(environment), options_(options), context_(context), agreed_(std::move(agreed)) {}

  Result<RecoverReport> run(ReleaseState state, const Unfinished& finding) {
    RecoverReport report;
    report.id = state.id;
    report.outcome = finding.todo;
    report.found = finding.found;
    report.revision = state.deployed ? state.deployed->number : -1;
    switch (finding.todo) {
      case Recovered::Nothing:
      case Recovered::Rebuilt:
        return report;
      case Recovered::Settled: {
        report.revision = settled_revision(state)->number;
        if (!dry()) MIST_TRY_VOID(settle(state, finding.moves));
        return report;
      }
      case Recovered::Finished:
      case Recovered::Undone: {
        const Intent intent =
            finding.todo == Recovered::Finished ? finish_intent(environment_, context_) : undo_intent();
        DeployOptions deploy = options_.deploy;
        if (finding.todo == Recovered::Finished) wait_as_before(state.unfinished.back(), deploy);
        deploy.allowed.keep_adopted = finding.todo == Recovered::Undone;
        // A move that failed is undone too, and not made again.
        if (finding.todo == Recovered::Undone) deploy.allowed.take_over_from.reset();
        MIST_TRY(report.deployment, deploy_once(environment_, std::move(state), intent, deploy, context_));
        report.revision = report.deployment->revision;
        return report;
      }
      case Recovered::Removed:
      case Recovered::Uninstalled: {
        MIST_TRY(report.removal, remove(std::move(state), finding.todo));
        report.revision = -1;
        return report;
      }
    }
    return report;
  }

 private:
  bool dry() const { return options_.deploy.dry_run != DryRun::No; }

  Status settle(const ReleaseState& state, const std::vector<UnfinishedMove>& moves) {
    std::vector<UnfinishedMove> to, from;
    for (const UnfinishedMove& move : moves) (move.to == state.id ? to : from).push_back(move);
    // Until its anchor says that it is deployed, undoing it would give the objects back to this record.
    for (const UnfinishedMove& move : from) {
      if (!move.head_behind) continue;
      MIST_TRY_VOID(settle_taker(move.to).in(
          fmt::format("while settling release {}, which took objects", move.to.display())));
    }
    MIST_TRY_VOID(settle_head(state, from));
    return TakeOver::tell(environment_, state, to, context_);
  }

  Status settle_taker(const ReleaseId& id) {
    MIST_TRY(const ReleaseState state, read_release_to_write(environment_, id, "recover", context_));
    if (!state.anchor || is_uninstalling(state) || state.unfinished.empty() ||
        state.unfinished.back().status != RevisionStatus::Deployed)
      return release::as_anchor_moved(
          error(ErrorKind::Conflict, "release {} changed just now", id.display()));
    return settle_head(state, {});
  }

  // Makes the head say what the newest stored revision says; what nobody recorded was never begun.
  Status settle_head(const ReleaseState& state, const std::vector<UnfinishedMove>& given_away) {
    Revision newest = *settled_revision(state);
    MIST_TRY_VOID(outdate_late_writes(environment_, state, {}, context_));
    release::Store store(environment_.client);
    MIST_TRY(const std::unique_ptr<ReleaseLock> lock,
             ReleaseLock::acquire(lock_dependencies(environment_, store), *state.anchor, {},
                                  lock_options(environment_, "recover", state), context_));
    bool forgot = false;
    for (const UnfinishedMove& move : given_away) forgot |= forget(newest.inventory, move);
    if (forgot) MIST_TRY_VOID(store.finish_revision(lock->anchor(), newest, lock->context()));
    MIST_TRY_VOID(store.sweep_chunks(state.id, lock->context()));
    release::Head head =
        head_of(newest, newest.finished.empty() ? newest.created : newest.finished, state.anchor);
    head.latest = head.deployed = newest.number;
    head.status = RevisionStatus::Deployed;
    return lock->finish({.head = head,
                         .lock = {},
                         .group_kinds = group_kinds_of(newest.inventory),
                         .additional_namespaces = namespaces_of(newest.inventory, state.id.ns)});
  }

  Result<UninstallReport> remove(ReleaseState state, Recovered todo) {
    const UninstallOptions options = removal_options(state, options_, todo);
    MIST_TRY(UninstallPlan plan, plan_uninstall(environment_, std::move(state), options, context_));
    if (dry()) return UninstallReport{.plan = std::move(plan)};
    // An uninstall was agreed to when it began.
    const bool is_agreed = std::ranges::includes(agreed_, deleted_by(plan));
    if (todo == Recovered::Removed && !is_agreed && options_.approve) MIST_TRY_VOID(ask(options_, plan));
    return uninstall(environment_, std::move(plan), options, context_);
  }

  const Environment& environment_;
  const RecoverOptions& options_;
  const Context& context_;
  const Agreed agreed_;
};

// The wait for a dead holder's lock takes a whole term, and the answer may make it needless: whoever is to
// agree is asked before it, and again after it about objects that appeared meanwhile.
Result<Agreed> ask_before_waiting(const Environment& environment, const ReleaseId& id,
                                  const RecoverOptions& options, const Context& context) {
  if (!options.undo || !options.approve || options.deploy.dry_run != DryRun::No) return Agreed();
  MIST_TRY(ReleaseState state, read_release(environment, id, context));
  if (!state.anchor || !state.anchor->lock) return Agreed();
  release::Store store(environment.client);
  if (!ReleaseLock::looks_dead(lock_dependencies(environment, store), *state.anchor->lock)) return Agreed();
  MIST_TRY(const Unfinished finding, find_unfinished(state, true));
  if (finding.todo != Recovered::Removed) return Agreed();
  UninstallOptions removal = removal_options(state, options, finding.todo);
  removal.dry_run = true;
  MIST_TRY(const UninstallPlan plan, plan_uninstall(environment, std::move(state), removal, context));
  if (plan.deletes() == 0) return Agreed();
  MIST_TRY_VOID(ask(options, plan));
  return deleted_by(plan);
}

}  // namespace

std::string_view to_string(Recovered outcome) {
  switch (outcome) {
    case Recovered::Nothing:
      return "nothing";
    case Recovered::Settled:
      return "settled";
    case Recovered::Finished:
      return "finished";
    case Recovered::Undone:
      return "undone";
    case Recovered::Removed:
      return "removed";
    case Recovered::Uninstalled:
      return "uninstalled";
    case Recovered::Rebuilt:
      return "rebuilt";
  }
  return "nothing";
}

namespace {

Result<RecoverReport> recover_from_labels(const Environment& environment, ReleaseState state,
                                          const RecoverOptions& options, const Context& context) {
  RecoverReport report;
  report.id = state.id;
  MIST_TRY(RebuildPlan plan, plan_rebuild(environment, std::move(state), options.trust_record, context));
  if (!plan.needed) {
    report.revision = plan.state.deployed ? plan.state.deployed->number : -1;
    return report;
  }
  report.outcome = Recovered::Rebuilt;
  if (options.deploy.dry_run == DryRun::No) {
    if (options.agree) {
      MIST_TRY(const bool yes, options.agree(plan));
      if (!yes) return error(ErrorKind::Forbidden, "nothing was written, because the answer was no");
    }
    MIST_TRY_VOID(rebuild(environment, plan, context));
  }
  report.revision = plan.revision.number;
  report.rebuilt = std::move(plan);
  return report;
}

}  // namespace

Result<RecoverReport> recover(const Environment& environment, const ReleaseId& id,
                              const RecoverOptions& options, const Context& context) {
  const LostRevision lost = options.from_labels ? LostRevision::Allowed : LostRevision::Refused;
  MIST_TRY(const Agreed agreed, ask_before_waiting(environment, id, options, context));
  for (int attempt = 1;; ++attempt) {
    MIST_TRY(ReleaseState state, options.deploy.dry_run == DryRun::No
                                     ? read_release_to_write(environment, id, "recover", context, lost)
                                     : read_release(environment, id, context, lost));
    const auto work = [&]() -> Result<RecoverReport> {
      if (options.from_labels) return recover_from_labels(environment, std::move(state), options, context);
      if (!state.anchor) return missing_release(environment, id, context);
      MIST_TRY(Unfinished finding, find_unfinished(state, options.undo));
      MIST_TRY_VOID(find_untold(environment, state, options.undo, finding, context));
      return Recovery(environment, options, context, agreed).run(std::move(state), finding);
    };
    auto report = work();
    if (report.ok() || !release::anchor_moved(report.error()) || attempt == kMostAttempts) return report;
    environment.events.debug(fmt::format("release {} changed meanwhile, looking again", id.display()));
  }
}

Result<RecoverReport> undo_revision(const Environment& environment, const ReleaseId& id, int number,
                                    const std::string& attempt, const DeployOptions& options,
                                    const Context& context) {
  RecoverOptions recover_options{.undo = true, .deploy = options};
  for (int tries = 1;; ++tries) {
    MIST_TRY(ReleaseState state, read_release_to_write(environment, id, "undo", context));
    const bool newest = state.anchor && state.anchor->head.latest == number && !state.unfinished.empty() &&
                        state.unfinished.back().attempt == attempt;
    if (!newest)
      return error(ErrorKind::Conflict, "somebody else has changed release {} since", id.display())
          .with_hint("see " + release::command_text("history", id));
    // All that a first try made, it made just now: nobody's data is in its claims yet. A kind, however, the
    // whole cluster can use as soon as it is there.
    const bool first = !state.deployed && state.unfinished.size() == 1;
    recover_options.deploy.allowed.prune.unused_crds = first;
    recover_options.deploy.allowed.prune.delete_pvcs = options.allowed.prune.delete_pvcs || first;
    MIST_TRY(const Unfinished finding, find_unfinished(state, true));
    auto report = Recovery(environment, recover_options, context).run(std::move(state), finding);
    if (report.ok() || !release::anchor_moved(report.error()) || tries == kMostAttempts) return report;
  }
}

}  // namespace mist::action
