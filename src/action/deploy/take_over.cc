#include "action/deploy/take_over.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <ranges>

#include "action/deploy/containers.h"
#include "action/deploy/late_writes.h"
#include "apply/execute/remove.h"
#include "apply/plan/desired.h"
#include "apply/plan/observe.h"
#include "apply/plan/replacement.h"
#include "apply/plan/settle.h"
#include "apply/reserved_metadata.h"
#include "apply/wait/wait.h"
#include "base/parallel.h"
#include "kube/api_failure.h"
#include "kube/deletion.h"
#include "release/command_text.h"
#include "render/recorded_options.h"

namespace mist::action {

using apply::ActionKind;
using apply::InventoryItem;
using apply::ObjectKey;
using apply::PlannedAction;
using release::ReleaseId;
using release::RenderedObject;
using release::Revision;

namespace {

bool is_taken(const PlannedAction& write) { return write.adopting && !write.owner.empty(); }

std::optional<apply::Owner> taken_from(const Revision& revision) {
  return render::RecordedOptions::from_value(revision.options).allowed.take_over_from;
}

std::set<ReleaseId> sources(const std::vector<Revision>& revisions) {
  std::set<ReleaseId> ids;
  for (const Revision& revision : revisions) {
    if (const auto from = taken_from(revision)) ids.emplace(*from);
  }
  return ids;
}

std::string still_names(const ReleaseId& id) {
  return fmt::format(
      "the record of release {} still names objects that are no longer its own; {} repairs that",
      id.display(), release::command_text("recover", id));
}

// The objects in a release's record: found by key or, as a server may serve a kind under two API groups, by
// uid.
class OwnedItems {
 public:
  explicit OwnedItems(const ReleaseState& state) : items_(state.owned()) {
    for (const InventoryItem& item : items_) {
      by_key_.emplace(item.key, &item);
      if (!item.uid.empty()) by_uid_.emplace(item.uid, &item);
    }
  }
  OwnedItems(const OwnedItems&) = delete;
  OwnedItems& operator=(const OwnedItems&) = delete;

  /// Null: it doesn't name it.
  const InventoryItem* find(const PlannedAction& action) const {
    if (const auto known = by_key_.find(action.key); known != by_key_.end()) return known->second;
    const auto known = by_uid_.find(action.uid);
    return known == by_uid_.end() ? nullptr : known->second;
  }

 private:
  const std::vector<InventoryItem> items_;
  std::map<ObjectKey, const InventoryItem*> by_key_;
  std::map<std::string, const InventoryItem*> by_uid_;
};

using FoundObject = Result<std::optional<RenderedObject>>;

// The objects of one revision, as it applied them.
class AppliedObjects {
 public:
  AppliedObjects(const ReleaseId& id, const Revision& revision) : id_(&id), revision_(&revision) {
    for (const RenderedObject& each : revision.objects) objects_.emplace(each.object.key(), &each);
  }

  int number() const { return revision_->number; }

  FoundObject find(const Environment& environment, const ObjectKey& key, const Context& context) const {
    if (const auto found = objects_.find(key); found != objects_.end()) return std::optional(*found->second);
    // Hooks are recorded as they were rendered.
    for (const RenderedObject& hook : revision_->hooks) {
      if (hook.object.gvk().group_kind() != key.group_kind || hook.object.name() != key.name) continue;
      MIST_TRY(std::vector<apply::DesiredObject> prepared,
               apply::prepare({hook}, *id_, environment.client, context));
      if (prepared.front().key == key) return std::optional(std::move(prepared.front().rendered));
    }
    return std::optional<RenderedObject>();
  }

 private:
  const ReleaseId* id_;
  const Revision* revision_;
  std::map<ObjectKey, const RenderedObject*> objects_;
};

// The objects to be written so that they are the other release's again.
class RecordedObjects {
 public:
  RecordedObjects(const Environment& environment, const ReleaseState& theirs, const ReleaseState& ours)
      : environment_(environment), theirs_(theirs) {
    for (const Revision& revision : theirs.unfinished) unfinished_.emplace_back(theirs.id, revision);
    if (theirs.deployed) deployed_.emplace(theirs.id, *theirs.deployed);
    for (const Revision& revision : ours.unfinished) ours_.emplace_back(ours.id, revision);
  }

  FoundObject find(const InventoryItem& item, const Context& context) const {
    if (const AppliedObjects* const last = last_applied(item)) {
      FoundObject recorded = last->find(environment_, item.key, context);
      if (!recorded.ok() || *recorded) return recorded;
    }
    // An object that a release only retains isn't in its record: it goes back as it is now, by its labels.
    MIST_TRY(std::optional<RenderedObject> marked, written(item.key, context));
    if (!marked) return marked;
    encoding::Value& metadata = marked->object.mutable_value()["metadata"];
    metadata["labels"].set(apply::kPartOfLabel, apply::apply_set_id(theirs_.id));
    metadata["labels"].set(apply::kNameLabel, theirs_.id.name);
    metadata["annotations"].set(apply::kReleaseAnnotation, theirs_.id.display());
    return marked;
  }

 private:
  // The revision that last changed it; if that isn't at hand, the deployed one: it is the same there.
  const AppliedObjects* last_applied(const InventoryItem& item) const {
    const auto changed = std::ranges::find(unfinished_, item.revision, &AppliedObjects::number);
    if (changed != unfinished_.end()) return &*changed;
    if (deployed_) return &*deployed_;
    return unfinished_.empty() ? nullptr : &unfinished_.back();
  }

  // As our latest unfinished revision wrote it.
  FoundObject written(const ObjectKey& key, const Context& context) const {
    for (const AppliedObjects& each : ours_ | std::views::reverse) {
      FoundObject found = each.find(environment_, key, context);
      if (!found.ok() || *found) return found;
    }
    return std::optional<RenderedObject>();
  }

  const Environment& environment_;
  const ReleaseState& theirs_;
  std::vector<AppliedObjects> unfinished_;
  std::optional<AppliedObjects> deployed_;
  std::vector<AppliedObjects> ours_;
};

// One object on its way back.
struct ReturnedObject {
  std::size_t other = 0;  ///< its place in others_
  ObjectKey key;          ///< in our release
  InventoryItem item;     ///< of the release that it goes to
  std::string uid;        ///< of the live object
  std::string seen;       ///< its resourceVersion when it was looked at
  std::string part_of;    ///< the mark of our release, which it has
  encoding::Value object;
  bool force_conflicts = false;
  Duration timeout{};    ///< until what is replaced is gone
  bool replace = false;  ///< it may be deleted and recreated
  bool holds = false;    ///< other things, so it may not, whatever the user allows
};

// Nobody agreed to losing what is in it, or what only it owns. Empty: nothing would be lost.
Result<std::string> lost_with_replacement(const Environment& environment, const ReturnedObject& returned,
                                          kube::Propagation propagation, const Context& context) {
  const Containers containers({}, {}, RecordFate::Stays);
  MIST_TRY(std::string held, containers.last_check(environment, returned.item.key, context));
  if (!held.empty() || propagation == kube::Propagation::Orphan) return held;
  return containers.data_lost_with(environment, returned.item.key, returned.uid, context);
}

Result<kube::Propagation> way_back(const Environment& environment, const kube::ObjectRef& ref,
                                   const ReturnedObject& returned, const Context& context) {
  MIST_TRY(const encoding::Value now, environment.client.get(ref, context));
  const encoding::Value* const selector = now.at_path({"spec", "selector"});
  const encoding::Value* const wanted = returned.object.at_path({"spec", "selector"});
  const bool same = selector == wanted || (selector != nullptr && wanted != nullptr && *selector == *wanted);
  return apply::replacement_propagation(returned.item.key.group_kind, !same);
}

// An object that it replaced while taking over can't be turned into the old one in place.
Result<encoding::Value> replace_back(const Environment& environment, const kube::ObjectRef& ref,
                                     const ReturnedObject& returned, const kube::ApplyOptions& options,
                                     const Context& context) {
  MIST_TRY(const kube::Propagation propagation, way_back(environment, ref, returned, context));
  MIST_TRY(const std::string held, lost_with_replacement(environment, returned, propagation, context));
  if (!held.empty())
    return error(ErrorKind::Conflict, "{} can't be changed back in place, and it is not replaced: {}",
                 returned.item.key.display(), held)
        .with_hint("remove what would go with it, or change it back by hand");
  const kube::DeletionTarget replaced{
      .uid = returned.uid,
      .resource_version = returned.seen,
      .propagation = propagation,
      .recheck = [&](const encoding::Value& now) -> Status {
        const apply::LiveOwner owner = apply::live_owner_of(now);
        if (owner.part_of == returned.part_of) return {};
        if (owner.part_of.empty())
          return error(ErrorKind::Conflict, "{} is not deleted", returned.item.key.display())
              .with_because(std::string(apply::kUnmarked))
              .with_hint("change it back by hand, then run the command again");
        return error(ErrorKind::Conflict, "{} now belongs to {}", returned.item.key.display(),
                     owner.release.empty() ? fmt::format("ApplySet {}", owner.part_of)
                                           : fmt::format("release {}", owner.release))
            .with_hint("run the command again to see what can be done");
      }};
  MIST_TRY_VOID(kube::delete_object(environment.client, ref, replaced, context));
  MIST_TRY_VOID(apply::wait_until_gone(environment.client, ref, returned.uid, returned.timeout, context)
                    .in("while waiting until the object that replaced it is gone"));
  encoding::Value fresh = returned.object;
  fresh["metadata"].erase("uid");
  fresh["metadata"].set("resourceVersion", "1");  // no object's: what appeared meanwhile isn't overwritten
  return environment.client.apply(ref, fresh, options, context);
}

// At a version at which it is still ours: should this arrive late, what was written since is newer.
// Controllers write all the time.
Result<encoding::Value> apply_back(const Environment& environment, const kube::ObjectRef& ref,
                                   const ReturnedObject& returned, const kube::ApplyOptions& options,
                                   const Context& context) {
  constexpr int kTries = 20;
  encoding::Value object = returned.object;
  std::string version = returned.seen;
  for (int tries = 1;; ++tries) {
    if (!version.empty()) object["metadata"].set("resourceVersion", version);
    auto written = environment.client.apply(ref, object, options, context);
    const bool outdated = !written.ok() && written.error().kind == ErrorKind::Conflict &&
                          !kube::is_field_conflict(written.error()) &&
                          !kube::is_other_object(written.error());
    if (!outdated || tries == kTries) return written;
    MIST_TRY(const encoding::Value now, environment.client.get(ref, context));
    const std::string owner = apply::live_owner_of(now).part_of;
    const bool of_others =
        !owner.empty() && owner != returned.part_of && owner != apply::live_owner_of(returned.object).part_of;
    if (of_others || now.string_at({"metadata", "resourceVersion"}) == version) return written;
    version = now.string_at({"metadata", "resourceVersion"});
    environment.clock.sleep(std::chrono::milliseconds(50), context.stop());
    MIST_TRY_VOID(context.check());
  }
}

// Its uid; nullopt: it is gone, or another object by now.
Result<std::optional<std::string>> write_back(const Environment& environment, const ReturnedObject& returned,
                                              const Context& context) {
  MIST_TRY(const std::optional<kube::ResourceInfo> resource,
           apply::resource_of(environment.client, returned.item, context));
  if (!resource) return std::optional<std::string>();
  const kube::ObjectRef ref{*resource, returned.item.key.ns, returned.item.key.name};
  const kube::ApplyOptions options{.force = returned.force_conflicts};
  auto written = apply_back(environment, ref, returned, options, context);
  if (!written.ok() && kube::is_immutable(written.error())) {
    if (!returned.replace)
      return std::move(written).error().with_hint(
          returned.holds
              ? "it is not replaced, because what it holds would be lost: change it back by hand, then run "
                "the command again"
              : "have it deleted and recreated, as its release has it, with --replace");
    written = replace_back(environment, ref, returned, options, context);
  }
  if (written.ok()) return std::optional(std::string(written->string_at({"metadata", "uid"})));
  if (kube::is_absent(written.error()) || kube::is_other_object(written.error()))
    return std::optional<std::string>();
  if (kube::is_field_conflict(written.error())) written.error().hint = std::string(apply::kForceHint);
  return std::move(written).error();
}

}  // namespace

bool is_return(const PlannedAction& removal) {
  return removal.kind == ActionKind::Retain && !removal.owner.empty();
}

namespace {

// Objects that the other release's record names under its lock are nobody else's to take. One that it doesn't
// name, or names under another uid, may have gone to somebody else since the plan was made; or it never named
// it, and an earlier life of that release left it.
Status check_plan(const Environment& environment, const ReleaseState& other,
                  const std::vector<PlannedAction>& writes, const Context& context) {
  const OwnedItems theirs(other);
  std::vector<const PlannedAction*> open;
  for (const PlannedAction& write : writes) {
    if (!is_taken(write) || write.owner != other.id.display()) continue;
    const InventoryItem* const known = theirs.find(write);
    if (known == nullptr || known->uid != write.uid) open.push_back(&write);
  }
  return parallel_for(open.size(), 16, [&](std::size_t i) -> Status {
    const PlannedAction& write = *open[i];
    auto live = environment.client.get({write.resource, write.key.ns, write.key.name}, context);
    if (!live.ok() && !kube::is_absent(live.error())) return std::move(live).error();
    if (live.ok() && live->string_at({"metadata", "uid"}) == write.uid &&
        apply::live_owner_of(*live) == write.live.owner)
      return {};
    return release::as_anchor_moved(error(ErrorKind::Conflict,
                                          "{} was taken from release {} since it was looked at",
                                          write.key.display(), other.id.display()));
  });
}

// Of the deployed objects: those that this run deletes, and those gone already, without those that go back.
std::vector<InventoryItem> dropped_items(const ReleaseState& ours, const std::vector<PlannedAction>& writes,
                                         const std::vector<PlannedAction>& removals) {
  std::set<ObjectKey> stay;
  for (const PlannedAction& write : writes) stay.insert(write.key);
  for (const PlannedAction& removal : removals) {
    if (is_return(removal)) stay.insert(removal.key);
  }
  std::vector<InventoryItem> dropped;
  if (!ours.deployed) return dropped;
  for (const InventoryItem& item : ours.deployed->inventory) {
    if (!item.taken_from.empty() && !stay.contains(item.key)) dropped.push_back(item);
  }
  return dropped;
}

}  // namespace

Status plan_returns(const Environment& environment, const ReleaseState& state,
                    std::vector<PlannedAction>& removals, const Context& context) {
  // Records of earlier versions don't tell item by item: there it is what was there before an unfinished
  // revision that took something over, and is the very object that the other one names.
  std::set<ObjectKey> deployed;
  std::set<std::string> deployed_uids;
  if (state.deployed) {
    for (const InventoryItem& item : state.deployed->inventory) {
      deployed.insert(item.key);
      deployed_uids.insert(item.uid);
    }
  }
  const auto says_nothing = [&](const PlannedAction& removal) {
    return removal.recorded.taken_from.empty() && removal.recorded.adopted &&
           !deployed.contains(removal.key) && !deployed_uids.contains(removal.uid);
  };
  std::set<ReleaseId> ids;
  for (const PlannedAction& removal : removals) {
    if (auto id = ReleaseId::parse(removal.recorded.taken_from)) ids.insert(*std::move(id));
  }
  if (std::ranges::any_of(removals, says_nothing)) ids.merge(sources(state.unfinished));
  ids.erase(state.id);
  for (const ReleaseId& id : ids) {
    auto other = read_release(environment, id, context);
    if (!other.ok())
      return std::move(other).error().with_frame(
          fmt::format("while looking what goes back to release {}", id.display()));
    if (!other->anchor || is_uninstalling(*other)) continue;
    const OwnedItems theirs(*other);
    for (PlannedAction& removal : removals) {
      const InventoryItem* const known = theirs.find(removal);
      if (known == nullptr || removal.uid.empty()) continue;
      if (removal.recorded.taken_from != id.display() &&
          !(says_nothing(removal) && known->uid == removal.uid))
        continue;
      removal.kind = ActionKind::Retain;
      removal.owner = id.display();
      removal.reason =
          fmt::format("it goes back to release {}: taking it over from there did not end", id.display());
    }
  }
  return {};
}

Result<std::optional<TakeOver>> TakeOver::begin(const Environment& environment, const ReleaseState& state,
                                                const std::vector<PlannedAction>& writes,
                                                const std::vector<PlannedAction>& removals,
                                                const std::optional<ReleaseId>& from,
                                                const Context& context) {
  std::set<ReleaseId> ids = sources(state.unfinished);
  const auto add = [&](std::string_view display) {
    if (auto id = ReleaseId::parse(display)) ids.insert(*std::move(id));
  };
  if (state.deployed) {
    if (const auto taken = taken_from(*state.deployed)) ids.emplace(*taken);
    for (const InventoryItem& item : state.deployed->inventory) add(item.taken_from);
  }
  for (const PlannedAction& write : writes) add(write.recorded.taken_from);
  for (const PlannedAction& removal : removals) {
    if (is_return(removal)) add(removal.owner);
  }
  if (from) ids.insert(*from);
  ids.erase(state.id);
  TakeOver result;
  for (const ReleaseId& id : ids) {
    const auto its = [&](const PlannedAction& action) { return action.owner == id.display(); };
    const bool moves =
        std::ranges::any_of(writes, [&](const PlannedAction& each) { return is_taken(each) && its(each); }) ||
        std::ranges::any_of(removals,
                            [&](const PlannedAction& each) { return is_return(each) && its(each); });
    if (!moves) {
      result.repair(environment, id, state, writes, removals, context);
      continue;
    }
    auto locked = lock(environment, id, state, context);
    if (!locked.ok())
      return std::move(locked).error().with_frame(
          fmt::format("while taking over objects from release {}", id.display()));
    if (!*locked) continue;
    MIST_TRY_VOID(check_plan(environment, (*locked)->state, writes, context));
    result.note_named((*locked)->state, writes);
    result.others_.push_back(**std::move(locked));
  }
  if (result.others_.empty() && result.named_.empty()) return std::optional<TakeOver>();
  return std::optional<TakeOver>(std::move(result));
}

void TakeOver::note_named(const ReleaseState& other, const std::vector<PlannedAction>& writes) {
  const OwnedItems theirs(other);
  for (const PlannedAction& write : writes) {
    if (theirs.find(write) != nullptr) named_.insert_or_assign(write.key, other.id.display());
  }
}

// A run that died, or one that failed, left that release with objects of ours. That is repaired along the
// way, if we may. A run that ends such a move waits for its lock, as for any, and so does one that drops
// moved objects: afterwards no record of ours tells of it. Else nobody waits.
void TakeOver::repair(const Environment& environment, const ReleaseId& id, const ReleaseState& ours,
                      const std::vector<PlannedAction>& writes, const std::vector<PlannedAction>& removals,
                      const Context& context) {
  auto state = read_release(environment, id, context);
  if (!state.ok() || !state->anchor) return;
  const std::size_t before = named_.size();
  note_named(*state, writes);
  UnfinishedMove dropped{.from = id, .to = ours.id, .items = dropped_items(ours, writes, removals)};
  if (auto named = still_named(environment, ours.id, dropped.items, *state, context); named.ok())
    dropped.items = *std::move(named);
  else
    dropped.items.clear();
  if (named_.size() == before && dropped.items.empty()) return;
  const bool ends_move =
      !dropped.items.empty() || std::ranges::any_of(writes, [&](const PlannedAction& write) {
        return write.recorded.taken_from == id.display();
      });
  const auto locked = [&]() -> Result<Other> {
    const std::string operation = fmt::format("take-over by {}", ours.id.display());
    Other other;
    other.repaired = true;
    other.dropped = std::move(dropped);
    other.state = *std::move(state);
    if (other.state.anchor->lock && ends_move) {
      MIST_TRY(other.state, read_release_to_write(environment, id, operation, context));
      MIST_TRY_VOID(outdate_late_writes(environment, other.state, {}, context, operation));
    } else if (const auto& held = other.state.anchor->lock) {
      return error(ErrorKind::Conflict, "{} has been running \"{}\" since {}", held->holder, held->operation,
                   held->acquired);
    }
    if (!other.state.anchor)
      return error(ErrorKind::NotFound, "release {} was uninstalled just now", id.display());
    other.store = std::make_unique<release::Store>(environment.client);
    MIST_TRY(other.lock,
             release::ReleaseLock::acquire(lock_dependencies(environment, *other.store), *other.state.anchor,
                                           {}, lock_options(environment, operation, other.state), context));
    return other;
  };
  auto other = locked();
  if (other.ok())
    others_.push_back(*std::move(other));
  else
    environment.events.warn(fmt::format("{}: {}", still_names(id), other.error().to_line()));
}

Result<std::optional<TakeOver::Other>> TakeOver::lock(const Environment& environment, const ReleaseId& id,
                                                      const ReleaseState& ours, const Context& context) {
  const std::string operation = fmt::format("take-over by {}", ours.id.display());
  for (int attempt = 1;; ++attempt) {
    Other other;
    MIST_TRY(other.state, read_release_to_write(environment, id, operation, context));
    if (!other.state.anchor) return std::optional<Other>();
    // Nobody would know any more that its lock had a silent holder.
    if (other.state.silent_lock)
      MIST_TRY_VOID(outdate_late_writes(environment, other.state, {}, context, operation));
    other.store = std::make_unique<release::Store>(environment.client);
    auto lock =
        release::ReleaseLock::acquire(lock_dependencies(environment, *other.store), *other.state.anchor, {},
                                      lock_options(environment, operation, other.state), context);
    if (!lock.ok() && release::anchor_moved(lock.error()) && attempt < kMostAttempts) continue;
    MIST_TRY(other.lock, std::move(lock));
    return std::optional<Other>(std::move(other));
  }
}

Status TakeOver::check() const {
  for (const Other& other : others_) {
    if (!other.repaired) MIST_TRY_VOID(other.lock->check());
  }
  return {};
}

std::string TakeOver::also_named_by(const ObjectKey& key) const {
  const auto found = named_.find(key);
  return found == named_.end() ? std::string() : found->second;
}

Result<std::set<ObjectKey>> TakeOver::give_back(const Environment& environment, const ReleaseState& state,
                                                const std::vector<PlannedAction>& removals,
                                                GiveBackOptions options, const Context& context) {
  std::vector<ReturnedObject> work;
  for (std::size_t i = 0; i < others_.size(); ++i) {
    const Other& other = others_[i];
    if (is_uninstalling(other.state)) continue;
    const OwnedItems theirs(other.state);
    const RecordedObjects recorded(environment, other.state, state);
    const bool force =
        options.force_conflicts ||
        (other.state.deployed &&
         render::RecordedOptions::from_value(other.state.deployed->options).allowed.force_conflicts);
    for (const PlannedAction& removal : removals) {
      if (!is_return(removal) || removal.owner != other.state.id.display()) continue;
      const InventoryItem* const known = theirs.find(removal);
      const bool same = known != nullptr && known->uid == removal.uid;
      if (known == nullptr || (!same && removal.recorded.taken_from.empty())) continue;
      MIST_TRY(const std::optional<RenderedObject> rendered, recorded.find(*known, context));
      if (!rendered) continue;
      encoding::Value object = apply::with_version(*rendered, known->revision);
      object["metadata"].set("uid", removal.uid);
      const bool holds = !apply::kept_because(removal.key, nullptr, {}).empty();
      const bool replace = (options.replace || !same) && !holds;
      work.push_back({i, removal.key, *known, removal.uid, removal.live.resource_version,
                      apply::apply_set_id(state.id), std::move(object), force, options.timeout, replace,
                      holds});
    }
  }
  std::mutex mutex;
  std::set<ObjectKey> given;                                      // guarded by mutex
  std::map<std::size_t, std::map<ObjectKey, std::string>> fresh;  // uids that the others don't know; by mutex
  const Context guarded = context.with_guard([this] { return check(); });
  const Status done = parallel_for(work.size(), 16, [&](std::size_t i) -> Status {
    const std::string name = work[i].item.key.display();
    const std::string owner = others_[work[i].other].state.id.display();
    auto written = write_back(environment, work[i], guarded);
    if (!written.ok())
      return std::move(written).error().with_frame(
          fmt::format("while giving {} back to release {}", name, owner));
    if (!*written) return {};
    environment.events.object({name, "given back", "to release " + owner});
    const std::scoped_lock lock(mutex);
    given.insert(work[i].key);
    if (**written != work[i].item.uid) fresh[work[i].other].emplace(work[i].item.key, **written);
    return {};
  });
  for (const auto& [other, uids] : fresh) {
    const auto learn = [&known = uids](std::vector<InventoryItem>& inventory) {
      bool changed = false;
      for (InventoryItem& item : inventory) {
        const auto found = known.find(item.key);
        if (found == known.end() || found->second == item.uid) continue;
        item.uid = found->second;
        item.replacing = false;
        changed = true;
      }
      return changed;
    };
    // Its mark says whose it is. Only the next upgrade there would find it recreated, and write it again.
    if (const Status learnt = change_inventories(others_[other], learn); !learnt.ok())
      environment.events.debug(fmt::format("the record of release {} has outdated uids: {}",
                                           others_[other].state.id.display(), learnt.error().to_line()));
  }
  MIST_TRY_VOID(done);
  return given;
}

// Those of the revisions that count. Chunks of the inventories as they were go too; what stays of them goes
// with that release's next write.
Status TakeOver::change_inventories(Other& other,
                                    const std::function<bool(std::vector<InventoryItem>&)>& change) {
  const Context brief = other.lock->closing_context(std::chrono::seconds(30));
  bool any = false;
  const auto one = [&](Revision& revision) -> Status {
    if (!change(revision.inventory)) return {};
    any = true;
    if (other.lock->lost()) return other.lock->loss();
    return other.store->finish_revision(other.lock->anchor(), revision, brief);
  };
  if (other.state.deployed) MIST_TRY_VOID(one(*other.state.deployed));
  for (Revision& revision : other.state.unfinished) MIST_TRY_VOID(one(revision));
  if (any) (void)other.store->sweep_chunks(other.state.id, brief);
  return {};
}

void TakeOver::let_go(const Environment& environment, const std::vector<PlannedAction>& writes) {
  std::set<ObjectKey> moved;
  std::set<std::string> uids;
  for (const PlannedAction& write : writes) {
    moved.insert(write.key);
    if (!write.uid.empty()) uids.insert(write.uid);
  }
  for (Other& other : others_) {
    Status done = change_inventories(other, [&](std::vector<InventoryItem>& inventory) {
      const std::size_t gone = std::erase_if(inventory, [&](const InventoryItem& item) {
        return moved.contains(item.key) || uids.contains(item.uid);
      });
      return forget(inventory, other.dropped) || gone > 0;
    });
    if (done.ok()) done = other.lock->finish({});
    if (!done.ok())
      environment.events.warn(fmt::format("{}: {}", still_names(other.state.id), done.error().to_line()));
  }
}

Status TakeOver::tell(const Environment& environment, const ReleaseState& ours,
                      const std::vector<UnfinishedMove>& moves, const Context& context) {
  for (const UnfinishedMove& move : moves) {
    const auto work = [&]() -> Status {
      MIST_TRY(std::optional<Other> other, lock(environment, move.from, ours, context));
      if (!other) return {};
      MIST_TRY_VOID(change_inventories(
          *other, [&](std::vector<InventoryItem>& inventory) { return forget(inventory, move); }));
      return other->lock->finish({});
    };
    MIST_TRY_VOID(
        work().in(fmt::format("while release {} forgets what is no longer its own", move.from.display())));
  }
  return {};
}

}  // namespace mist::action
