#include "view/style.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.h"

namespace mist::view {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kDrawn{
    {{"⠋", "|"},  {"⠙", "/"}, {"⠹", "-"}, {"⠸", "\\"}, {"⠼", "|"}, {"⠴", "/"}, {"⠦", "-"},
     {"⠧", "\\"}, {"⠇", "|"}, {"⠏", "/"}, {"│", "|"},  {"├", "|"}, {"└", "`"}, {"─", "-"},
     {"✓", "+"},  {"✗", "x"}, {"·", "."}, {"→", ">"},  {"…", "."}, {"µ", "u"}}};

std::string_view sequence(Tone tone) {
  switch (tone) {
    case Tone::Plain:
      return "";
    case Tone::Strong:
      return "\x1b[1m";
    case Tone::Faint:
      return "\x1b[2m";
    case Tone::Good:
      return "\x1b[32m";
    case Tone::Warning:
      return "\x1b[33m";
    case Tone::Bad:
      return "\x1b[1;31m";
    case Tone::Name:
      return "\x1b[36m";
  }
  return "";
}

}  // namespace

Tone diff_tone(std::string_view line) {
  if (line.starts_with('+')) return Tone::Good;
  if (line.starts_with('-')) return Tone::Bad;
  return line.starts_with('@') ? Tone::Name : Tone::Plain;
}

std::string paint(bool color, Tone tone, std::string_view text) {
  if (!color || tone == Tone::Plain || text.empty()) return std::string(text);
  return fmt::format("{}{}\x1b[0m", sequence(tone), text);
}

std::string escape_lines(std::string_view text, std::size_t indent) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  const std::string between = "\n" + std::string(indent, ' ');
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) lines.push_back(escape_controls(line));
  return join(lines, between);
}

std::string in_ascii(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto drawn =
        std::ranges::find_if(kDrawn, [&](const auto& each) { return text.starts_with(each.first); });
    if (drawn != kDrawn.end()) {
      out += drawn->second;
      text.remove_prefix(drawn->first.size());
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace mist::view
