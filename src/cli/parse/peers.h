#pragma once
// Commands and flags of helm and kubectl that are called otherwise here, or that don't exist here: two
// tables, and the answer that they give to a command line. The same tables stand in docs/charts.md
// (peers_test.cc checks it). A word of these tables is never answered by the nearest name, which may mean the
// opposite. Pure; any thread.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/parse/command.h"
#include "cli/parse/line.h"

namespace mist::cli {

enum class Peer : std::uint8_t { Helm, Kubectl };

struct PeerVerb {
  Peer peer;
  std::string_view name;       ///< "delete", "get values"
  std::string_view arguments;  ///< those of the peer that `here` uses, in their order: "NAME CHART"
  std::string_view here;       ///< what follows "mistctl "; empty: nothing here does that
  std::string_view note = {};  ///< what is different, a sentence without full stop
};

struct PeerFlag {
  std::string_view name;  ///< with its dashes
  bool takes_value;
  std::string_view commands;  ///< of mistctl, with a comma between them; empty: of all
  /// "--context VALUE": takes its place. "VALUE": its value becomes an argument. "list -A": another command.
  /// Empty: it is left out; where `essential`, nothing here does that.
  std::string_view here = {};
  std::string_view note = {};
  bool essential = false;
};

std::span<const PeerVerb> peer_verbs();
std::span<const PeerFlag> peer_flags();

/// True if the long flag of that name, without dashes, takes a value with helm or kubectl.
bool peer_takes_value(std::string_view name);

struct PeerAnswer {
  std::string because;  ///< may be empty
  std::string hint;     ///< one command, wherever there is one; never empty
};

/// The replacement for a line that the command table can't read; nullopt: the tables don't know the mistake.
/// Flags that say where (-n, --context) are kept.
std::optional<PeerAnswer> peer_answer(const Line& line, const CommandTable& table);

/// Both tables in Markdown, as docs/charts.md has them.
std::string peer_tables();

}  // namespace mist::cli
