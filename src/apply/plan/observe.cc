#include "apply/plan/observe.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "apimachinery/built_in_groups.h"
#include "apply/execute/conversion.h"
#include "apply/fields/forgotten_owners.h"
#include "apply/reserved_metadata.h"
#include "base/parallel.h"
#include "kube/api_down.h"
#include "kube/api_failure.h"
#include "kube/crds.h"

namespace mist::apply {

using kube::ResourceInfo;

namespace {

// One resource in one version and namespace, and whose presence there is asked.
struct ResourcePlace {
  ResourceInfo resource;
  std::string ns;
  std::vector<ObjectKey> keys;
  bool has_owned = false;    // we may have objects there already
  std::string version = {};  // in which its objects are wanted; empty: none is
};

ObjectKey key_in(const ResourcePlace& place, const Value& object) {
  return {place.resource.gvk.group_kind(), std::string(object.string_at({"metadata", "namespace"})),
          std::string(object.string_at({"metadata", "name"}))};
}

std::string reason(const Error& failure) {
  return failure.because.empty() ? failure.message : fmt::format("{}: {}", failure.message, failure.because);
}

class Observer {
 public:
  /// `versions`: in which version each object is wanted.
  Observer(kube::Client& client, std::string part_of, std::string selector,
           std::map<ObjectKey, std::string> versions, const ObserveOptions& options, const Context& context)
      : client_(client),
        versions_(std::move(versions)),
        part_of_(std::move(part_of)),
        selector_(std::move(selector)),
        options_(options),
        context_(context) {}

  Status look_at(const ResourcePlace& place) {
    const bool custom = !apimachinery::is_built_in_group(place.resource.gvk.group);
    Status seen = custom ? see_custom(place) : see(place, context_);
    if (!seen.ok() && kube::is_not_served(seen.error())) seen = see_as_served_now(place);
    if (seen.ok()) return seen;
    const Error& failure = seen.error();
    if (failure.kind == ErrorKind::Forbidden && options_.forbidden != nullptr) {
      leave_unknown(place, *options_.forbidden, "you may not read it");
    } else if (failure.kind == ErrorKind::Retryable && options_.unreachable != nullptr &&
               !apimachinery::is_built_in_group(place.resource.gvk.group)) {
      leave_unknown(place, *options_.unreachable, reason(failure));
    } else {
      return seen;
    }
    return {};
  }

  LiveState take() { return std::move(state_); }

 private:
  // Objects that were seen before the place failed count.
  void leave_unknown(const ResourcePlace& place, std::map<ObjectKey, std::string>& unknown,
                     const std::string& why) {
    const std::scoped_lock lock(mutex_);
    for (const ObjectKey& key : place.keys)
      if (!state_.contains(key)) unknown.emplace(key, why);
  }

  // Discovery was out of date: the kind is gone, and its objects with it, or it is served in other versions,
  // and its objects are there.
  Status see_as_served_now(const ResourcePlace& place) {
    const GroupKind kind = place.resource.gvk.group_kind();
    if (options_.vanished != nullptr) {
      const std::scoped_lock lock(mutex_);
      options_.vanished->insert(kind);
    }
    const InventoryItem any{.key = place.keys.front(), .version = place.resource.gvk.version, .uid = {}};
    ResourcePlace now = place;
    for (int tries = 0;; ++tries) {
      MIST_TRY(const std::optional<ResourceInfo> resource, resource_of(client_, any, context_));
      if (!resource) return {};
      now.resource = *resource;
      Status seen = see(now, context_);
      if (seen.ok() || !kube::is_not_served(seen.error()) || tries == kTriesToAgree) return seen;
      MIST_TRY_VOID(context_.pause(kPauseToAgree));
    }
  }

  // Without its conversion webhook a kind answers "later", for ever. That isn't waited for as long as for
  // what may pass.
  Status see_custom(const ResourcePlace& place) {
    if (options_.unreachable != nullptr) return see(place, context_);
    Status seen = see(place, context_.with_timeout(kUntilConversion));
    if (seen.ok()) return seen;
    const ErrorKind kind = seen.error().kind;
    if (kind != ErrorKind::Retryable && kind != ErrorKind::Timeout) return seen;
    MIST_TRY_VOID(context_.check());
    if (const auto webhook = conversion_webhook(client_, place.resource, context_))
      return see_unconverted(place, *webhook, std::move(seen).error());
    return kind == ErrorKind::Timeout ? see(place, context_) : seen;
  }

  // An object that is stored in another version needs no conversion there. Its fields can't be compared with
  // those of the wanted version, but its owner can be seen.
  Status see_unconverted(const ResourcePlace& place, const ConversionWebhook& webhook, Error failure) {
    const Unconverted unconverted{webhook.crd, conversion_words(webhook, failure),
                                  conversion_hint(client_, webhook)};
    for (const std::string& version : webhook.versions) {
      if (version == place.resource.gvk.version) continue;
      ResourceInfo other = place.resource;
      other.gvk.version = version;
      const auto listed = client_.list(other, {.ns = place.ns, .metadata_only = true},
                                       context_.with_timeout(kUntilConversion));
      if (!listed.ok()) continue;
      const std::set<ObjectKey> asked(place.keys.begin(), place.keys.end());
      for (const Value& item : listed->items) {
        ObjectKey key = key_in(place, item);
        if (!asked.contains(key)) continue;
        note(key, unconverted);
        add(std::move(key), {item, false});
      }
      return {};
    }
    MIST_TRY_VOID(context_.check());
    if (options_.unconverted == nullptr)
      return std::move(failure).with_hint(unconverted.hint).with_frame(unconverted.words);
    for (const ObjectKey& key : place.keys) note(key, unconverted);
    return {};
  }

  void note(const ObjectKey& key, const Unconverted& why) {
    if (options_.unconverted == nullptr) return;
    const std::scoped_lock lock(mutex_);
    options_.unconverted->emplace(key, why);
  }

  // One page for all that the place is to have, and for some that are no longer wanted. Of very many, which
  // may be heavy, the usual first page tells how many the next may have.
  static int first_page(const ResourcePlace& place) {
    constexpr std::size_t kNoLongerWanted = 100, kMost = 2000;
    const int usual = kube::ListOptions().page_size;
    const std::size_t wanted = place.keys.size() + kNoLongerWanted;
    return wanted > kMost ? usual : std::max(usual, static_cast<int>(wanted));
  }

  static bool absent(const Error& failure) {
    return failure.kind == ErrorKind::NotFound && !kube::is_not_served(failure);
  }

  Status see(const ResourcePlace& place, const Context& context) {
    // Where nothing is owned, what is in the way is all there can be: one request less, and one round trip.
    if (!place.has_owned) return look_for_the_rest(place, true, context);
    kube::ListOptions ours;
    ours.ns = place.ns;
    ours.label_selector = selector_;
    ours.page_size = first_page(place);
    auto listed = client_.list(place.resource, ours, context);
    bool may_list = true;
    if (listed.ok()) {
      for (Value& item : listed->items) {
        ObjectKey key = key_in(place, item);
        // Another place reads it in the version in which it is wanted.
        const auto wanted = versions_.find(key);
        if (wanted != versions_.end() && wanted->second != place.version) continue;
        add(std::move(key), {std::move(item), true});
      }
    } else if (listed.error().kind == ErrorKind::Forbidden) {
      may_list = false;
    } else if (!absent(listed.error())) {
      return std::move(listed).error();
    }
    return look_for_the_rest(place, may_list, context);
  }

  Status look_for_the_rest(const ResourcePlace& place, bool may_list, const Context& context) {
    std::set<ObjectKey> missing;
    {
      const std::scoped_lock lock(mutex_);
      for (const ObjectKey& key : place.keys) {
        if (!state_.contains(key)) missing.insert(key);
      }
    }
    if (missing.empty()) return {};
    if (may_list && missing.size() > 1) {
      kube::ListOptions all;
      all.ns = place.ns;
      all.metadata_only = true;
      auto listed = client_.list(place.resource, all, context);
      if (listed.ok()) {
        std::set<ObjectKey> wanted_whole;
        for (Value& item : listed->items) {
          ObjectKey key = key_in(place, item);
          if (!missing.contains(key)) continue;
          // With our mark, though no record knows it: ours all the same.
          const std::string_view part_of = item.string_at({"metadata", "labels", kPartOfLabel});
          if (part_of == part_of_ || (options_.adopt && part_of.empty())) wanted_whole.insert(key);
          add(std::move(key), {std::move(item), false});
        }
        return observe_closely(place, wanted_whole, context);
      }
      if (absent(listed.error())) return {};
      if (listed.error().kind != ErrorKind::Forbidden) return std::move(listed).error();
    }
    return get(place, missing, context);
  }

  // Objects that are ours or are to be adopted are needed whole: their fields are compared.
  Status observe_closely(const ResourcePlace& place, const std::set<ObjectKey>& keys,
                         const Context& context) {
    constexpr std::size_t kFew = 8;
    if (keys.size() <= kFew) return get(place, keys, context);
    kube::ListOptions all;
    all.ns = place.ns;
    MIST_TRY(kube::ObjectList listed, client_.list(place.resource, all, context));
    for (Value& item : listed.items) {
      if (ObjectKey key = key_in(place, item); keys.contains(key))
        add(std::move(key), {std::move(item), true});
    }
    return {};
  }

  Status get(const ResourcePlace& place, const std::set<ObjectKey>& keys, const Context& context) {
    for (const ObjectKey& key : keys) {
      auto got = client_.get({place.resource, key.ns, key.name}, context);
      if (got.ok())
        add(key, {*std::move(got), true});
      else if (!absent(got.error()))
        return std::move(got).error();
    }
    return {};
  }

  void add(ObjectKey key, LiveObject object) {
    const std::scoped_lock lock(mutex_);
    state_.insert_or_assign(std::move(key), std::move(object));
  }

  kube::Client& client_;
  const std::map<ObjectKey, std::string> versions_;
  const std::string part_of_;
  const std::string selector_;
  const ObserveOptions& options_;  // its maps are guarded by mutex_
  const Context& context_;
  std::mutex mutex_;
  LiveState state_;  // guarded by mutex_
};

// The CRD of a kind that serves none of its versions. Nullopt: there is none, or CRDs can't be
// read. The kind doesn't tell its plural, which is in the name: only names are asked for of all of them.
std::optional<std::string> unserving_crd(kube::Client& client, const GroupKind& kind,
                                         const Context& context) {
  if (apimachinery::is_built_in_group(kind.group)) return std::nullopt;
  const auto names = client.list(kube::kCrds, {.metadata_only = true}, context);
  if (!names.ok()) return std::nullopt;
  for (const Value& each : names->items) {
    std::string name(each.string_at({"metadata", "name"}));
    if (!name.ends_with("." + kind.group) || apimachinery::is_terminating(each)) continue;
    const auto whole = client.get({kube::kCrds, "", name}, context);
    if (whole.ok() && apimachinery::defined_kind(*whole) == kind)
      return kube::served_versions(*whole).empty() ? std::optional(name) : std::nullopt;
  }
  return std::nullopt;
}

Error unserved(const kube::Client& client, const GroupKind& kind, const std::string& crd) {
  return error(ErrorKind::Invalid, "{} serves no version of {}, so nothing is known of its objects", crd,
               kind.kind)
      .with_detail(UnservedCrd{crd})
      .with_hint(fmt::format("let it serve one again ({}): what is stored is still there",
                             client.kubectl() + " edit crd " + crd));
}

}  // namespace

Result<std::optional<ResourceInfo>> resource_of(kube::Client& client, const InventoryItem& item,
                                                const Context& context) {
  auto found = client.resource_for(item.key.group_kind, item.version, context);
  if (!found.ok() && found.error().kind == ErrorKind::NotFound) {
    found = client.resource_for(item.key.group_kind, "", context);
  } else if (!found.ok() && kube::is_api_down(found.error())) {
    // Another version of it may be served by somebody else.
    if (auto other = client.resource_for(item.key.group_kind, "", context); other.ok())
      found = std::move(other);
  }
  // Under a CRD of another scope, which took the place of its own, it can't be, unless it was written
  // under that one and recorded as if under the old: its uid tells.
  if (found.ok() && found->namespaced == item.key.ns.empty()) {
    if (found->namespaced || item.uid.empty()) return std::optional<ResourceInfo>();
    const auto there = client.get({*found, "", item.key.name}, context);
    if (!there.ok() && !kube::is_absent(there.error())) return there.error();
    if (!there.ok() || there->string_at({"metadata", "uid"}) != item.uid)
      return std::optional<ResourceInfo>();
  }
  if (found.ok()) return std::optional<ResourceInfo>(*std::move(found));
  if (found.error().kind != ErrorKind::NotFound) return std::move(found).error();
  if (const auto crd = unserving_crd(client, item.key.group_kind, context))
    return unserved(client, item.key.group_kind, *crd);
  return std::optional<ResourceInfo>();
}

bool never_seen(const Error& failure, const InventoryItem& item, const std::vector<ObjectKey>& keys) {
  if (!kube::is_api_down(failure) || !item.uid.empty()) return false;
  const ObjectKey service{{"apiregistration.k8s.io", "APIService"},
                          "",
                          fmt::format("{}.{}", item.version, item.key.group_kind.group)};
  return std::ranges::find(keys, service) != keys.end();
}

namespace {

// Objects that are written again by the release that brings their API service: guarded, so that nothing that
// is there is overwritten or forgotten. Their namespaces may not be known yet.
bool is_late(const std::vector<DesiredObject>& desired, const ObjectKey& key) {
  return std::ranges::any_of(desired, [&](const DesiredObject& object) {
    return object.late && object.key.group_kind == key.group_kind && object.key.name == key.name &&
           (object.key.ns == key.ns || object.key.ns.empty() || key.ns.empty());
  });
}

// Of our own objects that lost them.
Status find_forgotten_owners(kube::Client& client, const Owner& release,
                             const std::vector<DesiredObject>& desired, LiveState& state,
                             const Context& context) {
  const std::string part_of = apply_set_id(release);
  std::vector<std::pair<const DesiredObject*, Value*>> forgotten;
  for (const DesiredObject& object : desired) {
    const auto live = object.late ? state.end() : state.find(object.key);
    if (live == state.end() || !live->second.whole) continue;
    Value& value = live->second.value;
    const bool ours = value.string_at({"metadata", "labels", kPartOfLabel}) == part_of;
    if (ours && owners_are_forgotten(value) && !apimachinery::is_terminating(value))
      forgotten.emplace_back(&object, &value);
  }
  return parallel_for(forgotten.size(), 16, [&](std::size_t i) -> Status {
    const auto& [object, value] = forgotten[i];
    const kube::ObjectRef ref{object->resource, object->key.ns, object->key.name};
    *value = with_known_owners(client, ref, std::move(*value), release.manager, context);
    return context.check();
  });
}

}  // namespace

Result<LiveState> observe(kube::Client& client, const Owner& release,
                          const std::vector<DesiredObject>& desired, const std::vector<InventoryItem>& owned,
                          const Context& context, const ObserveOptions& options) {
  // By version too: fields have other names in another one.
  std::map<std::tuple<GroupKind, std::string, std::string>, ResourcePlace> places;
  std::map<ObjectKey, std::string> versions;
  for (const DesiredObject& object : desired) {
    if (object.late) continue;
    const std::string& version = object.resource.gvk.version;
    versions.insert_or_assign(object.key, version);
    ResourcePlace& place = places[{object.key.group_kind, object.key.ns, version}];
    place.resource = object.resource;
    place.version = version;
    place.ns = object.key.ns;
    place.keys.push_back(object.key);
    place.has_owned = options.take_over_from.has_value();
  }
  std::vector<ObjectKey> keys;
  keys.reserve(owned.size());
  for (const InventoryItem& item : owned) keys.push_back(item.key);
  // Each kind is asked for once: of an API that doesn't answer, asking takes several requests.
  std::map<std::pair<GroupKind, std::string>, Result<std::optional<ResourceInfo>>> resources;
  for (const InventoryItem& item : owned) {
    bool known_place = false;
    for (auto known = places.lower_bound({item.key.group_kind, item.key.ns, ""});
         known != places.end() && std::get<0>(known->first) == item.key.group_kind &&
         std::get<1>(known->first) == item.key.ns;
         ++known) {
      known->second.has_owned = true;
      // One that is wanted stands at its place already.
      if (!known_place && !versions.contains(item.key)) known->second.keys.push_back(item.key);
      known_place = true;
    }
    if (known_place) continue;
    const std::pair kind{item.key.group_kind, item.version};
    auto found = resources.find(kind);
    if (found == resources.end()) found = resources.emplace(kind, resource_of(client, item, context)).first;
    const Result<std::optional<ResourceInfo>>& resource = found->second;
    if (!resource.ok()) {
      Error failure = resource.error();
      if (const auto* crd = failure.detail<UnservedCrd>()) {
        if (options.unconverted != nullptr)
          options.unconverted->emplace(item.key,
                                       Unconverted{crd->name, failure.message, failure.hint, false});
        else if (options.unreachable != nullptr)
          options.unreachable->emplace(item.key, failure.message);
        else
          return failure;
        continue;
      }
      if (!kube::is_api_down(failure)) return failure;
      if (is_late(desired, item.key) || never_seen(failure, item, keys)) continue;
      if (options.unreachable == nullptr)
        return std::move(failure).with_frame(fmt::format("while looking for {}", item.key.display()));
      options.unreachable->emplace(item.key, reason(failure));
    } else if (*resource) {
      places[{item.key.group_kind, item.key.ns, ""}] = {**resource, item.key.ns, {item.key}, true};
    }
  }

  std::vector<const ResourcePlace*> work;
  for (const auto& [where, place] : places) work.push_back(&place);
  const std::string part_of = apply_set_id(release);
  std::string selector = fmt::format("{}={}", kPartOfLabel, part_of);
  if (options.take_over_from)
    selector = fmt::format("{} in ({},{})", kPartOfLabel, part_of, apply_set_id(*options.take_over_from));
  Observer observer(client, part_of, std::move(selector), std::move(versions), options, context);
  MIST_TRY_VOID(parallel_for(work.size(), 16, [&](std::size_t i) {
                  return observer.look_at(*work[i]);
                }).in("while reading the cluster's state"));
  LiveState state = observer.take();
  MIST_TRY_VOID(find_forgotten_owners(client, release, desired, state, context));
  return state;
}

}  // namespace mist::apply
