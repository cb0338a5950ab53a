#pragma once
// Colors of a terminal, by meaning, and text of others on it. Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mist::view {

enum class Tone : std::uint8_t { Plain, Strong, Faint, Good, Warning, Bad, Name };

/// Of a line of a unified diff.
Tone diff_tone(std::string_view line);

/// `text` between the escape sequences of `tone`; just `text` when `color` is false or the tone is Plain.
std::string paint(bool color, Tone tone, std::string_view text);

/// The characters that we draw with (spinner, tree, marks, "…") as ASCII of the same width; everything else
/// stays.
std::string in_ascii(std::string_view text);

/// As escape_controls(), of text of several lines: those after the first begin with `indent` spaces more.
std::string escape_lines(std::string_view text, std::size_t indent);

}  // namespace mist::view
