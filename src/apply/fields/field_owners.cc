#include "apply/fields/field_owners.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "apimachinery/managed_fields.h"
#include "encoding/json.h"

namespace mist::apply {
namespace {

std::string field(std::string_view name) {
  const bool plain = std::ranges::all_of(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; });
  return plain ? fmt::format(".{}", name) : fmt::format("[\"{}\"]", name);
}

std::string text_of(const Value& value) {
  return value.is_string() ? value.as_string() : encoding::to_json(value);
}

// The item of a keyed list; null if there is none.
const Value* item_with(const Value* list, const Value& key) {
  if (list == nullptr || !list->is_array()) return nullptr;
  const auto found = std::ranges::find_if(list->as_array(), [&](const Value& item) {
    return std::ranges::all_of(key.as_object(), [&](const Value::Member& part) {
      const Value* value = item.find(part.key);
      if (value != nullptr) return *value == part.value;
      return part.key == "protocol" && part.value == Value("TCP");  // the one key that is defaulted
    });
  });
  return found == list->as_array().end() ? nullptr : &*found;
}

const Value* same_item(const Value* list, const Value& wanted) {
  if (list == nullptr || !list->is_array()) return nullptr;
  const auto found = std::ranges::find(list->as_array(), wanted);
  return found == list->as_array().end() ? nullptr : &*found;
}

const Value* member(const Value* object, std::string_view name) {
  return object == nullptr ? nullptr : object->find(name);
}

class Walk {
 public:
  Walk(const Value& entry, std::vector<ForeignField>& found) : entry_(entry), found_(found) {}

  // `fields` and `ours` are fieldsV1 of this place: theirs and, if we own something here, ours.
  void descend(const Value& fields, const Value* ours, const Value* desired, const Value* live,
               const std::string& path) {
    bool leaf = true;
    if (fields.is_object()) {
      for (const Value::Member& child : fields.as_object()) {
        if (child.key == ".") continue;
        leaf = false;
        step(child, member(ours, child.key), desired, live, path);
      }
    }
    if (!leaf || path.empty()) return;
    found_.push_back(
        {.path = path,
         .live = live == nullptr ? Value() : *live,
         .manager = std::string(entry_.string_at("manager")),
         .operation = std::string(entry_.string_at("operation")),
         .subresource = std::string(entry_.string_at("subresource")),
         .time = std::string(entry_.string_at("time")),
         .wanted = desired != nullptr && !desired->is_null(),
         .shared = ours != nullptr || (desired != nullptr && live != nullptr && *desired == *live)});
  }

 private:
  void step(const Value::Member& child, const Value* ours, const Value* desired, const Value* live,
            const std::string& path) {
    const std::string_view key = child.key;
    if (key.starts_with("f:")) {
      const std::string_view name = key.substr(2);
      return descend(child.value, ours, member(desired, name), member(live, name), path + field(name));
    }
    auto value = encoding::parse_json(key.size() > 2 ? key.substr(2) : "null");
    if (!value.ok()) return;
    if (key.starts_with("k:") && value->is_object()) {
      std::string label;
      for (const Value::Member& part : value->as_object())
        label += fmt::format("{}{}={}", label.empty() ? "" : ",", part.key, text_of(part.value));
      return descend(child.value, ours, item_with(desired, *value), item_with(live, *value),
                     fmt::format("{}[{}]", path, label));
    }
    if (key.starts_with("v:"))
      return descend(child.value, ours, same_item(desired, *value), same_item(live, *value),
                     fmt::format("{}[{}]", path, text_of(*value)));
  }

  const Value& entry_;
  std::vector<ForeignField>& found_;
};

}  // namespace

std::vector<ForeignField> foreign_fields(const Value& desired, const Value& live, std::string_view manager) {
  std::vector<ForeignField> found;
  const Value::Array& entries = apimachinery::managed_fields(live);
  const auto is_ours = [&](const Value& entry) {
    return entry.string_at("manager") == manager && entry.string_at("operation") == "Apply";
  };
  const Value* ours = nullptr;
  for (const Value& entry : entries) {
    if (is_ours(entry) && entry.string_at("subresource").empty()) ours = entry.find("fieldsV1");
  }
  for (const Value& entry : entries) {
    if (is_ours(entry) || entry.string_at("subresource") == "status") continue;
    const Value* fields = entry.find("fieldsV1");
    if (fields == nullptr || !fields->is_object()) continue;
    Walk(entry, found).descend(*fields, ours, &desired, &live, "");
  }
  std::erase_if(found, [](const ForeignField& each) { return paths_touch(each.path, ".status"); });
  return found;
}

namespace {

// The part of `live` that the fieldsV1 of its place name.
Value named_part(const Value& fields, const Value& live) {
  const bool whole = !fields.is_object() || fields.as_object().empty();
  if (whole) return live;
  if (live.is_array()) {
    Value::Array items;
    for (const Value& item : live.as_array()) {
      for (const Value::Member& child : fields.as_object()) {
        if (child.key.size() < 3 || child.key == ".") continue;
        auto key = encoding::parse_json(std::string_view(child.key).substr(2));
        if (!key.ok()) continue;
        const Value one = Value::array({item});
        const bool same = child.key.starts_with("v:") ? item == *key
                                                      : child.key.starts_with("k:") && key->is_object() &&
                                                            item_with(&one, *key) != nullptr;
        if (!same) continue;
        items.push_back(child.key.starts_with("v:") ? item : named_part(child.value, item));
        break;
      }
    }
    return Value(std::move(items));
  }
  if (!live.is_object()) return live;
  Value part = Value::object();
  for (const Value::Member& child : fields.as_object()) {
    if (!child.key.starts_with("f:")) continue;
    const std::string_view name = std::string_view(child.key).substr(2);
    if (const Value* there = live.find(name); there != nullptr)
      part.set(name, named_part(child.value, *there));
  }
  return part;
}

}  // namespace

Value applied_fields(const Value& live, std::string_view manager) {
  for (const Value& entry : apimachinery::managed_fields(live)) {
    if (!apimachinery::is_applied_by(entry, manager)) continue;
    const Value* fields = entry.find("fieldsV1");
    if (fields == nullptr || !fields->is_object()) return {};
    const Value part = named_part(*fields, live);
    Value object =
        Value::object({{"apiVersion", live.string_at("apiVersion")}, {"kind", live.string_at("kind")}});
    Value metadata = Value::object({{"name", live.string_at({"metadata", "name"})}});
    if (const auto ns = live.string_at({"metadata", "namespace"}); !ns.empty()) metadata.set("namespace", ns);
    if (const Value* owned = part.find("metadata"); owned != nullptr && owned->is_object()) {
      for (const Value::Member& member : owned->as_object()) metadata.set(member.key, member.value);
    }
    object.set("metadata", std::move(metadata));
    if (part.is_object()) {
      for (const Value::Member& member : part.as_object()) {
        if (member.key != "metadata") object.set(member.key, member.value);
      }
    }
    return object;
  }
  return {};
}

bool paths_touch(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (!b.starts_with(a)) return false;
  return a.size() == b.size() || b[a.size()] == '.' || b[a.size()] == '[';
}

bool is_cluster_manager(std::string_view manager) {
  constexpr std::array<std::string_view, 6> kNames{
      "kube-controller-manager", "kube-scheduler",           "kubelet",
      "kube-apiserver",          "cloud-controller-manager", "kwok"};
  return std::ranges::find(kNames, manager) != kNames.end();
}

}  // namespace mist::apply
