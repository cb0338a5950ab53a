#include "encoding/schema_cost.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"
#include "base/url.h"
#include "encoding/schema_message.h"

namespace mist::encoding {
namespace {

// Keywords whose subschemas see the same value.
constexpr std::array<std::string_view, 5> kSameOne{"not", "if", "then", "else", "propertyNames"};
constexpr std::array<std::string_view, 3> kSameList{"allOf", "anyOf", "oneOf"};
constexpr std::array<std::string_view, 2> kSameByName{"dependentSchemas", "dependencies"};
constexpr std::array<std::string_view, 3> kReferences{"$ref", "$dynamicRef", "$recursiveRef"};
// Keywords whose subschemas see every member, or every item.
constexpr std::array<std::string_view, 3> kEachMember{"additionalProperties", "unevaluatedProperties",
                                                      "propertyNames"};
constexpr std::array<std::string_view, 3> kEachItem{"additionalItems", "unevaluatedItems", "contains"};
// All that make a validator look at each member or item, whether a subschema sees it or not.
constexpr std::array<std::string_view, 7> kByMember{
    "properties",    "patternProperties", "additionalProperties", "unevaluatedProperties",
    "propertyNames", "dependentRequired", "dependencies"};
constexpr std::array<std::string_view, 6> kByItem{
    "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "uniqueItems"};
// Keywords of which each entry is looked at whenever the schema is applied.
constexpr std::array<std::string_view, 4> kByEntry{"properties", "required", "dependentRequired",
                                                   "dependencies"};

// Places that references lead to, together: one that may mean several schemas counts for each.
constexpr std::size_t kMostTargets = 1'000'000;

using Nodes = std::vector<const Value*>;
using Counts = std::unordered_map<const Value*, std::uint64_t>;

class Grammar {
 public:
  explicit Grammar(const Value& root) : root_(root) { index(root); }

  // One object or list of the schema. Its path is made only for the one that is told of: a long key with many
  // children would else be kept once for each.
  struct Place {
    const Value* node;
    const Value* resource;      // the schema around it that has an $id, or the root
    std::size_t parent;         // in places_; kNone: the root
    std::string_view key = {};  // in its parent; or
    std::size_t item = 0;       // its place there
  };

  // Subschemas that see the same value as `node`.
  const Nodes& same(const Value* node) {
    const auto [entry, is_new] = same_.try_emplace(node);
    if (is_new) entry->second = find_same(*node);
    return entry->second;
  }

  // Whether the schema has its validator look at each member, or each item.
  bool sees_members(const Value& node) { return has_any(node, kByMember); }
  bool sees_items(const Value& node) { return has_any(node, kByItem); }

  Nodes of_member(const Value& node, std::string_view key) {
    Nodes found;
    if (const Value* properties = find(node, "properties"); properties != nullptr)
      add(found, pointers_.find(*properties, key));
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

  const Value* find(const Value& node, std::string_view keyword) { return pointers_.find(node, keyword); }

  // Every object and list of the schema, in document order.
  const std::vector<Place>& places() const { return places_; }
  // Its JSON pointer.
  std::string path(const Value* node) const {
    const auto place = std::ranges::find(places_, node, &Place::node);
    std::vector<std::string> parts;
    for (const Place* at = &*place; at->parent != kNone; at = &places_[at->parent])
      parts.push_back(at->key.data() == nullptr ? std::to_string(at->item) : std::string(at->key));
    std::string path = "#";
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) path += "/" + *part;
    return path;
  }
  // Its references lead to more places than are looked at.
  bool too_many_targets() const { return targets_ > kMostTargets; }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  bool has_any(const Value& node, std::span<const std::string_view> keywords) {
    return std::ranges::any_of(keywords,
                               [&](std::string_view keyword) { return find(node, keyword) != nullptr; });
  }
  static void add(Nodes& nodes, const Value* node) {
    if (node != nullptr && node->is_object()) nodes.push_back(node);
  }
  static void add_members(Nodes& nodes, const Value* object) {
    if (object == nullptr || !object->is_object()) return;
    for (const Value::Member& member : object->as_object()) add(nodes, &member.value);
  }

  void index(const Value& root) {
    std::vector<Place> open{{&root, &root, kNone}};
    while (!open.empty()) {
      Place place = open.back();
      const Value& at = *place.node;
      const std::size_t here = places_.size();
      open.pop_back();
      if (at.is_object()) note_names(at, place);
      places_.push_back(place);
      if (at.is_array()) {
        for (std::size_t i = at.size(); i-- > 0;)
          if (const Value& item = at.as_array()[i]; item.is_array() || item.is_object())
            open.push_back({&item, place.resource, here, {}, i});
        continue;
      }
      if (!at.is_object()) continue;
      for (auto member = at.as_object().rbegin(); member != at.as_object().rend(); ++member)
        if (member->value.is_array() || member->value.is_object())
          open.push_back({&member->value, place.resource, here, member->key});
    }
  }

  // Names that references may use. In early drafts the base is "id", and either may be a name behind a '#'.
  void note_names(const Value& node, Place& place) {
    for (const std::string_view keyword : {"$anchor", "$dynamicAnchor"})
      if (const std::string_view name = node.string_at(keyword); !name.empty()) named_.emplace(name, &node);
    if (node.find("$recursiveAnchor") != nullptr) recursive_.push_back(&node);
    for (const std::string_view keyword : {"$id", "id"}) {
      const std::string_view id = node.string_at(keyword);
      if (const auto hash = id.find('#'); hash != std::string_view::npos)
        named_.emplace(id.substr(hash + 1), &node);
      if (id.empty() || id.front() == '#' || place.resource == &node) continue;
      resources_.push_back(&node);
      place.resource = &node;
    }
    if (place.resource != &root_) resource_of_[&node] = place.resource;
  }

  // All that `reference` may mean in `node`. Which of its resources a URI names is the validator's business;
  // one too many here makes an estimate larger and misses nothing.
  void add_targets(Nodes& found, const Value& node, std::string_view reference) {
    const auto hash = std::min(reference.find('#'), reference.size());
    // "%24defs" is "$defs" in a URI.
    const std::string fragment = percent_decoded(reference.substr(std::min(hash + 1, reference.size())));
    Nodes targets;
    if (!fragment.empty() && fragment.front() != '/') {
      const auto [first, last] = named_.equal_range(fragment);
      for (auto named = first; named != last; ++named) add(targets, named->second);
    } else {
      Nodes resources{&root_};
      if (const auto own = resource_of_.find(&node); own != resource_of_.end())
        resources.push_back(own->second);
      if (hash != 0) resources.insert(resources.end(), resources_.begin(), resources_.end());
      for (const Value* const resource : resources)
        add(targets, fragment.empty() ? resource : pointers_.at(*resource, fragment));
    }
    targets_ += targets.size();
    std::ranges::sort(targets);
    targets.erase(std::ranges::unique(targets).begin(), targets.end());
    found.insert(found.end(), targets.begin(), targets.end());
  }

  Nodes find_same(const Value& node) {
    Nodes found;
    for (const std::string_view keyword : kReferences) {
      const Value* const reference = find(node, keyword);
      if (reference == nullptr || !reference->is_string() || too_many_targets()) continue;
      add_targets(found, node, reference->as_string());
      if (keyword != "$recursiveRef") continue;
      found.insert(found.end(), recursive_.begin(), recursive_.end());
      targets_ += recursive_.size();
    }
    for (const std::string_view keyword : kSameOne) add(found, find(node, keyword));
    for (const std::string_view keyword : kSameByName) add_members(found, find(node, keyword));
    for (const std::string_view keyword : kSameList) {
      const Value* list = find(node, keyword);
      if (list == nullptr || !list->is_array()) continue;
      for (const Value& item : list->as_array()) add(found, &item);
    }
    return found;
  }

  const Value& root_;
  std::multimap<std::string_view, const Value*, std::less<>> named_;
  Nodes recursive_;                                             // with $recursiveAnchor
  Nodes resources_;                                             // with an $id
  std::unordered_map<const Value*, const Value*> resource_of_;  // where it isn't the root
  std::vector<Place> places_;
  PointerFinder pointers_;
  std::unordered_map<const Value*, Nodes> same_;
  std::size_t targets_ = 0;
};

// The cost of matching a pattern, in steps of the validator: for each byte that is looked at, about the
// number of its states, which counted repetitions multiply; and for each text that it is matched with, if it
// looks around or back, so that it may have to try.
struct PatternCost {
  std::uint64_t states = 1;
  bool tries = false;

  static PatternCost of(std::string_view pattern);
  std::uint64_t steps(std::uint64_t texts, std::uint64_t bytes) const {
    // About a millisecond for each of 1000 texts that are tried to the end, and for 10,000 states a byte,
    // where steps are fractions of a microsecond.
    return texts * (tries ? 2000 : 0) + bytes * states / 64;
  }
};

PatternCost PatternCost::of(std::string_view pattern) {
  constexpr std::uint64_t kMostStates = 1 << 18;  // more don't compile
  PatternCost cost;
  std::vector<std::uint64_t> open{0};  // states of each group so far
  std::uint64_t last = 0;              // of what a repetition would repeat
  const auto atom = [&](std::uint64_t states) {
    last = states;
    open.back() = std::min(open.back() + states, kMostStates);
  };
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (c == '\\') {
      cost.tries = cost.tries || (next >= '1' && next <= '9') || next == 'k' || next == 'G' || next == 'K';
      // Classes of Unicode are some hundred sequences of bytes.
      atom(std::string_view("wWdDsSpP").find(next) != std::string_view::npos ? 100 : 1);
      ++i;
    } else if (c == '[') {
      const auto end = std::min(pattern.find(']', i + 2), pattern.size());
      atom(1 + (end - i) / 2 + (pattern.substr(i, end - i).find('\\') != std::string_view::npos ? 100 : 0));
      i = end;
    } else if (c == '(') {
      if (next == '?') {
        const char kind = i + 2 < pattern.size() ? pattern[i + 2] : '\0';
        cost.tries = cost.tries || kind == '=' || kind == '!' || kind == '<' || kind == '>' || kind == '(';
      }
      open.push_back(0);
    } else if (c == ')' && open.size() > 1) {
      const std::uint64_t states = open.back();
      open.pop_back();
      atom(states);
    } else if (c == '{') {
      std::uint64_t most = 0, number = 0;
      for (++i; i < pattern.size() && pattern[i] != '}'; ++i) {
        if (pattern[i] < '0' || pattern[i] > '9')
          number = 0;
        else
          number = std::min<std::uint64_t>(number * 10 + static_cast<std::uint64_t>(pattern[i] - '0'),
                                           kMostStates);
        most = std::max(most, number);
      }
      if (most > 1) open.back() = std::min(open.back() + last * (most - 1), kMostStates);
    } else {
      atom(c == '.' ? 10 : 1);
    }
  }
  for (const std::uint64_t states : open) cost.states = std::min(cost.states + states, kMostStates);
  return cost;
}

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
    // One for each level of the document: what its children see is found when it is their turn.
    std::vector<Level> open;
    enter(open, document, {{&root, 1}});
    while (!open.empty() && total_ <= limit_) {
      Level& level = open.back();
      if (level.next == level.value->size()) {
        open.pop_back();
        continue;
      }
      const std::size_t at = level.next++;
      charge(level.applied.size());
      if (level.value->is_array()) {
        const Value& item = level.value->as_array()[at];
        enter(open, item,
              below(level.applied, [&](const Value& node) { return grammar_.of_item(node, at); }));
      } else {
        const Value::Member& member = level.value->as_object()[at];
        enter(open, member.value,
              below(level.applied, [&](const Value& node) { return grammar_.of_member(node, member.key); }));
      }
    }
    return total_;
  }

 private:
  struct Level {
    const Value* value;
    std::vector<std::pair<const Value*, std::uint64_t>> applied;  // of them, those that see its children
    std::size_t next = 0;
  };

  std::uint64_t capped(std::uint64_t a, std::uint64_t b) const {
    return a > limit_ || b > limit_ - a ? limit_ + 1 : a + b;
  }
  void charge(std::uint64_t steps, std::uint64_t times = 1) {
    const bool too_many = times != 0 && steps > limit_ / times;
    total_ = capped(total_, too_many ? limit_ + 1 : steps * times);
  }

  void enter(std::vector<Level>& open, const Value& value, const Counts& applied) {
    if (applied.empty()) return;
    Level level{&value, {}};
    for (const auto& [node, count] : spread(applied)) {
      charge(own_steps(*node, value), count);
      if (total_ > limit_) return;
      if (value.is_array() ? grammar_.sees_items(*node) : value.is_object() && grammar_.sees_members(*node))
        level.applied.emplace_back(node, count);
    }
    if (!level.applied.empty()) open.push_back(std::move(level));
  }

  // Adds what the applied schemas apply to the same value, as often as they do.
  Counts spread(const Counts& applied) {
    Walk walk(grammar_);
    for (const auto& [node, count] : applied) walk.visit(node);
    Counts counts = applied;
    for (auto node = walk.order().rbegin(); node != walk.order().rend(); ++node) {
      const std::uint64_t count = counts[*node];
      charge(count);
      for (const Value* kid : grammar_.same(*node)) {
        std::uint64_t& sum = counts[kid];
        sum = capped(sum, count);
      }
    }
    return counts;
  }

  // The validator's steps for one value with this schema, without those of its subschemas.
  std::uint64_t own_steps(const Value& node, const Value& value) {
    std::uint64_t steps = 0;
    if (const Value* const options = grammar_.find(node, "enum"))
      steps += options->size() * (1 + value.size());
    if (value.is_string()) {
      if (const Value* const pattern = grammar_.find(node, "pattern");
          pattern != nullptr && pattern->is_string())
        steps = capped(steps, cost_of(pattern->as_string()).steps(1, value.as_string().size()));
    } else if (value.is_object()) {
      for (const std::string_view keyword : kByEntry)
        if (const Value* const entries = grammar_.find(node, keyword)) steps += entries->size();
      if (const Value* const patterns = grammar_.find(node, "patternProperties");
          patterns != nullptr && patterns->is_object()) {
        std::uint64_t bytes = 0;
        for (const Value::Member& member : value.as_object()) bytes += member.key.size();
        steps += value.size();
        for (const Value::Member& pattern : patterns->as_object())
          steps = capped(steps, cost_of(pattern.key).steps(value.size(), bytes));
      }
    } else if (value.is_array() && grammar_.sees_items(node)) {
      steps += value.size();
    }
    return steps;
  }

  const PatternCost& cost_of(std::string_view pattern) {
    const auto [known, is_new] = patterns_.try_emplace(pattern);
    if (is_new) known->second = PatternCost::of(pattern);
    return known->second;
  }

  template <class Kids>
  Counts below(const std::vector<std::pair<const Value*, std::uint64_t>>& applied, const Kids& kids_of) {
    Counts next;
    for (const auto& [node, count] : applied) {
      for (const Value* kid : kids_of(*node)) {
        std::uint64_t& sum = next[kid];
        sum = capped(sum, count);
      }
    }
    return next;
  }

  Grammar& grammar_;
  const std::uint64_t limit_;
  std::uint64_t total_ = 0;
  std::unordered_map<std::string_view, PatternCost, KeyedHash> patterns_;
};

}  // namespace

std::string endless_reference(const Value& schema) {
  Grammar grammar(schema);
  Walk walk(grammar);
  for (const Grammar::Place& each : grammar.places()) {
    if (!each.node->is_object()) continue;
    if (const Value* repeated = walk.visit(each.node); repeated != nullptr) return grammar.path(repeated);
    if (grammar.too_many_targets()) return grammar.path(each.node);
  }
  return {};
}

std::uint64_t validation_steps(const Value& schema, const Value& document, std::uint64_t limit) {
  Grammar grammar(schema);
  return Meter(grammar, limit).measure(schema, document);
}

}  // namespace mist::encoding
