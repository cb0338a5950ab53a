#include "action/deploy/container_contents.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "apimachinery/built_in_groups.h"
#include "apply/plan/test_objects.h"
#include "apply/reserved_metadata.h"
#include "base/parallel.h"
#include "base/text.h"
#include "kube/api_down.h"
#include "kube/api_failure.h"
#include "kube/crds.h"

namespace mist::action {

using apimachinery::GroupKind;
using apimachinery::ObjectKey;
using encoding::Value;

namespace {

// Objects that every namespace has by itself, or that aren't worth keeping it for.
bool belongs_to_the_namespace(const GroupKind& kind, std::string_view name) {
  return (kind == GroupKind{"", "ServiceAccount"} && name == "default") ||
         (kind == GroupKind{"", "ConfigMap"} && name == "kube-root-ca.crt") ||
         kind == GroupKind{"coordination.k8s.io", "Lease"};
}

// Kinds whose objects controllers create with labels and annotations copied from a template or an owner.
bool is_made_by_controllers(const GroupKind& kind) {
  return kind == GroupKind{"", "Pod"} || kind == GroupKind{"apps", "ReplicaSet"} ||
         kind == GroupKind{"apps", "ControllerRevision"} || kind == GroupKind{"batch", "Job"} ||
         kind == GroupKind{"discovery.k8s.io", "EndpointSlice"};
}

bool can(const kube::ResourceInfo& resource, std::string_view verb) {
  return std::ranges::find(resource.verbs, verb) != resource.verbs.end();
}

// Endpoints is deprecated, and each is mirrored by EndpointSlices, which are looked at. Nobody keeps a
// namespace for its Events, and whatever runs there may have written any number of them.
bool is_looked_at(const kube::ResourceInfo& resource) {
  const GroupKind kind = resource.gvk.group_kind();
  return resource.namespaced && can(resource, "list") && can(resource, "delete") &&
         kind != GroupKind{"", "Endpoints"} && kind != GroupKind{"", "Event"} &&
         kind != GroupKind{"events.k8s.io", "Event"};
}

// Owners refer to each other in chains; longer ones than this are none that anybody made on purpose.
constexpr int kLongestChain = 10;
// Owners that aren't data themselves are read one by one, or, if a kind has more of them, by one LIST.
constexpr std::size_t kMostGets = 5;
constexpr std::size_t kMostKinds = 100;

// Why an object stays, whatever is to become of its container; empty: it may go. The record of another
// release is as much that release's as any of its objects.
std::string why_it_stays(const apply::Owner& id, const GroupKind& kind, const Value& object) {
  if (const std::string_view keep = apply::keeping_annotation(object); !keep.empty())
    return fmt::format("carries the annotation {}", keep);
  const std::string_view part_of = object.string_at({"metadata", "labels", apply::kPartOfLabel});
  const std::string_view owner = object.string_at({"metadata", "annotations", apply::kReleaseAnnotation});
  const bool ours = part_of.empty() ? owner == id.display()
                                    : part_of == apply::apply_set_id(id) ||
                                          part_of == apply::apply_set_id(apply::test_set(id));
  if (!ours && !owner.empty()) return fmt::format("belongs to release {}", owner);
  if (!ours && !part_of.empty()) return fmt::format("belongs to ApplySet {}", part_of);
  const std::string_view record = object.string_at({"metadata", "labels", apply::kRecordOfLabel});
  const std::string_view ns = object.string_at({"metadata", "namespace"});
  if (kind == apimachinery::kSecret && !record.empty() && (record != id.name || ns != id.ns))
    return fmt::format("belongs to the record of release {}/{}", ns, record);
  return {};
}

std::string reason_of(const Error& failure) {
  return failure.because.empty() ? failure.message : failure.because.substr(0, failure.because.find('\n'));
}

// Of an owner that couldn't be read. An error: nothing may be deleted. The conversion webhook of a custom
// kind may be down, and what is being written may be what repairs it.
Result<std::string> why_unread(const Error& failure, const GroupKind& kind, const Context& context) {
  if (failure.kind == ErrorKind::Forbidden) return reason_of(failure);
  MIST_TRY_VOID(context.check());
  const bool unanswered = failure.kind == ErrorKind::Retryable || failure.kind == ErrorKind::Timeout;
  if (unanswered && !apimachinery::is_built_in_group(kind.group)) return reason_of(failure);
  return Error(failure);
}

std::string api_service_of(const kube::GroupVersionKind& gvk) {
  return fmt::format("{}.{}", gvk.version, gvk.group);
}

}  // namespace

void ContainerView::add(const apply::Owner& id, const kube::ResourceInfo& resource, const Value& object) {
  const std::string name(object.string_at({"metadata", "name"})),
      ns(object.string_at({"metadata", "namespace"})), uid(object.string_at({"metadata", "uid"}));
  const GroupKind kind = resource.gvk.group_kind();
  Item item{.display = ObjectKey{kind, ns, name}.display(),
            .stays = why_it_stays(id, kind, object),
            .record = kind == apimachinery::kSecret && ns == id.ns &&
                      object.string_at({"metadata", "labels", apply::kRecordOfLabel}) == id.name,
            .harmless = belongs_to_the_namespace(kind, name),
            .terminating = apimachinery::is_terminating(object),
            .claim = kind == GroupKind{"", "PersistentVolumeClaim"},
            .ns = ns};
  if (const Value* owners = object.at_path({"metadata", "ownerReferences"});
      owners != nullptr && owners->is_array()) {
    for (const Value& owner : owners->as_array()) {
      const std::string_view version = owner.string_at("apiVersion");
      const auto slash = version.find('/');
      const bool core = slash == std::string_view::npos;
      item.owners.push_back(
          {std::string(owner.string_at("uid")),
           {std::string(core ? "" : version.substr(0, slash)), std::string(owner.string_at("kind"))},
           std::string(core ? version : version.substr(slash + 1)),
           std::string(owner.string_at("name"))});
      item.copied |= owner.is_true_at("controller") && is_made_by_controllers(kind);
    }
  }
  // One object may be served by two groups; aggregated APIs may have none of our uids.
  const std::string key = uid.empty() ? item.display : uid;
  if (item.is_kept() && !item.owners.empty()) kept_and_owned_.push_back(key);
  items_.insert_or_assign(key, std::move(item));
}

// As far up as owners go: a Pod by its ReplicaSet's Deployment, an EndpointSlice by its Service.
bool ContainerView::is_tied(const std::string& uid, const DeletionSet& deletions, int depth) const {
  if (deletions.uids.contains(uid)) return true;
  if (deletions.freed.contains(uid)) return false;
  if (absent_.contains(uid) || unread_.contains(uid)) return true;
  const auto found = items_.find(uid);
  if (found == items_.end() || depth > kLongestChain) return false;
  // The garbage collector takes what has lost all its owners. One that isn't known here stays.
  const std::vector<Owner>& owners = found->second.owners;
  return found->second.record || (!owners.empty() && std::ranges::all_of(owners, [&](const Owner& owner) {
           return deletions.kinds.contains(owner.kind) || is_tied(owner.uid, deletions, depth + 1);
         }));
}

bool ContainerView::is_garbage(const Item& item) const {
  return !item.owners.empty() && std::ranges::all_of(item.owners, [&](const Owner& owner) {
    return kinds_.contains(owner.kind) && !items_.contains(owner.uid);
  });
}

Contents ContainerView::judge(const DeletionSet& deletions) const {
  Contents result;
  for (const auto& [uid, item] : items_) {
    const bool kept = item.is_kept() && !deletions.uids.contains(uid);
    if (!kept && is_tied(uid, deletions, 0)) {
      result.tied.insert(uid);
      result.namespaces.insert(item.ns);
    } else if (item.terminating) {
      continue;
    } else if (!item.stays.empty()) {
      result.staying.push_back(fmt::format("{}, which {}", item.display, item.stays));
    } else if (!item.harmless && !is_garbage(item)) {
      result.foreign.push_back({item.display, uid});
      result.namespaces.insert(item.ns);
    }
  }
  for (const Unreadable& each : unreadable_) {
    if (!deletions.api_services.contains(each.api_service)) result.unreadable.push_back(each.words);
  }
  std::ranges::sort(result.staying);
  std::ranges::sort(result.unreadable);
  std::ranges::sort(result.foreign, {}, &Contents::Foreign::display);
  return result;
}

// Of one of kept_and_owned_.
bool ContainerView::would_be_lost(const std::string& uid, const DeletionSet& deletions) const {
  return !items_.at(uid).terminating && !deletions.uids.contains(uid) && is_tied(uid, deletions, 0);
}

std::map<std::string, std::string> ContainerView::owners_of_kept(const DeletionSet& deletions) const {
  std::map<std::string, std::string> result;
  for (const std::string& uid : kept_and_owned_) {
    if (!would_be_lost(uid, deletions)) continue;
    const Item& item = items_.at(uid);
    note_ancestors(item, fmt::format("{}, which {}", item.display, item.stays), result, 0);
  }
  return result;
}

void ContainerView::note_ancestors(const Item& item, const std::string& words,
                                   std::map<std::string, std::string>& result, int depth) const {
  for (const Owner& owner : item.owners) {
    result.emplace(owner.uid, words);
    const auto known = items_.find(owner.uid);
    if (known != items_.end() && depth < kLongestChain)
      note_ancestors(known->second, words, result, depth + 1);
  }
}

std::map<std::string, std::vector<std::string>> ContainerView::claims_with_owners(
    const DeletionSet& deletions) const {
  std::map<std::string, std::vector<std::string>> result;
  for (const auto& [uid, item] : items_) {
    const bool goes_by_itself = item.terminating || deletions.uids.contains(uid);
    if (!item.claim || goes_by_itself || item.is_kept() || !is_tied(uid, deletions, 0)) continue;
    for (const Owner& owner : item.owners)
      if (deletions.uids.contains(owner.uid)) result[owner.uid].push_back(item.display);
  }
  return result;
}

std::string ContainerView::unread_owner(const Item& item, const DeletionSet& deletions, int depth) const {
  for (const Owner& owner : item.owners) {
    const auto unread = unread_.find(owner.uid);
    if (unread != unread_.end() && !deletions.uids.contains(owner.uid)) return unread->second;
    const auto known = items_.find(owner.uid);
    if (known == items_.end() || depth >= kLongestChain) continue;
    if (std::string words = unread_owner(known->second, deletions, depth + 1); !words.empty()) return words;
  }
  return {};
}

bool ContainerView::is_below(const Item& item, const GroupKind& kind, int depth) const {
  return std::ranges::any_of(item.owners, [&](const Owner& owner) {
    if (owner.kind == kind) return true;
    const auto known = items_.find(owner.uid);
    return known != items_.end() && depth < kLongestChain && is_below(known->second, kind, depth + 1);
  });
}

std::string ContainerView::kept_below(const GroupKind& kind, const DeletionSet& deletions) const {
  for (const std::string& uid : kept_and_owned_) {
    const Item& item = items_.at(uid);
    if (would_be_lost(uid, deletions) && is_below(item, kind, 0))
      return fmt::format("{}, which {}", item.display, item.stays);
  }
  return {};
}

std::string ContainerView::kept_by_unread_owners(const DeletionSet& deletions,
                                                 const std::set<std::string>& namespaces) const {
  for (const std::string& uid : kept_and_owned_) {
    const Item& item = items_.at(uid);
    const bool asked = namespaces.contains("") || namespaces.contains(item.ns);
    if (!asked || !would_be_lost(uid, deletions)) continue;
    if (const std::string owner = unread_owner(item, deletions, 0); !owner.empty())
      return fmt::format("{}, which {} and has as its owner {}", item.display, item.stays, owner);
  }
  return {};
}

void ContainerView::note_unread(const Owner& owner, const std::string& why) {
  unread_.emplace(owner.uid,
                  fmt::format("{} {}, which can't be read ({})", owner.kind.kind, owner.name, why));
}

Status ContainerView::get_owner(const Environment& environment, const apply::Owner& id,
                                const kube::ResourceInfo& resource, const Missing& missing,
                                const Context& context) {
  const Owner& owner = missing.owner;
  const auto there = environment.client.get(
      {resource, resource.namespaced ? missing.ns : std::string(), owner.name}, context);
  if (there.ok() && there->string_at({"metadata", "uid"}) == owner.uid) {
    add(id, resource, *there);
  } else if (there.ok() || kube::is_absent(there.error())) {
    absent_.insert(owner.uid);
  } else if (there.error().kind != ErrorKind::NotFound) {
    MIST_TRY(const std::string why, why_unread(there.error(), owner.kind, context));
    note_unread(owner, why);
  }
  return {};
}

Status ContainerView::list_owners(const Environment& environment, const apply::Owner& id,
                                  const kube::ResourceInfo& resource, const std::vector<Missing>& owners,
                                  const std::string& ns, const Context& context) {
  const auto list = environment.client.list(
      resource, {.ns = resource.namespaced ? ns : std::string(), .metadata_only = true}, context);
  if (!list.ok() && list.error().kind == ErrorKind::NotFound) return {};
  if (!list.ok()) {
    MIST_TRY(const std::string why, why_unread(list.error(), resource.gvk.group_kind(), context));
    for (const Missing& each : owners) note_unread(each.owner, why);
    return {};
  }
  std::map<std::string_view, const Value*> listed;  // by uid
  for (const Value& item : list->items) listed.emplace(item.string_at({"metadata", "uid"}), &item);
  for (const auto& [owner, owned_in] : owners) {
    const auto found = listed.find(owner.uid);
    // The garbage collector looks for it by its name, in the namespace of what it owns.
    if (found != listed.end() && found->second->string_at({"metadata", "name"}) == owner.name &&
        (!resource.namespaced || found->second->string_at({"metadata", "namespace"}) == owned_in))
      add(id, resource, *found->second);
    else
      absent_.insert(owner.uid);
  }
  return {};
}

// Adds those of these owners, all of one kind, that are there.
Status ContainerView::add_owners(const Environment& environment, const apply::Owner& id,
                                 const std::vector<Missing>& owners, const std::string& ns,
                                 const Context& context) {
  const auto unread = [&](const std::string& why) {
    for (const Missing& each : owners) note_unread(each.owner, why);
    return Status();
  };
  const GroupKind& kind = owners.front().owner.kind;
  if (!kinds_asked_.contains(kind) && kinds_asked_.size() >= kMostKinds)
    return unread(fmt::format("there are owners of more than {} kinds", kMostKinds));
  kinds_asked_.insert(kind);
  const auto resource = environment.client.resource_for(kind, owners.front().owner.version, context);
  if (!resource.ok() && kube::is_api_down(resource.error())) return unread(reason_of(resource.error()));
  // The garbage collector leaves alone what has an owner of a kind that isn't served.
  if (!resource.ok() && resource.error().kind == ErrorKind::NotFound) return {};
  if (!resource.ok()) return Error(resource.error());
  if (owners.size() > kMostGets && can(*resource, "list"))
    return list_owners(environment, id, *resource, owners, ns, context);
  for (const Missing& each : owners) MIST_TRY_VOID(get_owner(environment, id, *resource, each, context));
  return {};
}

// Looks up the owners, of any kind, between the kept objects and an object that goes.
Status ContainerView::add_owners_of_kept(const Environment& environment, const apply::Owner& id,
                                         const std::string& ns, const Context& context) {
  std::vector<std::string> next = kept_and_owned_;
  std::set<std::string> asked;
  for (int depth = 0; depth < kLongestChain && !next.empty(); ++depth) {
    std::vector<std::string> found;
    std::map<std::pair<GroupKind, std::string>, std::vector<Missing>> missing;  // by kind and version
    for (const std::string& uid : next) {
      const Item& item = items_.at(uid);
      for (const Owner& owner : item.owners) {
        if (!asked.insert(owner.uid).second) continue;
        if (items_.contains(owner.uid))
          found.push_back(owner.uid);
        else
          missing[{owner.kind, owner.version}].push_back({owner, item.ns});
      }
    }
    for (const auto& [kind, owners] : missing) {
      MIST_TRY_VOID(add_owners(environment, id, owners, ns, context));
      for (const Missing& each : owners)
        if (items_.contains(each.owner.uid)) found.push_back(each.owner.uid);
    }
    next = std::move(found);
  }
  return {};
}

Result<ContainerView> ContainerView::of_data(const Environment& environment, const apply::Owner& id,
                                             const std::string& ns, const Context& context) {
  static const std::array<kube::ResourceInfo, 3> kData{
      {{{"", "v1", "PersistentVolumeClaim"}, "persistentvolumeclaims", true, {}},
       {{"", "v1", "Secret"}, "secrets", true, {}},
       {{"", "v1", "ConfigMap"}, "configmaps", true, {}}}};
  std::mutex mutex;
  ContainerView view;  // guarded by mutex
  Status looked = parallel_for(kData.size(), kData.size(), [&](std::size_t i) -> Status {
    const auto list = environment.client.list(kData[i], {.ns = ns, .metadata_only = true}, context);
    const bool may_not =
        !list.ok() && (list.error().kind == ErrorKind::Forbidden || list.error().kind == ErrorKind::NotFound);
    if (may_not) return {};
    if (!list.ok()) return Error(list.error());
    const std::scoped_lock lock(mutex);
    for (const Value& item : list->items) view.add(id, kData[i], item);
    return {};
  });
  // The lists come in any order.
  std::ranges::sort(view.kept_and_owned_, {},
                    [&](const std::string& uid) { return std::pair(view.items_.at(uid).display, uid); });
  if (looked.ok()) looked = view.add_owners_of_kept(environment, id, ns, context);
  if (!looked.ok())
    return std::move(looked).error().with_frame(
        "while looking which kept data has its only owner among what goes");
  return view;
}

Result<ContainerView> ContainerView::of_namespace(const Environment& environment, const apply::Owner& id,
                                                  const std::string& ns, const Context& context) {
  environment.client.invalidate_discovery();
  MIST_TRY(std::vector<kube::ResourceInfo> resources, environment.client.all_resources(context));
  MIST_TRY(const std::vector<kube::DownApi> down, environment.client.apis_down(context));
  std::erase_if(resources, [](const kube::ResourceInfo& resource) { return !is_looked_at(resource); });
  std::mutex mutex;
  ContainerView view;  // guarded by mutex
  for (const kube::DownApi& api : down)
    view.unreadable_.push_back(
        {fmt::format("objects of the API service {}, which doesn't answer ({})", api.service(), api.because),
         api.service()});
  Status looked = parallel_for(resources.size(), 16, [&](std::size_t i) -> Status {
    const kube::ResourceInfo& resource = resources[i];
    const auto list = environment.client.list(resource, {.ns = ns, .metadata_only = true}, context);
    if (!list.ok() && list.error().kind == ErrorKind::NotFound) return {};
    // Our own end is no answer of the cluster.
    if (!list.ok()) MIST_TRY_VOID(context.check());
    const std::scoped_lock lock(mutex);
    if (!list.ok()) {
      const std::string service = api_service_of(resource.gvk);
      const auto same = [&](const kube::DownApi& api) { return api.service() == service; };
      if (std::ranges::none_of(down, same))
        view.unreadable_.push_back({fmt::format("{} objects, which can't be listed ({})", resource.gvk.kind,
                                                reason_of(list.error())),
                                    service});
      return {};
    }
    view.kinds_.insert(resource.gvk.group_kind());
    for (const Value& item : list->items) view.add(id, resource, item);
    return {};
  });
  if (!looked.ok())
    return std::move(looked).error().with_frame(fmt::format("while looking what is in namespace {}", ns));
  return view;
}

Result<ContainerView> ContainerView::of_crd(const Environment& environment, const apply::Owner& id,
                                            const std::string& name, const Context& context) {
  ContainerView view;
  const auto crd = environment.client.get({kube::kCrds, "", name}, context);
  if (!crd.ok() && crd.error().kind == ErrorKind::NotFound && !kube::is_not_served(crd.error())) return view;
  if (!crd.ok()) return Error(crd.error());
  view.defined_ = apimachinery::defined_kind(*crd);
  kube::ResourceInfo resource{{view.defined_.group, "", view.defined_.kind},
                              std::string(crd->string_at({"spec", "names", "plural"})),
                              crd->string_at({"spec", "scope"}) == "Namespaced",
                              {}};
  std::string why = "none of its versions is served";
  for (const std::string& version : kube::served_versions(*crd)) {
    resource.gvk.version = version;
    const auto list = environment.client.list(resource, {.metadata_only = true}, context);
    if (list.ok()) {
      view.kinds_.insert(view.defined_);
      for (const Value& item : list->items) view.add(id, resource, item);
      return view;
    }
    // Not established: nothing was ever made of it.
    if (list.error().kind == ErrorKind::NotFound) return view;
    MIST_TRY_VOID(context.check());
    why = reason_of(list.error());
  }
  view.unreadable_.push_back(
      {fmt::format("{} objects, which can't be listed ({})", view.defined_.kind, why), {}});
  return view;
}

std::string foreign_words(const std::vector<Contents::Foreign>& foreign) {
  return fmt::format("{} in it {} not the release's ({}{})", plural(foreign.size(), "object"),
                     foreign.size() == 1 ? "is" : "are", foreign.front().display,
                     foreign.size() > 1 ? ", …" : "");
}

}  // namespace mist::action
