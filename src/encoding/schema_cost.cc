#include "encoding/schema_cost.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "encoding/member_finder.h"
#include "encoding/schema_message.h"

namespace mist::encoding {
namespace {

// Keywords whose subschemas see the same value.
constexpr std::array<std::string_view, 5> kSameOne{"not", "if", "then", "else", "propertyNames"};
constexpr std::array<std::string_view, 3> kSameList{"allOf", "anyOf", "oneOf"};
constexpr std::array<std::string_view, 2> kSameByName{"dependentSchemas", "dependencies"};
constexpr std::array<std::string_view, 3> kReferences{"$ref", "$dynamicRef", "$recursiveRef"};
// Keywords whose subschemas see every member, or every item.
constexpr std::array<std::string_view, 2> kEachMember{"additionalProperties", "unevaluatedProperties"};
constexpr std::array<std::string_view, 3> kEachItem{"additionalItems", "unevaluatedItems", "contains"};

using Nodes = std::vector<const Value*>;
using Counts = std::unordered_map<const Value*, std::uint64_t>;

class Grammar {
 public:
  explicit Grammar(const Value& root) : root_(root) { index(root); }

  // One object of the schema. Its path is made only for the one that is told of: a long key with many
  // children would else be kept once for each.
  struct Place {
    const Value* node;
    std::size_t parent;         // in all_; kNone: the root
    std::string_view key = {};  // in its parent; or
    std::size_t item = 0;       // its place there
  };

  // Subschemas that see the same value as `node`.
  const Nodes& same(const Value* node) {
    const auto [entry, is_new] = same_.try_emplace(node);
    if (is_new) entry->second = find_same(*node);
    return entry->second;
  }

  Nodes of_member(const Value& node, std::string_view key) {
    Nodes found;
    if (const Value* properties = find(node, "properties"); properties != nullptr)
      add(found, find(*properties, key));
    // Which patterns match is not asked: all may.
    add_members(found, find(node, "patternProperties"));
    for (const std::string_view keyword : kEachMember) add(found, find(node, keyword));
    return found;
  }

  Nodes of_item(const Value& node, std::size_t index) {
    Nodes found;
    for (const std::string_view keyword : {"prefixItems", "items"}) {
      const Value* items = find(node, keyword);
      if (items == nullptr) continue;
      if (!items->is_array())
        add(found, items);
      else if (index < items->size())
        add(found, &items->as_array()[index]);
    }
    for (const std::string_view keyword : kEachItem) add(found, find(node, keyword));
    return found;
  }

  // Every object and list of the schema, in document order.
  const std::vector<Place>& places() const { return places_; }
  // Its JSON pointer.
  std::string path(const Place& place) const {
    std::vector<std::string> parts;
    for (const Place* at = &place; at->parent != kNone; at = &places_[at->parent])
      parts.push_back(at->key.data() == nullptr ? std::to_string(at->item) : std::string(at->key));
    std::string path = "#";
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) path += "/" + *part;
    return path;
  }

 private:
  static void add(Nodes& nodes, const Value* node) {
    if (node != nullptr && node->is_object()) nodes.push_back(node);
  }
  static void add_members(Nodes& nodes, const Value* object) {
    if (object == nullptr || !object->is_object()) return;
    for (const Value::Member& member : object->as_object()) add(nodes, &member.value);
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  const Value* find(const Value& node, std::string_view key) {
    if (!node.is_object()) return nullptr;
    if (node.size() <= MemberFinder::kScanned) return node.find(key);
    return finders_.try_emplace(&node, &node).first->second.find(key);
  }

  void index(const Value& root) {
    std::vector<Place> open{{&root, kNone}};
    while (!open.empty()) {
      const Place place = open.back();
      const Value& at = *place.node;
      const std::size_t here = places_.size();
      open.pop_back();
      places_.push_back(place);
      if (at.is_array()) {
        for (std::size_t i = at.size(); i-- > 0;)
          if (const Value& item = at.as_array()[i]; item.is_array() || item.is_object())
            open.push_back({&item, here, {}, i});
        continue;
      }
      if (!at.is_object()) continue;
      for (const std::string_view keyword : {"$anchor", "$dynamicAnchor", "$id"}) {
        if (const std::string_view name = at.string_at(keyword); !name.empty()) named_.emplace(name, &at);
      }
      for (auto member = at.as_object().rbegin(); member != at.as_object().rend(); ++member)
        if (member->value.is_array() || member->value.is_object())
          open.push_back({&member->value, here, member->key});
    }
  }

  const Value* target(std::string_view reference) const {
    if (reference.empty()) return nullptr;
    if (const Value* local = local_reference(root_, Value::object({{"$ref", reference}})); local != nullptr)
      return local;
    const auto found = named_.find(reference.front() == '#' ? reference.substr(1) : reference);
    return found == named_.end() ? nullptr : found->second;
  }

  Nodes find_same(const Value& node) const {
    Nodes found;
    for (const std::string_view keyword : kReferences) add(found, target(node.string_at(keyword)));
    for (const std::string_view keyword : kSameOne) add(found, node.find(keyword));
    for (const std::string_view keyword : kSameByName) add_members(found, node.find(keyword));
    for (const std::string_view keyword : kSameList) {
      const Value* list = node.find(keyword);
      if (list == nullptr || !list->is_array()) continue;
      for (const Value& item : list->as_array()) add(found, &item);
    }
    return found;
  }

  const Value& root_;
  std::map<std::string_view, const Value*, std::less<>> named_;
  std::vector<Place> places_;
  std::unordered_map<const Value*, MemberFinder> finders_;  // of large objects
  std::unordered_map<const Value*, Nodes> same_;
};

// Depth first without recursion: schemas come from strangers.
class Walk {
 public:
  explicit Walk(Grammar& grammar) : grammar_(grammar) {}

  // Visits what `from` reaches through `same`; nodes end up in `order` after everything that they lead to.
  // Returns a node that leads back to itself; null if none does.
  const Value* visit(const Value* from) {
    std::vector<std::pair<const Value*, std::size_t>> path;
    const auto enter = [&](const Value* node) {
      state_[node] = State::Open;
      path.emplace_back(node, 0);
    };
    if (!state_.contains(from)) enter(from);
    while (!path.empty()) {
      auto& [node, next] = path.back();
      const Nodes& kids = grammar_.same(node);
      if (next == kids.size()) {
        state_[node] = State::Done;
        order_.push_back(node);
        path.pop_back();
        continue;
      }
      const Value* kid = kids[next++];
      const auto known = state_.find(kid);
      if (known == state_.end())
        enter(kid);
      else if (known->second == State::Open)
        return kid;
    }
    return nullptr;
  }

  const Nodes& order() const { return order_; }

 private:
  enum class State : std::uint8_t { Open, Done };
  Grammar& grammar_;
  std::unordered_map<const Value*, State> state_;
  Nodes order_;
};

class Meter {
 public:
  Meter(Grammar& grammar, std::uint64_t limit) : grammar_(grammar), limit_(limit) {}

  std::uint64_t measure(const Value& root, const Value& document) {
    struct Step {
      const Value* value;
      Counts applied;
    };
    std::vector<Step> open;
    open.push_back({&document, {{&root, 1}}});
    while (!open.empty() && total_ <= limit_) {
      const Step step = std::move(open.back());
      open.pop_back();
      const Counts all = spread(step.applied);
      if (step.value->is_object()) {
        for (const Value::Member& member : step.value->as_object())
          push(open, member.value, all,
               [&](const Value& node) { return grammar_.of_member(node, member.key); });
      } else if (step.value->is_array()) {
        for (std::size_t i = 0; i < step.value->size(); ++i)
          push(open, step.value->as_array()[i], all,
               [&](const Value& node) { return grammar_.of_item(node, i); });
      }
    }
    return total_;
  }

 private:
  std::uint64_t capped(std::uint64_t a, std::uint64_t b) const { return std::min(a + b, limit_ + 1); }

  // Adds what the applied schemas apply to the same value, as often as they do.
  Counts spread(const Counts& applied) {
    Walk walk(grammar_);
    for (const auto& [node, count] : applied) walk.visit(node);
    Counts counts = applied;
    for (auto node = walk.order().rbegin(); node != walk.order().rend(); ++node) {
      const std::uint64_t count = counts[*node];
      total_ = capped(total_, count);
      for (const Value* kid : grammar_.same(*node)) {
        std::uint64_t& sum = counts[kid];
        sum = capped(sum, count);
      }
    }
    return counts;
  }

  template <class Open, class Kids>
  void push(Open& open, const Value& value, const Counts& all, const Kids& kids_of) {
    Counts next;
    for (const auto& [node, count] : all) {
      for (const Value* kid : kids_of(*node)) {
        std::uint64_t& sum = next[kid];
        sum = capped(sum, count);
      }
    }
    if (!next.empty()) open.push_back({&value, std::move(next)});
  }

  Grammar& grammar_;
  const std::uint64_t limit_;
  std::uint64_t total_ = 0;
};

}  // namespace

std::string endless_reference(const Value& schema) {
  Grammar grammar(schema);
  Walk walk(grammar);
  for (const Grammar::Place& each : grammar.places()) {
    if (!each.node->is_object()) continue;
    if (const Value* repeated = walk.visit(each.node); repeated != nullptr)
      return grammar.path(*std::ranges::find(grammar.places(), repeated, &Grammar::Place::node));
  }
  return {};
}

std::uint64_t validation_steps(const Value& schema, const Value& document, std::uint64_t limit) {
  Grammar grammar(schema);
  return Meter(grammar, limit).measure(schema, document);
}

}  // namespace mist::encoding
