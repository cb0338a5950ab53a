#pragma once
// From argv to an Invocation, by the tables of command.h. Pure; any thread.

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cli/parse/command.h"
#include "cli/parse/invocation.h"

namespace mist::cli {

/// The user wants help on this command, this group of commands, or (neither) on mistctl as a whole.
struct HelpTopic {
  const Command* command = nullptr;
  std::string_view group;
  bool all_flags = false;  ///< rare ones too
};

using Parsed = std::variant<Invocation, HelpTopic>;

/// `args` is argv without the program's name. Flags may stand anywhere, also before the command; `--` ends
/// them; a flag's last form is checked against its type. Errors: Usage, with the equivalent of a word of
/// helm or kubectl (peers.h), the usage line or the nearest name as hint.
Result<Parsed> parse(std::span<const std::string> args, const CommandTable& table);

/// The help on a command that these words name. Errors: Usage, with the nearest name.
Result<HelpTopic> topic_of(std::vector<std::string> words, const CommandTable& table);

/// The command of that path or alias; null if there is none.
const Command* find_command(const CommandTable& table, std::string_view path);

/// The command whose path or alias the words begin with, the longest one, and how many of them that is. Null
/// and 0 if there is none.
struct FoundCommand {
  const Command* command = nullptr;
  std::size_t words = 0;
};
FoundCommand find_command_in(const CommandTable& table, std::span<const std::string> words);

/// "mistctl install NAME -p PACKAGE [flags]"; `called_as` as in CommandTable.
std::string usage_line(const Command& command, std::string_view called_as = {});

/// True if `args` ask for JSON, even where the rest of them can't be parsed: errors then follow that form.
bool asks_for_json(std::span<const std::string> args, const CommandTable& table);
/// The same of --events jsonl: then the last line of standard error says how the run ended.
bool asks_for_events(std::span<const std::string> args);

}  // namespace mist::cli
