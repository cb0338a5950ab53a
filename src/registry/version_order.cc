#include "registry/version_order.h"

#include <algorithm>

#include "base/text.h"

namespace mist::registry {
namespace {

bool is_numeric(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// By value whatever the length, so that dates and build numbers beyond 64 bits work.
std::strong_ordering compare_numbers(std::string_view a, std::string_view b) {
  const auto strip = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of('0'), text.size()));
  };
  a = strip(a), b = strip(b);
  if (a.size() != b.size()) return a.size() <=> b.size();
  return a <=> b;
}

std::strong_ordering compare_identifiers(std::string_view a, std::string_view b) {
  const bool a_number = is_numeric(a), b_number = is_numeric(b);
  if (a_number && b_number) return compare_numbers(a, b);
  if (a_number != b_number) return a_number ? std::strong_ordering::less : std::strong_ordering::greater;
  return a <=> b;
}

std::strong_ordering compare_lists(std::string_view a, std::string_view b) {
  const auto left = split(a, '.'), right = split(b, '.');
  return std::lexicographical_compare_three_way(left.begin(), left.end(), right.begin(), right.end(),
                                                compare_identifiers);
}

struct Parts {
  bool semantic = false;
  std::string_view core, prerelease;
};

Parts parts_of(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  version = version.substr(0, version.find('+'));
  Parts parts;
  const auto dash = version.find('-');
  parts.core = version.substr(0, dash);
  if (dash != std::string_view::npos) parts.prerelease = version.substr(dash + 1);
  parts.semantic = std::ranges::all_of(split(parts.core, '.'), is_numeric);
  return parts;
}

}  // namespace

std::strong_ordering compare_versions(std::string_view a, std::string_view b) {
  const Parts left = parts_of(a), right = parts_of(b);
  if (left.semantic != right.semantic)
    return left.semantic ? std::strong_ordering::greater : std::strong_ordering::less;
  if (left.semantic) {
    if (const auto order = compare_lists(left.core, right.core); order != 0) return order;
    if (left.prerelease.empty() != right.prerelease.empty())
      return left.prerelease.empty() ? std::strong_ordering::greater : std::strong_ordering::less;
    if (const auto order = compare_lists(left.prerelease, right.prerelease); order != 0) return order;
  }
  return a <=> b;
}

}  // namespace mist::registry
