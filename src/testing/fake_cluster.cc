#include "testing/fake_cluster.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "kube/api_down.h"
#include "kube/api_failure.h"
#include "testing/fake_store.h"
#include "testing/selector_match.h"

namespace mist::testing {

using apimachinery::GroupKind;
using kube::ListOptions;
using kube::ObjectRef;
using kube::ResourceInfo;
using kube::WatchEvent;
using kube::WatchEventType;

struct FakeCluster::State {
  mutable std::mutex mutex;
  std::condition_variable_any changed;
  FakeStore store;
  FakeFault before, after;
  std::vector<FakeCall> calls;
  std::string down;  // a group
  DownKinds down_kinds = DownKinds::Lost;
  std::map<GroupKind, FakeKind> remembered;  // by a discovery that is frozen
  using Schemas = std::map<std::pair<std::string, std::string>, std::shared_ptr<const Value>>;
  Schemas schemas;                       // by group and version
  Schemas kept_schemas;                  // as they were when somebody asked
  std::map<GroupKind, GroupKind> twins;  // served under another group: under which it is stored

  ObjectKey stored(ObjectKey key) const {
    const auto twin = twins.find(key.group_kind);
    if (twin != twins.end()) key.group_kind = twin->second;
    return key;
  }
  bool has_lost(const GroupKind& kind) const {
    return !down.empty() && kind.group == down && down_kinds == DownKinds::Lost;
  }
  const FakeKind& storage(const FakeKind& kind) const {
    const auto twin = twins.find(kind.kind);
    return twin == twins.end() ? kind : *store.find_kind(twin->second);
  }
  // As it is stored.
  Value body(Value object, const FakeKind& kind) const {
    const FakeKind& under = storage(kind);
    if (under.kind != kind.kind)
      object.set("apiVersion", under.info(under.versions.front()).gvk.api_version());
    return object;
  }
};

namespace {

ObjectKey key_of(const ObjectRef& ref) {
  return {ref.resource.gvk.group_kind(), ref.resource.namespaced ? ref.ns : std::string(), ref.name};
}

Value in_version(Value object, const ResourceInfo& resource) {
  if (object.string_at("kind") == resource.gvk.kind) object.set("apiVersion", resource.gvk.api_version());
  return object;
}

Value shaped(const Value& object, const ResourceInfo& resource, const ListOptions& options) {
  if (!options.metadata_only) return in_version(object, resource);
  Value partial = Value::object({{"apiVersion", resource.gvk.api_version()}, {"kind", resource.gvk.kind}});
  partial.set("metadata", *object.find("metadata"));
  return partial;
}

Result<bool> selected(const ObjectKey& key, const Value& object, const ResourceInfo& resource,
                      const ListOptions& options) {
  if (key.group_kind != resource.gvk.group_kind()) return false;
  if (resource.namespaced && !options.ns.empty() && key.ns != options.ns) return false;
  MIST_TRY(const bool labels, matches_labels(options.label_selector, object));
  MIST_TRY(const bool fields, matches_fields(options.field_selector, object));
  return labels && fields;
}

}  // namespace

// The kind behind a path: an unknown one has no path, which is the server's bare 404.
Result<const FakeKind*> FakeCluster::served_kind(const ResourceInfo& resource, std::string_view verb,
                                                 const ObjectKey& key) {
  const FakeKind* kind = state_->store.find_kind(resource.gvk.group_kind());
  // No path leads to a kind of another scope or plural.
  if (kind != nullptr && kind->namespaced == resource.namespaced && kind->resource == resource.resource &&
      std::ranges::find(kind->versions, resource.gvk.version) != kind->versions.end())
    return kind;
  state_->remembered.clear();
  return kube::as_not_served(
      fake_answer(ErrorKind::NotFound, verb, key, "the server could not find the requested resource"));
}

FakeCluster::FakeCluster() : state_(std::make_shared<State>()) {}
FakeCluster::FakeCluster(std::shared_ptr<State> state, std::string user)
    : state_(std::move(state)), user_(std::move(user)) {}
FakeCluster::~FakeCluster() = default;

std::unique_ptr<FakeCluster> FakeCluster::client_for(std::string user) const {
  return std::unique_ptr<FakeCluster>(new FakeCluster(state_, std::move(user)));
}

template <typename Work>
auto FakeCluster::perform(FakeCall call, const Context& context, Work&& work) -> decltype(work()) {
  MIST_TRY_VOID(context.check());
  FakeFault before, after;
  {
    const std::lock_guard lock(state_->mutex);
    call.user = user_;
    call.number = state_->calls.size() + 1;
    state_->calls.push_back(call);
    before = state_->before;
    after = state_->after;
  }
  if (before)
    if (std::optional<Error> fault = before(call)) return *std::move(fault);
  auto result = [&] {
    const std::lock_guard lock(state_->mutex);
    return work();
  }();
  state_->changed.notify_all();
  call.executed_ok = result.ok();
  if (after)
    if (std::optional<Error> fault = after(call)) return *std::move(fault);
  return result;
}

void FakeCluster::set_before(FakeFault fault) {
  const std::lock_guard lock(state_->mutex);
  state_->before = std::move(fault);
}
void FakeCluster::set_after(FakeFault fault) {
  const std::lock_guard lock(state_->mutex);
  state_->after = std::move(fault);
}
std::vector<FakeCall> FakeCluster::calls() const {
  const std::lock_guard lock(state_->mutex);
  return state_->calls;
}
std::size_t FakeCluster::count(std::string_view verb) const {
  return static_cast<std::size_t>(std::ranges::count(calls(), verb, &FakeCall::verb));
}
std::size_t FakeCluster::writes() const {
  const std::vector<FakeCall> log = calls();
  return static_cast<std::size_t>(std::ranges::count_if(log, &FakeCall::writes));
}
void FakeCluster::clear_calls() {
  const std::lock_guard lock(state_->mutex);
  state_->calls.clear();
}

void FakeCluster::set_instant_controllers(bool on) {
  const std::lock_guard lock(state_->mutex);
  state_->store.instant_controllers = on;
}
void FakeCluster::set_unreadable(std::function<bool(const Value& live)> unreadable) {
  const std::lock_guard lock(state_->mutex);
  state_->store.unreadable = std::move(unreadable);
}
void FakeCluster::set_establish_crds(bool on) {
  const std::lock_guard lock(state_->mutex);
  state_->store.establish_crds = on;
}
void FakeCluster::set_hold_namespaces(bool on) {
  const std::lock_guard lock(state_->mutex);
  state_->store.hold_namespaces = on;
}

Value FakeCluster::put(Value object, std::string_view manager) {
  auto parsed = apimachinery::Object::from_value(object);
  MIST_CHECK(parsed.ok(), "put() needs a Kubernetes object");
  Value stored;
  {
    const std::lock_guard lock(state_->mutex);
    const FakeKind* kind = state_->store.find_kind(parsed->gvk().group_kind());
    MIST_CHECK(kind != nullptr, "put() of an unknown kind");
    ObjectKey key = parsed->key();
    if (!kind->namespaced) key.ns.clear();
    if (kind->namespaced && key.ns.empty()) key.ns = "default";
    object["metadata"].erase("resourceVersion");
    const FakeStore::Writer writer{.manager = std::string(manager)};
    std::optional<Value> status;
    if (kind->status_subresource && object.find("status") != nullptr) status = *object.find("status");
    auto result = state_->store.find(key) == nullptr
                      ? state_->store.create(*kind, key, std::move(object), writer)
                      : state_->store.update(*kind, key, std::move(object), writer);
    MIST_CHECK(result.ok(), "put() of an object that the server refuses");
    if (status) MIST_CHECK(state_->store.set_status(key, *std::move(status)).ok());
    stored = *state_->store.find(key);
  }
  state_->changed.notify_all();
  return stored;
}

std::optional<Value> FakeCluster::find(const ObjectKey& key) const {
  const std::lock_guard lock(state_->mutex);
  const Value* object = state_->store.find(key);
  return object == nullptr ? std::nullopt : std::optional(*object);
}
std::optional<Value> FakeCluster::find(std::string_view group_kind, std::string_view ns,
                                       std::string_view name) const {
  return find({apimachinery::parse_group_kind(group_kind), std::string(ns), std::string(name)});
}
bool FakeCluster::has(std::string_view group_kind, std::string_view ns, std::string_view name) const {
  return find(group_kind, ns, name).has_value();
}

std::vector<ObjectKey> FakeCluster::objects() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<ObjectKey> keys;
  for (const auto& [key, object] : state_->store.objects()) {
    const bool initial = key.group_kind == apimachinery::kNamespace &&
                         (key.name == "default" || key.name.starts_with("kube-"));
    const bool automatic = (key.group_kind == GroupKind{"", "ServiceAccount"} && key.name == "default") ||
                           (key.group_kind == GroupKind{"", "ConfigMap"} && key.name == "kube-root-ca.crt");
    if (!initial && !automatic) keys.push_back(key);
  }
  return keys;
}

void FakeCluster::set_status(const ObjectKey& key, Value status) {
  {
    const std::lock_guard lock(state_->mutex);
    MIST_CHECK(state_->store.set_status(key, std::move(status)).ok(), "set_status() of a missing object");
  }
  state_->changed.notify_all();
}
void FakeCluster::drop(const ObjectKey& key) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->store.drop(key);
  }
  state_->changed.notify_all();
}
void FakeCluster::establish(const std::string& crd_name) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->store.establish(crd_name);
  }
  state_->changed.notify_all();
}
void FakeCluster::finish_namespaces() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->store.finish_namespaces();
  }
  state_->changed.notify_all();
}
void FakeCluster::register_kind(const ResourceInfo& resource) {
  const std::lock_guard lock(state_->mutex);
  state_->store.register_kind({.kind = resource.gvk.group_kind(),
                               .resource = resource.resource,
                               .versions = {resource.gvk.version},
                               .namespaced = resource.namespaced,
                               .status_subresource = false,
                               .generation = true,
                               .verbs = resource.verbs});
}
void FakeCluster::serve_also(const GroupKind& known, const ResourceInfo& other) {
  register_kind(other);
  const std::lock_guard lock(state_->mutex);
  state_->twins.insert_or_assign(other.gvk.group_kind(), known);
}
void FakeCluster::set_api_down(std::string group, DownKinds kinds) {
  const std::lock_guard lock(state_->mutex);
  state_->down = std::move(group);
  state_->down_kinds = kinds;
}
void FakeCluster::invalidate_discovery() {
  const std::lock_guard lock(state_->mutex);
  state_->remembered.clear();
}
void FakeCluster::freeze_discovery() {
  const std::lock_guard lock(state_->mutex);
  for (const auto& [name, kind] : state_->store.kinds()) state_->remembered.insert_or_assign(kind.kind, kind);
}
void FakeCluster::set_schemas(const std::string& group, const std::string& version, Value schemas) {
  const std::lock_guard lock(state_->mutex);
  state_->schemas[{group, version}] = std::make_shared<const Value>(std::move(schemas));
}
void FakeCluster::forget_history() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->store.forget_history();
  }
  state_->changed.notify_all();
}
void FakeCluster::set_now(std::function<WallTime()> now) {
  const std::lock_guard lock(state_->mutex);
  state_->store.now = std::move(now);
}
Value FakeCluster::saved() const {
  const std::lock_guard lock(state_->mutex);
  return state_->store.saved();
}
void FakeCluster::restore(const Value& saved) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->store.restore(saved);
  }
  state_->changed.notify_all();
}

Result<ResourceInfo> FakeCluster::resource_for(const GroupKind& kind, const std::string& version,
                                               const Context& context) {
  MIST_TRY_VOID(context.check());
  std::unique_lock lock(state_->mutex);
  if (state_->has_lost(kind)) {
    lock.unlock();
    return perform({.verb = "discovery", .key = {kind, "", ""}}, context, [&]() -> Result<ResourceInfo> {
      return kube::api_down(kind, (version.empty() ? "v1" : version) + "." + kind.group,
                            "FailedDiscoveryCheck: failing or missing response", kubectl());
    });
  }
  const auto remembered = state_->remembered.find(kind);
  const FakeKind* known =
      remembered != state_->remembered.end() ? &remembered->second : state_->store.find_kind(kind);
  if (known == nullptr || known->versions.empty())
    return error(ErrorKind::NotFound, "the cluster has no kind {}", apimachinery::to_string(kind));
  if (!version.empty() && std::ranges::find(known->versions, version) == known->versions.end())
    return error(ErrorKind::NotFound, "the cluster doesn't serve {} in version {}",
                 apimachinery::to_string(kind), version);
  return known->info(version.empty() ? known->versions.front() : version);
}

Result<std::vector<ResourceInfo>> FakeCluster::all_resources(const Context& context) {
  MIST_TRY_VOID(context.check());
  const std::lock_guard lock(state_->mutex);
  std::vector<ResourceInfo> all;
  for (const auto& [name, kind] : state_->store.kinds())
    if (!kind.versions.empty() && !state_->has_lost(kind.kind))
      all.push_back(kind.info(kind.versions.front()));
  return all;
}

Result<kube::ServedApis> FakeCluster::served_apis(const Context& context) {
  MIST_TRY_VOID(context.check());
  const std::lock_guard lock(state_->mutex);
  std::set<std::string> group_versions, kinds;
  for (const auto& [name, kind] : state_->store.kinds()) {
    for (const std::string& version : kind.versions) {
      const std::string group_version = kind.info(version).gvk.api_version();
      group_versions.insert(group_version);
      kinds.insert(group_version + "/" + kind.kind.kind);
    }
  }
  return kube::ServedApis{{group_versions.begin(), group_versions.end()}, {kinds.begin(), kinds.end()}};
}

Result<std::vector<kube::DownApi>> FakeCluster::apis_down(const Context& context) {
  MIST_TRY_VOID(context.check());
  const std::lock_guard lock(state_->mutex);
  if (state_->down.empty()) return std::vector<kube::DownApi>();
  return std::vector<kube::DownApi>{
      {state_->down, "v1", "FailedDiscoveryCheck: failing or missing response"}};
}

Result<std::shared_ptr<const Value>> FakeCluster::schemas_of(const std::string& group,
                                                             const std::string& version, kube::SchemaAge age,
                                                             const Context&) {
  const std::lock_guard lock(state_->mutex);
  const auto served = state_->schemas.find({group, version});
  if (served == state_->schemas.end()) return std::shared_ptr<const Value>();
  const auto [kept, fresh] = state_->kept_schemas.try_emplace(served->first, served->second);
  if (age == kube::SchemaAge::Current) kept->second = served->second;
  return kept->second;
}

Result<Value> FakeCluster::server_version(const Context& context) {
  return perform({.verb = "version"}, context, [&]() -> Result<Value> {
    return Value::object({{"major", "1"}, {"minor", "36"}, {"gitVersion", "v1.36.0"}});
  });
}

Result<Value> FakeCluster::get(const ObjectRef& ref, const Context& context) {
  const ObjectKey key = key_of(ref);
  return perform({.verb = "get", .key = key}, context, [&]() -> Result<Value> {
    MIST_TRY(const FakeKind* kind, served_kind(ref.resource, "get", key));
    const Value* object = state_->store.find(state_->stored(key));
    if (object == nullptr)
      return fake_answer(ErrorKind::NotFound, "get", key,
                         fmt::format("{}{}{} \"{}\" not found", kind->resource,
                                     kind->kind.group.empty() ? "" : ".", kind->kind.group, key.name));
    return in_version(*object, ref.resource);
  });
}

Result<kube::ObjectList> FakeCluster::list(const ResourceInfo& resource, const ListOptions& options,
                                           const Context& context) {
  const ObjectKey key{resource.gvk.group_kind(), resource.namespaced ? options.ns : "", ""};
  return perform({.verb = "list",
                  .key = key,
                  .version = resource.gvk.version,
                  .label_selector = options.label_selector,
                  .metadata_only = options.metadata_only},
                 context, [&]() -> Result<kube::ObjectList> {
                   MIST_TRY(const FakeKind* kind, served_kind(resource, "list", key));
                   kube::ObjectList found;
                   found.resource_version = std::to_string(state_->store.version());
                   ResourceInfo stored = resource;
                   stored.gvk.group = state_->storage(*kind).kind.group;
                   for (const auto& [at, object] : state_->store.objects()) {
                     MIST_TRY(const bool wanted, selected(at, object, stored, options));
                     if (!wanted) continue;
                     if (options.most > 0 && found.items.size() == options.most) break;
                     found.items.push_back(shaped(object, resource, options));
                   }
                   return found;
                 });
}

Result<Value> FakeCluster::create(const ResourceInfo& resource, const std::string& ns, const Value& object,
                                  const Context& context, kube::DryRun dry_run) {
  const ObjectKey key = key_of({resource, ns, std::string(object.string_at({"metadata", "name"}))});
  const bool dry = dry_run == kube::DryRun::Server;
  return perform({.verb = "create", .key = key, .dry_run = dry}, context, [&]() -> Result<Value> {
    // Reviews are answered, not stored: the user "viewer" may read, but no logs; all others may do
    // everything.
    if (resource.gvk.group_kind() == kube::GroupKind{"authorization.k8s.io", "SelfSubjectAccessReview"}) {
      const auto text = [&](std::string_view name) {
        return object.string_at({"spec", "resourceAttributes", name});
      };
      const bool reads = text("verb") == "get" || text("verb") == "list" || text("verb") == "watch";
      Value answer = object;
      answer.set("status",
                 Value::object({{"allowed", user_ != "viewer" || (reads && text("subresource").empty())}}));
      return answer;
    }
    MIST_TRY(const FakeKind* kind, served_kind(resource, "create", key));
    MIST_TRY(Value stored,
             state_->store.create(state_->storage(*kind), state_->stored(key), state_->body(object, *kind),
                                  {.manager = user_, .dry_run = dry}));
    return in_version(std::move(stored), resource);
  });
}

Result<Value> FakeCluster::update(const ObjectRef& ref, const Value& object, const Context& context) {
  const ObjectKey key = key_of(ref);
  return perform({.verb = "update", .key = key}, context, [&]() -> Result<Value> {
    MIST_TRY(const FakeKind* kind, served_kind(ref.resource, "update", key));
    MIST_TRY(Value stored, state_->store.update(state_->storage(*kind), state_->stored(key),
                                                state_->body(object, *kind), {.manager = user_}));
    return in_version(std::move(stored), ref.resource);
  });
}

Result<Value> FakeCluster::apply(const ObjectRef& ref, const Value& object, const kube::ApplyOptions& options,
                                 const Context& context) {
  const ObjectKey key = key_of(ref);
  const bool dry_run = options.dry_run == kube::DryRun::Server;
  return perform({.verb = "apply", .key = key, .field_manager = options.field_manager, .dry_run = dry_run},
                 context, [&]() -> Result<Value> {
                   MIST_TRY(const FakeKind* kind, served_kind(ref.resource, "apply", key));
                   MIST_TRY(Value stored, state_->store.apply(state_->storage(*kind), state_->stored(key),
                                                              state_->body(object, *kind),
                                                              {.manager = options.field_manager,
                                                               .operation = "Apply",
                                                               .force = options.force,
                                                               .dry_run = dry_run,
                                                               .subresource = options.subresource}));
                   return state_->twins.empty() ? stored : in_version(std::move(stored), ref.resource);
                 });
}

Result<Value> FakeCluster::merge_patch(const ObjectRef& ref, const Value& patch, const Context& context,
                                       kube::DryRun dry_run, const std::string& subresource) {
  const ObjectKey key = key_of(ref);
  const bool dry = dry_run == kube::DryRun::Server;
  return perform({.verb = "patch", .key = key, .dry_run = dry}, context, [&]() -> Result<Value> {
    MIST_TRY(const FakeKind* kind, served_kind(ref.resource, "patch", key));
    if (subresource == "status")
      return state_->store.patch_status(state_->storage(*kind), state_->stored(key), patch,
                                        {.manager = user_, .dry_run = dry});
    return state_->store.merge_patch(state_->storage(*kind), state_->stored(key), patch,
                                     {.manager = user_, .dry_run = dry});
  });
}

Result<Value> FakeCluster::remove(const ObjectRef& ref, const kube::DeleteOptions& options,
                                  const Context& context) {
  const ObjectKey key = key_of(ref);
  return perform({.verb = "delete", .key = key, .dry_run = options.dry_run == kube::DryRun::Server}, context,
                 [&]() -> Result<Value> {
                   MIST_TRY(const FakeKind* kind, served_kind(ref.resource, "delete", key));
                   return state_->store.remove(state_->storage(*kind), state_->stored(key), options);
                 });
}

Status FakeCluster::watch(const ResourceInfo& resource, const ListOptions& options,
                          const kube::WatchHandler& handler, const Context& context) {
  std::map<ObjectKey, Value> known;  // what the handler was told of
  std::uint64_t version = 0;
  bool listing = true;
  while (true) {
    MIST_TRY_VOID(context.check());
    std::vector<WatchEvent> events;
    if (listing) {
      MIST_TRY(const kube::ObjectList all, list(resource, options, context));
      std::map<ObjectKey, Value> present;
      for (const Value& item : all.items) {
        MIST_TRY(const apimachinery::Object object, apimachinery::Object::from_value(item));
        events.push_back({WatchEventType::Added, item});
        present[object.key()] = item;
      }
      for (auto& [key, object] : known) {
        if (present.contains(key)) continue;
        object["metadata"].set("resourceVersion", all.resource_version);
        events.push_back({WatchEventType::Deleted, object});
      }
      Value complete =
          Value::object({{"apiVersion", resource.gvk.api_version()}, {"kind", resource.gvk.kind}});
      complete["metadata"].set("resourceVersion", all.resource_version);
      events.push_back({WatchEventType::Bookmark, std::move(complete)});
      known = std::move(present);
      version = std::stoull(all.resource_version);
      listing = false;
      const ObjectKey key{resource.gvk.group_kind(), resource.namespaced ? options.ns : "", ""};
      MIST_TRY_VOID(perform({.verb = "watch",
                             .key = key,
                             .label_selector = options.label_selector,
                             .metadata_only = options.metadata_only},
                            context, [&]() -> Status { return {}; }));
    } else {
      std::unique_lock lock(state_->mutex);
      constexpr Duration kLook = std::chrono::milliseconds(100);
      state_->changed.wait_for(lock, context.stop(), std::min(context.remaining().value_or(kLook), kLook),
                               [&] { return state_->store.version() > version; });
      if (version < state_->store.oldest_version()) {
        listing = true;  // 410 Gone
        continue;
      }
      for (const FakeChange& change : state_->store.history()) {
        if (change.version <= version) continue;
        MIST_TRY(bool wanted, selected(change.key, change.object, resource, options));
        wanted = wanted && change.type != WatchEventType::Deleted;
        const bool was_known = known.contains(change.key);
        if (!wanted && !was_known) continue;
        Value object = shaped(change.object, resource, options);
        const WatchEventType type = !wanted     ? WatchEventType::Deleted
                                    : was_known ? WatchEventType::Modified
                                                : WatchEventType::Added;
        if (wanted)
          known[change.key] = object;
        else
          known.erase(change.key);
        events.push_back({type, std::move(object)});
      }
      version = state_->store.version();
    }
    for (const WatchEvent& event : events)
      if (!handler(event)) return {};
  }
}

}  // namespace mist::testing
