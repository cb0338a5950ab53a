#include "apply/fields/field_transfer.h"

#include <algorithm>
#include <array>

#include "apimachinery/managed_fields.h"
#include "apply/fields/field_owners.h"
#include "apply/inventory.h"
#include "apply/owner.h"
#include "apply/reserved_metadata.h"
#include "base/text.h"
#include "encoding/json.h"
#include "encoding/member_finder.h"

namespace mist::apply {
namespace {

struct Manager {
  std::string_view name, operation;
};
// Managers that describe whole objects, as we do.
constexpr std::array kPredecessors{
    Manager{"helm", "Update"},           Manager{"helm", "Apply"},
    Manager{"kubectl", "Apply"},         Manager{"kubectl-client-side-apply", "Update"},
    Manager{"kubectl-create", "Update"}, Manager{"kubectl-replace", "Update"}};

bool owns_last_applied(const Value& fields) {
  return fields.at_path({"f:metadata", "f:annotations", fmt::format("f:{}", kLastAppliedAnnotation)}) !=
         nullptr;
}

// Of nobody: controllers, and what was written through a subresource.
bool may_be_taken(const Value& entry) {
  const Value* fields = entry.find("fieldsV1");
  return fields != nullptr && fields->is_object() && entry.string_at("subresource").empty() &&
         !is_cluster_manager(entry.string_at("manager"));
}

bool is_predecessor(const Value& entry) {
  const std::string_view name = entry.string_at("manager"), operation = entry.string_at("operation");
  // A manager that wrote that annotation applied the object as kubectl does, under whatever name.
  if (operation == "Update" && owns_last_applied(*entry.find("fieldsV1"))) return true;
  return std::ranges::any_of(
      kPredecessors, [&](const Manager& each) { return each.name == name && each.operation == operation; });
}

// For keys that are not there yet.
void append(Value& object, const std::string& key, Value value) {
  Value::Member& member = object.as_object().emplace_back();
  member.key = key;
  member.value = std::move(value);
}

bool owns_our_mark(const Value& fields) {
  return fields.at_path({"f:metadata", "f:annotations", fmt::format("f:{}", kReleaseAnnotation)}) != nullptr;
}

// The value that a step of fieldsV1 ("f:name", "k:{…}", "v:…", "i:0") leads to; null: it isn't there.
const Value* step_into(const Value& at, const encoding::MemberFinder& members, std::string_view step) {
  if (step.starts_with("f:")) return members.find(step.substr(2));
  const auto key = encoding::parse_json(step.substr(std::min<std::size_t>(2, step.size())));
  if (!at.is_array() || !key.ok()) return nullptr;
  if (step.starts_with("i:")) return &at;
  const bool by_key = step.starts_with("k:") && key->is_object();
  return place_at(at, {{.kind = by_key ? PathStep::Kind::Key : PathStep::Kind::Item, .key = *key}});
}

// Maps to which people and controllers add entries of their own.
constexpr std::array<std::string_view, 6> kSharedMaps{"f:annotations", "f:binaryData",   "f:data",
                                                      "f:labels",      "f:nodeSelector", "f:finalizers"};

// Of fields that a copier owns at a place: those that are wanted there, and all of what was recorded and is
// wanted no longer. In that, nobody can tell what the server had filled in from what others had set; left
// behind, either would keep half an item. Only of sets and maps that are known to be shared each entry counts
// by itself. `wanted` null: nothing is wanted here.
Value fields_to_take(const Value& fields, const Value* wanted, const std::vector<const Value*>& recorded) {
  Value taken = Value::object();
  if (!fields.is_object()) return taken;
  const encoding::MemberFinder wanted_members(wanted);
  std::vector<encoding::MemberFinder> recorded_members;
  for (const Value* object : recorded) recorded_members.emplace_back(object);
  for (const Value::Member& member : fields.as_object()) {
    if (member.key == ".") {
      append(taken, ".", Value::object());
      continue;
    }
    const Value* const wanted_below =
        wanted == nullptr ? nullptr : step_into(*wanted, wanted_members, member.key);
    std::vector<const Value*> recorded_below;
    for (std::size_t i = 0; i < recorded.size(); ++i)
      if (const Value* value = step_into(*recorded[i], recorded_members[i], member.key))
        recorded_below.push_back(value);
    const bool shared = std::ranges::find(kSharedMaps, member.key) != kSharedMaps.end();
    if (wanted_below == nullptr && recorded_below.empty()) continue;
    if (wanted_below == nullptr && !shared) {
      append(taken, member.key, member.value);
    } else if (member.value.empty()) {
      append(taken, member.key, Value::object());
    } else if (Value below = fields_to_take(member.value, wanted_below, recorded_below); !below.empty()) {
      append(taken, member.key, std::move(below));
    }
  }
  return taken;
}

// Both are fieldsV1 of one place.
Value common_sets(const Value& fields, const Value& others) {
  Value common = Value::object();
  if (!fields.is_object()) return common;
  const encoding::MemberFinder known(&others);
  for (const Value::Member& member : fields.as_object()) {
    const Value* other = known.find(member.key);
    if (other == nullptr) continue;
    if (member.value.empty() || other->empty())
      append(common, member.key, Value::object());
    else if (Value below = common_sets(member.value, *other); !below.empty())
      append(common, member.key, std::move(below));
  }
  return common;
}

}  // namespace

ChosenFields predecessors_and(std::set<std::string> named) {
  return [named = only_named(std::move(named))](const Value& entry) {
    return is_predecessor(entry) ? *entry.find("fieldsV1") : named(entry);
  };
}

ChosenFields only_named(std::set<std::string> named) {
  return [named = std::move(named)](const Value& entry) {
    return named.contains(std::string(entry.string_at("manager"))) ? *entry.find("fieldsV1") : Value();
  };
}

bool is_copy(const Value& live, std::string_view manager) {
  return std::ranges::any_of(apimachinery::managed_fields(live), [&](const Value& entry) {
    return !apimachinery::is_applied_by(entry, manager) && may_be_taken(entry) &&
           owns_our_mark(*entry.find("fieldsV1"));
  });
}

ChosenFields copied_of(const Value& wanted, std::vector<const Value*> recorded) {
  // Which revision last changed the object stands in neither.
  Value with_version = wanted;
  with_version["metadata"]["labels"].set(kVersionLabel, "");
  return [wanted = std::move(with_version), recorded = std::move(recorded)](const Value& entry) {
    const Value& fields = *entry.find("fieldsV1");
    return owns_our_mark(fields) ? fields_to_take(fields, &wanted, recorded) : Value();
  };
}

ChosenFields fields_of(const FieldTransfer& transfer) {
  return [managers = transfer.managers, copied = transfer.copied,
          planned = transfer.fields](const Value& entry) {
    const std::pair manager(std::string(entry.string_at("manager")),
                            std::string(entry.string_at("operation")));
    if (std::ranges::find(managers, manager) == managers.end()) return Value();
    return copied ? common_sets(*entry.find("fieldsV1"), planned) : *entry.find("fieldsV1");
  };
}

std::optional<FieldTransfer> field_transfer(const Value& desired, const Value& live,
                                            const ChosenFields& chosen, std::string_view manager) {
  FieldTransfer transfer;
  Value ours;
  std::set<std::pair<std::string, std::string>> managers;
  Value::Array others;
  for (const Value& entry : apimachinery::managed_fields(live)) {
    const bool mine = apimachinery::is_applied_by(entry, manager);
    const Value taken = mine || !may_be_taken(entry) ? Value() : chosen(entry);
    if (!mine && taken.empty()) {
      others.push_back(entry);
      continue;
    }
    const Value* const fields = mine ? entry.find("fieldsV1") : &taken;
    if (!mine) {
      if (Value left = apimachinery::field_set_without(*entry.find("fieldsV1"), taken); !left.empty()) {
        transfer.copied = true;
        others.push_back(entry);
        others.back().set("fieldsV1", std::move(left));
      }
      managers.emplace(entry.string_at("manager"), entry.string_at("operation"));
      apimachinery::add_field_set(transfer.fields, *fields);
    }
    // The latest version that the fields were written in, our own if we have one: the server converts from
    // it.
    if (ours.is_null() || mine) {
      const Value known = ours.is_null() ? Value::object() : *ours.find("fieldsV1");
      ours = entry;
      if (!mine) ours.set("fieldsV1", taken);
      if (fields != nullptr && fields->is_object() && !known.empty())
        apimachinery::add_field_set(ours["fieldsV1"], known);
    } else {
      apimachinery::add_field_set(ours["fieldsV1"], *fields);
    }
  }
  transfer.last_applied = live.at_path({"metadata", "annotations", kLastAppliedAnnotation}) != nullptr &&
                          desired.at_path({"metadata", "annotations", kLastAppliedAnnotation}) == nullptr;
  if (managers.empty()) return std::nullopt;
  ours.set("manager", std::string(manager));
  ours.set("operation", "Apply");
  others.push_back(std::move(ours));
  transfer.managers.assign(managers.begin(), managers.end());
  transfer.managed_fields = Value(std::move(others));
  return transfer;
}

Value with_transfer(Value live, const FieldTransfer& transfer) {
  Value& metadata = live["metadata"];
  metadata.set("managedFields", transfer.managed_fields);
  if (!transfer.last_applied) return live;
  Value* annotations = metadata.find("annotations");
  if (annotations != nullptr) annotations->erase(kLastAppliedAnnotation);
  return live;
}

Value transfer_patch(const Value& live, const FieldTransfer& transfer) {
  Value patch = Value::object();
  pin(patch, live);
  Value& metadata = patch["metadata"];
  metadata.set("managedFields", transfer.managed_fields);
  if (transfer.last_applied) metadata["annotations"].set(kLastAppliedAnnotation, Value());
  return patch;
}

void pin(Value& patch, const Value& live) {
  for (const std::string_view guard : {"uid", "resourceVersion"})
    patch["metadata"].set(guard, live.string_at({"metadata", guard}));
}

Value merge_patch_between(const Value& before, const Value& after) {
  if (!before.is_object() || !after.is_object()) return after;
  Value patch = Value::object();
  const encoding::MemberFinder was(&before), is(&after);
  Value::Object& changes = patch.as_object();
  const auto change = [&](const std::string& key, Value value) {
    Value::Member& member = changes.emplace_back();
    member.key = key;
    member.value = std::move(value);
  };
  for (const Value::Member& member : before.as_object())
    if (!is.contains(member.key)) change(member.key, Value());
  for (const Value::Member& member : after.as_object()) {
    const Value* const old = was.find(member.key);
    if (old == nullptr)
      change(member.key, member.value);
    else if (*old != member.value)
      change(member.key, merge_patch_between(*old, member.value));
  }
  return patch;
}

void keep_removed(std::vector<FieldDifference>& differences, const Value& live, const Value& after) {
  std::erase_if(differences, [&](FieldDifference& difference) {
    if (!difference.removal()) return false;
    const Value* before = place_at(live, difference.steps);
    const Value* now = place_at(after, difference.steps);
    difference.uncertain = false;
    return before == nullptr || (now != nullptr && *before == *now);
  });
}

std::string managers_words(const FieldTransfer& transfer) {
  std::vector<std::string> names;
  for (const auto& [name, operation] : transfer.managers) {
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return join(names, ", ");
}

}  // namespace mist::apply
