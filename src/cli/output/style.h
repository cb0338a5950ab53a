#pragma once
// Capabilities of a terminal. Pure; any thread.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/machine.h"
#include "view/style.h"

namespace mist::cli {

using view::paint;
using view::Tone;

/// Whether what reads our text takes UTF-8: LC_ALL, else LC_CTYPE, else LANG (the first that is set and not
/// empty, as locale(7) has it) names that character set, or none of them is set.
bool takes_utf8(const std::function<std::optional<std::string>(std::string_view)>& environment);

/// Whether colors may go to `output`: --color decides; "auto" means a terminal, no NO_COLOR (no-color.org:
/// set and not empty), TERM not "dumb".
bool wants_color(std::string_view when, const Output& output, const Machine& machine);

}  // namespace mist::cli
