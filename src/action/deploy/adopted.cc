#include "action/deploy/adopted.h"

#include <algorithm>
#include <array>
#include <set>

#include "apimachinery/managed_fields.h"
#include "apply/fields/field_owners.h"
#include "apply/fields/field_transfer.h"
#include "apply/plan/settle.h"
#include "apply/reserved_metadata.h"
#include "base/some_of.h"
#include "base/text.h"
#include "encoding/json.h"
#include "kube/api_failure.h"
#include "kube/lost_version.h"
#include "render/recorded_options.h"

namespace mist::action {

using apply::PlannedAction;
using encoding::Value;

namespace {

constexpr std::string_view kManager = kube::kFieldManager;

bool is_ours(const Value& entry) { return apimachinery::is_applied_by(entry, kManager); }

bool same_owner(const Value& a, const Value& b) {
  return std::ranges::all_of(std::array{"manager", "operation", "subresource"},
                             [&](std::string_view part) { return a.string_at(part) == b.string_at(part); });
}

// All that one owner has, in whatever versions it was written.
Value fields_of(const Value& object, const Value& owner) {
  Value fields = Value::object();
  for (const Value& entry : apimachinery::managed_fields(object)) {
    const Value* more = entry.find("fieldsV1");
    if (more != nullptr && same_owner(entry, owner)) apimachinery::add_field_set(fields, *more);
  }
  return fields;
}

// The keys of list items are needed to name them, though somebody else may own them still.
Value with_keys(Value fields) {
  if (!fields.is_object()) return fields;
  for (Value::Member& member : fields.as_object()) {
    member.value = with_keys(std::move(member.value));
    if (!member.key.starts_with("k:")) continue;
    const auto key = encoding::parse_json(std::string_view(member.key).substr(2));
    if (!key.ok() || !key->is_object() || !member.value.is_object() || member.value.empty()) continue;
    for (const Value::Member& part : key->as_object()) member.value.set("f:" + part.key, Value::object());
  }
  return fields;
}

// The fields that had an owner before and that nobody else owns now. Fields that others wrote since are left
// to them.
Value fields_taken(const Value& before, const Value& live) {
  Value known = Value::object();
  for (const Value& entry : apimachinery::managed_fields(live)) {
    const Value* fields = entry.find("fieldsV1");
    if (fields != nullptr && !is_ours(entry)) apimachinery::add_field_set(known, *fields);
  }
  Value taken = Value::object();
  for (const Value& entry : apimachinery::managed_fields(before)) {
    const Value* fields = entry.find("fieldsV1");
    if (fields == nullptr || !fields->is_object() || !entry.string_at("subresource").empty()) continue;
    apimachinery::add_field_set(taken, apimachinery::field_set_without(*fields, known));
  }
  return with_keys(std::move(taken));
}

// Fields that managers have written since and did not own before.
Value fields_since(const Value& before, const Value& live) {
  Value since = Value::object();
  for (const Value& entry : apimachinery::managed_fields(live)) {
    const Value* fields = entry.find("fieldsV1");
    if (fields == nullptr || !fields->is_object() || is_ours(entry)) continue;
    apimachinery::add_field_set(since, apimachinery::field_set_without(*fields, fields_of(before, entry)));
  }
  return since;
}

// The object that a manager who owns just these fields would apply, with the values from before.
Value part_of(Value before, Value fields) {
  if (fields.empty()) {  // which would stand for all of it
    Value metadata = Value::object({{"name", before.string_at({"metadata", "name"})}});
    if (const auto ns = before.string_at({"metadata", "namespace"}); !ns.empty())
      metadata.set("namespace", ns);
    return Value::object({{"apiVersion", before.string_at("apiVersion")},
                          {"kind", before.string_at("kind")},
                          {"metadata", std::move(metadata)}});
  }
  const Value owner =
      Value::object({{"manager", kManager}, {"operation", "Apply"}, {"fieldsV1", std::move(fields)}});
  before["metadata"].set("managedFields", Value::array({owner}));
  return apply::applied_fields(before, kManager);
}

// Gives each earlier owner its fields back, except for those that others have written since.
Value owners_again(const Value& before, const Value& live) {
  Value::Array owners;
  for (const Value& entry : apimachinery::managed_fields(live)) {
    if (!is_ours(entry)) owners.push_back(entry);
  }
  const Value since = fields_since(before, live);
  for (Value entry : apimachinery::managed_fields(before)) {
    const Value* all = entry.find("fieldsV1");
    if (all == nullptr || !all->is_object() || !entry.string_at("subresource").empty()) continue;
    Value fields = apimachinery::field_set_without(*all, since);
    if (fields.empty()) continue;
    entry.set("fieldsV1", fields);
    const auto known = std::ranges::find_if(owners, [&](const Value& each) {
      return same_owner(each, entry) && each.string_at("apiVersion") == entry.string_at("apiVersion");
    });
    if (known == owners.end())
      owners.push_back(std::move(entry));
    else
      apimachinery::add_field_set((*known)["fieldsV1"], fields);
  }
  return Value(std::move(owners));
}

// Without what the server keeps for itself, and what controllers say.
Value comparable(Value object) {
  object.erase("status");
  Value& metadata = object["metadata"];
  for (const std::string_view field : {"managedFields", "resourceVersion", "generation", "selfLink"})
    metadata.erase(field);
  for (const std::string_view field : {"labels", "annotations"}) {
    const Value* map = metadata.find(field);
    if (map != nullptr && map->empty()) metadata.erase(field);
  }
  return object;
}

void add_paths(const Value& patch, const std::string& path, std::vector<std::string>& paths) {
  for (const Value::Member& member : patch.as_object()) {
    const std::string here = path + "." + member.key;
    if (member.value.is_object() && !member.value.empty())
      add_paths(member.value, here, paths);
    else
      paths.push_back(here);
  }
}

std::string what_differs(const Value& before, const Value& now) {
  constexpr std::size_t kShown = 8;
  Value after = comparable(now);
  const bool metadata_only = std::ranges::all_of(before.as_object(), [](const Value::Member& member) {
    return member.key == "apiVersion" || member.key == "kind" || member.key == "metadata";
  });
  if (metadata_only)
    std::erase_if(after.as_object(), [](const Value::Member& member) { return member.key != "metadata"; });
  const Value patch = apply::merge_patch_between(comparable(before), after);
  std::vector<std::string> paths;
  for (const Value::Member& member : patch.as_object()) {
    if (member.key == "apiVersion" || member.key == "kind") continue;
    if (member.value.is_object() && !member.value.empty())
      add_paths(member.value, "." + member.key, paths);
    else
      paths.push_back("." + member.key);
  }
  return some_of(std::move(paths), kShown);
}

std::string words(const Value& before, const Value& now) {
  const std::string differs = what_differs(before, now);
  return differs.empty() ? "it was there before the release, and is as it was"
                         : fmt::format("it was there before the release; otherwise than before: {}", differs);
}

// The first that adopted it knew it as it was.
const Value* recorded_before(const ReleaseState& state, const PlannedAction& action) {
  for (const release::Revision& revision : state.unfinished)
    if (const Value* before = before_adoption(revision, action.key, action.uid)) return before;
  return nullptr;
}

// Only the labels go, from what can't be applied as it was.
Result<Value> without_marks(const Environment& environment, const kube::ObjectRef& ref, const Value& live,
                            const Context& context) {
  Value patch = Value::object();
  apply::pin(patch, live);
  Value& metadata = patch["metadata"];
  for (const std::string_view label : apply::kOwnershipLabels) metadata["labels"].set(label, Value());
  metadata["annotations"].set(apply::kReleaseAnnotation, Value());
  return environment.client.merge_patch(ref, patch, context);
}

Result<GivenBack> give_back_once(const Environment& environment, const kube::ObjectRef& ref,
                                 const std::string& uid, const std::string& part_of_us, const Value& before,
                                 const Context& context) {
  auto found = environment.client.get(ref, context);
  if (!found.ok() && kube::is_absent(found.error())) return GivenBack{"it is gone"};
  MIST_TRY(Value live, std::move(found));
  const std::string_view owner = live.string_at({"metadata", "labels", apply::kPartOfLabel});
  const bool somebody_elses = !owner.empty() && owner != part_of_us;
  if (live.string_at({"metadata", "uid"}) != uid || somebody_elses)
    return GivenBack{"it is somebody else's by now"};
  const Value taken = fields_taken(before, live);
  if (owner.empty() && taken.empty() && std::ranges::none_of(apimachinery::managed_fields(live), is_ours))
    return GivenBack{words(before, live)};  // nothing of it was written
  Value wanted = part_of(before, taken);
  apply::pin(wanted, live);
  const auto applied = kube::apply_over_lost_version(environment.client, ref, wanted, {}, context);
  const bool refused = !applied.ok() && (applied.error().kind == ErrorKind::Invalid ||
                                         kube::is_field_conflict(applied.error()));
  if (refused) {
    MIST_TRY(const Value unmarked, without_marks(environment, ref, live, context));
    return GivenBack{
        fmt::format("{}; it could not be given back: {}", words(before, unmarked), applied.error().because),
        true};
  }
  if (!applied.ok()) return applied.error();
  Value patch = Value::object();
  apply::pin(patch, *applied);
  patch["metadata"].set("managedFields", owners_again(before, *applied));
  MIST_TRY(const Value given, environment.client.merge_patch(ref, patch, context));
  return GivenBack{words(before, given)};
}

// As long as somebody else is faster: controllers write all the time.
template <typename Once>
auto until_no_conflict(const Environment& environment, const Context& context, Once&& once)
    -> decltype(once()) {
  constexpr int kTries = 20;
  for (int tries = 1;; ++tries) {
    auto done = once();
    if (done.ok() || done.error().kind != ErrorKind::Conflict || tries == kTries) return done;
    environment.clock.sleep(std::chrono::milliseconds(50), context.stop());
    MIST_TRY_VOID(context.check());
  }
}

void add_recorded(const ReleaseState& state, const std::vector<PlannedAction>& actions, Value& all) {
  const std::set<apimachinery::ObjectKey> undeployed_adoptions = state.undeployed_adoptions();
  for (const PlannedAction& action : actions) {
    if (!action.recorded.adopted || !undeployed_adoptions.contains(action.key)) continue;
    if (const Value* before = recorded_before(state, action)) all.push_back(*before);
  }
}

}  // namespace

Value before_adoption(const ReleaseState& state, const apply::Plan& plan, const apply::LiveState& live) {
  Value all = Value::array();
  add_recorded(state, plan.writes, all);
  add_recorded(state, plan.removals, all);
  for (const PlannedAction& action : plan.writes) {
    const auto there = live.find(action.key);
    const bool taken = action.kind == apply::ActionKind::Adopt ||
                       (action.kind == apply::ActionKind::Replace && action.adopting);
    if (!taken || !action.recorded.adopted || !action.owner.empty() || there == live.end()) continue;
    Value before = there->second.value;
    before.erase("status");
    all.push_back(std::move(before));
  }
  return all.empty() ? Value() : all;
}

const Value* before_adoption(const release::Revision& revision, const apimachinery::ObjectKey& key,
                             std::string_view uid) {
  const Value* const all = render::before_adoption_in(revision.options);
  if (all == nullptr) return nullptr;
  const auto is_same_kind = [&](const Value& before) {
    return before.string_at("kind") == key.group_kind.kind;
  };
  auto found = std::ranges::find_if(all->as_array(), [&](const Value& before) {
    return is_same_kind(before) && before.string_at({"metadata", "uid"}) == uid;
  });
  if (found == all->as_array().end())
    found = std::ranges::find_if(all->as_array(), [&](const Value& before) {
      return is_same_kind(before) && before.string_at({"metadata", "name"}) == key.name &&
             before.string_at({"metadata", "namespace"}) == key.ns;
    });
  return found == all->as_array().end() ? nullptr : &*found;
}

Result<GivenBack> give_adopted_back(const Environment& environment, const ReleaseState& state,
                                    const PlannedAction& action, const Context& context) {
  const Value* before = recorded_before(state, action);
  if (before == nullptr) return GivenBack{};
  return give_adopted_back(environment, state.id, *before, action, context);
}

Result<GivenBack> give_adopted_back(const Environment& environment, const release::ReleaseId& id,
                                    const Value& before, const PlannedAction& action,
                                    const Context& context) {
  const auto gvk =
      apimachinery::GroupVersionKind::parse(before.string_at("apiVersion"), before.string_at("kind"));
  const apply::InventoryItem item{
      .key = action.key, .version = gvk ? gvk->version : std::string(), .uid = action.uid};
  MIST_TRY(const std::optional<kube::ResourceInfo> resource,
           apply::resource_of(environment.client, item, context));
  if (!resource) return GivenBack{"it is gone"};
  const kube::ObjectRef ref{*resource, action.key.ns, action.key.name};
  return until_no_conflict(environment, context,
                           [&] {
                             return give_back_once(environment, ref, action.uid, apply::apply_set_id(id),
                                                   before, context);
                           })
      .in(fmt::format("while giving back {}", action.key.display()));
}

Status leave_adopted(const Environment& environment, const release::ReleaseId& id,
                     const PlannedAction& action, const Context& context) {
  const apply::InventoryItem item{
      .key = action.key, .version = action.resource.gvk.version, .uid = action.uid};
  MIST_TRY(const std::optional<kube::ResourceInfo> resource,
           apply::resource_of(environment.client, item, context));
  if (!resource) return {};
  const kube::ObjectRef ref{*resource, action.key.ns, action.key.name};
  Status left = until_no_conflict(environment, context, [&]() -> Status {
    auto live = environment.client.get(ref, context);
    if (!live.ok() && kube::is_absent(live.error())) return {};
    if (!live.ok()) return std::move(live).error();
    const bool ours = live->string_at({"metadata", "uid"}) == action.uid &&
                      apply::live_owner_of(*live).part_of == apply::apply_set_id(id);
    if (!ours) return {};
    auto unmarked = without_marks(environment, ref, *live, context);
    return unmarked.ok() ? Status() : Status(std::move(unmarked).error());
  });
  const bool refused =
      !left.ok() && (left.error().kind == ErrorKind::Forbidden || left.error().kind == ErrorKind::Invalid);
  if (!refused) return std::move(left).in(fmt::format("while leaving {}", action.key.display()));
  environment.events.warn(fmt::format("{} keeps the ownership labels of the release: {}",
                                      action.key.display(), left.error().to_line()));
  return {};
}

}  // namespace mist::action
