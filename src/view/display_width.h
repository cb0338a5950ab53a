#pragma once
// How many columns a text takes on a terminal. Pure; any thread.

#include <string>
#include <string_view>

namespace mist::view {

/// Columns of UTF-8 text without control characters (escape_controls makes it so): wide East Asian characters
/// and emoji take two, combining marks none (Unicode UAX #11, UTS #51).
int display_width(std::string_view text);

/// The longest beginning of `text` that fits into `columns`, ending in "…" if something was cut.
std::string fit_width(std::string_view text, int columns);

/// As fit_width, but the end of `text` stays too: what is cut is in the middle ("shop/a-very…-name").
std::string fit_middle(std::string_view text, int columns);

/// `text` and as many spaces as fill `columns`; unchanged if it is wider.
std::string pad_width(std::string_view text, int columns);

}  // namespace mist::view
