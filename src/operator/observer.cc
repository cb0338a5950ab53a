#include "operator/observer.h"

#include <algorithm>

#include "apimachinery/managed_fields.h"
#include "base/text.h"

namespace mist::operator_ {
namespace {

std::string kind_of(const ObjectId& id) { return id.api_version + "/" + id.kind; }

}  // namespace

Observer::Observer(kube::Client& client, WatchedNamespaces namespaces, Clock& clock, EventSink& events,
                   Wake wake)
    : client_(client),
      namespaces_(std::move(namespaces)),
      clock_(clock),
      events_(events),
      wake_(std::move(wake)),
      reads_(client, namespaces_, clock, events,
             {.object =
                  [this](const reconcile::ObjectKind& of, const std::optional<Informer::Key>& key) {
                    changed(of.api_version, of.kind, key);
                  },
              .list =
                  [this](const Collection& collection) {
                    const std::lock_guard lock(mutex_);
                    if (const auto found = listers_.find(collection); found != listers_.end())
                      for (const Item& item : found->second) wake_(item);
                  }}) {}

void Observer::Asked::add(const ObjectId* object) {
  const auto place = std::ranges::lower_bound(objects, object);
  if (place == objects.end() || *place != object) objects.insert(place, object);
}

Observer::Items::iterator Observer::place_of(Items& items, const Item& item) {
  return std::ranges::lower_bound(items, item, {}, [](const auto& each) -> const Item& { return *each; });
}

void Observer::begin(const Item& item) {
  item_ = item;
  asking_ = {};
  if (const auto before = asked_.find(item); before != asked_.end()) asking_.item = before->second.item;
  if (!asking_.item) asking_.item = std::make_shared<const Item>(item);
  unsynced_ = unseen_ = false;
}

bool Observer::is_synced(bool synced, SteadyTime since) {
  if (synced) return true;
  unsynced_ |= clock_.steady_now() - since < kSyncTime;
  return false;
}

void Observer::ask(const ObjectId& id) {
  const std::lock_guard lock(mutex_);
  const auto owner = owners_.try_emplace(id).first;
  asking_.add(&owner->first);
  Items& items = owner->second;
  const auto place = place_of(items, item_);
  if (place == items.end() || **place != item_) items.insert(place, asking_.item);
}

Result<Observation> Observer::observe(const ObjectId& id, bool owned, bool known, const Context& context) {
  ask(id);
  Reads::Sight<std::optional<Value>> sight;
  if (owned) {
    if (!id.ns.empty()) MIST_TRY_VOID(namespaces_.check_namespace(id.ns));
    MIST_TRY(const OwnWatch* const watch, watch_of(id, context));
    sight = Reads::sight_of<std::optional<Value>>(*watch->informer, id.ns, watch->since);
    if (sight.synced) sight.found = watch->informer->get({id.ns, id.name});
  } else {
    MIST_TRY(sight, reads_.read(id, context).in(fmt::format("while looking for {}", id.display())));
  }
  Observation observed;
  if (!is_synced(sight.synced, sight.since)) {
    // In the first moment it is only that nobody has answered yet.
    if (sight.failure && !unsynced_) return *sight.failure;
    return observed;
  }
  if (sight.failure) return *sight.failure;
  std::optional<Value>& object = sight.found;
  if (!object && known) {
    auto asked = client_.get({*sight.resource, id.ns, id.name}, context);
    if (!asked.ok() && asked.error().kind != ErrorKind::NotFound) return std::move(asked).error();
    if (asked.ok()) object = *std::move(asked);
    // No watch reports an object that was released, or that belongs to somebody else, and nothing waits for
    // it to go.
    const auto has_mark = [&](std::string_view part) {
      return !object->string_at({"metadata", part, kInstanceLabel}).empty();
    };
    unseen_ |= object && (has_mark("labels") || has_mark("annotations"));
  }
  observed.state = object ? Observation::State::There : Observation::State::Absent;
  if (object) observed.object = *std::move(object);
  if (const auto made = server_made_.find(id); made != server_made_.end()) observed.made = made->second;
  return observed;
}

std::vector<ObjectId> Observer::marked(const std::set<reconcile::ObjectKind>& kinds, std::string_view uid,
                                       const Context& context) {
  std::vector<ObjectId> found;
  for (const reconcile::ObjectKind& kind : kinds) {
    const ObjectId all{kind.api_version, kind.kind, {}, {}};
    ask(all);
    const auto watch = watch_of(all, context);
    // A kind that can't be asked for now isn't known to be missing; one outside of the watched namespaces was
    // never made.
    if (!watch.ok())
      unsynced_ |= watch.error().kind != ErrorKind::NotFound && watch.error().kind != ErrorKind::Forbidden;
    if (!watch.ok()) continue;
    const kube::MultiNamespaceInformer& informer = *(*watch)->informer;
    // In a namespace that the server doesn't tell of nothing is known to carry the mark.
    static_cast<void>(is_synced(informer.synced(), (*watch)->since));
    for (const Informer::Key& key : informer.keys_with(uid)) {
      const auto object = informer.get(key);
      if (object && object->string_at({"metadata", "labels", kInstanceLabel}) == uid)
        found.push_back({kind.api_version, kind.kind, key.first, key.second});
    }
  }
  return found;
}

// One informer for a kind.
Result<OwnWatch*> Observer::watch_of(const ObjectId& id, const Context& context) {
  OwnWatch& watch = owned_[kind_of(id)];
  MIST_TRY_VOID(watch.leave_unserved(client_, clock_));
  if (watch.informer) return &watch;
  MIST_TRY_VOID(watch
                    .begin(
                        client_, namespaces_, clock_, events_, id.gvk(),
                        {.label_selector = std::string(kInstanceLabel)}, apimachinery::keep_field_owners,
                        [this, api_version = id.api_version, kind = id.kind](
                            const std::optional<Informer::Key>& key) { changed(api_version, kind, key); },
                        context)
                    .in(fmt::format("while looking for {}", id.display())));
  return &watch;
}

Result<std::optional<Value::Array>> Observer::list(const Collection& collection, const Context& context) {
  asking_.collections.insert(collection);
  {
    const std::lock_guard lock(mutex_);
    listers_[collection].insert(item_);
  }
  MIST_TRY(Reads::Sight<Value::Array> sight,
           reads_.list(collection, context).in(fmt::format("while listing {}", collection.display())));
  if (!is_synced(sight.synced, sight.since) && (unsynced_ || !sight.failure))
    return std::optional<Value::Array>();
  if (sight.failure) return *sight.failure;
  return std::optional(std::move(sight.found));
}

void Observer::finish(bool partly) {
  if (!partly) return leave_others(item_);
  Asked& asked = asked_[item_];
  asked.item = asking_.item;
  for (const ObjectId* each : asking_.objects) asked.add(each);
  asked.collections.merge(asking_.collections);
}

void Observer::forget(const Item& item) {
  asking_ = {};
  leave_others(item);
  asked_.erase(item);
  const std::lock_guard lock(mutex_);
  changed_.erase(item);
}

void Observer::leave_others(const Item& item) {
  Asked& before = asked_[item];
  // A copy: nobody may own it any more then.
  for (const ObjectId* each : before.objects)
    if (!std::ranges::binary_search(asking_.objects, each)) leave(ObjectId(*each), item);
  for (const Collection& each : before.collections)
    if (!asking_.collections.contains(each)) leave(each, item);
  asking_.objects.shrink_to_fit();
  before = std::move(asking_);
}

void Observer::leave(const ObjectId& id, const Item& item) {
  bool is_kind_asked_for = false;
  {
    const std::lock_guard lock(mutex_);
    const auto owner = owners_.find(id);
    if (owner == owners_.end()) return;
    Items& items = owner->second;
    if (const auto place = place_of(items, item); place != items.end() && **place == item) items.erase(place);
    if (!items.empty()) return;
    owners_.erase(owner);
    const auto first = owners_.lower_bound({id.api_version, id.kind, {}, {}});
    is_kind_asked_for =
        first != owners_.end() && first->first.api_version == id.api_version && first->first.kind == id.kind;
  }
  server_made_.erase(id);
  // Both wait for the thread of a watch, which may want the lock.
  if (!is_kind_asked_for) owned_.erase(kind_of(id));
  reads_.leave(id);
}

void Observer::leave(const Collection& collection, const Item& item) {
  {
    const std::lock_guard lock(mutex_);
    const auto lister = listers_.find(collection);
    if (lister == listers_.end()) return;
    lister->second.erase(item);
    if (!lister->second.empty()) return;
    listers_.erase(lister);
  }
  reads_.leave(collection);
}

void Observer::changed(const std::string& api_version, const std::string& kind,
                       const std::optional<Informer::Key>& key) {
  const std::lock_guard lock(mutex_);
  if (key) {
    const ObjectId id{api_version, kind, key->first, key->second};
    if (const auto owner = owners_.find(id); owner != owners_.end()) tell(id, owner->second);
    return;
  }
  for (const auto& [id, items] : owners_)
    if (id.api_version == api_version && id.kind == kind) tell(id, items);
}

void Observer::tell(const ObjectId& id, const Items& items) {
  for (const auto& item : items) {
    changed_[*item].insert(id);
    wake_(*item);
  }
}

std::set<ObjectId> Observer::take_changed(const Item& item) {
  const std::lock_guard lock(mutex_);
  const auto found = changed_.find(item);
  if (found == changed_.end()) return {};
  std::set<ObjectId> taken = std::move(found->second);
  changed_.erase(found);
  return taken;
}

std::size_t Observer::watches() const {
  const auto owned =
      std::ranges::count_if(owned_, [](const auto& each) { return each.second.informer != nullptr; });
  return static_cast<std::size_t>(owned) + reads_.watches();
}

void Observer::put(const ObjectId& id, const Value& answer, std::vector<apply::ServerMade> made) {
  if (made.empty())
    server_made_.erase(id);
  else
    server_made_[id] = std::move(made);
  if (const auto store = owned_.find(kind_of(id)); store != owned_.end() && store->second.informer)
    store->second.informer->put(answer, Informer::Echo::Silent);
  reads_.put(id, answer);
}

}  // namespace mist::operator_
