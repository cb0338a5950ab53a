#include "encoding/yaml_bare_text.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "encoding/yaml_resolve.h"

namespace mist::encoding {
namespace {

/// Takes one part of a pattern after another from the beginning of a text.
class Pattern {
 public:
  explicit Pattern(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool take(std::string_view one_of) {
    const bool found = !rest_.empty() && one_of.find(rest_[0]) != std::string_view::npos;
    if (found) rest_.remove_prefix(1);
    return found;
  }
  std::size_t take_all(std::string_view of, std::size_t most = std::string_view::npos) {
    const std::size_t count = std::min({rest_.find_first_not_of(of), rest_.size(), most});
    rest_.remove_prefix(count);
    return count;
  }
  bool take_digits(std::size_t least, std::size_t most) { return take_all("0123456789", most) >= least; }

 private:
  std::string_view rest_;
};

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kBlanks = " \t";

/// YAML 1.1's integers and floats of base 60: 1:30, 190:20:30.15.
/// ^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$
bool is_base60(std::string_view text) {
  Pattern pattern(text);
  pattern.take("+-");
  if (!pattern.take(kDigits)) return false;
  pattern.take_all("0123456789_");
  std::size_t parts = 0;
  for (; pattern.take(":"); ++parts) {
    const bool tens = pattern.take("012345");
    if (!pattern.take(kDigits) && !tens) return false;
  }
  if (pattern.take(".")) pattern.take_all("0123456789_");
  return parts != 0 && pattern.at_end();
}

/// Digits of another base than 10, however many: ^[-+]?0(b[01_,]+|o[0-7_,]+|x[0-9a-f_,]+)$, upper case too.
bool has_base_prefix(std::string_view text) {
  Pattern pattern(text);
  pattern.take("+-");
  if (!pattern.take("0")) return false;
  const std::string_view digits = pattern.take("bB")   ? "01_,"
                                  : pattern.take("oO") ? "01234567_,"
                                  : pattern.take("xX") ? "0123456789abcdefABCDEF_,"
                                                       : "";
  return pattern.take_all(digits) != 0 && pattern.at_end();
}

/// ^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$, with underscores and commas wherever some reader
/// has them: Ruby's reads 80,443 as a number.
bool is_decimal(std::string_view text) {
  std::string digits(text);
  std::erase_if(digits, [](char c) { return c == '_' || c == ','; });
  Pattern pattern(digits);
  pattern.take("+-");
  std::size_t count = pattern.take_all(kDigits);
  if (pattern.take(".")) count += pattern.take_all(kDigits);
  if (count == 0) return false;
  if (pattern.take("eE")) {
    pattern.take("+-");
    if (pattern.take_all(kDigits) == 0) return false;
  }
  return pattern.at_end();
}

/// YAML 1.1's pattern, which asks for no real day: 2024-02-30, 2024-01-01T10:00:00, "2024-01-01 10:00:00 Z".
/// Ruby has years before 0, too.
bool is_timestamp(std::string_view text) {
  Pattern pattern(text);
  pattern.take("-");
  if (!pattern.take_digits(4, 4) || !pattern.take("-") || !pattern.take_digits(1, 2) || !pattern.take("-") ||
      !pattern.take_digits(1, 2))
    return false;
  if (pattern.at_end()) return true;
  if (!pattern.take("Tt") && pattern.take_all(kBlanks) == 0) return false;
  if (!pattern.take_digits(1, 2) || !pattern.take(":") || !pattern.take_digits(2, 2) || !pattern.take(":") ||
      !pattern.take_digits(2, 2))
    return false;
  if (pattern.take(".")) pattern.take_all(kDigits);
  pattern.take_all(kBlanks);
  if (pattern.take("+-")) {
    if (!pattern.take_digits(1, 2)) return false;
    if (pattern.take(":") && !pattern.take_digits(2, 2)) return false;
    pattern.take_digits(0, 2);  // Ruby takes +0200
  } else {
    pattern.take("Z");
  }
  return pattern.at_end();
}

}  // namespace

bool means_itself(std::string_view text) {
  if (text == "=" || text == "<<") return false;        // YAML 1.1's default value, and its merge
  if (text.size() > 1 && text[0] == ':') return false;  // Ruby's symbols
  Resolved ignored;
  if (resolve_plain(text, ignored)) return false;
  const bool may_be_number =
      kDigits.find(text[0]) != std::string_view::npos || text[0] == '+' || text[0] == '-' || text[0] == '.';
  if (!may_be_number) return true;
  return !looks_like_timestamp(text) && !is_timestamp(text) && !is_base60(text) && !has_base_prefix(text) &&
         !is_decimal(text);
}

}  // namespace mist::encoding
