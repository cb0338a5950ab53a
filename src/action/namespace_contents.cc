#include "action/namespace_contents.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/parallel.h"
#include "base/text.h"

namespace mist::action {

using apimachinery::GroupKind;
using apimachinery::ObjectKey;
using encoding::Value;

namespace {

// What every namespace has by itself, or what isn't worth keeping it for.
bool belongs_to_the_namespace(const kube::ResourceInfo& resource, std::string_view name) {
  const GroupKind kind = resource.gvk.group_kind();
  return kind.kind == "Event" || (kind == GroupKind{"", "ServiceAccount"} && name == "default") ||
         (kind == GroupKind{"", "ConfigMap"} && name == "kube-root-ca.crt") ||
         kind == GroupKind{"coordination.k8s.io", "Lease"};
}

// Endpoints is deprecated, and each is mirrored by EndpointSlices, which are looked at.
bool is_looked_at(const kube::ResourceInfo& resource) {
  const auto can = [&](std::string_view verb) {
    return std::ranges::find(resource.verbs, verb) != resource.verbs.end();
  };
  return resource.namespaced && can("list") && can("delete") &&
         resource.gvk.group_kind() != GroupKind{"", "Endpoints"};
}

GroupKind kind_of_owner(const Value& owner) {
  const std::string_view version = owner.string_at("apiVersion");
  const auto slash = version.find('/');
  return {slash == std::string_view::npos ? std::string() : std::string(version.substr(0, slash)),
          std::string(owner.string_at("kind"))};
}

class Contents {
 public:
  Contents(const release::ReleaseId& id, const std::set<std::string>& ours) : id_(id), ours_(ours) {}

  void add(const kube::ResourceInfo& resource, const Value& object) {
    const std::string name(object.string_at({"metadata", "name"})),
        ns(object.string_at({"metadata", "namespace"})), uid(object.string_at({"metadata", "uid"}));
    const GroupKind kind = resource.gvk.group_kind();
    const bool record = object.string_at({"metadata", "labels", "mistletoe.dev/release-name"}) == id_.name &&
                        ns == id_.ns && kind.kind == "Secret";
    Item item{.display = ObjectKey{kind, ns, name}.display(),
              .ours = ours_.contains(uid) || record,
              .harmless = belongs_to_the_namespace(resource, name) || apimachinery::is_terminating(object)};
    if (const Value* owners = object.at_path({"metadata", "ownerReferences"});
        owners != nullptr && owners->is_array()) {
      for (const Value& owner : owners->as_array())
        item.owners.push_back({std::string(owner.string_at("uid")), kind_of_owner(owner)});
    }
    items_.insert_or_assign(uid, std::move(item));  // one object may be served by two groups
  }
  /// All there are of this kind were added.
  void add_kind(GroupKind kind) { kinds_.insert(std::move(kind)); }

  NamespaceContents judge() const {
    NamespaceContents result;
    for (const auto& [uid, item] : items_) {
      if (is_tied(uid, 0))
        result.tied.insert(uid);
      else if (!item.harmless && !is_garbage(item))
        result.foreign.push_back(item.display);
    }
    std::ranges::sort(result.foreign);
    return result;
  }

 private:
  struct Owner {
    std::string uid;
    GroupKind kind;
  };
  struct Item {
    std::string display;
    bool ours = false;
    bool harmless = false;
    std::vector<Owner> owners = {};
  };

  // As far up as owners go: a Pod by its ReplicaSet's Deployment, an EndpointSlice by its Service.
  bool is_tied(const std::string& uid, int depth) const {
    if (ours_.contains(uid)) return true;
    const auto found = items_.find(uid);
    if (found == items_.end() || depth > 10) return false;
    return found->second.ours || std::ranges::any_of(found->second.owners, [&](const Owner& owner) {
             return is_tied(owner.uid, depth + 1);
           });
  }

  bool is_garbage(const Item& item) const {
    return !item.owners.empty() && std::ranges::all_of(item.owners, [&](const Owner& owner) {
      return kinds_.contains(owner.kind) && !items_.contains(owner.uid);
    });
  }

  const release::ReleaseId& id_;
  const std::set<std::string>& ours_;
  std::map<std::string, Item> items_;  // by uid
  std::set<GroupKind> kinds_;
};

}  // namespace

Result<NamespaceContents> look_into_namespace(const Environment& environment, const release::ReleaseId& id,
                                              const std::string& ns, const std::set<std::string>& ours,
                                              const Context& context) {
  MIST_TRY(std::vector<kube::ResourceInfo> resources, environment.client.all_resources(context));
  std::erase_if(resources, [](const kube::ResourceInfo& resource) { return !is_looked_at(resource); });
  std::mutex mutex;
  Contents contents(id, ours);  // guarded by mutex
  MIST_TRY_VOID(parallel_for(resources.size(), 16, [&](std::size_t i) -> Status {
    kube::ListOptions options;
    options.ns = ns;
    options.metadata_only = true;
    auto list = environment.client.list(resources[i], options, context);
    if (!list.ok()) {
      if (list.error().kind == ErrorKind::NotFound) return {};
      return std::move(list).error().with_frame(
          fmt::format("while looking for other objects in namespace {}", ns));
    }
    const std::scoped_lock lock(mutex);
    contents.add_kind(resources[i].gvk.group_kind());
    for (const Value& item : list->items) contents.add(resources[i], item);
    return {};
  }));
  return contents.judge();
}

std::string foreign_words(const std::vector<std::string>& foreign) {
  return fmt::format("{} in it {} not the release's ({}{})", plural(foreign.size(), "object"),
                     foreign.size() == 1 ? "is" : "are", foreign.front(), foreign.size() > 1 ? ", …" : "");
}

}  // namespace mist::action
