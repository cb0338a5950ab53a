// to_yaml: what go-yaml v2's emitter writes, but members keep their order. Strings are quoted where the text
// alone would mean something else to any reader (yaml_bare_text.h); long lines fold at 80 columns as
// kubectl's do.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "encoding/go_number.h"
#include "encoding/yaml.h"
#include "encoding/yaml_bare_text.h"
#include "encoding/yaml_resolve.h"

namespace mist::encoding {
namespace {

constexpr std::size_t kWidth = 80;
constexpr int kIndent = 2;
/// A longer key, or one of several lines, is written as "? key".
constexpr std::size_t kLongestSimpleKey = 128;

enum class Style : std::uint8_t { Plain, SingleQuoted, DoubleQuoted, Literal };

/// Length of the YAML 1.1 line break at `i`; 0: none there.
std::size_t break_at(std::string_view text, std::size_t i) {
  switch (static_cast<unsigned char>(text[i])) {
    case '\n':
    case '\r':
      return 1;
    case 0xc2:
      return text[i + 1] == '\x85' ? 2 : 0;
    case 0xe2:
      return text[i + 1] == '\x80' && (text[i + 2] == '\xa8' || text[i + 2] == '\xa9') ? 3 : 0;
    default:
      return 0;
  }
}

std::size_t width_at(std::string_view text, std::size_t i) {
  const auto lead = static_cast<unsigned char>(text[i]);
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/// Unicode's Bidi_Control, in valid UTF-8.
bool is_direction_mark(std::string_view character) {
  constexpr std::array<std::string_view, 12> kMarks{"\u061c", "\u200e", "\u200f", "\u202a",
                                                    "\u202b", "\u202c", "\u202d", "\u202e",
                                                    "\u2066", "\u2067", "\u2068", "\u2069"};
  return std::ranges::find(kMarks, character) != kMarks.end();
}

/// go-yaml's is_printable for valid UTF-8: the emitter escapes everything beyond the basic plane. U+2028 and
/// U+2029 are escaped too: for YAML 1.1, and so for go-yaml, they break lines, for YAML 1.2 they don't, and
/// then the indentation behind them is part of the text.
bool is_printable(std::string_view text, std::size_t i, const YamlPrintOptions& options) {
  if (options.escape_directions && is_direction_mark(text.substr(i, width_at(text, i)))) return false;
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[i + k]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead == '\n' || (lead >= 0x20 && lead <= 0x7e);
  if (lead == 0xc2) return byte(1) >= 0xa0;
  if (lead == 0xef)
    return !(byte(1) == 0xbb && byte(2) == 0xbf) &&
           !(byte(1) == 0xbf && (byte(2) == 0xbe || byte(2) == 0xbf));
  if (lead == 0xe2) return break_at(text, i) == 0;
  return lead < 0xf0;
}

bool is_blank_at(std::string_view text, std::size_t i) {
  return i >= text.size() || text[i] == ' ' || text[i] == '\t';
}

/// go-yaml's yaml_emitter_analyze_scalar.
struct Analysis {
  bool multiline = false;
  bool plain_allowed = true;
  bool single_quoted_allowed = true;
  bool literal_allowed = true;
};

Analysis analyze(std::string_view text, const YamlPrintOptions& options) {
  if (text.empty()) return {.literal_allowed = false};
  bool indicators = text.starts_with("---") || text.starts_with("...");
  bool special = false, breaks = false;
  bool leading_space = false, leading_break = false, trailing_space = false, trailing_break = false;
  bool break_space = false, space_break = false;
  bool previous_space = false, previous_break = false, after_blank = true;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t width = width_at(text, i);
    const bool before_blank = is_blank_at(text, i + width);
    if (i == 0) {
      if (std::string_view("#,[]{}&*!|>'\"%@`").find(c) != std::string_view::npos) indicators = true;
      if ((c == '?' || c == ':' || c == '-') && before_blank) indicators = true;
    } else if ((c == ':' && before_blank) || (c == '#' && after_blank)) {
      indicators = true;
    }
    if (!is_printable(text, i, options)) special = true;
    const bool last = i + width == text.size();
    const bool is_break = break_at(text, i) != 0;
    if (c == ' ') {
      leading_space |= i == 0;
      trailing_space |= last;
      break_space |= previous_break;
    } else if (is_break) {
      breaks = true;
      leading_break |= i == 0;
      trailing_break |= last;
      space_break |= previous_space;
    }
    previous_space = c == ' ';
    previous_break = is_break;
    after_blank = c == ' ' || c == '\t' || is_break || c == '\0';
    i += width;
  }
  Analysis result;
  result.multiline = breaks;
  result.plain_allowed = !(leading_space || leading_break || trailing_space || trailing_break ||
                           break_space || space_break || special || breaks || indicators);
  result.single_quoted_allowed = !(break_space || space_break || special);
  result.literal_allowed = !(trailing_space || space_break || special);
  return result;
}

/// Writes block style. `indent` is that of the collection around a node, -1 for none.
class YamlPrinter {
 public:
  YamlPrinter(std::string& out, const YamlPrintOptions& options)
      : out_(out), line_(out.size()), options_(options) {}

  void document(const Value& value) {
    node(value, Place::Root, -1);
    if (!at_line_start()) start_line(0);
  }

  // As a key is written: neither folded nor a block.
  void line(const Value& value) { node(value, Place::SimpleKey, -1); }

 private:
  /// The text that precedes the node on its line.
  enum class Place : std::uint8_t {
    Root,          // nothing
    Item,          // "-"
    MemberValue,   // "key:"
    ComplexValue,  // ":" below a "? key"
    ComplexKey,    // "?"
    SimpleKey,     // the indentation
  };

  void node(const Value& value, Place place, int indent);
  void number(double value);
  void word(std::string_view text, Place place);
  void mapping(const Value::Object& members, Place place, int indent);
  void sequence(const Value::Array& items, Place place, int indent);
  void text(std::string_view text, Place place, int indent);
  void plain(std::string_view text, int indent, bool fold);
  void single_quoted(std::string_view text, int indent, bool fold);
  void double_quoted(std::string_view text, int indent, bool fold);
  void escape(std::string_view character);
  void literal(std::string_view text, int indent);

  bool at_line_start() const { return out_.size() == line_; }
  /// Where the next character goes, counted in characters from 0.
  std::size_t column() const {
    const auto line = std::string_view(out_).substr(line_);
    return static_cast<std::size_t>(
        std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  }
  /// Goes to column `indent` of a new line; of this one if nothing stands on it.
  void start_line(int indent) {
    if (!at_line_start()) out_ += '\n';
    line_ = out_.size();
    out_.append(static_cast<std::size_t>(indent), ' ');
  }
  /// Where a collection's first child goes: beside "-", ":" or "?", or below its key.
  void first_child(Place place, int indent) {
    if (place == Place::MemberValue)
      start_line(indent);
    else if (place != Place::Root)
      out_ += ' ';
  }
  void space(Place place) {
    if (place != Place::Root && place != Place::SimpleKey) out_ += ' ';
  }

  std::string& out_;
  std::size_t line_ = 0;  // the offset of the last line's first character
  const YamlPrintOptions& options_;
};

void YamlPrinter::word(std::string_view text, Place place) {
  space(place);
  out_ += text;
}

void YamlPrinter::number(double value) {
  if (std::isnan(value)) {
    out_ += ".nan";
  } else if (std::isinf(value)) {
    out_ += value > 0 ? ".inf" : "-.inf";
  } else if (value == 0 && std::signbit(value)) {
    out_ += "-0.0";  // go-yaml loses the sign here
  } else if (const Value same = json_number(value); same.is_int()) {
    append_integer(out_, same.as_int());
  } else if (same.kind() == Value::Kind::UInt) {
    append_integer(out_, same.as_uint());
  } else {
    append_go_g64(out_, value);
  }
}

void YamlPrinter::node(const Value& value, Place place, int indent) {
  switch (value.kind()) {
    case Value::Kind::Null:
      return word("null", place);
    case Value::Kind::Bool:
      return word(value.as_bool() ? "true" : "false", place);
    case Value::Kind::Int:
      space(place);
      return append_integer(out_, value.as_int());
    case Value::Kind::UInt:
      space(place);
      return append_integer(out_, value.as_uint());
    case Value::Kind::Double:
      space(place);
      return number(value.as_double());
    case Value::Kind::String:
      return text(value.as_string(), place, indent);
    case Value::Kind::Array:
      return sequence(value.as_array(), place, indent);
    case Value::Kind::Object:
      return mapping(value.as_object(), place, indent);
  }
}

void YamlPrinter::mapping(const Value::Object& members, Place place, int indent) {
  if (members.empty()) return word("{}", place);
  const int own = indent < 0 ? 0 : indent + kIndent;
  bool first = true;
  for (const Value::Member& member : members) {
    if (std::exchange(first, false))
      first_child(place, own);
    else
      start_line(own);
    if (member.key.size() <= kLongestSimpleKey && !analyze(member.key, options_).multiline) {
      text(member.key, Place::SimpleKey, own);
      out_ += ':';
      node(member.value, Place::MemberValue, own);
    } else {
      out_ += '?';
      text(member.key, Place::ComplexKey, own);
      start_line(own);
      out_ += ':';
      node(member.value, Place::ComplexValue, own);
    }
  }
}

void YamlPrinter::sequence(const Value::Array& items, Place place, int indent) {
  if (items.empty()) return word("[]", place);
  // Lists stand in the column of their key, as everywhere in Kubernetes.
  const int own = indent < 0 ? 0 : place == Place::MemberValue ? indent : indent + kIndent;
  bool first = true;
  for (const Value& item : items) {
    if (std::exchange(first, false))
      first_child(place, own);
    else
      start_line(own);
    out_ += '-';
    node(item, Place::Item, own);
  }
}

void YamlPrinter::text(std::string_view text, Place place, int indent) {
  if (!is_valid_utf8(text)) {
    const std::string valid = to_valid_utf8(text);
    return this->text(valid, place, indent);
  }
  const Analysis analysis = analyze(text, options_);
  const bool is_key = place == Place::SimpleKey;
  const int below = indent < 0 ? kIndent : indent + kIndent;
  space(place);
  if (text.find('\n') != std::string_view::npos)
    return analysis.literal_allowed && !is_key ? literal(text, below) : double_quoted(text, below, !is_key);
  if (!means_itself(text)) return double_quoted(text, below, !is_key);
  if (analysis.plain_allowed) return plain(text, below, !is_key);
  if (analysis.single_quoted_allowed) return single_quoted(text, below, !is_key);
  double_quoted(text, below, !is_key);
}

void YamlPrinter::plain(std::string_view text, int indent, bool fold) {
  if (!fold || out_.size() - line_ + text.size() <= kWidth) {
    out_ += text;
    return;
  }
  std::size_t at = column();
  bool spaces = false;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t width = width_at(text, i);
    if (text[i] == ' ' && !spaces && at > kWidth && text[i + 1] != ' ') {
      start_line(indent);
      at = static_cast<std::size_t>(indent);
    } else {
      out_ += text.substr(i, width);
      ++at;
    }
    spaces = text[i] == ' ';
    i += width;
  }
}

void YamlPrinter::single_quoted(std::string_view text, int indent, bool fold) {
  out_ += '\'';
  std::size_t at = column();
  bool spaces = false;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t width = width_at(text, i);
    const bool inside = i > 0 && i + 1 < text.size();
    if (text[i] == ' ') {
      if (fold && !spaces && at > kWidth && inside && text[i + 1] != ' ') {
        start_line(indent);
        at = static_cast<std::size_t>(indent);
      } else {
        out_ += ' ';
        ++at;
      }
      spaces = true;
    } else {
      if (text[i] == '\'') {
        out_ += '\'';
        ++at;
      }
      out_ += text.substr(i, width);
      ++at;
      spaces = false;
    }
    i += width;
  }
  out_ += '\'';
}

void YamlPrinter::escape(std::string_view character) {
  struct Named {
    std::string_view character;
    char name;
  };
  constexpr Named kNamed[] = {{{"\0", 1}, '0'},      {"\a", 'a'},          {"\b", 'b'},  {"\t", 't'},
                              {"\n", 'n'},           {"\v", 'v'},          {"\f", 'f'},  {"\r", 'r'},
                              {"\x1b", 'e'},         {"\"", '"'},          {"\\", '\\'}, {"\xc2\x85", 'N'},
                              {"\xe2\x80\xa8", 'L'}, {"\xe2\x80\xa9", 'P'}};
  out_ += '\\';
  const auto* named = std::ranges::find(kNamed, character, &Named::character);
  if (named != std::ranges::end(kNamed)) {
    out_ += named->name;
    return;
  }
  char32_t code = static_cast<unsigned char>(character[0]);
  if (character.size() > 1) code &= 0x7fU >> character.size();
  for (const char c : character.substr(1)) code = (code << 6) | (static_cast<unsigned char>(c) & 0x3f);
  const auto number = static_cast<std::uint32_t>(code);
  if (number <= 0xff)
    out_ += fmt::format("x{:02X}", number);
  else if (number <= 0xffff)
    out_ += fmt::format("u{:04X}", number);
  else
    out_ += fmt::format("U{:08X}", number);
}

void YamlPrinter::double_quoted(std::string_view text, int indent, bool fold) {
  out_ += '"';
  std::size_t at = column();
  bool spaces = false;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t width = width_at(text, i);
    const std::string_view character = text.substr(i, width);
    if (!is_printable(text, i, options_) || break_at(text, i) != 0 || character == "\"" ||
        character == "\\") {
      const std::size_t before = out_.size();
      escape(character);
      at += out_.size() - before;
      spaces = false;
    } else if (character == " " && fold && !spaces && at > kWidth && i > 0 && i + 1 < text.size()) {
      start_line(indent);
      at = static_cast<std::size_t>(indent);
      if (text[i + 1] == ' ') {
        out_ += '\\';
        ++at;
      }
      spaces = true;
    } else {
      out_ += character;
      ++at;
      spaces = character == " ";
    }
    i += width;
  }
  out_ += '"';
}

void YamlPrinter::literal(std::string_view text, int indent) {
  out_ += '|';
  if (text[0] == ' ' || text[0] == '\n') out_ += static_cast<char>('0' + kIndent);
  // "-": the text doesn't end in a line break; "+": it ends in more than one.
  if (!text.ends_with('\n'))
    out_ += '-';
  else if (text == "\n" || text.ends_with("\n\n"))
    out_ += '+';
  out_ += '\n';
  line_ = out_.size();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end != 0) out_.append(static_cast<std::size_t>(indent), ' ');
    const std::size_t whole = std::min(end + 1, text.size());
    out_ += text.substr(0, whole);
    if (whole != end) line_ = out_.size();
    text.remove_prefix(whole);
  }
}

}  // namespace

std::string to_yaml(const Value& value, const YamlPrintOptions& options) {
  return to_yaml_documents({&value, 1}, options);
}

std::string to_yaml_line(const Value& value) {
  std::string out;
  YamlPrinter(out, {}).line(value);
  return out;
}

std::string to_yaml_documents(std::span<const Value> documents, const YamlPrintOptions& options) {
  std::string out;
  for (const Value& document : documents) {
    if (&document != documents.data()) out += "---\n";
    YamlPrinter(out, options).document(document);
  }
  return out;
}

}  // namespace mist::encoding
