#include "action/recover/labelled.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <set>

#include "apimachinery/built_in_groups.h"
#include "apply/execute/conversion.h"
#include "base/one_line.h"
#include "base/parallel.h"
#include "base/text.h"
#include "kube/api_failure.h"
#include "release/command_text.h"

namespace mist::action {

using apimachinery::GroupKind;
using apimachinery::ObjectKey;
using apply::InventoryItem;
using encoding::Value;
using release::ReleaseId;

namespace {

// One LIST. Empty namespace: all, or a kind without.
struct Place {
  kube::ResourceInfo resource;
  std::string ns;
};

// Objects of a kind that can only be read, such as metrics, are no release's.
bool may_hold_objects(const kube::ResourceInfo& resource) {
  const auto can = [&](std::string_view verb) {
    return std::ranges::find(resource.verbs, verb) != resource.verbs.end();
  };
  return can("list") && can("create");
}

bool names_its_kinds(const release::Anchor* anchor) {
  return anchor != nullptr && !anchor->group_kinds.empty() && !anchor->cut;
}

Result<std::vector<Place>> places_of(const Environment& environment, const ReleaseId& id,
                                     const release::Anchor* anchor, const Context& context) {
  std::vector<Place> places;
  if (!names_its_kinds(anchor)) {
    MIST_TRY(const std::vector<kube::ResourceInfo> all, environment.client.all_resources(context));
    for (const kube::ResourceInfo& resource : all) {
      if (may_hold_objects(resource)) places.push_back({resource, ""});
    }
    return places;
  }
  std::vector<std::string> namespaces = anchor->additional_namespaces;
  namespaces.push_back(id.ns);
  for (const std::string& name : anchor->group_kinds) {
    auto resource = environment.client.resource_for(apimachinery::parse_group_kind(name), "", context);
    // Its CRD is gone, and its objects with it.
    if (!resource.ok() && resource.error().kind == ErrorKind::NotFound) continue;
    if (!resource.ok()) return std::move(resource).error();
    if (!resource->namespaced) {
      places.push_back({*resource, ""});
      continue;
    }
    for (const std::string& ns : namespaces) places.push_back({*resource, ns});
  }
  return places;
}

// An aggregated API that is down, and of which the server no longer says what kinds it has. Metrics are only
// read. `listed`: by discovery, kinds that can only be read among them.
std::optional<kube::DownApi> unseen_api(const std::vector<kube::ResourceInfo>& listed,
                                        const std::vector<kube::DownApi>& down) {
  for (const kube::DownApi& each : down) {
    const bool is_seen = std::ranges::any_of(
        listed, [&](const kube::ResourceInfo& resource) { return resource.gvk.group == each.group; });
    if (!is_seen && !each.group.ends_with("metrics.k8s.io")) return each;
  }
  return std::nullopt;
}

Status check_apis(const Environment& environment, bool leaves_out, const Context& context) {
  MIST_TRY(const std::vector<kube::DownApi> down, environment.client.apis_down(context));
  if (down.empty()) return {};
  MIST_TRY(const std::vector<kube::ResourceInfo> listed, environment.client.all_resources(context));
  const auto unseen = unseen_api(listed, down);
  if (!unseen) return {};
  Error failure =
      error(ErrorKind::Retryable, "the API {} doesn't answer ({})", unseen->service(), unseen->because)
          .with_hint("try again when it does, or delete its APIService");
  if (!leaves_out) return failure;
  environment.events.warn(fmt::format("{}: the release's objects of its kinds aren't seen", failure.message));
  return {};
}

// Of a kind that nobody names and that isn't built in: its server may be anybody's.
constexpr auto kLongestForeign = std::chrono::seconds(30);

// For all such kinds: however many of them never answer, half of the time stays for the others.
Context time_for_foreign(const Context& context) {
  const auto left = context.remaining();
  return left ? context.with_timeout(*left / 2) : context;
}

bool is_unanswered(const Error& failure) {
  return failure.kind == ErrorKind::Retryable || failure.kind == ErrorKind::Timeout;
}

std::string reason_of(const Error& failure) {
  return one_line(failure.because.empty() ? failure.message : failure.because);
}

struct Listed {
  Result<kube::ObjectList> list;
  std::string version;      // in which it was read
  std::string unconverted;  // why it can be read in none; empty: that is not the reason
  bool own_namespace_only = false;
};

// `limited`: for the LISTs of a kind that isn't built in.
Listed list_ours(const Environment& environment, const ReleaseId& id, const Place& place,
                 const Context& limited, const Context& context) {
  kube::Client& client = environment.client;
  const kube::ResourceInfo& resource = place.resource;
  kube::ListOptions ours;
  ours.ns = place.ns;
  ours.label_selector = fmt::format("{}={}", apply::kPartOfLabel, apply::apply_set_id(id));
  const bool custom = !apimachinery::is_built_in_group(resource.gvk.group);
  const Context& whole = custom ? limited : context;
  auto listed = client.list(resource, ours, custom ? limited.with_timeout(apply::kUntilConversion) : context);
  const bool narrowed =
      !listed.ok() && listed.error().kind == ErrorKind::Forbidden && resource.namespaced && ours.ns.empty();
  if (narrowed) {
    ours.ns = id.ns;
    listed = client.list(resource, ours, whole);
  }
  const bool fails = custom && !listed.ok() && context.check().ok() && is_unanswered(listed.error());
  if (!fails) return {std::move(listed), resource.gvk.version, {}, narrowed};
  const auto webhook = apply::conversion_webhook(client, resource, context);
  if (!webhook) {
    if (listed.error().kind == ErrorKind::Timeout) listed = client.list(resource, ours, whole);
    return {std::move(listed), resource.gvk.version, {}, narrowed};
  }
  // An object that is stored in another version needs no conversion there.
  for (const std::string& version : webhook->versions) {
    if (version == resource.gvk.version) continue;
    kube::ResourceInfo other = resource;
    other.gvk.version = version;
    auto there = client.list(other, ours, limited.with_timeout(apply::kUntilConversion));
    if (there.ok()) return {std::move(there), version, {}, narrowed};
  }
  std::string words = apply::conversion_words(*webhook, listed.error());
  Error failure =
      std::move(listed).error().with_hint(apply::conversion_hint(client, *webhook)).with_frame(words);
  return {std::move(failure), resource.gvk.version, std::move(words)};
}

int revision_of(const Value& object) {
  const std::string_view label = object.string_at({"metadata", "labels", apply::kVersionLabel});
  int number = 0;
  if (label.size() > 1) std::from_chars(label.data() + 1, label.data() + label.size(), number);
  return std::max(number, 0);
}

}  // namespace

bool carries_ownership_labels(const ReleaseId& id, const Value& object) {
  if (object.string_at({"metadata", "labels", apply::kPartOfLabel}) != apply::apply_set_id(id) ||
      object.string_at({"metadata", "annotations", apply::kReleaseAnnotation}) != id.display())
    return false;
  const Value* owners = object.at_path({"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return true;
  return std::ranges::none_of(owners->as_array(),
                              [](const Value& owner) { return owner.is_true_at("controller"); });
}

Result<Labelled> labelled_objects(const Environment& environment, const ReleaseId& id,
                                  const release::Anchor* anchor, Unanswered unanswered_kinds,
                                  const Context& context) {
  const Activity looking(environment.events,
                         fmt::format("looking for what carries the labels of {}", id.display()));
  MIST_TRY(const std::vector<Place> places, places_of(environment, id, anchor, context));
  std::mutex mutex;
  std::map<ObjectKey, std::pair<InventoryItem, Value>> found;  // guarded by mutex
  std::set<std::string> forbidden;                             // guarded by mutex
  std::set<std::string> own_namespace_only;                    // guarded by mutex
  std::set<std::string> unconverted;                           // guarded by mutex
  std::map<std::string, std::string> unanswered;               // why, by resource; guarded by mutex
  const bool named = names_its_kinds(anchor);
  const bool leaves_out = !named && unanswered_kinds == Unanswered::LeftOut;
  if (!named) MIST_TRY_VOID(check_apis(environment, leaves_out, context));
  const Context foreign = leaves_out ? time_for_foreign(context) : context;
  MIST_TRY_VOID(parallel_for(places.size(), 16, [&](std::size_t i) -> Status {
    const Place& place = places[i];
    auto [listed, version, why, narrowed] = list_ours(
        environment, id, place, leaves_out ? foreign.with_timeout(kLongestForeign) : foreign, context);
    const std::scoped_lock lock(mutex);
    if (!why.empty() && !named) {
      unconverted.insert(std::move(why));
      return {};
    }
    if (!listed.ok()) {
      const ErrorKind kind = listed.error().kind;
      const std::string& group = place.resource.gvk.group;
      if (leaves_out && !apimachinery::is_built_in_group(group) && is_unanswered(listed.error()) &&
          context.check().ok()) {
        unanswered.emplace(fmt::format("{}.{}", place.resource.resource, group), reason_of(listed.error()));
        return {};
      }
      if (kind != ErrorKind::Forbidden && kind != ErrorKind::NotFound && kind != ErrorKind::Invalid)
        return std::move(listed).error();
      if (kind == ErrorKind::Forbidden) forbidden.insert(place.resource.resource);
      return {};
    }
    if (narrowed) own_namespace_only.insert(place.resource.resource);
    for (Value& object : listed->items) {
      if (!carries_ownership_labels(id, object)) continue;
      InventoryItem item;
      item.key = {place.resource.gvk.group_kind(), std::string(object.string_at({"metadata", "namespace"})),
                  std::string(object.string_at({"metadata", "name"}))};
      item.version = version;
      item.uid = object.string_at({"metadata", "uid"});
      item.revision = revision_of(object);
      // No mark tells whether the release made it or found it, so it is not deleted with the release.
      item.adopted = item.fields_taken = item.key.group_kind == apimachinery::kNamespace;
      ObjectKey key = item.key;
      found.insert_or_assign(std::move(key), std::pair{std::move(item), std::move(object)});
    }
    return {};
  }));
  if (!forbidden.empty())
    environment.events.warn(
        fmt::format("you may not list {}: the release's objects of these kinds aren't seen",
                    join(std::vector<std::string>(forbidden.begin(), forbidden.end()), ", ")));
  Labelled result;
  result.own_namespace_only.assign(own_namespace_only.begin(), own_namespace_only.end());
  if (!own_namespace_only.empty())
    environment.events.warn(fmt::format(
        "you may list {} in namespace {} only: the release's objects of these kinds elsewhere aren't seen",
        join(result.own_namespace_only, ", "), id.ns));
  for (const std::string& why : unconverted)
    environment.events.warn(
        fmt::format("{}: the release's objects of that kind aren't seen; once it is repaired, {} "
                    "records that too",
                    why, release::command_text("recover", id, "--from-labels")));
  for (const auto& [resource, why] : unanswered)
    environment.events.warn(fmt::format(
        "{} can't be listed ({}): the release's objects of that kind aren't seen", resource, why));
  for (auto& [key, each] : found) {
    result.items.push_back(std::move(each.first));
    result.objects.push_back(std::move(each.second));
  }
  return result;
}

Result<std::vector<InventoryItem>> labelled_outside(const Environment& environment, const ReleaseId& id,
                                                    std::vector<std::string> kinds, const Context& context) {
  environment.client.invalidate_discovery();
  release::Anchor of_kinds;
  of_kinds.group_kinds = std::move(kinds);
  MIST_TRY(Labelled labelled, labelled_objects(environment, id, &of_kinds, Unanswered::LeftOut, context));
  std::erase_if(labelled.items, [&](const InventoryItem& item) {
    const bool is_own_namespace = item.key.group_kind == apimachinery::kNamespace && item.key.name == id.ns;
    return item.key.ns == id.ns || is_own_namespace;
  });
  return std::move(labelled.items);
}

Result<std::vector<apply::Removal>> late_arrivals(const Environment& environment, const ReleaseId& id,
                                                  const std::vector<InventoryItem>& owned,
                                                  const std::set<std::string>& seen,
                                                  const apply::PruneRules& rules, const Context& context) {
  MIST_TRY(const apply::LiveState live, apply::observe(environment.client, id, {}, owned, context));
  std::vector<apply::Removal> late;
  for (const InventoryItem& item : owned) {
    const auto there = live.find(item.key);
    if (there == live.end() || !carries_ownership_labels(id, there->second.value)) continue;
    if (apimachinery::is_terminating(there->second.value)) continue;
    if (!apply::kept_because(item.key, &there->second.value, rules).empty()) continue;
    const std::string uid(there->second.value.string_at({"metadata", "uid"}));
    if (seen.contains(uid)) continue;
    late.push_back(
        {.key = item.key,
         .version = item.version,
         .uid = uid,
         .resource_version = std::string(there->second.value.string_at({"metadata", "resourceVersion"}))});
  }
  return late;
}

void warn_of_strays(const Environment& environment, const ReleaseId& id, const apply::LiveState& live,
                    const std::vector<apply::DesiredObject>& desired,
                    const std::vector<InventoryItem>& owned) {
  std::set<ObjectKey> known;
  for (const apply::DesiredObject& object : desired) known.insert(object.key);
  for (const InventoryItem& item : owned) known.insert(item.key);
  std::vector<std::string> strays;
  for (const auto& [key, object] : live) {
    if (known.contains(key) || !carries_ownership_labels(id, object.value)) continue;
    if (!apimachinery::is_terminating(object.value)) strays.push_back(key.display());
  }
  if (strays.empty()) return;
  constexpr std::size_t kShown = 5;
  const std::size_t count = strays.size();
  if (count > kShown) {
    strays.resize(kShown);
    strays.push_back(fmt::format("{} more", count - kShown));
  }
  environment.events.warn(fmt::format(
      "no record names {}, though the ownership labels of release {} are on {}: {} records what is there",
      join(strays, ", "), id.display(), count == 1 ? "it" : "them",
      release::command_text("recover", id, "--from-labels")));
}

}  // namespace mist::action
