#pragma once
// The command line of mistletoe-catalog. Plain values.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace mist {

/// One that parse_catalog_line() has looked at.
struct CommandLine {
  std::string command;  ///< "user add"
  std::vector<std::string> arguments = {};
  std::map<std::string_view, std::string> flags = {};

  bool has(std::string_view flag) const { return flags.contains(flag); }
  std::string text(std::string_view flag, std::string_view otherwise = {}) const;
  /// More than nothing. Errors: Usage.
  Result<Duration> duration(std::string_view flag, std::string_view otherwise) const;
  /// Errors: Usage.
  Result<int> number(std::string_view flag, std::string_view otherwise, int most) const;
};

/// The text of `--help`.
std::string_view catalog_usage();

/// Of the words after the program's name. Errors: Usage.
Result<CommandLine> parse_catalog_line(std::span<char*> words);

}  // namespace mist
