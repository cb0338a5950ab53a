#pragma once
// Colors of a terminal, by meaning. Pure; any thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/world.h"

namespace mist::cli {

enum class Tone : std::uint8_t { Plain, Strong, Faint, Good, Warning, Bad, Name };

/// `text` between the escape sequences of `tone`; just `text` when `color` is false or the tone is Plain.
std::string paint(bool color, Tone tone, std::string_view text);

/// Whether what reads our text takes UTF-8: LC_ALL, else LC_CTYPE, else LANG (the first that is set and not
/// empty, as locale(7) has it) names that character set, or none of them is set.
bool takes_utf8(const std::function<std::optional<std::string>(std::string_view)>& environment);

/// The characters that we draw with (spinner, tree, marks, "…") as ASCII of the same width; everything else
/// stays.
std::string in_ascii(std::string_view text);

/// Whether colors may go to `output`: --color decides; "auto" means a terminal, no NO_COLOR (no-color.org:
/// set and not empty), TERM not "dumb".
bool wants_color(std::string_view when, const Output& output, const World& world);

}  // namespace mist::cli
