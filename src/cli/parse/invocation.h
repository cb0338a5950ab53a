#pragma once
// A parsed command line. Asking for a flag or argument that the command's table does not have is a defect
// (MIST_CHECK), so a wrong name shows in the first test. A plain value; any thread for const use.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cli/parse/command.h"

namespace mist::cli {

class Invocation {
 public:
  /// One flag as given, its value checked against its type.
  struct Given {
    const Flag* flag;
    std::string value;
  };

  explicit Invocation(const Command& command, std::string_view called_as = {})
      : command_(&command), called_as_(called_as) {}

  const Command& command() const { return *command_; }
  /// The group whose name the program was started by; empty: mistctl.
  std::string_view called_as() const { return called_as_; }
  /// The command as the user typed it: "mistctl kpm install", "kpm install".
  std::string typed_command() const { return typed(called_as_, command_->path); }

  /// True if the user gave it, whatever its value.
  bool has(std::string_view flag) const;
  /// A Bool.
  bool enabled(std::string_view flag) const;
  /// The value of Text or Choice; its fallback if it wasn't given.
  std::string text(std::string_view flag) const;
  /// The values of Texts in the order of the command line.
  std::vector<std::string> texts(std::string_view flag) const;
  std::int64_t number(std::string_view flag) const;
  Duration duration(std::string_view flag) const;
  int count(std::string_view flag) const;
  /// All flags in the order of the command line, where the order between different flags matters.
  const std::vector<Given>& given() const { return given_; }

  /// The argument of that name; empty if an Optional one is missing.
  std::string argument(std::string_view name) const;
  /// Those of an argument that may stand more than once.
  std::vector<std::string> arguments(std::string_view name) const;

  // For the parser.
  void add_flag(const Flag& flag, std::string value) { given_.push_back({&flag, std::move(value)}); }
  void add_argument(const Argument& argument, std::string value) {
    arguments_.push_back({&argument, std::move(value)});
  }

 private:
  struct GivenArgument {
    const Argument* argument;
    std::string value;
  };
  const Flag& declared(std::string_view flag, std::initializer_list<FlagType> types) const;

  const Command* command_;
  std::vector<Given> given_;
  std::vector<GivenArgument> arguments_;
  std::string_view called_as_;
};

/// The flag of that name among the command's own and the global ones; null if there is none.
const Flag* find_flag(const Command& command, std::string_view name);
const Flag* find_flag(const Command& command, char letter);

}  // namespace mist::cli
