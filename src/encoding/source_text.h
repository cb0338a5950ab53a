#pragma once
// Lines of a text, for error messages: from an offset or a line number to a SourceLocation with its excerpt.
// Internal to encoding. One thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mist::encoding {

class SourceText {
 public:
  /// Both must outlive this.
  SourceText(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::string_view text() const { return text_; }

  /// `line` and `column` count from 1, the column in characters.
  SourceLocation at(std::size_t line, std::size_t column) const;
  SourceLocation at_offset(std::size_t offset) const;

  /// The byte at which that character begins; the end of the text if there is none.
  std::size_t offset(std::size_t line, std::size_t column) const;

 private:
  void find_lines() const;
  std::string_view line_text(std::size_t line) const;

  std::string_view text_;
  const std::string& file_;
  mutable std::vector<std::size_t> starts_;  // of the lines; made on first use
  // Where offset() was last: readers ask in the order of the text, and a line may be the whole of it.
  mutable std::size_t last_line_ = 0, last_column_ = 0, last_offset_ = 0;
};

}  // namespace mist::encoding
