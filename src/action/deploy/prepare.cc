#include "action/deploy/prepare.h"

#include <algorithm>

#include "action/deploy/allow_also.h"
#include "action/deploy/crds.h"
#include "action/deploy/dangling_owners.h"
#include "action/deploy/examine.h"
#include "action/deploy/finished_jobs.h"
#include "action/deploy/take_over.h"
#include "action/recover/labelled.h"
#include "apply/plan/admission_gates.h"
#include "apply/plan/asked_deletes.h"
#include "apply/plan/custom_schema.h"
#include "apply/plan/finished_job.h"
#include "apply/plan/left_as_is.h"
#include "apply/plan/observe.h"
#include "apply/plan/schema_check.h"
#include "apply/plan/settle.h"
#include "apply/plan/test_objects.h"
#include "apply/plan/used_by_left.h"
#include "base/parallel.h"
#include "base/text.h"
#include "kube/api_failure.h"
#include "package/values.h"
#include "release/command_text.h"
#include "render/recorded_options.h"

namespace mist::action {

using apply::ActionKind;
using apply::HookVerb;

namespace {

const kube::ResourceInfo kNamespaces{{"", "v1", "Namespace"}, "namespaces", false, {}};

// An error of its plan, with the line of the template, and secrets hidden.
Error for_people(const PreparedDeploy& prepared, Error failure) {
  return prepared.hidden.masked(with_line(prepared.rendered, std::move(failure)));
}

// Whether the release's namespace has to be made first.
Result<bool> namespace_is_missing(const Environment& environment, const release::ReleaseId& id,
                                  const DeployOptions& options, const Context& context) {
  auto there = environment.client.get({kNamespaces, "", id.ns}, context);
  if (there.ok()) {
    if (apimachinery::is_terminating(*there))
      return error(ErrorKind::Conflict, "the namespace {} is being deleted", id.ns)
          .with_hint("wait until it is gone, or choose another with -n");
    return false;
  }
  // A user who may not look at namespaces may still be allowed to write into this one; the first write will
  // show it.
  if (there.error().kind == ErrorKind::Forbidden) return false;
  if (!kube::is_absent(there.error())) return std::move(there).error();
  if (!options.create_namespace)
    return error(ErrorKind::NotFound, "the namespace {} does not exist", id.ns)
        .with_hint("create it with --create-namespace, or choose another with -n");
  return true;
}

bool same_objects(const std::vector<release::RenderedObject>& a,
                  const std::vector<release::RenderedObject>& b) {
  return std::ranges::equal(a, b,
                            [](const release::RenderedObject& one, const release::RenderedObject& other) {
                              return one.object.value() == other.object.value();
                            });
}

// A release that is as wanted runs no hooks.
void rest_hooks(apply::Plan& plan) {
  for (apply::PlannedAction& action : plan.writes) {
    if (!plan.is_hook(action)) continue;
    action.kind = ActionKind::Unchanged;
    action.differences.clear();
    action.recorded.revision = action.recorded.previous_revision;
    action.reason =
        fmt::format("{}; nothing changes, so it does not run", plan.desired[action.desired].hook->words);
  }
}

// Objects from a chart's crds/ aren't applied. Nor are they deleted as objects that nobody wants any more.
void leave_crds(PreparedDeploy& prepared) {
  std::erase_if(prepared.rendered.objects, [&](const release::RenderedObject& each) {
    if (!apply::is_chart_crd(each)) return false;
    prepared.options.allowed.prune.left_crds.emplace(each.object.name());
    return true;
  });
}

// Hooks and tests of a chart, and of anybody the tests that are annotated so.
Status take_parts(const Environment& environment, PreparedDeploy& prepared, const Intent& intent) {
  RenderedRelease& rendered = prepared.rendered;
  if (rendered.package.engine == apply::kChartEngine) {
    if (prepared.options.skip_crds) leave_crds(prepared);
    apply::ChartParts parts = apply::take_chart_parts(rendered.objects);
    prepared.hooks = std::move(parts.hooks);
    prepared.tests = std::move(parts.tests);
    for (const std::string& ignored : parts.ignored)
      environment.events.warn(fmt::format("not applied: {}", ignored));
  }
  MIST_TRY(std::vector<release::RenderedObject> tests, apply::take_tests(rendered.objects));
  for (release::RenderedObject& test : tests) prepared.tests.push_back(std::move(test));
  // Not applied now, and so checked by nobody else before they are.
  for (const auto* list : {&prepared.tests, &prepared.hooks}) {
    for (const release::RenderedObject& each : *list) MIST_TRY_VOID(apply::refuse_reserved(each));
  }
  prepared.verb = prepared.options.no_hooks ? HookVerb::None : rendered.hooks.value_or(intent.hooks);
  if (prepared.verb == HookVerb::Upgrade && !prepared.state.deployed) prepared.verb = HookVerb::Install;
  return {};
}

bool nothing_new(const PreparedDeploy& prepared) {
  const ReleaseState& state = prepared.state;
  if (!state.deployed || !state.unfinished.empty() || !prepared.plan.changes_nothing()) return false;
  if (state.anchor->head.status != release::RevisionStatus::Deployed) return false;
  return state.deployed->package.digest == prepared.rendered.package.digest &&
         state.deployed->package.reference == prepared.rendered.package.reference &&
         state.deployed->package.calls == prepared.rendered.package.calls &&
         package::same_values(state.deployed->user_values, prepared.rendered.user_values) &&
         render::RecordedOptions::from_value(state.deployed->options).lookups == prepared.rendered.lookups &&
         !prepared.tests_differ() && same_objects(state.deployed->hooks, prepared.hooks);
}

// Namespaces beside the release's own of which nothing tells that they are there: nothing of the release was
// seen in them, and it doesn't bring them.
std::map<std::string, const apply::PlannedAction*> unproven_namespaces(const PreparedDeploy& prepared) {
  std::map<std::string, const apply::PlannedAction*> unproven;
  std::set<std::string> proven{prepared.state.id.ns, ""};
  for (const apply::PlannedAction& action : prepared.plan.writes) {
    const apimachinery::ObjectKey& key = action.key;
    if (key.group_kind == apimachinery::kNamespace) proven.insert(key.name);
    if (action.kind != ActionKind::Create) proven.insert(key.ns);
    unproven.emplace(key.ns, &action);
  }
  for (const std::string& each : proven) unproven.erase(each);
  return unproven;
}

// Half of a release would be written before the server said so.
Status check_namespaces(const Environment& environment, const PreparedDeploy& prepared,
                        const Context& context) {
  const auto unproven = unproven_namespaces(prepared);
  const std::vector<std::pair<std::string, const apply::PlannedAction*>> asked(unproven.begin(),
                                                                               unproven.end());
  return parallel_for(asked.size(), 16, [&](std::size_t i) -> Status {
    const auto& [name, action] = asked[i];
    auto there = environment.client.get({kNamespaces, "", name}, context);
    // As with the release's own: who may not look at it may still write into it.
    if (!there.ok() && there.error().kind == ErrorKind::Forbidden) return {};
    if (!there.ok() && !kube::is_absent(there.error())) return std::move(there).error();
    if (there.ok() && !apimachinery::is_terminating(*there)) return {};
    const release::RenderedObject& rendered = prepared.plan.desired[action->desired].rendered;
    Error failure =
        there.ok()
            ? error(ErrorKind::Conflict, "the namespace of {} is being deleted", action->key.display())
                  .with_hint("wait until it is gone")
            : error(ErrorKind::NotFound, "the namespace of {} does not exist", action->key.display())
                  .with_hint(fmt::format(
                      "put the Namespace into the package, or create it: {}",
                      release::kubectl_text(prepared.state.id, fmt::format("create namespace {}", name))));
    failure.where = rendered.place();
    return failure;
  });
}

// A recorded revision that is applied again may do what it was allowed to do.
DeployOptions with_recorded(DeployOptions options, const render::RecordedOptions& recorded) {
  allow_also(options.allowed, recorded.allowed);
  options.force_crds = options.force_crds || recorded.force_crds;
  return options;
}

// The values that none of the outputs may show.
render::HiddenValues hidden_values(const PreparedDeploy& prepared) {
  render::HiddenValues hidden;
  hidden.add(prepared.rendered.looked_up);
  hidden.add(prepared.rendered.drawn.looked_up, render::view_of(prepared.rendered.objects));
  if (prepared.state.deployed) hidden.add(*prepared.state.deployed);
  for (const release::Revision& revision : prepared.state.unfinished) hidden.add(revision);
  return hidden;
}

using Owned = std::vector<apply::InventoryItem>;

// The objects that the release applied, or began to apply. The pointers refer to the state.
std::multimap<apimachinery::ObjectKey, const encoding::Value*> recorded_objects(const ReleaseState& state) {
  std::multimap<apimachinery::ObjectKey, const encoding::Value*> objects;
  const auto add = [&](const release::Revision& revision) {
    for (const apimachinery::RenderedObject& each : revision.objects)
      objects.emplace(each.object.key(), &each.object.value());
  };
  if (state.deployed) add(*state.deployed);
  std::ranges::for_each(state.unfinished, add);
  return objects;
}

// Those that are wanted and gone.
std::set<apimachinery::ObjectKey> finished_jobs_of(const Environment& environment,
                                                   const PreparedDeploy& prepared,
                                                   const std::vector<apply::DesiredObject>& desired,
                                                   const Owned& owned, const Context& context) {
  std::map<apimachinery::ObjectKey, const encoding::Value*> jobs;
  for (const apply::DesiredObject& object : desired) {
    const encoding::Value& wanted = object.rendered.object.value();
    if (!object.hook && apply::removes_itself(wanted)) jobs.emplace(object.key, &wanted);
  }
  if (jobs.empty()) return {};
  return finished_jobs(
      environment, prepared.state, prepared.live, owned,
      [&](const apimachinery::ObjectKey& key) {
        const auto found = jobs.find(key);
        return found == jobs.end() ? nullptr : found->second;
      },
      context);
}

enum class Unreadable : std::uint8_t { Fails, IsNamed };

Status observe(const Environment& environment, PreparedDeploy& prepared,
               const std::vector<apply::DesiredObject>& desired, const Owned& owned, Unreadable unreadable,
               const Context& context, std::set<apimachinery::GroupKind>* vanished = nullptr) {
  prepared.unconverted.clear();
  MIST_TRY(prepared.live,
           apply::observe(environment.client, prepared.state.id, desired, owned, context,
                          {.adopt = prepared.options.allowed.adopt,
                           .take_over_from = prepared.options.allowed.take_over_from,
                           .forbidden = unreadable == Unreadable::IsNamed ? &prepared.unreadable : nullptr,
                           .unconverted = &prepared.unconverted,
                           .vanished = vanished}));
  return {};
}

// No package makes anything of what is recorded.
void hint_at_undoing(PreparedDeploy& prepared) {
  for (apply::PlannedAction& write : prepared.plan.writes) {
    if (write.kind != ActionKind::Conflict || write.refusal.cause != apply::ConflictCause::Refused) continue;
    write.refusal.hint =
        fmt::format("upgrade with a package that makes it otherwise, or undo the revision: {}",
                    release::command_text("recover", prepared.state.id, "--undo"));
  }
}

// Helm passes over the CRDs of crds/ that exist: the second release of a chart is nothing unusual.
void hint_at_skip_crds(PreparedDeploy& prepared) {
  for (apply::PlannedAction& write : prepared.plan.writes) {
    if (write.kind != ActionKind::Conflict || write.refusal.cause != apply::ConflictCause::Foreign ||
        !apply::is_chart_crd(prepared.plan.desired[write.desired].rendered))
      continue;
    write.refusal.hint = write.live.owner.part_of.empty() && write.owner.empty()
                             ? "leave it as it is with --skip-crds, or take it into the release with --adopt"
                             : "leave it to its owner with --skip-crds";
  }
}

// A rollback goes back beyond these adoptions, but no record has the earlier states of the objects.
void note_untold_adoptions(PreparedDeploy& prepared) {
  for (apply::PlannedAction& removal : prepared.plan.removals) {
    const auto since = prepared.rendered.adopted_since.find(removal.key);
    if (removal.kind != ActionKind::Retain || !removal.recorded.adopted || is_return(removal) ||
        since == prepared.rendered.adopted_since.end() || !since->second.is_null())
      continue;
    removal.recorded.left = true;
    removal.reason += "; no record tells what it was, so it keeps what the release wrote";
  }
}

// Last of all, when it is known what is left. Objects that it uses stay with it, and with them what contains
// them: containers are decided again, which may leave more.
Status retain_what_is_used(const Environment& environment, PreparedDeploy& prepared, const Context& context) {
  prepared.used = apply::used_removals(prepared.plan, prepared.live);
  while (apply::retain_used_by_left(prepared.plan, prepared.used)) {
    MIST_TRY(prepared.containers, Containers::of_plan(environment, prepared.plan, prepared.live,
                                                      prepared.options.allowed.prune, context));
    apply::leave_refused(prepared.plan, prepared.live, {.allowed = prepared.options.allowed});
  }
  return {};
}

Status make_plan(const Environment& environment, PreparedDeploy& prepared,
                 std::vector<apply::DesiredObject> desired, const Owned& owned, const Context& context) {
  apply::PlanRules rules{.allowed = prepared.options.allowed};
  rules.kubectl = environment.client.kubectl();
  rules.read_only = prepared.read_only;
  rules.resumes = prepared.rendered.hooks_resume;
  rules.made_namespace = prepared.made_namespace;
  rules.was_helms = apply::has_adopted(prepared.state.id, owned);
  rules.unreadable = prepared.unconverted;
  rules.recorded = recorded_objects(prepared.state);
  rules.undeployed_adoptions = prepared.undeployed_adoptions();
  rules.hooks_never_run = prepared.state.hooks_never_run();
  rules.finished_jobs = finished_jobs_of(environment, prepared, desired, owned, context);
  MIST_TRY(prepared.plan, apply::make_plan(prepared.state.id, std::move(desired), owned, prepared.live,
                                           prepared.state.next_revision(), rules, prepared.waiting));
  MIST_TRY_VOID(plan_returns(environment, prepared.state, prepared.plan.removals, context));
  note_untold_adoptions(prepared);
  // A recorded revision is applied as it is.
  const bool rendered_chart =
      prepared.rendered.restores < 0 && prepared.rendered.package.engine == apply::kChartEngine;
  if (rendered_chart) hint_at_skip_crds(prepared);
  if (prepared.asks_about_changes) apply::ask_about_all_changes(prepared.plan);
  MIST_TRY_VOID(apply::settle(environment.client, prepared.plan, prepared.live, rules, context));
  MIST_TRY(prepared.containers, Containers::of_plan(environment, prepared.plan, prepared.live,
                                                    prepared.options.allowed.prune, context));
  if (prepared.asks_about_changes) {
    MIST_TRY_VOID(
        apply::ask_about_deletes(environment.client, prepared.plan, rules, prepared.leaves_refused, context));
    MIST_TRY_VOID(apply::put_gates_first(environment.client, prepared.plan, prepared.live, context));
  }
  if (prepared.leaves_refused)
    apply::leave_refused(prepared.plan, prepared.live, {.allowed = prepared.options.allowed});
  else if (prepared.rendered.restores >= 0)
    hint_at_undoing(prepared);
  // A recorded revision was checked when it was made.
  if (rendered_chart && !prepared.options.force_crds)
    MIST_TRY_VOID(check_crds(environment, prepared.plan, prepared.live, context));
  MIST_TRY_VOID(check_namespaces(environment, prepared, context));
  if (prepared.leaves_refused) {
    MIST_TRY_VOID(leave_dangling_owners(environment, prepared.plan, context));
    MIST_TRY_VOID(retain_what_is_used(environment, prepared, context));
  } else if (prepared.asks_about_changes) {
    MIST_TRY_VOID(refuse_dangling_owners(environment, prepared.plan, context));
  }
  prepared.nothing_new = nothing_new(prepared);
  if (prepared.nothing_new) rest_hooks(prepared.plan);
  return {};
}

// An object that was shown because --adopt takes it must be taken. A hook or a test of that name takes
// nothing, and would let a chart read every Secret of the cluster.
Status refuse_untaken(const RenderedRelease& rendered, const std::vector<apply::DesiredObject>& desired) {
  if (rendered.to_be_taken.empty()) return {};
  std::set<apimachinery::ObjectKey> taken;
  for (const apply::DesiredObject& each : desired)
    if (!each.hook) taken.insert(each.key);
  for (const apimachinery::ObjectKey& key : rendered.to_be_taken)
    if (!taken.contains(key))
      return render::lookup_not_granted(key.group_kind, key.ns, key.name, rendered.scope);
  return {};
}

// A wrong path, an empty file, a condition that is never met: each makes nothing, and no error.
Status refuse_emptying(const PreparedDeploy& prepared, const std::vector<apply::DesiredObject>& desired) {
  if (!desired.empty() || prepared.options.allow_empty || prepared.rendered.restores >= 0 ||
      !prepared.state.deployed)
    return {};
  const auto count =
      std::ranges::count_if(prepared.state.deployed->inventory,
                            [](const apply::InventoryItem& item) { return !item.retained && !item.hook; });
  if (count == 0) return {};
  return error(ErrorKind::Conflict, "the package makes no objects, so all {} of release {} would go",
               plural(static_cast<std::size_t>(count), "object"), prepared.state.id.display())
      .with_hint(fmt::format("see what mistctl generate prints; if that is meant, say --allow-empty, or {}",
                             release::command_text("uninstall", prepared.state.id)));
}

// Of what is wanted: what is there, and what is to be done.
Status observe_cluster(const Environment& environment, PreparedDeploy& result, const Intent& intent,
                       const DeployOptions& options, Unreadable unreadable, const Context& context) {
  const release::ReleaseId& id = result.state.id;
  MIST_TRY_VOID(take_parts(environment, result, intent));
  std::optional<Activity> reading(std::in_place, environment.events, "reading the cluster");
  MIST_TRY(apply::WithHooks wanted,
           apply::prepare_with_hooks(std::move(result.rendered.objects), result.hooks, result.verb, id,
                                     environment.client, context));
  std::vector<apply::DesiredObject> desired = std::move(wanted.desired);
  result.waiting = std::move(wanted.waiting);
  MIST_TRY_VOID(refuse_untaken(result.rendered, desired));
  MIST_TRY_VOID(refuse_emptying(result, desired));
  // For a recorded revision, this warning was given when it was rendered.
  if (result.rendered.restores < 0) apply::warn_of_left_out(desired, environment.events);
  MIST_TRY_VOID(
      apply::check_custom_resources(desired, apply::changes_by(desired, environment.client, context)));
  const Owned owned = result.state.owned();
  std::set<apimachinery::GroupKind> vanished;
  // None needs another's answer: one round trip to a far server. A release that seems new may be one that
  // lost its anchor: another seed would change all its passwords.
  const std::size_t questions = result.state.anchor ? 2 : 3;
  MIST_TRY_VOID(parallel_for(questions, 3, [&](std::size_t question) -> Status {
    if (question == 2) return refuse_lost_anchor(environment, id, context);
    if (question == 1) return observe(environment, result, desired, owned, unreadable, context, &vanished);
    MIST_TRY(result.namespace_missing, namespace_is_missing(environment, id, options, context));
    return {};
  }));
  if (!vanished.empty()) {
    MIST_TRY_VOID(apply::renew_kinds(desired, vanished, environment.client, context));
    MIST_TRY_VOID(observe(environment, result, desired, owned, unreadable, context));
  }
  warn_of_strays(environment, id, result.live, desired, owned);
  MIST_TRY_VOID(make_plan(environment, result, std::move(desired), owned, context));
  reading.reset();
  return examine_drawn(environment, result, context);
}

Result<PreparedDeploy> prepare_with(const Environment& environment, ReleaseState state, const Intent& intent,
                                    const DeployOptions& options, Unreadable unreadable,
                                    const Context& context) {
  PreparedDeploy result;
  result.state = std::move(state);
  result.leaves_refused = intent.leaves_refused;
  result.asks_about_changes = intent.asks_about_changes;
  result.read_only = intent.read_only || options.dry_run != DryRun::No;
  if (intent.check) {
    if (Status refused = intent.check(result.state); !refused) {
      if (!result.state.anchor) MIST_TRY_VOID(refuse_lost_anchor(environment, result.state.id, context));
      return std::move(refused).error();
    }
  }
  // An install that never ended is gone on with, and so is what somebody else may have put there.
  if (intent.action_for(result.state) == "install" && result.state.anchor &&
      result.state.anchor->head.deployed < 0)
    environment.events.warn(fmt::format(
        "release {} has a record since {}, of an install that did not end: its seed is used again. If "
        "that was not yours, remove it first: {}",
        result.state.id.display(), result.state.anchor->created,
        release::command_text("uninstall", result.state.id)));
  if (!options.rotate.nothing()) MIST_TRY_VOID(read_kept_rotations(environment, result.state, context));
  MIST_TRY(result.rendered, intent.render(result.state));
  if (result.rendered.fixed) result.state.fixed = *result.rendered.fixed;
  result.hidden = hidden_values(result);
  result.options = with_recorded(options, result.rendered.recorded_options);
  // Objects that a run was taking over when it died are still to be taken over; going back to a revision
  // takes nothing.
  if (!options.allowed.take_over_from && !result.state.unfinished.empty())
    result.options.allowed.take_over_from = result.rendered.recorded_options.allowed.take_over_from;
  if (Status seen = observe_cluster(environment, result, intent, options, unreadable, context); !seen.ok())
    return for_people(result, std::move(seen).error());
  return result;
}

// Looks again if discovery turns out to be outdated in the midst of it.
Result<PreparedDeploy> prepare_until_scopes_agree(const Environment& environment,
                                                  const release::ReleaseId& id, const Intent& intent,
                                                  const DeployOptions& options, Unreadable unreadable,
                                                  const Context& context) {
  for (int tries = 1;; ++tries) {
    MIST_TRY(ReleaseState state, read_release(environment, id, context));
    auto seen = prepare_with(environment, std::move(state), intent, options, unreadable, context);
    if (seen.ok() || !apply::has_other_scope(seen.error()) || tries == kMostAttempts) return seen;
    environment.client.invalidate_discovery();
  }
}

}  // namespace

std::set<apimachinery::ObjectKey> PreparedDeploy::undeployed_adoptions() const {
  std::set<apimachinery::ObjectKey> keys = state.undeployed_adoptions();
  for (const auto& [key, before] : rendered.adopted_since) keys.insert(key);
  return keys;
}

bool PreparedDeploy::tests_differ() const {
  return state.deployed ? !same_objects(state.deployed->tests, tests) : !tests.empty();
}

Result<PreparedDeploy> prepare(const Environment& environment, const release::ReleaseId& id,
                               const Intent& intent, const DeployOptions& options, const Context& context) {
  return prepare_until_scopes_agree(environment, id, intent, options, Unreadable::Fails, context);
}

Result<PreparedDeploy> prepare(const Environment& environment, ReleaseState state, const Intent& intent,
                               const DeployOptions& options, const Context& context) {
  return prepare_with(environment, std::move(state), intent, options, Unreadable::Fails, context);
}

Result<PreparedDeploy> prepare_readable(const Environment& environment, const release::ReleaseId& id,
                                        const Intent& intent, const DeployOptions& options,
                                        const Context& context) {
  return prepare_until_scopes_agree(environment, id, intent, options, Unreadable::IsNamed, context);
}

// Half of a release would be written before the server said what it can't read.
Status check_prepared(const Environment& environment, const PreparedDeploy& prepared,
                      const Context& context) {
  Status fits = apply::check_against_server(
      environment.client, prepared.plan,
      apply::changes_by(prepared.plan.desired, environment.client, context), context);
  return fits.ok() ? fits : for_people(prepared, std::move(fits).error());
}

Status explain_refusals(const Environment& environment, PreparedDeploy& prepared, const Context& context) {
  return apply::explain_refusals(environment.client, prepared.plan, context);
}

Status refuse_conflicts(const PreparedDeploy& prepared) {
  Status agreed = apply::refuse_conflicts(prepared.plan);
  return agreed.ok() ? agreed : for_people(prepared, std::move(agreed).error());
}

Status refresh(const Environment& environment, PreparedDeploy& prepared, const Context& context) {
  std::vector<apply::DesiredObject> desired = std::move(prepared.plan.desired);
  const Owned owned = prepared.state.owned();
  const Activity reading(environment.events, "reading the cluster");
  MIST_TRY_VOID(observe(environment, prepared, desired, owned, Unreadable::Fails, context));
  return make_plan(environment, prepared, std::move(desired), owned, context);
}

}  // namespace mist::action
