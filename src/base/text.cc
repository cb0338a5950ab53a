#include "base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

namespace mist {
namespace {

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

struct Decoded {
  char32_t code_point = 0;
  std::size_t length = 0;  // 0: malformed
};

Decoded decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  std::size_t length = 0;
  char32_t value = 0, least = 0;
  if ((lead & 0xe0) == 0xc0) {
    length = 2, value = lead & 0x1f, least = 0x80;
  } else if ((lead & 0xf0) == 0xe0) {
    length = 3, value = lead & 0x0f, least = 0x800;
  } else if ((lead & 0xf8) == 0xf0) {
    length = 4, value = lead & 0x07, least = 0x10000;
  } else {
    return {};
  }
  if (text.size() < length) return {};
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3f);
  }
  if (value < least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {};
  return {value, length};
}

struct CodePoints {
  char32_t first, last;
};

// Characters that change how other text is shown, or are there without being seen: controls, directions,
// joiners and others without width, tags and invisible selectors (Unicode's Cc, Cf, Zl and Zp, and those that
// render like them). Variation selectors 1 to 16 are left: emoji need them.
constexpr std::array kControls{
    CodePoints{0x00, 0x1f},       CodePoints{0x7f, 0x9f},       CodePoints{0xad, 0xad},
    CodePoints{0x34f, 0x34f},     CodePoints{0x600, 0x605},     CodePoints{0x61c, 0x61c},
    CodePoints{0x115f, 0x1160},   CodePoints{0x17b4, 0x17b5},   CodePoints{0x180b, 0x180f},
    CodePoints{0x200b, 0x200f},   CodePoints{0x2028, 0x202e},   CodePoints{0x2060, 0x206f},
    CodePoints{0x3164, 0x3164},   CodePoints{0xfeff, 0xfeff},   CodePoints{0xffa0, 0xffa0},
    CodePoints{0xfff0, 0xfffb},   CodePoints{0x1bca0, 0x1bca3}, CodePoints{0x1d173, 0x1d17a},
    CodePoints{0xe0000, 0xe0fff},
};

bool is_control(char32_t c) {
  return std::ranges::any_of(kControls, [&](CodePoints each) { return c >= each.first && c <= each.last; });
}

// Insertions, deletions, substitutions, and two neighbours swapped: what fingers do most often.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
    std::swap(above, row);
  }
  return above.back();
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != parts.data()) out += separator;
    out += part;
  }
  return out;
}

std::string escape_controls(std::string_view text, bool keep_newlines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Decoded c = decode_utf8(text);
    if (c.length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    if (c.code_point == '\t' || (c.code_point == '\n' && keep_newlines) || !is_control(c.code_point)) {
      out += text.substr(0, c.length);
    } else if (c.code_point == '\n') {
      out += "\\n";
    } else if (c.code_point < 0x80) {
      out += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(c.code_point));
    } else if (c.code_point < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c.code_point));
    } else {
      out += fmt::format("\\U{:08x}", static_cast<std::uint32_t>(c.code_point));
    }
    text.remove_prefix(c.length);
  }
  return out;
}

std::string escape_controls_in_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const Decoded c = decode_utf8(json);
    const std::size_t length = std::max<std::size_t>(c.length, 1);
    if (c.code_point == '\t' || c.code_point == '\n' || !is_control(c.code_point)) {
      out += json.substr(0, length);
    } else if (c.code_point < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c.code_point));
    } else {
      const auto rest = static_cast<std::uint32_t>(c.code_point - 0x10000);
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
    }
    json.remove_prefix(length);
  }
  return out;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'')
      word += "'\\''";
    else
      word.push_back(c);
  }
  return word + "'";
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = static_cast<unsigned char>(text[0]) < 0x80 ? 1 : decode_utf8(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string clipped(std::string_view text, std::size_t most) {
  constexpr std::string_view kMore = "…";
  if (text.size() <= most) return std::string(text);
  std::size_t end = most < kMore.size() ? 0 : most - kMore.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return std::string(text.substr(0, end)).append(kMore);
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  // Nobody mistypes what is longer, or looks through more; and both may come from others.
  constexpr std::size_t kLongest = 200, kMost = 5000;
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(word.size() / 3, 1) + 1;
  if (word.size() > kLongest) return best;
  for (const std::string_view candidate : candidates.first(std::min(candidates.size(), kMost))) {
    const std::size_t longer =
        std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size());
    if (longer >= best_distance) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) best = candidate, best_distance = distance;
  }
  return best;
}

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

bool is_dns1123_label(std::string_view text) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 63 && alphanumeric(text.front()) && alphanumeric(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return alphanumeric(c) || c == '-'; });
}

bool is_dns1123_subdomain(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  return std::ranges::all_of(split(text, '.'), [](std::string_view label) {
    return !label.empty() && label.size() <= 253 && (label.size() > 63 ? false : is_dns1123_label(label));
  });
}

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    out += kDigits[std::to_integer<unsigned>(byte) >> 4];
    out += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return out;
}

bool is_lower_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) -> std::uint32_t {
      return k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0;
    };
    const std::uint32_t group = at(i) << 16 | at(i + 1) << 8 | at(i + 2);
    out += kBase64[group >> 18];
    out += kBase64[group >> 12 & 63];
    out += i + 1 < bytes.size() ? kBase64[group >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? kBase64[group & 63] : '=';
  }
  return out;
}

bool base64_decode(std::string_view text, std::string& out) {
  static constexpr auto kValues = [] {
    std::array<std::int8_t, 256> table{};
    table.fill(-1);
    for (std::size_t i = 0; i < kBase64.size(); ++i)
      table[static_cast<unsigned char>(kBase64[i])] = static_cast<std::int8_t>(i);
    return table;
  }();
  out.clear();
  if (text.size() % 4 != 0) return false;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t group = 0;
    for (std::size_t k = i; k < i + 4; ++k) {
      const bool padded = k >= text.size() - padding;
      const int value = padded ? 0 : kValues[static_cast<unsigned char>(text[k])];
      if (value < 0) return false;
      group = group << 6 | static_cast<std::uint32_t>(value);
    }
    out += static_cast<char>(group >> 16);
    out += static_cast<char>(group >> 8 & 255);
    out += static_cast<char>(group & 255);
  }
  out.resize(out.size() - padding);
  return true;
}

}  // namespace mist
