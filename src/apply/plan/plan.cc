#include "apply/plan/plan.h"

#include <algorithm>
#include <set>

#include "apply/fields/field_place.h"
#include "apply/fields/forgotten_owners.h"
#include "apply/order/order.h"
#include "apply/reserved_metadata.h"
#include "base/text.h"

namespace mist::apply {

std::string version_label_path() { return fmt::format(".metadata.labels[\"{}\"]", kVersionLabel); }

LiveOwner live_owner_of(const Value& live) {
  return {std::string(apply_set_of(live)),
          std::string(live.string_at({"metadata", "annotations", kReleaseAnnotation}))};
}

std::string_view to_string(ActionKind kind) {
  switch (kind) {
    case ActionKind::Create:
      return "create";
    case ActionKind::Update:
      return "update";
    case ActionKind::Unchanged:
      return "unchanged";
    case ActionKind::Replace:
      return "replace";
    case ActionKind::Adopt:
      return "adopt";
    case ActionKind::Conflict:
      return "conflict";
    case ActionKind::Delete:
      return "delete";
    case ActionKind::Retain:
      return "retain";
  }
  return "unchanged";
}

bool Plan::changes_nothing() const {
  return std::ranges::all_of(
             writes, [&](const PlannedAction& a) { return a.kind == ActionKind::Unchanged || is_hook(a); }) &&
         std::ranges::all_of(removals, [](const PlannedAction& a) {
           return a.kind == ActionKind::Retain && a.recorded.was_retained;
         });
}

std::size_t Plan::count(ActionKind kind) const {
  const auto same = [&](const PlannedAction& a) { return a.kind == kind; };
  return static_cast<std::size_t>(std::ranges::count_if(writes, same) +
                                  std::ranges::count_if(removals, same));
}

std::string_view kept_because(const ObjectKey& key, const Value* live, const PruneRules& rules) {
  if (live != nullptr && is_marked_kept(*live)) return "it carries the annotation mistletoe.dev/keep";
  if (live != nullptr && is_kept_by_policy(*live))
    return "it carries the annotation helm.sh/resource-policy: keep";
  if (key.group_kind == apimachinery::kNamespace && !rules.delete_namespaces)
    return "a namespace is only removed with --delete-namespaces";
  if (key.group_kind == apimachinery::kCustomResourceDefinition) {
    if (rules.left_crds.contains(key.name))
      return "it is in the chart's crds/, and --skip-crds leaves it as it is";
    if (!rules.delete_crds && !rules.unused_crds)
      return "a CustomResourceDefinition is only removed with --delete-crds";
  }
  if (key.group_kind == GroupKind{"", "PersistentVolumeClaim"} && !rules.delete_pvcs)
    return "a PersistentVolumeClaim is only removed with --delete-pvcs";
  return {};
}

std::string_view hook_kept_because(const ObjectKey& key, const Value& hook, const PruneRules& rules) {
  return kept_because(key, is_marked_kept(hook) ? &hook : nullptr, rules);
}

bool hook_may_go(const PlannedAction& action, const DesiredObject& hook) {
  // CRDs and namespaces hold what others made, and an adopted object was there before its hook.
  return !action.recorded.adopted &&
         hook_kept_because(action.key, hook.rendered.object.value(), {.delete_pvcs = true}).empty();
}

bool hook_goes(const PlannedAction& action, const DesiredObject& hook) {
  return hook.hook && hook.hook->delete_succeeded && hook_may_go(action, hook);
}

std::set<GroupKind> kinds_defined_by(const Plan& plan, ActionKind planned) {
  std::set<GroupKind> kinds;
  for (const PlannedAction& action : plan.writes) {
    if (action.kind == planned && action.key.group_kind == apimachinery::kCustomResourceDefinition)
      kinds.insert(apimachinery::defined_kind(plan.desired[action.desired].rendered.object.value()));
  }
  return kinds;
}

Result<Order> order_of(const Plan& plan, const std::vector<std::size_t>& first_too) {
  std::vector<OrderedObject> objects;
  objects.reserve(plan.writes.size());
  for (const PlannedAction& action : plan.writes) {
    const DesiredObject& object = plan.desired[action.desired];
    const bool first = action.first || std::ranges::find(first_too, objects.size()) != first_too.end();
    objects.push_back({&object.rendered.object, object.rendered.file, object.rendered.place(),
                       object.hook ? &*object.hook : nullptr, action.live.unreadable, first});
  }
  return infer_order(objects);
}

Error same_object_error(const Plan& plan, const PlannedAction& first, const PlannedAction& second) {
  const RenderedObject& one = plan.desired[first.desired].rendered;
  const RenderedObject& other = plan.desired[second.desired].rendered;
  Error failure = error(ErrorKind::Invalid,
                        "{} of {} and {} of {} are one object, which the server serves under both "
                        "API groups: first at {}",
                        second.key.display(), other.object.gvk().api_version(), first.key.display(),
                        one.object.gvk().api_version(), one.place().text())
                      .with_hint("keep one of them");
  failure.where = other.place();
  return failure;
}

void follow_replaced_crds(Plan& plan) {
  const std::set<GroupKind> replaced = kinds_defined_by(plan, ActionKind::Replace);
  for (PlannedAction& action : plan.writes) {
    if (!replaced.contains(action.key.group_kind)) continue;
    action.late = true;
    if (action.kind != ActionKind::Unchanged && action.kind != ActionKind::Update &&
        action.kind != ActionKind::Adopt)
      continue;
    action.kind = ActionKind::Create;
    action.reason = "its CRD is replaced, which deletes it";
    action.recorded.revision = plan.revision;
    action.adopting = action.recorded.adopted = action.ask = false;
    action.uid.clear();
    action.live.version.clear();
    action.differences.clear();
  }
  for (PlannedAction& action : plan.writes) {
    if (action.kind != ActionKind::Replace ||
        action.key.group_kind != apimachinery::kCustomResourceDefinition)
      continue;
    const GroupKind kind = apimachinery::defined_kind(plan.desired[action.desired].rendered.object.value());
    action.reason += fmt::format("; with it goes every {} in the cluster", kind.kind);
  }
}

kube::ObjectRef place_of(const Plan& plan, const PlannedAction& action, kube::ResourceInfo served) {
  const std::string& ns = action.key.ns.empty() ? plan.owner.ns : action.key.ns;
  const bool namespaced = served.namespaced;
  return {std::move(served), namespaced ? ns : std::string(), action.key.name};
}

std::vector<FieldDifference> differences_of(const DesiredObject& desired, const Value& live,
                                            std::string_view manager) {
  std::vector<FieldDifference> found = differences(desired.rendered.object.value(), live, manager);
  std::erase_if(found, [](const FieldDifference& d) { return d.path == version_label_path(); });
  return found;
}

namespace {

bool is_of_others(const FieldDifference& difference) {
  return !difference.managers.empty() && !difference.stays_with_others();
}

}  // namespace

std::string first_field_of_others(const std::vector<FieldDifference>& differences) {
  const auto first = std::ranges::find_if(differences, is_of_others);
  return first == differences.end() ? std::string() : first->path;
}

std::string fields_of_others(const std::vector<FieldDifference>& differences) {
  std::string others;
  for (const FieldDifference& difference : differences) {
    if (!is_of_others(difference)) continue;
    others += fmt::format("{}{} ({})", others.empty() ? "" : ", ", difference.path,
                          join(difference.managers, ", "));
  }
  return others;
}

std::string transfer_words(const PlannedAction& action) {
  const auto& managers = action.transfer->managers;
  if (managers.size() == 1 && managers.front().first == kForgottenOwner && !action.adopting)
    return "its managed fields were cleared outside of Mistletoe";
  const std::string_view why = action.adopting           ? "it belongs to no release and is adopted"
                               : action.transfer->copied ? "it was recreated outside of Mistletoe"
                                                         : "it was adopted";
  return fmt::format("{}, with the fields of {}", why, managers_words(*action.transfer));
}

std::string difference_words(const std::vector<FieldDifference>& differences) {
  if (differences.empty()) return "only its field ownership differs";
  return differences.size() == 1 ? differences[0].path + " differs"
                                 : fmt::format("{} fields differ", differences.size());
}

bool is_owned(const InventoryItem& item, const Value& live, std::string_view part_of) {
  const std::string_view mark = apply_set_of(live);
  if (!mark.empty()) return mark == part_of;
  return !item.hook && !item.uid.empty() && item.uid == live.string_at({"metadata", "uid"});
}

bool has_adopted(const Owner& owner, const std::vector<InventoryItem>& owned) {
  return std::ranges::any_of(owned, [&](const InventoryItem& item) {
    const bool own_namespace = item.key.group_kind == apimachinery::kNamespace && item.key.name == owner.ns;
    return item.adopted && item.taken_from.empty() && !own_namespace;
  });
}

Status refuse_conflicts(const Plan& plan) {
  constexpr std::size_t kShown = 20;
  std::optional<Error> failure;
  OtherOwners others;
  std::size_t count = 0;
  // `rendered`: null of what is to be deleted.
  const auto refuse = [&](const PlannedAction& action, const RenderedObject* rendered) {
    if (action.kind != ActionKind::Conflict) return;
    ++count;
    if (!action.owner.empty()) others.releases.push_back(action.owner);
    // Reasons of conflicts begin with "it".
    const std::string words =
        action.key.display() +
        action.reason.substr(std::min<std::size_t>(action.reason.size(), std::string_view("it").size()));
    if (!failure) {
      failure = error(ErrorKind::Conflict, "{}", words);
      if (rendered != nullptr) failure->where = place_of_field(*rendered, action.refusal.field);
      failure->hint = action.refusal.hint;
    } else if (count <= kShown) {
      failure->frames.push_back(
          rendered == nullptr
              ? fmt::format("also: {}", words)
              : fmt::format("also: {} ({})", words, place_of_field(*rendered, action.refusal.field).text()));
    }
  };
  for (const PlannedAction& action : plan.writes) refuse(action, &plan.desired[action.desired].rendered);
  for (const PlannedAction& action : plan.removals) refuse(action, nullptr);
  if (!failure) return {};
  if (count > kShown) failure->frames.push_back(fmt::format("and {} more", count - kShown));
  if (!others.releases.empty()) failure->details.set(std::move(others));
  return *std::move(failure);
}

std::vector<InventoryItem> inventory_of(const Plan& plan) {
  std::vector<InventoryItem> inventory;
  for (const std::vector<PlannedAction>* actions : {&plan.writes, &plan.removals}) {
    for (const PlannedAction& action : *actions) {
      // Of a replacement either the old object or the new one may be there: its mark tells.
      const bool replaced = action.kind == ActionKind::Replace;
      // A planned delete stays in the pending revision's inventory: should we die before it, the next write
      // knows it.
      inventory.push_back({.key = action.key,
                           .version = action.resource.gvk.version,
                           .uid = replaced ? std::string() : action.uid,
                           .revision = action.recorded.revision,
                           .retained = action.kind == ActionKind::Retain,
                           .adopted = action.recorded.adopted,
                           .replacing = replaced,
                           .hook = actions == &plan.writes && plan.is_hook(action),
                           .ended = action.recorded.ended && !replaced,
                           .fields_taken = action.recorded.fields_taken && !action.transfer,
                           .taken_from = action.recorded.taken_from,
                           .left = action.recorded.left ? action.reason : std::string(),
                           .server_made = action.recorded.server_made});
    }
  }
  inventory.insert(inventory.end(), plan.waiting.begin(), plan.waiting.end());
  return inventory;
}

}  // namespace mist::apply
