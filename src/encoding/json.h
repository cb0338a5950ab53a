#pragma once
// JSON (RFC 8259) in and out. Integers stay exact up to uint64, larger ones become doubles; the writer prints
// numbers as Go's encoding/json does, so that texts can be compared with kubectl's. Pure functions; any
// thread.

#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"
#include "encoding/value.h"

namespace mist::encoding {

struct JsonOptions {
  bool strict = false;  ///< duplicate keys are errors; otherwise the last one wins
  int max_depth = 512;  ///< of nested arrays and objects
  /// A deeper value is no error: kTooDeep stands in its place, and it is not checked. For texts of a server
  /// that stores whatever others give it, where one value may not hide all others.
  bool cut_deep = false;
  /// Of a text that its author may have made small to write and large to hold, as in an archive.
  std::size_t max_values = std::numeric_limits<std::size_t>::max();
  std::string file{};  ///< what SourceLocation::file says
};

inline constexpr std::string_view kTooDeep = "mistletoe.dev: nested too deep to be read";

/// One JSON text, white space around it allowed. Values carry no positions. Errors: Invalid, with line,
/// column and the line itself in `where`; so is a number that no double can hold, as in Go.
Result<Value> parse_json(std::string_view text, const JsonOptions& options = {});

enum class JsonStyle {
  Compact,  ///< one line, no spaces, no newline at the end
  Pretty,   ///< two spaces of indentation, no newline at the end
  Exact,  ///< as Compact, but a double keeps a point or an exponent (1.0, not 1), so that it is one when read
};

/// Always valid UTF-8: bytes that aren't become U+FFFD. <, > and & stay as they are (Go with
/// SetEscapeHTML(false)). NaN and infinities, which JSON doesn't have, become null.
std::string to_json(const Value& value, JsonStyle style = JsonStyle::Compact);

}  // namespace mist::encoding
