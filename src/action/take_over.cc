#include "action/take_over.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "action/recorded_options.h"
#include "apply/observe.h"
#include "apply/settle.h"
#include "base/parallel.h"

namespace mist::action {

using apply::ActionKind;
using apply::ObjectKey;
using apply::PlannedAction;
using release::InventoryItem;
using release::ReleaseId;
using release::RenderedObject;
using release::Revision;

namespace {

bool is_taken(const PlannedAction& write) { return write.adopting && !write.owner.empty(); }

std::set<ReleaseId> sources(const std::vector<Revision>& revisions) {
  std::set<ReleaseId> ids;
  for (const Revision& revision : revisions) {
    if (auto id = recorded_take_over(revision.options)) ids.insert(*std::move(id));
  }
  return ids;
}

std::map<ObjectKey, InventoryItem> owned_by_key(const ReleaseState& state) {
  std::map<ObjectKey, InventoryItem> items;
  for (InventoryItem& item : state.owned()) {
    ObjectKey key = item.key;
    items.emplace(std::move(key), std::move(item));
  }
  return items;
}

bool is_on_its_way_out(const ReleaseState& state) {
  return state.anchor->head.status == release::RevisionStatus::Uninstalling;
}

const RenderedObject* rendered_in(const Revision& revision, const ObjectKey& key) {
  const auto found =
      std::ranges::find(revision.objects, key, [](const RenderedObject& each) { return each.object.key(); });
  return found == revision.objects.end() ? nullptr : &*found;
}

// As the revision made it that last changed it; if that isn't at hand, as it is deployed: it is the same
// then.
const RenderedObject* recorded_object(const ReleaseState& state, const InventoryItem& item) {
  for (const Revision& revision : state.unfinished) {
    if (revision.number == item.revision) return rendered_in(revision, item.key);
  }
  if (state.deployed) return rendered_in(*state.deployed, item.key);
  return state.unfinished.empty() ? nullptr : rendered_in(state.unfinished.back(), item.key);
}

// What a release only retains has no object in its record: it goes back as it is now, by its marks.
std::optional<RenderedObject> object_to_give_back(const ReleaseState& theirs, const ReleaseState& ours,
                                                  const InventoryItem& item) {
  if (const RenderedObject* recorded = recorded_object(theirs, item)) return *recorded;
  for (auto revision = ours.unfinished.rbegin(); revision != ours.unfinished.rend(); ++revision) {
    const RenderedObject* written = rendered_in(*revision, item.key);
    if (written == nullptr) continue;
    RenderedObject marked = *written;
    encoding::Value& metadata = marked.object.mutable_value()["metadata"];
    metadata["labels"].set(release::kPartOfLabel, release::apply_set_id(theirs.id));
    metadata["labels"].set(release::kNameLabel, theirs.id.name);
    metadata["annotations"].set(release::kReleaseAnnotation, theirs.id.display());
    return marked;
  }
  return std::nullopt;
}

// One object on its way back.
struct Return {
  InventoryItem item;  ///< of the release that it goes to
  encoding::Value object;
  bool force_conflicts = false;
};

// False: it is gone, or another object by now.
Result<bool> write_back(const Environment& environment, const Return& going, const Context& context) {
  MIST_TRY(const std::optional<kube::ResourceInfo> resource,
           apply::resource_of(environment.client, going.item, context));
  if (!resource) return false;
  const kube::ApplyOptions options{.field_manager = "mistctl", .force = going.force_conflicts};
  auto written = environment.client.apply({*resource, going.item.key.ns, going.item.key.name}, going.object,
                                          options, context);
  if (written.ok()) return true;
  if (written.error().kind == ErrorKind::NotFound || apply::is_other_object(written.error())) return false;
  if (apply::is_field_conflict(written.error())) written.error().hint = std::string(apply::kForceHint);
  return std::move(written).error();
}

}  // namespace

bool is_return(const PlannedAction& removal) {
  return removal.kind == ActionKind::Retain && !removal.owner.empty();
}

Status plan_returns(const Environment& environment, const ReleaseState& state,
                    std::vector<PlannedAction>& removals, const Context& context) {
  const auto may_return = [](const PlannedAction& removal) {
    return removal.adopted && !removal.uid.empty();
  };
  if (std::ranges::none_of(removals, may_return)) return {};
  for (const ReleaseId& id : sources(state.unfinished)) {
    auto other = read_release(environment, id, context);
    if (!other.ok())
      return std::move(other).error().with_frame(
          fmt::format("while looking what goes back to release {}", id.display()));
    if (!other->anchor || is_on_its_way_out(*other)) continue;
    const std::map<ObjectKey, InventoryItem> theirs = owned_by_key(*other);
    for (PlannedAction& removal : removals) {
      const auto known = theirs.find(removal.key);
      if (!may_return(removal) || known == theirs.end() || known->second.uid != removal.uid) continue;
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
  if (state.deployed) {
    if (auto id = recorded_take_over(state.deployed->options)) ids.insert(*std::move(id));
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
      // A run that died may have left it with what is ours. That is mended along the way, if we may.
      if (writes.empty()) continue;
      const auto other = read_release(environment, id, context);
      if (!other.ok() || !other->anchor) continue;
      const std::map<ObjectKey, InventoryItem> theirs = owned_by_key(*other);
      if (std::ranges::none_of(writes, [&](const PlannedAction& each) { return theirs.contains(each.key); }))
        continue;
    }
    auto locked = lock(environment, id, state, context);
    if (!locked.ok())
      return std::move(locked).error().with_frame(
          fmt::format("while taking over objects from release {}", id.display()));
    if (*locked) result.others_.push_back(**std::move(locked));
  }
  if (result.others_.empty()) return std::optional<TakeOver>();
  return std::optional<TakeOver>(std::move(result));
}

Result<std::optional<TakeOver::Other>> TakeOver::lock(const Environment& environment, const ReleaseId& id,
                                                      const ReleaseState& ours, const Context& context) {
  const std::string operation = fmt::format("take-over by {}", ours.id.display());
  for (int look = 1;; ++look) {
    Other other;
    MIST_TRY(other.state, read_release_to_write(environment, id, operation, context));
    if (!other.state.anchor) return std::optional<Other>();
    other.store = std::make_unique<release::Store>(environment.client);
    auto lock = release::ReleaseLock::acquire(lock_world(environment, *other.store), *other.state.anchor, {},
                                              lock_options(environment, operation, other.state), context);
    if (!lock.ok() && release::anchor_moved(lock.error()) && look < kLooks) continue;
    MIST_TRY(other.lock, std::move(lock));
    return std::optional<Other>(std::move(other));
  }
}

Status TakeOver::check() const {
  for (const Other& other : others_) MIST_TRY_VOID(other.lock->check());
  return {};
}

Result<std::set<ObjectKey>> TakeOver::give_back(const Environment& environment, const ReleaseState& state,
                                                const std::vector<PlannedAction>& removals,
                                                bool force_conflicts,
                                                const std::function<Status()>& may_write,
                                                const Context& context) const {
  std::vector<Return> work;
  std::vector<std::string> owners;  // beside it
  for (const Other& other : others_) {
    if (is_on_its_way_out(other.state)) continue;
    const std::map<ObjectKey, InventoryItem> theirs = owned_by_key(other.state);
    const bool force = force_conflicts || (other.state.deployed &&
                                           recorded_flag(other.state.deployed->options, "forceConflicts"));
    for (const PlannedAction& removal : removals) {
      if (!is_return(removal) || removal.owner != other.state.id.display()) continue;
      const auto known = theirs.find(removal.key);
      if (known == theirs.end() || known->second.uid != removal.uid) continue;
      const std::optional<RenderedObject> rendered = object_to_give_back(other.state, state, known->second);
      if (!rendered) continue;
      encoding::Value object = apply::with_version(*rendered, known->second.revision);
      object["metadata"].set("uid", removal.uid);
      work.push_back({known->second, std::move(object), force});
      owners.push_back(removal.owner);
    }
  }
  std::mutex mutex;
  std::set<ObjectKey> given;  // guarded by mutex
  const Status done = parallel_for(work.size(), 16, [&](std::size_t i) -> Status {
    const std::string name = work[i].item.key.display();
    MIST_TRY_VOID(check());
    if (may_write) MIST_TRY_VOID(may_write());
    auto written = write_back(environment, work[i], context);
    if (!written.ok())
      return std::move(written).error().with_frame(
          fmt::format("while giving {} back to release {}", name, owners[i]));
    if (!*written) return {};
    environment.events.object({name, "given back", "to release " + owners[i]});
    const std::scoped_lock lock(mutex);
    given.insert(work[i].item.key);
    return {};
  });
  MIST_TRY_VOID(done);
  return given;
}

void TakeOver::let_go(const Environment& environment, const std::vector<PlannedAction>& writes) {
  std::set<ObjectKey> moved;
  for (const PlannedAction& write : writes) moved.insert(write.key);
  // Also after Ctrl-C.
  const Context brief = Context().with_timeout(std::chrono::seconds(30));
  for (Other& other : others_) {
    std::size_t forgotten = 0;
    const auto forget = [&](Revision& revision) -> Status {
      const std::size_t removed = std::erase_if(
          revision.inventory, [&](const InventoryItem& item) { return moved.contains(item.key); });
      if (removed == 0) return {};
      forgotten += removed;
      if (other.lock->lost()) return other.lock->loss();
      MIST_TRY_VOID(other.lock->check());
      return other.store->finish_revision(other.lock->anchor(), revision, brief);
    };
    const auto all = [&]() -> Status {
      if (other.state.deployed) MIST_TRY_VOID(forget(*other.state.deployed));
      for (Revision& revision : other.state.unfinished) MIST_TRY_VOID(forget(revision));
      // Chunks of the inventories as they were; what stays goes with that release's next write.
      if (forgotten > 0 && other.lock->check()) (void)other.store->sweep_chunks(other.state.id, brief);
      return other.lock->finish({});
    };
    if (const Status done = all(); !done.ok())
      environment.events.warn(fmt::format(
          "the record of release {} still names objects that are no longer its own: {}; the next upgrade of "
          "one of the two mends that",
          other.state.id.display(), done.error().to_line()));
  }
}

}  // namespace mist::action
