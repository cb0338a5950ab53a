#include "cli/style.h"

namespace mist::cli {
namespace {

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

std::string paint(bool color, Tone tone, std::string_view text) {
  if (!color || tone == Tone::Plain || text.empty()) return std::string(text);
  return fmt::format("{}{}\x1b[0m", sequence(tone), text);
}

bool wants_color(std::string_view when, const Output& output, const World& world) {
  if (when != "auto") return when == "always";
  if (!output.is_terminal()) return false;
  if (const auto no_color = world.environment("NO_COLOR"); no_color && !no_color->empty()) return false;
  return world.environment("TERM").value_or("dumb") != "dumb";
}

}  // namespace mist::cli
