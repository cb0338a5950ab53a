#include "apply/difference.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "apimachinery/quantity.h"
#include "encoding/json.h"

namespace mist::apply {
namespace {

// Ownership below one place, as managedFields' fieldsV1 has it: {"f:spec": {"f:containers":
// {"k:{\"name\":\"a\"}": {…}}}}.
using Owned = const Value*;

Owned owned_field(Owned owned, std::string_view name) {
  return owned == nullptr ? nullptr : owned->find("f:" + std::string(name));
}

Owned owned_by(const Value& live, std::string_view manager) {
  const Value* entries = live.at_path({"metadata", "managedFields"});
  if (entries == nullptr || !entries->is_array()) return nullptr;
  for (const Value& entry : entries->as_array()) {
    if (entry.string_at("manager") == manager && entry.string_at("operation") == "Apply" &&
        entry.string_at("subresource").empty())
      return entry.find("fieldsV1");
  }
  return nullptr;
}

bool nothing(const Value* value) {
  return value == nullptr || value->is_null() || (value->empty() && !value->is_string());
}

std::string number_text(const Value& value) {
  return value.is_string() ? value.as_string() : encoding::to_json(value);
}

// Fields that hold quantities somewhere in the built-in types; a text equal by amount is no change there.
constexpr std::array<std::string_view, 14> kQuantityFields{"limits",
                                                           "requests",
                                                           "hard",
                                                           "capacity",
                                                           "min",
                                                           "max",
                                                           "default",
                                                           "defaultRequest",
                                                           "maxLimitRequestRatio",
                                                           "sizeLimit",
                                                           "divisor",
                                                           "averageValue",
                                                           "value",
                                                           "overhead"};

bool scalar_equal(const Value& wanted, const Value& live, bool quantities) {
  if (wanted == live) return true;
  if (wanted.is_number() && live.is_number()) return wanted.as_double() == live.as_double();
  const bool texts = (wanted.is_string() || wanted.is_number()) && live.is_string();
  return quantities && texts && apimachinery::same_quantity(number_text(wanted), live.as_string());
}

class Comparison {
 public:
  std::vector<FieldDifference> found;

  void compare_object(const Value& desired, const Value& live, Owned owned, const std::string& path,
                      bool quantities) {
    for (const Value::Member& member : desired.as_object())
      compare(&member.value, live.find(member.key), owned_field(owned, member.key), path + field(member.key),
              quantities || std::ranges::find(kQuantityFields, member.key) != kQuantityFields.end());
    if (owned == nullptr) return;
    for (const Value::Member& entry : owned->as_object()) {
      if (!entry.key.starts_with("f:")) continue;
      const std::string name = entry.key.substr(2);
      if (desired.find(name) == nullptr) removed(live.find(name), &entry.value, path + field(name));
    }
  }

 private:
  static std::string field(std::string_view name) {
    const bool plain = std::ranges::all_of(
        name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; });
    return plain ? "." + std::string(name) : "[\"" + std::string(name) + "\"]";
  }

  void differ(const Value* desired, const Value* live, const std::string& path) {
    FieldDifference difference{path, live == nullptr ? Value() : *live,
                               desired == nullptr ? Value() : *desired, 0};
    if (desired != nullptr) difference.line = desired->position().line;
    found.push_back(std::move(difference));
  }

  // We own `live` and no longer want it. Where others own parts of it too, only ours go, but something
  // changes.
  void removed(const Value* live, Owned, const std::string& path) {
    if (live != nullptr) differ(nullptr, live, path);
  }

  void compare(const Value* desired, const Value* live, Owned owned, const std::string& path,
               bool quantities) {
    if (nothing(desired)) {
      // An empty map or list, or null: wanted is that we own nothing inside it.
      if (desired->is_object() && live != nullptr && live->is_object())
        compare_object(*desired, *live, owned, path, quantities);
      else if (owned != nullptr && !nothing(live))
        differ(desired, live, path);
      return;
    }
    if (live == nullptr) return differ(desired, live, path);
    if (desired->is_object() && live->is_object())
      return compare_object(*desired, *live, owned, path, quantities);
    if (desired->is_array() && live->is_array())
      return compare_list(*desired, *live, owned, path, quantities);
    if (!scalar_equal(*desired, *live, quantities)) differ(desired, live, path);
  }

  void compare_list(const Value& desired, const Value& live, Owned owned, const std::string& path,
                    bool quantities) {
    const bool keyed =
        owned != nullptr && owned->is_object() &&
        std::ranges::any_of(owned->as_object(), [](const auto& m) { return m.key.starts_with("k:"); });
    const bool by_value =
        owned != nullptr && owned->is_object() &&
        std::ranges::any_of(owned->as_object(), [](const auto& m) { return m.key.starts_with("v:"); });
    if (keyed) return compare_keyed(desired, live, *owned, path, quantities);
    if (by_value) return compare_set(desired, live, *owned, path);
    if (desired.size() != live.size()) return differ(&desired, &live, path);
    for (std::size_t i = 0; i < desired.size(); ++i)
      compare(&desired.as_array()[i], &live.as_array()[i], nullptr, fmt::format("{}[{}]", path, i),
              quantities);
  }

  static bool matches(const Value& item, const Value& key) {
    return std::ranges::all_of(key.as_object(), [&](const Value::Member& part) {
      const Value* value = item.find(part.key);
      if (value != nullptr) return *value == part.value;
      return part.key == "protocol" &&
             part.value == Value("TCP");  // the one key that the built-in types default
    });
  }

  void compare_keyed(const Value& desired, const Value& live, const Value& owned, const std::string& path,
                     bool quantities) {
    std::vector<char> known(desired.size(), 0);
    for (const Value::Member& entry : owned.as_object()) {
      if (!entry.key.starts_with("k:")) continue;
      const auto key = encoding::parse_json(std::string_view(entry.key).substr(2));
      if (!key.ok() || !key->is_object()) return differ(&desired, &live, path);
      std::string label;
      for (const Value::Member& part : key->as_object())
        label += fmt::format("{}{}={}", label.empty() ? "" : ",", part.key, number_text(part.value));
      const std::string item_path = fmt::format("{}[{}]", path, label);
      const auto find_in = [&](const Value& list) {
        return std::ranges::find_if(
            list.as_array(), [&](const Value& item) { return item.is_object() && matches(item, *key); });
      };
      const auto wanted = find_in(desired);
      const auto there = find_in(live);
      const Value* live_item = there == live.as_array().end() ? nullptr : &*there;
      if (wanted == desired.as_array().end()) {
        removed(live_item, &entry.value, item_path);
        continue;
      }
      known[static_cast<std::size_t>(wanted - desired.as_array().begin())] = 1;
      compare(&*wanted, live_item, &entry.value, item_path, quantities);
    }
    for (std::size_t i = 0; i < desired.size(); ++i) {
      if (!known[i]) differ(&desired.as_array()[i], nullptr, fmt::format("{}[{}]", path, i));
    }
  }

  void compare_set(const Value& desired, const Value& live, const Value& owned, const std::string& path) {
    const auto contains = [](const Value& list, const Value& item) {
      return std::ranges::find(list.as_array(), item) != list.as_array().end();
    };
    for (const Value& item : desired.as_array()) {
      if (!contains(live, item)) differ(&item, nullptr, path + "[]");
    }
    for (const Value::Member& entry : owned.as_object()) {
      if (!entry.key.starts_with("v:")) continue;
      const auto item = encoding::parse_json(std::string_view(entry.key).substr(2));
      if (item.ok() && contains(live, *item) && !contains(desired, *item))
        differ(nullptr, &*item, path + "[]");
    }
  }
};

}  // namespace

std::vector<FieldDifference> differences(const Value& desired, const Value& live, std::string_view manager) {
  Comparison comparison;
  // Identity isn't a difference: the live object was found by it, possibly in another API version.
  Value wanted = desired;
  for (const std::string_view identity : {"apiVersion", "kind", "status"}) wanted.erase(identity);
  if (Value* metadata = wanted.find("metadata")) {
    for (const std::string_view identity :
         {"name", "namespace", "creationTimestamp", "uid", "resourceVersion", "generation", "managedFields"})
      metadata->erase(identity);
  }
  comparison.compare_object(wanted, live, owned_by(live, manager), "", false);
  return std::move(comparison.found);
}

}  // namespace mist::apply
