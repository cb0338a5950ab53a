#include "operator/observer.h"

#include "base/text.h"

namespace mist::operator_ {
namespace {

// An informer that hasn't synced after that long is said to be the problem in the status.
constexpr Duration kSyncTime = std::chrono::seconds(5);

std::string kind_of(const ObjectId& id) { return id.api_version + "/" + id.kind; }

}  // namespace

Observer::Observer(kube::Client& client, Clock& clock, EventSink& events, Wake wake)
    : client_(client),
      clock_(clock),
      events_(events),
      wake_(std::move(wake)),
      reads_(client, clock, events,
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

void Observer::begin(const Item& item) {
  item_ = item;
  asking_ = {};
  unsynced_ = unseen_ = false;
}

bool Observer::is_synced(bool synced, SteadyTime since) {
  if (synced) return true;
  unsynced_ |= clock_.steady_now() - since < kSyncTime;
  return false;
}

Result<Observation> Observer::observe(const ObjectId& id, bool owned, bool known, const Context& context) {
  asking_.objects.insert(id);
  {
    const std::lock_guard lock(mutex_);
    owners_[id].insert(item_);
  }
  Reads::Sight<std::optional<Value>> sight;
  if (owned) {
    MIST_TRY(const Store* const store, store_of(id, context));
    sight = {store->informer->synced(), store->began, store->informer->failure(),
             store->informer->get({id.ns, id.name}), store->informer->resource()};
  } else {
    MIST_TRY(sight, reads_.read(id, context).in(fmt::format("while looking for {}", id.display())));
  }
  Observation observed;
  if (!is_synced(sight.synced, sight.since)) {
    // In the first moment it is only that nobody has answered yet.
    if (sight.failure && !unsynced_) return *sight.failure;
    return observed;
  }
  std::optional<Value>& object = sight.found;
  if (!object && known) {
    auto asked = client_.get({sight.resource, id.ns, id.name}, context);
    if (!asked.ok() && asked.error().kind != ErrorKind::NotFound) return std::move(asked).error();
    if (asked.ok()) object = *std::move(asked);
    unseen_ |= object.has_value();
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
    const auto store = store_of({kind.api_version, kind.kind, {}, {}}, context);
    // A kind that can't be asked for now isn't known to be missing.
    if (!store.ok()) unsynced_ |= store.error().kind != ErrorKind::NotFound;
    if (!store.ok() || !is_synced((*store)->informer->synced(), (*store)->began)) continue;
    const Informer& informer = *(*store)->informer;
    for (const Informer::Key& key : informer.keys_with(uid)) {
      const auto object = informer.get(key);
      if (object && object->string_at({"metadata", "labels", kInstanceLabel}) == uid)
        found.push_back({kind.api_version, kind.kind, key.first, key.second});
    }
  }
  return found;
}

// Where the server no longer serves the kind, or serves it under another name, what the informer showed is
// gone. One that just began only reports that, so that the next one isn't made at once.
Status Observer::leave_unserved(Store& store) {
  const auto failure = store.informer ? store.informer->failure() : std::nullopt;
  if (!failure || failure->kind != ErrorKind::NotFound) return {};
  if (clock_.steady_now() - store.began < kSyncTime) return *failure;
  client_.invalidate_discovery();
  store.informer.reset();
  return {};
}

// One informer for a kind.
Result<Observer::Store*> Observer::store_of(const ObjectId& id, const Context& context) {
  Store& store = owned_[kind_of(id)];
  MIST_TRY_VOID(leave_unserved(store));
  if (store.informer) return &store;
  const apimachinery::GroupVersionKind gvk = id.gvk();
  auto resource = client_.resource_for(gvk.group_kind(), gvk.version, context);
  if (!resource.ok()) {
    client_.invalidate_discovery();
    return std::move(resource).error().with_frame(fmt::format("while looking for {}", id.display()));
  }
  store.informer = std::make_unique<Informer>(
      client_, *resource, kube::ListOptions{.label_selector = std::string(kInstanceLabel)}, nullptr,
      [this, api_version = id.api_version, kind = id.kind](const std::optional<Informer::Key>& key) {
        changed(api_version, kind, key);
      },
      clock_, events_);
  store.began = clock_.steady_now();
  return &store;
}

Result<std::optional<Value::Array>> Observer::list(const Collection& collection, const Context& context) {
  asking_.collections.insert(collection);
  {
    const std::lock_guard lock(mutex_);
    listers_[collection].insert(item_);
  }
  MIST_TRY(Reads::Sight<Value::Array> sight,
           reads_.list(collection, context).in(fmt::format("while listing {}", collection.display())));
  if (!is_synced(sight.synced, sight.since)) return std::optional<Value::Array>();
  return std::optional(std::move(sight.found));
}

void Observer::finish(bool partly) {
  if (!partly) return leave_others(item_);
  Asked& asked = asked_[item_];
  asked.objects.merge(asking_.objects);
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
  for (const ObjectId& id : before.objects)
    if (!asking_.objects.contains(id)) leave(id, item);
  for (const Collection& each : before.collections)
    if (!asking_.collections.contains(each)) leave(each, item);
  before = std::move(asking_);
}

void Observer::leave(const ObjectId& id, const Item& item) {
  {
    const std::lock_guard lock(mutex_);
    const auto owner = owners_.find(id);
    if (owner == owners_.end()) return;
    owner->second.erase(item);
    if (!owner->second.empty()) return;
    owners_.erase(owner);
  }
  server_made_.erase(id);
  reads_.leave(id);  // waits for its thread, which may want the lock
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

void Observer::tell(const ObjectId& id, const std::set<Item>& items) {
  for (const Item& item : items) {
    changed_[item].insert(id);
    wake_(item);
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
