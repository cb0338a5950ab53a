#include "blueprint/schema_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/text.h"
#include "blueprint/pattern_sample.h"
#include "blueprint/structural_schema.h"

namespace mist::blueprint {
namespace {

constexpr std::int64_t kUsualEntries = 2;
// Of texts, and of lists that have to be long: an author of more gives an example.
constexpr std::int64_t kMostSampled = 1000;

bool is_set(const Value& schema, std::string_view key) {
  const Value* const found = schema.find(key);
  return found != nullptr && found->is_number();
}

class Sampler {
 public:
  Sampler(Filling filling, std::size_t turn) : filling_(filling), turn_(turn) {}

  // `index`: of an item or entry among others, which are to differ.
  Value value(const Value& schema, const std::string& name, std::size_t index) {
    if (const Value* const words = schema.find("enum"); words != nullptr && words->is_array())
      return word(schema, words->as_array(), index);
    const std::string_view type = schema.string_at("type");
    if (type == "object") return record(schema);
    if (type == "array") return list(schema, name);
    if (type == "boolean") return boolean(schema);
    if (type == "integer" || type == "number") return number(schema, type == "integer");
    // A number or a text: each in its turn.
    if (schema.is_true_at("x-kubernetes-int-or-string") && turn_ % 2 == 0) return number(schema, true);
    return text(schema, name, index);
  }

 private:
  Value word(const Value& schema, const Value::Array& words, std::size_t index) const {
    Value::Array chosen;
    for (const Value& each : words)
      if (!each.is_null()) chosen.push_back(each);
    if (chosen.empty()) return {};
    const Value* const usual = schema.find("default");
    // The default is the last one.
    std::ranges::stable_partition(chosen,
                                  [&](const Value& each) { return usual == nullptr || each != *usual; });
    return chosen[(turn_ + index) % chosen.size()];
  }

  Value boolean(const Value& schema) const {
    const bool first = !schema.is_true_at("default");
    return turn_ % 2 == 0 ? Value(first) : Value(!first);
  }

  Value number(const Value& schema, bool is_whole) {
    const auto bound = [&](std::string_view key, double otherwise) {
      return is_set(schema, key) ? schema.find(key)->as_double() : otherwise;
    };
    const double step = is_set(schema, "multipleOf") ? std::abs(bound("multipleOf", 1)) : 1;
    if (step == 0) return {};
    const double low = bound("minimum", -std::numeric_limits<double>::infinity());
    const double high = bound("maximum", std::numeric_limits<double>::infinity());
    const bool above = schema.is_true_at("exclusiveMinimum"), below = schema.is_true_at("exclusiveMaximum");
    const auto fits = [&](double candidate) {
      return (above ? candidate > low : candidate >= low) && (below ? candidate < high : candidate <= high) &&
             (!is_whole || std::floor(candidate) == candidate);
    };
    const Value* const usual = schema.find("default");
    const double left_out = usual != nullptr && usual->is_number() ? usual->as_double() : std::nan("");
    // Upwards from a number of its own, or from where the range begins; then downwards.
    const double wanted = static_cast<double>(++numbers_ + 1);
    const double from = std::ceil(std::clamp(wanted, low, std::max(low, high)) / step) * step;
    const double middle = (low + high) / 2;
    for (const double candidate : {from, from + step, from - step, from - 2 * step, middle, low, high})
      if (std::isfinite(candidate) && candidate != left_out && fits(candidate))
        return number_value(candidate);
    return usual == nullptr ? Value() : *usual;
  }

  static Value number_value(double number) {
    constexpr double kMostExact = 9007199254740992;  // 2^53
    if (std::floor(number) == number && std::abs(number) <= kMostExact)
      return Value(static_cast<std::int64_t>(number));
    return Value(number);
  }

  static Value text(const Value& schema, const std::string& name, std::size_t index) {
    const std::int64_t least = std::max<std::int64_t>(0, schema.int_at("minLength"));
    const std::int64_t most = schema.int_at("maxLength", kMostSampled);
    if (least > kMostSampled || most < least) return {};
    std::string pattern(schema.string_at("pattern"));
    if (const Value* const all = schema.find("allOf"); pattern.empty() && all != nullptr && all->is_array())
      for (const Value& each : all->as_array())
        if (pattern.empty()) pattern = each.string_at("pattern");
    if (!pattern.empty()) {
      const auto made =
          text_matching(pattern, static_cast<std::size_t>(least), static_cast<std::size_t>(most));
      return made ? Value(*made) : Value();
    }
    // As a name in Kubernetes: most contracts that no schema can ask take one.
    std::string made;
    for (const char c : lower_case(name)) made += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
    if (index > 0) made += fmt::format("-{}", index + 1);
    if (const Value* const usual = schema.find("default"); usual != nullptr && *usual == Value(made))
      made += "-x";
    // Entries of a list differ at their end.
    const auto longest = static_cast<std::size_t>(most);
    if (made.size() > longest) made.erase(0, made.size() - longest);
    while (made.size() < static_cast<std::size_t>(least)) made += 'x';
    return Value(std::move(made));
  }

  std::size_t entries(const Value& schema, std::string_view least, std::string_view most) const {
    const std::int64_t low = std::max<std::int64_t>(0, schema.int_at(least));
    if (filling_ == Filling::Required) return static_cast<std::size_t>(std::min(low, kMostSampled));
    const std::int64_t high = std::min(schema.int_at(most, kMostSampled), kMostSampled);
    return static_cast<std::size_t>(std::clamp(kUsualEntries, std::min(low, high), high));
  }

  Value list(const Value& schema, const std::string& name) {
    Value made = Value::array();
    const Value* const items = record_at(schema, "items");
    const std::size_t count = entries(schema, "minItems", "maxItems");
    for (std::size_t i = 0; items != nullptr && i < count; ++i) {
      Value item = value(*items, name, i);
      for (const std::string& key : schema.texts_at("x-kubernetes-list-map-keys"))
        if (const Value* const fields = record_at(*items, "properties");
            fields != nullptr && item.is_object())
          if (const Value* const field = fields->find(key)) item.set(key, value(*field, key, i));
      const bool differs = std::ranges::find(made.as_array(), item) == made.as_array().end();
      if (!item.is_null() && (differs || schema.string_at("x-kubernetes-list-type") != "set"))
        made.push_back(std::move(item));
    }
    return made;
  }

  Value record(const Value& schema) {
    Value made = Value::object();
    const std::vector<std::string> required = schema.texts_at("required");
    if (const Value* const fields = record_at(schema, "properties"))
      for (const Value::Member& each : fields->as_object()) {
        const bool has_to = std::ranges::find(required, each.key) != required.end();
        if (filling_ == Filling::Required && !has_to) continue;
        if (Value field = value(each.value, each.key, 0); !field.is_null())
          made.set(each.key, std::move(field));
      }
    if (const Value* const others = record_at(schema, "additionalProperties")) {
      const std::size_t count = entries(schema, "minProperties", "maxProperties");
      for (std::size_t i = 0; i < count; ++i)
        if (Value entry = value(*others, "value", i); !entry.is_null())
          made.set(fmt::format("key-{}", i + 1), std::move(entry));
    } else if (filling_ == Filling::Everything && made.empty() &&
               schema.is_true_at("x-kubernetes-preserve-unknown-fields")) {
      // Anything goes: something has to be there, to see whether it is kept.
      made.set("any", "value");
    }
    return made;
  }

  const Filling filling_;
  const std::size_t turn_;
  int numbers_ = 0;
};

}  // namespace

std::size_t sample_turns(const Value& schema) {
  if (!schema.is_object()) return 1;
  std::size_t most = 1;
  if (const Value* const words = schema.find("enum"); words != nullptr && words->is_array())
    most = words->size();
  else if (schema.string_at("type") == "boolean" || schema.is_true_at("x-kubernetes-int-or-string"))
    most = 2;
  for (const std::string_view inner : {"items", "additionalProperties"})
    if (const Value* const found = record_at(schema, inner)) most = std::max(most, sample_turns(*found));
  if (const Value* const fields = record_at(schema, "properties"))
    for (const Value::Member& each : fields->as_object()) most = std::max(most, sample_turns(each.value));
  return std::clamp<std::size_t>(most, 1, kMostTurns);
}

Value sample_of(const Value& schema, Filling filling, std::size_t turn, std::string_view name) {
  if (!schema.is_object()) return Value::object();
  return Sampler(filling, turn).value(schema, std::string(name), 0);
}

}  // namespace mist::blueprint
