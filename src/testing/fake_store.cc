#include "testing/fake_store.h"

#include <algorithm>
#include <set>

#include "apimachinery/object.h"
#include "base/text.h"
#include "testing/api_refusal.h"
#include "testing/fake_kinds.h"
#include "testing/managed_fields.h"

namespace mist::testing {
namespace {

using kube::Propagation;
using kube::WatchEventType;

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::size_t kMaxSecretSize = std::size_t{1} << 20;  // k8s.io/kubernetes/pkg/apis/core

void strip_nulls(Value& value) {
  if (value.is_array()) std::ranges::for_each(value.as_array(), strip_nulls);
  if (!value.is_object()) return;
  std::erase_if(value.as_object(), [](const Value::Member& member) { return member.value.is_null(); });
  for (Value::Member& member : value.as_object()) strip_nulls(member.value);
}

// RFC 7386.
void patch_value(Value& target, const Value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = Value::object();
  for (const Value::Member& member : patch.as_object()) {
    if (member.value.is_null())
      target.erase(member.key);
    else
      patch_value(target[member.key], member.value);
  }
}

// stringData is write-only: the server moves it into data.
void encode_string_data(Value& object) {
  if (object.string_at("kind") != "Secret" || object.string_at("apiVersion") != "v1") return;
  if (const Value* plain = object.find("stringData"); plain != nullptr && plain->is_object()) {
    for (const Value::Member& member : plain->as_object())
      if (member.value.is_string()) object["data"].set(member.key, base64_encode(member.value.as_string()));
    object.erase("stringData");
  }
  if (object.find("type") == nullptr) object.set("type", "Opaque");
}

bool terminating(const Value& object) { return !object.string_at({"metadata", "deletionTimestamp"}).empty(); }

bool owned_by(const Value& object, std::string_view uid) {
  const Value* owners = object.at_path({"metadata", "ownerReferences"});
  return owners != nullptr && owners->is_array() &&
         std::ranges::any_of(owners->as_array(), [&](const Value& o) { return o.string_at("uid") == uid; });
}

std::string qualified(const FakeKind& kind, std::string_view name) {
  return fmt::format("{}{}{} \"{}\"", kind.resource, kind.kind.group.empty() ? "" : ".", kind.kind.group,
                     name);
}

// The part of an object that counts when its status is written.
Value status_alone(const Value& object) {
  Value part = Value::object();
  for (const std::string_view field : {"apiVersion", "kind", "status"})
    if (const Value* there = object.find(field)) part.set(field, *there);
  for (const std::string_view field : {"name", "namespace"})
    if (const Value* there = object.at_path({"metadata", field})) part["metadata"].set(field, *there);
  return part;
}

Value without_metadata_and_status(Value object) {
  object.erase("metadata");
  object.erase("status");
  object.erase("apiVersion");
  return object;
}

}  // namespace

Error fake_answer(ErrorKind kind, std::string_view verb, const ObjectKey& key, std::string words,
                  const std::vector<kube::ApiFailure::Cause>& causes) {
  return api_refusal(kind, fmt::format("cannot {} {}", verb, key.display()), std::move(words), causes);
}

ResourceInfo FakeKind::info(const std::string& version) const {
  ResourceInfo info;
  info.gvk = {kind.group, version, kind.kind};
  info.resource = resource;
  info.namespaced = namespaced;
  info.verbs = verbs;
  if (verbs.empty())
    info.verbs = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  info.has_status = status_subresource;
  return info;
}

FakeStore::FakeStore() {
  for (FakeKind& kind : built_in_kinds()) register_kind(std::move(kind));
  for (const std::string_view name : {"default", "kube-node-lease", "kube-public", "kube-system"}) {
    const ObjectKey key{{"", "Namespace"}, "", std::string(name)};
    Value object = Value::object(
        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Value::object({{"name", name}})}});
    MIST_CHECK(
        create(*find_kind(key.group_kind), key, std::move(object), {.manager = "kube-apiserver"}).ok());
  }
}

const FakeKind* FakeStore::find_kind(const GroupKind& kind) const {
  const auto found = kinds_.find(kind);
  return found == kinds_.end() ? nullptr : &found->second;
}

void FakeStore::register_kind(FakeKind kind) { kinds_[kind.kind] = std::move(kind); }

const Value* FakeStore::find(const ObjectKey& key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : &found->second;
}

void FakeStore::forget_history() {
  history_.clear();
  oldest_version_ = ++version_;
}

Value FakeStore::saved() const {
  Value objects = Value::array();
  for (const auto& [key, object] : objects_) objects.push_back(object);
  return Value::object({{"version", static_cast<std::int64_t>(version_)},
                        {"uids", static_cast<std::int64_t>(uids_)},
                        {"objects", std::move(objects)}});
}

void FakeStore::restore(const Value& saved) {
  objects_.clear();
  history_.clear();
  version_ = oldest_version_ = static_cast<std::uint64_t>(saved.find("version")->as_int());
  uids_ = static_cast<std::uint64_t>(saved.find("uids")->as_int());
  for (const Value& value : saved.find("objects")->as_array()) {
    const auto object = apimachinery::Object::from_value(value);
    MIST_CHECK(object.ok(), "not an object that was saved");
    if (object->key().group_kind == apimachinery::kCustomResourceDefinition)
      register_kind(kind_of_crd(value));
    objects_[object->key()] = value;
  }
}

std::string FakeStore::timestamp() const {
  if (now) return format_time(now());
  return format_time(WallTime(std::chrono::seconds(1'767'225'600 + static_cast<std::int64_t>(version_))));
}

Status FakeStore::check_body(const FakeKind& kind, const ObjectKey& key, Value& object) const {
  const auto refuse = [&](std::string words) {
    return fake_answer(ErrorKind::Invalid, "write", key, std::move(words));
  };
  const auto gvk =
      apimachinery::GroupVersionKind::parse(object.string_at("apiVersion"), object.string_at("kind"));
  if (!gvk) return refuse("Object 'Kind' or 'apiVersion' is missing");
  if (gvk->group_kind() != kind.kind || std::ranges::find(kind.versions, gvk->version) == kind.versions.end())
    return refuse(fmt::format("{}, Kind={} in the data does not match the resource {}", gvk->api_version(),
                              gvk->kind, kind.resource));
  const std::string_view name = object.string_at({"metadata", "name"});
  if (name != key.name)
    return refuse(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name, key.name));
  const std::string_view ns = object.string_at({"metadata", "namespace"});
  if (!ns.empty() && ns != key.ns)
    return refuse("the namespace of the provided object does not match the namespace sent on the request");
  if (kind.kind.group != "rbac.authorization.k8s.io" && !is_dns1123_subdomain(name))
    return refuse(
        fmt::format("{} \"{}\" is invalid: metadata.name: Invalid value: \"{}\": a lowercase RFC 1123 "
                    "subdomain must consist of lower case alphanumeric characters, '-' or '.'",
                    kind.kind.kind, name, name));
  if (kind.namespaced) object["metadata"].set("namespace", key.ns);
  return {};
}

Status FakeStore::check_namespace(const FakeKind& kind, const ObjectKey& key) const {
  if (!kind.namespaced) return {};
  const Value* ns = find({{"", "Namespace"}, "", key.ns});
  if (ns == nullptr)
    return fake_answer(ErrorKind::NotFound, "create", key,
                       fmt::format("namespaces \"{}\" not found", key.ns));
  if (terminating(*ns))
    return fake_answer(
        ErrorKind::Forbidden, "create", key,
        fmt::format("{} is forbidden: unable to create new content in namespace {} because it is "
                    "being terminated",
                    qualified(kind, key.name), key.ns));
  return {};
}

// ValidateSecret and ValidateConfigMap: the values of all keys together, as bytes rather than as base64.
Status FakeStore::check_size(const ObjectKey& key, const Value& object) const {
  const bool secret = key.group_kind == apimachinery::kSecret;
  if (!secret && key.group_kind != GroupKind{"", "ConfigMap"}) return {};
  std::size_t size = 0;
  for (const std::string_view field : {"data", "binaryData"}) {
    const Value* data = object.find(field);
    if (data == nullptr || !data->is_object()) continue;
    for (const Value::Member& member : data->as_object()) {
      if (!member.value.is_string()) continue;
      const std::string& text = member.value.as_string();
      std::string bytes;
      const bool encoded = secret || field == "binaryData";
      if (encoded && !base64_decode(text, bytes))
        return fake_answer(ErrorKind::Invalid, "write", key,
                           fmt::format("{}[{}]: illegal base64 data", field, member.key));
      size += encoded ? bytes.size() : text.size();
    }
  }
  if (size <= kMaxSecretSize) return {};
  return fake_answer(ErrorKind::Invalid, "write", key,
                     fmt::format("{} \"{}\" is invalid: {}: Too long: may not be more than {} bytes",
                                 key.group_kind.kind, key.name, secret ? "data" : "[]", kMaxSecretSize));
}

Status FakeStore::check_preconditions(const FakeKind& kind, const ObjectKey& key, const Value* live,
                                      const Value& object) const {
  const std::string_view version = object.string_at({"metadata", "resourceVersion"});
  const std::string_view uid = object.string_at({"metadata", "uid"});
  const std::string head = fmt::format("Operation cannot be fulfilled on {}: ", qualified(kind, key.name));
  if (live == nullptr) {
    if (uid.empty()) return {};
    return fake_answer(
        ErrorKind::Conflict, "apply", key,
        head + fmt::format("uid mismatch: the provided object specified uid {}, and no existing object "
                           "was found",
                           uid));
  }
  if (!uid.empty() && uid != live->string_at({"metadata", "uid"}))
    return fake_answer(
        ErrorKind::Conflict, "write", key,
        fmt::format("{} \"{}\" is invalid: metadata.uid: Invalid value: \"{}\": field is immutable",
                    kind.kind.kind, key.name, uid),
        {{"FieldValueInvalid", "metadata.uid"}});
  if (!version.empty() && version != live->string_at({"metadata", "resourceVersion"}))
    return fake_answer(
        ErrorKind::Conflict, "write", key,
        head +
            "the object has been modified; please apply your changes to the latest version and try "
            "again");
  return {};
}

Result<Value> FakeStore::create(const FakeKind& kind, const ObjectKey& key, Value object,
                                const Writer& writer) {
  MIST_TRY_VOID(check_body(kind, key, object));
  MIST_TRY_VOID(check_namespace(kind, key));
  if (!object.string_at({"metadata", "resourceVersion"}).empty())
    return fake_answer(ErrorKind::Invalid, "create", key,
                       "resourceVersion should not be set on objects to be created");
  if (find(key) != nullptr)
    return fake_answer(ErrorKind::Conflict, "create", key, qualified(kind, key.name) + " already exists");
  strip_nulls(object);
  object["metadata"].erase("managedFields");
  Value nothing = Value::object();
  if (kind.status_subresource) object.erase("status");
  take_ownership(nothing, object, writer.manager, "", timestamp());
  return commit_new(kind, key, std::move(object), writer);
}

Result<Value> FakeStore::update(const FakeKind& kind, const ObjectKey& key, Value object,
                                const Writer& writer) {
  MIST_TRY_VOID(check_body(kind, key, object));
  const Value* live = find(key);
  if (live == nullptr)
    return fake_answer(ErrorKind::NotFound, "update", key, qualified(kind, key.name) + " not found");
  MIST_TRY_VOID(check_preconditions(kind, key, live, object));
  strip_nulls(object);
  if (kind.status_subresource) {
    object.erase("status");
    if (const Value* status = live->find("status")) object.set("status", *status);
  }
  // managedFields in a request name the owners before this write; without any they stay as they are.
  Value before = *live;
  const auto given = managers_of(object);
  if (!given.empty()) set_managers(before, given);
  const bool forgets = given.size() == 1 && given[0].name.empty();  // managedFields: [{}]
  if (forgets || is_unreadable(*live))
    object["metadata"].erase("managedFields");
  else
    take_ownership(before, object, writer.manager, "", timestamp());
  return commit_change(kind, key, std::move(object), writer.dry_run);
}

// The object as the patch makes it.
Result<Value> FakeStore::patched(const FakeKind& kind, const ObjectKey& key, const Value& patch) const {
  const Value* live = find(key);
  if (live == nullptr)
    return fake_answer(ErrorKind::NotFound, "patch", key, qualified(kind, key.name) + " not found");
  MIST_TRY_VOID(check_preconditions(kind, key, live, patch));
  Value object = *live;
  patch_value(object, patch);
  return object;
}

Result<Value> FakeStore::merge_patch(const FakeKind& kind, const ObjectKey& key, const Value& patch,
                                     const Writer& writer) {
  MIST_TRY(Value object, patched(kind, key, patch));
  object["metadata"].erase("resourceVersion");
  return update(kind, key, std::move(object), writer);
}

Result<Value> FakeStore::patch_status(const FakeKind& kind, const ObjectKey& key, const Value& patch,
                                      const Writer& writer) {
  MIST_TRY(const Value whole, patched(kind, key, patch));
  const Value* live = find(key);
  Value object = *live;
  object.erase("status");
  if (const Value* status = whole.find("status")) object.set("status", *status);
  if (is_unreadable(*live))
    object["metadata"].erase("managedFields");
  else
    take_ownership(*live, object, writer.manager, "status", timestamp());
  return commit_change(kind, key, std::move(object), writer.dry_run);
}

Result<Value> FakeStore::apply(const FakeKind& kind, const ObjectKey& key, Value object,
                               const Writer& writer) {
  strip_nulls(object);
  MIST_TRY_VOID(check_body(kind, key, object));
  if (object.at_path({"metadata", "managedFields"}) != nullptr)
    return fake_answer(ErrorKind::Invalid, "apply", key, "metadata.managedFields must be nil");
  const Value* live = find(key);
  MIST_TRY_VOID(check_preconditions(kind, key, live, object));
  if (live != nullptr && is_unreadable(*live))
    return fake_answer(ErrorKind::Invalid, "apply", key,
                       "failed to create typed live object: .status: it doesn't have the type of the schema");
  const bool is_of_status = writer.subresource == "status";
  if (is_of_status && live == nullptr)
    return fake_answer(ErrorKind::NotFound, "apply", key, qualified(kind, key.name) + " not found");
  if (is_of_status)
    object = status_alone(object);
  else if (kind.status_subresource)
    object.erase("status");
  for (const std::string_view field : {"resourceVersion", "uid", "generation", "creationTimestamp"})
    object["metadata"].erase(field);

  const std::string api_version(object.string_at("apiVersion"));
  const FieldSet applied = fields_of(object);
  if (live == nullptr) {
    MIST_TRY_VOID(check_namespace(kind, key));
    set_managers(object, {{writer.manager, "Apply", api_version, timestamp(), "", applied}});
    return commit_new(kind, key, std::move(object), writer);
  }

  Value merged = *live;
  merge_applied(merged, object);
  const FieldChanges changes = compare_fields(*live, merged);
  std::vector<Manager> managers = managers_of(*live);
  if (managers.empty()) {
    // Fields that nobody owns belong to a manager of the server's from the first apply on.
    Value owned = *live;
    take_ownership(Value::object(), owned, "before-first-apply", "", timestamp());
    managers = managers_of(owned);
  }
  Manager& own = manager_named(managers, writer.manager, "Apply", writer.subresource);
  std::vector<std::pair<const Manager*, FieldSet>> conflicts;
  FieldSet kept = applied;
  for (Manager& other : managers) {
    if (&other == &own) continue;
    FieldSet taken = intersection(other.fields, changes.written);
    if (!taken.empty() && writer.force)
      other.fields = difference(other.fields, taken);
    else if (!taken.empty())
      conflicts.emplace_back(&other, std::move(taken));
    add(kept, other.fields);
  }
  if (!conflicts.empty())
    return fake_answer(ErrorKind::Conflict, "apply", key, conflict_words(conflicts),
                       conflict_causes(conflicts));

  remove_fields(merged, difference(own.fields, applied), kept);
  if (own.fields != applied || own.api_version != api_version || !changes.written.empty())
    own.time = timestamp();
  own.fields = applied;
  own.api_version = api_version;
  set_managers(merged, managers);
  return commit_change(kind, key, std::move(merged), writer.dry_run);
}

Result<Value> FakeStore::commit_new(const FakeKind& kind, const ObjectKey& key, Value object,
                                    const Writer& writer) {
  Value& metadata = object["metadata"];
  metadata.set("uid", fmt::format("00000000-0000-4000-8000-{:012x}", ++uids_));
  metadata.set("creationTimestamp", timestamp());
  metadata.erase("deletionTimestamp");
  if (kind.generation) metadata.set("generation", 1);
  encode_string_data(object);
  MIST_TRY_VOID(check_size(key, object));
  if (key.group_kind == apimachinery::kNamespace) {
    metadata["labels"].set("kubernetes.io/metadata.name", key.name);
    object["spec"].set("finalizers", Value::array({"kubernetes"}));
    object["status"].set("phase", "Active");
  }
  if (writer.dry_run) return object;
  store(key, std::move(object), WatchEventType::Added);
  after_write(kind, key);
  const Value* stored = find(key);
  MIST_CHECK(stored != nullptr);
  return *stored;
}

Result<Value> FakeStore::commit_change(const FakeKind& kind, const ObjectKey& key, Value object,
                                       bool dry_run) {
  const Value live = *find(key);
  Value& metadata = object["metadata"];
  for (const std::string_view field : {"uid", "creationTimestamp", "deletionTimestamp",
                                       "deletionGracePeriodSeconds", "generation", "resourceVersion"}) {
    if (const Value* old = live.at_path({"metadata", field}))
      metadata.set(field, *old);
    else
      metadata.erase(field);
  }
  encode_string_data(object);
  MIST_TRY_VOID(check_size(key, object));
  if (kind.generation && without_metadata_and_status(live) != without_metadata_and_status(object))
    metadata.set("generation", live.at_path({"metadata", "generation"})->as_int() + 1);
  if (object == live || dry_run) return object;
  if (terminating(object) && !apimachinery::has_finalizers(object)) {
    store(key, object, WatchEventType::Modified);
    erase(key);
    return object;
  }
  store(key, std::move(object), WatchEventType::Modified);
  after_write(kind, key);
  const Value* stored = find(key);
  MIST_CHECK(stored != nullptr);
  return *stored;
}

void FakeStore::store(const ObjectKey& key, Value object, WatchEventType type) {
  object["metadata"].set("resourceVersion", std::to_string(++version_));
  history_.push_back({version_, type, key, object});
  objects_[key] = std::move(object);
}

void FakeStore::after_write(const FakeKind&, const ObjectKey& key) {
  if (key.group_kind == apimachinery::kNamespace && !terminating(*find(key))) {
    const auto make = [&](std::string_view kind, std::string_view name) {
      const ObjectKey inside{{"", std::string(kind)}, key.name, std::string(name)};
      if (find(inside) != nullptr) return;
      Value object = Value::object(
          {{"apiVersion", "v1"}, {"kind", kind}, {"metadata", Value::object({{"name", name}})}});
      MIST_CHECK(create(*find_kind(inside.group_kind), inside, std::move(object),
                        {.manager = "kube-controller-manager"})
                     .ok());
    };
    make("ServiceAccount", "default");
    make("ConfigMap", "kube-root-ca.crt");
  }
  if (key.group_kind.kind == "CustomResourceDefinition" && establish_crds) establish(key.name);
  if (instant_controllers) run_controllers(key);
}

void FakeStore::establish(const std::string& crd_name) {
  const ObjectKey key{apimachinery::kCustomResourceDefinition, "", crd_name};
  const Value* crd = find(key);
  MIST_CHECK(crd != nullptr, "no such CRD");
  register_kind(kind_of_crd(*crd));
  Value status = Value::object();
  status["acceptedNames"] = *crd->at_path({"spec", "names"});
  status["conditions"] = Value::array({Value::object({{"type", "NamesAccepted"}, {"status", "True"}}),
                                       Value::object({{"type", "Established"}, {"status", "True"}})});
  MIST_CHECK(set_status(key, std::move(status)).ok());
}

void FakeStore::run_controllers(const ObjectKey& key) {
  if (Value status = ready_status(*find(key)); !status.is_null())
    MIST_CHECK(set_status(key, std::move(status)).ok());
}

Status FakeStore::set_status(const ObjectKey& key, Value status) {
  const Value* live = find(key);
  if (live == nullptr) return fake_answer(ErrorKind::NotFound, "update", key, "not found");
  Value object = *live;
  object.set("status", std::move(status));
  if (object == *live) return {};
  take_ownership(*live, object, "controller", "status", timestamp());
  store(key, std::move(object), WatchEventType::Modified);
  return {};
}

Result<Value> FakeStore::remove(const FakeKind& kind, const ObjectKey& key,
                                const kube::DeleteOptions& options) {
  const Value* live = find(key);
  if (live == nullptr)
    return fake_answer(ErrorKind::NotFound, "delete", key, qualified(kind, key.name) + " not found");
  const auto differs = [&](std::string_view what, std::string_view wanted, std::string_view actual) {
    return fake_answer(
        ErrorKind::Conflict, "delete", key,
        fmt::format("Operation cannot be fulfilled on {}: the {} in the precondition ({}) does not "
                    "match the {} in record ({}). The object might have been deleted and then recreated",
                    qualified(kind, key.name), what, wanted, what, actual));
  };
  const std::string uid(live->string_at({"metadata", "uid"}));
  if (!options.uid.empty() && options.uid != uid) return differs("UID", options.uid, uid);
  const std::string_view version = live->string_at({"metadata", "resourceVersion"});
  if (!options.resource_version.empty() && options.resource_version != version)
    return differs("ResourceVersion", options.resource_version, version);

  Value done = Value::object({{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Success"}});
  done["details"] = Value::object({{"name", key.name}, {"kind", kind.resource}, {"uid", uid}});
  if (options.dry_run == kube::DryRun::Server) return done;
  if (terminating(*live)) return *live;

  Value object = *live;
  const bool is_namespace = key.group_kind == apimachinery::kNamespace;
  const bool is_crd = key.group_kind == apimachinery::kCustomResourceDefinition;
  if (options.propagation == Propagation::Foreground) object["metadata"]["finalizers"].push_back(kForeground);
  if (options.propagation == Propagation::Orphan) collect_dependents(uid, Propagation::Orphan);
  if (is_namespace) object["status"].set("phase", "Terminating");
  if (is_namespace || is_crd || apimachinery::has_finalizers(object)) {
    mark_terminating(object);
    store(key, object, WatchEventType::Modified);
  }
  if (is_namespace || is_crd) {
    std::vector<ObjectKey> contents;
    const GroupKind instances = is_crd ? kind_of_crd(object).kind : GroupKind{};
    for (const auto& [other, value] : objects_)
      if (is_namespace ? other.ns == key.name : other.group_kind == instances) contents.push_back(other);
    for (const ObjectKey& inside : contents)
      if (find(inside) != nullptr) (void)remove(*find_kind(inside.group_kind), inside, {});
    if (is_crd && !apimachinery::has_finalizers(object) && find(key) != nullptr) {
      kinds_.erase(instances);
      erase(key);
    }
    if (is_namespace && !hold_namespaces) finish_namespace(key.name);
    if (const Value* left = find(key)) return *left;
    return done;
  }
  if (options.propagation == Propagation::Foreground) {
    collect_dependents(uid, Propagation::Background);
    if (const Value* left = find(key)) {
      const bool blocked =
          std::ranges::any_of(objects_, [&](const auto& entry) { return owned_by(entry.second, uid); });
      if (!blocked) {
        Value released = *left;
        std::erase(released["metadata"]["finalizers"].as_array(), Value(kForeground));
        if (!apimachinery::has_finalizers(released)) released["metadata"].erase("finalizers");
        (void)commit_change(kind, key, std::move(released), false);
      }
    }
    return object;
  }
  if (apimachinery::has_finalizers(object)) return *find(key);
  erase(key);
  return done;
}

void FakeStore::mark_terminating(Value& object) {
  object["metadata"].set("deletionTimestamp", timestamp());
  object["metadata"].set("deletionGracePeriodSeconds", 0);
}

void FakeStore::drop(const ObjectKey& key) {
  if (find(key) == nullptr) return;
  Value object = *find(key);
  object["metadata"].set("resourceVersion", std::to_string(++version_));
  history_.push_back({version_, WatchEventType::Deleted, key, std::move(object)});
  objects_.erase(key);
}

void FakeStore::erase(const ObjectKey& key) {
  Value object = *find(key);
  objects_.erase(key);
  object["metadata"].set("resourceVersion", std::to_string(++version_));
  const std::string uid(object.string_at({"metadata", "uid"}));
  history_.push_back({version_, WatchEventType::Deleted, key, std::move(object)});
  collect_dependents(uid, Propagation::Background);

  // An owner that waits for its last dependent may go now.
  std::vector<ObjectKey> waiting;
  for (const auto& [other, value] : objects_) {
    const Value* finalizers = value.at_path({"metadata", "finalizers"});
    if (!terminating(value) || finalizers == nullptr) continue;
    if (std::ranges::find(finalizers->as_array(), Value(kForeground)) == finalizers->as_array().end())
      continue;
    const std::string_view owner = value.string_at({"metadata", "uid"});
    if (std::ranges::none_of(objects_, [&](const auto& entry) { return owned_by(entry.second, owner); }))
      waiting.push_back(other);
  }
  for (const ObjectKey& other : waiting) {
    if (find(other) == nullptr) continue;
    Value released = *find(other);
    std::erase(released["metadata"]["finalizers"].as_array(), Value(kForeground));
    (void)commit_change(*find_kind(other.group_kind), other, std::move(released), false);
  }
  if (!key.ns.empty() && !hold_namespaces) finish_namespace(key.ns);
}

void FakeStore::collect_dependents(const std::string& owner_uid, Propagation propagation) {
  std::vector<ObjectKey> dependents;
  for (const auto& [key, value] : objects_)
    if (owned_by(value, owner_uid)) dependents.push_back(key);
  for (const ObjectKey& key : dependents) {
    if (find(key) == nullptr) continue;
    Value object = *find(key);
    Value& owners = object["metadata"]["ownerReferences"];
    const bool only = owners.size() == 1;
    if (only && propagation != Propagation::Orphan) {
      (void)remove(*find_kind(key.group_kind), key, {});
      continue;
    }
    std::erase_if(owners.as_array(), [&](const Value& owner) { return owner.string_at("uid") == owner_uid; });
    if (only) object["metadata"].erase("ownerReferences");
    store(key, std::move(object), WatchEventType::Modified);
  }
}

void FakeStore::finish_namespace(const std::string& name) {
  const ObjectKey key{{"", "Namespace"}, "", name};
  const Value* ns = find(key);
  if (ns == nullptr || !terminating(*ns) || apimachinery::has_finalizers(*ns)) return;
  if (std::ranges::any_of(objects_, [&](const auto& entry) { return entry.first.ns == name; })) return;
  erase(key);
}

void FakeStore::finish_namespaces() {
  std::vector<std::string> names;
  for (const auto& [key, value] : objects_)
    if (key.group_kind == apimachinery::kNamespace && terminating(value)) names.push_back(key.name);
  for (const std::string& name : names) finish_namespace(name);
}

}  // namespace mist::testing
