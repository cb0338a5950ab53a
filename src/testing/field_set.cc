#include "testing/field_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "encoding/json.h"

namespace mist::testing {
namespace {

struct KeyedList {
  std::string_view field;
  std::array<std::string_view, 2> keys;  // an empty second key: one is enough
};
constexpr KeyedList kKeyedLists[] = {
    {"containers", {"name"}},
    {"initContainers", {"name"}},
    {"ephemeralContainers", {"name"}},
    {"volumes", {"name"}},
    {"env", {"name"}},
    {"imagePullSecrets", {"name"}},
    {"secrets", {"name"}},
    {"webhooks", {"name"}},
    {"volumeMounts", {"mountPath"}},
    {"volumeDevices", {"devicePath"}},
    {"hostAliases", {"ip"}},
    {"conditions", {"type"}},
    {"ownerReferences", {"uid"}},
    {"ports", {"containerPort", "protocol"}},
    {"ports", {"port", "protocol"}},
    {"topologySpreadConstraints", {"topologyKey", "whenUnsatisfiable"}},
};
constexpr std::string_view kSetLists[] = {"finalizers"};
constexpr std::string_view kAtomicMaps[] = {"selector",        "nodeSelector",  "secretKeyRef",
                                            "configMapKeyRef", "fieldRef",      "resourceFieldRef",
                                            "labelSelector",   "scaleTargetRef"};
constexpr std::string_view kSystemMetadata[] = {
    "name",         "namespace",         "uid",
    "generation",   "resourceVersion",   "creationTimestamp",
    "selfLink",     "deletionTimestamp", "deletionGracePeriodSeconds",
    "generateName", "managedFields"};

// The path element of one item, or nothing when the list is atomic.
std::optional<std::string> item_element(std::string_view field, const Value& item) {
  if (std::ranges::find(kSetLists, field) != std::end(kSetLists)) return "v:" + encoding::to_json(item);
  for (const KeyedList& list : kKeyedLists) {
    if (list.field != field || item.find(list.keys[0]) == nullptr) continue;
    Value keys = Value::object();
    for (const std::string_view key : list.keys) {
      if (key.empty()) continue;
      const Value* value = item.find(key);
      if (value != nullptr)
        keys.set(key, *value);
      else if (key == "protocol")
        keys.set(key, "TCP");  // the schema's default
      else
        return std::nullopt;
    }
    return "k:" + encoding::to_json(keys);
  }
  return std::nullopt;
}

bool granular_map(std::string_view field, const Value& value) {
  return value.is_object() && std::ranges::find(kAtomicMaps, field) == std::end(kAtomicMaps);
}

bool granular_list(std::string_view field, const Value& value) {
  return value.is_array() &&
         std::ranges::all_of(value.as_array(),
                             [&](const Value& item) { return item_element(field, item).has_value(); }) &&
         (std::ranges::find(kSetLists, field) != std::end(kSetLists) ||
          std::ranges::any_of(kKeyedLists, [&](const KeyedList& list) { return list.field == field; }));
}

Value* find_item(Value& list, std::string_view field, std::string_view element) {
  for (Value& item : list.as_array())
    if (item_element(field, item) == element) return &item;
  return nullptr;
}
const Value* find_item(const Value& list, std::string_view field, std::string_view element) {
  return find_item(const_cast<Value&>(list), field, element);
}

void collect(const Value& value, std::string_view field, FieldSet& out) {
  if (granular_map(field, value) && value.size() > 0) {
    for (const Value::Member& member : value.as_object())
      collect(member.value, member.key, out.children["f:" + member.key]);
  } else if (granular_list(field, value) && value.size() > 0) {
    for (const Value& item : value.as_array()) {
      FieldSet& child = out.children[*item_element(field, item)];
      child.self = true;
      if (item.is_object()) collect(item, "", child);
    }
  } else {
    out.self = true;
  }
}

void compare(const Value& before, const Value& after, std::string_view field, FieldSet& written,
             FieldSet& removed);

// One step below: either side may be missing.
void compare_child(const Value* before, const Value* after, std::string_view field,
                   const std::string& element, FieldSet& written, FieldSet& removed) {
  FieldSet more_written, more_removed;
  if (before == nullptr) {
    collect(*after, field, more_written);
    if (!element.starts_with("f:")) more_written.self = true;
  } else if (after == nullptr) {
    collect(*before, field, more_removed);
    if (!element.starts_with("f:")) more_removed.self = true;
  } else {
    compare(*before, *after, field, more_written, more_removed);
  }
  if (!more_written.empty()) add(written.children[element], more_written);
  if (!more_removed.empty()) add(removed.children[element], more_removed);
}

void compare(const Value& before, const Value& after, std::string_view field, FieldSet& written,
             FieldSet& removed) {
  if (before == after) return;
  if (granular_map(field, before) && granular_map(field, after)) {
    for (const Value::Member& member : before.as_object())
      compare_child(&member.value, after.find(member.key), member.key, "f:" + member.key, written, removed);
    for (const Value::Member& member : after.as_object())
      if (before.find(member.key) == nullptr)
        compare_child(nullptr, &member.value, member.key, "f:" + member.key, written, removed);
  } else if (granular_list(field, before) && granular_list(field, after)) {
    for (const Value& item : before.as_array()) {
      const std::string element = *item_element(field, item);
      compare_child(&item, find_item(after, field, element), "", element, written, removed);
    }
    for (const Value& item : after.as_array()) {
      const std::string element = *item_element(field, item);
      if (find_item(before, field, element) == nullptr)
        compare_child(nullptr, &item, "", element, written, removed);
    }
  } else {
    collect(before, field, removed);
    collect(after, field, written);
    removed = difference(removed, written);
  }
}

void merge(Value& live, const Value& applied, std::string_view field) {
  if (granular_map(field, live) && granular_map(field, applied)) {
    for (const Value::Member& member : applied.as_object()) {
      if (member.value.is_null()) continue;
      if (Value* old = live.find(member.key))
        merge(*old, member.value, member.key);
      else
        live.set(member.key, member.value);
    }
  } else if (granular_list(field, live) && granular_list(field, applied)) {
    for (const Value& item : applied.as_array()) {
      if (Value* old = find_item(live, field, *item_element(field, item)))
        merge(*old, item, "");
      else
        live.push_back(item);
    }
  } else {
    live = applied;
  }
}

// True when `value` itself must go.
bool prune(Value& value, std::string_view field, const FieldSet& removed, const FieldSet* kept) {
  if (removed.self && (kept == nullptr || kept->empty())) return true;
  const auto kept_below = [&](const std::string& element) -> const FieldSet* {
    if (kept == nullptr) return nullptr;
    const auto found = kept->children.find(element);
    return found == kept->children.end() ? nullptr : &found->second;
  };
  const bool was_empty = value.empty();
  for (const auto& [element, below] : removed.children) {
    if (value.is_object() && element.starts_with("f:")) {
      const std::string name = element.substr(2);
      Value* member = value.find(name);
      if (member != nullptr && prune(*member, name, below, kept_below(element))) value.erase(name);
    } else if (value.is_array()) {
      Value* item = find_item(value, field, element);
      if (item != nullptr && prune(*item, "", below, kept_below(element)))
        value.as_array().erase(value.as_array().begin() + (item - value.as_array().data()));
    }
  }
  return !was_empty && value.empty() && !value.is_string() && (kept == nullptr || kept->empty());
}

void list_paths(const FieldSet& set, const std::string& prefix, std::vector<std::string>& out) {
  if (set.self && !prefix.empty()) out.push_back(prefix);
  for (const auto& [element, child] : set.children) {
    std::string path = prefix;
    if (element.starts_with("f:")) {
      path += "." + element.substr(2);
    } else if (element.starts_with("v:")) {
      path += "[=" + element.substr(2) + "]";
    } else {
      // {"name":"web"} → [name="web"]
      std::string inside = element.substr(3, element.size() - 4), spelled;
      bool in_key = false, quoted = false;
      for (std::size_t i = 0; i < inside.size(); ++i) {
        const char c = inside[i];
        if (c == '"' && !quoted && (i == 0 || inside[i - 1] == ','))
          in_key = true;
        else if (c == '"' && in_key)
          in_key = false;
        else if (c == ':' && !quoted)
          spelled += '=';
        else {
          if (c == '"') quoted = !quoted;
          spelled += c;
        }
      }
      path += "[" + spelled + "]";
    }
    list_paths(child, path, out);
  }
}

}  // namespace

Value FieldSet::to_fields_v1() const {
  Value fields = Value::object();
  if (self && !children.empty()) fields.set(".", Value::object());
  for (const auto& [element, child] : children) fields.set(element, child.to_fields_v1());
  return fields;
}

FieldSet FieldSet::from_fields_v1(const Value& fields) {
  FieldSet set;
  if (!fields.is_object()) return set;
  if (fields.size() == 0) set.self = true;
  for (const Value::Member& member : fields.as_object()) {
    if (member.key == ".")
      set.self = true;
    else
      set.children[member.key] = from_fields_v1(member.value);
  }
  return set;
}

std::vector<std::string> FieldSet::paths() const {
  std::vector<std::string> out;
  list_paths(*this, "", out);
  return out;
}

void add(FieldSet& to, const FieldSet& more) {
  to.self = to.self || more.self;
  for (const auto& [element, child] : more.children) add(to.children[element], child);
}

FieldSet intersection(const FieldSet& a, const FieldSet& b) {
  FieldSet result;
  result.self = a.self && b.self;
  for (const auto& [element, child] : a.children) {
    const auto other = b.children.find(element);
    if (other == b.children.end()) continue;
    if (FieldSet both = intersection(child, other->second); !both.empty())
      result.children[element] = std::move(both);
  }
  return result;
}

FieldSet difference(const FieldSet& a, const FieldSet& b) {
  FieldSet result;
  result.self = a.self && !b.self;
  for (const auto& [element, child] : a.children) {
    const auto other = b.children.find(element);
    FieldSet rest = other == b.children.end() ? child : difference(child, other->second);
    if (!rest.empty()) result.children[element] = std::move(rest);
  }
  return result;
}

namespace {
Value without_system_fields(Value object) {
  object.erase("apiVersion");
  object.erase("kind");
  if (Value* metadata = object.find("metadata")) {
    for (const std::string_view field : kSystemMetadata) metadata->erase(field);
    if (metadata->size() == 0) object.erase("metadata");
  }
  return object;
}
}  // namespace

FieldSet fields_of(const Value& object) {
  FieldSet set;
  collect(without_system_fields(object), "", set);
  set.self = false;
  return set;
}

FieldChanges compare_fields(const Value& before, const Value& after) {
  FieldChanges changes;
  compare(without_system_fields(before), without_system_fields(after), "", changes.written, changes.removed);
  changes.written.self = changes.removed.self = false;
  return changes;
}

void merge_applied(Value& live, const Value& applied) { merge(live, applied, ""); }

void remove_fields(Value& object, const FieldSet& removed, const FieldSet& kept) {
  FieldSet root = removed;
  root.self = false;
  prune(object, "", root, &kept);
}

}  // namespace mist::testing
