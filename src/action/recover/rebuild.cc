#include "action/recover/rebuild.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "action/deploy/deploy.h"
#include "action/deploy/late_writes.h"
#include "action/recover/labelled.h"
#include "action/recover/record_head.h"
#include "apply/fields/field_owners.h"
#include "base/some_of.h"
#include "base/text.h"
#include "kube/api_failure.h"
#include "release/command_text.h"

namespace mist::action {

using apply::InventoryItem;
using release::ReleaseId;
using release::ReleaseLock;
using release::Revision;
using release::RevisionStatus;
using release::RevisionSummary;

namespace {

Status refuse_unfinished(const ReleaseState& state) {
  MIST_TRY_VOID(refuse_uninstalling(state));
  if (state.unfinished.empty() || state.deployed_lost || !state.damaged.empty()) return {};
  return error(ErrorKind::Conflict, "revision v{} of release {} did not end, and its record is whole",
               state.unfinished.back().number, state.id.display())
      .with_hint(fmt::format("first finish it with {}, or undo it with {}",
                             release::command_text("recover", state.id),
                             release::command_text("recover", state.id, "--undo")));
}

// The one that says what is deployed, if its seal were believed; -1: none is kept.
int newest_good(const ReleaseState& state, const std::vector<RevisionSummary>& kept) {
  if (state.anchor && !state.anchor->head_lost) return state.anchor->head.deployed;
  for (const RevisionSummary& summary : kept | std::views::reverse) {
    if (summary.status == RevisionStatus::Deployed) return summary.number;
  }
  return -1;
}

// The deployed revision, as far as it can be known: it itself; or, if the user vouches for it, one whose seal
// nobody can check any more, or whose seal is wrong.
Result<std::optional<Revision>> last_good(const Environment& environment, const ReleaseState& state,
                                          int newest, bool trust, const Context& context) {
  if (state.deployed) return state.deployed;
  if (newest < 0 || !trust) return std::optional<Revision>();
  release::Anchor vouched;
  vouched.id = state.id;
  vouched.seals = release::Seals::none();
  auto revision = release::Store(environment.client).read_revision(vouched, newest, context);
  if (revision.ok() || revision.error().kind != ErrorKind::Internal) return revision;
  environment.events.warn(revision.error().to_line());
  return std::optional<Revision>();
}

// As we applied them; without the label of the version, which the inventory gives.
std::vector<release::RenderedObject> applied_objects(const Labelled& labelled) {
  std::vector<release::RenderedObject> objects;
  for (const encoding::Value& live : labelled.objects) {
    auto object = apimachinery::Object::from_value(apply::applied_fields(live, kube::kFieldManager));
    if (!object.ok()) continue;
    object->mutable_value()["metadata"]["labels"].erase(apply::kVersionLabel);
    objects.push_back({*std::move(object), "the cluster", 0});
  }
  return objects;
}

// Whether each chart draws from a seed of its own from here on. `good`: what is recorded again. Where no
// revision tells, a release of a time without seals is an older mistctl's, which let them share one.
bool own_chart_seeds(const Environment& environment, const ReleaseState& state,
                     const std::optional<Revision>& good, const std::vector<RevisionSummary>& kept,
                     const Context& context) {
  if (!state.anchor) return true;
  if (good) return good->drawn.own_chart_seeds;
  release::Store store(environment.client);
  for (const RevisionSummary& summary : kept | std::views::reverse) {
    const auto revision = store.read_revision(*state.anchor, summary.number, context);
    if (revision.ok() && *revision) return (*revision)->drawn.own_chart_seeds;
  }
  return state.anchor->seals.needed();
}

// The objects may outlive the namespace of the record. A caller that may not look at it may still write.
Status check_namespace(const Environment& environment, const ReleaseId& id, const Context& context) {
  const kube::ResourceInfo namespaces{{"", "v1", "Namespace"}, "namespaces", false, {}};
  const auto there = environment.client.get({namespaces, "", id.ns}, context);
  const std::string again = fmt::format("{}, then {}", release::kubectl_text(id, "create namespace " + id.ns),
                                        release::command_text("recover", id, "--from-labels"));
  if (there.ok() && apimachinery::is_terminating(*there))
    return error(ErrorKind::Conflict, "the namespace {}, which is to hold the record, is being deleted",
                 id.ns)
        .with_hint(fmt::format("wait until it is gone, and create it again: {}", again));
  if (!there.ok() && kube::is_absent(there.error()))
    return error(ErrorKind::NotFound, "the namespace {}, which is to hold the record, does not exist", id.ns)
        .with_hint(fmt::format("create it again: {}", again));
  return {};
}

}  // namespace

Result<RebuildPlan> plan_rebuild(const Environment& environment, ReleaseState state, bool trust,
                                 const Context& context) {
  RebuildPlan plan;
  plan.state = std::move(state);
  const ReleaseState& seen = plan.state;
  MIST_TRY_VOID(refuse_unfinished(seen));
  release::Store store(environment.client);
  MIST_TRY(const std::vector<RevisionSummary> kept, store.list_revisions(seen.id, context));
  MIST_TRY(const Labelled labelled,
           labelled_objects(environment, seen.id, seen.anchor ? &*seen.anchor : nullptr, Unanswered::AnError,
                            context));
  if (!seen.anchor && kept.empty() && labelled.items.empty())
    return error(ErrorKind::NotFound,
                 "neither a record of release {} is there, nor an object that carries its ownership labels",
                 seen.id.display())
        .with_hint("see " + release::list_text(seen.id));
  if (!seen.anchor) MIST_TRY_VOID(check_namespace(environment, seen.id, context));
  const int newest = newest_good(seen, kept);
  MIST_TRY(const std::optional<Revision> good, last_good(environment, seen, newest, trust, context));
  if (!good && newest >= 0 && !trust) plan.unproven = newest;

  std::map<apimachinery::ObjectKey, InventoryItem> items;
  if (good) {
    plan.revision = *good;
    for (const InventoryItem& item : good->inventory) items.emplace(item.key, item);
  } else {
    plan.revision.objects = applied_objects(labelled);
    plan.revision.options = encoding::Value::object();
    plan.revision.user_values = encoding::Value::object();
    plan.values_lost = true;
    const release::Head head = seen.anchor ? seen.anchor->head : release::Head();
    plan.revision.package = {
        .reference = head.package, .name = {}, .version = head.package_version, .digest = {}};
  }
  std::set<apimachinery::ObjectKey> by_label;
  for (const InventoryItem& item : seen.labelled) by_label.insert(item.key);
  for (const InventoryItem& item : seen.owned()) {
    if (!by_label.contains(item.key)) items.insert_or_assign(item.key, item);
  }
  for (const InventoryItem& item : labelled.items) {
    if (items.emplace(item.key, item).second) plan.discovered.push_back(item.key);
  }
  plan.revision.inventory.clear();
  for (auto& [key, item] : items) plan.revision.inventory.push_back(std::move(item));

  int number = seen.anchor ? seen.anchor->head.latest : -1;
  for (const RevisionSummary& summary : kept) number = std::max(number, summary.number);
  plan.revision.number = number + 1;
  plan.revision.action = "recover";
  plan.revision.status = RevisionStatus::Pending;
  plan.revision.created = format_time(environment.clock.now());
  plan.revision.finished.clear();
  plan.revision.message.clear();
  plan.revision.restores = -1;
  plan.revision.attempt = environment.random.token(4);
  plan.revision.description =
      fmt::format("recorded from the labels of {}", plural(labelled.items.size(), "object"));
  plan.own_namespace_only = labelled.own_namespace_only;
  constexpr std::size_t kNamed = 5;
  if (!plan.own_namespace_only.empty())
    plan.revision.description += fmt::format("; {} looked for in namespace {} only",
                                             some_of(plan.own_namespace_only, kNamed), seen.id.ns);
  plan.new_seed = !seen.anchor || seen.anchor->seed.reveal().empty();
  // With a new seed everything is drawn again.
  plan.revision.drawn.own_chart_seeds =
      plan.new_seed || own_chart_seeds(environment, seen, good, kept, context);
  plan.new_key = !seen.anchor || (seen.anchor->seals.needed() && !seen.anchor->seals.has_key());
  plan.needed = plan.new_seed || plan.new_key || seen.deployed_lost || !seen.damaged.empty() ||
                !plan.discovered.empty() || !seen.anchor->damage.empty();
  return plan;
}

Status rebuild(const Environment& environment, RebuildPlan& plan, const Context& context) {
  ReleaseState& state = plan.state;
  Revision& revision = plan.revision;
  MIST_TRY_VOID(outdate_late_writes(environment, state, {}, context));
  const Activity activity(environment.events, fmt::format("recording revision v{}", revision.number));
  release::Store store(environment.client);
  const auto group_kinds = group_kinds_of(revision.inventory);
  const auto namespaces = namespaces_of(revision.inventory, state.id.ns);
  release::Head head = head_of(revision, revision.created, state.anchor);
  head.latest = revision.number;
  head.deployed = state.anchor ? state.anchor->head.deployed : -1;
  head.status = RevisionStatus::Pending;
  if (plan.new_seed && state.fixed.seed.reveal().empty()) state.fixed = draw_fixed_inputs(environment);
  MIST_TRY(const std::string packed, release::Store::pack(revision));
  const release::LockDependencies dependencies = lock_dependencies(environment, store);
  const release::LockOptions options = lock_options(environment, "recover", state);
  std::unique_ptr<ReleaseLock> lock;
  if (state.anchor) {
    MIST_TRY(lock, ReleaseLock::acquire(dependencies, *state.anchor,
                                        {.head = head,
                                         .lock = {},
                                         .group_kinds = group_kinds,
                                         .additional_namespaces = namespaces,
                                         .seals = new_seals(environment, state, revision.number)},
                                        options, context));
    if (plan.new_seed)
      MIST_TRY_VOID(store.put_fixed_inputs(lock->anchor(), state.fixed.seed, state.fixed.frozen_clock,
                                           lock->context()));
  } else {
    release::Anchor anchor;
    anchor.id = state.id;
    anchor.seals = *new_seals(environment, state, revision.number);
    anchor.seed = state.fixed.seed;
    anchor.frozen_clock = state.fixed.frozen_clock;
    anchor.head = head;
    anchor.group_kinds = group_kinds;
    anchor.additional_namespaces = namespaces;
    MIST_TRY(lock, ReleaseLock::create(dependencies, std::move(anchor), options, context));
  }
  const auto write = [&]() -> Status {
    MIST_TRY_VOID(store.sweep_chunks(state.id, lock->context()));
    Status stored = store.create_revision(lock->anchor(), revision, packed, lock->context());
    // Nothing says then that there is such a revision.
    if (!stored.ok() && is_refusal(stored.error()) && state.anchor && !state.anchor->head_lost)
      (void)lock->finish(as_it_was(state));
    MIST_TRY_VOID(std::move(stored));
    revision.status = RevisionStatus::Deployed;
    revision.finished = format_time(environment.clock.now());
    return store.finish_revision(lock->anchor(), revision, lock->context());
  };
  if (Status written = write(); !written.ok())
    return lock->lost() ? lock->loss() : std::move(written).error();
  head.deployed = revision.number;
  head.status = RevisionStatus::Deployed;
  head.updated = revision.finished;
  return lock->finish(
      {.head = head, .lock = {}, .group_kinds = group_kinds, .additional_namespaces = namespaces});
}

}  // namespace mist::action
