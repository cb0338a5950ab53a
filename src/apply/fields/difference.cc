#include "apply/fields/difference.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>

#include "apimachinery/built_in_groups.h"
#include "apimachinery/managed_fields.h"
#include "apply/fields/field_path.h"
#include "apply/fields/stored_forms.h"
#include "apply/fields/unowned_empty.h"
#include "base/keyed_hash.h"
#include "encoding/json.h"
#include "encoding/member_finder.h"

namespace mist::apply {
namespace {

// Ownership below one place, as managedFields' fieldsV1 has it: {"f:spec": {"f:containers":
// {"k:{\"name\":\"a\"}": {…}}}}. Null: not owned.
using Owned = const Value*;

// Whether the type is compiled into the server, which then normalises its values. Everything else is a custom
// resource, which is stored as it is written.
std::string_view group_of(const Value& object) {
  const std::string_view version = object.string_at("apiVersion");
  const auto slash = version.find('/');
  return slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
}
bool built_in(const Value& object) { return apimachinery::is_built_in_group(group_of(object)); }

// Finds members of many objects that stay where they are, of large ones without a scan for each.
class Members {
 public:
  const Value* find(const Value* object, std::string_view key) {
    if (object == nullptr) return nullptr;
    if (object->size() <= encoding::MemberFinder::kScanned) return object->find(key);
    return finders_.try_emplace(object, object).first->second.find(key);
  }

 private:
  std::unordered_map<const Value*, encoding::MemberFinder> finders_;
};

// The same text for equal values, and another for others.
std::string canonical(const Value& value) {
  if (!value.is_object() && !value.is_array()) return encoding::to_json(value, encoding::JsonStyle::Exact);
  Value sorted = value;
  sorted.sort_keys();
  return encoding::to_json(sorted, encoding::JsonStyle::Exact);
}

// Where the items of a list stand, by what they are, or by members that are their key: the first of several.
// The list stays where it is.
class ItemPlaces {
 public:
  // More ways to name an item than any list has. Each is an index of the whole list.
  static constexpr std::size_t kMostKinds = 8;

  ItemPlaces(const Value& list, bool typed) : list_(list), typed_(typed) {}

  std::optional<std::size_t> of_item(const Value& item) {
    if (is_small()) return first([&](const Value& each) { return each == item; });
    if (!whole_) {
      whole_.emplace();
      for (std::size_t i = 0; i < list_.size(); ++i) whole_->try_emplace(canonical(list_.as_array()[i]), i);
    }
    return found_in(*whole_, canonical(item));
  }

  // Nothing, too, if there are too many kinds of keys.
  std::optional<std::size_t> of_key(const Value& key) {
    if (is_small()) return first([&](const Value& each) { return has_key(each, key); });
    std::string kind;
    for (const Value::Member& part : key.as_object()) kind += fmt::format("{} {}", part.key.size(), part.key);
    if (!kinds_.contains(kind)) {
      if (kinds_.size() == kMostKinds) return std::nullopt;
      Index& index = kinds_[kind];
      for (std::size_t i = 0; i < list_.size(); ++i)
        if (const auto text = text_of(list_.as_array()[i], key)) index.try_emplace(*text, i);
    }
    return found_in(kinds_[kind], *text_of(key, key));
  }

 private:
  using Index = std::unordered_map<std::string, std::size_t, KeyedHash>;

  bool is_small() const { return list_.size() <= encoding::MemberFinder::kScanned; }

  template <typename Is>
  std::optional<std::size_t> first(const Is& is) const {
    const auto found = std::ranges::find_if(list_.as_array(), is);
    return found == list_.as_array().end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(found - list_.as_array().begin()));
  }

  // The one key of lists that the built-in types fill in is the protocol of ports.
  bool has_key(const Value& item, const Value& key) const {
    return item.is_object() && std::ranges::all_of(key.as_object(), [&](const Value::Member& part) {
             const Value* const value = item.find(part.key);
             return value == nullptr ? typed_ && part.key == "protocol" && part.value == Value("TCP")
                                     : *value == part.value;
           });
  }

  static std::optional<std::size_t> found_in(const Index& index, const std::string& text) {
    const auto found = index.find(text);
    return found == index.end() ? std::nullopt : std::optional(found->second);
  }

  // An item's values of the members of `key`: has_key() is that they are those of the key.
  std::optional<std::string> text_of(const Value& item, const Value& key) const {
    if (!item.is_object()) return std::nullopt;
    std::string text;
    for (const Value::Member& part : key.as_object()) {
      const Value* const value = item.find(part.key);
      if (value == nullptr && !(typed_ && part.key == "protocol")) return std::nullopt;
      text += (value == nullptr ? "\"TCP\"" : canonical(*value)) + "\n";
    }
    return text;
  }

  const Value& list_;
  const bool typed_;
  std::optional<Index> whole_;
  std::map<std::string, Index> kinds_;
};

// A leaf owns everything below it.
bool leaf(Owned owned) { return owned != nullptr && owned->empty(); }

// Values that Go's omitempty leaves out.
bool zero(const Value& value) {
  return value.empty() || value == Value(false) || (value.is_number() && value.as_double() == 0);
}

// The known facts about a place while walking down.
struct FieldPlace {
  Owned owned = nullptr;
  std::vector<std::pair<std::string_view, Owned>> others = {};  // who else owns something here
  bool whole = false;                                           // inside of what is owned as a whole
  TypedPlace typed = {};                                        // how values are stored here
};

// Whether what is here belongs to its owner as a whole: ours, or another's, who took it.
bool owned_as_a_whole(const FieldPlace& place) {
  if (place.whole) return true;
  bool whole = leaf(place.owned);
  // A map that somebody owns parts of isn't one, though it was empty when another claimed it.
  if (place.owned != nullptr && !whole) return false;
  for (const auto& [manager, owned] : place.others) {
    if (!leaf(owned)) return false;
    whole = true;
  }
  return whole;
}

class Comparison {
 public:
  Comparison(bool typed, std::string_view kind) : typed_(typed), kind_(kind) {}

  std::vector<FieldDifference> found;

  void compare_object(const Value& desired, const Value& live, const FieldPlace& place) {
    const encoding::MemberFinder there(&live);
    for (const Value::Member& member : desired.as_object()) {
      push({.kind = PathStep::Kind::Field, .name = member.key});
      compare(&member.value, there.find(member.key), below(place, member.key));
      pop();
    }
    if (place.whole) return compare_leftovers(desired, live, place);
    if (is_strategy()) drop_default_of_strategy(desired, live, place);
    if (place.owned == nullptr || !place.owned->is_object()) return;
    const std::size_t first = found.size();
    const encoding::MemberFinder wanted(&desired);
    for (const Value::Member& entry : place.owned->as_object()) {
      if (!entry.key.starts_with("f:")) continue;
      const std::string name = entry.key.substr(2);
      if (wanted.contains(name)) continue;
      push({.kind = PathStep::Kind::Field, .name = name});
      removed(there.find(name), below(place, name));
      pop();
    }
    if (may_resist_emptying() && may_own_nothing(desired)) mark_emptied_map(first);
  }

 private:
  // Applying takes members and items away, and leaves out a list or a map of which none is left: the server
  // refuses that, or fills in its default. The built-in types know the empty ones.
  bool may_resist_emptying() const { return !typed_ && !steps_.empty() && steps_.front().name != "metadata"; }

  // The two unions of the built-in types of which the server fills in one member (k8s.io/api/apps/v1,
  // DeploymentStrategy and StatefulSetUpdateStrategy) and refuses it beside another type.
  bool is_strategy() const {
    if (!typed_ || steps_.size() != 2 || steps_[0].name != "spec") return false;
    return (kind_ == "Deployment" && steps_[1].name == "strategy") ||
           (kind_ == "StatefulSet" && steps_[1].name == "updateStrategy");
  }

  // The default that the server filled in for RollingUpdate is nobody's, so no apply takes it away, and
  // beside another type the server refuses it. Both change in one patch, or the server would fill it in
  // again.
  void drop_default_of_strategy(const Value& desired, const Value& live, const FieldPlace& place) {
    constexpr std::string_view kMember = "rollingUpdate";
    const Value* const there = live.find(kMember);
    const std::string_view type = desired.string_at("type");
    if (there == nullptr || there->is_null() || type.empty() || type == "RollingUpdate") return;
    const FieldPlace inside = below(place, kMember);
    if (inside.owned != nullptr || desired.find(kMember) != nullptr) return;
    push({.kind = PathStep::Kind::Field, .name = std::string(kMember)});
    differ(nullptr, there, inside, false);
    found.back().empties = true;
    found.back().in_whole = true;
    pop();
    push({.kind = PathStep::Kind::Field, .name = "type"});
    const std::string path = path_text(steps_);
    pop();
    for (FieldDifference& each : found)
      if (each.path == path) each.empties = true;
  }

  // Differences from `first` on are the members that go, of a map in which we own nothing afterwards: an
  // apply would take the map with them, and in it what is nobody's.
  void mark_emptied_map(std::size_t first) {
    for (FieldDifference& each : std::span(found).subspan(first)) each.empties = each.managers.empty();
  }

  void push(PathStep step) { steps_.push_back(std::move(step)); }
  void pop() { steps_.pop_back(); }

  FieldPlace below(const FieldPlace& place, std::string_view name) {
    const std::string entry = "f:" + std::string(name);
    FieldPlace next;
    next.whole = place.whole;
    next.owned = place.whole ? nullptr : members_.find(place.owned, entry);
    for (const auto& [manager, owned] : place.others) {
      if (leaf(owned) && place.whole)
        next.others.emplace_back(manager, owned);
      else if (const Owned inner = members_.find(owned, entry); inner != nullptr)
        next.others.emplace_back(manager, inner);
    }
    next.typed = place.typed.member(name);
    return next;
  }

  FieldPlace item_of(const FieldPlace& place, const std::string& entry, Owned owned) {
    FieldPlace next = place;
    next.owned = owned;
    next.others.clear();
    for (const auto& [manager, other] : place.others) {
      if (leaf(other))
        next.others.emplace_back(manager, other);
      else if (const Owned inner = members_.find(other, entry); inner != nullptr)
        next.others.emplace_back(manager, inner);
    }
    return next;
  }

  static bool scalar_equal(const Value& wanted, const Value& live, const FieldPlace& place) {
    if (wanted == live) return true;
    if (wanted.is_number() && live.is_number()) return same_number(wanted, live);
    return stored_as(place.typed.form(), wanted, live);
  }

  void differ(const Value* desired, const Value* live, const FieldPlace& place, bool uncertain) {
    FieldDifference difference;
    difference.path = path_text(steps_);
    difference.before = live == nullptr ? Value() : *live;
    difference.after = desired == nullptr ? Value() : *desired;
    difference.steps = steps_;
    difference.uncertain = uncertain;
    difference.in_whole = place.whole;
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
    if (typed_ && live != nullptr && live->is_null()) live = nullptr;
    if (live == nullptr) {
      // We own it, so it was applied, and still it isn't stored: the built-in types left out what is false,
      // zero or empty. Had it been there and somebody removed it, it wouldn't be ours.
      if (typed_ && zero(*desired) && !desired->is_null() && leaf(place.owned)) return;
      return differ(desired, live, place, desired->empty() || !stored_as_written());
    }
    FieldPlace inner = place;
    inner.whole = owned_as_a_whole(place);
    if (desired->is_object() && live->is_object()) return compare_object(*desired, *live, inner);
    if (desired->is_array() && live->is_array()) return compare_list(*desired, *live, place);
    if (scalar_equal(*desired, *live, place)) return;
    const bool same_kind = !desired->is_object() && !desired->is_array() && desired->kind() == live->kind();
    differ(desired, live, place, !same_kind || place.typed.form() != StoredForm::Json);
  }

  // Every kind has these maps of text, and nothing is left out of them.
  bool stored_as_written() const {
    if (typed_ && steps_.size() == 2 && steps_[0].name == "data") return true;
    return steps_.size() == 3 && steps_[0].name == "metadata" &&
           (steps_[1].name == "labels" || steps_[1].name == "annotations");
  }

  // Inside of what is owned as a whole, a live member that isn't wanted goes, or the server filled it in.
  void compare_leftovers(const Value& desired, const Value& live, const FieldPlace& place) {
    const encoding::MemberFinder wanted(&desired);
    for (const Value::Member& member : live.as_object()) {
      if (wanted.contains(member.key)) continue;
      push({.kind = PathStep::Kind::Field, .name = member.key});
      differ(nullptr, &member.value, below(place, member.key), true);
      pop();
    }
  }

  static bool has_entries(Owned owned, std::string_view prefix) {
    return owned != nullptr && owned->is_object() &&
           std::ranges::any_of(owned->as_object(), [&](const auto& m) { return m.key.starts_with(prefix); });
  }

  // An entry of that kind in anybody's ownership says what kind of a list it is.
  static bool is_list_of(const FieldPlace& place, std::string_view prefix) {
    return has_entries(place.owned, prefix) || std::ranges::any_of(place.others, [&](const auto& other) {
             return has_entries(other.second, prefix);
           });
  }

  // Owned as a whole it is replaced as one.
  bool is_emptied_list(const Value& desired, const Value& live, const FieldPlace& place) const {
    return desired.empty() && !live.empty() && may_resist_emptying() && !place.whole && !leaf(place.owned) &&
           std::ranges::none_of(place.others, [](const auto& other) { return leaf(other.second); });
  }

  void compare_list(const Value& desired, const Value& live, const FieldPlace& place) {
    if (is_emptied_list(desired, live, place)) {
      differ(&desired, &live, place, false);
      found.back().empties = true;
      return;
    }
    if (!place.whole && is_list_of(place, "k:")) return compare_keyed(desired, live, place);
    if (!place.whole && is_list_of(place, "v:")) return compare_set(desired, live, place);
    if (desired.size() != live.size()) return differ(&desired, &live, place, true);
    FieldPlace inner = place;
    inner.whole = true;
    inner.owned = nullptr;
    for (std::size_t i = 0; i < desired.size(); ++i) {
      push({.kind = PathStep::Kind::Index, .index = i});
      compare(&desired.as_array()[i], &live.as_array()[i], inner);
      pop();
    }
  }

  // The keys by which managers own items of this list: as managedFields spells them, and read. False: one of
  // them can't be read.
  static bool keys_of(const FieldPlace& place, std::vector<std::pair<std::string, Value>>& keys) {
    std::vector<Owned> owners{place.owned};
    for (const auto& [manager, owned] : place.others) owners.push_back(owned);
    std::set<std::string_view> seen;
    for (const Owned owned : owners) {
      if (owned == nullptr || !owned->is_object()) continue;
      for (const Value::Member& entry : owned->as_object()) {
        if (!entry.key.starts_with("k:") || !seen.insert(entry.key).second) continue;
        auto key = encoding::parse_json(std::string_view(entry.key).substr(2));
        if (!key.ok() || !key->is_object()) return false;
        keys.emplace_back(entry.key, *std::move(key));
      }
    }
    return true;
  }

  static bool may_become(const Value& item, const Value& key) {
    bool any = false;
    return item.is_object() &&
           std::ranges::all_of(key.as_object(),
                               [&](const Value::Member& part) {
                                 const Value* const value = item.find(part.key);
                                 if (value != nullptr) any = true;
                                 return value == nullptr || *value == part.value;
                               }) &&
           any;
  }

  // Of custom resources, whose schema may fill in a part of a key: the items that lack a part and can only be
  // the one that we own by that key, by the keys' places.
  std::map<std::size_t, std::size_t> defaulted(const Value& desired, ItemPlaces& in_desired,
                                               const std::vector<std::pair<std::string, Value>>& keys,
                                               const FieldPlace& place) {
    constexpr std::size_t kMost = 256;  // of items that are compared with each key
    std::map<std::size_t, std::size_t> matches;
    if (typed_ || desired.size() > kMost || keys.size() > kMost) return matches;
    std::map<std::size_t, std::size_t> claims;  // of items
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const auto& [entry, key] = keys[k];
      if (key.size() < 2 || members_.find(place.owned, entry) == nullptr || in_desired.of_key(key)) continue;
      for (std::size_t i = 0; i < desired.size(); ++i) {
        if (!may_become(desired.as_array()[i], key)) continue;
        ++claims[i];
        if (!matches.emplace(k, i).second) matches[k] = desired.size();
      }
    }
    std::erase_if(matches, [&](const auto& match) { return claims[match.second] != 1; });
    return matches;
  }

  void compare_keyed(const Value& desired, const Value& live, const FieldPlace& place) {
    const std::size_t first = found.size();
    std::vector<char> known(desired.size(), 0);
    // Where each wanted item stands in the live list: the order of ours counts.
    std::vector<std::optional<std::ptrdiff_t>> places(desired.size());
    std::vector<std::pair<std::string, Value>> keys;
    if (!keys_of(place, keys)) return differ(&desired, &live, place, true);
    ItemPlaces in_desired(desired, typed_), in_live(live, typed_);
    const auto by_default = defaulted(desired, in_desired, keys, place);
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const auto& [entry, key] = keys[k];
      const Owned owned = members_.find(place.owned, entry);
      auto wanted = in_desired.of_key(key);
      if (const auto match = by_default.find(k); match != by_default.end()) wanted = match->second;
      if (!wanted && owned == nullptr) continue;  // theirs
      const auto there = in_live.of_key(key);
      const Value* live_item = there ? &live.as_array()[*there] : nullptr;
      push({.kind = PathStep::Kind::Key, .key = key});
      if (!wanted) {
        removed(live_item, item_of(place, entry, owned));
      } else {
        known[*wanted] = 1;
        if (there) places[*wanted] = static_cast<std::ptrdiff_t>(*there);
        compare(&desired.as_array()[*wanted], live_item, item_of(place, entry, owned));
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
    ItemPlaces in_desired(desired, typed_), in_live(live, typed_);
    const auto one = [&](const Value& item, const Value* after, const Value* before) {
      push({.kind = PathStep::Kind::Item, .key = item});
      differ(after, before, FieldPlace{}, false);
      pop();
    };
    std::vector<std::optional<std::ptrdiff_t>> places;
    for (const Value& item : desired.as_array()) {
      if (const auto there = in_live.of_item(item))
        places.emplace_back(static_cast<std::ptrdiff_t>(*there));
      else
        one(item, &item, nullptr);
    }
    const Value none = Value::object();
    for (const Value::Member& entry :
         (place.owned == nullptr || !place.owned->is_object() ? none : *place.owned).as_object()) {
      if (!entry.key.starts_with("v:")) continue;
      const auto item = encoding::parse_json(std::string_view(entry.key).substr(2));
      if (item.ok() && in_live.of_item(*item) && !in_desired.of_item(*item)) one(*item, nullptr, &*item);
    }
    if (out_of_order(places)) differ(&desired, &live, FieldPlace{.owned = place.owned}, true);
  }

  const bool typed_;
  const std::string_view kind_;  // of a type that is compiled into the server if `typed_`
  std::vector<PathStep> steps_;
  Members members_;
};

// Our own ownership, and that of everybody else.
FieldPlace ownership(const Value& live, std::string_view manager) {
  FieldPlace place;
  for (const Value& entry : apimachinery::managed_fields(live)) {
    const Value* fields = entry.find("fieldsV1");
    if (fields == nullptr || !fields->is_object() || fields->empty()) continue;
    if (apimachinery::is_applied_by(entry, manager))
      place.owned = fields;
    else
      place.others.emplace_back(entry.string_at("manager"), fields);
  }
  return place;
}

// Of an item of a list by key; the server fills in the protocol of ports.
bool has_key_members(const Value& item, const Value& key) {
  return item.is_object() && std::ranges::all_of(key.as_object(), [&](const Value::Member& part) {
           const Value* value = item.find(part.key);
           return value == nullptr ? part.key == "protocol" : *value == part.value;
         });
}

Value* find_item(Value& list, const Value& key, PathStep::Kind kind) {
  if (!list.is_array()) return nullptr;
  const auto found = std::ranges::find_if(list.as_array(), [&](const Value& item) {
    return kind == PathStep::Kind::Item ? item == key : has_key_members(item, key);
  });
  return found == list.as_array().end() ? nullptr : &*found;
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

// The object without the parts that don't belong to its meaning.
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
    // The server orders them by time, and an apply that changes nothing counts as the latest.
    std::ranges::sort(entries->as_array(), {}, [](const Value& entry) {
      return std::tuple(entry.string_at("manager"), entry.string_at("operation"),
                        entry.string_at("subresource"), entry.string_at("apiVersion"));
    });
  }
  return copy;
}

}  // namespace

std::vector<FieldDifference> differences(const Value& desired, const Value& live, std::string_view manager) {
  const bool typed = built_in(desired.string_at("apiVersion").empty() ? live : desired);
  Comparison comparison(typed, live.string_at("kind"));
  // Identity isn't a difference: the live object was found by it, possibly in another API version.
  Value wanted = desired;
  drop_nulls(wanted);
  // A status that is written through a subresource isn't wanted (desired.h); any other is a field like any.
  for (const std::string_view identity : {"apiVersion", "kind"}) wanted.erase(identity);
  if (Value* metadata = wanted.find("metadata")) {
    for (const std::string_view identity :
         {"name", "namespace", "creationTimestamp", "uid", "resourceVersion", "generation", "managedFields"})
      metadata->erase(identity);
  }
  FieldPlace place = ownership(live, manager);
  if (typed) place.typed = TypedPlace::object(group_of(live), live.string_at("kind"));
  comparison.compare_object(wanted, live, place);
  return std::move(comparison.found);
}

const Value* place_at(const Value& object, const std::vector<PathStep>& steps) {
  const Value* at = &object;
  for (const PathStep& step : steps) {
    if (at == nullptr) return nullptr;
    if (step.kind == PathStep::Kind::Index) return at;
    if (step.kind == PathStep::Kind::Field) {
      at = at->is_object() ? at->find(step.name) : nullptr;
      continue;
    }
    if (!at->is_array()) return nullptr;
    const auto found = std::ranges::find_if(at->as_array(), [&](const Value& item) {
      return step.kind == PathStep::Kind::Item ? item == step.key : has_key_members(item, step.key);
    });
    at = found == at->as_array().end() ? nullptr : &*found;
  }
  return at;
}

Value with_differences(Value live, const std::vector<FieldDifference>& differences) {
  for (const FieldDifference& difference : differences) {
    const bool stays = difference.stays_with_others();
    if (!stays) carry_out(live, difference);
  }
  return live;
}

bool same_object(const Value& a, const Value& b, std::string_view ignored_label, StatusOf status) {
  return comparable(a, ignored_label, status) == comparable(b, ignored_label, status);
}

}  // namespace mist::apply
