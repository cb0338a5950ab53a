#pragma once
// Completion of command lines, from the tables. Pure; any thread.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/machine.h"
#include "cli/parse/command.h"

namespace mist::cli {

struct CompletionReply {
  std::vector<std::string> words;  ///< whole replacements of the word at the cursor, sorted
  std::map<std::string, std::string> descriptions = {};  ///< of some of them, one line each
  enum class Files : std::uint8_t { No, Files, Directories } files = Files::No;  ///< these as well
  bool no_space = false;  ///< what follows belongs to the same word ("--namespace=")
};

/// The name to be completed, with all of the line that matters for it.
struct NameQuery {
  Completion kind = Completion::None;
  ClusterChoice cluster = {};
  std::string release = {};   ///< of a Release: not releases are asked for, but the revisions of this one
  std::string mirrored = {};  ///< of a Mirror: what it is a mirror of
  std::string typed = {};     ///< of a Package: "team/", "team/web:"; of a ValueKey: "image.", a prefix
  std::string package = {};   ///< of a ValueKey: -p, if it was given
  std::string engine = {};    ///< of a ValueKey: --engine, if it was given
};

/// A name, with a line that says what it is where that is known.
struct KnownName {
  std::string name;
  std::string description = {};
};

/// Names that only the outside world knows (names.h); none where it can't be asked.
using NameSource = std::function<std::vector<KnownName>(const NameQuery& query)>;

/// `line` up to the cursor, the program's name included, as typed: quotes and backslashes are understood.
CompletionReply complete(std::string_view line, const CommandTable& table, const NameSource& names);

/// bash replaces only what follows the last of `breaks` in the word at the cursor, or begins with it where
/// that is an '@': takes the rest off all words.
void strip_to_last_break(CompletionReply& reply, std::string_view line, std::string_view breaks);

}  // namespace mist::cli
