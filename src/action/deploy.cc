#include "action/deploy.h"

#include <algorithm>
#include <set>

#include "apply/observe.h"
#include "apply/wait.h"
#include "base/parallel.h"
#include "base/text.h"

namespace mist::action {

using apply::Plan;
using release::Anchor;
using release::AnchorChange;
using release::ReleaseId;
using release::ReleaseLock;
using release::Revision;
using release::RevisionStatus;

namespace {

const apimachinery::GroupKind kNamespaceKind{"", "Namespace"};

kube::ObjectRef namespace_ref(const std::string& name) {
  return {{{"", "v1", "Namespace"}, "namespaces", false, {}}, "", name};
}

// The one write before the journal, when it is asked for.
Status ensure_namespace(const Environment& environment, const ReleaseId& id, const DeployOptions& options,
                        const Context& context) {
  auto there = environment.client.get(namespace_ref(id.ns), context);
  if (there.ok()) {
    if (const encoding::Value* stamp = there->at_path({"metadata", "deletionTimestamp"});
        stamp != nullptr && !stamp->is_null())
      return error(ErrorKind::Conflict, "the namespace {} is being deleted", id.ns)
          .with_hint("wait until it is gone, or choose another with -n");
    return {};
  }
  // Who may not look at namespaces may still be allowed to write into this one; then the first write will
  // tell.
  if (there.error().kind == ErrorKind::Forbidden) return {};
  if (there.error().kind != ErrorKind::NotFound) return std::move(there).error();
  if (!options.create_namespace)
    return error(ErrorKind::NotFound, "the namespace {} does not exist", id.ns)
        .with_hint("create it with --create-namespace, or choose another with -n");
  if (options.dry_run != DryRun::No) return {};
  const encoding::Value object =
      encoding::Value::object({{"apiVersion", "v1"},
                               {"kind", "Namespace"},
                               {"metadata", encoding::Value::object({{"name", id.ns}})}});
  auto created = environment.client.create(namespace_ref(id.ns).resource, "", object, context);
  if (!created.ok() && created.error().kind != ErrorKind::Conflict)
    return std::move(created).error().with_frame("while creating the release's namespace");
  environment.events.info(fmt::format("created the namespace {}", id.ns));
  return {};
}

std::vector<std::string> group_kinds_of(const std::vector<release::InventoryItem>& inventory) {
  std::set<std::string> kinds;
  for (const release::InventoryItem& item : inventory)
    kinds.insert(apimachinery::to_string(item.key.group_kind));
  return {kinds.begin(), kinds.end()};
}

std::vector<std::string> namespaces_of(const std::vector<release::InventoryItem>& inventory,
                                       const std::string& own) {
  std::set<std::string> names;
  for (const release::InventoryItem& item : inventory) {
    if (!item.key.ns.empty() && item.key.ns != own) names.insert(item.key.ns);
  }
  return {names.begin(), names.end()};
}

// Options that shape the result, so that the same command again is recognised as nothing new.
encoding::Value recorded_options(const DeployOptions& options) {
  return encoding::Value::object({{"deleteCrds", options.prune.delete_crds},
                                  {"deletePvcs", options.prune.delete_pvcs},
                                  {"deleteNamespaces", options.prune.delete_namespaces},
                                  {"forceConflicts", options.force_conflicts}});
}

bool nothing_new(const ReleaseState& state, const RenderedRelease& rendered, const Plan& plan) {
  if (!state.deployed || !state.unfinished.empty() || !plan.changes_nothing()) return false;
  if (state.anchor->head.status != RevisionStatus::Deployed) return false;
  return state.deployed->package.digest == rendered.package.digest &&
         state.deployed->package.reference == rendered.package.reference &&
         state.deployed->user_values == rendered.user_values;
}

// One run under the lock.
class Deployment {
 public:
  Deployment(const Environment& environment, const DeployOptions& options, const ReleaseState& state,
             const RenderedRelease& rendered, Plan& plan, std::string action)
      : environment_(environment), options_(options), state_(state), plan_(plan), store_(environment.client) {
    revision_.number = plan.revision;
    revision_.action = std::move(action);
    revision_.created = format_time(environment.clock.now());
    revision_.attempt = environment.random.token(4);
    revision_.package = rendered.package;
    revision_.user_values = rendered.user_values;
    revision_.options = recorded_options(options);
    for (const apply::DesiredObject& object : plan.desired) revision_.objects.push_back(object.rendered);
    revision_.inventory = apply::inventory_of(plan);
  }

  Status run(const Context& context) {
    MIST_TRY_VOID(lock(context));
    if (Status journalled = journal(); !journalled) return stop(std::move(journalled).error());
    apply::Execution execution = write();
    if (execution.ok() && options_.wait) execution.failure = wait();
    // What is replaced goes only after what replaces it works.
    if (execution.ok()) prune(execution);
    revision_.inventory = apply::inventory_after(plan_, execution);
    if (execution.failure) return stop(*std::move(execution.failure));
    return finish(RevisionStatus::Deployed);
  }

 private:
  release::Head head(RevisionStatus status) const {
    release::Head result = state_.anchor ? state_.anchor->head : release::Head{};
    result.latest = revision_.number;
    if (status == RevisionStatus::Deployed) result.deployed = revision_.number;
    result.status = status;
    result.action = revision_.action;
    result.updated = format_time(environment_.clock.now());
    result.package = revision_.package.reference;
    result.package_version = revision_.package.version;
    result.objects = static_cast<std::size_t>(
        std::ranges::count_if(revision_.inventory, [](const auto& item) { return !item.retained; }));
    return result;
  }

  // The anchor names every kind and namespace that it may have members in before there are any (KEP-3659).
  AnchorChange announcement() const {
    std::vector<release::InventoryItem> all = state_.owned();
    all.insert(all.end(), revision_.inventory.begin(), revision_.inventory.end());
    return {.head = head(RevisionStatus::Pending),
            .lock = {},
            .group_kinds = group_kinds_of(all),
            .additional_namespaces = namespaces_of(all, state_.id.ns)};
  }

  Status lock(const Context& context) {
    const release::LockOptions lock_options{environment_.holder, revision_.action, environment_.lock_term,
                                            environment_.lock_wait};
    const release::LockWorld world{store_, environment_.client, environment_.clock, environment_.random,
                                   environment_.events};
    if (state_.anchor) {
      MIST_TRY(lock_, ReleaseLock::acquire(world, *state_.anchor, announcement(), lock_options, context));
      return {};
    }
    const AnchorChange change = announcement();
    Anchor anchor;
    anchor.id = state_.id;
    anchor.seed = state_.birth.seed;
    anchor.frozen_clock = state_.birth.frozen_clock;
    anchor.head = *change.head;
    anchor.group_kinds = *change.group_kinds;
    anchor.additional_namespaces = *change.additional_namespaces;
    auto created = ReleaseLock::create(world, std::move(anchor), lock_options, context);
    if (!created.ok()) {
      if (created.error().kind == ErrorKind::Conflict)
        return error(ErrorKind::Conflict, "release {} was installed by somebody else just now",
                     state_.id.display())
            .with_hint("see mistctl status");
      return std::move(created).error();
    }
    lock_ = *std::move(created);
    return {};
  }

  Status journal() {
    const Context context = lock_->context();
    if (state_.anchor) MIST_TRY_VOID(store_.sweep_chunks(state_.id, context));
    MIST_TRY_VOID(store_.create_revision(lock_->anchor(), revision_, context));
    stored_ = true;
    return {};
  }

  apply::Execution write() {
    Activity activity(environment_.events, fmt::format("applying {}", plural(plan_.writes.size(), "object")));
    apply::ExecuteOptions execute_options;
    execute_options.force_conflicts = options_.force_conflicts;
    execute_options.may_write = [this] { return lock_->check(); };
    apply::Execution execution = apply::execute_writes(environment_.client, plan_, execute_options,
                                                       environment_.events, lock_->context());
    if (execution.failure) activity.fail();
    return execution;
  }

  std::optional<Error> wait() {
    const Context patient = lock_->context().with_timeout(options_.timeout);
    Status ready = apply::wait_until_ready(environment_.client, release::apply_set_id(state_.id),
                                           apply::awaited_objects(plan_), environment_.events, patient);
    if (ready.ok()) return std::nullopt;
    return std::move(ready).error().with_frame("while waiting for the release to become ready");
  }

  void prune(apply::Execution& execution) {
    std::vector<apply::Removal> removals;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < plan_.removals.size(); ++i) {
      const apply::PlannedAction& action = plan_.removals[i];
      if (action.kind != apply::ActionKind::Delete) {
        environment_.events.object({action.key.display(), "retained", action.reason});
        continue;
      }
      removals.push_back({action.key, action.resource.gvk.version, action.uid, recorded(action.key)});
      places.push_back(i);
    }
    if (removals.empty()) return;
    const apply::RemovalReport report =
        apply::execute_removals(environment_.client, removals, release::apply_set_id(state_.id), false,
                                environment_.events, lock_->context(), [this] { return lock_->check(); });
    for (std::size_t i = 0; i < places.size(); ++i) execution.removals[places[i]] = report.outcomes[i];
    execution.failure = report.failure;
  }

  // The object as an earlier revision rendered it: it knows what it referred to.
  const apimachinery::Object* recorded(const apimachinery::ObjectKey& key) const {
    const apimachinery::Object* found = nullptr;
    const auto look = [&](const Revision& revision) {
      for (const release::RenderedObject& rendered : revision.objects) {
        if (rendered.object.key() == key) found = &rendered.object;
      }
    };
    if (state_.deployed) look(*state_.deployed);
    for (const Revision& revision : state_.unfinished) look(revision);
    return found;
  }

  Status finish(RevisionStatus status) {
    if (lock_->lost()) return lock_->loss();
    revision_.status = status;
    // Also after Ctrl-C: the record must tell what is there.
    const Context brief = Context().with_timeout(std::chrono::seconds(30));
    MIST_TRY_VOID(store_.finish_revision(lock_->anchor(), revision_, brief));
    return lock_->finish({.head = head(status),
                          .lock = {},
                          .group_kinds = group_kinds_of(revision_.inventory),
                          .additional_namespaces = namespaces_of(revision_.inventory, state_.id.ns)});
  }

  // Records the failure, if we may still write, and returns it.
  Status stop(Error failure) {
    if (lock_->lost()) return lock_->loss();
    // What failed before its revision was stored has nothing to finish: the lock goes with us, and the
    // announced number is taken again or, should it have been stored after all, seen as unfinished.
    if (!stored_) return failure;
    revision_.message = failure.to_line();
    if (const Status finished = finish(RevisionStatus::Failed); !finished.ok())
      environment_.events.warn(
          fmt::format("the failure could not be recorded: {}", finished.error().to_line()));
    if (failure.hint.empty())
      failure.hint =
          fmt::format("run the command again once the cause is mended; mistctl status {} shows what is there",
                      state_.id.name);
    return failure;
  }

  const Environment& environment_;
  const DeployOptions& options_;
  const ReleaseState& state_;
  Plan& plan_;
  release::Store store_;
  Revision revision_;
  std::unique_ptr<ReleaseLock> lock_;
  bool stored_ = false;
};

// Lets the server check every write of the plan without storing any of it.
Status dry_run_on_server(const Environment& environment, const Plan& plan, const DeployOptions& options,
                         const Context& context) {
  std::set<std::string> new_namespaces;
  for (const apply::PlannedAction& action : plan.writes) {
    if (action.key.group_kind == kNamespaceKind && action.kind == apply::ActionKind::Create)
      new_namespaces.insert(action.key.name);
  }
  return parallel_for(plan.writes.size(), 16, [&](std::size_t i) -> Status {
    const apply::PlannedAction& action = plan.writes[i];
    if (action.kind == apply::ActionKind::Unchanged) return {};
    // The server can't check what depends on something that a dry run doesn't create.
    if (action.late || new_namespaces.contains(action.key.ns)) {
      environment.events.warn(fmt::format("{} was not checked by the server: its {} does not exist yet",
                                          action.key.display(), action.late ? "kind" : "namespace"));
      return {};
    }
    kube::ApplyOptions apply_options;
    apply_options.force = options.force_conflicts;
    apply_options.dry_run = kube::DryRun::Server;
    auto checked = environment.client.apply(
        {action.resource, action.key.ns, action.key.name},
        apply::with_version(plan.desired[action.desired].rendered, action.revision), apply_options, context);
    if (!checked.ok())
      return std::move(checked).error().with_frame(
          fmt::format("while the server checked {}", action.key.display()));
    return {};
  });
}

Result<DeployReport> deploy_once(const Environment& environment, ReleaseState state, const Render& render,
                                 const DeployOptions& options, std::string action, const Context& context) {
  MIST_TRY(RenderedRelease rendered, render(state));
  const ReleaseId id = state.id;
  MIST_TRY_VOID(ensure_namespace(environment, id, options, context));
  MIST_TRY(std::vector<apply::DesiredObject> desired,
           apply::prepare(std::move(rendered.objects), id, environment.client, context));
  const std::vector<release::InventoryItem> owned = state.owned();
  MIST_TRY(const apply::LiveState live, apply::observe(environment.client, id, desired, owned, context));
  DeployReport report;
  report.id = id;
  report.dry_run = options.dry_run;
  report.package = rendered.package;
  report.message = rendered.message;
  MIST_TRY(report.plan,
           apply::make_plan(id, std::move(desired), owned, live, state.next_revision(), options.prune));
  report.revision = report.plan.revision;
  if (action == "upgrade" && nothing_new(state, rendered, report.plan)) {
    report.changed = false;
    report.revision = state.deployed->number;
    return report;
  }
  if (options.dry_run == DryRun::Server)
    MIST_TRY_VOID(dry_run_on_server(environment, report.plan, options, context));
  if (options.dry_run != DryRun::No) return report;
  Deployment deployment(environment, options, state, rendered, report.plan, std::move(action));
  MIST_TRY_VOID(deployment.run(context));
  return report;
}

// Looks again when somebody changed the release between our look and our lock.
Result<DeployReport> deploy(const Environment& environment, const ReleaseId& id, const Render& render,
                            const DeployOptions& options, const std::string& action,
                            const std::function<Status(const ReleaseState&)>& check, const Context& context) {
  constexpr int kLooks = 4;
  for (int look = 1;; ++look) {
    MIST_TRY(ReleaseState state, read_release(environment, id, context));
    MIST_TRY_VOID(check(state));
    auto report = deploy_once(environment, std::move(state), render, options, action, context);
    if (report.ok() || !release::anchor_moved(report.error()) || look == kLooks) return report;
    environment.events.debug(fmt::format("release {} changed meanwhile, looking again", id.display()));
  }
}

Status refuse_uninstalling(const ReleaseState& state) {
  if (!state.anchor || state.anchor->head.status != RevisionStatus::Uninstalling) return {};
  return error(ErrorKind::Conflict, "release {} is half uninstalled", state.id.display())
      .with_hint(fmt::format("finish with mistctl uninstall {} -n {}", state.id.name, state.id.ns));
}

}  // namespace

Result<DeployReport> install(const Environment& environment, const ReleaseId& id, const Render& render,
                             const DeployOptions& options, const Context& context) {
  const auto check = [&](const ReleaseState& state) -> Status {
    MIST_TRY_VOID(refuse_uninstalling(state));
    if (state.anchor && state.anchor->head.deployed >= 0)
      return error(ErrorKind::Conflict, "release {} exists already, at revision {}", id.display(),
                   state.anchor->head.deployed)
          .with_hint(fmt::format("change it with mistctl upgrade {} -n {}", id.name, id.ns));
    return {};
  };
  return deploy(environment, id, render, options, "install", check, context);
}

Result<DeployReport> upgrade(const Environment& environment, const ReleaseId& id, const Render& render,
                             const DeployOptions& options, const Context& context) {
  const auto check = [&](const ReleaseState& state) -> Status {
    if (!state.anchor)
      return error(ErrorKind::NotFound, "release {} does not exist", id.display())
          .with_hint(fmt::format(
              "see mistctl list -A, or install it with mistctl install {} -n {} -p PACKAGE", id.name, id.ns));
    return refuse_uninstalling(state);
  };
  return deploy(environment, id, render, options, "upgrade", check, context);
}

}  // namespace mist::action
