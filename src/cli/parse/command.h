#pragma once
// A command is a record. Parsing, `--help`, manual pages and completion are made from these tables and from
// nothing else, so adding a command or a flag is adding a record (README.md shows how). Plain constants; any
// thread.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mist::cli {

class Invocation;
struct Machine;

/// The exit codes of mistctl (STYLE 5).
enum class ExitCode : std::uint8_t {
  Ok = 0,
  Failed = 1,
  Usage = 2,
  Differences = 3,  ///< only where the user asked for it, or where something that was to go back could not
  Interrupted = 130,
};

/// The words at a place of the command line, for completion. complete.cc says where they come from.
enum class Completion : std::uint8_t {
  None,
  File,
  Directory,
  Package,  ///< a reference: registry, file or directory
  Release,
  ReleaseAnywhere,  ///< NAMESPACE/NAME
  Revision,         ///< of the release that the command's first argument names
  ValueKey,         ///< KEY= of a value that the package knows
  Namespace,
  Context,
  Registry,
  WorkingCopy,  ///< of kpm
  Mirrored,     ///< what mirrors are configured for
  Mirror,       ///< the configured mirrors of what the command's first argument names
  CopiesPlace,  ///< oci://HOST/PATH, oci-layout:DIR, oci-archive:FILE
  Command,
};

enum class FlagType : std::uint8_t {
  Bool,      ///< --wait, --wait=false
  Count,     ///< -v, -vv: how often it was given
  Text,      ///< one value; giving it twice is an error
  Texts,     ///< one value each time, in order
  Number,    ///< a decimal integer, not negative
  Duration,  ///< as Go writes it: 300ms, 1m30s
  Choice,    ///< one of `choices`
};

struct Flag {
  std::string_view name;  ///< long, without dashes
  char letter = 0;        ///< short; 0: none
  FlagType type = FlagType::Bool;
  std::string_view value = {};                     ///< the value's name in help: FILE
  std::string_view help = {};                      ///< one sentence, no full stop
  std::string_view fallback = {};                  ///< the value when it isn't given, as text
  std::span<const std::string_view> choices = {};  ///< "dir=" stands for any text that begins so
  Completion completion = Completion::None;
  bool required = false;
  std::string_view implied = {};   ///< the value of a bare --flag; others then need the form --flag=value
  bool rare = false;               ///< --help leaves it to --help-all
  std::string_view no_value = {};  ///< the hint where its value is missing; empty: how it is written
};

/// Whether the next word of the command line is the flag's value.
constexpr bool takes_value(const Flag& flag) {
  return flag.type != FlagType::Bool && flag.type != FlagType::Count && flag.implied.empty();
}

/// Flags under one heading of the help.
struct FlagGroup {
  std::string_view title;
  std::span<const Flag> flags;
};

enum class Arity : std::uint8_t { Required, Optional, OneOrMore, Any };

/// A positional argument. Only the last one of a command may be OneOrMore or Any.
struct Argument {
  std::string_view name;  ///< in capitals: NAME
  std::string_view help = {};
  Arity arity = Arity::Required;
  Completion completion = Completion::None;
  /// Of an Optional one whose absence means something else than nothing: "" is refused. Elsewhere it is the
  /// same as left out.
  bool refuses_empty = false;
};

struct Example {
  std::string_view line;  ///< without the prompt
  std::string_view meaning;
};

/// A handler parses what its arguments mean, calls one action and prints the result; nothing else. An error
/// of kind Usage ends with exit code 2, Cancelled with 130, any other with 1.
using Handler = Result<ExitCode> (*)(const Invocation&, Machine&);

/// How much a command needs to know of a cluster. All commands take the flags that say it, since they may
/// precede the command's name; the short help of others leaves them out.
enum class ClusterUse : std::uint8_t { Whole, Namespace, None };

struct Command {
  std::string_view path;          ///< "install", "registry add", "registry mirror add"
  std::string_view summary = {};  ///< one line for lists of commands, no full stop
  Handler run = nullptr;
  std::span<const Argument> arguments = {};
  std::span<const FlagGroup> flags = {};  ///< without the global ones
  std::span<const Example> examples = {};
  std::string_view alias = {};  ///< another path: "inspect install"
  bool hidden = false;
  ClusterUse cluster = ClusterUse::Whole;
};

/// The words before the last one of a path, "registry" or "registry mirror", and what "mistctl registry
/// --help" says of them.
struct CommandGroup {
  std::string_view name;
  std::string_view summary;
};

struct CommandTable {
  std::span<const Command* const> commands;
  std::span<const CommandGroup> groups;
  std::string_view called_as =
      {};  ///< the group whose name the program was started by: "kpm"; empty: mistctl
};

/// How the user types a command, a group or what follows it: "mistctl install", but "kpm install" where the
/// program was started as that. `command` is without the program's name: "kpm install NAME".
std::string typed(std::string_view called_as, std::string_view command);

}  // namespace mist::cli
