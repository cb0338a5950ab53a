#include "apimachinery/label_selector.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"

namespace mist::apimachinery {
namespace {

using encoding::Value;

// Between commas that are outside of parentheses.
std::vector<std::string_view> requirements_of(std::string_view selector) {
  std::vector<std::string_view> all;
  std::size_t begin = 0;
  bool is_within = false;
  for (std::size_t i = 0; i <= selector.size(); ++i) {
    const char at = i == selector.size() ? ',' : selector[i];
    if (at == '(' || at == ')') is_within = at == '(';
    if (at != ',' || (is_within && i < selector.size())) continue;
    if (const auto each = trim(selector.substr(begin, i - begin)); !each.empty()) all.push_back(each);
    begin = i + 1;
  }
  return all;
}

const Value* label_of(const Value& object, std::string_view key) {
  return object.at_path({"metadata", "labels", trim(key)});
}

bool has_label(const Value& object, std::string_view key, std::string_view value) {
  const Value* const label = label_of(object, key);
  return label != nullptr && label->is_string() && label->as_string() == trim(value);
}

// `a in (x,y)`, `a notin (x,y)`: a label that isn't there is in no set.
bool meets_set(std::string_view requirement, std::size_t open, const Value& object) {
  const std::string_view head = trim(requirement.substr(0, open));
  const auto space = head.find_last_of(" \t");
  if (space == std::string_view::npos || !requirement.ends_with(')')) return true;
  const std::string_view sign = head.substr(space + 1);
  if (sign != "in" && sign != "notin") return true;
  const std::string_view set = requirement.substr(open + 1, requirement.size() - open - 2);
  const bool is_in = std::ranges::any_of(split(set, ','), [&](std::string_view value) {
    return has_label(object, head.substr(0, space), value);
  });
  return is_in == (sign == "in");
}

bool meets_equality(std::string_view requirement, std::size_t equals, const Value& object) {
  const bool is_not = equals > 0 && requirement[equals - 1] == '!';
  std::string_view value = requirement.substr(equals + 1);
  if (value.starts_with('=')) value.remove_prefix(1);
  return has_label(object, requirement.substr(0, is_not ? equals - 1 : equals), value) != is_not;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// `a>1`, `a<1`: a label that isn't there, or isn't an integer, is neither.
bool meets_order(std::string_view requirement, std::size_t sign, const Value& object) {
  const std::optional<std::int64_t> bound = integer_of(trim(requirement.substr(sign + 1)));
  if (!bound) return true;
  const Value* const label = label_of(object, requirement.substr(0, sign));
  if (label == nullptr || !label->is_string()) return false;
  const std::optional<std::int64_t> number = integer_of(label->as_string());
  return number && (requirement[sign] == '>' ? *number > *bound : *number < *bound);
}

bool meets(std::string_view requirement, const Value& object) {
  if (const auto sign = requirement.find_first_of("<>"); sign != std::string_view::npos)
    return meets_order(requirement, sign, object);
  if (const auto open = requirement.find('('); open != std::string_view::npos)
    return meets_set(requirement, open, object);
  if (const auto equals = requirement.find('='); equals != std::string_view::npos)
    return meets_equality(requirement, equals, object);
  return requirement.starts_with('!') ? label_of(object, requirement.substr(1)) == nullptr
                                      : label_of(object, requirement) != nullptr;
}

}  // namespace

bool selects(std::string_view selector, const Value& object) {
  return std::ranges::all_of(requirements_of(selector),
                             [&](std::string_view each) { return meets(each, object); });
}

}  // namespace mist::apimachinery
