#include "view/display_width.h"

#include <algorithm>
#include <cstdint>

namespace mist::view {
namespace {

struct Range {
  char32_t first, last;
};

// Combining marks and joiners that names and messages really contain; anything rarer costs one column of
// misalignment.
constexpr Range kZeroWidth[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a},
    {0x064b, 0x065f}, {0x0900, 0x0902}, {0x093c, 0x093c}, {0x0e34, 0x0e3a},
    {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
    {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef},
};
// East Asian Wide and Fullwidth, and emoji that are wide by default.
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},   {0x25fd, 0x25fe},
    {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26a1, 0x26a1},   {0x2705, 0x2705},   {0x274c, 0x274c},
    {0x2753, 0x2755},   {0x2795, 0x2797},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2e80, 0x303e},
    {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97c},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

template <std::size_t N>
bool within(const Range (&ranges)[N], char32_t c) {
  const auto* range = std::ranges::lower_bound(ranges, c, {}, &Range::last);
  return range != std::end(ranges) && c >= range->first;
}

// The next character; a malformed byte counts as one character of its own.
char32_t take(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t c = length == 1 ? lead : lead & (0x7fu >> length);
  std::size_t used = 1;
  while (used < length && used < text.size() && (static_cast<unsigned char>(text[used]) & 0xc0) == 0x80)
    c = (c << 6) | (static_cast<unsigned char>(text[used++]) & 0x3f);
  text.remove_prefix(used);
  return c;
}

int width_of(char32_t c) {
  if (c < 0x300) return 1;
  if (within(kZeroWidth, c)) return 0;
  return within(kWide, c) ? 2 : 1;
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) width += width_of(take(text));
  return width;
}

std::string fit_width(std::string_view text, int columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns <= 0) return {};
  int width = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view after = rest;
    const int next = width_of(take(after));
    if (width + next > columns - 1) break;
    width += next;
    rest = after;
  }
  return std::string(text.substr(0, text.size() - rest.size())) + "…";
}

std::string fit_middle(std::string_view text, int columns) {
  const int width = display_width(text);
  if (width <= columns) return std::string(text);
  if (columns < 5) return fit_width(text, columns);
  const int tail = (columns - 1) / 2;
  std::string_view rest = text;
  for (int left = width; left > tail;) {
    std::string_view after = rest;
    left -= width_of(take(after));
    rest = after;
  }
  // fit_width ends in the "…" that stands for the middle.
  return fit_width(text, columns - display_width(rest)) + std::string(rest);
}

std::string pad_width(std::string_view text, int columns) {
  std::string padded(text);
  padded.append(static_cast<std::size_t>(std::max(0, columns - display_width(text))), ' ');
  return padded;
}

}  // namespace mist::view
