#include "encoding/json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text.h"
#include "encoding/go_number.h"
#include "encoding/source_text.h"
#include "encoding/tree_builder.h"
#include "encoding/yaml_resolve.h"

namespace mist::encoding {
namespace {

namespace json = boost::json;

/// Boost.JSON's SAX handler: events become a Value. Its own numbers aren't used where they would be rounded.
class Handler {
 public:
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();

  enum class Fault : std::uint8_t { None, DuplicateKey, NumberRange, TooMany };

  Handler(bool strict, std::size_t most) : strict_(strict), most_(most) {}

  Fault fault() const { return fault_; }
  const std::string& culprit() const { return culprit_; }
  Value take() { return builder_.take_root(); }

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_array_begin(json::error_code&) {
    builder_.begin_array();
    return true;
  }
  bool on_array_end(std::size_t, json::error_code& ec) { return add(builder_.end(), ec); }
  bool on_object_begin(json::error_code&) {
    builder_.begin_object();
    return true;
  }
  bool on_object_end(std::size_t, json::error_code& ec) { return add(builder_.end(), ec); }
  bool on_string_part(json::string_view part, std::size_t, json::error_code&) { return keep(part); }
  bool on_string(json::string_view part, std::size_t, json::error_code& ec) {
    keep(part);
    Value value = Value(valid_text());
    text_.clear();
    return add(std::move(value), ec);
  }
  bool on_key_part(json::string_view part, std::size_t, json::error_code&) { return keep(part); }
  bool on_key(json::string_view part, std::size_t, json::error_code& ec) {
    keep(part);
    const std::string name = valid_text();
    text_.clear();
    if (builder_.key(name) || !strict_) return true;
    return fail(Fault::DuplicateKey, name, ec);
  }
  bool on_number_part(json::string_view part, json::error_code&) { return keep(part); }
  bool on_int64(std::int64_t number, json::string_view part, json::error_code& ec) {
    keep(part);
    // The sign of -0 is lost in an integer.
    Value value = number == 0 && text_.starts_with('-') ? Value(-0.0) : Value(number);
    text_.clear();
    return add(std::move(value), ec);
  }
  bool on_uint64(std::uint64_t number, json::string_view, json::error_code& ec) {
    text_.clear();
    return add(Value(number), ec);
  }
  bool on_double(double, json::string_view part, json::error_code& ec) {
    keep(part);
    double number = 0;
    if (parse_double(text_, number) != std::errc()) return fail(Fault::NumberRange, text_, ec);
    text_.clear();
    return add(Value(number), ec);
  }
  bool on_bool(bool flag, json::error_code& ec) { return add(Value(flag), ec); }
  bool on_null(json::error_code& ec) { return add(Value(), ec); }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

 private:
  bool add(Value value, json::error_code& ec) {
    if (++count_ > most_) return fail(Fault::TooMany, {}, ec);
    builder_.value(std::move(value));
    return true;
  }
  bool keep(json::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }
  std::string valid_text() const { return to_valid_utf8(text_); }
  bool fail(Fault fault, std::string culprit, json::error_code& ec) {
    fault_ = fault;
    culprit_ = std::move(culprit);
    ec = json::error::syntax;
    return false;
  }

  TreeBuilder builder_;
  std::string text_;
  std::string culprit_;
  Fault fault_ = Fault::None;
  bool strict_ = false;
  const std::size_t most_;
  std::size_t count_ = 0;
};

struct SyntaxHint {
  std::string message;
  std::string hint;
};

SyntaxHint surrogate() {
  return {"half of a surrogate pair is not a character", "write both halves: \\ud83d\\ude00"};
}

/// \uD800 to \uDFFF.
bool is_surrogate(std::string_view escape) {
  return escape.starts_with("\\u") && (escape[2] | 0x20) == 'd' &&
         std::string_view("89abcdefABCDEF").find(escape[3]) != std::string_view::npos;
}

SyntaxHint explain_syntax(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return {"the JSON text ends too early", "is the file cut off?"};
  const std::string_view rest = text.substr(offset);
  const auto c = static_cast<unsigned char>(rest[0]);
  if (rest[0] == '\'') return {"JSON strings stand in double quotes", "write \"…\" in place of '…'"};
  if (rest.starts_with("//") || rest.starts_with("/*") || rest[0] == '#')
    return {"JSON has no comments", "remove the comment, or write the file as YAML"};
  if (offset >= 6 && is_surrogate(text.substr(offset - 6, 6))) return surrogate();
  if (rest[0] == '}' || rest[0] == ']')
    return {fmt::format("\"{}\" isn't expected here", rest[0]), "is there a comma after the last item?"};
  if (rest.starts_with("\xef\xbb\xbf")) return {"the text begins with a byte order mark", "save it without"};
  if (c < 0x20)
    return {fmt::format("the control character U+{:04X} isn't allowed here", c),
            "within a string write it as an escape"};
  const std::size_t last = text.substr(0, offset).find_last_not_of(" \t\r\n");
  const bool after_value =
      last != std::string_view::npos && std::string_view("[{,:").find(text[last]) == std::string_view::npos;
  if (rest[0] == '"' && after_value)
    return {"a comma is missing before this", "separate members and items with \",\""};
  return {fmt::format("\"{}\" isn't expected here", escape_controls(rest.substr(0, 1))),
          "keys and texts stand in double quotes; true, false and null are lower case"};
}

SyntaxHint explain(json::error code, std::string_view text, std::size_t offset) {
  if (code == json::error::incomplete) return {"the JSON text ends too early", "is the file cut off?"};
  if (code == json::error::extra_data)
    return {"text after the end of the JSON value", "remove it; one text holds one value"};
  if (code == json::error::illegal_leading_surrogate || code == json::error::illegal_trailing_surrogate ||
      code == json::error::expected_utf16_escape)
    return surrogate();
  if (code == json::error::expected_hex_digit) return {"\\u needs four hexadecimal digits", ""};
  return explain_syntax(text, offset);
}

/// The text with kTooDeep in place of each array and object below so many levels. Looks at brackets and
/// strings only, and doesn't recurse as the parser does, so it takes any depth.
std::string without_deep(std::string_view text, std::size_t levels) {
  std::string kept;
  std::size_t depth = 0;
  std::size_t done = 0;  // up to here it is in `kept`, or left out
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      while (++i < text.size() && text[i] != '"')
        if (text[i] == '\\') ++i;
    } else if (c == '[' || c == '{') {
      if (depth++ == levels) kept += fmt::format("{}\"{}\"", text.substr(done, i - done), kTooDeep);
    } else if ((c == ']' || c == '}') && depth > 0) {
      if (--depth == levels) done = i + 1;
    }
  }
  // One that isn't closed stays open.
  if (depth <= levels) kept += text.substr(std::min(done, text.size()));
  return kept;
}

/// False with `ec` and the offset where reading stopped.
bool run(json::basic_parser<Handler>& parser, std::string_view text, std::size_t& offset,
         json::error_code& ec) {
  offset = parser.write_some(false, text.data(), text.size(), ec);
  if (ec) return false;
  // The parser stops after the value; only white space may follow.
  const std::size_t rest = text.find_first_not_of(" \t\r\n", offset);
  if (rest == std::string_view::npos) return true;
  offset = rest;
  ec = json::error::extra_data;
  return false;
}

}  // namespace

Result<Value> parse_json(std::string_view text, const JsonOptions& options) {
  const SourceText source(text, options.file);
  json::parse_options settings;
  settings.max_depth = static_cast<std::size_t>(std::max(options.max_depth, 1));
  // As Go does: what isn't UTF-8 becomes U+FFFD instead of an error.
  settings.allow_invalid_utf8 = true;
  std::size_t offset = 0;
  json::error_code ec;
  try {
    json::basic_parser<Handler> parser(settings, options.strict, options.max_values);
    if (run(parser, text, offset, ec)) return parser.handler().take();
    if (ec == json::error::too_deep && options.cut_deep) {
      JsonOptions rest = options;
      rest.cut_deep = false;
      return parse_json(without_deep(text, settings.max_depth), rest);
    }
    Error result;
    result.kind = ErrorKind::Invalid;
    result.where = source.at_offset(offset);
    const Handler& handler = parser.handler();
    if (handler.fault() == Handler::Fault::DuplicateKey) {
      result.message =
          fmt::format("the key \"{}\" is set twice in one object", escape_controls(handler.culprit()));
      result.hint = "remove one of them";
    } else if (handler.fault() == Handler::Fault::NumberRange) {
      result.message = fmt::format("the number {} is too large", handler.culprit().substr(0, 40));
    } else if (handler.fault() == Handler::Fault::TooMany) {
      result.message = fmt::format("the document has more than {} values", options.max_values);
    } else if (ec == json::error::too_deep) {
      result.message = fmt::format("the document nests more than {} levels deep", options.max_depth);
    } else {
      SyntaxHint explanation = explain(static_cast<json::error>(ec.value()), text, offset);
      result.message = std::move(explanation.message);
      result.hint = std::move(explanation.hint);
    }
    return result;
  } catch (const std::exception& e) {
    return error(ErrorKind::Internal, "cannot read a JSON text: {}", e.what());
  }
}

}  // namespace mist::encoding
