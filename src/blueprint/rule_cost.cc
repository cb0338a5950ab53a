#include "blueprint/rule_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "blueprint/structural_schema.h"

namespace mist::blueprint {
namespace {

// The cost that the server allows one rule, and all rules of a version together.
constexpr std::uint64_t kMostOfRule = 10'000'000, kMostOfAll = 100'000'000;
// Of a request, in bytes: no value is larger.
constexpr std::uint64_t kLargestRequest = 3 * 1024 * 1024;
constexpr std::uint64_t kMostCost = std::numeric_limits<std::uint64_t>::max();
// A code point has at most so many bytes.
constexpr std::uint64_t kBytesOfCodePoint = 4;
// To compare two values costs this for each byte, item or entry: one for ten.
constexpr std::uint64_t kComparedAtOnce = 10;

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > kMostCost / b ? kMostCost : a * b;
}

std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return a > kMostCost - b ? kMostCost : a + b; }

std::optional<std::uint64_t> bound_at(const Value& schema, std::string_view keyword) {
  if (schema.find(keyword) == nullptr) return std::nullopt;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, schema.int_at(keyword)));
}

// A value as CEL sees it.
struct CelType {
  std::uint64_t most = 0;         ///< bytes of a text, items, entries; 0 for what has none of these
  std::uint64_t least_bytes = 0;  ///< of the smallest one, as JSON
};

std::optional<CelType> cel_type_of(const Value& schema);

std::uint64_t longest_text(const Value& schema) {
  if (const auto bound = bound_at(schema, "maxLength")) return times(*bound, kBytesOfCodePoint);
  const Value* const words = schema.find("enum");
  if (words == nullptr || !words->is_array() || schema.string_at("type") != "string")
    return kLargestRequest - 2;
  std::uint64_t longest = 0;
  for (const Value& each : words->as_array())
    if (each.is_string()) longest = std::max<std::uint64_t>(longest, each.as_string().size());
  return longest;
}

std::optional<CelType> type_of_list(const Value& schema) {
  const Value* const items = record_at(schema, "items");
  const std::optional<CelType> item = items == nullptr ? std::nullopt : cel_type_of(*items);
  if (!item) return std::nullopt;
  return CelType{bound_at(schema, "maxItems").value_or((kLargestRequest - 2) / (item->least_bytes + 1)), 2};
}

std::optional<CelType> type_of_map(const Value& schema, const Value& values) {
  const std::optional<CelType> value = cel_type_of(values);
  if (!value) return std::nullopt;
  return CelType{bound_at(schema, "maxProperties").value_or((kLargestRequest - 2) / (value->least_bytes + 6)),
                 2};
}

CelType type_of_record(const Value& schema) {
  CelType type{0, 2};
  const Value* const fields = record_at(schema, "properties");
  if (fields == nullptr) return type;
  for (const std::string& name : schema.texts_at("required")) {
    const Value* const field = fields->find(name);
    if (field == nullptr || field->find("default") != nullptr) continue;
    if (const auto of_field = cel_type_of(*field))
      type.least_bytes += name.size() + of_field->least_bytes + 4;
  }
  return type;
}

// Nothing: it may be anything, and no rule can be about it.
std::optional<CelType> cel_type_of(const Value& schema) {
  if (schema.is_true_at("x-kubernetes-int-or-string")) return CelType{longest_text(schema), 1};
  const std::string_view type = schema.string_at("type");
  if (type == "array") return type_of_list(schema);
  if (type == "object") {
    const Value* const values = record_at(schema, "additionalProperties");
    return values != nullptr ? type_of_map(schema, *values) : type_of_record(schema);
  }
  if (type == "string") return CelType{longest_text(schema), 2};
  if (type == "boolean") return CelType{0, 4};
  if (type == "integer" || type == "number") return CelType{0, 1};
  return std::nullopt;
}

// "!(has(oldSelf.a) && dyn(oldSelf.a) != null) || ...": each name costs 1, and so do "!", dyn() and "!=". The
// last name within has() costs nothing.
std::uint64_t cost_of_presence(std::string_view rule) {
  std::uint64_t cost = 1;
  for (std::size_t at = rule.find('('); at != std::string_view::npos; at = rule.find('(', at + 1)) {
    const std::string_view within = rule.substr(at + 1, rule.find(')', at) - at - 1);
    const auto dots = static_cast<std::uint64_t>(std::ranges::count(within, '.'));
    if (rule.substr(0, at).ends_with("has")) cost += dots;
    if (rule.substr(0, at).ends_with("dyn")) cost += dots + 3;
  }
  return cost;
}

std::optional<std::uint64_t> cost_of(const Value& rule, const CelType& type) {
  if (keeps_unchanged(rule)) return cost_of_presence(rule.string_at("rule"));
  if (rule.string_at("rule") != kUnchangedRule) return std::nullopt;
  return 2 + (type.most + kComparedAtOnce - 1) / kComparedAtOnce;
}

std::string as_factor(std::uint64_t cost, std::uint64_t limit) {
  const double factor = static_cast<double>(cost) / static_cast<double>(limit);
  // Rounded up: 1.00 times would be allowed.
  return factor > 100 ? "more than 100 times" : fmt::format("{:.2f} times", std::ceil(factor * 100) / 100);
}

class RuleWalk {
 public:
  std::vector<SchemaPlace> walk(const Value& schema) {
    look_at(schema, {});
    if (found_.empty() && all_ > kMostOfAll)
      found_.push_back({"", fmt::format("the API server estimates that its rules together cost {} what it "
                                        "allows: bound lists, maps and texts that have Unchanged within",
                                        as_factor(all_, kMostOfAll))});
    return std::move(found_);
  }

 private:
  struct Place {
    std::string path;                       // as in SchemaPlace
    std::optional<std::uint64_t> most = 1;  // how often it can be there; nothing: without a bound
    std::vector<std::string> unbounded;     // what to bound: "sources with MaxItems"

    Place within(std::string_view step) const { return {path + std::string(step), most, unbounded}; }
  };

  void look_at(const Value& schema, const Place& place) {
    if (!schema.is_object()) return;
    look_at_rules(schema, place);
    if (const Value* items = record_at(schema, "items"))
      look_at(*items, many(schema, place, "[]", "maxItems", "MaxItems"));
    if (const Value* others = record_at(schema, "additionalProperties"))
      look_at(*others, many(schema, place, ".*", "maxProperties", "MaxFields"));
    if (const Value* fields = record_at(schema, "properties"))
      for (const Value::Member& each : fields->as_object()) look_at(each.value, place.within("." + each.key));
  }

  static Place many(const Value& schema, const Place& place, std::string_view step, std::string_view keyword,
                    std::string_view contract) {
    Place inner = place.within(step);
    const auto bound = bound_at(schema, keyword);
    inner.most = bound && place.most ? std::optional(times(*bound, *place.most)) : std::nullopt;
    if (!bound) inner.unbounded.push_back(fmt::format("{} with {}", name_of(place.path), contract));
    return inner;
  }

  static std::string_view name_of(std::string_view path) {
    return path.empty() ? "it" : path.substr(path.starts_with('.') ? 1 : 0);
  }

  void look_at_rules(const Value& schema, const Place& place) {
    const Value* const rules = schema.find("x-kubernetes-validations");
    if (rules == nullptr || !rules->is_array() || rules->as_array().empty()) return;
    const std::optional<CelType> type = cel_type_of(schema);
    if (!type) {
      found_.push_back({place.path,
                        "the API server takes no rule, as Rule and Unchanged are, about a value of any "
                        "type, nor about a list or a map of such"});
      return;
    }
    for (const Value& each : rules->as_array())
      if (const auto cost = cost_of(each, *type)) weigh(each, *cost, schema, *type, place);
  }

  void weigh(const Value& rule, std::uint64_t once, const Value& schema, const CelType& type,
             const Place& place) {
    const std::uint64_t cost = times(once, place.most.value_or(kLargestRequest / (type.least_bytes + 1)));
    all_ = plus(all_, cost);
    if (cost <= kMostOfRule) return;
    std::vector<std::string> bounds = place.unbounded;
    if (rule.string_at("rule") == kUnchangedRule) add_bound_of(schema, bounds);
    found_.push_back({place.path, fmt::format("the API server estimates that the rule {} costs {} what it "
                                              "allows: {}",
                                              rule.string_at("rule"), as_factor(cost, kMostOfRule),
                                              bounds.empty() ? "lower the bounds of the lists, maps and texts"
                                                             : "bound " + join(bounds, ", "))});
  }

  static void add_bound_of(const Value& schema, std::vector<std::string>& bounds) {
    const auto missing = [&](std::string_view keyword) { return schema.find(keyword) == nullptr; };
    const std::string_view type = schema.string_at("type");
    if (type == "string" && missing("maxLength") && missing("enum"))
      bounds.emplace_back("the text with MaxLength");
    if (type == "array" && missing("maxItems")) bounds.emplace_back("the list with MaxItems");
    if (schema.find("additionalProperties") != nullptr && missing("maxProperties"))
      bounds.emplace_back("the map with MaxFields");
  }

  std::vector<SchemaPlace> found_;
  std::uint64_t all_ = 0;
};

}  // namespace

std::vector<SchemaPlace> refused_rules(const Value& schema) { return RuleWalk().walk(schema); }

}  // namespace mist::blueprint
