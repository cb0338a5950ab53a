#include "action/deploy/deploy.h"

#include <algorithm>
#include <array>
#include <set>

#include "action/deploy/adopted.h"
#include "action/deploy/deployment.h"
#include "action/deploy/examine.h"
#include "action/deploy/late_writes.h"
#include "action/deploy/prepare.h"
#include "action/deploy/server_dry_run.h"
#include "action/managing_release.h"
#include "action/recover/recover.h"
#include "action/recover/rollback.h"
#include "apply/plan/left_as_is.h"
#include "apply/wait/readiness.h"
#include "apply/wait/wait.h"
#include "base/masked_events.h"
#include "base/text.h"
#include "kube/api_failure.h"
#include "release/command_text.h"

namespace mist::action {

using release::Revision;
using release::RevisionStatus;

namespace {

// A 409 says that somebody made the namespace meanwhile, or that admission denies it with that status.
Status refuse_unless_there(const Environment& environment, const kube::ObjectRef& ref, Error refusal,
                           const Context& context) {
  const auto there = environment.client.get(ref, context);
  // A caller that may not look at it may still write into it; then the first write will tell.
  if (!there.ok() && there.error().kind == ErrorKind::Forbidden) return {};
  if (!there.ok() && kube::is_absent(there.error())) return refusal;
  if (!there.ok()) return there.error();
  if (!apimachinery::is_terminating(*there)) return {};
  return error(ErrorKind::Conflict, "the namespace {} is being deleted", ref.name)
      .with_hint("wait until it is gone, or choose another with -n");
}

// The one write before the journal, when it is asked for. Whether it was us who made it.
Result<bool> create_namespace(const Environment& environment, const std::string& name,
                              const Context& context) {
  const Activity activity(environment.events, fmt::format("creating the namespace {}", name));
  const kube::ResourceInfo namespaces{{"", "v1", "Namespace"}, "namespaces", false, {}};
  const encoding::Value object = encoding::Value::object(
      {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", encoding::Value::object({{"name", name}})}});
  auto created = environment.client.create(namespaces, "", object, context);
  constexpr std::string_view kFrame = "while creating the release's namespace";
  if (!created.ok() && created.error().kind != ErrorKind::Conflict)
    return std::move(created).error().with_frame(std::string(kFrame));
  if (!created.ok()) {
    MIST_TRY_VOID(
        refuse_unless_there(environment, {namespaces, "", name}, std::move(created).error(), context)
            .in(std::string(kFrame)));
    return false;
  }
  environment.events.info(fmt::format("created the namespace {}", name));
  return true;
}

DeployReport report_of(PreparedDeploy prepared) {
  DeployReport report;
  report.id = prepared.state.id;
  report.dry_run = prepared.options.dry_run;
  report.package = prepared.rendered.package;
  report.first = !prepared.state.deployed;
  if (prepared.state.deployed)
    report.packages = package_changes(prepared.state.deployed->package, prepared.rendered.package);
  report.message = std::move(prepared.rendered.message);
  report.restores = prepared.rendered.restores;
  report.revision = prepared.plan.revision;
  report.plan = std::move(prepared.plan);
  return report;
}

// Nothing is to be written, but the objects that are there may still not be ready: their Pods may have
// crashed since yesterday. Those that the look saw as ready aren't asked for again.
Status wait_for_what_is_there(const Environment& environment, const PreparedDeploy& prepared,
                              const Context& context) {
  std::vector<apply::AwaitedObject> objects = apply::awaited_objects(prepared.plan, {});
  std::erase_if(objects, [&](const apply::AwaitedObject& object) {
    const auto live = prepared.live.find(object.key);
    return live != prepared.live.end() && live->second.whole &&
           apply::readiness(live->second.value).health == apply::Health::Ready;
  });
  return apply::wait_until_ready(
             environment.client, prepared.state.id, objects,
             {.timeout = prepared.options.timeout, .jobs_end = prepared.options.wait_for_jobs},
             environment.events, context)
      .in("while waiting for the release to become ready; nothing had to be written");
}

// Objects that a stopped run may still be writing, and that this one leaves, are written first: those that
// are seen after that stay as they are.
Status outdate_late_writes(const Environment& environment, PreparedDeploy& prepared, const Context& context) {
  OwnWrites own;
  own.add(prepared.plan.removals);
  own.add(prepared.plan.writes);
  MIST_TRY(const std::size_t written, outdate_late_writes(environment, prepared.state, own, context));
  if (written == 0) return {};
  return refresh(environment, prepared, context);
}

// A deployment that failed may have a revision to undo.
struct Try {
  Result<DeployReport> report;
  std::optional<Deployment::Recorded> failed = {};
};

Try carry_out(const Environment& environment, Result<PreparedDeploy> seen, const Intent& intent,
              const DeployOptions& options, const Context& context) {
  const release::ReleaseId id = seen->state.id;
  if (Status drawn = accept_drawn(environment, *seen); !drawn) return {std::move(drawn).error()};
  if (Status fits = check_prepared(environment, *seen, context); !fits) return {std::move(fits).error()};
  if (!(intent.may_change_nothing && seen->nothing_new))
    warn_of_managing_release(environment, seen->state, ManagedChange::Deploy, context);
  if (options.dry_run == DryRun::No) {
    if (Status kept = outdate_late_writes(environment, *seen, context); !kept)
      return {std::move(kept).error()};
  }
  if (intent.agree) {
    if (Status agreed = intent.agree(seen->plan); !agreed) return {std::move(agreed).error()};
  }
  if (intent.may_change_nothing && seen->nothing_new) {
    if (options.wait && options.dry_run == DryRun::No) {
      if (Status ready = wait_for_what_is_there(environment, *seen, context); !ready)
        return {with_line(seen->rendered, std::move(ready).error())};
    }
    if (options.dry_run == DryRun::No) {
      if (Status named = record_managing_release(environment, seen->state, context); !named)
        return {std::move(named).error()};
    }
    const int deployed = seen->state.deployed->number;
    DeployReport report = report_of(*std::move(seen));
    report.changed = false;
    report.revision = deployed;
    return {std::move(report)};
  }
  if (Status agreed = refuse_conflicts(*seen); !agreed) return {std::move(agreed).error()};
  if (options.dry_run == DryRun::Server) {
    const bool force = seen->options.allowed.force_conflicts;
    const std::string missing = seen->namespace_missing ? id.ns : std::string();
    if (Status checked = dry_run_on_server(environment, seen->plan, missing, force, context); !checked)
      return {with_line(seen->rendered, std::move(checked).error())};
  }
  if (options.dry_run != DryRun::No) return {report_of(*std::move(seen))};
  if (seen->namespace_missing) {
    auto made = create_namespace(environment, id.ns, context);
    if (!made.ok()) return {std::move(made).error()};
    seen->made_namespace = *made;
    if (Status again = refresh(environment, *seen, context); !again) return {std::move(again).error()};
    if (Status agreed = refuse_conflicts(*seen); !agreed) return {std::move(agreed).error()};
  }
  if (seen->state.silent_lock) {
    for (const auto& [key, live] : seen->live)
      seen->seen_uids.emplace(live.value.string_at({"metadata", "uid"}));
  }
  encoding::Value before = before_adoption(seen->state, seen->plan, seen->live);
  // Thousands of objects are not kept through the run, unless it may turn out that some must stay.
  if (seen->used.empty()) seen->live.clear();
  const std::string& action = intent.action_for(seen->state);
  Deployment deployment(environment, *seen, action, std::move(before));
  if (Status done = deployment.run(context); !done)
    return {with_line(seen->rendered, std::move(done).error()), deployment.failed()};
  for (apply::PlannedAction& removal : seen->plan.removals) {
    if (const auto left = deployment.left().find(removal.key); left != deployment.left().end()) {
      removal.recorded.left = true;
      removal.reason = left->second;
    }
    const auto stayed = deployment.stayed().find(removal.key);
    if (stayed == deployment.stayed().end()) continue;
    removal.kind = apply::ActionKind::Retain;
    removal.reason = stayed->second;
  }
  for (apply::PlannedAction& write : seen->plan.writes) {
    if (const auto left = deployment.left().find(write.key); left != deployment.left().end())
      apply::leave(write, left->second);
  }
  const int deployed = seen->state.deployed ? seen->state.deployed->number : -1;
  DeployReport report = report_of(*std::move(seen));
  if (deployment.changed_nothing()) {
    report.changed = false;
    report.revision = deployed;
  }
  return {std::move(report)};
}

Try try_deploy(const Environment& environment, ReleaseState state, const Intent& intent,
               const DeployOptions& options, const Context& context) {
  auto seen = prepare(environment, std::move(state), intent, options, context);
  if (!seen.ok()) return {std::move(seen).error()};
  const render::HiddenValues hidden = seen->hidden;
  if (hidden.empty()) return carry_out(environment, std::move(seen), intent, options, context);
  MaskedEvents events(environment.events, hidden);
  const Environment masked = environment.heard_by(events);
  Try tried = carry_out(masked, std::move(seen), intent, options, context);
  if (!tried.report.ok()) tried.report = hidden.masked(std::move(tried.report).error());
  return tried;
}

// The error of a failed run, with what became of returning to what was there before.
Error rolled_back(const Environment& environment, const release::ReleaseId& id,
                  const Deployment::Recorded& failed, DeployOptions options, Error failure,
                  const Context& context) {
  const std::string by_hand = release::command_text("recover", id, "--undo");
  if (!context.check()) {
    failure.hint = fmt::format("it was not rolled back, because it was stopped; {} does that", by_hand);
    return failure;
  }
  environment.events.warn(
      fmt::format("rolling back, because v{} failed: {}", failed.number, failure.message));
  options.rollback_on_failure = false;
  const auto undone = undo_revision(environment, id, failed.number, failed.attempt, options, context);
  if (!undone.ok()) {
    failure.frames.push_back(fmt::format("rolling back failed too: {}", undone.error().to_line()));
    failure.hint = fmt::format("fix the cause, then try that again with {}", by_hand);
    return failure;
  }
  if (undone->deployment) {
    const apply::Plan& plan = undone->deployment->plan;
    failure.frames.push_back(fmt::format("rolled back to v{}, as v{}{}", undone->deployment->restores,
                                         undone->deployment->revision, apply::but_for_left(plan)));
    for (const auto* actions : {&plan.writes, &plan.removals})
      for (const apply::PlannedAction& action : *actions)
        if (action.recorded.left) failure.frames.push_back(apply::left_words(action));
  }
  if (undone->removal)
    failure.frames.push_back(fmt::format("rolled back: {}", count_words(*undone->removal)));
  failure.hint = "run the command again once the cause is fixed";
  return failure;
}

}  // namespace

std::string DeployReport::but_for_left() const { return apply::but_for_left(plan); }

std::map<apimachinery::ObjectKey, std::string> DeployReport::left() const {
  std::map<apimachinery::ObjectKey, std::string> left;
  for (const auto* actions : {&plan.writes, &plan.removals})
    for (const apply::PlannedAction& action : *actions)
      if (action.recorded.left) left.emplace(action.key, action.reason);
  return left;
}

Status refuse_uninstalling(const ReleaseState& state) {
  if (!state.anchor || !is_uninstalling(state)) return {};
  return error(ErrorKind::Conflict, "release {} is half uninstalled", state.id.display())
      .with_hint(fmt::format("finish with {}, or take it back with {}",
                             release::command_text("recover", state.id),
                             release::command_text("recover", state.id, "--undo")));
}

Status refuse_missing(const ReleaseState& state) {
  if (state.anchor) return {};
  return error(ErrorKind::NotFound, "release {} does not exist", state.id.display())
      .with_hint(missing_hint(state.id));
}

Intent install_intent(Render render) {
  const auto check = [](const ReleaseState& state) -> Status {
    MIST_TRY_VOID(refuse_uninstalling(state));
    if (state.anchor && state.anchor->head.deployed >= 0)
      return error(ErrorKind::Conflict, "release {} exists already, at revision {}", state.id.display(),
                   state.anchor->head.deployed)
          .with_hint("change it with " + release::command_text("upgrade", state.id));
    return {};
  };
  return {.action = "install",
          .check = check,
          .render = std::move(render),
          .may_change_nothing = false,
          .hooks = apply::HookVerb::Install};
}

Intent upgrade_intent(Render render) {
  const auto check = [](const ReleaseState& state) -> Status {
    if (!state.anchor)
      return error(ErrorKind::NotFound, "release {} does not exist", state.id.display())
          .with_hint(fmt::format("see {}, or install it with {}", release::list_text(state.id),
                                 release::command_text("install", state.id, "-p PACKAGE")));
    return refuse_uninstalling(state);
  };
  return {
      .action = "upgrade", .check = check, .render = std::move(render), .hooks = apply::HookVerb::Upgrade};
}

Intent upgrade_or_install_intent(Render render) {
  return {.action = "upgrade",
          .first_action = "install",
          .check = refuse_uninstalling,
          .render = std::move(render),
          .hooks = apply::HookVerb::Upgrade};
}

Intent preview_intent(Render render) {
  return {.action = "preview",
          .check = refuse_uninstalling,
          .render = std::move(render),
          .hooks = apply::HookVerb::Upgrade,
          .read_only = true};
}

Intent reapply_intent() {
  const auto check = [](const ReleaseState& state) -> Status {
    MIST_TRY_VOID(refuse_missing(state));
    MIST_TRY_VOID(refuse_uninstalling(state));
    if (!state.deployed)
      return error(ErrorKind::Conflict, "release {} was never deployed", state.id.display())
          .with_hint("install it again: " + release::command_text("install", state.id, "-p PACKAGE"));
    return {};
  };
  const auto render = [](const ReleaseState& state) -> Result<RenderedRelease> {
    RenderedRelease restored = restored_release(*state.deployed, state.id.ns);
    restored.restores = state.deployed->number;
    restored.description = fmt::format("v{} once more", state.deployed->number);
    return restored;
  };
  return {.action = "reapply", .check = check, .render = render};
}

Result<DeployReport> deploy_once(const Environment& environment, ReleaseState state, const Intent& intent,
                                 const DeployOptions& options, const Context& context) {
  return try_deploy(environment, std::move(state), intent, options, context).report;
}

namespace {

// Two that take from each other lock each other out at the same moment, and again as soon as they try again:
// each steps back for another while.
void step_back(const Environment& environment, int attempt, const Context& context) {
  if (attempt < 2) return;
  std::array<std::byte, 2> drawn;
  environment.random.fill(drawn);
  const auto part = (std::to_integer<unsigned>(drawn[0]) << 8U | std::to_integer<unsigned>(drawn[1])) % 1000U;
  const int most = 50 << std::min(attempt, 5);  // milliseconds
  environment.clock.sleep(std::chrono::milliseconds(most) * part / 1000, context.stop());
}

Error moves_on(const release::ReleaseId& id, const Error& last) {
  return error(ErrorKind::Conflict, "release {} was changed by others each time it was looked at",
               id.display())
      .with_because(last.to_line())
      .with_hint("wait for them, or let this command wait with --lock-wait 5m");
}

}  // namespace

Result<DeployReport> deploy(const Environment& environment, const release::ReleaseId& id,
                            const Intent& intent, const DeployOptions& options, const Context& context) {
  const SteadyTime give_up = environment.clock.steady_now() +
                             std::chrono::duration_cast<SteadyTime::duration>(environment.lock_wait);
  for (int attempt = 1;; ++attempt) {
    MIST_TRY(ReleaseState state,
             options.dry_run == DryRun::No
                 ? read_release_to_write(environment, id, intent.action, context, intent.lost)
                 : read_release(environment, id, context, intent.lost));
    Try result = try_deploy(environment, std::move(state), intent, options, context);
    if (result.report.ok()) return std::move(result.report);
    if (apply::has_other_scope(result.report.error()) && attempt < kMostAttempts) {
      environment.client.invalidate_discovery();
      environment.events.info(
          fmt::format("{}: looking again at what the cluster serves", result.report.error().message));
      continue;
    }
    if (result.failed && options.rollback_on_failure)
      return rolled_back(environment, id, *result.failed, options, std::move(result.report).error(), context);
    // Somebody changed the release between our look and our lock.
    if (!release::anchor_moved(result.report.error())) return std::move(result.report);
    if (attempt >= kMostAttempts && environment.clock.steady_now() >= give_up)
      return moves_on(id, result.report.error());
    environment.events.debug(fmt::format("release {} changed meanwhile, looking again", id.display()));
    step_back(environment, attempt, context);
    MIST_TRY_VOID(context.check());
  }
}

}  // namespace mist::action
