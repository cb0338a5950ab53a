#include "encoding/json_escapes.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::encoding {
namespace {

constexpr std::size_t kEscape = 6;  // of "\ud83d"

// The code unit that begins at `at`; nothing: no \u escape does.
std::optional<std::uint32_t> unit_at(std::string_view text, std::size_t at) {
  if (at + kEscape > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  std::uint32_t unit = 0;
  const char* const digits = text.data() + at + 2;
  const auto [end, failed] = std::from_chars(digits, digits + 4, unit, 16);
  return failed == std::errc() && end == digits + 4 ? std::optional(unit) : std::nullopt;
}

// The character that two units at `at` stand for.
std::optional<std::uint32_t> pair_at(std::string_view text, std::size_t at) {
  const auto high = unit_at(text, at), low = unit_at(text, at + kEscape);
  if (!high || !low || *high < 0xd800 || *high > 0xdbff || *low < 0xdc00 || *low > 0xdfff)
    return std::nullopt;
  return 0x10000 + ((*high - 0xd800) << 10) + (*low - 0xdc00);
}

bool may_have_pairs(std::string_view text) {
  const std::string_view start = trim(text);
  return (start.starts_with('{') || start.starts_with('[')) &&
         (text.find("\\ud") != std::string_view::npos || text.find("\\uD") != std::string_view::npos);
}

}  // namespace

std::string with_yaml_escapes(std::string_view text) {
  // YAML that only looks like JSON may have backslashes that are none of an escape.
  if (!may_have_pairs(text) || !parse_json(text).ok()) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      out += text[i++];
    } else if (const auto character = pair_at(text, i)) {
      out += fmt::format("\\U{:08x}", *character);
      i += 2 * kEscape;
    } else {
      out += text.substr(i, 2);
      i += 2;
    }
  }
  return out;
}

}  // namespace mist::encoding
