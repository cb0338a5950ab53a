#pragma once
// A regular expression of ECMAScript that a user wrote, for short texts such as names. Immutable; any thread.

#include <memory>
#include <string_view>

#include "base/result.h"

namespace mist {

class Pattern {
 public:
  /// Invalid, with what is wrong, for a text that is not an expression or is longer than 1000 bytes.
  static Result<Pattern> parse(std::string_view text);

  /// Whether any part of `text` fits. False for a text of more than 1000 bytes, and where deciding takes too
  /// long.
  bool found_in(std::string_view text) const;

 private:
  struct Compiled;
  explicit Pattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace mist
