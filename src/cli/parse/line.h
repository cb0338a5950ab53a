#pragma once
// A command line taken apart, before anything is known of its command. Plain values; any thread.

#include <optional>
#include <string>
#include <vector>

namespace mist::cli {

struct Token {
  std::string name;                  ///< of a flag: long name, or one letter
  bool is_letter = false;            ///< -n, not --name
  std::optional<std::string> value;  ///< as written; none for a bare flag
  std::string spelled() const { return (is_letter ? "-" : "--") + name; }
};

struct Line {
  std::vector<std::string> words;
  std::vector<Token> flags;
};

}  // namespace mist::cli
