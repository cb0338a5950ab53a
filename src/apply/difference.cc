#include "apply/difference.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "apimachinery/built_in_groups.h"
#include "apimachinery/gvk.h"
#include "apimachinery/quantity.h"
#include "base/clock.h"
#include "base/text.h"
#include "encoding/json.h"

namespace mist::apply {
namespace {

// Ownership below one place, as managedFields' fieldsV1 has it: {"f:spec": {"f:containers":
// {"k:{\"name\":\"a\"}": {…}}}}. Null: not owned.
using Owned = const Value*;

// Whether the type is compiled into the server, which then normalises its values. Everything else is a custom
// resource, which is stored as it is written.
bool built_in(const Value& object) {
  const std::string_view version = object.string_at("apiVersion");
  const auto slash = version.find('/');
  return apimachinery::is_built_in_group(slash == std::string_view::npos ? std::string_view()
                                                                         : version.substr(0, slash));
}

Owned owned_field(Owned owned, std::string_view name) {
  return owned == nullptr ? nullptr : owned->find("f:" + std::string(name));
}

// A leaf owns everything below it.
bool leaf(Owned owned) { return owned != nullptr && owned->empty(); }

bool nothing(const Value* value) {
  return value == nullptr || value->is_null() || (value->empty() && !value->is_string());
}

// What omitempty leaves out.
bool zero(const Value& value) {
  return value.empty() || value == Value(false) || (value.is_number() && value.as_double() == 0);
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

// Fields of the built-in types that hold bytes: any spelling of base64 is stored in the one with padding and
// without line breaks.
constexpr std::array<std::string_view, 4> kByteFields{"binaryData", "caBundle", "request", "certificate"};

bool same_bytes(const std::string& a, const std::string& b) {
  std::string compact = a, first, second;
  std::erase_if(compact, [](char c) { return c == '\n' || c == '\r'; });
  return base64_decode(compact, first) && base64_decode(b, second) && first == second;
}

// Defaults of built-in types inside of what is owned as a whole, where the live object tells no default from
// what was applied before.
struct KnownDefault {
  std::string_view parent;  // the nearest named member above; empty: any
  std::string_view name;
  std::string_view value;  // as JSON; empty: any
};
constexpr std::array kKnownDefaults{
    KnownDefault{"fieldRef", "apiVersion", R"("v1")"},
    KnownDefault{"resourceFieldRef", "divisor", R"("0")"},
    KnownDefault{"ports", "protocol", R"("TCP")"},
    KnownDefault{"rules", "scope", R"("*")"},
    KnownDefault{"serviceAccountToken", "expirationSeconds", "3600"},
    KnownDefault{"volumeClaimTemplates", "apiVersion", R"("v1")"},
    KnownDefault{"volumeClaimTemplates", "kind", R"("PersistentVolumeClaim")"},
    KnownDefault{"volumeClaimTemplates", "status", ""},
    KnownDefault{"spec", "volumeMode", R"("Filesystem")"},
    KnownDefault{"roleRef", "apiGroup", R"("rbac.authorization.k8s.io")"},
    KnownDefault{"metadata", "creationTimestamp", "null"},
    KnownDefault{"exactly", "allocationMode", R"("ExactCount")"},
    KnownDefault{"exactly", "count", "1"},
    KnownDefault{"firstAvailable", "allocationMode", R"("ExactCount")"},
    KnownDefault{"firstAvailable", "count", "1"},
};

bool known_default(std::string_view parent, const Value::Member& member) {
  return std::ranges::any_of(kKnownDefaults, [&](const KnownDefault& known) {
    return known.parent == parent && known.name == member.key &&
           (known.value.empty() || encoding::to_json(member.value) == known.value);
  });
}

// What is known of a place while walking down.
struct FieldPlace {
  Owned owned = nullptr;
  std::vector<std::pair<std::string_view, Owned>> others = {};  // who else owns something here
  bool whole = false;                                           // inside of what is owned as a whole
  bool quantities = false;                                      // a quantity may stand here
  bool bytes = false;                                           // base64 may stand here
  std::string_view member = {};                                 // the nearest named member
};

class Comparison {
 public:
  Comparison(bool typed, bool secret) : typed_(typed), secret_(secret) {}

  std::vector<FieldDifference> found;

  void compare_object(const Value& desired, const Value& live, const FieldPlace& place) {
    for (const Value::Member& member : desired.as_object()) {
      push({.kind = PathStep::Kind::Field, .name = member.key});
      compare(&member.value, live.find(member.key), below(place, member.key));
      pop();
    }
    if (place.whole) return compare_leftovers(desired, live, place);
    if (place.owned == nullptr) return;
    for (const Value::Member& entry : place.owned->as_object()) {
      if (!entry.key.starts_with("f:")) continue;
      const std::string name = entry.key.substr(2);
      if (desired.find(name) != nullptr) continue;
      push({.kind = PathStep::Kind::Field, .name = name});
      removed(live.find(name), below(place, name));
      pop();
    }
  }

 private:
  void push(PathStep step) { steps_.push_back(std::move(step)); }
  void pop() { steps_.pop_back(); }

  FieldPlace below(const FieldPlace& place, std::string_view name) const {
    FieldPlace next;
    next.whole = place.whole;
    next.owned = place.whole ? nullptr : owned_field(place.owned, name);
    for (const auto& [manager, owned] : place.others) {
      if (leaf(owned))
        next.others.emplace_back(manager, owned);
      else if (const Owned inner = owned_field(owned, name); inner != nullptr)
        next.others.emplace_back(manager, inner);
    }
    next.quantities =
        typed_ && (place.quantities || std::ranges::find(kQuantityFields, name) != kQuantityFields.end());
    next.bytes = typed_ && (place.bytes || std::ranges::find(kByteFields, name) != kByteFields.end() ||
                            (secret_ && steps_.size() == 1 && name == "data"));
    next.member = name;
    return next;
  }

  static FieldPlace item_of(const FieldPlace& place, const std::string& entry, Owned owned) {
    FieldPlace next = place;
    next.owned = owned;
    next.others.clear();
    for (const auto& [manager, other] : place.others) {
      if (leaf(other))
        next.others.emplace_back(manager, other);
      else if (const Owned inner = other->find(entry); inner != nullptr)
        next.others.emplace_back(manager, inner);
    }
    return next;
  }

  bool scalar_equal(const Value& wanted, const Value& live, const FieldPlace& place) const {
    if (wanted == live) return true;
    if (wanted.is_number() && live.is_number()) return wanted.as_double() == live.as_double();
    if (place.bytes && wanted.is_string() && live.is_string())
      return same_bytes(wanted.as_string(), live.as_string());
    const bool texts = (wanted.is_string() || wanted.is_number()) && live.is_string();
    if (place.quantities && texts && apimachinery::same_quantity(number_text(wanted), live.as_string()))
      return true;
    return typed_ && same_time(wanted, live, place);
  }

  // metav1.Time is stored in UTC.
  static bool same_time(const Value& wanted, const Value& live, const FieldPlace& place) {
    if (!wanted.is_string() || !live.is_string()) return false;
    if (!place.member.ends_with("Time") && !place.member.ends_with("Timestamp")) return false;
    const auto a = parse_time(wanted.as_string()), b = parse_time(live.as_string());
    return a && b && *a == *b;
  }

  std::string path() const {
    std::string text;
    for (const PathStep& step : steps_) {
      switch (step.kind) {
        case PathStep::Kind::Field: {
          const bool plain = std::ranges::all_of(step.name, [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
          });
          text += plain ? "." + step.name : "[\"" + step.name + "\"]";
          break;
        }
        case PathStep::Kind::Index:
          text += fmt::format("[{}]", step.index);
          break;
        case PathStep::Kind::Key: {
          std::string label;
          for (const Value::Member& part : step.key.as_object())
            label += fmt::format("{}{}={}", label.empty() ? "" : ",", part.key, number_text(part.value));
          text += fmt::format("[{}]", label);
          break;
        }
        case PathStep::Kind::Item:
          text += "[]";
          break;
      }
    }
    return text;
  }

  void differ(const Value* desired, const Value* live, const FieldPlace& place, bool uncertain) {
    FieldDifference difference;
    difference.path = path();
    difference.before = live == nullptr ? Value() : *live;
    difference.after = desired == nullptr ? Value() : *desired;
    difference.steps = steps_;
    difference.uncertain = uncertain;
    if (desired != nullptr) difference.line = desired->position().line;
    for (const auto& [manager, owned] : place.others) {
      if (std::ranges::find(difference.managers, manager) == difference.managers.end())
        difference.managers.emplace_back(manager);
    }
    found.push_back(std::move(difference));
  }

  // We own `live` and no longer want it. Where others own parts of it too, only ours go, but something
  // changes.
  void removed(const Value* live, const FieldPlace& place) {
    if (live != nullptr) differ(nullptr, live, place, false);
  }

  void compare(const Value* desired, const Value* live, const FieldPlace& place) {
    if (nothing(desired)) {
      // An empty map or list, or null: wanted is that we own nothing inside it.
      if (desired->is_object() && live != nullptr && live->is_object())
        compare_object(*desired, *live, place);
      else if ((place.owned != nullptr || place.whole) && !nothing(live))
        differ(desired, live, place, place.whole);
      return;
    }
    if (live == nullptr) {
      // Applied before and not stored: the built-in types leave out what is false, zero or empty.
      if (typed_ && zero(*desired) && (place.owned != nullptr || place.whole)) return;
      return differ(desired, live, place, !plain_map(place));
    }
    if (desired->is_object() && live->is_object()) {
      FieldPlace inner = place;
      inner.whole = place.whole || leaf(place.owned);
      return compare_object(*desired, *live, inner);
    }
    if (desired->is_array() && live->is_array()) return compare_list(*desired, *live, place);
    if (!scalar_equal(*desired, *live, place)) {
      const bool scalars = !desired->is_object() && !desired->is_array() && desired->kind() == live->kind();
      differ(desired, live, place, !scalars);
    }
  }

  // Maps from anything to text: what is written there is stored.
  bool plain_map(const FieldPlace&) const {
    if (steps_.size() < 2) return false;
    const std::string& parent = steps_[steps_.size() - 2].name;
    return parent == "labels" || parent == "annotations" || parent == "data" || parent == "matchLabels" ||
           parent == "nodeSelector";
  }

  // Inside of what is owned as a whole, a live member that isn't wanted is a default, or it goes.
  void compare_leftovers(const Value& desired, const Value& live, const FieldPlace& place) {
    for (const Value::Member& member : live.as_object()) {
      if (desired.find(member.key) != nullptr || nothing(&member.value)) continue;
      if (typed_ && known_default(place.member, member)) continue;
      push({.kind = PathStep::Kind::Field, .name = member.key});
      differ(nullptr, &member.value, below(place, member.key), true);
      pop();
    }
  }

  static bool has_entries(Owned owned, std::string_view prefix) {
    return owned != nullptr && owned->is_object() &&
           std::ranges::any_of(owned->as_object(), [&](const auto& m) { return m.key.starts_with(prefix); });
  }

  void compare_list(const Value& desired, const Value& live, const FieldPlace& place) {
    if (has_entries(place.owned, "k:")) return compare_keyed(desired, live, place);
    if (has_entries(place.owned, "v:")) return compare_set(desired, live, place);
    if (desired.size() != live.size()) return differ(&desired, &live, place, true);
    FieldPlace inner = place;
    inner.whole = place.whole || leaf(place.owned);
    inner.owned = nullptr;
    for (std::size_t i = 0; i < desired.size(); ++i) {
      push({.kind = PathStep::Kind::Index, .index = i});
      compare(&desired.as_array()[i], &live.as_array()[i], inner);
      pop();
    }
  }

  static bool matches(const Value& item, const Value& key) {
    return item.is_object() && std::ranges::all_of(key.as_object(), [&](const Value::Member& part) {
             const Value* value = item.find(part.key);
             if (value != nullptr) return *value == part.value;
             return part.key == "protocol" &&
                    part.value == Value("TCP");  // the one key that the built-in types default
           });
  }

  void compare_keyed(const Value& desired, const Value& live, const FieldPlace& place) {
    const std::size_t first = found.size();
    std::vector<char> known(desired.size(), 0);
    // Where each wanted item stands in the live list: the order of ours counts.
    std::vector<std::optional<std::ptrdiff_t>> places(desired.size());
    for (const Value::Member& entry : place.owned->as_object()) {
      if (!entry.key.starts_with("k:")) continue;
      auto key = encoding::parse_json(std::string_view(entry.key).substr(2));
      if (!key.ok() || !key->is_object()) return differ(&desired, &live, place, true);
      const auto find_in = [&](const Value& list) {
        return std::ranges::find_if(list.as_array(), [&](const Value& item) { return matches(item, *key); });
      };
      const auto wanted = find_in(desired);
      const auto there = find_in(live);
      const Value* live_item = there == live.as_array().end() ? nullptr : &*there;
      push({.kind = PathStep::Kind::Key, .key = *key});
      if (wanted == desired.as_array().end()) {
        removed(live_item, item_of(place, entry.key, &entry.value));
      } else {
        const auto index = static_cast<std::size_t>(wanted - desired.as_array().begin());
        known[index] = 1;
        if (live_item != nullptr) places[index] = there - live.as_array().begin();
        FieldPlace inner = item_of(place, entry.key, &entry.value);
        compare(&*wanted, live_item, inner);
      }
      pop();
    }
    for (std::size_t i = 0; i < desired.size(); ++i) {
      if (known[i]) continue;
      push({.kind = PathStep::Kind::Index, .index = i});
      differ(&desired.as_array()[i], nullptr, FieldPlace{}, true);
      pop();
    }
    if (!out_of_order(places)) return;
    // Carried out first: the others change items of the list in its new order.
    reordered(desired, live, place, places);
    const auto begin = found.begin() + static_cast<std::ptrdiff_t>(first);
    std::rotate(begin, found.end() - 1, found.end());
  }

  static bool out_of_order(const std::vector<std::optional<std::ptrdiff_t>>& places) {
    std::ptrdiff_t last = -1;
    for (const auto& place : places) {
      if (!place) continue;
      if (*place < last) return true;
      last = *place;
    }
    return false;
  }

  // The same items in another order: shown as the list that it will be.
  void reordered(const Value& desired, const Value& live, const FieldPlace& place,
                 const std::vector<std::optional<std::ptrdiff_t>>& places) {
    Value::Array after = live.as_array();
    std::vector<std::size_t> slots;
    for (const auto& index : places) {
      if (index) slots.push_back(static_cast<std::size_t>(*index));
    }
    std::ranges::sort(slots);
    std::size_t next = 0;
    for (const auto& index : places) {
      if (index) after[slots[next++]] = live.as_array()[static_cast<std::size_t>(*index)];
    }
    Value wanted{std::move(after)};
    wanted.set_position(desired.position());
    differ(&wanted, &live, FieldPlace{.owned = place.owned}, true);
  }

  void compare_set(const Value& desired, const Value& live, const FieldPlace& place) {
    const auto contains = [](const Value& list, const Value& item) {
      return std::ranges::find(list.as_array(), item) != list.as_array().end();
    };
    const auto one = [&](const Value& item, const Value* after, const Value* before) {
      push({.kind = PathStep::Kind::Item, .key = item});
      differ(after, before, FieldPlace{}, false);
      pop();
    };
    std::vector<std::optional<std::ptrdiff_t>> places;
    for (const Value& item : desired.as_array()) {
      const auto there = std::ranges::find(live.as_array(), item);
      if (there == live.as_array().end())
        one(item, &item, nullptr);
      else
        places.emplace_back(there - live.as_array().begin());
    }
    for (const Value::Member& entry : place.owned->as_object()) {
      if (!entry.key.starts_with("v:")) continue;
      const auto item = encoding::parse_json(std::string_view(entry.key).substr(2));
      if (item.ok() && contains(live, *item) && !contains(desired, *item)) one(*item, nullptr, &*item);
    }
    if (out_of_order(places)) differ(&desired, &live, FieldPlace{.owned = place.owned}, true);
  }

  const bool typed_;
  const bool secret_;
  std::vector<PathStep> steps_;
};

// Our own ownership, and that of everybody else.
FieldPlace ownership(const Value& live, std::string_view manager) {
  FieldPlace place;
  const Value* entries = live.at_path({"metadata", "managedFields"});
  if (entries == nullptr || !entries->is_array()) return place;
  for (const Value& entry : entries->as_array()) {
    const Value* fields = entry.find("fieldsV1");
    if (fields == nullptr || !fields->is_object() || fields->empty()) continue;
    const bool main = entry.string_at("subresource").empty();
    if (entry.string_at("manager") == manager && entry.string_at("operation") == "Apply" && main)
      place.owned = fields;
    else
      place.others.emplace_back(entry.string_at("manager"), fields);
  }
  return place;
}

Value* find_item(Value& list, const Value& key, PathStep::Kind kind) {
  if (!list.is_array()) return nullptr;
  for (Value& item : list.as_array()) {
    if (kind == PathStep::Kind::Item) {
      if (item == key) return &item;
      continue;
    }
    const bool same =
        item.is_object() && std::ranges::all_of(key.as_object(), [&](const Value::Member& part) {
          const Value* value = item.find(part.key);
          return value == nullptr ? part.key == "protocol" : *value == part.value;
        });
    if (same) return &item;
  }
  return nullptr;
}

void carry_out(Value& object, const FieldDifference& difference) {
  Value* at = &object;
  for (std::size_t i = 0; i + 1 < difference.steps.size(); ++i) {
    const PathStep& step = difference.steps[i];
    switch (step.kind) {
      case PathStep::Kind::Field:
        at = at->is_object() || at->is_null() ? &(*at)[step.name] : nullptr;
        break;
      case PathStep::Kind::Index:
        at = at->is_array() && step.index < at->size() ? &at->as_array()[step.index] : nullptr;
        break;
      case PathStep::Kind::Key:
      case PathStep::Kind::Item:
        at = find_item(*at, step.key, step.kind);
        break;
    }
    if (at == nullptr) return;
  }
  if (difference.steps.empty()) return;
  const PathStep& last = difference.steps.back();
  if (last.kind == PathStep::Kind::Field) {
    if (!at->is_object() && !at->is_null()) return;
    if (difference.removal())
      at->erase(last.name);
    else
      at->set(last.name, difference.after);
    return;
  }
  if (!at->is_array()) return;
  Value* item = last.kind == PathStep::Kind::Index ? nullptr : find_item(*at, last.key, last.kind);
  if (last.kind == PathStep::Kind::Index && !difference.before.is_null() && last.index < at->size())
    item = &at->as_array()[last.index];
  if (difference.removal()) {
    if (item != nullptr) at->as_array().erase(at->as_array().begin() + (item - at->as_array().data()));
  } else if (item != nullptr) {
    *item = difference.after;
  } else {
    at->push_back(difference.after);
  }
}

// What is no part of the object's meaning.
Value comparable(const Value& object, std::string_view ignored_label, StatusOf status) {
  Value copy = object;
  if (status == StatusOf::Controllers) copy.erase("status");
  Value* metadata = copy.find("metadata");
  if (metadata == nullptr) return copy;
  metadata->erase("resourceVersion");
  metadata->erase("generation");
  if (Value* labels = metadata->find("labels")) labels->erase(ignored_label);
  if (Value* entries = metadata->find("managedFields"); entries != nullptr && entries->is_array()) {
    for (Value& entry : entries->as_array()) entry.erase("time");
  }
  return copy;
}

}  // namespace

std::vector<FieldDifference> differences(const Value& desired, const Value& live, std::string_view manager) {
  const bool typed = built_in(desired.string_at("apiVersion").empty() ? live : desired);
  Comparison comparison(typed, live.string_at("kind") == "Secret");
  // Identity isn't a difference: the live object was found by it, possibly in another API version.
  Value wanted = desired;
  // A status that is written through a subresource isn't wanted (desired.h); any other is a field like any.
  for (const std::string_view identity : {"apiVersion", "kind"}) wanted.erase(identity);
  if (Value* metadata = wanted.find("metadata")) {
    for (const std::string_view identity :
         {"name", "namespace", "creationTimestamp", "uid", "resourceVersion", "generation", "managedFields"})
      metadata->erase(identity);
  }
  comparison.compare_object(wanted, live, ownership(live, manager));
  return std::move(comparison.found);
}

Value with_differences(Value live, const std::vector<FieldDifference>& differences) {
  for (const FieldDifference& difference : differences) {
    const bool stays = difference.removal() && !difference.managers.empty();
    if (!stays) carry_out(live, difference);
  }
  return live;
}

bool same_object(const Value& a, const Value& b, std::string_view ignored_label, StatusOf status) {
  return comparable(a, ignored_label, status) == comparable(b, ignored_label, status);
}

}  // namespace mist::apply
