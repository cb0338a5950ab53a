#include "apply/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "apply/order.h"

namespace mist::apply {

using release::InventoryItem;
using release::ReleaseId;

namespace {

const GroupKind kNamespaceKind{"", "Namespace"};

Error owned_by_other(const DesiredObject& object, const Value& live, const ReleaseId& release) {
  const std::string_view owner = live.string_at({"metadata", "annotations", release::kReleaseAnnotation});
  const std::string_view set = live.string_at({"metadata", "labels", release::kPartOfLabel});
  Error failure;
  if (!owner.empty() && owner != release.display()) {
    failure = error(ErrorKind::Conflict, "{} belongs to release {}", object.key.display(), owner);
    failure.hint = fmt::format("rename one of the two objects, or uninstall {}", owner);
  } else if (!set.empty()) {
    failure = error(ErrorKind::Conflict, "{} belongs to another ApplySet ({})", object.key.display(), set);
    failure.hint = "rename the object, or remove it from that set";
  } else {
    failure = error(ErrorKind::Conflict, "{} exists already and belongs to no release", object.key.display());
    failure.hint = "delete it, or give the release's object another name";
  }
  failure.where =
      SourceLocation{.file = object.rendered.file, .line = object.rendered.line, .column = 0, .excerpt = {}};
  return failure;
}

bool ours(const Value& live, const std::string& part_of) {
  return live.string_at({"metadata", "labels", release::kPartOfLabel}) == part_of;
}

class Planner {
 public:
  Planner(const ReleaseId& release, const std::vector<InventoryItem>& owned, const LiveState& live,
          int revision, const PruneRules& rules)
      : release_(release),
        live_(live),
        revision_(revision),
        rules_(rules),
        part_of_(release::apply_set_id(release)) {
    for (const InventoryItem& item : owned) owned_.insert_or_assign(item.key, &item);
  }

  Result<PlannedAction> write(const DesiredObject& object, std::size_t index) const {
    PlannedAction action;
    action.key = object.key;
    action.resource = object.resource;
    action.late = object.late;
    action.desired = index;
    action.revision = revision_;
    action.previous_revision = revision_;
    const auto live = live_.find(object.key);
    const auto known = owned_.find(object.key);
    const InventoryItem* item = known == owned_.end() ? nullptr : known->second;
    if (live == live_.end()) {
      action.kind = ActionKind::Create;
      action.reason =
          item != nullptr && !item->uid.empty() ? "it was deleted outside of Mistletoe" : "it is not there";
      return action;
    }
    const Value& there = live->second.value;
    action.uid = there.string_at({"metadata", "uid"});
    action.previous_revision = item != nullptr ? item->revision : revision_from_label(there);
    const bool by_uid = item != nullptr && !item->uid.empty() && item->uid == action.uid;
    const bool own_namespace = object.key.group_kind == kNamespaceKind && object.key.name == release_.ns;
    if (!ours(there, part_of_) && !by_uid && !own_namespace) return owned_by_other(object, there, release_);
    action.adopted = item != nullptr ? item->adopted : own_namespace && !ours(there, part_of_);
    if (const Value* stamp = there.at_path({"metadata", "deletionTimestamp"});
        stamp != nullptr && !stamp->is_null()) {
      Error failure = error(ErrorKind::Conflict, "{} is being deleted", object.key.display());
      failure.because =
          "its deletion began at " + std::string(stamp->is_string() ? stamp->as_string() : "an unknown time");
      failure.hint = "wait until it is gone (finalizers may hold it), then run the command again";
      return failure;
    }
    if (!ours(there, part_of_)) {
      action.kind = ActionKind::Update;
      action.reason = own_namespace && !by_uid ? "it is the release's own namespace and is adopted"
                                               : "its ownership label was removed";
      return action;
    }
    if (!live->second.whole) {
      action.kind = ActionKind::Update;  // it became ours between two of our looks
      action.reason = "only its metadata could be read";
      return action;
    }
    action.differences = differences(object.rendered.object.value(), there, "mistctl");
    // The version label says when the object last changed, so it is no change by itself; but it must be
    // there.
    std::erase_if(action.differences,
                  [](const FieldDifference& d) { return d.path == version_label_path(); });
    if (there.string_at({"metadata", "labels", release::kVersionLabel}).empty())
      action.differences.push_back({version_label_path(), Value(), fmt::format("v{}", revision_), 0});
    if (!action.differences.empty()) {
      action.kind = ActionKind::Update;
      action.reason = action.differences.size() == 1
                          ? action.differences[0].path + " differs"
                          : fmt::format("{} fields differ", action.differences.size());
      return action;
    }
    action.kind = ActionKind::Unchanged;
    action.reason = "equal";
    action.revision = action.previous_revision;
    return action;
  }

  std::optional<PlannedAction> removal(const InventoryItem& item, const std::set<ObjectKey>& wanted) const {
    if (wanted.contains(item.key)) return std::nullopt;
    const auto live = live_.find(item.key);
    if (live == live_.end()) return std::nullopt;  // gone already: it leaves the inventory
    const Value& there = live->second.value;
    const std::string_view uid = there.string_at({"metadata", "uid"});
    if (item.uid.empty() ? !ours(there, part_of_) : item.uid != uid)
      return std::nullopt;  // somebody else's by now
    PlannedAction action;
    action.key = item.key;
    action.resource.gvk = {item.key.group_kind.group, item.version, item.key.group_kind.kind};
    action.uid = uid;
    action.revision = item.revision;
    action.adopted = item.adopted;
    action.was_retained = item.retained;
    const std::string_view kept = kept_because(item.key, &there, rules_);
    action.kind = kept.empty() ? ActionKind::Delete : ActionKind::Retain;
    action.reason = kept.empty() ? "it is no longer wanted" : std::string(kept);
    return action;
  }

 private:
  static std::string version_label_path() {
    return fmt::format(".metadata.labels[\"{}\"]", release::kVersionLabel);
  }
  static int revision_from_label(const Value& live) {
    const std::string_view text = live.string_at({"metadata", "labels", release::kVersionLabel});
    int number = 0;
    for (const char c : text.substr(std::min<std::size_t>(text.size(), 1))) {
      if (c < '0' || c > '9' || number > 100000000) return 0;
      number = number * 10 + (c - '0');
    }
    return number;
  }

  const ReleaseId& release_;
  const LiveState& live_;
  const int revision_;
  const PruneRules& rules_;
  const std::string part_of_;
  std::map<ObjectKey, const InventoryItem*> owned_;
};

}  // namespace

std::string_view to_string(ActionKind kind) {
  switch (kind) {
    case ActionKind::Create:
      return "create";
    case ActionKind::Update:
      return "update";
    case ActionKind::Unchanged:
      return "unchanged";
    case ActionKind::Delete:
      return "delete";
    case ActionKind::Retain:
      return "retain";
  }
  return "unchanged";
}

bool Plan::changes_nothing() const {
  return std::ranges::all_of(writes,
                             [](const PlannedAction& a) { return a.kind == ActionKind::Unchanged; }) &&
         std::ranges::all_of(
             removals, [](const PlannedAction& a) { return a.kind == ActionKind::Retain && a.was_retained; });
}

std::size_t Plan::count(ActionKind kind) const {
  const auto same = [&](const PlannedAction& a) { return a.kind == kind; };
  return static_cast<std::size_t>(std::ranges::count_if(writes, same) +
                                  std::ranges::count_if(removals, same));
}

std::string_view kept_because(const ObjectKey& key, const Value* live, const PruneRules& rules) {
  if (live != nullptr) {
    const std::string_view keep = live->string_at({"metadata", "annotations", release::kKeepAnnotation});
    if (!keep.empty() && keep != "false") return "it carries the annotation mistletoe.dev/keep";
  }
  if (key.group_kind == kNamespaceKind && !rules.delete_namespaces)
    return "a namespace is only removed with --delete-namespaces";
  if (key.group_kind == GroupKind{"apiextensions.k8s.io", "CustomResourceDefinition"} && !rules.delete_crds)
    return "a CustomResourceDefinition is only removed with --delete-crds";
  if (key.group_kind == GroupKind{"", "PersistentVolumeClaim"} && !rules.delete_pvcs)
    return "a PersistentVolumeClaim is only removed with --delete-pvcs";
  return {};
}

Result<Plan> make_plan(const ReleaseId& release, std::vector<DesiredObject> desired,
                       const std::vector<InventoryItem>& owned, const LiveState& live, int revision,
                       const PruneRules& rules) {
  Plan plan;
  plan.revision = revision;
  plan.desired = std::move(desired);
  const Planner planner(release, owned, live, revision, rules);
  std::set<ObjectKey> wanted;
  std::vector<const apimachinery::Object*> objects;
  for (std::size_t i = 0; i < plan.desired.size(); ++i) {
    MIST_TRY(PlannedAction action, planner.write(plan.desired[i], i));
    plan.writes.push_back(std::move(action));
    wanted.insert(plan.desired[i].key);
    objects.push_back(&plan.desired[i].rendered.object);
  }
  for (const InventoryItem& item : owned) {
    if (auto removal = planner.removal(item, wanted)) plan.removals.push_back(*std::move(removal));
  }
  MIST_TRY(plan.order, infer_order(objects));
  return plan;
}

std::vector<InventoryItem> inventory_of(const Plan& plan) {
  std::vector<InventoryItem> inventory;
  for (const std::vector<PlannedAction>* actions : {&plan.writes, &plan.removals}) {
    for (const PlannedAction& action : *actions) {
      // A planned delete stays in the pending revision's inventory: should we die before it, the next write
      // knows it.
      inventory.push_back({.key = action.key,
                           .version = action.resource.gvk.version,
                           .uid = action.uid,
                           .revision = action.revision,
                           .retained = action.kind == ActionKind::Retain,
                           .adopted = action.adopted});
    }
  }
  return inventory;
}

}  // namespace mist::apply
