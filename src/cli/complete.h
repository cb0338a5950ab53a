#pragma once
// Completion of command lines, from the tables. Pure; any thread.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/world.h"

namespace mist::cli {

struct CompletionReply {
  std::vector<std::string> words;  ///< whole replacements of the word at the cursor, sorted
  enum class Files : std::uint8_t { No, Files, Directories } files = Files::No;  ///< these as well
  bool no_space = false;  ///< what follows belongs to the same word ("--namespace=")
};

/// Names that only the outside world knows (names.h), of the cluster that the flags on the line chose; none
/// where it can't be asked.
using NameSource = std::function<std::vector<std::string>(Completion kind, const ClusterChoice& cluster)>;

/// `line` up to the cursor, the program's name included, as typed: quotes and backslashes are understood.
CompletionReply complete(std::string_view line, const CommandTable& table, const NameSource& names);

/// bash replaces only what follows the last of `breaks` in the word at the cursor: takes the rest off all
/// words.
void strip_to_last_break(CompletionReply& reply, std::string_view line, std::string_view breaks);

}  // namespace mist::cli
