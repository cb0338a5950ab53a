#include "operator/reads.h"

#include <algorithm>

#include "base/text.h"

namespace mist::operator_ {
namespace {

using reconcile::ObjectKind;

// So many watches of a kind there may be in a namespace, and in all, before one takes their place.
constexpr std::size_t kMostInNamespace = 32, kMostOfKind = 64;
// Somebody may have given the account more rights.
constexpr Duration kRefusedFor = std::chrono::minutes(10);

void forget_managed_fields(Value& object) {
  if (Value* metadata = object.find("metadata")) metadata->erase("managedFields");
}

kube::Informer::Key key_in_watch(const ObjectId& id) { return {id.ns, id.name}; }
const Collection& key_in_watch(const Collection& collection) { return collection; }

}  // namespace

Reads::Reads(kube::Client& client, WatchedNamespaces namespaces, Clock& clock, EventSink& events, Told told)
    : client_(client),
      namespaces_(std::move(namespaces)),
      clock_(clock),
      events_(events),
      told_(std::move(told)) {}

template <typename What>
void Reads::leave_shared(Kind& kind, const What& what, const Shared* but) {
  for (auto place = kind.shared.begin(); place != kind.shared.end();) {
    if (&place->second == but) {
      ++place;
      continue;
    }
    place->second.watch->leave(key_in_watch(what));
    place = place->second.watch->is_wanted() ? std::next(place) : kind.shared.erase(place);
  }
}

// One that has synced may only be refused for a moment, as while somebody writes a role again. Until that has
// lasted, whoever looks is told of it: watches of their own would each take a thread for minutes.
bool Reads::is_refused(Shared& shared, const std::string& ns) const {
  const SharedWatch& watch = *shared.watch;
  if (!watch.synced(ns)) {
    const std::optional<Error> failure = watch.failure(ns);
    return failure && failure->kind == ErrorKind::Forbidden;
  }
  if (!watch.refusal(ns)) {
    shared.refused_since.erase(ns);
    return false;
  }
  const SteadyTime now = clock_.steady_now();
  return now - shared.refused_since.try_emplace(ns, now).first->second >= kSyncTime;
}

// Those that it served look again, and get watches of their own.
void Reads::refuse(Kind& kind, const ObjectKind& of, const std::string& place) {
  const auto shared = kind.shared.extract(place);
  kind.refused_until[place] = clock_.steady_now() + kRefusedFor;
  for (const Collection& each : shared.mapped().watch->collections()) told_.list(each);
  told_.object(of, std::nullopt);
}

Result<Reads::Shared*> Reads::shared_for(Kind& kind, const ObjectKind& of, const std::string& ns) {
  Shared* coming = nullptr;
  for (const std::string& place : {std::string(), ns}) {
    const auto found = kind.shared.find(place);
    if (found == kind.shared.end()) continue;
    Shared& shared = found->second;
    const std::optional<Error> failure = shared.watch->failure();
    if (failure && failure->kind == ErrorKind::NotFound) {
      if (clock_.steady_now() - shared.since < kSyncTime) return *failure;
      client_.invalidate_discovery();
      kind.shared.erase(found);
    } else if (is_refused(shared, ns)) {
      // The watch keeps its other namespaces; in this one each object gets a watch of its own.
      if (shared.watch->is_refused_everywhere()) refuse(kind, of, place);
    } else if (shared.watch->synced(ns)) {
      return &shared;
    } else if (coming == nullptr) {
      coming = &shared;
    }
  }
  return coming;
}

template <typename What, typename Singles>
Result<Reads::Shared*> Reads::taken_on(Kind& kind, const ObjectKind& of, const What& what, Singles& singles) {
  MIST_TRY(Shared* const shared, shared_for(kind, of, what.ns));
  if (shared == nullptr) return shared;
  shared->watch->want(key_in_watch(what));
  if (!shared->watch->synced(what.ns)) return singles.contains(what) ? nullptr : shared;
  singles.erase(what);
  leave_shared(kind, what, shared);
  return shared;
}

Result<Reads::Sight<std::optional<Value>>> Reads::read(const ObjectId& id, const Context& context) {
  using Found = std::optional<Value>;
  if (!id.ns.empty()) MIST_TRY_VOID(namespaces_.check_namespace(id.ns));
  const ObjectKind of{id.api_version, id.kind};
  Kind& kind = kinds_[of];
  MIST_TRY(const Shared* const shared, taken_on(kind, of, id, kind.objects));
  if (shared != nullptr) {
    auto sight = sight_of<Found>(*shared->watch, id.ns, shared->since);
    if (!sight.synced) return sight;
    MIST_TRY(sight.found, shared->watch->get(key_in_watch(id), context));
    return sight;
  }
  OwnWatch& single = kind.objects[id];
  MIST_TRY_VOID(single.leave_unserved(client_, clock_));
  if (!single.informer)
    MIST_TRY_VOID(single.begin(
        client_, namespaces_, clock_, events_, id.gvk(),
        {.ns = id.ns, .field_selector = fmt::format("metadata.name={}", id.name)}, nullptr,
        [this, of](const std::optional<kube::Informer::Key>& key) { told_.object(of, key); }, context));
  auto sight = sight_of<Found>(*single.informer, id.ns, single.since);
  if (sight.synced) sight.found = single.informer->get(key_in_watch(id));
  share_if_many(kind, of, id.ns, *sight.resource);
  return sight;
}

Result<Reads::Sight<Value::Array>> Reads::list(const Collection& collection, const Context& context) {
  if (!collection.ns.empty()) MIST_TRY_VOID(namespaces_.check_namespace(collection.ns));
  const ObjectKind of{collection.api_version, collection.kind};
  Kind& kind = kinds_[of];
  MIST_TRY(const Shared* const shared, taken_on(kind, of, collection, kind.collections));
  if (shared != nullptr) {
    auto sight = sight_of<Value::Array>(*shared->watch, collection.ns, shared->since);
    if (!sight.synced) return sight;
    MIST_TRY(sight.found, shared->watch->list(collection, context));
    for (Value& each : sight.found) forget_managed_fields(each);
    return sight;
  }
  OwnWatch& single = kind.collections[collection];
  MIST_TRY_VOID(single.leave_unserved(client_, clock_));
  if (!single.informer)
    MIST_TRY_VOID(single.begin(
        client_, namespaces_, clock_, events_, ObjectId{of.api_version, of.kind, {}, {}}.gvk(),
        {.ns = collection.ns, .label_selector = collection.label_selector}, forget_managed_fields,
        [this, collection](const std::optional<kube::Informer::Key>& /*key*/) { told_.list(collection); },
        context));
  auto sight = sight_of<Value::Array>(*single.informer, collection.ns, single.since);
  if (sight.synced)
    for (const kube::Informer::Key& key : single.informer->keys())
      if (auto object = single.informer->get(key)) sight.found.push_back(*std::move(object));
  share_if_many(kind, of, collection.ns, *sight.resource);
  return sight;
}

void Reads::share_if_many(Kind& kind, const ObjectKind& of, const std::string& ns,
                          const kube::ResourceInfo& resource) {
  const auto may_share = [&](const std::string& place) {
    if (kind.shared.contains(place)) return false;
    const auto refused = kind.refused_until.find(place);
    return refused == kind.refused_until.end() || refused->second <= clock_.steady_now();
  };
  const auto is_there = [&](const auto& each) { return each.first.ns == ns; };
  if (may_share(ns) &&
      static_cast<std::size_t>(std::ranges::count_if(kind.objects, is_there) +
                               std::ranges::count_if(kind.collections, is_there)) > kMostInNamespace)
    return share(kind, of, ns, resource);
  if (may_share("") && kind.objects.size() + kind.collections.size() + kind.shared.size() > kMostOfKind)
    share(kind, of, "", resource);
}

// Until it has synced, they keep the watches that they have.
void Reads::share(Kind& kind, const ObjectKind& of, const std::string& ns,
                  const kube::ResourceInfo& resource) {
  kind.refused_until.erase(ns);
  auto watch = std::make_unique<SharedWatch>(
      client_, resource, ns, namespaces_.names(),
      SharedWatch::Told{
          .object = [this, of](const std::optional<kube::Informer::Key>& key) { told_.object(of, key); },
          .list = [this](const Collection& collection) { told_.list(collection); }},
      clock_, events_);
  const auto is_there = [&](const std::string& at) { return ns.empty() || at == ns; };
  for (const auto& [id, single] : kind.objects)
    if (is_there(id.ns)) watch->want(key_in_watch(id));
  for (const auto& [collection, single] : kind.collections)
    if (is_there(collection.ns)) watch->want(collection);
  kind.shared[ns] = {std::move(watch), clock_.steady_now()};
}

// Both wait for the thread of a watch, which may want the caller's lock.
void Reads::leave(const ObjectId& id) {
  const auto kind = kinds_.find({id.api_version, id.kind});
  if (kind == kinds_.end()) return;
  kind->second.objects.erase(id);
  leave_shared(kind->second, id);
  if (kind->second.empty()) kinds_.erase(kind);
}

void Reads::leave(const Collection& collection) {
  const auto kind = kinds_.find({collection.api_version, collection.kind});
  if (kind == kinds_.end()) return;
  kind->second.collections.erase(collection);
  leave_shared(kind->second, collection);
  if (kind->second.empty()) kinds_.erase(kind);
}

void Reads::put(const ObjectId& id, const Value& answer) {
  const auto kind = kinds_.find({id.api_version, id.kind});
  if (kind == kinds_.end()) return;
  if (const auto single = kind->second.objects.find(id);
      single != kind->second.objects.end() && single->second.informer)
    single->second.informer->put(answer);
  for (const std::string& place : {std::string(), id.ns})
    if (const auto shared = kind->second.shared.find(place); shared != kind->second.shared.end())
      shared->second.watch->put(answer);
}

std::size_t Reads::watches() const {
  std::size_t all = 0;
  for (const auto& [of, kind] : kinds_)
    all += kind.objects.size() + kind.collections.size() + kind.shared.size();
  return all;
}

}  // namespace mist::operator_
