#include "testing/selector_match.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"

namespace mist::testing {
namespace {

using encoding::Value;

// Splits at commas outside of parentheses.
std::vector<std::string_view> requirements(std::string_view selector) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= selector.size(); ++i) {
    if (i < selector.size() && selector[i] == '(') ++depth;
    if (i < selector.size() && selector[i] == ')') --depth;
    if (i == selector.size() || (selector[i] == ',' && depth == 0)) {
      if (const auto part = trim(selector.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
      begin = i + 1;
    }
  }
  return parts;
}

Error unparsable(std::string_view part) {
  Error failure = error(ErrorKind::Invalid, "the selector can't be parsed");
  failure.because = fmt::format("unable to parse requirement: {}", part);
  return failure;
}

struct Equality {
  std::string_view key, value;
  bool negated = false;
};

std::optional<Equality> parse_equality(std::string_view part) {
  for (const std::string_view sign : {"!=", "==", "="}) {
    const auto at = part.find(sign);
    if (at == std::string_view::npos) continue;
    return Equality{trim(part.substr(0, at)), trim(part.substr(at + sign.size())), sign == "!="};
  }
  return std::nullopt;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<bool> matches_requirement(std::string_view part, const Value* labels) {
  const auto label = [&](std::string_view key) -> const Value* {
    return labels == nullptr ? nullptr : labels->find(key);
  };
  if (const auto sign = part.find_first_of("<>"); sign != std::string_view::npos) {
    const auto bound = whole_number(trim(part.substr(sign + 1)));
    if (!bound) return unparsable(part);
    const Value* const actual = label(trim(part.substr(0, sign)));
    const auto number = actual == nullptr ? std::nullopt : whole_number(actual->as_string());
    return number && (part[sign] == '>' ? *number > *bound : *number < *bound);
  }
  if (const auto open = part.find('('); open != std::string_view::npos) {
    if (!part.ends_with(')')) return unparsable(part);
    const std::string_view head = trim(part.substr(0, open));
    const bool negated = head.ends_with(" notin");
    if (!negated && !head.ends_with(" in")) return unparsable(part);
    const std::string_view key = trim(head.substr(0, head.rfind(' ')));
    bool found = false;
    for (const std::string_view option : split(part.substr(open + 1, part.size() - open - 2), ','))
      found = found || (label(key) != nullptr && *label(key) == Value(trim(option)));
    return found != negated;
  }
  if (const auto equality = parse_equality(part)) {
    const bool equal = label(equality->key) != nullptr && *label(equality->key) == Value(equality->value);
    return equal != equality->negated;
  }
  if (part.find(' ') != std::string_view::npos) return unparsable(part);
  if (part.starts_with('!')) return label(part.substr(1)) == nullptr;
  return label(part) != nullptr;
}

}  // namespace

Result<bool> matches_labels(std::string_view selector, const Value& object) {
  const Value* labels = object.at_path({"metadata", "labels"});
  for (const std::string_view part : requirements(selector)) {
    MIST_TRY(const bool matches, matches_requirement(part, labels));
    if (!matches) return false;
  }
  return true;
}

Result<bool> matches_fields(std::string_view selector, const Value& object) {
  for (const std::string_view part : requirements(selector)) {
    const auto equality = parse_equality(part);
    if (!equality) return unparsable(part);
    const Value* at = &object;
    for (const std::string_view step : split(equality->key, '.'))
      if (at != nullptr) at = at->find(step);
    const std::string_view actual = at != nullptr && at->is_string() ? at->as_string() : std::string_view();
    if ((actual == equality->value) == equality->negated) return false;
  }
  return true;
}

}  // namespace mist::testing
