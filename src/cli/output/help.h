#pragma once
// Help made from the tables. Pure; any thread.

#include <string>

#include "cli/parse/command.h"
#include "cli/parse/parse.h"

namespace mist::cli {

/// The text of `--help`: usage, arguments, usual flags (topic.all_flags: all), examples of a command; the
/// commands of a group; or of mistctl. `columns` is where lines end (at least 60 is used).
std::string help_text(const HelpTopic& topic, const CommandTable& table, int columns, bool color);

/// "-n, --namespace NAME", as help and manual pages show a flag.
std::string flag_label(const Flag& flag);

/// The flag's sentence with what the table adds to it: choices, default, required, repeatable.
std::string flag_sentence(const Flag& flag);

/// `text` broken at spaces into lines of at most `columns`, the second and later ones indented.
std::string wrap(std::string_view text, int columns, int indent);

}  // namespace mist::cli
