#include "action/environment.h"

#include <algorithm>
#include <array>
#include <map>

#include "action/recover/labelled.h"
#include "apply/plan/hooks.h"
#include "base/text.h"
#include "kube/api_down.h"
#include "release/command_text.h"
#include "render/recorded_options.h"

namespace mist::action {

using apply::InventoryItem;
using release::Revision;

namespace {

// The numbers after the deployed one that may be stored. A few are simply asked for; after many failures in a
// row, most of which are not kept any more, metadata tells which there are.
Result<std::vector<int>> later_revisions(release::Store& store, const release::ReleaseId& id,
                                         const release::Head& head, const Context& context) {
  constexpr int kFew = 3;
  std::vector<int> numbers;
  if (head.latest - head.deployed <= kFew) {
    for (int number = head.deployed + 1; number <= head.latest; ++number) numbers.push_back(number);
    return numbers;
  }
  MIST_TRY(const std::vector<release::RevisionSummary> kept, store.list_revisions(id, context));
  for (const release::RevisionSummary& revision : kept) {
    if (revision.number > head.deployed && revision.number <= head.latest) numbers.push_back(revision.number);
  }
  return numbers;
}

// Objects that a dead run was about to create, of kinds that it also brought, are recorded without a
// namespace (apply/plan/desired.h). Those kinds may be served by now, and say whether they needed one.
Status add_namespaces(const Environment& environment, std::vector<Revision>& revisions,
                      const release::ReleaseId& id, const Context& context) {
  using apimachinery::GroupVersionKind;
  std::map<GroupVersionKind, bool> namespaced;
  for (Revision& revision : revisions) {
    for (InventoryItem& item : revision.inventory) {
      if (!item.uid.empty() || !item.key.ns.empty()) continue;
      const apimachinery::GroupKind& kind = item.key.group_kind;
      const auto [known, fresh] =
          namespaced.emplace(GroupVersionKind{kind.group, item.version, kind.kind}, false);
      if (fresh) {
        auto served = environment.client.resource_for(kind, item.version, context);
        // A kind that nobody can know now is an error where it matters: when the object is to be found.
        if (!served.ok() && served.error().kind != ErrorKind::NotFound && !kube::is_api_down(served.error()))
          return std::move(served).error();
        known->second = served.ok() && served->namespaced;
      }
      if (known->second) item.key.ns = id.ns;
    }
  }
  return {};
}

// An object as it was rendered may lack the namespace that it got.
bool may_be(const apimachinery::ObjectKey& rendered, const apimachinery::ObjectKey& key) {
  return rendered.group_kind == key.group_kind && rendered.name == key.name &&
         (rendered.ns.empty() || rendered.ns == key.ns);
}

}  // namespace

std::vector<InventoryItem> ReleaseState::owned() const {
  std::map<apimachinery::ObjectKey, InventoryItem> items;
  std::map<std::string, apimachinery::ObjectKey> keys;  // by uid
  const auto add = [&](const Revision& revision) {
    std::map<std::string, const InventoryItem*> named;  // in this revision, by uid
    for (const InventoryItem& item : revision.inventory) {
      const auto known = items.find(item.key);
      // A create whose outcome nobody recorded doesn't forget the uid that an earlier revision knew.
      if (known != items.end() && item.uid.empty() && !item.replacing) continue;
      if (!item.uid.empty()) {
        // An object that the server serves under two API groups has two keys and one uid. The last revision
        // that wrote it says which key it has; what a revision writes precedes what it removes.
        const auto [first, once] = named.emplace(item.uid, &item);
        if (!once && first->second->key != item.key) continue;
        const auto [before, fresh] = keys.try_emplace(item.uid, item.key);
        if (!fresh && before->second != item.key) {
          items.erase(before->second);
          before->second = item.key;
        }
      }
      items.insert_or_assign(item.key, item);
    }
  };
  if (deployed) add(*deployed);
  for (auto& [key, item] : items) item.taken_from.clear();
  for (const Revision& revision : unfinished) add(revision);
  for (const InventoryItem& item : labelled) items.emplace(item.key, item);
  std::vector<InventoryItem> result;
  result.reserve(items.size());
  for (auto& [key, item] : items) result.push_back(std::move(item));
  return result;
}

std::set<apimachinery::ObjectKey> ReleaseState::undeployed_adoptions() const {
  std::set<apimachinery::ObjectKey> keys;
  if (deployed_lost) return keys;
  for (const Revision& revision : unfinished)
    for (const InventoryItem& item : revision.inventory)
      if (item.adopted && item.taken_from.empty()) keys.insert(item.key);
  if (deployed)
    for (const InventoryItem& item : deployed->inventory)
      if (!apply::is_only_named(item)) keys.erase(item.key);
  return keys;
}

std::set<apimachinery::ObjectKey> ReleaseState::hooks_never_run() const {
  std::set<apimachinery::ObjectKey> keys;
  if (deployed_lost) return keys;
  const auto name = [&](const Revision& revision) {
    for (const InventoryItem& item : revision.inventory)
      if (apply::is_only_named(item)) keys.insert(item.key);
    for (const InventoryItem& item : revision.inventory)
      if (!apply::is_only_named(item)) keys.erase(item.key);
  };
  if (deployed) {
    name(*deployed);
  } else {
    for (const Revision& revision : unfinished) name(revision);
  }
  // One that was to run and is only named all the same found nothing: what is there now may be of that run.
  for (const Revision& revision : unfinished) {
    const apply::HookVerb verb =
        render::RecordedOptions::from_value(revision.options).hooks.value_or(apply::HookVerb::None);
    for (const apply::HookRun& run : apply::hook_runs(revision.hooks, verb))
      std::erase_if(keys, [&](const auto& key) { return may_be(run.rendered.object.key(), key); });
  }
  return keys;
}

int ReleaseState::next_revision() const {
  if (!anchor) return 0;
  const int latest = anchor->head.latest;
  // A run that died between locking and storing its revision left a number that nobody used.
  const bool stored = (deployed && deployed->number == latest) ||
                      (!unfinished.empty() && unfinished.back().number == latest) ||
                      std::ranges::find(damaged, latest, &DamagedRevision::number) != damaged.end();
  return stored ? latest + 1 : std::max(latest, 0);
}

release::Rotations ReleaseState::tried_rotations() const {
  release::Drawn tried{.highest = kept_rotations};
  for (const Revision& revision : unfinished) tried.remember(revision.drawn.used());
  return tried.used();
}

render::ReleaseFacts ReleaseState::facts() const {
  const Revision* const tried = unfinished.empty() ? nullptr : &unfinished.back();
  return {.id = id,
          .fixed = fixed,
          .revision = next_revision(),
          .deployed = deployed ? &*deployed : nullptr,
          .stored = deployed ? &*deployed : tried,
          .tried = tried_rotations()};
}

FixedInputs draw_fixed_inputs(const Environment& environment) {
  std::array<std::byte, 32> seed;
  environment.random.fill(seed);
  return {.seed = SecretString(std::string(reinterpret_cast<const char*>(seed.data()), seed.size())),
          .frozen_clock = format_time(environment.clock.now())};
}

std::optional<release::Seals> new_seals(const Environment& environment, const ReleaseState& state,
                                        int revision) {
  if (state.anchor && state.anchor->seals.has_key()) return std::nullopt;
  const bool from_before = state.anchor && !state.anchor->seals.needed();
  return release::Seals::draw(environment.random, from_before ? revision : 0);
}

bool is_uninstalling(const ReleaseState& state) {
  return state.anchor->head.status == release::RevisionStatus::Uninstalling;
}

namespace {

// Says what is damaged, and looks for what no revision can name.
Status make_up_for_damage(const Environment& environment, ReleaseState& state, LostRevision lost,
                          const Context& context) {
  const release::Anchor& anchor = *state.anchor;
  for (const std::string& damage : anchor.damage)
    environment.events.warn(
        fmt::format("the record {}/{} is damaged: {}", state.id.ns, apply::anchor_name(state.id), damage));
  const bool key_lost = anchor.seals.needed() && !anchor.seals.has_key();
  state.deployed_lost = state.deployed_lost || anchor.head_lost || key_lost;
  const std::string way_out = release::command_text("recover", state.id, "--from-labels");
  if (state.deployed_lost && lost == LostRevision::Refused) {
    Error failure = error(ErrorKind::Internal, "the record of release {} does not tell what is deployed",
                          state.id.display());
    if (!state.damaged.empty())
      failure.because = state.damaged.front().why.to_line();
    else if (!anchor.damage.empty())
      failure.because = anchor.damage.back();
    failure.hint = fmt::format(
        "restore its Secrets from a backup; or let {} record again what carries its labels; {} goes back to "
        "an "
        "earlier revision",
        way_out, release::command_text("rollback", state.id));
    return failure;
  }
  for (const DamagedRevision& damaged : state.damaged)
    environment.events.warn(
        fmt::format("revision v{} of release {} can't be read: {}; what it has is taken from the "
                    "labels of the objects, and {} records that",
                    damaged.number, state.id.display(), damaged.why.to_line(), way_out));
  if (!state.deployed_lost && state.damaged.empty()) return {};
  MIST_TRY(Labelled found, labelled_objects(environment, state.id, &anchor, Unanswered::AnError, context));
  state.labelled = std::move(found.items);
  return {};
}

}  // namespace

Result<ReleaseState> read_release(const Environment& environment, const release::ReleaseId& id,
                                  const Context& context, LostRevision lost) {
  const Activity activity(environment.events, fmt::format("reading release {}", id.display()));
  release::Store store(environment.client);
  ReleaseState state;
  state.id = id;
  MIST_TRY(state.anchor, store.read_anchor(id, context));
  if (!state.anchor && environment.fixed) {
    MIST_TRY(state.fixed, environment.fixed(id));
    return state;
  }
  if (!state.anchor) {
    state.fixed = draw_fixed_inputs(environment);
    return state;
  }
  state.fixed = {state.anchor->seed, state.anchor->frozen_clock};
  const release::Head& head = state.anchor->head;
  if (head.deployed >= 0) {
    auto deployed = store.read_revision(*state.anchor, head.deployed, context);
    if (!deployed.ok() && deployed.error().kind != ErrorKind::Internal) return std::move(deployed).error();
    if (!deployed.ok())
      state.damaged.push_back({head.deployed, std::move(deployed).error()});
    else
      state.deployed = *std::move(deployed);
    // Uninstalling deletes the revisions once all that they own is gone, and the anchor last.
    if (state.damaged.empty() && !state.deployed && head.status != release::RevisionStatus::Uninstalling)
      state.damaged.push_back({head.deployed, error(ErrorKind::Internal, "the Secret {}/{} is missing", id.ns,
                                                    release::revision_name(id, head.deployed))});
    state.deployed_lost = !state.damaged.empty();
  }
  MIST_TRY(const std::vector<int> later, later_revisions(store, id, head, context));
  for (const int number : later) {
    auto revision = store.read_revision(*state.anchor, number, context);
    if (!revision.ok() && revision.error().kind != ErrorKind::Internal) return std::move(revision).error();
    if (!revision.ok())
      state.damaged.push_back({number, std::move(revision).error()});
    else if (*revision)
      state.unfinished.push_back(**std::move(revision));
  }
  MIST_TRY_VOID(make_up_for_damage(environment, state, lost, context));
  MIST_TRY_VOID(add_namespaces(environment, state.unfinished, id, context));
  return state;
}

Status read_kept_rotations(const Environment& environment, ReleaseState& state, const Context& context) {
  if (!state.anchor) return {};
  release::Store store(environment.client);
  MIST_TRY(const std::vector<release::RevisionSummary> kept, store.list_revisions(state.id, context));
  release::Drawn all;
  for (const release::RevisionSummary& each : kept) {
    if (each.number >= state.anchor->head.deployed) break;  // was read with the release
    const auto revision = store.read_revision(*state.anchor, each.number, context);
    if (!revision.ok() && revision.error().kind != ErrorKind::Internal) return revision.error();
    if (revision.ok() && *revision) all.remember((*revision)->drawn.used());
  }
  state.kept_rotations = all.used();
  return {};
}

Result<ReleaseState> read_release_to_write(const Environment& environment, const release::ReleaseId& id,
                                           std::string_view operation, const Context& context,
                                           LostRevision lost) {
  release::Store store(environment.client);
  std::optional<release::Lock> silent;
  while (true) {
    MIST_TRY(ReleaseState state, read_release(environment, id, context, lost));
    if (!state.anchor || !state.anchor->lock) return state;
    // Nothing was written since its holder was found silent, so all that was read is how it left it.
    if (state.anchor->lock == silent) {
      state.silent_lock = silent;
      return state;
    }
    auto found = release::ReleaseLock::await_silence(lock_dependencies(environment, store), *state.anchor,
                                                     lock_options(environment, operation, state), context);
    if (found.ok())
      silent = *std::move(found);
    else if (!release::anchor_moved(found.error()))
      return std::move(found).error();
  }
}

Status refuse_lost_anchor(const Environment& environment, const release::ReleaseId& id,
                          const Context& context, UnlistedRevisions unlisted) {
  release::Store store(environment.client);
  const auto kept = store.list_revisions(id, context);
  if (!kept.ok() && unlisted == UnlistedRevisions::Refused) return Error(kept.error());
  if (!kept.ok() || kept->empty()) return {};
  return error(ErrorKind::NotFound, "the record of release {} has lost its Secret {}", id.display(),
               apply::anchor_name(id))
      .with_because(fmt::format("{} of it, up to v{}, {} there, and nothing says which one counts",
                                plural(kept->size(), "revision"), kept->back().number,
                                kept->size() == 1 ? "is" : "are"))
      .with_hint(fmt::format("restore the Secret {}/{} from a backup, or record what is there with {}", id.ns,
                             apply::anchor_name(id), release::command_text("recover", id, "--from-labels")));
}

std::string missing_hint(const release::ReleaseId& id) {
  return fmt::format("see {}; if its record went with the namespace, {} rebuilds it", release::list_text(id),
                     release::command_text("recover", id, "--from-labels"));
}

std::string gone_namespace_hint(const release::ReleaseId& id) {
  return fmt::format("to find them, create the namespace again and run {}",
                     release::command_text("recover", id, "--from-labels"));
}

Error missing_release(const Environment& environment, const release::ReleaseId& id, const Context& context) {
  if (Status lost = refuse_lost_anchor(environment, id, context); !lost) return std::move(lost).error();
  return error(ErrorKind::NotFound, "release {} does not exist", id.display()).with_hint(missing_hint(id));
}

release::LockDependencies lock_dependencies(const Environment& environment, release::Store& store) {
  return {store,           environment.client, environment.clock, environment.random, environment.events,
          environment.life};
}

release::LockOptions lock_options(const Environment& environment, std::string_view operation,
                                  const ReleaseState& state) {
  return {.holder = environment.holder,
          .operation = std::string(operation),
          .term = environment.lock_term,
          .max_wait = environment.lock_wait,
          .process = environment.process,
          .silent_lock = state.silent_lock};
}

}  // namespace mist::action
